"""Annealed free energy of K → ∞ units: the average over examples is part of that over weights.

    βf/K = −½ ln(1−R²) + (α̃/2) ln(1 + β(2ε_g + ς²)),      ε_g = κ̃(1) − κ̃(R)

It is an upper bound of ln Z, exact for β → 0, and its stationary points are explicit,

    α̃(R) = (T + 2ε_g + ς²) R/((1−R²) κ̃'(R)).
"""

import math
from typing import Any

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.scalar import InfiniteTheory
from tutelage.equilibrium.symmetric.theory import Equations, Point
from tutelage.equilibrium.thermal.near_one import NearOne
from tutelage.equilibrium.thermal.values import ReportsValues


class AnnealedTheory(ReportsValues, InfiniteTheory):
    """States R at a temperature; V is R and d = c = 0.

    noise: the variance ς² of the labels.
    """

    def __init__(self, kernel: Kernel, temperature: float, noise: float = 0.0):
        super().__init__(kernel)
        self.temperature, self.noise = temperature, noise
        self.near = NearOne(kernel)

    def error(self, point: Point) -> Any:
        return self.near.drop(1 - np.asarray(point.V, dtype=float))

    def _width(self, point: Point) -> Any:
        """T + 2ε_g + ς²."""
        return self.temperature + 2 * self.error(point) + self.noise

    def equations(self, point: Point) -> Equations:
        """1/α̃ = (1−R²) (κ̃'(R)/R)/(T + 2ε_g + ς²); d and c vanish."""
        own = super().equations(point)
        D, R = self._width(point), np.asarray(point.V, dtype=float)
        inverse = own.inverse / D
        gradient = own.gradient / D[..., None]
        gradient[..., 0] += 2 * inverse * self.kernel.tilde_first(R) / D
        return own._replace(inverse=inverse, gradient=gradient)

    def free_energy(self, load: FloatOrArray, point: Point) -> Any:
        """βf/K − (α̃/2) ln(1 + 2βκ̃(1) + βς²), without terms that all states share."""
        R = np.asarray(point.V, dtype=float)
        return load * self.load_derivative(point) - 0.5 * (np.log1p(-R) + np.log1p(R))

    def load_derivative(self, point: Point) -> Any:
        """∂/∂α̃ of `free_energy`."""
        top = self.temperature + 2 * self.near.top + self.noise
        return 0.5 * np.log1p(2 * (self.error(point) - self.near.top) / top)

    @property
    def common(self) -> float:
        """½ ln(1 + β(2κ̃(1) + ς²)), the term omitted in `load_derivative`; at T = 0
        without ½ ln β.
        """
        T, top = self.temperature, 2 * self.near.top + self.noise
        return 0.5 * (math.log1p(top / T) if T > 0 else math.log(top))

    def training_error(self, point: Point) -> Any:
        """∂(βf/K)/∂β /α̃ = ½ T (2ε_g + ς²)/(T + 2ε_g + ς²)."""
        D = self._width(point)
        return 0.5 * self.temperature * (1 - self.temperature / D)

    def replica_overlap(self, point: Point) -> Any:
        """q = R²: replicas agree only through the teacher."""
        return np.asarray(point.V, dtype=float) ** 2

    def replicon(self, load: FloatOrArray, point: Point) -> Any:
        """Not defined: there are no replicas."""
        return np.full(np.broadcast_shapes(np.shape(load), np.shape(point.V)), np.nan)

    def _curvature(self, load: FloatOrArray, point: Point) -> np.ndarray:
        """d²(βf/K)/dR²."""
        R, D = np.asarray(point.V, dtype=float), self._width(point)
        k1, k2 = self.kernel.tilde_first(R), self.kernel.second(R)
        own = (1 + R**2) / ((1 - R) * (1 + R)) ** 2
        return np.asarray(own - load * (k2 / D + 2 * (k1 / D) ** 2))

    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        """The second derivative in R."""
        return {"trivial": np.asarray(self._curvature(load, point))[..., None, None]}

    def specialization_load(self) -> float | None:
        """α̃ = (T + 2κ̃(1) + ς²)/κ̃''(0), where R = 0 turns unstable; None if it never does."""
        bend = float(self.kernel.second(0.0))
        width = self.temperature + 2 * self.near.top + self.noise
        return width / bend if bend > 0 and math.isfinite(bend) else None
