"""K → ∞ for any activation: the linear part is learned at once, R follows its own equation.

With κ̃(ρ) = κ(ρ) − κ(0) − κ'(0)ρ, U → 1, S = (1−R)/K and C = O(1/K²),

    βf/K = α [κ̃(1) − κ̃(R)] − ½ ln(1 − R²),        α κ̃'(R) = R/(1 − R²),

so that ε_g = κ̃(1) on the plateau R = 0 (``oostwal2019`` section III: 1/3 − 1/π for erf and
1/4 − 1/(2π) for the ReLU).
"""

import math
from typing import Any

import numpy as np

from tutelage.equilibrium.symmetric.scalar import ScalarTheory
from tutelage.equilibrium.symmetric.site import Point
from tutelage.equilibrium.symmetric.stability import Block, eigenvalues, pairs_block
from tutelage.equilibrium.symmetric.theory import Order


class InfiniteTheory(ScalarTheory):
    """K → ∞ at loads α of order one; S and C vanish."""

    linear = 0.0
    units = math.inf

    def order(self, point: Point) -> Order:
        zero = np.zeros_like(np.asarray(point.V, dtype=float))[()]
        return Order(point.V, zero, zero)

    def stable(self, load: Any, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """The block [K−2, 2] is positive where [K−2, 1, 1] is."""
        R = np.asarray(point.V)
        own = self._curvature(load, point) > 0
        return own & (load * self.kernel.second(0.0) < 1 / ((1 - R) * (1 + R))), own

    def blocks(self, load: float, point: Point) -> list[Block]:
        """The eigenvalues that stay finite; those that grow with K are positive.

        In the trivial and the standard representation two directions become infinitely stiff
        (the linear part of the error); what is left is the Hessian in R and, in the standard
        one, 1/(2B) for a unit that turns, and with it its overlaps with all other students, while
        the sum of the students does not.
        """
        R = float(point.V)
        b = 1 / ((1 - R) * (1 + R))
        k2 = float(self.kernel.second(0.0))
        own = float(self.hessian(load, point)[0, 0])
        pairs = eigenvalues(pairs_block(load, R, b, k2, k2))
        return [
            Block("trivial", 1, np.array([own])),
            Block("standard", math.inf, np.sort([own, b / 2])),
            Block("[K-2, 2]", math.inf, pairs),
            Block("[K-2, 1, 1]", math.inf, np.array([b - load * k2])),
        ]
