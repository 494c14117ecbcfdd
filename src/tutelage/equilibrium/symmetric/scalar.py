"""Theories with one order parameter R: K = 1 and K → ∞.

    βf/K = α [w(1) − w(R)] − ½ ln(1 − R²),        α w'(R) = R/(1 − R²),

with w = κ − κ(0) for a single unit (``oostwal2019`` Appendix C) and w = κ̃, the kernel without
its linear part, for K → ∞.  The load is an explicit function of R.
"""

import abc
from typing import Any

import numpy as np

from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.branch import CLOSEST, Trace
from tutelage.equilibrium.symmetric.site import NODES, SMALL, WEIGHTS, Point
from tutelage.equilibrium.symmetric.theory import Theory


class ScalarTheory(Theory):
    """V is R; d and c of a point are not used.

    linear: the linear coefficient of w: κ'(0) for one unit, 0 for K → ∞.
    """

    linear: float

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def unspecialized(self, load: float) -> Point:
        return Point(0.0, 0.0, 0.0)

    def unspecialized_many(self, loads: np.ndarray) -> Point:
        return Point(*np.zeros((3, len(loads))))

    def at(self, V: float, guess: Point) -> Point:
        return Point(V, 0.0, 0.0)

    def at_many(self, V: np.ndarray, guess: Point) -> Point:
        return Point(V, np.zeros_like(V), np.zeros_like(V))

    def trace(self) -> Trace:
        end = 1 - np.geomspace(CLOSEST, 0.04, 50)
        zero = np.geomspace(1e-6, 0.02, 20)
        right = np.concatenate([zero, np.arange(0.03, 0.955, 0.01), end[::-1]])
        R = np.concatenate([-right[::-1], [0.0], right])
        load, slope = self.slope(Point(R, 0.0, 0.0))
        good = np.isfinite(load) & (load >= 0)
        none = np.zeros(int(np.sum(good)))
        return Trace(R[good], none, none, load[good], slope[good])

    def slope(self, point: Point) -> tuple[Any, Any]:
        """α = 1/[(1−R²) w'(R)/R] and dα/dR; infinite and NaN where there is no state."""
        R = np.asarray(point.V, dtype=float)
        ratio, rate = self._ratio(R)
        inverse = (1 - R) * (1 + R) * ratio
        with np.errstate(divide="ignore", invalid="ignore"):
            load = np.where(inverse > 0, 1 / inverse, np.inf)
            slope = -((1 - R) * (1 + R) * rate - 2 * R * ratio) * load**2
        slope = np.where(inverse > 0, slope, np.nan)
        if self.linear > 0:  # R grows from 0 at no load, like α κ'(0)
            load, slope = np.where(R == 0, 0.0, load), np.where(R == 0, 1 / self.linear, slope)
        return load[()], slope[()]

    def _ratio(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w'(R)/R and its derivative; κ̃'(R)/R = ∫₀¹ κ''(tR) dt where R is small."""
        k, small = self.kernel, np.abs(R) < SMALL
        near = np.where(small, R, 0.0)[..., None] * NODES
        far = np.where(small, SMALL, R)
        quotient = k.tilde_first(far) / far
        ratio = np.where(small, k.second(near) @ WEIGHTS, quotient)
        rate = np.where(small, k.third(near) @ (WEIGHTS * NODES), (k.second(far) - quotient) / far)
        if self.linear:
            x = np.where(R == 0, 1.0, R)
            ratio, rate = ratio + self.linear / x, rate - self.linear / x**2
        return ratio, rate

    def error(self, point: Point) -> Any:
        k, R = self.kernel, np.asarray(point.V)
        return k.tilde(1.0) - k.tilde(R) + self.linear * (1 - R)

    def free_energy(self, load: Any, point: Point) -> Any:
        R = np.asarray(point.V)
        return load * self.error(point) - 0.5 * np.log((1 - R) * (1 + R))

    def hessian(self, load: float, point: Point) -> np.ndarray:
        """d²(βf/K)/dR², shape (1, 1)."""
        return np.array([[float(self._curvature(load, point))]])

    def _curvature(self, load: Any, point: Point) -> Any:
        R = np.asarray(point.V)
        return (1 + R**2) / ((1 - R) * (1 + R)) ** 2 - load * self.kernel.second(R)

    @abc.abstractmethod
    def blocks(self, load: float, point: Point) -> list: ...
