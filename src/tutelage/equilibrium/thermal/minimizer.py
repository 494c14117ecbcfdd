"""T → 0 where students cannot interpolate: q → 1 with χ = β(1 − q) finite.

Empirical risk minimisation.  With ε_g = κ̃(1) − κ̃(R) and y = χκ̃'(1)/(1 + χκ̃'(1)),

    α̃(R) = R² κ̃'(1)(2ε_g + ς²)/((1−R²) κ̃'(R)²),      y = (1−R²) (κ̃'(R)/R)/(2ε_g + ς²)

where y < 1; y = 1 is the interpolation point, from where on q < 1 (`quenched` at T = 0).  The
training error is ½ (2ε_g + ς²)(1−y)², and the replicon

    Λ = 1 − α̃ y² [κ̃'(1)² + (2ε_g + ς²) κ̃''(1)]/κ̃'(1)².
"""

from typing import Any

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.symmetric.scalar import InfiniteTheory
from tutelage.equilibrium.symmetric.theory import Equations, Point
from tutelage.equilibrium.thermal.near_one import NearOne
from tutelage.equilibrium.thermal.values import Values


class MinimizerTheory(InfiniteTheory):
    """Minima of the training error; V is R and d = c = 0.

    noise: the variance ς² of the labels.
    """

    temperature = 0.0

    def __init__(self, near: NearOne, noise: float):
        super().__init__(near.kernel)
        self.near, self.noise = near, noise

    def error(self, point: Point) -> Any:
        return self.near.drop(1 - np.asarray(point.V, dtype=float))

    def _width(self, point: Point) -> Any:
        """2ε_g + ς²."""
        return 2 * self.error(point) + self.noise

    def stretch(self, point: Point, load: FloatOrArray | None = None) -> Any:
        """y of a state; at R = 0 it depends on the load, y² = κ̃'(1)/(α̃(2ε_g + ς²))."""
        R = np.asarray(point.V, dtype=float)
        if load is not None and np.all(R == 0):
            with np.errstate(divide="ignore"):
                return np.sqrt(self.near.slope / (load * self._width(point)))
        return (1 - R) * (1 + R) * self._ratio(R)[0] / self._width(point)

    def agreeing(self, load: FloatOrArray) -> Point:
        """Return the state R = 0, q = 1 where y < 1, and NaN at other loads."""
        zero = np.zeros_like(np.asarray(load, dtype=float))
        R = np.where(self.stretch(Point(zero, zero, zero), load) < 1, zero, np.nan)
        return Point(R, R, R)

    def equations(self, point: Point) -> Equations:
        """1/α̃ = (1−R²) (κ̃'(R)/R)²/(κ̃'(1)(2ε_g + ς²)); d and c vanish."""
        own = super().equations(point)
        R = np.asarray(point.V, dtype=float)
        (ratio, rate), D = self._ratio(R), self._width(point)
        inverse = own.inverse * ratio / (self.near.slope * D)
        in_R = own.gradient[..., 0] * ratio + own.inverse * rate
        gradient = np.zeros_like(own.gradient)
        gradient[..., 0] = in_R / (self.near.slope * D) + 2 * inverse * R * ratio / D
        return own._replace(inverse=inverse, gradient=gradient)

    def sheets(self) -> list[Point]:
        """Return the intervals of R, of either sign, on which y < 1."""
        R = self.grid()
        points = Point(R, np.zeros_like(R), np.zeros_like(R))
        ratio = self._ratio(R)[0]
        good = (ratio > 0) & (self.stretch(points) < 1)
        cuts = np.flatnonzero(np.diff(good.astype(int))) + 1
        parts = np.split(np.arange(len(R)), cuts)
        return [Point(*(x[i] for x in points)) for i in parts if good[i[0]] and len(i) > 1]

    def training_error(self, point: Point, load: FloatOrArray | None = None) -> Any:
        """½ (2ε_g + ς²)(1−y)²."""
        return 0.5 * self._width(point) * (1 - self.stretch(point, load)) ** 2

    def replicon(self, load: FloatOrArray, point: Point) -> Any:
        """Λ; minus infinity for an activation with kinks and noisy labels."""
        slope, bend = self.near.slope, float(self.kernel.second(1.0))
        width = self._width(point)
        term = np.where(width > 0, width, 0.0) * (bend if bend < np.inf else 0.0)
        finite = 1 - load * self.stretch(point, load) ** 2 * (slope**2 + term) / slope**2
        return np.where((width > 0) & ~np.isfinite(bend), -np.inf, finite)

    def _curvature(self, load: FloatOrArray, point: Point) -> np.ndarray:
        """The sign of d²f/dR², infinite: that of the load's slope, and at R = 0 that of
        1 − α̃ κ̃''(0) y/κ̃'(1)."""
        R = np.asarray(point.V, dtype=float)
        if np.all(R == 0):
            sign = 1 - load * self.kernel.second(0.0) * self.stretch(point, load) / self.near.slope
        else:
            sign = self.slope(point)[1] * np.sign(R)
        return np.copysign(np.inf, sign)

    def values(self, load: FloatOrArray, point: Point) -> Values:
        """Return the values of states at given loads."""
        load, R = np.broadcast_arrays(load, point.V)
        at = Point(R, np.zeros_like(R), np.zeros_like(R))
        y = self.stretch(at, load)
        return Values(
            R=R,
            q=np.ones_like(R),
            susceptibility=y / (1 - y) / self.near.slope,
            generalization_error=self.error(at),
            training_error=self.training_error(at, load),
            free_energy_per_unit=np.full_like(R, np.inf),
            curvature=self._curvature(load, at),
            replicon=self.replicon(load, at),
        )
