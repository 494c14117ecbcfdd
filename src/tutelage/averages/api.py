"""The public averages I2, I3 and I4: validated, batched, compiled once."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Array

from tutelage._arguments import validated
from tutelage._checks import (
    InputError,
    covariance as checked_covariance,
    covariance_shape,
    is_traced,
)
from tutelage._given import ArrayLike
from tutelage._jax import jnp, numbers_to_arrays
from tutelage.activations import Activation
from tutelage.activations.base import check_one
from tutelage.averages.estimate import Estimate
from tutelage.averages.methods import Activations, Method, chosen
from tutelage.runs.stored_jit import stored_jit

Units = Activation | Sequence[Activation]


@validated
def i2(
    activation: Units,
    covariance: ArrayLike,
    method: Method | str | None = None,
    return_error: bool = False,
) -> Any:
    """I2 = ⟨g(u) h(w)⟩ over Gaussian (u, w).

    Args:
        activation: g and h: one activation for both, or the two of them.
        covariance: of (u, w), shape (..., 2, 2), positive semi-definite.
        method: "orthant", "erf", "conditional", "hermite", "quadrature", an object such as
            ``Hermite(order=20)``, or None for the best exact one.
        return_error: also return a bound on the error.

    Returns:
        The average, shape (...); with ``return_error`` an `Estimate` (value, error).

    Raises:
        InputError: if an argument cannot be used.

    >>> import tutelage as tl
    >>> print(f"{tl.averages.i2(tl.ReLU(), [[1, 0], [0, 1]]):.12f}")  # 1/(2π)
    0.159154943092
    """
    return _average("i2", _units(activation, 2), covariance, 2, method, return_error)


@validated
def i3(
    activation: Units,
    covariance: ArrayLike,
    method: Method | str | None = None,
    return_error: bool = False,
) -> Any:
    """I3 = ⟨g'(u) v h(w)⟩ over Gaussian (u, v, w); eq. (6) of straat2019 for the ReLU.

    Arguments as in `i2`, with a covariance of (u, v, w), shape (..., 3, 3).

    >>> import tutelage as tl
    >>> identical = [[1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> print(f"{tl.averages.i3(tl.ReLU(), identical):.12f}")  # ⟨x² θ(x)⟩
    0.500000000000
    """
    return _average("i3", _units(activation, 2), covariance, 3, method, return_error)


@validated
def i4(
    activation: Units,
    covariance: ArrayLike,
    method: Method | str | None = None,
    return_error: bool = False,
) -> Any:
    """I4 = ⟨g_1'(u) g_2'(v) h(w) k(z)⟩ over Gaussian (u, v, w, z).

    Arguments as in `i2`, with one activation for all four factors or the four of them, and a
    covariance of (u, v, w, z), shape (..., 4, 4).

    >>> import tutelage as tl
    >>> print(f"{tl.averages.i4(tl.ReLU(), [[1.0] * 4] * 4):.10f}")  # all fields the same: ½
    0.5000000000
    """
    return _average("i4", _units(activation, 4), covariance, 4, method, return_error)


def average(kind: str, activations: Activations, C: Array, method: Method) -> Estimate:
    """Compute an average of a validated covariance; for other packages."""
    return method.average(kind, activations, C)


_compiled = stored_jit(average)


def _average(
    kind: str,
    activations: Activations,
    covariance: ArrayLike,
    size: int,
    wanted: Method | str | None,
    return_error: bool,
) -> Any:
    method = chosen(wanted, activations)
    if is_traced((covariance, activations)):
        C = jnp.asarray(covariance, dtype=jnp.float64)
        covariance_shape("covariance", C.shape, size)
        estimate = average(kind, activations, C, method)
    else:
        C = jnp.asarray(checked_covariance("covariance", covariance, size))
        estimate = _compiled(kind, numbers_to_arrays(activations), C, method)
    return estimate if return_error else estimate.value


def _units(activation: Activation | Sequence[Activation], count: int) -> Activations:
    """Return one activation for every factor."""
    if isinstance(activation, Activation):
        return (check_one(activation),) * count
    if len(activation) != count:
        allowed = f"it has to be an Activation, such as tl.ReLU(), or a sequence of {count}"
        raise InputError("activation", f"{activation!r}", allowed, f"(tl.ReLU(),) * {count}")
    return tuple(check_one(g) for g in activation)
