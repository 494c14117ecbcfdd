"""Nested quadrature: exponential convergence for smooth units, honest errors, finite values."""

import numpy as np
import pytest
import reference
from problems import problems
from units import units

from tutelage._jax import jax, jnp
from tutelage.activations import Activation, ReLU, Swish, Tanh
from tutelage.averages.hermite import averages as hermite
from tutelage.averages.orthant import averages as orthant
from tutelage.averages.quadrature import averages as quadrature
from tutelage.averages.quadrature.rules import factor

EPSILON = np.finfo(float).eps
compiled_factor = jax.jit(factor)
RANDOM = np.random.default_rng(1995)


def covariances(count, rank, size=4):
    W = RANDOM.normal(size=(count, size, rank))
    return jnp.asarray(W @ np.swapaxes(W, -1, -2) / max(rank, 1))


SINGULAR = jnp.stack(
    [
        jnp.zeros((4, 4)),
        jnp.ones((4, 4)),
        jnp.outer(*[jnp.array([1.0, -1.0, 2.0, -0.5])] * 2),
        jnp.diag(jnp.array([1.0, 0.0, 1.0, 0.0])),
        *covariances(1, 1),
        *covariances(1, 2),
        *covariances(1, 3),
        *covariances(1, 4),
    ]
)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_factor_reproduces_covariances_of_every_rank(rank):
    for C in [*covariances(5, rank), *SINGULAR]:
        L = compiled_factor(C)
        s = jnp.sqrt(jnp.diagonal(C))
        assert jnp.all(jnp.triu(L, 1) == 0)
        assert jnp.all(jnp.abs(L @ L.T - C) <= 50 * EPSILON * (jnp.outer(s, s) + 1e-300))


@pytest.mark.parametrize(
    "kind, units_, nodes",
    [
        pytest.param("i2", ("relu", "erf"), None, marks=pytest.mark.slow),
        ("i3", ("erf", "relu"), None),
        pytest.param("i4", ("relu",) * 4, 32, marks=pytest.mark.slow),
        pytest.param("i4", ("erf",) * 4, 32, marks=pytest.mark.slow),
        pytest.param("i4", ("relu", "relu", "erf", "erf"), 18, marks=pytest.mark.slow),
    ],
)
def test_error_does_not_understate(kind, units_, nodes):
    """On the covariances of the common table for ReLUs, with these units.

    `test_methods_agree.py` has the units of one kind with 14 nodes among its fast tests.
    """
    table = [p for p in problems(kind, tags="relu") if reference.rank(p.exact_covariance)]
    chosen = table[:: max(1, len(table) // 30)]
    C = jnp.asarray(np.stack([p.covariance for p in chosen]))
    value, error = getattr(quadrature, kind)(units(units_), C, nodes=nodes)
    method = getattr(reference, kind)
    expected = np.array([float(method(units_, p.exact_covariance)) for p in chosen])
    # a rounded copy of a singular covariance leaves 1e-8 open (see tests/problems.py)
    rounded = np.array([1e-8 if "rounded" in p.tags else EPSILON for p in chosen])
    scale = np.array([1 + p.scale for p in chosen])
    assert np.all(np.abs(value - expected) <= error + rounded * scale)


@pytest.mark.parametrize(
    "activations",
    [("erf",) * 4, pytest.param(("relu", "relu", "erf", "erf"), marks=pytest.mark.slow)],
)
def test_four_point_averages_reach_ten_digits(activations):
    C = covariances(3, 8)
    value, error = quadrature.i4(units(activations), C)
    expected = np.array([float(reference.i4(activations, c)) for c in np.asarray(C)])
    assert np.all(np.abs(value - expected) <= error + EPSILON)
    assert np.all(np.abs(value - expected) < 1e-10)
    assert np.median(error) < 1e-8


@pytest.mark.slow
def test_error_falls_exponentially_for_smooth_units():
    """exp(−c n^(2/3)): doubling the nodes takes the logarithm of the error times 1.6."""
    C = covariances(2, 8)
    coarse, finer, fine = (quadrature.i4((Tanh(),) * 4, C, nodes=n).value for n in (10, 20, 32))
    wrong = [jnp.max(jnp.abs(value - fine)) for value in (coarse, finer)]
    assert jnp.log(wrong[1]) < 1.4 * jnp.log(wrong[0])


def test_polynomials_are_integrated_to_rounding():
    """⟨u³ w³⟩ = 9 q_u q_w C_uw + 6 C_uw³ (Wick)."""
    cube = Activation.from_function(lambda x: x**3, parity="odd")
    C = covariances(10, 3, size=2)
    u, w, c = C[:, 0, 0], C[:, 1, 1], C[:, 0, 1]
    value, error = quadrature.i2((cube, cube), C)
    assert jnp.all(jnp.abs(value - (9 * u * w * c + 6 * c**3)) <= error)
    assert jnp.all(error < 1e-10 * (15 * (u * w) ** 1.5))


@pytest.mark.parametrize(
    "name, g, order, nodes",
    [
        ("i2", (Tanh(), Swish()), 20, None),
        pytest.param("i3", (Swish(), Tanh()), 20, None, marks=pytest.mark.slow),
        pytest.param("i4", (Tanh(), Tanh(), ReLU(), Tanh()), 8, 24, marks=pytest.mark.slow),
    ],
)
def test_agrees_with_the_hermite_series_without_closed_forms(name, g, order, nodes):
    size = int(name[1])
    C = covariances(4, 60)[:, :size, :size]
    a = getattr(quadrature, name)(g, C, nodes=nodes)
    b = getattr(hermite, name)(g, C, order=order)
    assert jnp.all(jnp.abs(a.value - b.value) <= a.error + b.error)
    assert jnp.all(jnp.abs(a.value - b.value) < (1e-4 if name == "i4" else 1e-9))
    assert nodes or jnp.all(a.error < 1e-11)


@pytest.mark.parametrize(
    "name, unit",
    [
        ("i2", ReLU()),
        pytest.param("i3", Tanh(), marks=pytest.mark.slow),
        pytest.param("i3", ReLU(), marks=pytest.mark.slow),
        pytest.param("i4", Tanh(), marks=pytest.mark.slow),
        pytest.param("i4", ReLU(), marks=pytest.mark.slow),
    ],
)
def test_derivatives_are_finite_on_every_covariance_and_right_through_kinks(name, unit):
    size = int(name[1])
    g, nodes = (unit,) * (4 if size == 4 else 2), 18 if size == 4 else 80
    C = jnp.concatenate([SINGULAR, covariances(1, 8)])[:, :size, :size]

    def total(C):
        estimate = getattr(quadrature, name)(g, C, nodes=nodes)
        return estimate.value.sum(), jnp.stack(estimate)

    gradient = jax.jit(jax.grad(total, has_aux=True))
    slope, estimate = gradient(C)
    assert jnp.all(jnp.isfinite(estimate))
    assert jnp.all(jnp.isfinite(slope))
    # 18 nodes leave 1e-7 in I4 here, and two orders of magnitude more in its derivatives
    tolerance = 1e-5 if size == 4 else 1e-10
    if isinstance(unit, ReLU):
        expected = jax.jit(jax.grad(lambda C: getattr(orthant, name)(g, C).value))(C[-1])
        assert jnp.all(jnp.abs(slope[-1] + slope[-1].T - expected - expected.T) < tolerance)
    else:
        D = 1e-4 * (jnp.ones((size, size)) + jnp.eye(size))
        up, down = (gradient(C + step[None])[1][0, -1] for step in (D, -D))
        # the difference itself is good to (1e-4)²
        assert abs((up - down) / 2 - jnp.sum(slope[-1] * D)) < (tolerance + 1e-7) * jnp.sum(D)


@pytest.mark.slow
def test_kinks_anywhere_and_curved_pieces():
    """g = |x − ½| + (x − ½)² θ(x − ½), I3 against a plain sum over a grid of 3001 points."""
    g = Activation.from_function(
        lambda x: jnp.abs(x - 0.5) + jnp.where(x > 0.5, (x - 0.5) ** 2, 0.0), kinks=(0.5,)
    )
    C = jnp.array([[1.0, 0.3, 0.6], [0.3, 1.0, -0.2], [0.6, -0.2, 0.8]])
    x = np.linspace(-9, 9, 3001)
    z = np.exp(-0.5 * x**2) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
    u, w = x[:, None], 0.6 * x[:, None] + np.sqrt(0.8 - 0.36) * x
    a, b = np.linalg.solve(np.asarray(C)[::2, ::2], [0.3, -0.2])  # <v | u, w> = a u + b w
    by_hand = np.sum(z[:, None] * z * np.asarray(g.derivative(u)) * (a * u + b * w) * g(w))
    value, error = quadrature.i3((g, g), C)
    # a jump of 2 inside a step of 0.006, where the density is 0.35
    assert abs(value - by_hand) < 2 * 0.006 * 0.35 and error < 1e-7


def test_batches_have_the_shape_of_the_leading_axes():
    C, g = covariances(6, 4, size=2), (Tanh(), ReLU())
    one_by_one = jnp.stack([quadrature.i2(g, c, nodes=20).value for c in C])
    together = quadrature.i2(g, C.reshape(2, 3, 2, 2), nodes=20).value
    assert jnp.allclose(together, one_by_one.reshape(2, 3), rtol=100 * EPSILON, atol=1e-15)
    assert quadrature.i4((Tanh(),) * 4, jnp.zeros((0, 2, 4, 4))).error.shape == (0, 2)
