"""Phase diagrams: which state wins, over a parameter of the activation and the load."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_array, increasing_array, shown, value_of
from tutelage.activations import Activation
from tutelage.equilibrium.symmetric.curve import check_loads
from tutelage.equilibrium.symmetric.pieces import Curve, curve, states_at
from tutelage.equilibrium.symmetric.theory import Point, Theory, theory_of
from tutelage.equilibrium.symmetric.transitions import Transitions, transitions_of
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import recorded

PHASES = (
    "unspecialized",
    "unspecialized, specialized metastable",
    "specialized, unspecialized metastable",
    "specialized",
)


@recorded
def phase_diagram(
    family: Callable[[float], Activation],
    parameters: Any,
    units: Any,
    loads: Any,
    *,
    progress: bool = False,
) -> xr.Dataset:
    """The state of lowest free energy over (parameter, load), and the lines between the phases.

    Args:
        family: makes an activation from a number: ``tl.Swish``, ``tl.LeakyReLU``, ….
        parameters: its numbers: β of Swish, the slope of the leaky ReLU; increasing.
        units: K: 2, 3, … or ``math.inf``.
        loads: values of α ≥ 0, increasing.
        progress: show a bar on a terminal.

    Returns:
        A Dataset over ``parameter`` and ``load``: phase (a number from 0 to 3; its name is the
        entry of the attribute ``phases``, separated by semicolons), generalization_error and
        specialization R − S of the state of lowest free energy; and over ``parameter`` the lines
        appears, coexists and unstable (NaN where there is none) and the order.

    >>> import tutelage as tl
    >>> found = tl.equilibrium.phase_diagram(tl.LeakyReLU, [0.0, 0.5], 2, [5.0, 30.0])
    >>> found["phase"].values.tolist()
    [[0, 3], [0, 3]]
    """
    numbers = finite_array("parameters", parameters)
    numbers = increasing_array("parameters", np.atleast_1d(numbers), hint="[0.5, 1]")
    alpha = check_loads(loads)
    activations = [_member(family, x) for x in numbers]
    rows = []
    with Progress(progress, len(numbers), "parameters") as bar:
        for done, g in enumerate(activations, 1):
            rows.append(_row(theory_of(g, units), alpha))
            bar.show(done)
    data = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    lines = ("appears", "coexists", "unstable", "order")
    both = ("parameter", "load")
    return xr.Dataset(
        {name: ("parameter" if name in lines else both, value) for name, value in data.items()},
        coords={
            "parameter": numbers,
            "load": ("load", alpha, {"long_name": "βP/(KN)", "symbol": "α"}),
        },
        attrs={"phases": "; ".join(PHASES)},
    )


def _row(theory: Theory, loads: np.ndarray) -> dict[str, Any]:
    branches = curve(theory)
    found = transitions_of(theory, branches)
    lines = [np.nan if e is None else float(e.value) for e in
             (found.appears, found.coexists, found.unstable)]  # fmt: skip
    # Comparisons with NaN are False: without a line the phase beyond it does not exist.
    phase = np.sum([loads > line for line in lines], axis=0, dtype=np.int8)
    points = _lowest(theory, branches, found, loads)
    R, S, _ = theory.order(points)
    return {
        "phase": phase,
        "generalization_error": theory.error(points),
        "specialization": np.asarray(R - S) if np.isfinite(theory.units) else np.asarray(R),
        "appears": lines[0],
        "coexists": lines[1],
        "unstable": lines[2],
        "order": found.order,
    }


def _lowest(theory: Theory, branches: Curve, found: Transitions, loads: np.ndarray) -> Point:
    """The state of lowest free energy at each load."""
    table = np.full((3, len(loads)), np.nan)
    won = np.zeros(len(loads), dtype=bool)
    if found.coexists is not None and found.specialized is not None:
        sign = -1 if found.specialized.R < found.specialized.S else 1
        outward = [p for p in branches.pieces if p.outward and p.sign == sign]
        won = loads > found.coexists.value
        table[:, won] = states_at(theory, outward[0 if sign < 0 else -1], loads[won])
    table[:, ~won] = theory.unspecialized(loads[~won])
    return Point(*table)


def _member(family: Any, number: float) -> Activation:
    hint = "tl.Swish, tl.LeakyReLU, or a function of a number that returns an Activation"
    if not callable(family):
        raise InputError("family", repr(family), "it has to make activations", hint)
    g = value_of("family", family, float(number), allowed="it has to make activations", hint=hint)
    if not isinstance(g, Activation):
        raise InputError(
            "family", f"a function that returns {shown(g)}", "it has to make activations", hint
        )
    return g
