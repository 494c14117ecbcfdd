"""Piecewise linear units: all averages as sums of moments of signs, each computed once."""

from functools import cache
from itertools import combinations_with_replacement, product

from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.averages.methods import Method, Orthant
from tutelage.averages.orthant import sums
from tutelage.averages.orthant.sums import Sums
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import upper_triangle
from tutelage.online.moments.base import EXACT, Moments


class SignMoments(Moments):
    """Exact, for piecewise linear units; slopes, scales and noise have to be known numbers."""

    @staticmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        numbers = (*scenario.output_scale, scenario.label_noise)
        units = (scenario.student.activation, scenario.teacher.activation)
        known = all(isinstance(x, int | float) for x in numbers) and has_known_slopes(*units)
        return isinstance(method, Orthant) and known

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return self._fields(self._sums[0](overlaps.covariance))

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        return self._sums[1](overlaps.covariance)[..., upper_triangle(self.scenario.K)]

    def both(self, overlaps: Overlaps) -> tuple[Float[Array, "... K n"], Float[Array, "... K K"]]:
        K, M = self.scenario.K, self.scenario.M
        first, upper = jnp.split(self._sums[2](overlaps.covariance), [K * (K + M)], axis=-1)
        return self._fields(first), upper[..., upper_triangle(K)]

    def error(self, overlaps: Overlaps) -> float:
        return EXACT

    def _fields(self, flat: Float[Array, "... Kn"]) -> Float[Array, "... K n"]:
        return flat.reshape(*flat.shape[:-1], self.scenario.K, -1)

    @property
    def _sums(self) -> tuple[Sums, Sums, Sums]:
        s, (g, h) = self.scenario, (self.scenario.student, self.scenario.teacher)
        return _written_out(s.K, s.M, g.activation, h.activation, *s.output_scale, s.label_noise)


def has_known_slopes(*units: object) -> bool:
    """Piecewise linear with numbers, so that sums can be written out in moments."""
    return all(isinstance(g, PiecewiseLinear) and isinstance(g.slope, int | float) for g in units)


@cache
def _written_out(
    K: int, M: int, g, h, s_K: float, s_M: float, noise: float
) -> tuple[Sums, Sums, Sums]:
    """⟨δ_i v⟩, ⟨δ_i δ_k⟩ for i <= k, and both."""
    difference = sums.added(
        [sums.scaled(sums.value(g, j), -s_K) for j in range(K)]
        + [sums.scaled(sums.value(h, K + n), s_M) for n in range(M)]
    )
    square = sums.added([sums.multiplied(difference, difference), {((), ()): noise**2}])
    slopes = [sums.scaled(sums.slope(g, i), s_K) for i in range(K)]
    first = [
        sums.multiplied(slopes[i], sums.plain(v), difference)
        for i, v in product(range(K), range(K + M))
    ]
    second = [
        sums.multiplied(slopes[i], slopes[k], square)
        for i, k in combinations_with_replacement(range(K), 2)
    ]
    return Sums(first), Sums(second), Sums([*first, *second])
