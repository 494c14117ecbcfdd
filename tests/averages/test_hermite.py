"""The Kibble-Slepian series: its definition, its range of convergence, and its error."""

import math
from functools import cache

import equinox as eqx
import numpy as np
import pytest

from tutelage._jax import jax, jnp
from tutelage.activations import Activation, Erf, LeakyReLU, Linear, ReLU, Tanh
from tutelage.averages.hermite import averages as hermite, bounds
from tutelage.averages.hermite.coefficients import expand, expand_derivative
from tutelage.averages.hermite.series import terms
from tutelage.averages.orthant import averages as orthant

EPSILON = np.finfo(float).eps
RANDOM = np.random.default_rng(20250424)


def covariances(count, rank, size=4, scale=0.5):
    W = RANDOM.normal(size=(count, size, rank))
    W /= np.linalg.norm(W, axis=-1, keepdims=True)
    W *= np.exp(scale * RANDOM.normal(size=(count, size, 1)))
    return jnp.asarray(W @ np.swapaxes(W, -1, -2))


def nearly_equal_pairs(count):
    W = RANDOM.normal(size=(count, 4, 4)) / 2
    for copy, original in ((1, 0), (3, 2)):
        W[:, copy] = W[:, original] + 10 ** RANDOM.uniform(-8, 0, (count, 1)) * W[:, copy]
    return jnp.asarray(W @ np.swapaxes(W, -1, -2))


def repeated_fields(count):
    C, pick = np.asarray(covariances(count, 8)), RANDOM.integers(0, 4, (count, 4))
    sign = RANDOM.choice([-1.0, 0.5, 1.0], (count, 4))
    C = C[np.arange(count)[:, None, None], pick[:, :, None], pick[:, None, :]]
    return jnp.asarray(C * sign[:, :, None] * sign[:, None, :])


FAMILIES = {
    "rank 1": covariances(200, 1),
    "rank 2": covariances(200, 2),
    "rank 3": covariances(200, 3),
    "rank 4": covariances(500, 4),
    "weakly correlated": covariances(500, 30),
    "nearly equal pairs": nearly_equal_pairs(500),
    "repeated fields": repeated_fields(500),
    "zero field": covariances(50, 3).at[:, 1, :].set(0).at[:, :, 1].set(0),
    "all zero": jnp.zeros((1, 4, 4)),
}
EVERY = jnp.concatenate(list(FAMILIES.values()))


@cache
def exact(name, activations, size):
    """Orthant moments on every covariance, with their own error."""
    method = eqx.filter_jit(getattr(orthant, name))
    return method(activations, EVERY[:, :size, :size])


def erf_i4(C):
    """Saad and Solla 1995, with 1 + C_ii for the diagonal."""
    D = np.asarray(C, np.longdouble) + np.eye(4)
    c = np.moveaxis(D, (-2, -1), (0, 1))
    L4 = c[0, 0] * c[1, 1] - c[0, 1] ** 2

    def reduced(a, b):
        crossed = c[0, a] * c[1, b] + c[0, b] * c[1, a]
        return (L4 * c[a, b] - c[1, a] * c[1, b] * c[0, 0] - c[0, a] * c[0, b] * c[1, 1]) + c[
            0, 1
        ] * crossed

    sine = reduced(2, 3) / np.sqrt(reduced(2, 2) * reduced(3, 3))
    return np.asarray(4 / np.pi**2 / np.sqrt(L4) * np.arcsin(sine), float)


def test_terms_are_those_of_citton2025():
    """(j, k, m, n) with the two inner sums restored: all n_ij with n_1, n_2 < N, n_3, n_4 ≤ N."""
    N = 3
    n = np.stack(np.meshgrid(*[np.arange(N + 1)] * 6, indexing="ij")).reshape(6, -1)
    n12, n13, n14, n23, n24, n34 = n
    allowed = (n12 + n13 + n14 < N) & (n12 + n23 + n24 < N)
    allowed &= (n13 + n23 + n34 <= N) & (n14 + n24 + n34 <= N)
    expected = {tuple(row) for row in np.stack([n13, n14, n23, n24])[:, allowed].T.tolist()}
    present = ((True,) * N,) * 2 + ((True,) * (N + 1),) * 2
    assert {tuple(row) for row in terms(present).tolist()} == expected


@pytest.mark.slow
def test_truncated_series_is_the_average_of_truncated_expansions():
    """A polynomial identity at every covariance; Gauss-Hermite quadrature of it is exact."""
    N, g = 5, (Tanh(), ReLU(), Erf(1.0), LeakyReLU(0.1))
    C = jnp.concatenate([family[:1] for family in FAMILIES.values()])
    q = jnp.diagonal(C, axis1=-2, axis2=-1)
    expansions = [expand_derivative(f, N - 1, q[:, i]) for i, f in enumerate(g[:2])]
    expansions += [expand(f, N, q[:, i + 2]) for i, f in enumerate(g[2:])]
    y, w = np.polynomial.hermite_e.hermegauss(2 * N + 1)  # exact to degree 4 N + 1
    y = np.stack(np.meshgrid(y, y, y, y, indexing="ij")).reshape(4, -1)
    w = np.prod(np.meshgrid(*[w / w.sum()] * 4, indexing="ij"), axis=0).ravel()
    value = hermite.i4(g, C, order=N).value
    for b in range(len(value)):
        eigenvalues, V = np.linalg.eigh(C[b])
        z = V * np.sqrt(np.maximum(eigenvalues, 0)) @ y
        z /= np.where(q[b] > 0, np.sqrt(np.where(q[b] > 0, q[b], 1)), 1)[:, None]
        product = w.copy()
        for i, e in enumerate(expansions):
            norms = np.sqrt(np.cumprod(np.maximum(np.arange(len(e.present)), 1.0)))
            product *= np.polynomial.hermite_e.hermeval(z[i], np.asarray(e.values[b]) / norms)
        # 10⁴ products of a few units each; eigenvalues of 1e-16 are 1e-8 in z, squared here
        assert abs(product.sum() - value[b]) < 1e3 * EPSILON * np.abs(product).sum() + 1e-13


def test_the_bound_for_moderate_correlations_is_the_sum_over_fields():
    """Σ_i s_i^{N_i + 1} ‖tail of f_i‖ Π_{j ≠ i} ‖f_j‖, s_i² the larger of 1 - 1/(P⁻¹)_ii of P and
    of 2·1 - P.
    """
    P = np.eye(4) + 0.2 * (1 - np.eye(4))
    P[0, 1] = P[1, 0] = -0.3
    q = jnp.ones(1)
    of = [expand_derivative(ReLU(), 5, q), expand(ReLU(), 6, q), expand(Erf(), 6, q)]
    of += [expand(LeakyReLU(0.1), 6, q)]
    rho = jnp.asarray([[P[pair]] for pair in bounds.PAIRS])
    s2 = np.max([1 - 1 / np.diag(np.linalg.inv(x)) for x in (P, 2 * np.eye(4) - P)], axis=0)
    norms, tails = (
        [math.sqrt(float(x[0])) for x in y]
        for y in zip(*((e.square, e.tail) for e in of), strict=True)
    )
    expected = 0.0
    for i, e in enumerate(of):
        others = math.prod(norms[:i] + norms[i + 1 :])
        expected += s2[i] ** (e.values.shape[-1] / 2) * tails[i] * others
    assert float(bounds.where_moderate(rho, tuple(of))[0]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "activation, order",
    [
        (ReLU(), 6),
        pytest.param(ReLU(), 10, marks=pytest.mark.slow),
        pytest.param(Erf(), 6, marks=pytest.mark.slow),
        pytest.param(ReLU(), 3, marks=pytest.mark.slow),
        pytest.param(Erf(), 10, marks=pytest.mark.slow),
    ],
)
def test_error_of_i4_does_not_understate(activation, order):
    value, error = hermite.i4((activation,) * 4, EVERY, order=order)
    if isinstance(activation, ReLU):
        expected, own = exact("i4", (ReLU(),) * 4, 4)
    else:
        expected, own = erf_i4(EVERY), 1e-9  # asin near 1 halves the digits of long double
    assert jnp.all(jnp.isfinite(value)) and jnp.all(jnp.isfinite(error))
    assert jnp.all(jnp.abs(value - expected) <= error + own)


@pytest.mark.slow
def test_i4_converges_where_no_eigenvalue_exceeds_2():
    s = jnp.sqrt(jnp.maximum(jnp.diagonal(EVERY, axis1=-2, axis2=-1), 1e-30))
    here = jnp.linalg.eigvalsh(EVERY / s[:, :, None] / s[:, None, :])[:, -1] < 1.8
    expected = exact("i4", (ReLU(),) * 4, 4).value
    results = [hermite.i4((ReLU(),) * 4, EVERY, order=N) for N in (6, 10, 16)]
    wrong = [jnp.abs(r.value - expected)[here] for r in results]
    claimed = [r.error[here] for r in results]
    assert jnp.median(wrong[0]) > 10 * jnp.median(wrong[1]) > 100 * jnp.median(wrong[2])
    assert jnp.median(claimed[0]) > 10 * jnp.median(claimed[1]) > 100 * jnp.median(claimed[2])


def test_i4_of_identical_fields_diverges_and_its_error_shows_it():
    """⟨θ(u) u₊²⟩ = ½, while the series runs away with the order."""
    low, high = (hermite.i4((ReLU(),) * 4, jnp.ones((4, 4)), order=N) for N in (4, 16))
    for result in (low, high):
        assert result.error >= abs(result.value - 0.5)
    assert abs(high.value - 0.5) > 100 > abs(low.value - 0.5)


@pytest.mark.slow
def test_polynomials_beyond_the_order_are_not_overlooked():
    """h_8 has no coefficient at orders up to 7; only its norm shows that it exists."""
    he8 = Activation.from_function(
        lambda x: x**8 - 28 * x**6 + 210 * x**4 - 420 * x**2 + 105.0, parity="even"
    )
    C = jnp.eye(4).at[2, 3].set(0.4).at[3, 2].set(0.4)
    value, error = hermite.i4((Linear(), Linear(), he8, he8), C, order=6)
    exact = 40320 * 0.4**8  # 8! ρ⁸
    assert abs(value - exact) <= error


@pytest.mark.parametrize("order", [1, 2, pytest.param(10, marks=pytest.mark.slow), 30])
@pytest.mark.parametrize("g, h", [(ReLU(), ReLU()), (Linear(), LeakyReLU(0.3))])
@pytest.mark.parametrize("name, size", [("i2", 2), ("i3", 3)])
def test_i2_and_i3_keep_their_rigorous_bounds(name, size, g, h, order):
    expected, own = exact(name, (g, h), size)
    value, error = getattr(hermite, name)((g, h), EVERY[:, :size, :size], order=order)
    assert jnp.all(jnp.abs(value - expected) <= error + own)


def test_i2_of_erf_is_the_arcsine():
    C = covariances(50, 3, size=2)
    expected = 2 / np.pi * np.arcsin(C[:, 0, 1] / np.sqrt((1 + C[:, 0, 0]) * (1 + C[:, 1, 1])))
    value, error = hermite.i2((Erf(), Erf()), C, order=60)
    assert jnp.all(jnp.abs(value - expected) <= error)
    assert jnp.median(error) < 1e-10


def test_i3_of_erf_is_that_of_saad_and_solla():
    C = covariances(50, 4, size=3)
    c = np.moveaxis(np.asarray(C), 0, -1)
    L3 = (1 + c[0, 0]) * (1 + c[2, 2]) - c[0, 2] ** 2
    expected = c[1, 2] * (1 + c[0, 0]) - c[0, 1] * c[0, 2]
    expected *= 2 / np.pi / ((1 + c[0, 0]) * np.sqrt(L3))
    value, error = hermite.i3((Erf(), Erf()), C, order=60)
    assert jnp.all(jnp.abs(value - expected) <= error)
    assert jnp.median(error) < 1e-9


@pytest.mark.parametrize(
    "name, size",
    [
        ("i2", 2),
        pytest.param("i3", 3, marks=pytest.mark.slow),
        pytest.param("i4", 4, marks=pytest.mark.slow),
    ],
)
def test_derivatives_are_finite_everywhere_and_right_where_the_series_is(name, size):
    f, few = getattr(hermite, name), jnp.concatenate([C[:2] for C in FAMILIES.values()])
    few = few.at[-1].set(FAMILIES["weakly correlated"][0])[:, :size, :size]
    g = (ReLU(), Erf(), Erf(), LeakyReLU(0.1)) if size == 4 else (ReLU(), Erf())
    slope = jax.jit(jax.grad(lambda C: f(g, C, order=5).value.sum()))(few)
    assert jnp.all(jnp.isfinite(slope))
    D = jnp.asarray(RANDOM.normal(size=(size, size)))
    D = 1e-5 * (D + D.T)
    up, down = f(g, few + D[None], order=5).value[-1], f(g, few - D[None], order=5).value[-1]
    # central differences: third derivatives times (1e-5)² and rounding over 1e-5
    assert abs(2 * jnp.sum(slope[-1] * D) - (up - down)) < 1e-9 * jnp.abs(D).sum()


def test_batches_have_the_shape_of_the_leading_axes():
    g, C = (ReLU(), Erf()), FAMILIES["rank 4"][:6, :2, :2]
    one_by_one = jnp.stack([hermite.i2(g, c, order=3).value for c in C])
    together = hermite.i2(g, C.reshape(2, 3, 2, 2), order=3).value
    assert jnp.allclose(together, one_by_one.reshape(2, 3), rtol=100 * EPSILON, atol=1e-15)
    assert hermite.i4((ReLU(),) * 4, jnp.zeros((0, 2, 4, 4)), order=3).error.shape == (0, 2)
