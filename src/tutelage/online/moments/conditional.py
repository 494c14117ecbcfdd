"""Units without closed forms: all averages by conditioning on one or two student fields.

With δ_i = g'(x_i) Σ_a G_ia g_a(f_a), G of `tutelage.averages.generalization.couplings`,

    ⟨δ_i δ_k⟩ = ⟨g'(x_i) g'(x_k) (ĝᵀ G_i G_kᵀ ĝ - ς² G_ik)⟩,    ĝ_a = g_a(f_a),

is one quadratic form for every pair (i, k), whatever the number of fields; ⟨δ_i v⟩ comes from the
mean Jacobian (`tutelage.averages.pairs`).
"""

import math
from functools import partial
from itertools import combinations
from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tutelage._jax import jax, jit_unoptimized, jnp
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.averages import JUDGED, square
from tutelage.averages.conditional.kernel import (
    PRIVATE,
    FieldUnits,
    given_first,
    judged_covariance,
    over_batch,
    quadratic,
)
from tutelage.averages.conditional.rules import Rule
from tutelage.averages.generalization import coefficients, couplings
from tutelage.averages.methods import Conditional, Method
from tutelage.model import Overlaps, Scenario
from tutelage.online.moments.base import SUM_ROUNDING, Moments

# Rounding of sums over some thousand nodes.
ROUNDING = 1e-13


# Kinds of averages and the number of given fields: a row of A, ⟨δ_i²⟩, ⟨δ_i δ_k⟩.
KINDS = {"row": 1, "square": 1, "pair": 2}


class ConditionalMoments(Moments):
    """Averages by conditioning, for every unit and any K and M.

    fine: whether there are panels for states that no lattice resolves.
    """

    fine: bool = eqx.field(static=True)
    one_by_one: ClassVar[bool] = True

    def __init__(self, scenario: Scenario, method: Method, fine: bool = True):
        super().__init__(scenario, method)
        units = scenario.student.activation, scenario.teacher.activation
        self._set_fields(fine=fine or any(bool(g.kinks) for g in units))

    @staticmethod
    def supports(scenario: Scenario, method: Method) -> bool:
        return isinstance(method, Conditional)

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return self.first_orders(overlaps)[0]

    def first_orders(
        self, overlaps: Overlaps
    ) -> tuple[Float[Array, "... K n"], Float[Array, "... K n"]]:
        def one(C: Float[Array, "n n"]) -> tuple[Array, Array]:
            A, products = jnp.moveaxis(self._rows(C, "row"), 1, 0)
            return A @ C, products

        return over_batch(one, overlaps.covariance)

    def jacobian(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return over_batch(lambda C: self._rows(C, "row")[:, 0], overlaps.covariance)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        return over_batch(self._second_order, overlaps.covariance)

    def generalization_error(self, overlaps: Overlaps) -> Float[Array, "..."]:
        units, r, choice = self._units, coefficients(self.scenario), self._choice("square")
        Gamma = r.T @ r

        def one(C: Float[Array, "n n"]) -> Array:
            survey = effort.survey(units, C)
            return effort.with_rule(choice, C, survey, partial(square, units, Gamma, C))[0]

        return 0.5 * over_batch(one, overlaps.covariance)

    def coarse(self) -> "ConditionalMoments":
        return ConditionalMoments(self.scenario, self.method, fine=False)

    def resolves(self, overlaps: Overlaps) -> Bool[Array, "..."]:
        if self.fine:
            return super().resolves(overlaps)
        return over_batch(self._resolved, overlaps.covariance)

    def error(self, overlaps: Overlaps) -> float:
        C, coarse = jnp.asarray(overlaps.covariance), self.coarse()
        moments, levels = coarse, _levels(coarse, C)
        if not all(np.all(level.resolved) for level in levels.values()):
            moments, levels = self, _levels(self, C)
        return ROUNDING + max(moments._change(C, kind, level) for kind, level in levels.items())

    def derivative_error(self, overlaps: Overlaps) -> float:
        """Relative error of derivatives: rounding over the spread √PRIVATE of coinciding fields, as
        ∂s/∂C = 1/(2s).
        """
        return SUM_ROUNDING / math.sqrt(PRIVATE)

    @property
    def _units(self) -> FieldUnits:
        return FieldUnits.of(self.scenario)

    def _given(self, kind: str) -> list[tuple[int, ...]]:
        """Return all student fields, or all pairs of student fields."""
        return list(combinations(range(self.scenario.K), KINDS[kind]))

    def _levels(self, C: Float[Array, "n n"]) -> dict[str, effort.Level]:
        """Return the level of every average."""
        survey = effort.survey(self._units, C)
        return {
            kind: jax.lax.map(
                lambda order, kind=kind: self._choice(kind).level(
                    C[order][:, order], survey.of(order)
                ),
                _orders(len(C), self._given(kind)),
            )
            for kind in KINDS
            if self._given(kind)
        }

    def _resolved(self, C: Float[Array, "n n"]) -> Bool[Array, ""]:
        """Return whether a lattice resolves all averages."""
        return jnp.all(jnp.concatenate([level.resolved for level in self._levels(C).values()]))

    def _choice(self, kind: str) -> effort.Choice:
        return effort.Choice(self._units, KINDS[kind], kind == "row", self.fine)

    def _second_order(self, C: Float[Array, "n n"]) -> Float[Array, "K K"]:
        total = jnp.diag(self._rows(C, "square"))
        if self.scenario.K > 1:
            (i, k), upper = np.array(self._given("pair")).T, self._rows(C, "pair")
            total = total.at[i, k].set(upper).at[k, i].set(upper)
        return total

    def _rows(self, C: Array, kind: str) -> Array:
        """Compute averages of one kind serially, each with the rule that it needs."""
        survey, choice = effort.survey(self._units, C), self._choice(kind)

        def one(order: Int[Array, " n"]) -> Array:
            return effort.with_rule(
                choice,
                C[order][:, order],
                survey.of(order),
                lambda rule: self._integrated(rule, C, order, kind)[0],
            )

        return jax.lax.map(one, _orders(len(C), self._given(kind)))

    def _integrated(
        self, rule: Rule, C: Float[Array, "n n"], order: Int[Array, " n"], kind: str
    ) -> tuple[Array, Array]:
        """Return a row of A and of ⟨g g_a⟩, or ⟨δ_i δ_k⟩, and the remainder of the series."""
        units, G, g = self._units, couplings(self.scenario), self.scenario.student.activation
        D, i, k = C[order][:, order], order[0], order[KINDS[kind] - 1]
        if kind == "row":
            products, slopes, curvature = given_first(units, D, G[i][order], rule)
            rows = jnp.stack([(G[i][order] * slopes).at[0].add(curvature), products])
            return jnp.zeros_like(rows).at[:, order].set(rows), jnp.zeros(())

        def slopes_of(x: Float[Array, "given p"]) -> Float[Array, " p"]:
            first = g.derivative(x)
            return first[0] * first[-1]

        noise, Gamma = (
            -(self.scenario.label_noise**2) * G[i, k],
            jnp.outer(G[i][order], G[k][order]),
        )
        return quadratic(slopes_of, units, D, Gamma, noise, KINDS[kind], rule)

    def _change(self, C: Float[Array, "n n"], kind: str, levels: effort.Level) -> float:
        """Return the largest change from rules to finer ones, plus unresolved errors."""
        orders, largest = np.asarray(_orders(len(C), self._given(kind))), 0.0
        for place in np.unique(levels.rule):
            used = np.asarray(levels.rule) == place
            rows, steps = orders[used], np.asarray(levels.step)[used]
            (value, other), left_out = _with_finer_rule(self, int(place), steps, C, rows, kind)
            change, size = np.abs(value - other), np.max(np.abs(value))
            if kind == "row":  # an error of A, which is multiplied by C
                change = change[:, 0] @ np.abs(C)
                size = np.max(np.abs(value[:, 0])) * np.max(np.abs(C))
            layers = max(
                float(effort.unresolved(self._units, C[row][:, row], KINDS[kind])) for row in rows
            )
            change_with_bounds = JUDGED * np.max(change) + np.max(left_out) + layers * size
            largest = max(largest, float(change_with_bounds))
        return largest


@jit_unoptimized
def _levels(moments: ConditionalMoments, C: Array) -> dict[str, effort.Level]:
    return moments._levels(C)


def _with_finer_rule(
    moments: ConditionalMoments,
    place: int,
    steps: Float[np.ndarray, " rows"],
    C: Array,
    orders: Int[np.ndarray, "rows n"],
    kind: str,
) -> tuple[tuple[Array, Array], Array]:
    """Compute rows with two quadrature rules, that of a level and a finer one.

    Returns both values of each row, and the remainders of the series.
    """
    choice = moments._choice(kind)
    places = (place, int(choice.judged(place, 1)))
    (value, left_out), (other, _) = (
        _at(moments, steps, np.asarray(judge), C, orders, place=place, kind=kind)
        for judge, place in enumerate(places)
    )
    return (value, other), left_out


@partial(jit_unoptimized, static=("place", "kind"))
def _at(
    moments: ConditionalMoments,
    steps: Float[Array, " rows"],
    judge: Int[Array, ""],
    C: Array,
    orders: Int[Array, "rows n"],
    *,
    place: int,
    kind: str,
) -> tuple[Array, Array]:
    C = judged_covariance(C, judge.astype(float))

    def one(each: tuple[Array, Array]) -> tuple[Array, Array]:
        step, order = each
        rule = moments._choice(kind).rules(step, judge)[place]
        return moments._integrated(rule, C, order, kind)

    return jax.lax.map(one, (steps, orders))


def _orders(fields: int, given: list[tuple[int, ...]]) -> Int[Array, "given n"]:
    """Return orders of all fields that begin with the given fields."""
    return jnp.array([[*first, *(a for a in range(fields) if a not in first)] for first in given])
