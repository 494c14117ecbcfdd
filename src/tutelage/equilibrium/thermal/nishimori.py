"""T = ς²: the posterior of the true teacher, where q = R solves both saddle-point equations.

A sample of the Gibbs density then has the law of the teacher given the examples, so that two
replicas overlap as a replica and the teacher do.  Without noise this is T = 0.  The load is an
explicit function of R,

    α̃(R) = (T + κ̃(1) − κ̃(R)) R/((1−R) κ̃'(R)),

and replica symmetry is stable on the whole line except where α̃(R) is extremal, where Λ = 0.
"""

from typing import Any

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.symmetric.scalar import ScalarTheory
from tutelage.equilibrium.symmetric.theory import Equations, Point
from tutelage.equilibrium.thermal.quenched import QuenchedTheory


class NishimoriTheory(QuenchedTheory):
    """The line q = R ≥ 0."""

    def equations(self, point: Point) -> Equations:
        """d = −ln(1+R), and 1/α̃."""
        R, d = np.broadcast_arrays(np.asarray(point.V, float), np.asarray(point.d, float))
        own = super().equations(point)
        F = np.stack([d + np.log1p(R), np.zeros_like(d)], -1)
        J = np.broadcast_to(np.eye(2), (*d.shape, 2, 2))
        along = np.stack([1 / (1 + R), np.zeros_like(d)], -1)
        return Equations(F, J, along, own.inverse, own.gradient)

    def sheets(self) -> list[Point]:
        """The line from R = 0 to R = 1, where the load is positive."""
        R = ScalarTheory.grid()
        R = R[R >= 0]
        points = Point(R, -np.log1p(R), np.zeros_like(R))
        load = self.slope(points)[0]
        good = np.isfinite(load) & (load > 0)
        return [Point(*(x[good] for x in points))]

    def agreement_load(self) -> float | None:
        """Return the specialization load: replicas agree with each other where they agree with the
        teacher.
        """
        return self.specialization_load()

    def agreeing_load(self, d: FloatOrArray) -> Any:
        """Return no load: R = 0 < q is not a state on this line."""
        return np.full_like(np.asarray(d, dtype=float), np.nan)
