"""Any units and any method: sums of single averages I3 and I4.

With G_ia of `tutelage.averages.generalization.couplings`,
⟨δ_i v⟩ = Σ_a G_ia I3(x_i, v, a) and ⟨δ_i δ_k⟩ = Σ_ab G_ia G_kb I4(x_i, x_k, a, b).
"""

from functools import cache
from itertools import combinations_with_replacement, product

from jaxtyping import Array, Float

from tutelage._jax import jnp, match_rank
from tutelage.averages.generalization import couplings
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.online.moments.base import EXACT, Moments, exact_first_order
from tutelage.online.moments.batches import Averages, Batch, batches


class SingleMoments(Moments):
    """One average for every triple and quadruple of fields."""

    @staticmethod
    def supports(scenario: Scenario, method: Method) -> bool:
        return True

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        if self.method.exact:
            return exact_first_order(self.scenario, overlaps)
        return self.three_point(overlaps)

    def three_point(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """Return ⟨δ_i v⟩ as a sum of I3 over all triples of fields."""
        total = self._sum("i3", overlaps)
        return total.reshape(*total.shape[:-1], self.scenario.K, -1)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        total = self._sum("i4", overlaps) + self._sum("slopes", overlaps)
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
        """Return Σ coefficient × average for every target, or a bound on its error."""
        total, C = jnp.zeros(()), overlaps.covariance
        for batch in _tuples(kind, self.scenario.K, self.scenario.M):
            factor, estimates = self._factors(kind, batch), self._averages.estimates(kind, batch, C)
            factor = match_rank(factor, estimates.value)
            value = jnp.abs(factor) * estimates.error if errors else factor * estimates.value
            total = total + value @ jnp.asarray(batch.weights).T
        return total

    def _factors(self, kind: str, batch: Batch) -> Float[Array, " count"]:
        """G_ia of triples, ½ (G_ia G_kb + G_ib G_ka) of quadruples, -ς² G_ik of two slopes."""
        G, f = couplings(self.scenario), batch.fields.T
        if kind == "i3":
            return G[f[0], f[2]]
        if kind == "slopes":
            return -(self.scenario.label_noise**2) * G[f[0], f[1]]
        return 0.5 * (G[f[0], f[2]] * G[f[1], f[3]] + G[f[0], f[3]] * G[f[1], f[2]])


@cache
def _tuples(kind: str, K: int, M: int) -> list[Batch]:
    """Return the averages of one kind, with their targets."""
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
