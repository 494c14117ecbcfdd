"""How many nodes and terms an average needs, from its units and the state of its fields.

A lattice resolves a product of four factors if it resolves g'² (g² + ⟨g²⟩) of every single field:
the sums over its nodes and over the points between them then agree.  Panels resolve layers that are
not too narrow.  What Mehler's series leaves out is bounded by |ρ_ab|ᴺ⁺¹ √(t_a t_b) with
t_a = ⟨g_a²⟩ - Σ_{n≤N} c_n², since conditioning moves no weight to higher orders.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.averages.conditional.kernel import COINCIDE, PRIVATE, Given, Units, condition, layer
from tutelage.averages.conditional.rules import Lattice, Panels, line

# From cheap to fine; units with kinks need panels, sharp ones get them if no lattice will do.
BASE = 0.07
LATTICES = (Lattice(6 * BASE, 28), Lattice(4 * BASE, 48))
PANELS = (Panels(56, 28, 1.0), Panels(84, 52, 0.01))
# The last rule is judged by this one.
JUDGE = Panels(76, 44, 0.01)
# Relative to the size of the averages.
WANTED = 3e-9
# Four factors that coincide are a hundred times harder to resolve than those that occur.
HARDER = 100.0


def with_rule(
    units: Units,
    C: Float[Array, "n n"],
    given: int,
    compute: Callable[[Any], Any],
    judge: bool = False,
) -> Any:
    """What is computed with the first rule that is good enough, or with the last one.

    judge: with the rule next to that one, which shows its error.
    """
    used = judges(units, given) if judge else rules(units, given)
    return jax.lax.switch(
        level(units, C, given), [lambda rule=rule: compute(rule) for rule in used]
    )


def level(units: Units, C: Float[Array, "n n"], given: int) -> Int[Array, ""]:
    """Which of the rules is the first that is good enough."""
    candidates = rules(units, given)
    enough = _defects(candidates, units, jax.lax.stop_gradient(C), given) < WANTED
    return jnp.where(jnp.any(enough), jnp.argmax(enough), len(candidates) - 1)


def judges(units: Units, given: int) -> tuple[Any, ...]:
    """For every rule the one that shows its error."""
    return (*rules(units, given)[1:], JUDGE)


def rules(units: Units, given: int) -> tuple[Any, ...]:
    """The rules among which the state decides, from cheap to fine."""
    if any(g.kinks for g, _ in units.runs):
        return PANELS
    # On one axis nodes cost little: one lattice will do.
    return (*LATTICES[-given:], PANELS[-1])


def _defects(
    rules: tuple[Any, ...], units: Units, C: Float[Array, "n n"], given: int
) -> Float[Array, " rules"]:
    """Relative errors to expect of the rules."""
    y, w, H = line(BASE, max(rule.terms for rule in rules))
    f = jnp.sqrt(jnp.diagonal(C))[:, None] * y
    g = jnp.concatenate(units.apply(lambda g, f: g(f), f))
    slopes = jnp.concatenate(units.apply(lambda g, f: g.derivative(f), f))
    squares = g**2 @ w + np.finfo(float).tiny
    kept = jnp.cumsum((g @ (w[:, None] * H)) ** 2, axis=-1) / squares[:, None]
    beyond, fields = jnp.sqrt(jnp.maximum(1.0 - kept, 0.0)), condition(C, given)
    narrowest, product = layer(units, C, fields), (g**2 + squares[:, None]) * slopes**2

    def defect(rule: Any) -> Float[Array, ""]:
        if isinstance(rule, Lattice):
            unresolved = _disagreement(product * w, rule.step) / HARDER
        else:
            unresolved = jnp.where(narrowest < rule.narrowest, 1.0, 0.0)
        return unresolved + _left_out(beyond[given:, rule.terms], fields, rule.terms)

    return jnp.stack([defect(rule) for rule in rules])


def unresolved(units: Units, C: Float[Array, "n n"], given: int) -> Float[Array, ""]:
    """The width of layers at kinks that no rule resolves: jumps are misplaced by as much."""
    if not any(g.kinks for g, _ in units.runs):
        return jnp.zeros(())
    fields = condition(C, given)
    narrow = jnp.append(fields.s**2 / jnp.diagonal(C)[given:], 1.0)
    coincide = jnp.where(jnp.any(narrow < COINCIDE**2), np.sqrt(PRIVATE), 0.0)
    width = layer(units, C, fields)
    return jnp.where(width < PANELS[-1].narrowest, width, 0.0) + coincide


def _disagreement(terms: Float[Array, "n nodes"], step: float) -> Float[Array, ""]:
    """Between sums over the nodes of a lattice, over points half-way between, and over both."""
    middle, stride = terms.shape[1] // 2, round(step / BASE)
    starts = (middle % stride, (middle + stride // 2) % stride)
    nodes, between = (stride * jnp.sum(terms[:, start::stride], axis=-1) for start in starts)
    total = jnp.sum(terms, axis=-1)
    change = jnp.maximum(jnp.abs(nodes - total), jnp.abs(between - total))
    return jnp.max(change / (total + np.finfo(float).tiny))


def _left_out(t: Float[Array, " rest"], fields: Given, terms: int) -> Float[Array, ""]:
    off = jnp.where(np.eye(len(t), dtype=bool), 0.0, jnp.abs(fields.rho))
    return jnp.max(off ** (terms + 1) * t[:, None] * t, initial=0.0)
