"""Units without closed forms: all averages by conditioning on one or two student fields.

With δ_i = s_K g'(x_i) Σ_a c_a g_a(f_a), c_a = s_M for teachers and -s_K for students,

    ⟨δ_i δ_k⟩ = s_K² ⟨g'(x_i) g'(x_k) (ĝᵀ c cᵀ ĝ + ς²)⟩,    ĝ_a = g_a(f_a),

is one quadratic form for every pair (i, k), whatever the number of fields; ⟨δ_i v⟩ comes from the
mean Jacobian (`tutelage.averages.pairs`).
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.kernel import Units, quadratic, slopes_and_curvature
from tutelage.averages.methods import Conditional, Method
from tutelage.model import Overlaps, Scenario
from tutelage.online.moments.base import Moments, coefficients

# Rounding of sums over some thousand nodes.
ROUNDING = 1e-13


class ConditionalMoments(Moments):
    """For every unit, at any K and M.

    alike: whether student and teacher have the same units, which are then compiled once.
    """

    alike: bool = eqx.field(static=True)
    one_by_one: ClassVar[bool] = True

    def __init__(self, scenario: Scenario, method: Method):
        super().__init__(scenario, method)
        self.alike = (
            eqx.tree_equal(scenario.student.activation, scenario.teacher.activation) is True
        )

    @staticmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        return isinstance(method, Conditional)

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return _over_batch(lambda C: self._jacobian(C) @ C, overlaps.covariance)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        return _over_batch(lambda C: self._second_order(C)[0], overlaps.covariance)

    def error(self, overlaps: Overlaps) -> float:
        return float(jnp.max(_errors(self, overlaps.covariance)))

    @property
    def _units(self) -> Units:
        (g, K), (h, M) = (
            (c.activation, c.units) for c in (self.scenario.student, self.scenario.teacher)
        )
        return Units(((g, K + M),) if self.alike else ((g, K), (h, M)))

    def _jacobian(self, C: Float[Array, "n n"], judge: bool = False) -> Float[Array, "K n"]:
        """A, row by row;  ``judge``: with the rule that judges."""
        units, c = self._units, coefficients(self.scenario)

        def row(order: Int[Array, " n"]) -> Float[Array, " n"]:
            D, signs = C[order][:, order], c[order]
            slopes, curvature = effort.with_rule(
                units, D, 1, lambda rule: slopes_and_curvature(units, D, signs, rule), judge
            )
            A = (signs * slopes).at[0].add(curvature)
            return jnp.zeros_like(A).at[order].set(A)

        return -c[0] * jax.lax.map(row, _orders(len(c), [(i,) for i in range(self.scenario.K)]))

    def _second_order(
        self, C: Float[Array, "n n"], judge: bool = False
    ) -> tuple[Float[Array, "K K"], Float[Array, "K K"]]:
        """⟨δ_i δ_k⟩, and a bound on what the series in it leave out."""
        K, pairs = self.scenario.K, list(combinations(range(self.scenario.K), 2))
        both = [jnp.diag(x) for x in self._forms(C, [(i,) for i in range(K)], judge)]
        if pairs:
            (i, k), upper = np.array(pairs).T, self._forms(C, pairs, judge)
            both = [
                total.at[i, k].set(x).at[k, i].set(x) for total, x in zip(both, upper, strict=True)
            ]
        return both[0], both[1]

    def _forms(
        self, C: Float[Array, "n n"], given: Sequence[tuple[int, ...]], judge: bool
    ) -> list[Float[Array, " given"]]:
        """⟨δ_i δ_k⟩ for the given pairs (i, k), or single i for i = k, and a bound as above."""
        units, c, g = self._units, coefficients(self.scenario), self.scenario.student.activation
        noise, count = self.scenario.label_noise**2, len(given[0])

        def slopes(x: Float[Array, "given p"]) -> Float[Array, " p"]:
            first = g.derivative(x)
            return first[0] * first[-1]

        def form(order: Int[Array, " n"]) -> tuple[Array, Array]:
            D, Gamma = C[order][:, order], c[order][:, None] * c[order]
            return effort.with_rule(
                units,
                D,
                count,
                lambda rule: quadratic(slopes, units, D, Gamma, noise, count, rule),
                judge,
            )

        return [c[0] ** 2 * x for x in jax.lax.map(form, _orders(len(c), given))]


def _orders(fields: int, given: Sequence[tuple[int, ...]]) -> Int[Array, "given n"]:
    """All fields, the given ones first."""
    return jnp.array([[*first, *(a for a in range(fields) if a not in first)] for first in given])


def _over_batch(function: Callable[[Array], Array], C: Float[Array, "... n n"]) -> Array:
    """One covariance after the other, each with as many nodes as it needs."""
    if C.ndim == 2:
        return function(C)
    results = jax.lax.map(function, C.reshape(-1, *C.shape[-2:]))
    return results.reshape(*C.shape[:-2], *results.shape[1:])


@eqx.filter_jit
def _errors(moments: ConditionalMoments, C: Float[Array, "... n n"]) -> Array:
    """The change with the rule next to the one that was good enough."""

    def one(C: Float[Array, "n n"]) -> Array:
        first, (second, left_out) = moments._jacobian(C), moments._second_order(C)
        other = moments._second_order(C, judge=True)[0]
        changes = (
            (first - moments._jacobian(C, judge=True)) @ C,
            jnp.abs(second - other) + left_out,
        )
        size = jnp.max(jnp.abs(first)) * jnp.max(jnp.abs(C)) + jnp.max(jnp.abs(second))
        layers = effort.unresolved(moments._units, C, min(2, moments.scenario.K))
        return jnp.max(jnp.stack([jnp.max(jnp.abs(x)) for x in changes])) + layers * size

    return ROUNDING + _over_batch(one, C)
