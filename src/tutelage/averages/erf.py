"""Closed forms for the error function, g(x) = offset + erf(x/√2) (Saad and Solla 1995).

With indices 1 … 4 in the order of the arguments. An offset changes g but not g'; what it
adds follows from the symmetry z → -z, under which erf is odd and its derivative even.
"""

import math

from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.activations import Activation, Erf
from tutelage.averages.estimate import Estimate
from tutelage.averages.orthant.twofold import minor

# Rounding of a few dozen operations on numbers of order one.
_ROUNDING = 1e-14
# In place of a Λ that no covariance has: a number all the same.
SMALLEST = 1e-300


def supports(activations: tuple[Activation, ...]) -> bool:
    """True if every unit is an error function."""
    return all(isinstance(g, Erf) for g in activations)


def i2(activations: tuple[Erf, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g(u) h(w)⟩ = (2/π) asin[C12/√((1 + C11)(1 + C22))], plus the product of the offsets."""
    g, h = activations
    value = g.offset * h.offset + two_signs(C[..., 0, 0], C[..., 0, 1], C[..., 1, 1])
    return _estimate(value, 1.0 + abs(g.offset * h.offset))


def i3(activations: tuple[Erf, ...], C: Float[Array, "... 3 3"]) -> Estimate:
    """⟨g'(u) v h(w)⟩ = (2/π) [C23(1 + C11) - C12 C13]/[(1 + C11)√Λ3], any offset."""
    c11, c33 = 1 + C[..., 0, 0], 1 + C[..., 2, 2]
    c12, c13, c23 = C[..., 0, 1], C[..., 0, 2], C[..., 1, 2]
    lambda3 = _lambda(C[..., 0, 0], c13, C[..., 2, 2])
    value = 2 / math.pi * (c23 * c11 - c12 * c13) / (c11 * jnp.sqrt(lambda3))
    return _estimate(value, jnp.sqrt(C[..., 1, 1] / c33))


def i4(activations: tuple[Erf, ...], C: Float[Array, "... 4 4"]) -> Estimate:
    """⟨g'(u) g'(v) h(w) k(z)⟩ = (4/π²) asin[Λ0/√(Λ1 Λ2)]/√Λ4, plus (2/π) offsets/√Λ4."""
    *_, h, k = activations
    c11, c22, c33, c44 = (1 + C[..., i, i] for i in range(4))
    c12, c13, c14 = C[..., 0, 1], C[..., 0, 2], C[..., 0, 3]
    c23, c24, c34 = C[..., 1, 2], C[..., 1, 3], C[..., 2, 3]
    lambda4 = _lambda(C[..., 0, 0], c12, C[..., 1, 1])
    lambda0 = lambda4 * c34 - c23 * c24 * c11 - c13 * c14 * c22 + c12 * c13 * c24 + c12 * c14 * c23
    lambda1 = lambda4 * c33 - c23**2 * c11 - c13**2 * c22 + 2 * c12 * c13 * c23
    lambda2 = lambda4 * c44 - c24**2 * c11 - c14**2 * c22 + 2 * c12 * c14 * c24
    asin = _asin(lambda0, lambda1 * lambda2)
    constant = h.offset * k.offset
    value = (4 / math.pi**2 * asin + 2 / math.pi * constant) / jnp.sqrt(lambda4)
    return _estimate(value, (1.0 + abs(constant)) * c33 * c44 / jnp.sqrt(lambda4))


def slopes(activations: tuple[Erf, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g'(u) h'(w)⟩ = (2/π)/√Λ, Λ = (1 + C11)(1 + C22) - C12²."""
    value = 2 / math.pi / jnp.sqrt(_lambda(C[..., 0, 0], C[..., 0, 1], C[..., 1, 1]))
    return _estimate(value, 1.0)


def _lambda(C_ii: Array, C_ij: Array, C_jj: Array) -> Array:
    """(1 + C_ii)(1 + C_jj) - C_ij²: without cancellation, and at least 1 for a covariance.

    Where fields coincide the determinant is 0, or rounding of either sign: it stays as it is, since
    a bound there would cut its derivatives in one place of a compiled program and not in another.
    """
    found = minor(C_ii, C_ij, C_ij, C_jj) + (1 + C_ii + C_jj)
    return jnp.where(found > 0, found, SMALLEST)


def two_signs(C_ii: Array, C_ij: Array, C_jj: Array) -> Array:
    """(2/π) asin[C_ij/√((1 + C_ii)(1 + C_jj))] = ⟨erf(u/√2) erf(w/√2)⟩."""
    return 2 / math.pi * jnp.arctan2(C_ij, jnp.sqrt(_lambda(C_ii, C_ij, C_jj)))


def _asin(x: Array, square: Array) -> Array:
    """asin(x/√square), without leaving [-1, 1] by rounding."""
    tiny = jnp.finfo(jnp.float64).eps ** 2 * square
    return jnp.arctan2(x, jnp.sqrt(jnp.maximum(square - x * x, tiny)))


def _estimate(value: Array, scale: Array | float) -> Estimate:
    return Estimate(value, _ROUNDING * jnp.broadcast_to(jnp.asarray(scale), value.shape))
