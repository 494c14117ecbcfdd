"""A look at the user's function before it is believed.

A grid cannot prove that a function is smooth or even, but it refuses what is plainly not:
NaN, wrong shapes, steps, kinks that were not declared, a parity that does not hold.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array

from tutelage._checks import InputError, is_traced
from tutelage._jax import jax, jnp

if TYPE_CHECKING:
    from tutelage.activations.custom import Custom

# Not a round spacing, so that no grid point is a likely place for a kink.
GRID = np.linspace(-8.0, 8.0, 640)
# A change that is still more than JUMP of the range over the width NARROW is a jump.
# A tanh(βx) with β = 1e5, a thousand times steeper than anything useful, changes by 1e-4.
NARROW = 1e-9
JUMP = 1e-3
PARITY_ROUNDING = 1e-12


def probe(g: "Custom") -> None:
    """Raise InputError unless g is a real, finite, differentiable function as declared."""
    if g.declared_parity not in ("odd", "even", "none"):
        allowed = 'it has to be "odd", "even" or "none"'
        raise InputError("parity", repr(g.declared_parity), allowed)
    with jax.ensure_compile_time_eval():  # the grid is known, also inside a jit
        seen = _look(g, jnp.asarray(GRID))
    if is_traced(seen):
        return  # f depends on traced parameters: nothing to look at
    _finite("values", seen.value)
    _finite("derivatives", seen.derivative)
    _no_jump(g, seen.value_jump, "value", "a continuous function")
    _no_jump(g, seen.slope_jump, "slope", "kinks={positions}")
    _parity(g, np.asarray(seen.value), np.asarray(seen.mirrored))


class _Seen(NamedTuple):
    value: Array
    mirrored: Array
    derivative: Array
    value_jump: tuple[Array, Array]
    slope_jump: tuple[Array, Array]


@eqx.filter_jit
def _look(g: "Custom", x: Array) -> _Seen:
    """Everything the checks need, in one compilation."""
    declared = g.kinks

    def steps(x):
        """The jumps of g' at the declared kinks, which are not to be reported."""
        return sum(jump * jnp.heaviside(x - p, 0.5) for p, jump in declared)

    value, derivative = g(x), g.derivative(x)
    value_jump = _largest_jump(g, x, value)
    slope_jump = _largest_jump(lambda x: g.derivative(x) - steps(x), x, derivative - steps(x))
    return _Seen(value, g(-x), derivative, value_jump, slope_jump)


def _largest_jump(f, grid: Array, values: Array) -> tuple[Array, Array]:
    """Position and relative size: bisect the four largest changes; what survives is a jump."""
    largest = jax.lax.top_k(jnp.abs(jnp.diff(values)), 4)[1]

    def bisect(_, ends):
        left, right, f_left, f_right = ends
        middle = (left + right) / 2
        f_middle = f(middle)
        first = jnp.abs(f_middle - f_left) >= jnp.abs(f_right - f_middle)
        halves = (left, middle, f_left, f_middle), (middle, right, f_middle, f_right)
        return tuple(jnp.where(first, a, b) for a, b in zip(*halves, strict=True))

    ends = grid[largest], grid[largest + 1], values[largest], values[largest + 1]
    steps = math.ceil(math.log2((GRID[1] - GRID[0]) / NARROW))
    left, _, f_left, f_right = jax.lax.fori_loop(0, steps, bisect, ends)
    # A peak may be narrower than the grid: what bisection found of it counts too.
    scale = jnp.max(jnp.abs(jnp.concatenate([values, f_left, f_right])))
    jump = jnp.abs(f_right - f_left) / scale
    return left[jnp.argmax(jump)], jnp.max(jump)


def check_function(f: Any) -> None:
    """f maps a number to a real number."""
    hint = "lambda x: jnp.tanh(x) / 2, written with jax.numpy for a single number x"
    if not callable(f):
        raise InputError("f", repr(f), "it has to be a function of one number", hint)
    try:
        result = jax.eval_shape(f, jax.ShapeDtypeStruct((), jnp.float64))
    except Exception as problem:
        reason = str(problem).partition("\n")[0]
        came = f"a function that fails on a number ({type(problem).__name__}: {reason})"
        raise InputError("f", came, "JAX has to be able to trace it", hint) from problem
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    if shape != () or dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        came = f"a function that returns shape {shape} and type {dtype} for a number"
        raise InputError("f", came, "it has to return one real number", hint)


def _finite(what: str, values) -> None:
    bad = ~np.isfinite(values)
    if np.any(bad):
        x = GRID[np.argmax(bad)]
        came = f"a function whose {what} are not finite, at x = {x:.4g} for one"
        hint = "a form without overflow or division by zero, or jnp.where on a safe argument"
        raise InputError("f", came, "they have to be finite", hint)


def _no_jump(g: "Custom", found: tuple[Array, Array], what: str, hint: str) -> None:
    x, jump = (float(number) for number in found)
    if jump > JUMP:
        x = round(x, 8) + 0.0  # no digits beyond the bisection, and no −0
        declared = f" with kinks={g.positions}" if g.positions else ""
        came = f"a function{declared} whose {what} jumps at x = {x:g}, by {jump:.2g} of its range"
        allowed = "it may jump only in its slope, and only at declared kinks"
        raise InputError("f", came, allowed, hint.format(positions=(*g.positions, x)))


def _parity(g: "Custom", here: np.ndarray, there: np.ndarray) -> None:
    if g.declared_parity == "none":
        return
    sign = -1 if g.declared_parity == "odd" else 1
    difference = np.abs(here - sign * there)
    if np.max(difference) > PARITY_ROUNDING * max(1.0, np.max(np.abs(here))):
        x = GRID[np.argmax(difference)]
        relation = "f(−x) = −f(x)" if sign < 0 else "f(−x) = f(x)"
        came = f'"{g.declared_parity}" for a function that misses {relation} at x = {x:.4g}'
        raise InputError("parity", came, "it has to hold for every x", 'parity="none"')
