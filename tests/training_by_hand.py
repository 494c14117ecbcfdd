"""A training by hand, in NumPy: a user's loop without the package."""

import numpy as np
from scipy import special

import tutelage as tl

N = 100
START = tl.Overlaps(Q=[[0.3]], R=[[0.1]], T=[[1.0]])


def erf(x):
    return special.erf(x / np.sqrt(2))


def slope(x):
    return np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)


# g and g' in NumPy, as an independent route.
UNITS = {
    "relu": (tl.ReLU(), lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    "erf": (tl.Erf(), erf, slope),
    "gelu": (
        tl.GELU(),
        lambda x: x * special.ndtr(x),
        lambda x: special.ndtr(x) + x * slope(x) / 2,
    ),
}


def weights(seed=0, start=START, dimension=N):
    return tuple(np.array(W) for W in start.to_weights(dimension, seed))


def trained(record, J, B, rate, steps, *, seed=0, inputs=None, momentum=0.0, decay=0.0):
    """Gradient descent on ½(σ - τ)², one new example for each step, as PyTorch's SGD does it."""
    rng, velocity = np.random.default_rng(seed), np.zeros_like(J)
    record(J)
    for _ in range(steps):
        ξ = rng.standard_normal(J.shape[1])
        ξ = ξ if inputs is None else inputs(ξ, rng)
        x, y = J @ ξ, B @ ξ
        δ = slope(x) * (erf(y).sum() - erf(x).sum())
        velocity = momentum * velocity + np.outer(δ, ξ) - decay * J
        J += rate * velocity
        record(J)
    return record


def recorder(B, rate, **options):
    return tl.bridge.Recorder(B, rate, activation=tl.Erf(), **options)
