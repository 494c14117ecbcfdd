"""Choose the number of nodes and series terms of an average.

A lattice resolves a product of four factors if it resolves g'² (g² + ⟨g²⟩) of every single field:
the sums over its nodes and over the points between them then agree.  Panels resolve layers that are
not too narrow.  What Mehler's series leaves out is bounded by |ρ_ab|ᴺ⁺¹ √(t_a t_b) with
t_a = ⟨g_a²⟩ - Σ_{n≤N} c_n², since conditioning moves no weight to higher orders; it moves weight to
lower ones, a share of at most (k r_a)ᴺ⁺¹/(N+1)! of order k staying above N if r_a is the share of
the variance of a field that is left.
"""

from collections.abc import Callable
from math import e
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray, Scalar
from tutelage.averages.conditional.kernel import (
    COINCIDE,
    PRIVATE,
    ConditionedFields,
    FieldUnits,
    condition,
    narrowest_transition,
)
from tutelage.averages.conditional.rules import FINEST, Judge, Lattice, Panels, Rule, line

# Spacing at which single fields are examined: half the spacing of the finest lattice.
BASE = FINEST / 2
# Steps of lattices, in units of BASE, from cheap to fine.
STRIDES = (10, 9, 8, 7, 6, 5, 4, 3, 2)
# Stride of the lattice of the fields that are not given, and number of terms of their series, from
# cheap to expensive. The last pair is compiled together with panels: where it suffices, it is some
# fifty times cheaper than panels.
SERIES = ((8, 12), (6, 28), (4, 48), (2, 96))
# Units with kinks need panels; sharp units get the last panels if no lattice suffices.
PANELS = (Panels(56, 28, 1.0), Panels(84, 52, 0.01))
# Rules that estimate the error of the last panels.
JUDGE = Panels(76, 44, 0.01)
# Tolerances relative to the size of the averages: in the equations of motion, and for single
# averages.
WANTED, SINGLE = 1e-9, 1e-14
# Divisors of the quadrature errors of single fields, by the number of given fields: with one, all
# four factors may depend on it; with two, errors are smaller. TWO is for two factors of a field
# that is not given.
FOUR, TWO = {1: 1.0, 2: 100.0}, 10.0
# Fields count as smooth functions of the given fields if these explain less than this part of their
# variance.
EXPLAINED = 0.1


class Survey(NamedTuple):
    """Quadrature errors of single fields, independent of the other fields of an average.

    four: the relative error of four factors of a field with every one of `STRIDES`.
    two: the same of two factors.
    weights: t_a for every one of `SERIES`, relative to ⟨g_a²⟩.
    """

    four: Float[Array, "n strides"]
    two: Float[Array, "n strides"]
    weights: Float[Array, "n series"]

    def of(self, order: object) -> "Survey":
        """Return the survey with its fields reordered."""
        return Survey(*(x[order] for x in self))


def survey(units: FieldUnits, C: Float[Array, "n n"]) -> Survey:
    """Estimate the quadrature errors of every field of a covariance."""
    C = jax.lax.stop_gradient(C)
    y, w, H = line(BASE, SERIES[-1][1])
    f = jnp.outer(jnp.sqrt(jnp.diagonal(C)), jnp.asarray(y))
    g = jnp.concatenate(units.apply(lambda g, f: g(f), f))
    slopes = jnp.concatenate(units.apply(lambda g, f: g.derivative(f), f))
    squares = g**2 @ w + np.finfo(float).tiny
    explained = jnp.cumsum((g @ (w[:, None] * H)) ** 2, axis=-1) / squares[:, None]
    left = jnp.maximum(1.0 - explained[:, np.array([terms for _, terms in SERIES])], 0.0)
    four = _disagreement((g**2 + squares[:, None]) * slopes**2 * w[None])
    return Survey(four, _disagreement(g**2 * w[None]), left)


class Level(NamedTuple):
    """The selected rule, the step of its lattice, and whether it is accurate enough."""

    rule: Any
    step: Any
    resolved: Bool[Array, ""]


class Choice(NamedTuple):
    """The candidate rules from which one is selected for each state.

    units: of all fields, the given ones first.
    given: how many fields are given.
    means: whether only means of single fields are asked for, which need no series.
    fine: whether panels are there for what no lattice resolves; units with kinks always have them.
    wanted: the error to aim at; up to `WANTED` the finest lattice will do.
    """

    units: FieldUnits
    given: int
    means: bool = False
    fine: bool = True
    wanted: float = WANTED

    @property
    def kinks(self) -> bool:
        """Return whether any unit has kinks."""
        return any(g.kinks for g, _ in self.units.runs)

    @property
    def series(self) -> tuple[int, ...]:
        """Indices of the `SERIES` worth compiling; with one given field, nodes are cheap."""
        last = len(SERIES) - (1 if self.fine else 2)
        if self.means:
            return (0, last)
        return (last,) if self.given == 1 else tuple(range(last + 1))

    def rules(self, step: Scalar, judge: Judge = 0) -> list[Rule]:
        """All candidate rules; the last panels only estimate the error of the rules before them."""
        if self.kinks:
            return [*PANELS, JUDGE]
        each = ((SERIES[place][0], 0 if self.means else SERIES[place][1]) for place in self.series)
        lattices = [Lattice(step, n * BASE, terms, judge) for n, terms in each]
        return [*lattices, *((PANELS[-1], JUDGE) if self.fine else ())]

    def level(self, C: Float[Array, "n n"], seen: Survey) -> Level:
        """Index of the first rule that is accurate enough."""
        fields, given = condition(jax.lax.stop_gradient(C), self.given), self.given
        left = _left_out(seen, C, fields)
        if self.kinks:
            narrow = narrowest_transition(self.units, C, fields)
            enough = (narrow >= PANELS[0].narrowest) & (left[1] < self.wanted)
            return Level(jnp.where(enough, 0, 1), 0.0, jnp.asarray(True))
        explained = jnp.sum(fields.B[given:] ** 2, axis=-1) > EXPLAINED * jnp.diagonal(C)[given:]
        two = jnp.where(explained[:, None], seen.two[given:], 0.0) / TWO
        outer = jnp.concatenate([seen.four[:given] / FOUR[given], two])
        places = np.array(self.series)
        strides = np.array([STRIDES.index(SERIES[place][0]) for place in places])
        inner = jnp.max(seen.two[given:, strides] / TWO, axis=0, initial=0.0)
        inner = inner if self.means else jnp.maximum(inner, left[places])
        outer = jnp.max(outer, axis=0)
        step = jnp.asarray([BASE * stride for stride in STRIDES])[_first(outer < self.wanted)]
        resolved = (outer[-1] < WANTED) & (inner[-1] < WANTED)
        panels = len(self.series) if self.fine else len(self.series) - 1
        return Level(jnp.where(resolved, _first(inner < self.wanted), panels), step, resolved)

    def judged(self, level: int | AnyArray, judge: Judge) -> AnyArray:
        """Index of the rule that estimates the error; a lattice estimates its own."""
        first = 0 if self.kinks else len(self.series)
        return jnp.where(level >= first, level + judge, level)


def with_rule(
    choice: Choice,
    C: Float[Array, "n n"],
    seen: Survey,
    compute: Callable[[Any], Any],
    judge: Judge | None = None,
) -> Any:
    """Compute with the first rule that is accurate enough, or with the last one.

    judge: 1 (may be traced) for the rule that shows its error, 0 not; without it there is none.
    """
    level = choice.level(C, seen)
    if judge is None:
        place, used = level.rule, choice.rules(level.step)
        used = used[:-1] if isinstance(used[-1], Panels) else used
    else:
        place, used = choice.judged(level.rule, judge), choice.rules(level.step, judge)
    return jax.lax.switch(place, [lambda rule=rule: compute(rule) for rule in used])


def _first(enough: Bool[Array, " n"]) -> Array:
    """Index of the first rule that is accurate enough, otherwise of the last rule."""
    return jnp.where(jnp.any(enough), jnp.argmax(enough), len(enough) - 1)


def unresolved(units: FieldUnits, C: Float[Array, "n n"], given: int) -> Float[Array, ""]:
    """Width of transitions at kinks that no rule resolves; jumps are misplaced by this width."""
    if not any(g.kinks for g, _ in units.runs):
        return jnp.zeros(())
    fields = condition(C, given)
    narrow = jnp.append(fields.s**2 / jnp.diagonal(C)[given:], 1.0)
    coincide = jnp.where(jnp.any(narrow < COINCIDE**2), np.sqrt(PRIVATE), 0.0)
    width = narrowest_transition(units, C, fields)
    return jnp.where(width < PANELS[-1].narrowest, width, 0.0) + coincide


def _disagreement(terms: Float[Array, "n nodes"]) -> Float[Array, "n strides"]:
    """Disagreement between sums over lattice nodes, over midpoints between them, and over both."""
    middle, total = terms.shape[1] // 2, jnp.sum(terms, axis=-1, keepdims=True)
    sums = terms @ np.stack(
        [
            float(stride) * (np.arange(terms.shape[1]) % stride == start % stride)
            for stride in STRIDES
            for start in (middle, middle + stride // 2)
        ],
        axis=-1,
    )
    change = jnp.abs(sums - total) / (total + np.finfo(float).tiny)
    return jnp.max(change.reshape(len(terms), -1, 2), axis=-1)


def _left_out(
    seen: Survey, C: Float[Array, "n n"], fields: ConditionedFields
) -> Float[Array, " series"]:
    """Bound the truncation error of each of `SERIES`, relative to the sizes of the units."""
    given, most = fields.B.shape[1], SERIES[-1][1]
    share = fields.s**2 / jnp.maximum(jnp.diagonal(C)[given:], np.finfo(float).tiny)
    t = seen.weights[given:]
    rest, off = t[:, -1:], jnp.where(np.eye(len(t), dtype=bool), 0.0, jnp.abs(fields.rho))
    orders = np.array([terms + 1.0 for _, terms in SERIES])
    stays = jnp.minimum(jnp.outer(share, jnp.asarray(e * most / orders)) ** orders[None], 1.0)
    t = jnp.sqrt((t - rest) * stays + rest)
    powers = off[..., None] ** orders[None, None]
    return jnp.max(powers * t[:, None] * t[None], axis=(0, 1), initial=0.0)
