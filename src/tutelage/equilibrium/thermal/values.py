"""Reported values of a state, the same for all theories."""

from typing import Any, NamedTuple

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.symmetric.theory import Point


class Values(NamedTuple):
    """Numbers of states, each an array over loads.

    susceptibility: χ = (1 − q)/T where q → 1 for T → 0, NaN elsewhere.
    free_energy_per_unit: βf/K; at T = 0, where it is infinite, its limit without (α̃/2) ln β,
        infinite only where a training error stays.
    curvature: d²(βf/K)/dR² with q at its extremum, for K = 2 in R − S with the others at
        theirs; its sign alone, infinite, for T → 0 and q → 1.
    replicon: Λ; NaN for the annealed theory.
    S, C: overlaps with the other teacher and with the other student; they vanish for K → ∞.
    """

    R: Any
    q: Any
    susceptibility: Any
    generalization_error: Any
    training_error: Any
    free_energy_per_unit: Any
    curvature: Any
    replicon: Any
    S: Any = 0.0
    C: Any = 0.0


class ReportsValues:
    """Values of a theory with q < 1."""

    def values(self: Any, load: FloatOrArray, point: Point) -> Values:
        """Return the values of states at given loads."""
        load, R, d = np.broadcast_arrays(load, point.V, point.d)
        at = Point(R, d, np.zeros_like(d))
        missing = np.full(R.shape, np.nan)
        return Values(
            R=R,
            q=self.replica_overlap(at),
            susceptibility=missing,
            generalization_error=self.error(at),
            training_error=self.training_error(at),
            free_energy_per_unit=self.free_energy(load, at) + load * self.common,
            curvature=self._curvature(load, at),
            replicon=self.replicon(load, at),
        )
