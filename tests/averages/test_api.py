"""The public averages: shapes, methods, and error messages."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.averages import Estimate, Hermite, Orthant, Quadrature, i2, i3, i4

AVERAGES = {"i2": (i2, 2), "i3": (i3, 3), "i4": (i4, 4)}


def covariance(size, *batch, seed=0):
    A = np.random.default_rng(seed).normal(size=(*batch, size, size))
    return A @ np.swapaxes(A, -1, -2)


@pytest.mark.parametrize("kind", AVERAGES)
@pytest.mark.parametrize(
    "batch", [*(pytest.param(b, marks=pytest.mark.slow) for b in ((), (1,))), (2, 3), (0,)]
)
@pytest.mark.parametrize("activation", [tl.ReLU(), tl.Erf(1.0)], ids=["ReLU", "1+erf"])
def test_batches_keep_their_shape(kind, batch, activation):
    average, size = AVERAGES[kind]
    estimate = average(activation, covariance(size, *batch), return_error=True)
    assert isinstance(estimate, Estimate)
    assert estimate.value.shape == estimate.error.shape == batch
    assert estimate.value.dtype == np.float64


@pytest.mark.parametrize(
    "kind", ["i2", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("i3", "i4"))]
)
def test_compiled_and_mapped_calls_are_the_same(kind):
    """Batched by an axis or by vmap, inside jit or outside."""
    average, size = AVERAGES[kind]
    C = covariance(size, 4)
    plain = average(tl.LeakyReLU(0.1), C)
    compiled = jax.jit(lambda c: average(tl.LeakyReLU(0.1), c))(jnp.asarray(C))
    mapped = jax.vmap(lambda c: average(tl.LeakyReLU(0.1), c))(jnp.asarray(C))
    assert np.allclose(plain, compiled, rtol=1e-14, atol=1e-15)
    assert np.allclose(plain, mapped, rtol=1e-14, atol=1e-15)


def test_averages_can_be_differentiated_by_the_slope():
    """d/ds ⟨g g⟩ of the leaky ReLU at ρ = 0: I2 = d²(2/π) with d = (1 - s)/2."""
    slope = jax.grad(lambda s: i2(tl.LeakyReLU(s), jnp.eye(2)))(0.2)
    assert abs(slope + (1 - 0.2) / np.pi) <= 1e-15


def test_the_best_exact_method_is_the_default():
    assert i4(tl.ReLU(), np.eye(4)) == i4(tl.ReLU(), np.eye(4), method="orthant")
    assert i4(tl.Erf(), np.eye(4)) == i4(tl.Erf(), np.eye(4), method="erf")
    mixed = (tl.Erf(), tl.ReLU())
    assert i2(mixed, np.eye(2)) == i2(mixed, np.eye(2), method=Orthant())
    assert i2(tl.Tanh(), np.eye(2)) == i2(tl.Tanh(), np.eye(2), method="conditional")


def test_methods_can_be_named_or_given():
    C = covariance(2)
    named, given = (i2(tl.ReLU(), C, method=m) for m in ("hermite", Hermite(10)))
    assert named == given != i2(tl.ReLU(), C, method=Hermite(20))


def test_rounding_is_accepted():
    """Asymmetry and negative eigenvalues of the size of rounding errors are accepted."""
    C = np.ones((4, 4))
    C[0, 1] += 3e-16
    C[2, 3] = C[3, 2] = 1 + 2e-16
    assert abs(i4(tl.ReLU(), C) - 0.5) <= 1e-8  # √2e-16


BAD_COVARIANCES = {
    "not square": (np.ones((4, 3)), r"covariance: got shape \(4, 3\).*square"),
    "wrong size": (np.eye(3), r"covariance: got shape \(3, 3\).*4 x 4.*Try"),
    "one number": (1.0, r"covariance: got shape \(\)"),
    "asymmetric": (np.eye(4) + np.eye(4, k=1), r"covariance: .*transpose by 1.*symmetric.*Try"),
    "indefinite": (np.eye(4) - 2 * np.eye(4)[::-1], r"covariance: .*eigenvalue -1.*Try"),
    "NaN": (np.full((4, 4), np.nan), r"covariance: got nan at index \(0, 0\)"),
    "infinite": (np.diag([1, 1, 1, np.inf]), r"covariance: got inf at index \(3, 3\)"),
    "words": ("covariance", r"covariance: got str"),
    "in a batch": (
        np.stack([np.eye(4), np.diag([1.0, 1, 1, -1])]),
        r"covariance: .*at index \(1,\).*eigenvalue -1",
    ),
}


@pytest.mark.parametrize("case", BAD_COVARIANCES)
def test_bad_covariances_are_refused(case):
    C, message = BAD_COVARIANCES[case]
    with pytest.raises(tl.InputError, match=message):
        i4(tl.ReLU(), C)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: i2("relu", np.eye(2)), r"activation: got 'relu'.*tl.ReLU\(\)"),
        (lambda: i4((tl.ReLU(), tl.Erf()), np.eye(4)), r"activation: .*sequence of 4"),
        (lambda: i2((tl.ReLU(), 3), np.eye(2)), r"activation: .*Activation"),
        (lambda: i2(tl.ReLU(), np.eye(2), method="magic"), r"method: got 'magic'.*'orthant'"),
        (lambda: i2(tl.ReLU(), np.eye(2), method=7), r"method: got 7.*'orthant'"),
        (lambda: i2(tl.Tanh(), np.eye(2), method="orthant"), r"method: .*Tanh.*'quadrature'"),
        (lambda: i2(tl.ReLU(), np.eye(2), method="erf"), r"method: .*ReLU.*Try"),
        (lambda: Hermite(order=0), r"order: got 0.*at least 1"),
        (lambda: Hermite(order=2.5), r"order: got 2.5.*whole number"),
        (lambda: Quadrature(nodes=-1), r"nodes: got -1.*at least 1"),
    ],
)
def test_other_bad_input_is_refused(call, message):
    with pytest.raises(tl.InputError, match=message):
        call()


def test_shapes_are_checked_inside_jit_too():
    with pytest.raises(tl.InputError, match=r"covariance: got shape \(3, 3\)"):
        jax.jit(lambda C: i4(tl.ReLU(), C))(jnp.eye(3))
