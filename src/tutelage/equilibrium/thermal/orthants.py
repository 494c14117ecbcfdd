"""P_4, the probability that four Gaussian fields are positive, and how it changes.

By Plackett's identity ∂P_4/∂ρ_ij is the density of f_i = f_j = 0 times the probability P_2 that
the other two fields are then positive, an arcsine.  P_4 itself is its integral on the way from
independent fields to their correlations.

`averages.orthant` has the same P_4 as a JAX function.  Here are its first derivatives in closed
form and at complex covariances, so that a complex step gives second ones, in NumPy: a handful of
states needs no compiled program, of which second derivatives of the JAX function are a large one.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

PAIRS = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1)]
# Double exponential rule on [0, 1]: correlations next to ±1 cause a singularity next to 1.
_s = np.linspace(-3.52, 3.52, 73)
_x = np.exp(math.pi / 2 * np.sinh(_s))
PATH, BEFORE = _x / (_x + 1 / _x), 1 / _x / (_x + 1 / _x)  # t and 1 − t
WEIGHTS = (_s[1] - _s[0]) * math.pi * np.cosh(_s) * PATH * BEFORE


def orthant_change(covariance: np.ndarray) -> np.ndarray:
    """∂P_4/∂Σ, shape (..., 4, 4): dP_4 is the sum of its products with the elements of dΣ."""
    scale, rho = _normalized(covariance)
    change, one = np.zeros_like(covariance), np.ones(1)
    for i, j, by_pair in _by_pairs(rho, one, 0 * one, np.linalg.det(rho)[..., None]):
        half = 0.5 * by_pair[..., 0] / (scale[..., i] * scale[..., j])
        change[..., i, j] = change[..., j, i] = half
    # P_4 does not depend on the variances of fields at given correlations.
    own = np.sum(covariance * change, -1) / np.einsum("...ii->...i", covariance)
    return change - own[..., None] * np.eye(4)


def orthant_probability(covariance: np.ndarray) -> np.ndarray:
    """P_4 of real covariances with positive variances, also singular ones, shape (...)."""
    rho = np.clip(_normalized(covariance)[1], -1, 1)
    # On the path correlations are tρ, and eigenvalues 1 − t + tλ: no digit of 1 − t is lost.
    own = np.maximum(np.linalg.eigvalsh(rho), 0.0)
    determinant = np.prod([BEFORE + own[..., k, None] * PATH for k in range(4)], axis=0)
    total = np.full(covariance.shape[:-2], 1 / 16)
    for i, j, by_pair in _by_pairs(rho, PATH, BEFORE, determinant):
        total = total + rho[..., i, j] * (by_pair @ WEIGHTS)
    return total


def _normalized(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return standard deviations and correlations."""
    scale = np.sqrt(np.einsum("...ii->...i", covariance))
    return scale, covariance / scale[..., :, None] / scale[..., None, :]


def _by_pairs(
    rho: np.ndarray, t: np.ndarray, before: np.ndarray, determinant: np.ndarray
) -> Iterator[tuple[int, int, Any]]:
    """Yield i, j and ∂P_4/∂ρ_ij at the correlations tρ, t and 1 − t on the last axis.

    Given f_i = f_j = 0 the covariance of the other two fields is taken in f_i + f_j and f_i − f_j,
    in which nothing cancels, and the determinant of their covariances is det ρ/(1 − ρ_ij²).
    """
    for i, j, k, m in PAIRS:
        near = before + t * (1 - rho[..., i, j])[..., None]
        far = before + t * (1 + rho[..., i, j])[..., None]
        sums = (rho[..., k, i] + rho[..., k, j]) * (rho[..., m, i] + rho[..., m, j]) / 2
        differences = (rho[..., k, i] - rho[..., k, j]) * (rho[..., m, i] - rho[..., m, j]) / 2
        known = sums[..., None] / far + differences[..., None] / near
        root = np.sqrt(near * far)
        angle = np.arctan(t * (rho[..., k, m, None] - t * known) * root / np.sqrt(determinant))
        yield i, j, (0.25 + angle / (2 * math.pi)) / (2 * math.pi * root)
