"""The activations once more, in mpmath at 30 digits, and their Hermite coefficients."""

import functools
import itertools

import jax.numpy as jnp
import mpmath as mp
import numpy as np

from tutelage.activations import (
    GELU,
    Activation,
    Erf,
    LeakyReLU,
    Linear,
    ReLU,
    Sigmoid,
    Softplus,
    Swish,
    Tanh,
)

mp.mp.dps = 30


def _sigma(t):
    return 1 / (1 + mp.exp(-t))


def _shifted(x):
    return jnp.maximum(x - 0.3, 0.0) + jnp.tanh(x)


# Activation, its definition in mpmath, and how steep it is at its steepest.
CASES = {
    "ReLU": (ReLU(), lambda x: max(x, mp.mpf(0)), 1),
    "LeakyReLU(0.1)": (LeakyReLU(0.1), lambda x: x if x > 0 else mp.mpf(0.1) * x, 1),
    "Linear": (Linear(), lambda x: x, 1),
    "Erf": (Erf(), lambda x: mp.erf(x / mp.sqrt(2)), 1),
    "Erf(1)": (Erf(1.0), lambda x: 1 + mp.erf(x / mp.sqrt(2)), 1),
    "Sigmoid": (Sigmoid(), _sigma, 1),
    "Sigmoid(50)": (Sigmoid(50.0), lambda x: _sigma(50 * x), 50),
    "Tanh": (Tanh(), mp.tanh, 1),
    "Swish": (Swish(), lambda x: x * _sigma(x), 1),
    "Swish(50)": (Swish(50.0), lambda x: x * _sigma(50 * x), 50),
    "GELU": (GELU(), lambda x: x * mp.ncdf(x), 1),
    "Softplus": (Softplus(), lambda x: mp.log1p(mp.exp(x)), 1),
}
CLOSED = ("ReLU", "LeakyReLU(0.1)", "Linear", "Erf", "Erf(1)", "GELU")
NUMERICAL = ("Sigmoid", "Sigmoid(50)", "Tanh", "Swish", "Swish(50)", "Softplus")


@functools.cache
def shifted() -> Activation:
    """max(x − 0.3, 0) + tanh x: a kink away from zero, no symmetry, no closed form."""
    return Activation.from_function(_shifted, "shifted", kinks=(0.3,))


def shifted_mp(x):
    return max(x - mp.mpf(0.3), mp.mpf(0)) + mp.tanh(x)


@functools.cache
def _legendre(points=30):
    """Gauss–Legendre nodes and weights to 30 digits: numpy's, polished by Newton's method."""
    rule = []
    for start in np.polynomial.legendre.leggauss(points)[0]:
        x = mp.mpf(float(start))
        for _ in range(3):
            p, below = mp.legendre(points, x), mp.legendre(points - 1, x)
            slope = points * (below - x * p) / (1 - x**2)
            x -= p / slope
        below = mp.legendre(points - 1, x)
        rule.append((x, 2 * (1 - x**2) / (points * below) ** 2))
    return rule


@functools.cache
def _gaussian_rule(centres=(), highest=21):
    """Nodes z and φ(z) h_n(z) dz for all n, on panels that halve towards 0 and the centres."""
    fan = [sign * mp.mpf(2) ** -k for k in range(1, 11) for sign in (-1, 1)]
    edges = {mp.mpf(k) for k in range(-16, 17)}
    edges |= {c + f for c in (mp.mpf(0), *centres) for f in (0, *fan) if abs(c) < 15}
    edges = sorted(edges)
    z, weights = [], []
    for left, right in itertools.pairwise(edges):
        for x, w in _legendre():
            node = (left + right + x * (right - left)) / 2
            h = [mp.mpf(1), node]
            for n in range(1, highest):
                h.append((node * h[n] - mp.sqrt(n) * h[n - 1]) / mp.sqrt(n + 1))
            scale = mp.npdf(node) * w * (right - left) / 2
            z.append(node)
            weights.append([scale * h_n for h_n in h])
    return z, list(zip(*weights, strict=True))


def coefficients(g, q, kinks=()):
    """∫ dz φ(z) h_n(z) g(√q z) for n = 0 … 21, in mpmath.

    30 points on panels that halve down to 2⁻¹⁰: converged to 30 digits for 1/scale(g) ≤ 500.
    """
    s = mp.sqrt(mp.mpf(q))
    z, weights = _gaussian_rule(tuple(mp.mpf(p) / s for p in kinks))
    values = [g(s * node) for node in z]
    return [mp.fdot(row, values) for row in weights]


def gaussian_panels(breakpoints=()):
    """Nodes and Gaussian weights in float64: ⟨f(z)⟩ = Σ w f(z), with f smooth between these."""
    near = 0.25 * 0.5 ** np.arange(1, 8)  # for β = 50
    edges = np.unique(np.concatenate([np.linspace(-12, 12, 97), near, -near, breakpoints]))
    x, w = np.polynomial.legendre.leggauss(20)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    z = (middle[:, None] + half[:, None] * x).ravel()
    return z, (half[:, None] * w).ravel() * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
