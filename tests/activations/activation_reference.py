"""The activations once more, in mpmath at 30 digits, and their coefficients by tanh–sinh."""

import jax.numpy as jnp
import mpmath as mp

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


# Activation, its definition in mpmath, and how steep it is at its steepest (its scale is 1/that).
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


def shifted() -> Activation:
    """max(x − 0.3, 0) + tanh x: a kink away from zero, no symmetry, no closed form."""
    return Activation.from_function(_shifted, "shifted", kinks=(0.3,))


def shifted_mp(x):
    return max(x - mp.mpf(0.3), mp.mpf(0)) + mp.tanh(x)


def hermite_polynomial(n, z):
    """He_n(z)/√n!, from the explicit sum Σ (−1)^m z^{n−2m} √n!/(2^m m! (n−2m)!)."""
    terms = (
        (-1) ** m * mp.mpf(z) ** (n - 2 * m) / (2**m * mp.factorial(m) * mp.factorial(n - 2 * m))
        for m in range(n // 2 + 1)
    )
    return mp.sqrt(mp.factorial(n)) * mp.fsum(terms)


def coefficient(g, n, q, steepness=1, kinks=()):
    """∫ dz φ(z) h_n(z) g(√q z) in mpmath, split at zero, at the kinks and at the scale of g."""
    s = mp.sqrt(mp.mpf(q))
    scale = 2 / (steepness * s)
    points = {mp.mpf(p) for p in (-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16)}
    points |= {sign * k * scale for sign in (-1, 1) for k in (1, 4, 16) if k * scale < 1}
    points |= {mp.mpf(p) / s for p in kinks if abs(mp.mpf(p) / s) < 16}
    total, error = mp.quad(
        lambda z: mp.npdf(z) * hermite_polynomial(n, z) * g(s * z), sorted(points), error=True
    )
    assert error < 1e-20
    return total
