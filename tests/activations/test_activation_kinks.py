"""Kinks are delta functions: g'' as a distribution satisfies Stein's lemma."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from activations.activation_reference import CASES, gaussian_panels, shifted

from tutelage.activations import Activation, LeakyReLU, Linear, ReLU
from tutelage.activations.base import Kink


def gaussian_average(f, breakpoints=()):
    """⟨f(z)⟩ over a standard Gaussian, for f smooth between the breakpoints."""
    z, w = gaussian_panels(breakpoints)
    return float(np.sum(w * np.asarray(f(jnp.asarray(z)))))


def density(z):
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def test_jumps():
    assert ReLU().kinks == (Kink(0.0, 1.0),)
    assert LeakyReLU(0.25).kinks == (Kink(0.0, 0.75),)
    assert Linear().kinks == ()
    ((position, jump),) = shifted().kinks
    # Extrapolated one-sided derivatives: seven roundings.
    assert position == 0.3 and np.isclose(jump, 1.0, rtol=0, atol=1e-14)


def test_derivatives_at_a_kink_are_the_mean_of_both_sides():
    """(x < 0.3 ? x³ : 2x²): g' is 0.27 and 1.2 there, g'' is 1.8 and 4, none of them opposite."""
    g = Activation.from_function(lambda x: jnp.where(x < 0.3, x**3, 2 * x**2), kinks=(0.3,))
    # One-sided derivatives are extrapolated, with seven roundings of them.
    first, second = jax.jit(lambda x: (g.derivative(x), g.second_derivative(x)))(
        np.array([0.3, 0.2, 0.4])
    )
    np.testing.assert_allclose(first[0], (0.27 + 1.2) / 2, rtol=1e-14)
    np.testing.assert_allclose(second[0], (1.8 + 4.0) / 2, rtol=1e-14)
    np.testing.assert_allclose(first[1:], [0.12, 1.6], rtol=1e-15)


def test_smooth_activations_have_no_kinks():
    kinked = {case for case, (g, *_) in CASES.items() if g.kinks}
    assert kinked == {"ReLU", "LeakyReLU(0.1)"}


@pytest.mark.parametrize("case", [*CASES, "shifted"])
@pytest.mark.parametrize("f", [jnp.cos, lambda z: jnp.exp(0.4 * z), lambda z: z**3 - z])
def test_steins_lemma_holds_with_the_delta_part(case, f):
    """⟨g''(z) f(z)⟩ = ⟨g'(z) (z f(z) − f'(z))⟩ for g'' = regular part + Σ jump δ."""
    g = shifted() if case == "shifted" else CASES[case][0]
    steps = [kink.position for kink in g.kinks]
    regular = gaussian_average(lambda z: g.second_derivative(z) * f(z), steps)
    delta = sum(k.jump * density(k.position) * float(f(k.position)) for k in g.kinks)
    slope = jax.vmap(jax.grad(f))
    right = gaussian_average(lambda z: g.derivative(z) * (z * f(z) - slope(z)), steps)
    # Sums of 2000 terms of order 50, the steepest slope.
    assert np.isclose(regular + delta, right, rtol=0, atol=1e-11)


@pytest.mark.parametrize("case", [*CASES, "shifted"])
def test_value_is_the_integral_of_the_derivative(case):
    """⟨z g(z)⟩ = ⟨g'(z)⟩."""
    g = shifted() if case == "shifted" else CASES[case][0]
    steps = [kink.position for kink in g.kinks]
    left = gaussian_average(lambda z: z * g(z), steps)
    assert np.isclose(left, gaussian_average(g.derivative, steps), rtol=0, atol=1e-11)
