"""⟨w(f_1, …) f̂ᵀ Γ f̂⟩ over Gaussian fields, f̂_a = g_a(f_a), by conditioning on the first of them.

Given the first one or two fields the others are f_a = m_a + s_a z_a with fixed correlations ρ_ab,
and Mehler's formula turns every product into one-dimensional sums,

    ⟨g_a g_b | given⟩ = Σ_n ρ_abⁿ h_aⁿ h_bⁿ,    h_aⁿ = ⟨g_a(m_a + s_a z) He_n(z)⟩/√n!

(Mehler 1866; docs/physics/averages.md); squares, a = b, need no series.  What is left out of it is
taken at ρⁿ of its first term, with the size that ⟨g_a²⟩ - Σ h_aⁿ² gives exactly.

Units that are odd, or linear plus even, or either and a constant, need half of the nodes: h_aⁿ at
the opposite ones are known.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray, Scalar
from tutelage.activations import Activation
from tutelage.averages.conditional.rules import Nodes, Rule
from tutelage.averages.quadrature.rules import FARTHEST
from tutelage.model import Scenario

# Relative increase of variances, so that the conditional spread has a derivative where fields
# coincide; averages change by the same small amount.
PRIVATE = 1e-13
# Fields whose conditional spread is less than this part of their spread count as the same field.
COINCIDE = 1e-6
# A difference ⟨g²⟩ - Σ h_n² of numbers of order one is a rounding error below this.
ROUNDING = 1e-15
# Width of a transition that does not exist: wider than any field.
WIDEST = 1e6
# Nodes per block with one and with two given fields: intermediate values fit in the cache.
CHUNKS = {1: 32, 2: 128}
# Scales at which the steepness of a unit is measured.
_SCALES = np.concatenate([-np.geomspace(1e-5, 30.0, 200)[::-1], np.geomspace(1e-5, 30.0, 200)])


class FieldUnits(NamedTuple):
    """The activations of the fields in order, with equal neighbours grouped."""

    runs: tuple[tuple[Activation, int], ...]

    @classmethod
    def of(cls, scenario: Scenario) -> "FieldUnits":
        """Return the activations of students and teachers."""
        g, h = scenario.student.activation, scenario.teacher.activation
        K, M = scenario.K, scenario.M
        return cls(((g, K + M),) if scenario.same_activation else ((g, K), (h, M)))

    def apply(self, function: Callable[..., Any], *arrays: Array) -> list[Any]:
        """Apply ``function(g, …)`` to each group of equal activations with the rows of
        its fields.
        """
        results, first = [], 0
        for g, count in self.runs:
            if count:
                results.append(function(g, *(x[first : first + count] for x in arrays)))
            first += count
        return results

    def after(self, given: int) -> "FieldUnits":
        """Return the units of the fields that are not conditioned on."""
        left, runs = given, []
        for g, count in self.runs:
            runs.append((g, max(count - left, 0)))
            left = max(left - count, 0)
        return FieldUnits(tuple(runs))

    def until(self, given: int) -> "FieldUnits":
        """Return the units of the fields that are conditioned on."""
        left, runs = given, []
        for g, count in self.runs:
            runs.append((g, min(count, left)))
            left -= min(count, left)
        return FieldUnits(tuple(runs))

    @property
    def mirror(self) -> "Mirror | None":
        """The relation of values at opposite fields; None if units have different relations."""
        present = [(g, count) for g, count in self.runs if count]
        levels = [(g.even_part_level, count) for g, count in present]
        slopes = [(g.odd_part_slope, count) for g, count in present]
        if all(level is not None for level, _ in levels):
            return Mirror(-1.0, 2 * _column(levels), 0 * _column(levels))
        if all(slope is not None for slope, _ in slopes):
            return Mirror(1.0, 0 * _column(slopes), -2 * _column(slopes))
        return None

    @property
    def kinks(self) -> tuple[Any, ...]:
        """Positions of kinks of any unit; 0 if there are none, where units change fastest."""
        positions = tuple(dict.fromkeys(k.position for g, _ in self.runs for k in g.kinks))
        return positions or (0.0,)


class Mirror(NamedTuple):
    """g(-x) = sign · g(x) + level + slope · x: an odd unit and a constant, or linear plus even."""

    sign: float
    level: Float[Array, "rest 1"]
    slope: Float[Array, "rest 1"]

    def of(
        self, h: Float[Array, "2 rest p"], m: Float[Array, "rest p"], s: Float[Array, "rest 1"]
    ) -> Float[Array, "2 rest p"]:
        """Compute h_0 and h_1 of fields -m + s z from those of m + s z; higher ones change by a
        sign at most.
        """
        return jnp.stack(
            [self.sign * h[0] + self.level + self.slope * m, -self.sign * h[1] - self.slope * s]
        )


class ConditionedFields(NamedTuple):
    """Fields conditioned on the first ones: f = B y + s z, with the correlations ρ of the z."""

    B: Float[Array, "n given"]
    s: Float[Array, " rest"]
    rho: Float[Array, "rest rest"]


def _column(numbers: list[tuple[Any, int]]) -> Float[Array, "rest 1"]:
    """Repeat each value as often as its count says."""
    parts = [jnp.full((count, 1), x, dtype=jnp.float64) for x, count in numbers]
    return jnp.concatenate(parts)


def condition(C: Float[Array, "n n"], given: int) -> ConditionedFields:
    """Condition on the first fields, by elimination."""
    n = len(C)
    S = C + jnp.diag(PRIVATE * jnp.diagonal(C) + np.finfo(float).tiny)
    columns = []
    for j in range(given):
        columns.append(S[:, j] / jnp.sqrt(S[j, j]))
        S = S - jnp.outer(columns[-1], columns[-1])
    P = S[given:, given:]
    floor = PRIVATE * jnp.diagonal(C)[given:] + np.finfo(float).tiny
    s = jnp.sqrt(jnp.maximum(jnp.diagonal(P), floor))
    rho = jnp.where(np.eye(n - given), 1.0, P / s[:, None] / s[None])
    return ConditionedFields(jnp.stack(columns, axis=-1), s, rho)


def judged_covariance(C: Float[Array, "n n"], judge: Scalar) -> Float[Array, "n n"]:
    """Return the covariance of a rule: the usual one (0), or one with twice the private variance
    for the rule that estimates the error (1).

    `PRIVATE` changes an average by its derivative, which may be many times the average itself.
    """
    noise: Array = PRIVATE * jnp.diagonal(C)
    return C + judge * jnp.diag(noise)


def quadratic(
    weight: Callable[[Array], Array],
    units: FieldUnits,
    C: Float[Array, "n n"],
    Gamma: Float[AnyArray, "n n"],
    constant: Scalar,
    given: int,
    rule: Rule,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """⟨weight(f_1, …) (f̂ᵀ Γ f̂ + constant)⟩, and a bound on the truncation error of the series.

    weight: of the given fields, shape (given, nodes).
    """
    fields, others = condition(C, given), units.after(given)
    mirror = others.mirror if rule.symmetric else None
    nodes = rule.outer(
        fields.B, units.kinks, narrowest_transition(units, C, fields), half=mirror is not None
    )
    off_diagonal = Gamma[given:, given:] * (1 - np.eye(len(fields.s)))
    last = off_diagonal * fields.rho ** (rule.terms + 1)

    def form(m: Float[Array, "n p"], h: Array, spread: Array) -> Float[Array, " p"]:
        """Sum the terms of the quadratic form that contain the mean or the slope of a field."""
        given_values = units.until(given).apply(lambda g, x: g(x), m[:given])
        f = jnp.concatenate([*given_values, h[0]])
        means, slopes = Gamma @ f, (off_diagonal * fields.rho) @ h[1]
        own = jnp.diagonal(Gamma)[given:] @ spread
        form: Array = jnp.sum(f * means, axis=0) + jnp.sum(h[1] * slopes, axis=0) + own
        return form

    def at_nodes(y: Float[Array, "p given"], w: Float[Array, " p"]) -> Float[Array, " 2"]:
        m = fields.B @ y.T
        rest, s = m[given:], fields.s[:, None]
        parts = others.apply(partial(_expansion, rule), rest, s)
        h, squares = (jnp.concatenate(x, axis=-2) for x in zip(*parts, strict=True))
        spread = squares - h[0] ** 2
        # Nodes that do not resolve the last polynomials may give a sum larger than the norm.
        beyond = spread - jnp.sum(h[1:] ** 2, axis=0)
        t = jnp.sqrt(jnp.maximum(beyond, 0.0) + ROUNDING**2)
        common = _mehler(h[2:], off_diagonal, fields.rho) + jnp.sum(t * (last @ t), axis=0)
        t = jnp.sqrt(jnp.abs(beyond) + ROUNDING**2)
        left = 2 * jnp.sum(t * (jnp.abs(last) @ t), axis=0)
        if mirror:
            opposite = mirror.of(h[:2], rest, s)
            spread = _with_opposite(spread, spread - h[1] ** 2 + opposite[1] ** 2)
            m, h = _with_opposite(m, -m), _with_opposite(h[:2], opposite)
            w, common, left = (_with_opposite(x, x) for x in (w, common, left))
        factor, value = w * weight(m[:given]), form(m, h, spread) + common + constant
        return jnp.stack([factor @ value, jnp.abs(factor) @ left])

    value, bound = _in_chunks(at_nodes, nodes)
    return value, bound


def _with_opposite(x: Array, opposite: Array) -> Array:
    """Stack values at nodes and at the opposite nodes."""
    return jnp.concatenate([x, opposite], axis=-1)


def _in_chunks(function: Callable[[Array, Array], Array], nodes: Nodes) -> Array:
    """Sum over all nodes with nonzero weight, in blocks that fit in the cache."""
    chunk = min(CHUNKS[nodes.y.shape[1]], len(nodes.y))
    missing = -len(nodes.y) % chunk

    def cut(x: Array) -> Array:
        rest = jnp.zeros((missing, *x.shape[1:]))
        return jnp.concatenate([x, rest]).reshape(-1, chunk, *x.shape[1:])

    y, w = jax.tree.map(cut, (nodes.y, nodes.w))

    def sums(place: Array, y: Array, w: Array | None) -> Array:
        y, w = nodes.coordinates(y, w)
        return function(y, jnp.where(place + np.arange(chunk) < nodes.count, w, 0.0))

    nothing = jnp.zeros_like(jax.eval_shape(sums, 0, *jax.tree.map(lambda x: x[0], (y, w))))

    def add(total: Array, part: tuple[Array, Array, Array | None]) -> tuple[Array, None]:
        more = jax.lax.cond(part[0] < nodes.count, sums, lambda *_: nothing, *part)
        return total + more, None

    return jax.lax.scan(add, nothing, (chunk * jnp.arange(len(y)), y, w))[0]


def _expansion(rule: Rule, g: Activation, m: Array, s: Array) -> tuple[Array, Array]:
    """h_n of every field and node, with n on the first axis, and ⟨g²⟩."""
    z, w = rule.inner(m, s, own_kinks(g), width(g))
    values = g(m[None] + s[None] * z)
    return rule.hermite(values, z, w), jnp.sum(w * values**2, axis=0)


def _mehler(h: Float[Array, "n a p"], Gamma: Float[AnyArray, "a a"], rho: Array) -> Array:
    """Σ_n h_nᵀ (Γ ∘ ρⁿ) h_n for n = 2, 3, …."""
    powers = rho[None] * jnp.cumprod(jnp.broadcast_to(rho, (len(h), *rho.shape)), axis=0)
    return jnp.sum(h * jnp.einsum("nab,nbp->nap", Gamma[None] * powers, h), axis=(0, 1))


def product(units: FieldUnits, C: Float[Array, "2 2"], rule: Rule) -> Float[Array, ""]:
    """⟨g(f_1) h(f_2)⟩."""
    fields = condition(C, 1)
    nodes = rule.outer(fields.B, units.kinks, narrowest_transition(units, C, fields))

    def given(g: Activation, m: Array, s: Array) -> Array:
        s = s[:, None]
        z, w = rule.inner(m, s, own_kinks(g), width(g))
        return jnp.sum(w * g(m[None] + s[None] * z), axis=0)

    def at_nodes(y: Float[Array, "p 1"], w: Float[Array, " p"]) -> Float[Array, ""]:
        m = fields.B @ y.T
        (first,) = units.until(1).apply(lambda g, x: g(x), m[:1])
        (second,) = units.after(1).apply(given, m[1:], fields.s)
        return jnp.sum(w * first[0] * second[0])

    return _in_chunks(at_nodes, nodes)


def given_first(
    units: FieldUnits, C: Float[Array, "n n"], c: Float[AnyArray, " n"], rule: Rule
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, ""]]:
    """⟨g(f_1) g_a(f_a)⟩ and ⟨g'(f_1) g_a'(f_a)⟩ for every field, and ⟨g''(f_1) Σ_b c_b g_b(f_b)⟩.

    Delta functions of g'' are further nodes, with the density there as their weight.
    """
    fields, g = condition(C, 1), units.runs[0][0]
    spread = fields.B[0, 0]

    def means(g: Activation, m: Array, s: Array) -> tuple[Array, Array]:
        s = s[:, None]
        z, w = rule.inner(m, s, own_kinks(g), width(g))
        f = m[None] + s[None] * z
        return jnp.sum(w * g(f), axis=0), jnp.sum(w * g.derivative(f), axis=0)

    def given(y: Float[Array, "p 1"]) -> tuple[Array, Array, Array]:
        """Return the first field, and the conditional means of all values and slopes."""
        m = fields.B @ y.T
        parts = units.after(1).apply(means, m[1:], fields.s)
        values = jnp.concatenate([g(m[:1]), *(part[0] for part in parts)])
        return m[0], values, jnp.concatenate([g.derivative(m[:1]), *(part[1] for part in parts)])

    def at_nodes(y: Float[Array, "p 1"], w: Float[Array, " p"]) -> Float[Array, " sums"]:
        x, values, slopes = given(y)
        curvature = jnp.sum(w * g.second_derivative(x) * (c @ values))
        products = values @ (w * g(x))
        return jnp.concatenate([products, slopes @ (w * g.derivative(x)), curvature[None]])

    nodes = rule.outer(fields.B, units.kinks, narrowest_transition(units, C, fields))
    sums = _in_chunks(at_nodes, nodes)
    products, slopes, curvature = sums[: len(C)], sums[len(C) : -1], sums[-1]
    if g.kinks:
        y = jnp.stack([jnp.asarray(k.position) / spread for k in g.kinks])
        jumps = jnp.stack([jnp.asarray(k.jump) for k in g.kinks]) * _density(y) / spread
        curvature = curvature + jnp.sum(jumps * (c @ given(y[:, None])[1]))
    return products, slopes, curvature


def over_batch(function: Callable[[Array], Any], C: Float[Array, "... n n"]) -> Any:
    """Apply a function to each covariance in turn, with the number of nodes that it needs."""
    if C.ndim == 2:
        return function(C)
    results = jax.lax.map(function, C.reshape(-1, *C.shape[-2:]))
    return jax.tree.map(lambda x: x.reshape(*C.shape[:-2], *x.shape[1:]), results)


def _density(y: Array) -> Array:
    return jnp.exp(-0.5 * y**2) / math.sqrt(2 * math.pi)


def own_kinks(g: Activation) -> tuple[Any, ...]:
    """Positions of the kinks; 0 if there are none, where units change fastest."""
    return FieldUnits(((g, 1),)).kinks


def width(g: Activation) -> Float[Array, ""]:
    """Return the width over which g' changes: ∫|g''| / max |g''|; unbounded with kinks."""
    if g.kinks:
        return jnp.asarray(WIDEST)
    curvature = jnp.abs(g.second_derivative(_SCALES))
    area = jnp.sum(0.5 * (curvature[1:] + curvature[:-1]) * np.diff(_SCALES))
    return jax.lax.stop_gradient(area / (jnp.max(curvature) + np.finfo(float).tiny) + 1e-6)


def narrowest_transition(
    units: FieldUnits, C: Float[Array, "n n"], fields: ConditionedFields
) -> Float[Array, ""]:
    """Return the narrowest width of a transition, in standard deviations of the given fields.

    Sharp units have transitions, as do fields with kinks that nearly depend on the given ones.
    """
    given = fields.B.shape[1]
    spread = jnp.sqrt(jnp.diagonal(C) + np.finfo(float).tiny)
    widths = [jnp.min(width(g) / spread[:given]) for g, _ in units.until(given).runs]
    if given == 2:
        widths.append(fields.B[1, 1] / spread[1])
    if fields.s.size:
        widths.append(jnp.min(fields.s / spread[given:]))
    narrow = jnp.stack(widths)
    # Narrower transitions cannot be distinguished from fields that coincide.
    return jax.lax.stop_gradient(jnp.min(jnp.where(narrow < COINCIDE, FARTHEST, narrow)))
