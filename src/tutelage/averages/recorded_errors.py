"""ε_g of many states of units with closed forms, computed in NumPy, which needs no compilation.

    ε_g = Σ_a≤b w_ab ⟨g_a g_b⟩,   w_ab = (1 - δ_ab/2) Σ_c r_ca r_cb

over pairs of fields (`tutelage.averages.generalization`), with ⟨g_a g_b⟩ of `two_point`.  Plain
arithmetic is enough: κ has finite derivatives up to ρ = ±1, so that an average is off by a few
units of the last place of √(C_aa C_bb).
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.averages.generalization import coefficients
from tutelage.averages.two_point import two_point
from tutelage.model import Scenario
from tutelage.model.layout import Layout

# Numbers in one temporary array; larger ones leave the cache.
NUMBERS_PER_BLOCK = 2**16


class FieldPairs(NamedTuple):
    """All pairs of fields a <= b: student and teacher, two students, two teachers.

    a, b: the fields.
    variance_a, variance_b: the pairs (a, a) and (b, b).
    factor: 1 - δ_ab/2.
    """

    a: Int[np.ndarray, " pairs"]
    b: Int[np.ndarray, " pairs"]
    variance_a: Int[np.ndarray, " pairs"]
    variance_b: Int[np.ndarray, " pairs"]
    factor: Float[np.ndarray, " pairs"]


def errors_of_states(
    scenario: Scenario,
    layout: Layout,
    y: Float[np.ndarray, "... d"],
    T: Float[np.ndarray, "... M M"],
) -> Float[np.ndarray, "..."]:
    """Return ε_g of state vectors for the scenario of one run with closed forms."""
    batch, M = y.shape[:-1], scenario.M
    n, m = np.triu_indices(M)
    states, teachers = y.reshape(-1, y.shape[-1]), T[..., n, m]
    teachers = np.broadcast_to(teachers, (*batch, len(n))).reshape(-1, len(n))
    size = max(1, NUMBERS_PER_BLOCK // (layout.size + len(n)))
    errors = [
        _errors(scenario, layout, states[first : first + size], teachers[first : first + size])
        for first in range(0, len(states), size)
    ]
    return np.concatenate([np.zeros(0), *errors]).reshape(batch)


def _errors(
    scenario: Scenario,
    layout: Layout,
    y: Float[np.ndarray, "states d"],
    T: Float[np.ndarray, "states pairs"],
) -> Float[np.ndarray, " states"]:
    K, M = scenario.K, scenario.M
    pairs, g, h = _pairs(K, M), scenario.student.activation, scenario.teacher.activation
    C = np.concatenate([y[:, layout["R"]], y[:, layout["Q"]], T], axis=-1)
    p, q = (np.take(C, which, axis=-1) for which in (pairs.variance_a, pairs.variance_b))
    w = _weights(scenario, layout, y, pairs)
    if scenario.same_activation:
        return np.asarray(np.sum(w * _products((g, g), p, q, C), axis=-1))
    ends = np.cumsum([0, K * M, K * (K + 1) // 2, M * (M + 1) // 2])
    parts = [slice(*ends[k : k + 2]) for k in range(3)]
    units = ((g, h), (g, g), (h, h))
    return np.asarray(
        sum(
            np.sum(w[:, part] * _products(unit, p[:, part], q[:, part], C[:, part]), axis=-1)
            for unit, part in zip(units, parts, strict=True)
        )
    )


@cache
def _pairs(K: int, M: int) -> FieldPairs:
    i, k = np.triu_indices(K)
    n, m = np.triu_indices(M)
    a = np.concatenate([np.repeat(np.arange(K), M), i, K + n])
    b = np.concatenate([np.tile(K + np.arange(M), K), k, K + m])
    own = np.flatnonzero(a == b)
    return FieldPairs(a, b, own[a], own[b], np.where(a == b, 0.5, 1.0))


def _weights(
    scenario: Scenario, layout: Layout, y: Float[np.ndarray, "states d"], pairs: FieldPairs
) -> Float[np.ndarray, "rows pairs"]:
    """w_ab from the readout of the scenario (one row), or from the readouts of the states (one row
    each).
    """
    r = np.asarray(coefficients(scenario, np))[None]
    if any(block.name == "readout" for block in layout.blocks):
        v = -scenario.output_scale[0] * layout.arrays(y)["readout"]
        teachers = np.broadcast_to(r[..., scenario.K :], (len(v), *r.shape[1:-1], scenario.M))
        r = np.concatenate([v, teachers], axis=-1)
    return np.asarray(pairs.factor * np.sum(r[..., pairs.a] * r[..., pairs.b], axis=-2))


def _products(
    units: tuple[Activation, Activation], p: np.ndarray, q: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """⟨g(u) h(w)⟩ of fields with the variances p and q and the covariance c."""
    g, h = map(form_of, units)
    p, q = np.maximum(p, 0.0), np.maximum(q, 0.0)  # below zero by an integration error
    average = two_point(g, h, p, q)
    largest = np.sqrt(p * q)
    inside = np.clip(c, -largest, largest)
    total = average.level + average.linear * c
    for kappa, scale, size in average.curved:
        rho = inside / size
        total = total + scale * kappa(rho)
        if np.any(inside != c):  # outside by an integration error: extrapolate along the tangent
            total = total + scale * kappa(rho, 1) * ((c - inside) / size)
    return np.asarray(total)
