"""Derivatives of an average in all parameters: forward mode, one covariance at a time.

Reverse mode through the rules of `tutelage.averages.conditional.rules` stores intermediate values
of all nodes: 6.5 GB for one I4 of tanh.  Under `jax.vmap` every rule is computed for every
covariance.  An average depends on few numbers; a covariance of four fields has ten.  Forward mode
therefore needs ten tangents and 20 MB for the whole gradient, and reverse mode contracts that
gradient with its cotangents.  `jax.vmap` becomes a loop over covariances.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
from jax import custom_batching
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from tutelage._jax import jax, jnp
from tutelage.averages.estimate import Estimate

# For every derivative, the indices of the parameters with respect to which it is taken.
Places = tuple[tuple[int, ...], ...]
# The parameters of an average, or their tangents; None for constant parameters.
Numbers = tuple[tuple[Any, ...]]


class Average(NamedTuple):
    """An average as two functions of the same numbers: the value with its error, and the value
    alone.
    """

    judged: Callable[..., Estimate]
    alone: Callable[..., Array]


@eqx.filter_custom_jvp
def estimate(numbers: tuple[Array, ...], *, average: Average) -> Estimate:
    """Average with its error; the error has no derivative."""
    estimate: Estimate = _one_by_one(average.judged)(*numbers)
    return estimate


@estimate.def_jvp  # type: ignore[untyped-decorator]
def _estimate_tangent(
    primals: Numbers, tangents: Numbers, *, average: Average
) -> tuple[Estimate, Estimate]:
    slope = _along(primals, tangents, average, ())
    return estimate(*primals, average=average), Estimate(slope, jnp.zeros(()))


@eqx.filter_custom_jvp
def _derivative(numbers: tuple[Array, ...], *, average: Average, by: Places) -> Array:
    """∂ᵏ⟨…⟩ with one axis for each of the k derivatives."""
    function = average.alone
    for places in by:
        function = _differentiated(function, places)
    value: Array = _one_by_one(function)(*numbers)
    return value


@_derivative.def_jvp  # type: ignore[untyped-decorator]
def _derivative_tangent(
    primals: Numbers, tangents: Numbers, *, average: Average, by: Places
) -> tuple[Array, Array]:
    slope = _along(primals, tangents, average, by)
    return _derivative(*primals, average=average, by=by), slope


def _along(primals: Numbers, tangents: Numbers, average: Average, by: Places) -> Array:
    """Change of a derivative: Σ ∂(…)/∂x_i dx_i over the numbers that change."""
    (numbers,), (changes,) = primals, tangents
    places = tuple(i for i, change in enumerate(changes) if change is not None)
    change, _ = ravel_pytree([changes[i] for i in places])
    derivative: Array = _derivative(numbers, average=average, by=(*by, places))
    return derivative @ change


def _one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Vectorize a function by a serial loop instead of `jax.vmap`."""
    loop: Callable[..., Any] = custom_batching.sequential_vmap(function)  # type: ignore[no-untyped-call]
    return loop


def _differentiated(
    function: Callable[..., Array], places: tuple[int, ...]
) -> Callable[..., Array]:
    """Differentiate by all entries of some arguments, which become the last axis."""

    def derivative(*numbers: Array) -> Array:
        flat, restore = ravel_pytree([numbers[i] for i in places])

        def moved(flat: Array) -> Array:
            changed = dict(zip(places, restore(flat), strict=True))
            return function(*(changed.get(i, x) for i, x in enumerate(numbers)))

        slope: Array = jax.jacfwd(moved)(flat)
        return slope

    return derivative
