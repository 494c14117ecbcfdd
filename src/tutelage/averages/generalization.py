"""The generalization error: how wrong the student is on average."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import is_traced
from tutelage._door import door
from tutelage._jax import as_data, jnp
from tutelage.activations import Activation
from tutelage.averages import Estimate, Method
from tutelage.averages.door import average
from tutelage.averages.methods import chosen
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits


@door
def generalization_error(
    scenario: Scenario,
    overlaps: Overlaps,
    *,
    method: Method | str | None = None,
    return_error: bool = False,
) -> Any:
    """ε_g = ½⟨(σ - τ)²⟩, without the label noise.

    ε_g = ½ [s_K² Σ_ij I2(x_i, x_j) - 2 s_K s_M Σ_in I2(x_i, y_n) + s_M² Σ_nm I2(y_n, y_m)]

    (oostwal2019 eq. (25), there with s = 1/√K).

    Args:
        scenario: who learns from whom.
        overlaps: Q, R and T, with any leading axes; T has to be the scenario's.
        method, return_error: as in `tutelage.averages.i2`.

    Returns:
        ε_g, of the shape of the leading axes; with ``return_error`` an `Estimate`.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> start = tl.Overlaps(Q=[[1.0]], R=[[0.0]], T=[[1.0]])
    >>> print(f"{tl.generalization_error(tl.Scenario(one, one), start):.12f}")
    0.333333333333
    """
    check_fits("overlaps", scenario, overlaps)
    methods = _methods(scenario, method)
    if is_traced((scenario, overlaps)):
        estimate = _error(scenario, overlaps, methods)
    else:
        estimate = _compiled(as_data(scenario), overlaps, methods)
    return estimate if return_error else estimate.value


def is_exact(scenario: Scenario) -> bool:
    """Whether ε_g is known in closed form."""
    return all(method.exact for method in _methods(scenario))


def _methods(scenario: Scenario, method: Method | str | None = None) -> tuple[Method, ...]:
    """For the pairs of two students, a student and a teacher, two teachers."""
    g, h = scenario.student.activation, scenario.teacher.activation
    return tuple(chosen(method, pair) for pair in ((g, g), (g, h), (h, h)))


def _error(scenario: Scenario, overlaps: Overlaps, methods: tuple[Method, ...]) -> Estimate:
    C = overlaps.covariance
    (s_K, s_M), K = scenario.output_scale, scenario.K
    students, teachers = range(K), range(K, K + scenario.M)
    g, h = scenario.student.activation, scenario.teacher.activation
    blocks = [
        ((g, g), students, students, 0.5 * s_K * s_K),
        ((g, h), students, teachers, -1.0 * s_K * s_M),
        ((h, h), teachers, teachers, 0.5 * s_M * s_M),
    ]
    if scenario.alike:  # one batch instead of three: a third of the compilation
        return _sum((g, g), C, [block[1:] for block in blocks], methods[0])
    terms = [_sum(block[0], C, [block[1:]], m) for block, m in zip(blocks, methods, strict=True)]
    return Estimate(sum(term.value for term in terms), sum(term.error for term in terms))


def coefficients(scenario: Scenario) -> Float[Array, " n"]:
    """c_a of the fields in τ - σ = Σ_a c_a g_a(f_a): -s_K for students, s_M for teachers."""
    s_K, s_M = (jnp.asarray(s, dtype=jnp.float64) for s in scenario.output_scale)
    return jnp.concatenate([jnp.full(scenario.K, -s_K), jnp.full(scenario.M, s_M)])


def _sum(
    activations: tuple[Activation, Activation],
    C: Float[Array, "... n n"],
    blocks: list[tuple[range, range, Any]],
    method: Method,
) -> Estimate:
    """Σ factor · I2 over all pairs of a field of the first range and one of the second."""
    i, j = (np.concatenate([pair[k] for pair in map(_pairs, blocks)]) for k in (0, 1))
    factors = jnp.concatenate([jnp.full(len(b[0]) * len(b[1]), b[2]) for b in blocks])
    pairs = jnp.stack([C[..., i, i], C[..., i, j], C[..., i, j], C[..., j, j]], axis=-1)
    estimate = average("i2", activations, pairs.reshape(*pairs.shape[:-1], 2, 2), method)
    return Estimate(
        jnp.sum(factors * estimate.value, axis=-1),
        jnp.sum(jnp.abs(factors) * estimate.error, axis=-1),
    )


def _pairs(block: tuple[range, range, Any]) -> list[np.ndarray]:
    return [x.ravel() for x in np.meshgrid(block[0], block[1], indexing="ij")]


_compiled = eqx.filter_jit(_error)
