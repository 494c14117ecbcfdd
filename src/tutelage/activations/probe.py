"""Checks of a user's function: real, finite, differentiable, and with the declared kinks.

A grid cannot prove that a function is smooth or even, but it refuses clear violations:
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

# The spacing is not a round number, so that kinks rarely lie on the grid.
GRID = np.linspace(-8.0, 8.0, 640)
# If the function still changes by more than JUMP of its range over the width NARROW, the change is
# a jump. A tanh(βx) with β = 1e5, a thousand times steeper than anything useful, changes by 1e-4.
NARROW = 1e-9
JUMP = 1e-3
# A change over that width counts if f' does not explain it and it is far above rounding.
SMALL_JUMP = 1e-7
# Values that exceed those on the grid by this factor belong to a pole.
POLE = 1e4
# Points of the grid with |x| > 6, on one side.
OUTER = 81
PARITY_ROUNDING = 1e-12
# Slopes that differ by less than this part of the largest one differ by rounding.
ROUNDED = 1e-9
# Positions where values must be finite, but need not be smooth: zero, where formulas such as
# sin(x)/x fail, and the outermost nodes of the rules for averages.
ELSEWHERE = np.concatenate([[0.0], *(sign * np.linspace(8.7, 20.0, 12) for sign in (-1, 1))])


def probe(g: "Custom") -> None:
    """Raise InputError unless g is a real, finite, differentiable function as declared."""
    if g.declared_parity not in ("odd", "even", "none"):
        allowed = 'it has to be "odd", "even" or "none"'
        raise InputError("parity", repr(g.declared_parity), allowed)
    with jax.ensure_compile_time_eval():  # the grid is constant, also inside a jit
        values = _evaluate(g, jnp.asarray(GRID))
    if is_traced(values):
        return  # f depends on traced parameters: values are unknown
    _finite("values", values.value)
    _finite("derivatives", values.derivative)
    _no_pole(values.value_jump)
    _square_integrable(np.asarray(values.value))
    _no_jump(g, values.value_jump, "value", "a continuous function, such as tanh(20x) for sign(x)")
    _no_jump(g, values.slope_jump, "slope", "kinks={positions}")
    _parity(g, np.asarray(values.value)[: len(GRID)], np.asarray(values.mirrored))


class _Evaluation(NamedTuple):
    """Values and derivatives of g on the grid, and its largest jumps."""

    value: Array
    mirrored: Array
    derivative: Array
    value_jump: "_Jump"
    slope_jump: "_Jump"


class _Jump(NamedTuple):
    """The largest change after bisection, relative to the range, and whether it is a jump."""

    position: Array
    size: Array
    is_jump: Array


@eqx.filter_jit
def _evaluate(g: "Custom", x: Array) -> _Evaluation:
    """Compute everything that the checks need, in one compilation."""
    declared = g.kinks

    def steps(x):
        """The jumps of g' at the declared kinks, which are not to be reported."""
        return sum(jump * jnp.heaviside(x - p, 0.5) for p, jump in declared)

    value, derivative = g(x), g.derivative(x)
    value_jump = _largest_jump(g, x, value, g.derivative)
    rest = derivative - steps(x)
    # Where g is linear between kinks, only rounding of its slopes remains.
    range_ = ROUNDED * jnp.max(jnp.abs(derivative))
    slope_jump = _largest_jump(lambda x: g.derivative(x) - steps(x), x, rest, least=range_)
    value = jnp.concatenate([value, g(ELSEWHERE)])
    derivative = jnp.concatenate([derivative, g.derivative(ELSEWHERE)])
    return _Evaluation(value, g(-x), derivative, value_jump, slope_jump)


def _largest_jump(f, grid: Array, values: Array, slope=None, least=0.0) -> _Jump:
    """Bisect the four largest changes; what remains is a jump.

    If a slope is given, so is a smaller change that it does not explain.
    least: a range that is smaller is taken as this one.
    """
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
    left, right, f_left, f_right = jax.lax.fori_loop(0, steps, bisect, ends)
    # A peak may be narrower than the grid, so values from the bisection count too.
    scale = jnp.maximum(jnp.max(jnp.abs(jnp.concatenate([values, f_left, f_right]))), least)
    jump = jnp.where(scale == 0, 0.0, jnp.abs(f_right - f_left) / scale)  # NaN at a pole
    is_jump = jump > JUMP
    if slope is not None:
        steepest = jnp.maximum(jnp.abs(slope(left)), jnp.abs(slope(right)))
        explained = 10 * steepest * (right - left) / scale
        is_jump = is_jump | ((jump > SMALL_JUMP) & (jump > explained))
    place = jnp.argmax(jnp.where(jnp.isnan(jump), jnp.inf, jump + jnp.where(is_jump, 10.0, 0.0)))
    return _Jump(left[place], jump[place], is_jump[place])


def check_function(f: object) -> None:
    """Check that f maps a number to a real number and that JAX can differentiate it twice."""
    hint = "lambda x: jnp.tanh(x) / 2, written with jax.numpy for a single number x"
    if not callable(f):
        raise InputError("f", repr(f), "it has to be a function of one number", hint)
    result = _traced(f, "that fails on a number", "JAX has to be able to trace it", hint)
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    if shape != () or dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        received = f"a function that returns {_described(result)} for a number"
        raise InputError("f", received, "it has to return one real number", hint)
    if dtype != jnp.float64:
        received, allowed = (
            f"a function that returns {dtype}",
            "half of the digits would be missing",
        )
        raise InputError("f", received, allowed, "a function that returns the type of x")
    twice = jax.vmap(jax.grad(jax.grad(f)))
    allowed = "JAX has to be able to differentiate it twice, for many numbers at once"
    _traced(twice, "that JAX cannot differentiate", allowed, "jax.custom_jvp, or " + hint, (2,))


def _traced(f: Any, fails: str, allowed: str, hint: str, shape: tuple[int, ...] = ()) -> Any:
    """Return shape and type of f at a number, or at an array."""
    try:
        return jax.eval_shape(lambda x: f(x), jax.ShapeDtypeStruct(shape, jnp.float64))
    except Exception as problem:
        reason = str(problem).partition("\n")[0]
        received = f"a function {fails} ({type(problem).__name__}: {reason})"
        raise InputError("f", received, allowed, hint) from problem


def _described(result: Any) -> str:
    if not hasattr(result, "shape"):
        return f"a {type(result).__name__}"
    return f"shape {result.shape} and type {result.dtype}"


def _finite(what: str, values) -> None:
    bad = ~np.isfinite(values)
    if np.any(bad):
        x = np.concatenate([GRID, ELSEWHERE])[np.argmax(bad)]
        received = f"a function whose {what} are not finite, for example at x = {x:.4g}"
        hint = (
            "rewrite it without overflow or division by zero, or use jnp.where on a safe argument"
        )
        raise InputError("f", received, "its values and derivatives have to be finite", hint)


def _no_pole(jump: _Jump) -> None:
    """Check that bisection of the largest changes has met no infinite value."""
    if not np.isfinite(jump.size):
        _refuse_pole(float(jump.position))


def _bounded(g: "Custom", x: float) -> None:
    """Check that an apparent jump is not a pole, such as those of tan(x)."""
    if abs(float(g(x))) > POLE * float(jnp.max(jnp.abs(g(GRID)))):
        _refuse_pole(x)


def _refuse_pole(x: float) -> None:
    received = f"a function whose values are not finite, for example near x = {round(x, 8) + 0.0:g}"
    raise InputError("f", received, "its values have to be finite", "a function without poles")


def _square_integrable(values: np.ndarray) -> None:
    """Check that ln g²φ falls or curves downwards at the ends of the grid, as it does for
    exp(5x).
    """
    for ends in (values[: len(GRID)], values[len(GRID) - 1 :: -1]):
        x, g = np.abs(GRID[:OUTER]), np.abs(ends[:OUTER])
        if np.any(g == 0):
            continue
        first, middle, last = (2 * np.log(g) - x**2 / 2)[[-1, OUTER // 2, 0]]
        if last > middle > first and last - middle > middle - first:
            received = "a function that grows too fast, such as exp(x²)"
            allowed = "⟨g²⟩ over fields of variance 1 has to exist"
            raise InputError(
                "f", received, allowed, "a function that grows at most like exp(x) or a power"
            )


def _no_jump(g: "Custom", jump: _Jump, what: str, hint: str) -> None:
    if jump.is_jump:
        x, size = float(jump.position), float(jump.size)
        _bounded(g, x)
        x = round(x, 8) + 0.0  # round to the digits that bisection determines, and avoid −0
        declared = f" with kinks={g.positions}" if g.positions else ""
        received = (
            f"a function{declared} whose {what} jumps at x = {x:g}, by {size:.2g} of its range"
        )
        allowed = "only its slope may jump, and only at declared kinks"
        raise InputError("f", received, allowed, hint.format(positions=(*g.positions, x)))


def _parity(g: "Custom", values: np.ndarray, mirrored: np.ndarray) -> None:
    if g.declared_parity == "none":
        return
    sign = -1 if g.declared_parity == "odd" else 1
    difference = np.abs(values - sign * mirrored)
    if np.max(difference) > PARITY_ROUNDING * max(1.0, np.max(np.abs(values))):
        x = GRID[np.argmax(difference)]
        relation = "f(−x) = −f(x)" if sign < 0 else "f(−x) = f(x)"
        received = f'"{g.declared_parity}" for a function that violates {relation} at x = {x:.4g}'
        raise InputError("parity", received, "a parity has to hold at every x", 'parity="none"')
