"""Units without closed forms: all averages by conditioning on one or two student fields.

With δ_i = s_K g'(x_i) Σ_a c_a g_a(f_a), c_a = s_M for teachers and -s_K for students,

    ⟨δ_i δ_k⟩ = s_K² ⟨g'(x_i) g'(x_k) (ĝᵀ c cᵀ ĝ + ς²)⟩,    ĝ_a = g_a(f_a),

is one quadratic form for every pair (i, k), whatever the number of fields; ⟨δ_i v⟩ comes from the
mean Jacobian (`tutelage.averages.pairs`).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.kernel import Units, over_batch, quadratic, slopes_and_curvature
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

    def __init__(self, scenario: Scenario, method: Method, apart: bool = False):
        super().__init__(scenario, method)
        units = (scenario.student.activation, scenario.teacher.activation)
        self.alike = not apart and eqx.tree_equal(*units) is True

    @staticmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        return isinstance(method, Conditional)

    def apart(self) -> "ConditionalMoments":
        return ConditionalMoments(self.scenario, self.method, apart=True)

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return over_batch(lambda C: self._jacobian(C) @ C, overlaps.covariance)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        return over_batch(self._second_order, overlaps.covariance)

    def error(self, overlaps: Overlaps) -> float:
        C = jnp.asarray(overlaps.covariance)
        found = [self._change(C, "row", self._single), self._change(C, "form", self._single)]
        if self.scenario.K > 1:
            found.append(self._change(C, "form", self._pairs))
        return ROUNDING + max(found)

    @property
    def _units(self) -> Units:
        (g, K), (h, M) = (
            (c.activation, c.units) for c in (self.scenario.student, self.scenario.teacher)
        )
        return Units(((g, K + M),) if self.alike else ((g, K), (h, M)))

    @property
    def _single(self) -> list[tuple[int, ...]]:
        return [(i,) for i in range(self.scenario.K)]

    @property
    def _pairs(self) -> list[tuple[int, ...]]:
        return list(combinations(range(self.scenario.K), 2))

    def _jacobian(self, C: Float[Array, "n n"]) -> Float[Array, "K n"]:
        """A, row by row."""
        return self._rows(C, "row", self._single)[0]

    def _second_order(self, C: Float[Array, "n n"]) -> Float[Array, "K K"]:
        total = jnp.diag(self._rows(C, "form", self._single)[0])
        if self._pairs:
            (i, k), upper = np.array(self._pairs).T, self._rows(C, "form", self._pairs)[0]
            total = total.at[i, k].set(upper).at[k, i].set(upper)
        return total

    def _rows(self, C: Array, kind: str, given: Sequence[tuple[int, ...]]) -> tuple[Array, Array]:
        """One after the other, each with the rule that it needs."""

        def one(order: Int[Array, " n"]) -> tuple[Array, Array]:
            D, count = C[order][:, order], len(given[0])
            return effort.with_rule(
                self._units, D, count, lambda rule: self._with(rule, C, order, kind, count)
            )

        return jax.lax.map(one, _orders(len(C), given))

    def _with(
        self, rule: Any, C: Float[Array, "n n"], order: Int[Array, " n"], kind: str, given: int
    ) -> tuple[Array, Array]:
        """A row of A, or ⟨δ_i δ_k⟩ of the given fields; and what the series in it leaves out."""
        units, c, g = self._units, coefficients(self.scenario), self.scenario.student.activation
        D, signs = C[order][:, order], c[order]
        if kind == "row":
            slopes, curvature = slopes_and_curvature(units, D, signs, rule)
            A = -c[0] * (signs * slopes).at[0].add(curvature)
            return jnp.zeros_like(A).at[order].set(A), jnp.zeros(())

        def slopes_of(x: Float[Array, "given p"]) -> Float[Array, " p"]:
            first = g.derivative(x)
            return first[0] * first[-1]

        noise = self.scenario.label_noise**2
        form, left_out = quadratic(slopes_of, units, D, signs[:, None] * signs, noise, given, rule)
        return c[0] ** 2 * form, c[0] ** 2 * left_out

    def _change(self, C: Float[Array, "n n"], kind: str, given: Sequence[tuple[int, ...]]) -> float:
        """The largest change with the rules that judge those that are used, and what none sees."""
        orders, count, units = _orders(len(C), given), len(given[0]), self._units
        levels = np.asarray(_levels(self, C, orders, count))
        largest = 0.0
        for level in np.unique(levels):
            rows = orders[levels == level]
            pair = (effort.rules(units, count)[level], effort.judges(units, count)[level])
            (value, left_out), (other, _) = (_at(self, rule, C, rows, kind, count) for rule in pair)
            change = np.abs(value - other) @ np.abs(C) if kind == "row" else np.abs(value - other)
            size = np.max(np.abs(value)) * (np.max(np.abs(C)) if kind == "row" else 1.0)
            layers = max(float(effort.unresolved(units, C[row][:, row], count)) for row in rows)
            largest = max(largest, float(np.max(change) + np.max(left_out) + layers * size))
        return largest


@eqx.filter_jit
def _levels(moments: ConditionalMoments, C: Array, orders: Array, given: int) -> Array:
    return jax.lax.map(
        lambda order: effort.level(moments._units, C[order][:, order], given), orders
    )


@eqx.filter_jit
def _at(
    moments: ConditionalMoments, rule: Any, C: Array, orders: Array, kind: str, given: int
) -> tuple[Array, Array]:
    return jax.lax.map(lambda order: moments._with(rule, C, order, kind, given), orders)


def _orders(fields: int, given: Sequence[tuple[int, ...]]) -> Int[Array, "given n"]:
    """All fields, the given ones first."""
    return jnp.array([[*first, *(a for a in range(fields) if a not in first)] for first in given])
