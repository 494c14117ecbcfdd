"""The generalization error: half the mean squared error of the student on a new input."""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import is_traced
from tutelage._jax import jnp, match_rank, numbers_to_arrays, ordered_sum, small_product
from tutelage._types import AnyArray, ArrayModule
from tutelage.activations import Activation
from tutelage.averages import Estimate, Method
from tutelage.averages.api import average
from tutelage.averages.methods import chosen
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.model.teachers import decorrelates
from tutelage.runs.stored_jit import stored_jit


@validated
def generalization_error(
    scenario: Scenario,
    overlaps: Overlaps,
    *,
    method: Method | str | None = None,
    return_error: bool = False,
) -> Any:
    """ε_g = ½ Σ_c ⟨(σ_c - τ_c)²⟩, without the label noise.

    ε_g = ½ Σ_c Σ_ab r_ca r_cb I2(a, b) over all fields,   r_c = (-s_K v_c, s_M v*_c)

    (oostwal2019 eq. (25), there with v = v* = 1 and s = 1/√K).

    Args:
        scenario: student and teacher.
        overlaps: Q, R and T, with any leading axes; T has to equal the scenario's, except for
            drifting teachers that are not orthogonal, whose T changes with time.
        method, return_error: as in `tutelage.averages.i2`.

    Returns:
        ε_g, of the shape of the leading axes; with ``return_error`` an `Estimate`.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> start = tl.Overlaps(Q=[[1.0]], R=[[0.0]], T=[[1.0]])
    >>> print(f"{tl.generalization_error(tl.Scenario(one, one), start):.12f}")
    0.333333333333
    """
    time_dependent_T = decorrelates(scenario.drift, scenario.T)
    check_fits("overlaps", scenario, overlaps, any_teacher=time_dependent_T, time_dependent_T=True)
    methods = _methods(scenario, method)
    if is_traced((scenario, overlaps)):
        estimate = _error(scenario, overlaps, methods)
    else:
        estimate = _compiled(numbers_to_arrays(scenario), overlaps, methods)
    return estimate if return_error else estimate.value


def is_exact(scenario: Scenario) -> bool:
    """Return whether ε_g is known in closed form."""
    return all(method.exact for method in _methods(scenario))


def _methods(scenario: Scenario, method: Method | str | None = None) -> tuple[Method, ...]:
    """Return the methods for pairs of two students, a student and a teacher, two teachers."""
    g, h = scenario.student.activation, scenario.teacher.activation
    return tuple(chosen(method, pair) for pair in ((g, g), (g, h), (h, h)))


def _error(scenario: Scenario, overlaps: Overlaps, methods: tuple[Method, ...]) -> Estimate:
    r, K = coefficients(scenario), scenario.K
    weights = 0.5 * small_product(jnp.swapaxes(r, -1, -2), r)
    students, teachers = range(K), range(K, K + scenario.M)
    every = [(students, students, 1.0), (students, teachers, 2.0), (teachers, teachers, 1.0)]
    C, estimate = overlaps.covariance, []
    for units, blocks, method in _batches(scenario, every, methods):
        i, j, factor = _pairs(blocks)
        estimates, w = _products(units, C, i, j, method), weights[..., i, j]
        w = match_rank(match_rank(factor, w) * w, estimates.value)
        value = ordered_sum(w * estimates.value, axis=-1)
        estimate.append(Estimate(value, ordered_sum(jnp.abs(w) * estimates.error, axis=-1)))
    return Estimate(*(sum(parts) for parts in zip(*estimate, strict=True)))


def products(
    scenario: Scenario, overlaps: Overlaps, method: Method | str | None = None
) -> Float[Array, "... K n"]:
    """⟨g(x_i) g_a(f_a)⟩ of every student with all fields, students first."""
    g, h, K = scenario.student.activation, scenario.teacher.activation, scenario.K
    n = K + scenario.M
    spans = [range(n)] if scenario.same_activation else [range(K), range(K, n)]
    columns = []
    for units, span, way in zip(((g, g), (g, h)), spans, _methods(scenario, method), strict=False):
        i, j = (x.ravel() for x in np.meshgrid(range(K), span, indexing="ij"))
        values = _products(units, overlaps.covariance, i, j, way).value
        columns.append(values.reshape(*values.shape[:-1], K, len(span)))
    return jnp.concatenate(columns, axis=-1)


def coefficients(scenario: Scenario, xp: ArrayModule = jnp) -> Float[AnyArray, "outputs n"]:
    """r_ca of the fields in τ_c - σ_c = Σ_a r_ca g_a(f_a): -s_K v_ci and s_M v*_cn.

    xp: the module of arrays, `jax.numpy` or `numpy`, which has nothing to compile.
    """
    s_K, s_M = scenario.output_scale
    v, teachers = (
        xp.ones((1, c.units)) if c.readout is None else xp.asarray(c.readout)
        for c in (scenario.student, scenario.teacher)
    )
    r: Array = xp.concatenate([-s_K * v, s_M * teachers], axis=-1)
    return r


def couplings(scenario: Scenario, xp: ArrayModule = jnp) -> Float[AnyArray, "K n"]:
    """G_ia of the signals δ_i = g'(x_i) Σ_a G_ia g_a(f_a): [-vᵀv | vᵀv*] with their scales.

    Those are the matrices -B and A of tian2020, eq. (5).  Noise of variance ς² on every output
    adds ς² (vᵀv)_ik = -ς² G_ik to the square of what multiplies g'(x_i) g'(x_k).
    """
    r = coefficients(scenario, xp)
    G: Array = -small_product(xp.swapaxes(r[..., : scenario.K], -1, -2), r)
    return G


Block = tuple[range, range, float]
Batch = tuple[tuple[Activation, Activation], list[Block], Method]


def _batches(scenario: Scenario, blocks: list[Block], methods: tuple[Method, ...]) -> list[Batch]:
    """Group blocks with equal activations: one batch compiles in a third of the time of three."""
    g, h = scenario.student.activation, scenario.teacher.activation
    if scenario.same_activation:
        return [((g, g), blocks, methods[0])]
    units = ((g, g), (g, h), (h, h))
    return [(u, [b], m) for u, b, m in zip(units, blocks, methods, strict=False)]


def _products(
    activations: tuple[Activation, Activation],
    C: Float[Array, "... n n"],
    i: np.ndarray,
    j: np.ndarray,
    method: Method,
) -> Estimate:
    """Compute I2 of the fields i with the fields j."""
    pairs = jnp.stack([C[..., i, i], C[..., i, j], C[..., i, j], C[..., j, j]], axis=-1)
    return average("i2", activations, pairs.reshape(*pairs.shape[:-1], 2, 2), method)


def _pairs(blocks: list[Block]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and factors of all pairs of fields, block by block."""
    triples = [(i, j, factor) for rows, columns, factor in blocks for i in rows for j in columns]
    i, j, factors = zip(*triples, strict=True)
    return np.array(i), np.array(j), np.array(factors)


_compiled = stored_jit(_error)
