"""P_4, the probability that four Gaussian fields are positive, and how it changes.

By Plackett's identity ∂P_4/∂Σ_ij is the density of f_i = f_j = 0 times the probability P_2 that
the other two fields are then positive, an arcsine.  P_4 itself is its integral on the way from
independent fields to their correlations.  NumPy, because a derivative by a complex step needs
complex covariances, and a handful of states no compiled program.
"""

import math

import numpy as np

PAIRS = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1)]
# Double exponential rule on [0, 1]: correlations next to ±1 cause a singularity next to 1.
_s = np.linspace(-3.2, 3.2, 81)
_x = np.exp(math.pi / 2 * np.sinh(_s))
PATH, BEFORE = _x / (_x + 1 / _x), 1 / _x / (_x + 1 / _x)  # t and 1 − t
WEIGHTS = (_s[1] - _s[0]) * math.pi * np.cosh(_s) * PATH * BEFORE


def orthant_change(covariance: np.ndarray) -> np.ndarray:
    """∂P_4/∂Σ, shape (..., 4, 4): dP_4 is the sum of its products with the elements of dΣ."""
    change = np.zeros_like(covariance)
    for i, j, by_pair in _by_pairs(covariance, np.linalg.inv(covariance)):
        change[..., i, j] = change[..., j, i] = 0.5 * by_pair
    # P_4 does not depend on the variances of fields at given correlations.
    own = np.sum(covariance * change, -1) / np.einsum("...ii->...i", covariance)
    return change - own[..., None] * np.eye(4)


def orthant_probability(covariance: np.ndarray) -> np.ndarray:
    """P_4 of real covariances, shape (...)."""
    scale = np.sqrt(np.einsum("...ii->...i", covariance))
    correlation = covariance / scale[..., :, None] / scale[..., None, :]
    off = correlation * (1 - np.eye(4))
    total = np.full(covariance.shape[:-2], 1 / 16)
    path = off[..., None, :, :] * PATH[:, None, None] + np.eye(4)
    for i, j, by_pair in _by_pairs(path, np.linalg.inv(path)):
        total = total + off[..., i, j] * (by_pair @ WEIGHTS)
    return total


def _by_pairs(covariance: np.ndarray, inverse: np.ndarray):
    """Yield i, j and ∂P_4/∂Σ_ij, with Σ_ij = Σ_ji one variable."""
    for i, j, k, m in PAIRS:
        area = covariance[..., i, i] * covariance[..., j, j] - covariance[..., i, j] ** 2
        minor = inverse[..., k, k] * inverse[..., m, m] - inverse[..., k, m] ** 2
        angle = np.arctan(-inverse[..., k, m] / np.sqrt(minor))
        yield i, j, (0.25 + angle / (2 * math.pi)) / (2 * math.pi * np.sqrt(area))
