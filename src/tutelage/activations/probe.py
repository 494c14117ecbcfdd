"""Checks of a user's function: real, finite, differentiable, and with the declared kinks.

A grid cannot prove that a function is smooth or even, but it refuses clear violations:
NaN, wrong shapes, steps, kinks that were not declared, a parity that does not hold.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array

from tutelage._checks import InputError, is_traced
from tutelage._given import ArrayLike
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
CHECKED = len(GRID) + len(ELSEWHERE)
POINTS = np.concatenate([GRID, ELSEWHERE, -GRID])  # the last ones for the parity


def probe(g: "Custom") -> None:
    """Raise InputError unless g is a real, finite, differentiable function as declared."""
    with jax.ensure_compile_time_eval():  # the points are constant, also inside a jit
        evaluated = _evaluate(g, POINTS)
        if is_traced(evaluated):
            return  # f depends on traced parameters: values are unknown
        value, derivative, _ = map(np.asarray, evaluated)
        _finite("values", value[:CHECKED])
        _finite("derivatives", derivative[:CHECKED])
        in_value, in_slope = _largest_jumps(g)
        _no_pole(in_value)
        _square_integrable(value)
        continuous = "a continuous function, such as tanh(20x) for sign(x)"
        _no_jump(g, in_value, "value", continuous)
        _no_jump(g, in_slope, "slope", "kinks={positions}")
        _parity(g, value[: len(GRID)], value[CHECKED:])


class _Jump(NamedTuple):
    """The largest change after bisection, relative to the range, and whether it is a jump."""

    position: float
    size: float
    is_jump: bool


@eqx.filter_jit
def _evaluate(g: "Custom", x: ArrayLike) -> tuple[Array, Array, Array]:
    """Return g, g' and the jumps of g' at the declared kinks.

    Every call has as many points as the first one: one program is compiled for all of them.
    """
    return g(x), g.derivative(x), jnp.asarray([jump for _, jump in g.kinks])


def _value_and_slope(g: "Custom", x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return g, g' and g' without its declared jumps at up to as many points as the first ones."""
    padded = np.concatenate([x, POINTS[len(x) :]])
    value, derivative, jumps = (np.asarray(y) for y in _evaluate(g, padded))
    steps = sum(jump * np.heaviside(x - p, 0.5) for p, jump in zip(g.positions, jumps, strict=True))
    return value[: len(x)], derivative[: len(x)], derivative[: len(x)] - steps


def _largest_jumps(g: "Custom") -> tuple[_Jump, _Jump]:
    """Bisect the four largest changes of g and of g'; a change that remains is a jump.

    Of g, a smaller change that its slope does not explain is a jump, too.
    """
    value, derivative, rest = _value_and_slope(g, GRID)
    # Where g is linear between kinks, only rounding of its slopes remains.
    least = np.array([0.0, ROUNDED * np.max(np.abs(derivative))])

    def both(x: np.ndarray) -> np.ndarray:
        value, _, rest = _value_and_slope(g, x.ravel())
        return np.stack([value.reshape(x.shape)[0], rest.reshape(x.shape)[1]])

    on_grid = np.stack([value, rest])
    largest = np.argsort(-np.abs(np.diff(on_grid)), axis=-1, kind="stable")[:, :4]
    left, right = GRID[largest], GRID[largest + 1]
    f_left, f_right = (np.take_along_axis(on_grid, largest + i, -1) for i in (0, 1))
    with np.errstate(all="ignore"):  # infinite and missing values at a pole
        for _ in range(math.ceil(math.log2((GRID[1] - GRID[0]) / NARROW))):
            middle = (left + right) / 2
            f_middle = both(middle)
            first = np.abs(f_middle - f_left) >= np.abs(f_right - f_middle)
            left, right = np.where(first, left, middle), np.where(first, middle, right)
            f_left, f_right = np.where(first, f_left, f_middle), np.where(first, f_middle, f_right)
        # A peak may be narrower than the grid, so values from the bisection count too.
        every = np.concatenate([on_grid, f_left, f_right], axis=-1)
        scale = np.maximum(np.max(np.abs(every), axis=-1), least)[:, None]
        size = np.where(scale == 0, 0.0, np.abs(f_right - f_left) / scale)  # NaN at a pole
        is_jump = size > JUMP
        slopes = _value_and_slope(g, np.concatenate([left[0], right[0]]))[1]
        steepest = np.max(np.abs(slopes.reshape(2, -1)), axis=0)
        explained = 10 * steepest * (right[0] - left[0]) / scale[0]
        is_jump[0] |= (size[0] > SMALL_JUMP) & (size[0] > explained)
    place = np.argmax(np.where(np.isnan(size), np.inf, size + 10.0 * is_jump), axis=-1)
    in_value, in_slope = (
        _Jump(float(left[f, i]), float(size[f, i]), bool(is_jump[f, i]))
        for f, i in enumerate(place)
    )
    return in_value, in_slope


def check_function(f: Callable[..., Any]) -> None:
    """Check that f maps a number to a real number and that JAX can differentiate it twice."""
    hint = "lambda x: jnp.tanh(x) / 2, written with jax.numpy for a single number x"
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
