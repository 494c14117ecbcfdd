"""Errors of numerical coefficients are at least as large as the true error, and small."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from activations.activation_reference import (
    CASES,
    NUMERICAL,
    coefficients,
    gaussian_panels,
    shifted,
    shifted_mp,
)

from tutelage.activations import Activation

VARIANCES = [1e-6, 1.0, 100.0]


def true_errors(g, g_mp, q, kinks=()):
    """True and claimed errors of c_0 … c_21."""
    c = g.hermite(21, q)
    exact = coefficients(g_mp, q, kinks)
    true = [float(abs(mp.mpf(float(v)) - e)) for v, e in zip(c.values, exact, strict=True)]
    return np.array(true), np.asarray(c.error)


@pytest.mark.parametrize("case", NUMERICAL)
@pytest.mark.parametrize("q", VARIANCES)
def test_error_does_not_understate_and_is_small(case, q):
    g, g_mp, _ = CASES[case]
    true, claimed = true_errors(g, g_mp, q)
    # Zeros known by symmetry claim no error: those of the reference are zero to 30 digits.
    assert np.all(true <= claimed + 1e-25)
    # (8 + n)ε‖g‖ for n = 21, ‖g‖ ≤ 1 + √q
    assert np.all(claimed <= 1e-14 * (1 + np.sqrt(q)))


@pytest.mark.parametrize(
    "q", [pytest.param(q, marks=[pytest.mark.slow] * (q != 1.0)) for q in VARIANCES]
)
def test_error_of_a_function_with_a_kink_away_from_zero(q):
    true, claimed = true_errors(shifted(), shifted_mp, q, kinks=(0.3,))
    assert np.all(true <= claimed) and np.all(claimed <= 1e-14 * (1 + np.sqrt(q)))


class Step(eqx.Module):
    """tanh β(x − centre)."""

    beta: jax.Array
    centre: jax.Array

    def __call__(self, x):
        return jnp.tanh(self.beta * (x - self.centre))


@pytest.mark.parametrize(
    "centre",
    [0.13, 1.0, *(pytest.param(c, marks=pytest.mark.slow) for c in (0.5, 0.71, 1.37, 2.2))],
)
@pytest.mark.parametrize("beta", [3.0, 10.0, 40.0, 200.0, 1000.0])
def test_the_error_is_large_where_panels_do_not_resolve_the_function(centre, beta):
    """A step away from zero that was not declared is not resolved, and the error is as large."""
    step = Step(jnp.asarray(beta), jnp.asarray(centre))
    q = np.array([0.5, 1.0, 2.0])
    c = Activation.from_function(step, "step").hermite(12, q)
    factorials = np.cumprod([1.0, *range(1, 13)])
    for k, s in enumerate(np.sqrt(q)):
        fan = centre / s + np.outer([-1, 1], 0.5 ** np.arange(14)).ravel()
        z, w = gaussian_panels(fan)
        h = np.polynomial.hermite_e.hermevander(z, 12) / np.sqrt(factorials)
        exact = (w * np.asarray(step(s * z))) @ h
        # 1e-13: sums of 2500 terms in the reference.
        assert np.all(np.abs(c.values[k] - exact) <= c.error[k] + 1e-13)


@pytest.mark.slow
def test_declared_step_agrees_with_mpmath():
    g = Activation.from_function(lambda x: jnp.tanh(40 * (x - 0.5)), "steep", kinks=(0.5,))
    true, claimed = true_errors(g, lambda x: mp.tanh(40 * (x - mp.mpf(0.5))), 2.0, kinks=(0.5,))
    assert np.all(true <= claimed) and np.all(claimed <= 1e-14)


def test_growth_beyond_the_interval_is_in_the_error():
    """⟨exp(√q z)⟩ = exp(q/2); at q = 100 its weight sits at z = 10 and part of it is cut off."""
    g = Activation.from_function(jnp.exp, "exp")
    for q in (1.0, 9.0, 25.0, 64.0, 100.0, 225.0):
        c = g.hermite(4, q)
        exact = [np.exp(q / 2) * q ** (n / 2) / np.sqrt(float(mp.factorial(n))) for n in range(5)]
        assert np.all(np.abs(c.values - np.array(exact)) <= c.error)
    assert np.all(g.hermite(4, 1.0).error < 1e-13)


def spike(x):
    """A bump of width 1/300 between the nodes of all rules."""
    return jnp.exp(-((300 * (x + 1.1962907287314555)) ** 2) / 2)


def spike_mean(q):
    """⟨exp(−β²(√q z − m)²/2)⟩ = exp(−m²β²/2v)/√v, v = 1 + β²q."""
    v = 1 + 300**2 * q
    return np.exp(-((1.1962907287314555 * 300) ** 2) / (2 * v)) / np.sqrt(v)


@pytest.mark.parametrize(
    "kinks",
    [
        pytest.param((), marks=pytest.mark.xfail(reason="a rule cannot see between its nodes")),
        (-1.1962907287314555,),
    ],
)
def test_a_spike_is_seen_where_it_is_declared(kinks):
    q = 0.9644749436456154
    c = Activation.from_function(spike, kinks=kinks).hermite(3, q)
    assert abs(c.values[0] - spike_mean(q)) <= c.error[0] <= 1e-14
