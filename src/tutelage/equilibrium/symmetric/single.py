"""A single unit, K = 1: ``oostwal2019`` Appendix C, for any activation.

    βf = α [κ(1) − κ(R)] − ½ ln(1 − R²),        α = R/[(1 − R²) κ'(R)]        (eqs. (29) to (33))

There is nothing to specialize.  Only if κ'(0) = 0, for even activations, R = 0 is a state, and
R leaves it at α = 1/κ''(0).
"""

from typing import Any

import numpy as np

from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.scalar import ScalarTheory
from tutelage.equilibrium.symmetric.site import Point
from tutelage.equilibrium.symmetric.stability import Block
from tutelage.equilibrium.symmetric.theory import Order


class SingleTheory(ScalarTheory):
    """K = 1; S and C do not exist and are given as NaN."""

    units = 1.0

    def __init__(self, kernel: Kernel):
        super().__init__(kernel)
        self.linear = kernel.slope

    def order(self, point: Point) -> Order:
        missing = np.full_like(np.asarray(point.V, dtype=float), np.nan)[()]
        return Order(point.V, missing, missing)

    def stable(self, load: Any, point: Point) -> tuple[np.ndarray, np.ndarray]:
        own = self._curvature(load, point) > 0
        return own, own

    def blocks(self, load: float, point: Point) -> list[Block]:
        return [Block("trivial", 1, self.hessian(load, point)[0])]
