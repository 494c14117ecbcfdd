"""Stability against all K² + K(K−1)/2 overlaps, from the symmetry of the state.

A site-symmetric state is invariant under permutations of the units, so that the Hessian of

    βf = α Σ_{i<j} κ(Q_ij) − α Σ_ij κ(R_ij) − ½ ln det(Q − RRᵀ) + const

falls into blocks, one for each irreducible representation of the symmetric group S_K in the
space of all R_ij and Q_ij (i < j):

    trivial       (1 dimension):            3 × 3, in R, S and C
    standard      (K − 1):                  4 × 4, one unit against the others
    [K−2, 2]      (K(K−3)/2):               2 × 2, symmetric, between pairs of units
    [K−2, 1, 1]   ((K−1)(K−2)/2):           1 × 1, antisymmetric

Each block acts on orthonormal coordinates, so that its eigenvalues are those of the full matrix.
A perturbation X of R and Z of Q changes Q − RRᵀ by Y = Z − XRᵀ − RXᵀ to first order, and with
a = 1/A on the mean of the units and b = 1/B on their differences, M⁻¹ = aP + b(1−P),

    2 δ²(βf) = tr M⁻¹XXᵀ + ½ tr (M⁻¹Y)² − α Σ κ''(R_ij) X_ij² + α Σ_{i<j} κ''(C) Z_ij².

The partition of K names a representation (Young diagram).
"""

import math
from typing import NamedTuple

import numpy as np

from tutelage._types import FloatOrArray

SWEEPS = 30


class HessianBlock(NamedTuple):
    """One representation: its name, its dimension, and its eigenvalues with their multiplicity."""

    representation: str
    multiplicity: float
    eigenvalues: np.ndarray


def is_positive(H: np.ndarray) -> np.ndarray:
    """True where a matrix is positive definite: every pivot is positive; shape (...).

    Elimination begins with the stiff directions, which come first in each block.
    """
    H = np.array(H)
    positive = np.ones(H.shape[:-2], dtype=bool)
    for i in range(H.shape[-1]):
        pivot = H[..., i, i]
        positive &= pivot > 0
        safe = np.where(pivot > 0, pivot, 1.0)
        H = H - _square(H[..., i, :]) / safe[..., None, None]
    return positive


def trivial_block(
    load: FloatOrArray,
    K: float,
    U: FloatOrArray,
    V: FloatOrArray,
    a: FloatOrArray,
    b: FloatOrArray,
    k2: np.ndarray,
) -> np.ndarray:
    """X = u P + v (1−P)/√(K−1) and Z_ij = z √(2/(K(K−1))): coordinates u, z, v.

    k2: κ'' at R, S and C.
    """
    n, root = 1 / K, math.sqrt(K - 1)
    a, b, U, V = (_vector(x) for x in (a, b, U, V))
    u, z, v = np.eye(3)
    k2_R, k2_S, k2_C = (_matrix(load * x) for x in k2)
    H = _matrix(a[..., 0]) * _square(u) + _matrix(b[..., 0]) * _square(v)
    H = H + 0.5 * _square(a * (2 * U * u - math.sqrt(2 * (1 - n)) * z))
    H = H + 0.5 * _square(b * (math.sqrt(2 * n) * z + 2 * V * v))
    H = H - k2_R * n * _square(u + root * v) - k2_S * n * _square(root * u - v)
    return H + k2_C * _square(z)


def standard_block(
    load: FloatOrArray,
    K: float,
    U: FloatOrArray,
    V: FloatOrArray,
    a: FloatOrArray,
    b: FloatOrArray,
    k2: np.ndarray,
) -> np.ndarray:
    """X = x₁ diag(e) + x₂ e1ᵀ + x₃ 1eᵀ and Z_ij = z(e_i + e_j), for Σe_i = 0, |e| = 1.

    Coordinates: Z, N₋ = e1ᵀ − 1eᵀ, N₊ = e1ᵀ + 1eᵀ − 2 diag(e) and diag(e), each divided by its
    norm √(K−2), √(2K), √(2(K−2)), 1; with two units Z and N₊ vanish.
    """
    n = 1 / K
    a, b, U, V = (_vector(x) for x in (a, b, U, V))
    plus = 1 / math.sqrt(2 * (K - 2)) if K > 2 else 0.0
    minus = 1 / math.sqrt(2 * K)
    x1 = np.array([0, 0, -2 * plus, 1])
    x2, x3 = np.array([0, minus, plus, 0]), np.array([0, -minus, plus, 0])
    z = np.array([math.sqrt(2) * plus, 0, 0, 0])
    y_diagonal = -2 * z - 2 * V * x1
    y_sum = z - U * x2 - (U - V) * n * x1 - V * x3  # Y = y_diagonal diag(e) + y_sum (e1ᵀ + 1eᵀ)
    k2_R, k2_S, k2_C = (_matrix(load * x) for x in k2)
    diagonal, all_R, all_Q = _square(x1 + x2 + x3), np.diag([0.0, 1, 1, 1]), np.diag([1.0, 0, 0, 0])
    H = _matrix(b[..., 0]) * all_R + _matrix((a - b)[..., 0]) * n * _square(x1 + K * x3)
    H = H + 0.5 * (1 - 2 * n) * _square(b * y_diagonal)
    H = H + _matrix((a * b)[..., 0]) * n * _square(y_diagonal + K * y_sum)
    H = H - k2_R * diagonal - k2_S * (all_R - diagonal) + k2_C * all_Q
    return H if K > 2 else H[..., [1, 3], :][..., [1, 3]]


def pairs_block(
    load: FloatOrArray, V: FloatOrArray, b: FloatOrArray, k2_S: FloatOrArray, k2_C: FloatOrArray
) -> np.ndarray:
    """X and Z symmetric, without diagonal and without row sums: Y = Z − 2VX; coordinates Z, X."""
    mixed = -math.sqrt(2) * V * b**2
    rows = [[b**2 + load * k2_C, mixed], [mixed, b + 2 * (V * b) ** 2 - load * k2_S]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def antisymmetric_block(load: FloatOrArray, b: FloatOrArray, k2_S: FloatOrArray) -> np.ndarray:
    """Block of antisymmetric X with vanishing row sums: Y = 0."""
    return _matrix(b - load * k2_S)


def _square(x: np.ndarray) -> np.ndarray:
    return x[..., :, None] * x[..., None, :]


def _vector(x: FloatOrArray) -> np.ndarray:
    """Add a trailing axis, for products with a vector of coordinates."""
    return np.asarray(x)[..., None]


def _matrix(x: FloatOrArray) -> np.ndarray:
    return np.asarray(x)[..., None, None]


def eigenvalues(H: np.ndarray) -> np.ndarray:
    """Eigenvalues of a small symmetric matrix, increasing, by Jacobi rotations.

    For K = 10⁶ the entries span twelve decades.  Jacobi's method finds small eigenvalues of such
    graded matrices to full relative accuracy, where LAPACK loses eigenvalues below ε times the
    largest.
    """
    H = np.array(H)
    size = len(H)
    for _ in range(SWEEPS):
        largest = 0.0
        for p in range(size):
            for q in range(p + 1, size):
                scale = math.sqrt(abs(H[p, p] * H[q, q])) or 1e-300
                if abs(H[p, q]) > 1e-17 * scale:
                    largest = max(largest, abs(H[p, q]) / scale)
                    _rotate(H, p, q)
        if largest < 1e-16:
            break
    return np.sort(np.diag(H))


def _rotate(H: np.ndarray, p: int, q: int) -> None:
    """Make H_pq vanish, in place."""
    theta = (H[q, q] - H[p, p]) / (2 * H[p, q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.hypot(1.0, theta))
    c = 1 / math.hypot(1.0, t)
    G = np.eye(len(H))
    G[p, p] = G[q, q] = c
    G[p, q], G[q, p] = t * c, -t * c
    d_p, d_q, off = H[p, p], H[q, q], H[p, q]
    H[:] = G.T @ H @ G
    H[p, p], H[q, q], H[p, q], H[q, p] = d_p - t * off, d_q + t * off, 0.0, 0.0
