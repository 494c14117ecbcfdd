"""Theories with one order parameter R: K = 1 and K → ∞.

    βf/K = α [w(1) − w(R)] − ½ ln(1 − R²),        α w'(R) = R/(1 − R²).

A single unit has w = κ − κ(0) (``oostwal2019`` Appendix C, eqs. (29) to (33)).  There is nothing
to specialize; only if κ'(0) = 0, for even activations, R = 0 is a state, and R leaves it at
α = 1/κ''(0).

For K → ∞ the linear part is learned at once: U → 1, S = (1−R)/K and C = O(1/K²), and w is κ̃,
the kernel without its linear part.  ε_g = κ̃(1) on the plateau R = 0 (section III: 1/3 − 1/π for
erf and 1/4 − 1/(2π) for the ReLU).
"""

import math
from typing import Any

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.stability import pairs_block
from tutelage.equilibrium.symmetric.theory import (
    CLOSEST,
    Equations,
    Order,
    Point,
    Theory,
    divided,
)


class ScalarTheory(Theory):
    """The load is an explicit function of R, which is V; d = c = 0.

    linear: the linear coefficient of w: κ'(0) for one unit, 0 for K → ∞.
    """

    linear: float

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def unspecialized(self, load: FloatOrArray) -> Point:
        return Point(*np.zeros((3, *np.shape(load))))

    @staticmethod
    def grid() -> np.ndarray:
        """R of both signs, dense next to 0 and next to ±1, where the load diverges."""
        end = 1 - np.geomspace(CLOSEST, 0.04, 50)
        zero = np.geomspace(1e-6, 0.02, 20)
        right = np.concatenate([zero, np.arange(0.03, 0.955, 0.01), end[::-1]])
        return np.concatenate([-right[::-1], [0.0], right])

    def trace(self) -> Point:
        R = self.grid()
        load = self.slope(Point(R, 0.0, 0.0))[0]
        R = R[np.isfinite(load) & (load >= 0)]
        return Point(R, np.zeros_like(R), np.zeros_like(R))

    def equations(self, point: Point) -> Equations:
        """1/α = (1−R²) w'(R)/R; d and c vanish."""
        R = np.asarray(point.V, dtype=float)
        ratio, rate = self._ratio(R)
        none = np.zeros((*R.shape, 2))
        slope = (1 - R) * (1 + R) * rate - 2 * R * ratio
        F = np.stack(np.broadcast_arrays(point.d, point.c, R)[:2], -1) + none
        J = np.broadcast_to(np.eye(2), (*R.shape, 2, 2))
        gradient = np.concatenate([slope[..., None], none], axis=-1)
        return Equations(F, J, none, (1 - R) * (1 + R) * ratio, gradient)

    def _ratio(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w'(R)/R and its derivative."""
        ratio, rate, _ = divided(self.kernel, 0.0, R, R, np.zeros_like(R))
        if self.linear:
            x = np.where(R == 0, 1.0, R)
            ratio, rate = ratio + self.linear / x, rate - self.linear / x**2
        return ratio, rate

    def slope(self, point: Point) -> tuple[Any, Any]:
        load, rate = super().slope(point)
        if self.linear > 0:  # R grows from 0 at no load, like α κ'(0)
            zero = np.asarray(point.V) == 0
            load, rate = np.where(zero, 0.0, load), np.where(zero, 1 / self.linear, rate)
        return load[()], rate[()]

    def is_inside(self, point: Point) -> Any:
        return np.abs(point.V) < 1

    def error(self, point: Point) -> Any:
        k, R = self.kernel, np.asarray(point.V)
        return k.tilde(1.0) - k.tilde(R) + self.linear * (1 - R)

    def free_energy(self, load: FloatOrArray, point: Point) -> Any:
        R = np.asarray(point.V)
        return load * self.error(point) - 0.5 * np.log((1 - R) * (1 + R))

    def _curvature(self, load: FloatOrArray, point: Point) -> np.ndarray:
        """d²(βf/K)/dR²."""
        R = np.asarray(point.V)
        return np.asarray((1 + R**2) / ((1 - R) * (1 + R)) ** 2 - load * self.kernel.second(R))


class SingleTheory(ScalarTheory):
    """K = 1; S and C do not exist and are given as NaN."""

    units = 1.0

    def __init__(self, kernel: Kernel):
        super().__init__(kernel)
        self.linear = kernel.slope

    def order(self, point: Point) -> Order:
        missing = np.full_like(np.asarray(point.V, dtype=float), np.nan)[()]
        return Order(point.V, missing, missing)

    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        return {"trivial": self._curvature(load, point)[..., None, None]}


class InfiniteTheory(ScalarTheory):
    """K → ∞ at loads α of order one; S and C vanish."""

    linear = 0.0
    units = math.inf

    def order(self, point: Point) -> Order:
        zero = np.zeros_like(np.asarray(point.V, dtype=float))[()]
        return Order(point.V, zero, zero)

    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        """The blocks that remain finite for K → ∞; the other blocks are positive.

        In the trivial and the standard representation two directions become infinitely stiff
        (the linear part of the error); what is left is the Hessian in R and, in the standard
        one, 1/(2B) for a unit that turns, and with it its overlaps with all other students, while
        the sum of the students does not.
        """
        R = np.asarray(point.V)
        b, k2 = 1 / ((1 - R) * (1 + R)), float(self.kernel.second(0.0))
        own = self._curvature(load, point)
        return {
            "trivial": own[..., None, None],
            "standard": np.stack([own, b / 2], -1)[..., None] * np.eye(2),
            "[K-2, 2]": pairs_block(load, R, b, k2, k2),
            "[K-2, 1, 1]": np.asarray(b - load * k2)[..., None, None],
        }
