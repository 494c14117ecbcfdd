"""Nested quadrature: exponential where it should be, honest everywhere, finite always."""


import numpy as np
import pytest
import reference
from problems import exact, problems

from tutelage._jax import jax, jnp
from tutelage.activations import Activation, Erf, LeakyReLU, Linear, ReLU, Swish, Tanh
from tutelage.averages import hermite, orthant, quadrature
from tutelage.averages._quadrature_rules import factor

EPSILON = np.finfo(float).eps
RANDOM = np.random.default_rng(1995)
UNITS = {"relu": ReLU(), "linear": Linear(), "erf": Erf()}


def covariances(count, rank, size=4):
    W = RANDOM.normal(size=(count, size, rank))
    return jnp.asarray(W @ np.swapaxes(W, -1, -2) / max(rank, 1))


def units(tags):
    return tuple(UNITS.get(tag) or LeakyReLU(float(tag)) for tag in tags)


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
        L = factor(C)
        s = jnp.sqrt(jnp.diagonal(C))
        assert jnp.all(jnp.triu(L, 1) == 0)
        assert jnp.all(jnp.abs(L @ L.T - C) <= 50 * EPSILON * (s[:, None] * s + 1e-300))


@pytest.mark.parametrize("kind", ["i2", "i3", "i4"])
@pytest.mark.parametrize("tags", [("relu",), ("erf",), ("mixed",)], ids=lambda t: t[0])
def test_error_does_not_understate(kind, tags):
    """On every tenth problem of the common table; 1e-16 is the rounding of the expected value."""
    groups = {}
    for problem in list(problems(kind, tags=set(tags)))[::10]:
        groups.setdefault(problem.activations, []).append(problem)
    for activations, members in list(groups.items())[:2]:
        C = jnp.asarray(np.stack([p.covariance for p in members[:20]]))
        options = {"nodes": 16} if kind == "i4" else {}
        value, error = getattr(quadrature, kind)(units(activations), C, **options)
        expected = np.array([float(exact(p)) for p in members[:20]])
        slack = np.array([float(p.scale) for p in members[:20]])
        rounded = np.array(["rounded" in p.tags for p in members[:20]])
        allowed = error + slack * (EPSILON + 1e-8 * rounded)
        assert np.all(np.abs(value - expected) <= allowed)


@pytest.mark.parametrize("activations", [("erf",) * 4, ("relu", "relu", "erf", "erf")])
def test_four_point_averages_reach_ten_digits(activations):
    C = covariances(6, 8)
    value, error = quadrature.i4(units(activations), C)
    expected = np.array([float(reference.i4(activations, c)) for c in np.asarray(C)])
    assert np.all(np.abs(value - expected) <= error + EPSILON)
    assert np.all(np.abs(value - expected) < 1e-10)
    assert np.median(error) < 1e-8


def test_error_falls_exponentially_for_smooth_units():
    """exp(−c n^(2/3)): doubling the nodes takes the logarithm of the error times 1.6."""
    C = covariances(4, 8)
    fine = quadrature.i4((Tanh(),) * 4, C, nodes=40).value
    wrong = [
        jnp.max(jnp.abs(quadrature.i4((Tanh(),) * 4, C, nodes=n).value - fine)) for n in (10, 20)
    ]
    assert jnp.log(wrong[1]) < 1.4 * jnp.log(wrong[0])


def test_polynomials_are_integrated_to_rounding():
    """⟨u³ w³⟩ = 9 q_u q_w C_uw + 6 C_uw³ (Wick)."""
    cube = Activation.from_function(lambda x: x**3, parity="odd")
    C = covariances(10, 3, size=2)
    u, w, c = C[:, 0, 0], C[:, 1, 1], C[:, 0, 1]
    value, error = quadrature.i2((cube, cube), C)
    assert jnp.all(jnp.abs(value - (9 * u * w * c + 6 * c**3)) <= error)
    assert jnp.all(error < 1e-10 * (15 * (u * w) ** 1.5))


def test_agrees_with_the_hermite_series_without_closed_forms():
    C = covariances(8, 60)
    for f, g, size in (("i2", (Tanh(), Swish()), 2), ("i3", (Swish(), Tanh()), 3)):
        a = getattr(quadrature, f)(g, C[:, :size, :size])
        b = getattr(hermite, f)(g, C[:, :size, :size], order=20)
        assert jnp.all(jnp.abs(a.value - b.value) <= a.error + b.error)
        assert jnp.all(a.error < 1e-11)
    g = (Tanh(), Swish(), ReLU(), Tanh())
    a, b = quadrature.i4(g, C, nodes=24), hermite.i4(g, C, order=12)
    assert jnp.all(jnp.abs(a.value - b.value) <= a.error + b.error)
    assert jnp.max(jnp.abs(a.value - b.value)) < 1e-5


@pytest.mark.parametrize("name, size", [("i2", 2), ("i3", 3), ("i4", 4)])
@pytest.mark.parametrize("unit", [ReLU(), Tanh()], ids=lambda g: g.name)
def test_values_and_derivatives_are_finite_on_every_covariance(name, size, unit):
    f, options = getattr(quadrature, name), {"nodes": 8}
    g = (unit,) * (4 if size == 4 else 2)
    C = SINGULAR[:, :size, :size]
    run = jax.jit(
        jax.value_and_grad(lambda C: (e := f(g, C, **options)).value.sum() + 0 * e.error.sum())
    )
    value, slope = run(C)
    assert jnp.isfinite(value) and jnp.all(jnp.isfinite(slope))


@pytest.mark.parametrize("name, size, nodes", [("i2", 2, None), ("i3", 3, None), ("i4", 4, 24)])
def test_derivatives_through_kinks_are_those_of_orthant_moments(name, size, nodes):
    g = (ReLU(),) * (4 if size == 4 else 2)
    C = covariances(1, 8)[0, :size, :size]
    mine = jax.jit(jax.grad(lambda C: getattr(quadrature, name)(g, C, nodes=nodes).value))(C)
    theirs = jax.jit(jax.grad(lambda C: getattr(orthant, name)(g, C).value))(C)
    # 24 nodes leave 1e-8 in I4 here, and one order of magnitude more in its derivatives
    tolerance = 1e-6 if size == 4 else 1e-12
    assert jnp.all(jnp.abs(mine + mine.T - theirs - theirs.T) < tolerance)


def test_kinks_anywhere_and_curved_pieces():
    """g = |x − ½| + x²·θ(x − ½): I2 and I3 against plain sums over a grid of 4000 points."""
    g = Activation.from_function(
        lambda x: jnp.abs(x - 0.5) + jnp.where(x > 0.5, (x - 0.5) ** 2, 0.0), kinks=(0.5,)
    )
    C = jnp.array([[1.0, 0.3, 0.6], [0.3, 1.0, -0.2], [0.6, -0.2, 0.8]])
    x = np.linspace(-9, 9, 4001)
    z = np.exp(-0.5 * x**2) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
    u, w = x[:, None], 0.6 * x[:, None] + np.sqrt(0.8 - 0.36) * x
    by_hand = np.sum(z[:, None] * z * np.asarray(g(u)) * np.asarray(g(w)))
    pair = C[jnp.ix_(jnp.array([0, 2]), jnp.array([0, 2]))]
    value, error = quadrature.i2((g, g), pair)
    # a kink inside a step of 0.0045 leaves the square of the step
    assert abs(value - by_hand) < 2e-5 and error < 1e-8
    # v = 0.525 u − 0.64375 w + noise, with (0.3, −0.2) = (0.525, −0.64375) · cov(u, w)
    a, b = np.linalg.solve(np.asarray(pair), [0.3, -0.2])
    slope = np.asarray(g.derivative(u))
    by_hand = np.sum(z[:, None] * z * slope * (a * u + b * w) * np.asarray(g(w)))
    value, error = quadrature.i3((g, g), C)
    # and a jump the step itself, times the density 0.35 and a factor of order one
    assert abs(value - by_hand) < 2e-3 and error < 1e-7


def test_batches_have_the_shape_of_the_leading_axes():
    C, g = covariances(6, 4, size=2), (Tanh(), ReLU())
    one_by_one = jnp.stack([quadrature.i2(g, c, nodes=20).value for c in C])
    together = quadrature.i2(g, C.reshape(2, 3, 2, 2), nodes=20).value
    assert jnp.allclose(together, one_by_one.reshape(2, 3), rtol=100 * EPSILON, atol=1e-15)
    assert quadrature.i4((Tanh(),) * 4, jnp.zeros((0, 2, 4, 4))).error.shape == (0, 2)
