"""Piecewise linear units: ⟨δ_i δ_k⟩ as a sum of moments of signs, each computed once."""

from functools import cache
from itertools import combinations_with_replacement
from typing import Any

from jaxtyping import Array, Float

from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.averages.methods import Method, Orthant
from tutelage.averages.orthant import sums
from tutelage.averages.orthant.sums import Sums
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import upper_triangle
from tutelage.online.moments.base import EXACT, Moments, exact_first_order


class SignMoments(Moments):
    """Exact, for piecewise linear units whose slopes, scales and noise are numbers."""

    sums: Sums

    def __init__(self, scenario: Scenario, method: Method):
        super().__init__(scenario, method)
        g, h = scenario.student.activation, scenario.teacher.activation
        numbers = (float(x) for x in (*scenario.output_scale, scenario.label_noise))
        self.sums = _written_out(scenario.K, scenario.M, g, h, *numbers)

    @staticmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        numbers = (*scenario.output_scale, scenario.label_noise)
        units = (scenario.student.activation, scenario.teacher.activation)
        known = all(isinstance(x, int | float) for x in numbers) and has_known_slopes(*units)
        return isinstance(method, Orthant) and known

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return exact_first_order(self.scenario, overlaps)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        return self.sums(overlaps.covariance)[..., upper_triangle(self.scenario.K)]

    def error(self, overlaps: Overlaps) -> float:
        return EXACT


def has_known_slopes(*units: object) -> bool:
    """Piecewise linear with numbers, so that sums can be written out in moments."""
    return all(isinstance(g, PiecewiseLinear) and isinstance(g.slope, int | float) for g in units)


@cache
def _written_out(K: int, M: int, g: Any, h: Any, s_K: float, s_M: float, noise: float) -> Sums:
    """⟨δ_i δ_k⟩ for i <= k."""
    difference = sums.added(
        [sums.scaled(sums.value(g, j), -s_K) for j in range(K)]
        + [sums.scaled(sums.value(h, K + n), s_M) for n in range(M)]
    )
    square = sums.added([sums.multiplied(difference, difference), {((), ()): noise**2}])
    slopes = [sums.scaled(sums.slope(g, i), s_K) for i in range(K)]
    return Sums(
        [
            sums.multiplied(slopes[i], slopes[k], square)
            for i, k in combinations_with_replacement(range(K), 2)
        ]
    )
