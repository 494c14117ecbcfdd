"""ε_g of many states of units with closed forms, computed in NumPy, which needs no compilation.

    ε_g = Σ_a≤b w_ab ⟨g_a g_b⟩,   w_ab = (1 - δ_ab/2) Σ_c r_ca r_cb

over pairs of fields (`tutelage.averages.generalization`), with ⟨g_a g_b⟩ of `two_point`.  Plain
arithmetic is enough: κ has finite derivatives up to ρ = ±1, so that an average is off by a few
units of the last place of √(C_aa C_bb).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage._jax import jax, jnp, match_rank, ordered_sum
from tutelage._types import AnyArray, ArrayModule
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.averages.generalization import coefficients
from tutelage.averages.two_point import erf_kernel, modulus_kernel, two_point
from tutelage.model import Scenario
from tutelage.model.layout import Layout, upper_pairs

# Numbers in one temporary array.  The C library returns arrays of 128 kB to the system after each
# use: with them, 401 errors of eight units take 2.5 ms instead of 0.9.
NUMBERS_PER_BLOCK = 15 * 2**10
# Where a kernel κ(ρ) ends, and its slope at +end, if overlaps come that close: for κ of erf only
# at norms far above 1.
ENDS = {erf_kernel: (2.0, 0.0), modulus_kernel: (1.0, 1.0)}


# Pairs of fields by their places, and their units.
Group = tuple[slice, tuple[Activation, Activation]]


class FieldPairs(NamedTuple):
    """All pairs of fields a <= b: student and teacher, two students, two teachers.

    a, b: the fields.
    variances: the places of the pairs (a, a).
    factor: 1 - δ_ab/2.
    mixed, of_students, of_teachers: the places of the three kinds of pairs.
    """

    a: Int[np.ndarray, " pairs"]
    b: Int[np.ndarray, " pairs"]
    variances: Int[np.ndarray, " fields"]
    factor: Float[np.ndarray, " pairs"]
    mixed: slice
    of_students: slice
    of_teachers: slice


def errors_of_states(
    scenario: Scenario,
    layout: Layout,
    y: Float[np.ndarray, "... d"],
    T: Float[np.ndarray, "... M M"],
) -> Float[np.ndarray, "..."]:
    """Return ε_g of state vectors for the scenario of one run with closed forms, by NumPy."""
    batch = y.shape[:-1]
    same_teachers = not any(T.strides[:-2])  # as in an array that was broadcast
    if same_teachers:
        T = T[(0,) * (T.ndim - 2)]
    states, teachers = y.reshape(-1, y.shape[-1]), _independent(T, y)
    teachers = teachers.reshape(-1, teachers.shape[-1])
    of_teachers, others = _groups(scenario)
    w = None if _learns(layout) else _weights(scenario, layout, y, np)
    constant = 0.0
    if same_teachers and len(states):
        constant = _errors(scenario, layout, states[:1], teachers[:1], np, of_teachers, w)
    groups = others if same_teachers else others + of_teachers
    size = max(1, NUMBERS_PER_BLOCK // layout.size)
    blocks = (slice(first, first + size) for first in range(0, len(states), size))
    errors = [
        _errors(scenario, layout, states[block], teachers[block], np, groups, w) + constant
        for block in blocks
    ]
    return np.concatenate(errors or [np.zeros(0)]).reshape(batch)


def errors_inside_a_program(
    scenario: Scenario,
    layout: Layout,
    y: Float[AnyArray, "... d"],
    T: Float[AnyArray, "... M M"],
) -> Float[jax.Array, "..."]:
    """Return ε_g of state vectors for the scenario of one run with closed forms, by JAX."""
    y = jnp.asarray(y)
    of_teachers, others = _groups(scenario)
    groups = others + of_teachers
    if scenario.same_activation:  # one group is compiled in less time
        groups = [(slice(None), groups[0][1])]
    errors: jax.Array = _errors(scenario, layout, y, _independent(T, y), jnp, groups)
    return errors


def _independent(T: Float[AnyArray, "... M M"], y: Float[AnyArray, "... d"]) -> AnyArray:
    """Return T_nm for n <= m, with the leading axes of y."""
    n, m = upper_pairs(T.shape[-1])
    xp = y.__array_namespace__()
    return xp.broadcast_to(xp.asarray(T)[..., n, m], (*y.shape[:-1], len(n)))


def _errors(
    scenario: Scenario,
    layout: Layout,
    y: Float[AnyArray, "... d"],
    T: Float[AnyArray, "... pairs"],
    xp: ArrayModule,
    groups: list[Group],
    w: Float[AnyArray, "... all_pairs"] | None = None,
) -> Any:
    """Return the part of ε_g of some groups of pairs.

    w: their weights, if all states have the same.
    """
    pairs = _pairs(scenario.K, scenario.M)
    C = xp.concatenate([y[..., layout["R"]], y[..., layout["Q"]], T], axis=-1)
    variances = xp.maximum(C[..., pairs.variances], 0.0)  # below zero by an integration error
    w = match_rank(_weights(scenario, layout, y, xp) if w is None else w, C)
    total = 0.0
    for part, units in groups:
        p, q = variances[..., pairs.a[part]], variances[..., pairs.b[part]]
        products = _products(units, p, q, C[..., part], xp)
        products *= w[..., part]
        total = total + ordered_sum(products, axis=-1)
    return total


def _groups(scenario: Scenario) -> tuple[list[Group], list[Group]]:
    """Return the groups of pairs with equal units: pairs of teachers, which are often the same in
    all states, and the other pairs.
    """
    pairs, same = _pairs(scenario.K, scenario.M), scenario.same_activation
    g, h = scenario.student.activation, scenario.teacher.activation
    if same:
        others = [(slice(0, pairs.of_students.stop), (g, g))]
    else:
        others = [(pairs.mixed, (g, h)), (pairs.of_students, (g, g))]
    return [(pairs.of_teachers, (h, h))], others


@cache
def _pairs(K: int, M: int) -> FieldPairs:
    i, k = np.triu_indices(K)
    n, m = np.triu_indices(M)
    a = np.concatenate([np.repeat(np.arange(K), M), i, K + n])
    b = np.concatenate([np.tile(K + np.arange(M), K), k, K + m])
    own = np.flatnonzero(a == b)
    ends = np.cumsum([0, K * M, len(i), len(n)]).tolist()
    kinds = (slice(*ends[kind : kind + 2]) for kind in range(3))
    return FieldPairs(a, b, own, np.where(a == b, 0.5, 1.0), *kinds)


def _weights(
    scenario: Scenario,
    layout: Layout,
    y: Float[AnyArray, "... d"],
    xp: ArrayModule,
) -> Float[AnyArray, "... pairs"]:
    """w_ab from the readout of the scenario, or from the readouts of the states."""
    pairs, r = _pairs(scenario.K, scenario.M), xp.asarray(coefficients(scenario, xp))
    if _learns(layout):
        v = -scenario.output_scale[0] * layout.arrays(y)["readout"]
        teachers = xp.broadcast_to(r[..., scenario.K :], (*v.shape[:-1], scenario.M))
        r = xp.concatenate([v, teachers], axis=-1)
    products = ordered_sum(r[..., pairs.a] * r[..., pairs.b], axis=-2)
    weights: AnyArray = match_rank(pairs.factor, products) * products
    return weights


def _learns(layout: Layout) -> bool:
    """Return whether states have the readout of a second layer that learns."""
    return any(block.name == "readout" for block in layout.blocks)


def _products(
    units: tuple[Activation, Activation],
    p: AnyArray,
    q: AnyArray,
    c: AnyArray,
    xp: ArrayModule,
) -> AnyArray:
    """⟨g(u) h(w)⟩ of fields with the variances p and q and the covariance c."""
    g, h = map(form_of, units)
    average = two_point(g, h, p, q)
    total = average.linear * c
    total += average.level  # in place, in NumPy: new arrays cost as much as the additions
    for kappa, scale, size in average.curved:
        rho, (end, slope) = c / size, ENDS[kappa]
        if xp is np and np.max(np.abs(rho), initial=0.0) <= end:
            value = kappa(rho)
        else:
            inside = xp.clip(rho, -end, end)
            value = kappa(inside)
            if slope:  # outside by an integration error: extrapolate along the tangent
                value += slope * xp.abs(rho - inside)
        value *= scale
        total += value
    return total
