"""The cross-entropy against mpmath with 60 digits, down to losses of 10⁻¹⁴."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.spectra import Classifier, hessian_eigenvalues
from tutelage.spectra.cross_entropy import cross_entropy, residuals
from tutelage.spectra.objective import Loss

EPS = np.finfo(float).eps
MARGINS = [0.0, 0.3, 5.0, 20.0, 32.0]


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


def exact_terms(z, y, output):
    """Loss, gradient and second derivatives by the logits of one example, from probabilities."""
    z = [mp.mpf(float(x)) for x in z]
    if output == "sigmoid" or len(z) == 1:
        p = [1 / (1 + mp.exp(-x)) for x in z]
        target = [int(k == y - 1) for k in range(len(z))]
        loss = -sum(mp.log(q if t else 1 - q) for q, t in zip(p, target, strict=True)) / len(z)
        slope = [(q - t) / len(z) for q, t in zip(p, target, strict=True)]
        curve = [
            [p[i] * (1 - p[i]) / len(z) if i == j else 0 for j in range(len(z))]
            for i in range(len(z))
        ]
        return loss, slope, curve
    total = sum(mp.exp(x) for x in z)
    p = [mp.exp(x) / total for x in z]
    K = range(len(z))
    slope = [p[k] - (k == y) for k in K]
    return -mp.log(p[y]), slope, [[p[i] * ((i == j) - p[j]) for j in K] for i in K]


def logits_of(margin, outputs):
    """The best class is ahead of the others, which are all different, by about the margin."""
    return np.array([margin, -0.4, 0.1, -1.3][:outputs])


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize(
    ("outputs", "output"), [(1, "softmax"), (2, "softmax"), (4, "softmax"), (3, "sigmoid")]
)
def test_value_slope_and_curvature_are_known_to_their_last_digits(right, outputs, output):
    Z = jnp.array([logits_of(margin, outputs) for margin in MARGINS])
    first = 1 if output == "sigmoid" or outputs == 1 else 0
    y = first if right else (0 if outputs == 1 else first + 1)
    label = jnp.array([y])

    def loss(z):
        return cross_entropy(z[None], label, output)

    @jax.jit
    @jax.vmap
    def derivatives(z):
        return loss(z), jax.grad(loss)(z), jax.hessian(loss)(z), residuals(z[None], label, output)

    for z, value, slope, curve, e in zip(Z, *derivatives(Z), strict=True):
        exact, exact_slope, exact_curve = (
            np.array(x, dtype=float) for x in exact_terms(z, y, output)
        )
        # Exponentials of |z| <= 33, each off by some units in the last place and by |z| eps.
        close = {"rtol": 100 * EPS, "atol": 0.0}
        np.testing.assert_allclose(value, exact, **close)
        np.testing.assert_allclose(slope, exact_slope, **close)
        np.testing.assert_allclose(
            e[0], exact_slope * (outputs if output == "sigmoid" else 1), **close
        )
        np.testing.assert_allclose(np.diag(curve), np.diag(exact_curve), **close)
        # Products of two small probabilities may be sums of larger terms.
        np.testing.assert_allclose(curve, exact_curve, rtol=0, atol=100 * EPS * exact_curve.max())


def exact_loss(sizes, flat, X, y, beta):
    """The mean cross-entropy of a Swish network, written out in the order of ``ravel_pytree``."""
    rest = list(flat)
    shapes = list(itertools.pairwise(sizes))
    weights = [[[rest.pop(0) for _ in range(m)] for _ in range(n)] for n, m in shapes]
    biases = [[rest.pop(0) for _ in range(m)] for _, m in shapes]
    total = mp.mpf(0)
    for x, label in zip(X, y, strict=True):
        a = [mp.mpf(float(value)) for value in x]
        for layer, (W, b) in enumerate(zip(weights, biases, strict=True)):
            h = [b[j] + sum(a[i] * W[i][j] for i in range(len(a))) for j in range(len(b))]
            a = h if layer == len(shapes) - 1 else [v / (1 + mp.exp(-beta * v)) for v in h]
        total += exact_terms_value(a, int(label))
    return total / len(X)


def exact_terms_value(z, y):
    if len(z) == 1:
        return mp.log(1 + mp.exp(-z[0] if y else z[0]))
    return mp.log(sum(mp.exp(x - z[y]) for x in z))


def exact_eigenvalues(loss, flat):
    """By second differences: with a step of 10⁻¹⁸ and 60 digits they are off by 10⁻²⁴ at most."""
    n, step = len(flat), mp.mpf(10) ** -18

    def at(*moved):
        there = [mp.mpf(float(v)) for v in flat]
        for index, sign in moved:
            there[index] += sign * step
        return loss(there)

    H = mp.matrix(n, n)
    for i in range(n):
        for j in range(i + 1):
            signs = [(a, b) for a in (1, -1) for b in (1, -1)]
            H[i, j] = sum(a * b * at((i, a), (j, b)) for a, b in signs) / (4 * step**2)
            H[j, i] = H[i, j]
    return np.array([float(v) for v in mp.eigsy(H, eigvals_only=True)])


def sure_examples(network, θ):
    """Of each class the three of 300 points that the network is most certain of."""
    X = np.random.default_rng(3).normal(size=(300, 2))
    z = np.asarray(network.logits(θ, jnp.asarray(X)))
    if z.shape[1] == 1:
        y, margin = (z[:, 0] > 0).astype(int), np.abs(z[:, 0])
    else:
        best = np.sort(z, axis=1)
        y, margin = z.argmax(axis=1), best[:, -1] - best[:, -2]
    order = np.argsort(-margin)
    stored = np.concatenate([order[y[order] == label][:3] for label in np.unique(y)])
    return X[stored], z[stored], y[stored]


@pytest.mark.parametrize("outputs", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "target", [*(pytest.param(t, marks=pytest.mark.slow) for t in (1e-3, 1e-8, 1e-11)), 1e-14]
)
def test_eigenvalues_are_those_of_extended_precision_at_every_loss(outputs, target):
    """Labels are what the network says, so that a factor of its output sets the loss."""
    sizes, beta = (2, 2, outputs), 1.0
    network = Classifier(sizes, tl.Swish(beta))
    θ = network.initial(jax.random.key(1))
    if outputs == 1:  # the class that the loss comes from is 1, where p goes to 1
        θ = θ._replace(weights=(θ.weights[0], -θ.weights[1]))
    X, z, y = sure_examples(network, θ)

    def scaled(factor):
        grown = θ._replace(weights=(θ.weights[0], θ.weights[1] * factor))
        return grown, Loss(network, jnp.asarray(X), jnp.asarray(y))

    low, high = 0.0, 20.0  # of ln factor: the loss falls with it
    for _ in range(60):
        middle = (low + high) / 2
        grown, loss = scaled(np.exp(middle))
        low, high = (middle, high) if float(loss(grown)) > target else (low, middle)
    flat = np.asarray(ravel_pytree(grown)[0])
    exact = exact_eigenvalues(lambda v: exact_loss(sizes, v, X, y, beta), flat)
    value = float(exact_loss(sizes, [mp.mpf(float(v)) for v in flat], X, y, beta))
    assert value == pytest.approx(target, rel=1e-3)
    assert float(loss(grown)) == pytest.approx(value, rel=1e-12)
    λ = hessian_eigenvalues(loss, grown)
    largest = np.abs(z).max() * np.exp(middle)
    # Sums over n parameters, and logits whose rounding moves every probability by |z| eps.
    assert np.abs(λ - exact).max() <= 4 * (len(flat) + largest) * EPS * np.abs(exact).max()
