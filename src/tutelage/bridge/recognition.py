"""Recognise an activation by its values, up to a factor; names are not used.

An activation that is none of the package's becomes ``Activation.from_function``: by the function
of the framework itself where that is one of JAX, else by a spline through its values.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import PPoly, make_interp_spline

from tutelage import activations
from tutelage._checks import InputError, within_range
from tutelage._jax import jnp
from tutelage.activations import Activation
from tutelage.activations.units import UNITS
from tutelage.bridge.description import Function

FIELDS = np.linspace(-6.0, 6.0, 241)
# A slope that changes by more than this between points 1e-6 apart has a kink there.
KINK = 1e-3
# Splines reach from -END to END with knots this far apart: their error is STEP⁶ and a derivative.
END, STEP = 24.0, 1 / 32


class Recognised(NamedTuple):
    """c g, with g one of the package's activations."""

    activation: Activation
    factor: float


def recognised(function: Function, error: float) -> Recognised | None:
    """The activation of the package with these values up to a factor, or None.

    error: of the values, relative to the largest.
    """
    try:
        g = function.values(FIELDS)
    except Exception:  # a user's function may fail in any way
        return None
    if np.shape(g) != FIELDS.shape or not np.all(np.isfinite(g)):
        return None
    size = np.max(np.abs(g))
    with np.errstate(all="ignore"):
        candidates = list(_candidates(dict(zip(FIELDS.round(9).tolist(), g, strict=True)), error))
    for one in candidates:
        if np.max(np.abs(one.factor * np.asarray(one.activation(FIELDS)) - g)) <= error * size:
            return one
    return None


def _candidates(g: dict[float, float], error: float) -> Iterator[Recognised]:
    """Yield activations that agree with g at -1, 0 and 1; the caller tests other points."""
    up, zero, down = (float(g[x]) for x in (1.0, 0.0, -1.0))
    digits = max(2, int(-math.log10(error)))

    def one(
        kind: Callable[..., Activation], factor: float, *parameters: float
    ) -> Iterator[Recognised]:
        numbers = [float(f"{p:.{digits}g}") for p in parameters]
        if np.isfinite(factor) and factor != 0 and all(map(within_range, numbers)):
            yield Recognised(kind(*numbers), float(f"{factor:.{digits}g}"))

    fits = [(getattr(activations, unit.kind), unit.fit(up, zero, down)) for unit in UNITS.values()]
    # Activations with the fewest parameters first: a straight line is `Linear`, not `LeakyReLU(1)`.
    for kind, numbers in sorted(fits, key=lambda fit: len(fit[1])):
        yield from one(kind, *numbers)


def custom(argument: str, function: Function) -> Activation:
    """Convert any other function to an activation; its kinks are located."""
    _check_elementwise(argument, function)
    kinks = _kinks(function.values)
    f = function.jax if function.jax is not None else Spline.through(function.values, kinks)
    try:
        return Activation.from_function(f, name=function.name, kinks=kinks)
    except InputError as problem:
        allowed = f"it has to be a function that the averages can use ({problem.allowed})"
        raise InputError(
            argument, f"the activation {function.name}: {problem.received}", allowed, problem.hint
        ) from None


def _check_elementwise(argument: str, function: Function) -> None:
    """Refuse functions that mix units, such as a softmax."""
    x, y = np.array([-1.0, 0.5, 2.0]), np.array([-1.0, 0.5, 1.0])
    first, second = function.values(x), function.values(y)
    if np.shape(first) != x.shape or not np.allclose(first[:2], second[:2], rtol=1e-4, atol=1e-6):
        allowed = "every unit has to depend on its own field alone"
        raise InputError(argument, f"the activation {function.name}", allowed, "tl.ReLU()")


def _kinks(g: Callable[[np.ndarray], np.ndarray]) -> tuple[float, ...]:
    """Find the points where the slope of g jumps, by repeated subdivision."""
    x = np.linspace(-8.0, 8.0, 1024)  # not a round spacing: zero lies between two points
    y = g(x)
    bend = np.abs(np.diff(y, 2))
    slope = np.max(np.abs(np.diff(y))) / (x[1] - x[0])
    # A kink changes the slope in one or two intervals; a smooth bend changes its neighbours as
    # much.
    neighbours = np.maximum(np.roll(bend, 3), np.roll(bend, -3))
    kinks: list[float] = []
    for i in np.flatnonzero(bend > 3 * neighbours + KINK / 4 * slope * (x[1] - x[0])):
        a, b = x[i], x[i + 2]
        while b - a > 1e-9:
            points = np.linspace(a, b, 9)
            k = int(np.argmax(np.abs(np.diff(g(points), 2))))
            a, b = points[k], points[min(k + 2, 8)]
        p = round(0.5 * (a + b), 7) + 0.0
        h = 1e-5
        jump = (g(np.array([p + 2 * h])) - g(np.array([p + h]))) / h
        jump = jump - (g(np.array([p - h])) - g(np.array([p - 2 * h]))) / h
        if abs(float(jump[0])) > KINK * slope and not any(abs(p - q) < 1e-6 for q in kinks):
            kinks.append(p)
    return tuple(kinks)


class Spline(eqx.Module):
    """A function that interpolates given values between kinks and is straight beyond its ends."""

    knots: Float[Array, " knots"]
    coefficients: Float[Array, "knots order"]

    @classmethod
    def through(cls, g: Callable[[np.ndarray], np.ndarray], kinks: tuple[float, ...]) -> "Spline":
        """Interpolate g by splines of degree five, because averages need two derivatives."""
        # Between kinks, and on both sides of 0, where many functions change their formula.
        ends = sorted({-END, 0.0, *kinks, END})
        knots, rows = [], []
        for a, b in pairwise(ends):
            x = np.linspace(a, b, max(16, round((b - a) / STEP)))
            pieces = PPoly.from_spline(make_interp_spline(x, g(x), k=5))
            width = np.diff(pieces.x) > 0
            knots.append(pieces.x[:-1][width])
            rows.append(pieces.c[:, width].T)
        return cls(jnp.asarray(np.concatenate(knots)), jnp.asarray(np.concatenate(rows)))

    def __call__(self, x: Float[Array, "..."]) -> Any:
        inside = jnp.clip(x, -END, END)
        i = jnp.clip(jnp.searchsorted(self.knots, inside, side="right") - 1, 0)
        t, c = inside - self.knots[i], self.coefficients[i]
        value, slope = c[0], jnp.zeros_like(c[0])
        for a in (c[k] for k in range(1, self.coefficients.shape[1])):
            slope, value = slope * t + value, value * t + a
        return value + slope * (x - inside)
