"""asin ρ and √(C_ii C_aa - C_ia²) of pairs of fields, in few vector instructions.

With a = |C_ia|, A = √(C_ii C_aa - C_ia²) and s = √(C_ii C_aa), the smaller one of asin |ρ| and
acos |ρ| is

    ψ = 2 atan q,   q = min(A, a)/(s + max(A, a)) = tan(ψ/2) ≤ tan(π/8),

which is exact where fields are orthogonal or parallel, and

    2 atan q = 2 q N(q²)/D(q²),   A = q (s + a) for a > A,   A = s - q a for a ≤ A.

N and D interpolate atan(t)/t at Chebyshev nodes with N(0) = D(0) = 1; a test computes them with 60
digits.

XLA computes a quotient once and stores it, and repeats all other operations in each loop that reads
their result.  LLVM compiles loops of few operations over few fields to scalar code.  The division
by D is therefore the last operation, and the numbers in between are not stored.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.averages.orthant.twofold import minor

# N and D as polynomials in z = t² ≤ tan²(π/8), lowest power first: relative error of atan below
# 2e-17.
NUMERATOR = (
    1.0,
    1.7436707197164327,
    0.9250407428196852,
    0.15107870063364007,
    0.0036304317736963964,
)
DENOMINATOR = (
    1.0,
    2.077004053049766,
    1.4173754271696792,
    0.3509935085950787,
    0.022756936581323012,
)
_TINY = 1e-300  # so that fields of variance zero have q = 0


class Arcsines(NamedTuple):
    """asin ρ_ia, A_ia = √(C_ii C_aa - C_ia²), and C_ii, or 1 where C_ii = 0.

    A field of variance zero counts as independent of all others.
    """

    arcsine: Float[Array, "... K n"]
    area: Float[Array, "... K n"]
    rows: Float[Array, "... K 1"]


def arcsines(C: Float[Array, "... n n"], K: int) -> Arcsines:
    """Return asin ρ_ia of the first K fields with all fields."""
    variance = jnp.diagonal(C, axis1=-2, axis2=-1)
    root = jnp.sqrt(jnp.maximum(variance, 0.0))
    rows, c = variance[..., :K, None], C[..., :K, :]
    area = jnp.sqrt(determinant(rows, c, variance[..., None, :]))
    size, a = root[..., :K, None] * root[..., None, :], jnp.abs(c)
    # With a before the area XLA stores the area, and the division becomes scalar code.
    q = jnp.minimum(area, a) / (size + jnp.maximum(area, a) + _TINY)
    z = q * q
    denominator = _polynomial(z, DENOMINATOR)
    angle = 2 * q * _polynomial(z, NUMERATOR)
    is_close = math.sqrt(2) * a > size
    right = math.pi / 2 * denominator
    size_of_arcsine = jnp.where(is_close, right - angle, angle)
    same = np.eye(K, C.shape[-1], dtype=bool)
    arcsine = jnp.where(same, right, jnp.copysign(size_of_arcsine, c))
    arcsine = jnp.where(size > 0, arcsine, 0.0)
    area = jnp.where(is_close, q * (size + a), size - q * a)
    return Arcsines(
        arcsine / denominator, jnp.where(same, 0.0, area), jnp.where(rows > 0, rows, 1.0)
    )


def determinant(C_ii: Array, C_ij: Array, C_jj: Array) -> Array:
    """C_ii C_jj - C_ij², rounded once, or 0 if it is negative."""
    return jnp.maximum(minor(C_ii, C_ij, C_ij, C_jj), 0.0)


def _polynomial(z: Array, coefficients: tuple[float, ...]) -> Array:
    """Σ_k c_k z^k of degree 4: a short chain of dependent operations."""
    c0, c1, c2, c3, c4 = coefficients
    square = z * z
    return (c0 + c1 * z) + square * ((c2 + c3 * z) + c4 * square)
