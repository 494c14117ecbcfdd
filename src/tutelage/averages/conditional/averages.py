"""Single averages I2, I3 and I4 by conditioning, with a bound on the error."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.activations import Activation
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.derivatives import Average, estimate
from tutelage.averages.conditional.kernel import (
    PRIVATE,
    FieldUnits,
    judged_covariance,
    over_batch,
    product,
    quadratic,
)
from tutelage.averages.conditional.rules import Rule
from tutelage.averages.estimate import Estimate
from tutelage.averages.quadrature import averages as quadrature
from tutelage.model.layout import upper_triangle
from tutelage.runs.stored_jit import stored_jit

# Relative rounding of sums over some thousand nodes.
ROUNDING = 1e-14
# The estimate of the error by another rule has an error itself.
JUDGED = 1.25


def supports(activations: tuple[Activation, ...]) -> bool:
    """Return True: every activation is supported."""
    return True


i3, slopes = quadrature.i3, quadrature.slopes


@stored_jit
def i2(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g(u) h(w)⟩, by conditioning on u; the error is estimated as for `i4`."""
    estimates: Estimate = over_batch(lambda C: _estimate(_product, activations, C, 1), C)
    return estimates


@stored_jit
def i4(activations: tuple[Activation, ...], C: Float[Array, "... 4 4"]) -> Estimate:
    """⟨g_1'(u) g_2'(v) h(w) k(z)⟩, given u and v by Mehler's series for w and z.

    The error is the change with the rule next to the one that was good enough.
    """
    estimates: Estimate = over_batch(lambda C: _estimate(_four_point, activations, C, 2), C)
    return estimates


def _estimate(
    compute: Callable[..., Any], activations: tuple[Activation, ...], C: Array, given: int
) -> Estimate:
    """Average at one covariance as a function of its distinct entries and the units' parameters.

    compute: from units, covariance and rule to the value and what the series leaves out.
    """
    parameters, rest = eqx.partition(activations, eqx.is_array)
    leaves, structure = jax.tree.flatten(parameters)

    def problem(c: Array, *leaves: Array) -> tuple[FieldUnits, Array]:
        units = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
        return FieldUnits(tuple((g, 1) for g in units)), c[upper_triangle(len(C))]

    def judged(*numbers: Array) -> Estimate:
        units, C = problem(*numbers)
        return _judged(units, C, given, partial(compute, units))

    def alone(*numbers: Array) -> Array:
        units, C = problem(*numbers)
        choice, survey = effort.Choice(units, given, wanted=effort.SINGLE), effort.survey(units, C)
        value: Array = effort.with_rule(choice, C, survey, lambda rule: compute(units, C, rule)[0])
        return value

    entries = (0.5 * (C + C.T))[np.triu_indices(len(C))]
    averaged: Estimate = estimate((entries, *leaves), average=Average(judged, alone))
    return averaged


def _product(units: FieldUnits, C: Float[Array, "2 2"], rule: Rule) -> tuple[Array, Array]:
    return product(units, C, rule), jnp.zeros(())


def _four_point(units: FieldUnits, C: Float[Array, "4 4"], rule: Rule) -> tuple[Array, Array]:
    (g1, _), (g2, _), *_ = units.runs
    weights_of_pair = 0.5 * jnp.zeros((4, 4)).at[2, 3].set(1.0).at[3, 2].set(1.0)

    def slopes(x: Float[Array, "2 p"]) -> Float[Array, " p"]:
        return g1.derivative(x[0]) * g2.derivative(x[1])

    return quadratic(slopes, units, C, weights_of_pair, 0.0, 2, rule)


def square(
    units: FieldUnits, Gamma: Float[Array, "n n"], C: Float[Array, "n n"], rule: Rule
) -> tuple[Array, Array]:
    """⟨Σ_ab Γ_ab g_a(f_a) g_b(f_b)⟩ given the first field, and the truncation error of the series.

    Where fields coincide that is less than its bound by far; `i2` of all pairs has a better one.
    """
    return quadratic(lambda x: jnp.ones(x.shape[1]), units, C, Gamma, 0.0, 1, rule)


def _judged(
    units: FieldUnits, C: Float[Array, "n n"], given: int, compute: Callable[..., tuple[Any, Any]]
) -> Estimate:
    """Compute an average; its error is the change with a second rule plus truncation errors.

    compute: maps a covariance and a rule to the value and the truncation error of the series.
    """
    choice, survey = effort.Choice(units, given, wanted=effort.SINGLE), effort.survey(units, C)

    def with_rule(judge: Int[Array, ""]) -> tuple[Array, Array]:
        noisy = judged_covariance(C, judge.astype(float))
        value, left_out = effort.with_rule(choice, C, survey, partial(compute, noisy), judge)
        return value, left_out

    (value, other), (left_out, _) = jax.lax.map(with_rule, jnp.arange(2))
    error = JUDGED * jnp.abs(value - other) + left_out + ROUNDING * jnp.abs(value)
    error = error + (effort.unresolved(units, C, given) + PRIVATE) * jnp.abs(value)
    return Estimate(value, jax.lax.stop_gradient(error) + np.finfo(float).eps)
