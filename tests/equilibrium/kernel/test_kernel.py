"""Kernels: closed forms, series and quadrature of the same averages agree."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import mp

import tutelage as tl
from tutelage._checks import InputError
from tutelage.equilibrium.kernel.kernel import kernel_of

NAMES = ("value", "first", "second", "third")
SMOOTH = [tl.Tanh(), tl.Sigmoid(), tl.Softplus(), tl.Swish(), tl.Swish(0.1), tl.GELU()]
EXACT = [tl.ReLU(), tl.LeakyReLU(0.3), tl.Linear(), tl.Erf(), tl.Erf(1.0)]
RHO = np.array([-1.0, -0.83, -0.2, 0.0, 1e-3, 0.4, 0.97, 1.0])


def hard_tanh() -> tl.Activation:
    return tl.Activation.from_function(lambda x: jnp.clip(x, -1, 1), kinks=(-1, 1), parity="odd")


@pytest.mark.parametrize(
    "g",
    [*EXACT, *(pytest.param(g, marks=pytest.mark.slow) for g in SMOOTH)],
    ids=lambda g: g.name,
)
def test_the_kernel_is_the_average_i2_at_unit_norm(g):
    C = np.array([[[1, r], [r, 1]] for r in RHO])
    exact = tl.averages.i2(g, C, return_error=True)
    difference = np.abs(kernel_of(g).value(RHO) - np.asarray(exact.value))
    assert np.all(difference <= np.asarray(exact.error) + 1e-14)


@pytest.mark.parametrize("g", [*EXACT[:-1], *SMOOTH], ids=lambda g: g.name)
def test_each_derivative_is_the_derivative_of_the_one_before(g):
    kernel, h = kernel_of(g), 1e-3
    rho = np.array([-0.6, 0.0, 0.1, 0.31, 0.7])
    for lower, upper in itertools.pairwise(NAMES):
        f = getattr(kernel, lower)
        # Eighth order: the error is h⁸ times a ninth derivative, which is below 10⁷ here.
        weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
        slope = (
            sum(w * (f(rho + j * h) - f(rho - j * h)) for j, w in enumerate(weights, start=1)) / h
        )
        assert np.allclose(slope, getattr(kernel, upper)(rho), rtol=1e-10, atol=1e-11)


@pytest.mark.slow
def test_a_relu_by_series_and_quadrature_is_the_closed_form_up_to_both_ends():
    series = kernel_of(tl.Activation.from_function(lambda x: jnp.maximum(x, 0.0), kinks=(0.0,)))
    closed = kernel_of(tl.ReLU())
    rho = np.array([-1.0, -0.9999, -0.992, -0.5, 1e-6, 0.2, 0.5, 0.99, 0.992, 0.9999, 1 - 1e-8, 1])
    for name in ("value", "tilde", "first", "tilde_first"):
        assert np.allclose(getattr(series, name)(rho), getattr(closed, name)(rho), 1e-13, 1e-14)
    inside = rho[1:-2]
    for name in ("second", "third"):
        assert np.allclose(getattr(series, name)(inside), getattr(closed, name)(inside), 1e-12)


@pytest.mark.slow
def test_the_second_moment_of_units_with_kinks_and_of_steep_ones_is_exact():
    phi = mp.npdf(1)
    inside, outside = mp.erf(1 / mp.sqrt(2)) - 2 * phi, mp.erfc(1 / mp.sqrt(2))
    assert abs(kernel_of(hard_tanh()).value(1.0) - float(inside + outside)) < 1e-14
    assert abs(kernel_of(hard_tanh()).first(1.0) - float(mp.erf(1 / mp.sqrt(2)))) < 1e-13
    edges = [s * 10.0**-k for s in (-1, 1) for k in range(-1, 5)]
    square = mp.quad(lambda x: (x / (1 + mp.exp(-100 * x))) ** 2 * mp.npdf(x), sorted([*edges, 0]))
    assert abs(kernel_of(tl.Swish(100.0)).value(1.0) - float(square)) < 1e-14


@pytest.mark.parametrize("g", [tl.ReLU(), tl.Swish(), tl.Erf(), tl.Tanh()], ids=lambda g: g.name)
def test_nothing_cancels_at_small_correlations(g):
    kernel = kernel_of(g)
    c2, c3 = kernel.squares(3)[2:]
    rho = 1e-7
    leading = c2 * rho**2 + c3 * rho**3
    assert abs(kernel.tilde(rho) / leading - 1) < 1e-12
    assert abs(kernel.tilde_first(rho) / (2 * c2 * rho + 3 * c3 * rho**2) - 1) < 1e-12


@pytest.mark.parametrize("g", [*EXACT, *SMOOTH, tl.Swish(8.0)], ids=lambda g: g.name)
def test_squares_are_those_of_the_hermite_coefficients(g):
    c = g.hermite(12)
    squares = kernel_of(g).squares(12)
    bound = 2 * np.abs(np.asarray(c.values)) * np.asarray(c.error) + 1e-15
    assert np.all(np.abs(squares - np.asarray(c.values) ** 2) <= bound)


def test_an_activation_without_second_moment_is_refused():
    explosive = tl.Activation.from_function(lambda x: jnp.exp(x**2 / 4), name="explosive")
    with pytest.raises(InputError, match=r"activation: got explosive.*second moment"):
        kernel_of(explosive)
    with pytest.raises(InputError, match="has to be an Activation"):
        kernel_of("relu")


@pytest.mark.parametrize("omega", [1.0, 8.0])
def test_a_sine_has_the_kernel_of_a_hyperbolic_one(omega):
    """⟨sin(ωu) sin(ωw)⟩ = exp(-ω²) sinh(ω²ρ): of ω = 8 less than 1e-13 at ρ = 1/2."""
    rho = np.array([-1.0, -0.5, 0.5, 0.9, 1.0])
    kernel = kernel_of(tl.Activation.from_function(lambda x: jnp.sin(omega * x)))
    size = (np.exp(omega**2 * (np.abs(rho) - 1)) - np.exp(-(omega**2) * (np.abs(rho) + 1))) / 2
    # c_n are known to ε: Σ 2ε c_n ρⁿ is at most 2ε (κ Σρⁿ)^½; and ρⁿ to nε, n about ω².
    epsilon = float(np.finfo(float).eps)
    noise = epsilon * (2 * np.sqrt(size / (1.001 - np.abs(rho))) + 4 * omega**2 * size)
    assert np.all(np.abs(kernel.value(rho) - np.sign(rho) * size) < noise)


@pytest.mark.parametrize(
    ("omega", "reason"),
    [
        (9.0, "oscillates so fast"),
        (100.0, "oscillates so fast"),
        (1000.0, "<g²> has a relative error"),
    ],
)
def test_sines_that_cannot_be_resolved_are_refused(omega, reason):
    fast = tl.Activation.from_function(lambda x: jnp.sin(omega * x))
    with pytest.raises(InputError, match=f"activation: got .*{reason}.*(smaller|lower)"):
        tl.equilibrium.transitions(fast, math.inf)


def test_correlations_beyond_one_are_refused():
    with pytest.raises(InputError, match=r"rho: got -1\.2.*between -1 and 1"):
        kernel_of(tl.ReLU()).value([0.5, -1.2])
