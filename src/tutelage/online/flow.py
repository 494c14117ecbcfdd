"""The order-parameter equations of on-line learning, exact in the learning rate.

    dR_in/dα = η ⟨δ_i y_n⟩ - γ R_in
    dQ_ik/dα = η ⟨δ_i x_k + δ_k x_i⟩ + η² ⟨δ_i δ_k⟩ + η² ς² s_K² ⟨g'(x_i) g'(x_k)⟩ - 2γ Q_ik
    δ_i = s_K g'(x_i) (τ - σ)

(straat2019 eq. (5), citton2025 section 2.1; Saad and Solla 1995).  With c_a = s_M for teacher
fields and -s_K for student fields, ⟨δ_i v⟩ = s_K Σ_a c_a I3(x_i, v, a) and
⟨δ_i δ_k⟩ = s_K² Σ_ab c_a c_b I4(x_i, x_k, a, b).  In the limit η → 0 time is measured in units
of 1/η and the terms in η² are left out.
"""

from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.activations import PiecewiseLinear
from tutelage.averages import Estimate
from tutelage.averages.methods import Erf, Hermite, Method, Orthant, Quadrature, chosen
from tutelage.averages.orthant import sums
from tutelage.averages.orthant.sums import Sums
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import unchecked, upper_triangle
from tutelage.model.timing import rate_of
from tutelage.online.moments import tensor
from tutelage.online.moments.indices import Batch, batches


class Flow(eqx.Module):
    """The right-hand side of the equations for a scenario.

    scenario: who learns from whom.
    method: how averages are computed; the best exact one by default.
    """

    scenario: Scenario
    method: Method

    def __init__(self, scenario: Scenario, method: Method | str | None = None):
        units = (scenario.student.activation, scenario.teacher.activation)
        self.scenario, self.method = scenario, chosen(method, units)

    def __call__(self, overlaps: Overlaps, learning_rate: Any) -> Overlaps:
        """dQ/dα, dR/dα and dT/dα = 0 as `Overlaps`.

        learning_rate: a number, one for each entry of the leading axes, or a `Rate`; the number 0
            (not an array) is the limit η → 0.
        """
        rate, gamma = rate_of(learning_rate), self.scenario.weight_decay
        first, second = self._orders(overlaps, with_second=rate.second is not None)
        x, y = first[..., : self.scenario.K], first[..., self.scenario.K :]
        eta = _over_units(rate.first)
        dR = eta * y - gamma * overlaps.R
        dQ = eta * (x + jnp.swapaxes(x, -1, -2)) - 2 * gamma * overlaps.Q
        if rate.second is not None:
            dQ = dQ + _over_units(rate.second) * second
        return unchecked(dQ, dR, jnp.zeros_like(overlaps.T))

    def _orders(self, overlaps: Overlaps, with_second: bool) -> tuple[Array, Any]:
        """⟨δ_i v⟩ and, if wanted, ⟨δ_i δ_k⟩: exact moments that occur in both are shared."""
        exact = _piecewise_linear(self.scenario) if isinstance(self.method, Orthant) else None
        if not with_second:
            return self.first_order(overlaps), None
        if exact is None:
            return self.first_order(overlaps), self.second_order(overlaps)
        K, M = self.scenario.K, self.scenario.M
        total = exact[2](overlaps.covariance)
        first, upper = jnp.split(total, [K * (K + M)], axis=-1)
        return first.reshape(*first.shape[:-1], K, K + M), upper[..., upper_triangle(K)]

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """⟨δ_i v⟩ for all fields v, students first."""
        K, M = self.scenario.K, self.scenario.M
        if isinstance(self.method, Orthant) and (exact := _piecewise_linear(self.scenario)):
            total = exact[0](overlaps.covariance)
            return total.reshape(*total.shape[:-1], K, K + M)
        if self._by_tensor:
            return tensor.averages(self.scenario, overlaps.covariance)[0]
        s_K = self.scenario.output_scale[0]
        total = jnp.zeros(())
        for batch in _triples(K, M):
            g, h = self._units(batch, (0, 2))
            part = self._sums("i3", (g, h), batch, overlaps)
            total = total + s_K * self._coefficient(batch, 2) * part
        return total.reshape(*total.shape[:-1], K, K + M)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        """⟨δ_i δ_k⟩ and what label noise adds to it."""
        K, M = self.scenario.K, self.scenario.M
        if isinstance(self.method, Orthant) and (exact := _piecewise_linear(self.scenario)):
            upper = exact[1](overlaps.covariance)
            return upper[..., upper_triangle(K)]
        if self._by_tensor:
            return tensor.averages(self.scenario, overlaps.covariance)[1]
        s_K, noise = self.scenario.output_scale[0], self.scenario.label_noise
        total = jnp.zeros(())
        for batch in _quadruples(K, M):
            part = self._sums("i4", self._units(batch, (0, 1, 2, 3)), batch, overlaps)
            coefficient = self._coefficient(batch, 2) * self._coefficient(batch, 3)
            total = total + s_K**2 * coefficient * part
        if not (isinstance(noise, int | float) and noise == 0):
            for batch in _pairs(K, M):
                part = self._sums("slopes", self._units(batch, (0, 1)), batch, overlaps)
                total = total + s_K**2 * noise**2 * part
        return total.reshape(*total.shape[:-1], K, K)

    def error(self, overlaps: Overlaps) -> float:
        """A bound on the error of ⟨δ_i v⟩ and ⟨δ_i δ_k⟩ at a state, in the largest entry."""
        if isinstance(self.method, Orthant | Erf):
            return 1e-10
        if self._by_tensor:
            fine, coarse = (
                tensor.averages(self.scenario, overlaps.covariance, fewer) for fewer in (0, 4)
            )
            change = max(float(jnp.max(jnp.abs(a - b))) for a, b in zip(fine, coarse, strict=True))
            return change + 1e-12
        return max(self._summed_errors(overlaps, *which) for which in (("i3", 2), ("i4", 3)))

    def _summed_errors(self, overlaps: Overlaps, kind: str, last: int) -> float:
        K, M, s_K = self.scenario.K, self.scenario.M, self.scenario.output_scale[0]
        total = jnp.zeros(())
        for batch in _triples(K, M) if kind == "i3" else _quadruples(K, M):
            arguments = (0, 2) if kind == "i3" else (0, 1, 2, 3)
            estimate = self._estimates(kind, self._units(batch, arguments), batch, overlaps)
            factor = s_K ** (last - 1)
            for argument in range(2, last + 1):
                factor = factor * abs(self._coefficient(batch, argument))
            total = total + factor * (estimate.error @ jnp.abs(jnp.asarray(batch.weights)).T)
        return float(jnp.max(total))

    @property
    def _by_tensor(self) -> bool:
        """Few fields and smooth units: quadrature over all of them at once."""
        fields = self.scenario.K + self.scenario.M
        committees = (self.scenario.student, self.scenario.teacher)
        smooth = not any(committee.activation.kinks for committee in committees)
        return isinstance(self.method, Quadrature) and smooth and fields <= tensor.MOST_FIELDS

    def _units(self, batch: Batch, arguments: tuple[int, ...]) -> tuple:
        committees = (self.scenario.student, self.scenario.teacher)
        return tuple(committees[batch.teachers[a]].activation for a in arguments)

    def _coefficient(self, batch: Batch, argument: int) -> Any:
        s_K, s_M = self.scenario.output_scale
        return s_M if batch.teachers[argument] else -1.0 * s_K

    def _sums(self, kind: str, units: tuple, batch: Batch, overlaps: Overlaps) -> Array:
        """Σ weight × average for every target."""
        averages = self._estimates(kind, units, batch, overlaps).value
        return averages @ jnp.asarray(batch.weights).T

    def _estimates(self, kind: str, units: tuple, batch: Batch, overlaps: Overlaps) -> Estimate:
        C, f = overlaps.covariance, batch.fields
        covariances = C[..., f[:, :, None], f[:, None, :]]
        method = self._method_for(kind, units, batch)
        # Only exact orthant moments have to know which arguments are the same field.
        options = {"same": batch.same} if isinstance(method, Orthant) else {}
        function = getattr(method.module, kind)
        return function(units, covariances, **options, **method.options())

    def _method_for(self, kind: str, units: tuple, batch: Batch) -> Method:
        """The series serves where nothing else does, as in citton2025: four different fields."""
        if isinstance(self.method, Hermite) and Orthant().supports(units):
            different = batch.same == (0, 1, 2, 3)
            return self.method if kind == "i4" and different else Orthant()
        if isinstance(self.method, Hermite) and kind == "slopes":
            return Quadrature()
        return self.method


def _over_units(x: Any) -> Any:
    """A number for each state, as a factor of its overlaps."""
    return x[..., None, None] if np.ndim(x) else x


def _piecewise_linear(scenario: Scenario) -> tuple[Sums, Sums, Sums] | None:
    """⟨δ_i v⟩, ⟨δ_i δ_k⟩ (i <= k) and both written out in moments, if all numbers are known."""
    g, h = scenario.student.activation, scenario.teacher.activation
    if not (isinstance(g, PiecewiseLinear) and isinstance(h, PiecewiseLinear)):
        return None
    numbers = (g.slope, h.slope, *scenario.output_scale, scenario.label_noise)
    if not all(isinstance(x, int | float) for x in numbers):
        return None
    return _sign_sums(scenario.K, scenario.M, g, h, *scenario.output_scale, scenario.label_noise)


@cache
def _sign_sums(
    K: int, M: int, g, h, s_K: float, s_M: float, noise: float
) -> tuple[Sums, Sums, Sums]:
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


@cache
def _triples(K: int, M: int) -> list[Batch]:
    """(x_i, v, a) for I3, with the target (i, v)."""
    n = K + M
    tuples = (((i, v, a), i * n + v, 1.0) for i, v, a in product(range(K), range(n), range(n)))
    return batches(tuples, K * n, K)


@cache
def _quadruples(K: int, M: int) -> list[Batch]:
    """(x_i, x_k, a, b) for I4, i <= k and a <= b, with the targets (i, k) and (k, i)."""
    students = combinations_with_replacement(range(K), 2)
    fields = list(combinations_with_replacement(range(K + M), 2))
    tuples = (
        ((i, k, a, b), target, 1.0 if a == b else 2.0)
        for (i, k), (a, b) in product(students, fields)
        for target in {i * K + k, k * K + i}
    )
    return batches(tuples, K * K, K)


@cache
def _pairs(K: int, M: int) -> list[Batch]:
    """(x_i, x_k) for ⟨g' g'⟩, with the target (i, k)."""
    tuples = (((i, k), i * K + k, 1.0) for i, k in product(range(K), range(K)))
    return batches(tuples, K * K, K)
