"""Lanczos and the functions that use it, against dense matrices of known spectra."""

from functools import partial

import equinox as eqx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tutelage as tl
from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.spectra import (
    Classifier,
    density,
    examples,
    extreme_eigenvalues,
    extremes,
    hessian_eigenvalues,
    spectral_mean,
)
from tutelage.spectra.hessian import flattened
from tutelage.spectra.lanczos import quadrature, tridiagonal
from tutelage.spectra.objective import Loss


def rotated(λ, seed=0):
    """A symmetric matrix with these eigenvalues, and the loss ½ xᵀHx whose Hessian it is."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(λ), len(λ))))[0]
    return Quadratic(jnp.asarray(Q * λ @ Q.T))


class Quadratic(eqx.Module):
    H: jax.Array

    def __call__(self, x):
        return 0.5 * x @ self.H @ x


@partial(jax.jit, static_argnums=2)
def nodes_of(H, v, steps):
    return quadrature(tridiagonal(lambda x: H @ x, v, steps))


λ300 = np.sort(np.r_[np.random.default_rng(1).normal(size=290), np.linspace(-8, 12, 10)])
BULK = rotated(λ300)


@pytest.fixture(scope="module")
def network():
    """A small classifier after a few steps: 241 parameters, on 60 points of three classes."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    points = examples(random.normal(size=(60, 4)) + 2 * y[:, None] * [1, 0, -1, 0.5], y)
    classifier = Classifier((4, 20, 6, 3), tl.Swish())
    loss = Loss(classifier, jnp.asarray(points.inputs), jnp.asarray(points.labels))
    return loss, classifier.initial(jax.random.key(0))


@pytest.mark.parametrize("steps", [3, 12])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_lanczos_vectors_give_moments_exactly_up_to_twice_the_steps(steps, seed):
    """vᵀHᵏv = Σ w θᵏ for k < 2 steps: what Gauss quadrature promises."""
    random = np.random.default_rng(seed)
    A = random.normal(size=(12, 12))
    H = (A + A.T) / np.sqrt(48)
    v = random.normal(size=12)
    v /= np.linalg.norm(v)
    θ, w = nodes_of(jnp.asarray(H), jnp.asarray(v), steps)
    for k in range(2 * steps):
        exact = v @ np.linalg.matrix_power(H, k) @ v
        # |λ| is below 1.5 here: rounding of some hundred operations of that to the power k.
        assert abs(float(jnp.sum(w * θ**k)) - exact) < 1e-13 * 1.5**k


def test_an_exhausted_krylov_space_has_no_further_weight():
    """Three eigenvalues, however often: three nodes."""
    H = jnp.diag(jnp.asarray(np.repeat([1.0, 2.0, 5.0], 10)))
    θ, w = quadrature(tridiagonal(lambda x: H @ x, jnp.ones(30), 8))
    seen = np.asarray(w) > 1e-12
    np.testing.assert_allclose(np.asarray(θ)[seen], [1.0, 2.0, 5.0], atol=1e-13)
    np.testing.assert_allclose(np.asarray(w)[seen], 1 / 3, atol=1e-13)


def test_extreme_eigenvalues_are_those_of_the_dense_matrix_and_errors_do_not_understate():
    result = extreme_eigenvalues(BULK, jnp.zeros(300), count=4)
    for ours, errors, exact in (
        (*result.lowest, λ300[:4]),
        (*result.highest, λ300[-4:]),
    ):
        assert np.all(np.abs(ours - exact) <= errors + 1e-12)  # 300 · 2⁻⁵³ · 12 of rounding
        assert np.all(np.abs(ours - exact) < 1e-7)


def test_the_error_of_an_eigenvalue_is_the_residual_and_no_less():
    """At an exact eigenvector |H v − (λ + δ) v| = |δ|: the bound is met by the error itself."""
    λ = np.linspace(-3.0, 2.0, 12)
    loss = rotated(λ)
    shift = 10.0 ** -np.arange(1.0, 7.0)
    V = np.linalg.eigh(np.asarray(loss.H))[1][:, :6]
    flat, function = flattened(loss, jnp.zeros(12))
    error = extremes._errors(function, flat, λ[:6] + shift, V)
    np.testing.assert_allclose(error, shift, atol=1e-13)  # 12 roundings of 3


def test_a_search_that_stops_early_has_an_eigenvalue_within_each_error():
    """Equal gaps of 0.01, of which a space of 40 vectors resolves none."""
    λ = np.linspace(-1.0, 2.0, 300)
    result = extreme_eigenvalues(rotated(λ), jnp.zeros(300), tolerance=0.1)
    for value, error in ((*result.lowest,), (*result.highest,)):
        assert 1e-9 < np.min(np.abs(λ - value)) <= error[0] <= 0.1 * 2.0


@pytest.mark.slow
def test_extreme_eigenvalues_of_a_network(network):
    loss, parameters = network
    exact = hessian_eigenvalues(loss, parameters)
    result = extreme_eigenvalues(loss, parameters, count=2)
    np.testing.assert_allclose(result.lowest.value, exact[:2], atol=1e-7 * exact[-1])
    np.testing.assert_allclose(result.highest.value, exact[-2:], atol=1e-7 * exact[-1])


@pytest.mark.parametrize(
    ("loss", "lowest", "highest"),
    [
        (jnp.sum, [0.0, 0.0], [0.0, 0.0]),
        (lambda x: x @ x, [2.0, 2.0], [2.0, 2.0]),
        (lambda x: jnp.sum(x) ** 2, [0.0, 0.0], [0.0, 600.0]),
    ],
    ids=["zero", "identity", "rank one"],
)
def test_degenerate_eigenvalues_are_found_with_their_multiplicity(loss, lowest, highest):
    result = extreme_eigenvalues(loss, jnp.ones(300), count=2)
    np.testing.assert_allclose(result.lowest.value, lowest, atol=1e-12)
    np.testing.assert_allclose(result.highest.value, highest, atol=1e-12 * 600)


def test_small_matrices_are_done_whole():
    result = extreme_eigenvalues(rotated(np.arange(5.0)), jnp.zeros(5), count=5)
    np.testing.assert_allclose(result.lowest.value, np.arange(5.0), atol=1e-13)
    np.testing.assert_allclose(result.highest.value, np.arange(5.0), atol=1e-13)


@pytest.fixture(scope="module")
def bulk_density():
    return density(BULK, jnp.zeros(300), probes=40, steps=60, seed=1)


@pytest.mark.parametrize("name", ["matrix", pytest.param("network", marks=pytest.mark.slow)])
def test_the_density_is_that_of_all_eigenvalues_within_its_error(name, network, bulk_density):
    """At 400 points, and as many steps as it takes: z beyond 4 at a part of 10⁻³ at most."""
    if name == "matrix":
        λ, result = λ300, bulk_density
    else:
        λ, result = hessian_eigenvalues(*network), density(*network, probes=40, steps=120, seed=1)
    σ = float(result["width"])
    z = (result["eigenvalue"].values[:, None] - λ) / σ
    exact = np.exp(-(z**2) / 2).mean(axis=1) / (np.sqrt(2 * np.pi) * σ)
    error = result["density_error"].values + 1e-6 * exact.max()
    deviation = np.abs(result["density"].values - exact) / error
    # 40 probes: a t distribution with 39 degrees of freedom is beyond 4 with probability 3e-4.
    assert np.mean(deviation > 4) < 0.01
    assert np.median(deviation) < 1.5  # and the errors are no larger than they have to be
    assert np.median(deviation) > 0.2


def test_averages_over_the_spectrum_come_with_their_error(bulk_density):
    for power in (1, 2, 4):
        mean, error = spectral_mean(bulk_density, lambda λ, k=power: λ**k)
        assert error > 0 and abs(mean - np.mean(λ300**power)) < 4 * error  # level 3e-4 each


def test_the_density_integrates_to_one(bulk_density):
    # Beyond four widths of the ends lies less than 1e-4 of a Gaussian.
    total = np.trapezoid(bulk_density["density"].values, bulk_density["eigenvalue"].values)
    assert abs(total - 1) < 1e-3


@pytest.mark.slow
def test_more_probes_have_smaller_errors():
    few = density(BULK, jnp.zeros(300), probes=8, steps=40, width=0.5, grid=np.linspace(-4, 4, 50))
    many = density(
        BULK, jnp.zeros(300), probes=128, steps=40, width=0.5, grid=np.linspace(-4, 4, 50)
    )
    ratio = float(few["density_error"].mean() / many["density_error"].mean())
    # √16 = 4; a standard error of 8 probes is itself known to 1/√14, averaged over the grid.
    assert 2.5 < ratio < 6.0


@pytest.mark.parametrize("size", [5, 300])
@pytest.mark.parametrize("method", [density, extreme_eigenvalues, hessian_eigenvalues])
def test_a_hessian_that_is_not_finite_is_refused(method, size):
    with pytest.raises(InputError, match="a Hessian with NaN"):
        method(lambda x: jnp.sum(jnp.sqrt(x)), jnp.zeros(size))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: density(BULK, jnp.zeros(300), probes=1), "probes: got 1"),
        (lambda: density(BULK, jnp.zeros(300), steps=0), "steps: got 0"),
        (lambda: density(BULK, jnp.zeros(300), width=0.0), "width: got 0"),
        (lambda: density(BULK, jnp.zeros(300), seed=-1), "seed: got -1"),
        (lambda: density(BULK, jnp.zeros(300), grid=[np.nan]), "grid: got nan"),
        (lambda: extreme_eigenvalues(BULK, jnp.zeros(300), count=0), "count: got 0"),
        (lambda: extreme_eigenvalues(BULK, jnp.zeros(300), seed=-1), "seed: got -1"),
        (lambda: extreme_eigenvalues(BULK, jnp.zeros(300), count=80), "count: got 80"),
        (lambda: extreme_eigenvalues(BULK, jnp.zeros(300), tolerance=0.0), "tolerance: got 0"),
    ],
)
def test_what_cannot_be_computed_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
