"""Any units and any method: sums of single averages I3 and I4.

With c_a = s_M for teacher fields and -s_K for student fields,
⟨δ_i v⟩ = s_K Σ_a c_a I3(x_i, v, a) and ⟨δ_i δ_k⟩ = s_K² Σ_ab c_a c_b I4(x_i, x_k, a, b).
"""

from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.online.moments.base import EXACT, Moments, exact_first_order
from tutelage.online.moments.batches import Averages, Batch, batches


class SingleMoments(Moments):
    """One average for every triple and quadruple of fields."""

    @staticmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        return True

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        if self.method.exact:
            return exact_first_order(self.scenario, overlaps)
        return self.three_point(overlaps)

    def three_point(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """⟨δ_i v⟩ as a sum of I3, one for every triple of fields."""
        total = self._sum("i3", overlaps)
        return total.reshape(*total.shape[:-1], self.scenario.K, -1)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        total, noise = self._sum("i4", overlaps), self.scenario.label_noise
        s_K, C = self.scenario.output_scale[0], overlaps.covariance
        for batch in _tuples("slopes", self.scenario.K, self.scenario.M):
            total = total + s_K**2 * noise**2 * self._averages.sums("slopes", batch, C)
        return total.reshape(*total.shape[:-1], self.scenario.K, -1)

    def error(self, overlaps: Overlaps) -> float:
        if self.method.exact:
            return EXACT
        return max(float(jnp.max(self._sum(kind, overlaps, True))) for kind in ("i3", "i4"))

    @property
    def _averages(self) -> Averages:
        units = (self.scenario.student.activation, self.scenario.teacher.activation)
        return Averages(units, self.method)

    def _sum(self, kind: str, overlaps: Overlaps, errors: bool = False) -> Array:
        """Σ coefficient × average for every target, or a bound on the error of that."""
        total, C = jnp.zeros(()), overlaps.covariance
        summed = self._averages.error_sums if errors else self._averages.sums
        for batch in _tuples(kind, self.scenario.K, self.scenario.M):
            factor = self._coefficient(batch)
            total = total + (abs(factor) if errors else factor) * summed(kind, batch, C)
        return total

    def _coefficient(self, batch: Batch) -> Any:
        """s_K c_a of a triple, s_K² c_a c_b of a quadruple."""
        s_K, s_M = self.scenario.output_scale
        coefficient = s_K ** (len(batch.teachers) - 2)
        for teacher in batch.teachers[2:]:
            coefficient = coefficient * (s_M if teacher else -1.0 * s_K)
        return coefficient


@cache
def _tuples(kind: str, K: int, M: int) -> list[Batch]:
    """The averages of one kind, with their targets."""
    n, pairs = K + M, product(range(K), range(K))
    match kind:
        case "i3":  # (x_i, v, a) for the target (i, v)
            triples = product(range(K), range(n), range(n))
            return batches((((i, v, a), i * n + v, 1.0) for i, v, a in triples), K * n, K)
        case "slopes":  # (x_i, x_k) for ⟨g' g'⟩, with the target (i, k)
            return batches((((i, k), i * K + k, 1.0) for i, k in pairs), K * K, K)
    # (x_i, x_k, a, b), i <= k and a <= b, for the targets (i, k) and (k, i)
    students, fields = (list(combinations_with_replacement(range(x), 2)) for x in (K, n))
    quadruples = (
        ((i, k, a, b), target, 1.0 if a == b else 2.0)
        for (i, k), (a, b) in product(students, fields)
        for target in {i * K + k, k * K + i}
    )
    return batches(quadruples, K * K, K)
