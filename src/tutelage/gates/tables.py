"""Datasets of gates: activations over field and noise, and specialization loads."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage._given import ArrayLike, CheckedInside
from tutelage.equilibrium import transitions
from tutelage.gates.base import AbstractGate, entropy_of
from tutelage.gates.derived import check_gate
from tutelage.gates.thermal import backpropagation_factor
from tutelage.gates.validation import check_betas, check_fields
from tutelage.runs.provenance import recorded


@recorded
def curves(gate: AbstractGate, beta: ArrayLike, field: ArrayLike) -> xr.Dataset:
    """Compute mean, signal and variance of a gate over the field, at several noise levels.

    Args:
        gate: a `Gate` or an `Interval`.
        beta: values of β ≥ 0, ``math.inf`` included.
        field: values of h.

    Returns:
        A Dataset over ``beta`` and ``field``: expectation ⟨s⟩, signal ⟨j⟩, variance of the state,
        backpropagation_factor ĝ and entropy.

    >>> import tutelage as tl
    >>> table = tl.gates.curves(tl.gates.Gate([0, 1]), beta=[0, float("inf")], field=[-1, 2])
    >>> table["signal"].values.tolist()
    [[-0.5, 1.0], [-0.0, 2.0]]
    """
    check_gate(gate)
    b, h = _axis("beta", check_betas(beta)), _axis("field", check_fields(field))
    rows, columns = b[:, None], h[None]
    t = gate._argument(rows, columns)
    values = {
        "expectation": gate._mean(t),
        "signal": columns * gate._mean(t),
        "variance": gate._variance(t),
        "backpropagation_factor": backpropagation_factor(gate, rows, columns),
        "entropy": entropy_of(gate, t),
    }
    return xr.Dataset(
        {name: (("beta", "field"), np.asarray(value)) for name, value in values.items()},
        coords={"beta": ("beta", b, {"symbol": "β"}), "field": ("field", h, {"symbol": "h"})},
    )


@recorded
def specialization_loads(
    gate: AbstractGate, beta: ArrayLike, units: CheckedInside[float]
) -> xr.Dataset:
    """Compute the loads at which committees of noisy gates specialize, over the noise.

    The load α of `tutelage.equilibrium.transitions` for the activation ``gate.signal(beta)``, the
    same for student and teacher.

    Args:
        gate: a `Gate` or an `Interval`.
        beta: values of β ≥ 0, ``math.inf`` included.
        units: K: 2, 3, … or ``math.inf``.

    Returns:
        A Dataset over ``beta``: appears α_s, coexists α_c and unstable α_d, each with its
        ``…_error``, and the order of the transition.  A load that is never reached is infinite:
        that of a linear unit (β = 0), which any mixture can replace.

    >>> import tutelage as tl
    >>> table = tl.gates.specialization_loads(tl.gates.Gate([0, 1]), [0, float("inf")], units=2)
    >>> table["coexists"].values.round(6).tolist()
    [inf, 6.094074]
    """
    check_gate(gate)
    b = _axis("beta", check_betas(beta))
    transitions_of_gates = [transitions(gate.signal(float(x)), units) for x in b]
    data: dict[str, Any] = {
        "order": ("beta", np.array([one.order for one in transitions_of_gates], dtype="<U13"))
    }
    for name in ("appears", "coexists", "unstable"):
        loads = [getattr(one, name) for one in transitions_of_gates]
        data[name] = ("beta", np.array([np.inf if x is None else x.value for x in loads]))
        data[f"{name}_error"] = ("beta", np.array([0.0 if x is None else x.error for x in loads]))
    return xr.Dataset(data, coords={"beta": ("beta", b, {"symbol": "β"})})


def _axis(argument: str, values: ArrayLike) -> np.ndarray:
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or not len(array):
        allowed = "it has to be a number or a sequence of numbers"
        raise InputError(argument, f"an array of shape {array.shape}", allowed, "[0.5, 1, 2]")
    return array
