"""One interface for every number of units: K = 1, finite K and K → ∞.

A theory knows its unspecialized state at a load, the two equations of specialized states at a
given V = R − S with their load, and what a state is worth.  Newton's method, the slope of the
load and stability are the same for all; states, learning curves and transitions are written
against this interface.
"""

import abc
import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import toms748

from tutelage._checks import InputError
from tutelage._given import CheckedInside
from tutelage._types import FloatOrArray
from tutelage.activations import Activation
from tutelage.equilibrium.kernel.kernel import Kernel, kernel_of
from tutelage.equilibrium.symmetric.stability import HessianBlock, eigenvalues, is_positive
from tutelage.solve.newton import newton

# For larger K the differences to K → ∞ are rounding.
MAX_UNITS = 10**6
MAX_STEPS = 60
# Tolerance of residuals with terms of order one: one more Newton step reaches rounding.
TOLERANCE = 1e-12
FOLD_TOLERANCE = 1e-13  # of V, relative
CLOSEST = 1e-9  # 1 − |V| at the ends of the specialized curve
# Within this |V| differences over V are integrals over the derivative: Gauss–Legendre with ten
# points is exact to (|V|/2r)^20, r ≥ 0.1 the distance to a singularity at ±1 that matters.
MAX_INTEGRATED_V = 0.02
_X, _W = np.polynomial.legendre.leggauss(10)
NODES, WEIGHTS = (1 + _X) / 2, _W / 2  # on [0, 1]


class Point(NamedTuple):
    """V = R − S, d = K(U − 1), c = K²C: numbers, or arrays of the same shape.

    U = R + (K−1)S.  With one order parameter R (K = 1 and K → ∞), V is R and d = c = 0.
    """

    V: Any
    d: Any
    c: Any


class Order(NamedTuple):
    """The order parameters R, S and C."""

    R: Any
    S: Any
    C: Any


class Equations(NamedTuple):
    """The equations of a specialized state at a given V.

    F, J: two residuals, and their derivatives in (d, c).
    along: their derivatives in V.
    inverse, gradient: 1/α, and its derivatives in (V, d, c).
    """

    F: np.ndarray
    J: np.ndarray
    along: np.ndarray
    inverse: Any
    gradient: np.ndarray


class Theory(abc.ABC):
    """Stationary states of βf for one activation and one number of units."""

    kernel: Kernel
    units: float
    size: float = 1.0  # size of d and c, if it is below 1

    @abc.abstractmethod
    def unspecialized(self, load: FloatOrArray) -> Point:
        """The states with R = S at given loads."""

    @abc.abstractmethod
    def trace(self) -> Point:
        """The specialized curve, at increasing V."""

    def sheets(self) -> list[Point]:
        """Curves of specialized states at increasing V; several if a V has several states."""
        return [self.trace()]

    @abc.abstractmethod
    def equations(self, point: Point) -> Equations:
        """The equations of the specialized curve."""

    @abc.abstractmethod
    def is_inside(self, point: Point) -> Any:
        """True where the order parameters are correlations."""

    @abc.abstractmethod
    def order(self, point: Point) -> Order:
        """R, S and C of a point."""

    @abc.abstractmethod
    def error(self, point: Point) -> Any:
        """ε_g."""

    @abc.abstractmethod
    def free_energy(self, load: FloatOrArray, point: Point) -> Any:
        """βf/K."""

    @abc.abstractmethod
    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        """Blocks of the full Hessian in orthonormal coordinates, (..., m, m), by representation."""

    def load_derivative(self, point: Point) -> Any:
        """∂(βf/K)/∂α at fixed order parameters: ε_g in the limit of high temperature."""
        return self.error(point)

    def hessian(self, load: float, point: Point) -> np.ndarray:
        """Second derivatives in the order parameters."""
        return self.matrices(load, point)["trivial"]

    @property
    def is_mirrored(self) -> bool:
        """True if V → −V is a symmetry: for two units, and for even activations."""
        return self.units == 2 or self.kernel.slope == 0

    @property
    def has_flat_state(self) -> bool:
        """False for a single unit with a linear part, whose R grows from zero load on."""
        return self.units > 1 or self.kernel.slope == 0

    def at(self, V: FloatOrArray, guess: Point) -> Point:
        """Solve for the states of the specialized curve at V; d and c are NaN where it fails."""

        def point(x: np.ndarray) -> Point:
            return Point(V, self.size * x[..., 0], self.size * x[..., 1])

        def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            solved = self.equations(point(x))
            scale = 1 + np.abs(self.size * x[..., :1])
            return solved.F / scale, self.size * solved.J / scale[..., None]

        start = np.stack(np.broadcast_arrays(guess.d, guess.c, V)[:2], -1) / self.size
        return point(_root(residual, start, lambda x: self.is_inside(point(x))))

    def moved(self, V: float, point: Point) -> Point:
        """Return the state at V next to a point, or that point if Newton's method fails."""
        next_point = self.at(V, point)
        return point if np.isnan(next_point.d) else next_point

    def fold(self, left: Point, right: Point) -> Point:
        """Return the point between two points of the curve at which dα/dV changes its sign."""

        def rate(V: float) -> float:
            return float(self.slope(self.at(float(V), between(left, right, V)))[1])

        V = float(toms748(rate, left.V, right.V, xtol=1e-300, rtol=FOLD_TOLERANCE))
        return self.at(V, between(left, right, V))

    def at_load(self, load: Float[np.ndarray, "..."], guess: Point) -> Point:
        """Solve for the states at given loads from guesses with one sign of V; NaN on failure."""
        side = np.sign(np.sum(guess.V))

        def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            solved = self.equations(Point(*np.moveaxis(x, -1, 0)))
            F = np.concatenate([(load * solved.inverse - 1)[..., None], solved.F], axis=-1)
            rest = np.concatenate([solved.along[..., None], solved.J], axis=-1)
            return F, np.concatenate([(load[..., None] * solved.gradient)[..., None, :], rest], -2)

        def allowed(x: np.ndarray) -> np.ndarray:
            return self.is_inside(Point(*np.moveaxis(x, -1, 0))) & (np.sign(x[..., 0]) == side)

        return Point(*np.moveaxis(_root(residual, np.stack(guess, -1), allowed), -1, 0))

    def slope(self, point: Point) -> tuple[Any, Any]:
        """Return α and dα/dV on the specialized curve; infinite and NaN where there is no state."""
        equations = self.equations(point)
        turn = -_solved(equations.J, equations.along)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = equations.gradient[..., 0] + np.sum(equations.gradient[..., 1:] * turn, axis=-1)
            load = np.where(equations.inverse > 0, 1 / equations.inverse, np.inf)
            rate = np.where(equations.inverse > 0, -rate * load**2, np.nan)
        if self.is_mirrored:
            rate = np.where(point.V == 0, 0.0, rate)
        return load[()], rate[()]

    def stable(self, load: FloatOrArray, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """True for minima in all overlaps, and for minima among site-symmetric states."""
        positive = [is_positive(H) for H in self.matrices(load, point).values()]
        return np.all(positive, axis=0), positive[0]

    def blocks(self, load: float, point: Point) -> list[HessianBlock]:
        """Eigenvalues of the full Hessian by representation, with their multiplicities."""
        K = self.units
        often = {"trivial": 1, "standard": K - 1, "[K-2, 2]": K * (K - 3) / 2}
        often["[K-2, 1, 1]"] = (K - 1) * (K - 2) / 2
        matrices = self.matrices(load, point)
        return [HessianBlock(name, often[name], eigenvalues(H)) for name, H in matrices.items()]


def between(left: Point, right: Point, V: float) -> Point:
    """Interpolate linearly between two points of the curve."""
    weight = (V - left.V) / (right.V - left.V)
    return Point(*(a + weight * (b - a) for a, b in zip(left, right, strict=True)))


def _root(
    residual: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    allowed: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return roots next to the starts; NaN on failure, and where a start lies outside."""
    start = np.where(allowed(start)[..., None], start, np.nan)
    root = newton(residual, start, steps=MAX_STEPS, tolerance=TOLERANCE, allowed=allowed)
    return np.where(root.converged[..., None], root.x, np.nan)


def _solved(J: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Return J⁻¹F of two equations, shape (..., 2); not finite where J is singular."""
    (a, b), (c, d) = np.moveaxis(J, (-2, -1), (0, 1))
    f, g = np.moveaxis(F, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([d * f - b * g, a * g - c * f], -1) / (a * d - b * c)[..., None]


def divided(
    kernel: Kernel, n: float, V: FloatOrArray, R: FloatOrArray, S: FloatOrArray
) -> np.ndarray:
    """Return D = [κ'(R) − κ'(S)]/V and its partial derivatives in V and U; n = 1/K."""
    small = np.abs(V) < MAX_INTEGRATED_V
    if np.all(small) or not np.any(small):
        return (_integrated if np.all(small) else _differences)(kernel, n, V, R, S)
    V, R, S = np.broadcast_arrays(V, R, S)
    quotient = np.empty((3, *V.shape))
    for mask, method in ((small, _integrated), (~small, _differences)):
        quotient[:, mask] = method(kernel, n, V[mask], R[mask], S[mask])
    return quotient


def _differences(
    kernel: Kernel, n: float, V: FloatOrArray, R: FloatOrArray, S: FloatOrArray
) -> np.ndarray:
    ends = np.stack([S, R])
    first, second = kernel.tilde_first(ends), kernel.second(ends)
    D = (first[1] - first[0]) / V
    in_V = ((1 - n) * second[1] + n * second[0] - D) / V
    return np.stack([D, in_V, n * (second[1] - second[0]) / V])


def _integrated(
    kernel: Kernel, n: float, V: FloatOrArray, R: FloatOrArray, S: FloatOrArray
) -> np.ndarray:
    rho = np.multiply.outer(V, NODES) + np.asarray(S)[..., None]
    third = kernel.third(rho) * WEIGHTS
    return np.stack([kernel.second(rho) @ WEIGHTS, third @ (NODES - n), n * np.sum(third, axis=-1)])


def theory_of(activation: Activation, units: CheckedInside[float]) -> Theory:
    """Return the theory for an activation and K = 1, 2, …, or ``math.inf``."""
    from tutelage.equilibrium.symmetric.finite import FiniteTheory
    from tutelage.equilibrium.symmetric.scalar import InfiniteTheory, SingleTheory

    infinite = isinstance(units, float) and units == math.inf
    whole = isinstance(units, Integral) and not isinstance(units, bool)
    if not infinite and (not whole or not 1 <= int(units) <= MAX_UNITS):
        raise InputError(
            "units",
            repr(units),
            "it has to be a whole number from 1 to 10⁶, or infinite",
            "units=5, or units=math.inf for more units",
        )
    kernel = kernel_of(activation)
    if infinite:
        return InfiniteTheory(kernel)
    return SingleTheory(kernel) if units == 1 else FiniteTheory(kernel, int(units))
