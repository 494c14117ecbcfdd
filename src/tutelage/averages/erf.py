"""Closed forms for the error function, g(x) = o + e erf(x/√2) (Saad and Solla 1995).

With indices 1 … 4 in the order of the arguments. A constant o changes g but not g'; what it
adds follows from the symmetry z → -z, under which erf is odd and its derivative even.
"""

import math
from typing import Any

from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.activations.closed import ClosedForm
from tutelage.averages.estimate import Estimate
from tutelage.averages.orthant.twofold import minor

# Rounding of a few dozen operations on numbers of order one.
_ROUNDING = 1e-14
# In place of a Λ that no covariance has: a number all the same.
SMALLEST = 1e-300


def supports(activations: tuple[Activation, ...]) -> bool:
    """True if every unit is an error function."""
    forms = (g.closed_form for g in activations)
    return all(form is not None and form.is_error_function for form in forms)


def i2(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g(u) h(w)⟩ = e_g e_h (2/π) asin[C12/√((1 + C11)(1 + C22))] + o_g o_h."""
    g, h = map(form_of, activations)
    constant, size = _constants(g, h), g.erf * h.erf
    value = constant + size * two_signs(C[..., 0, 0], C[..., 0, 1], C[..., 1, 1])
    return _estimate(value, abs(size) + abs(constant))


def i3(activations: tuple[Activation, ...], C: Float[Array, "... 3 3"]) -> Estimate:
    """⟨g'(u) v h(w)⟩ = e_g e_h (2/π) [C23(1 + C11) - C12 C13]/[(1 + C11)√Λ3], any constant."""
    g, h = map(form_of, activations)
    size = g.erf * h.erf
    c11, c33 = 1 + C[..., 0, 0], 1 + C[..., 2, 2]
    c12, c13, c23 = C[..., 0, 1], C[..., 0, 2], C[..., 1, 2]
    lambda3 = _lambda(C[..., 0, 0], c13, C[..., 2, 2])
    value = size * (2 / math.pi * (c23 * c11 - c12 * c13) / (c11 * jnp.sqrt(lambda3)))
    return _estimate(value, abs(size) * jnp.sqrt(C[..., 1, 1] / c33))


def i4(activations: tuple[Activation, ...], C: Float[Array, "... 4 4"]) -> Estimate:
    """⟨g_1'(u) g_2'(v) h(w) k(z)⟩ = (4/π²) asin[Λ0/√(Λ1 Λ2)]/√Λ4 + (2/π) o_h o_k/√Λ4.

    The first term times e of all four units, the second times e_1 e_2.
    """
    g1, g2, h, k = map(form_of, activations)
    c11, c22, c33, c44 = (1 + C[..., i, i] for i in range(4))
    c12, c13, c14 = C[..., 0, 1], C[..., 0, 2], C[..., 0, 3]
    c23, c24, c34 = C[..., 1, 2], C[..., 1, 3], C[..., 2, 3]
    lambda4 = _lambda(C[..., 0, 0], c12, C[..., 1, 1])
    lambda0 = lambda4 * c34 - c23 * c24 * c11 - c13 * c14 * c22 + c12 * c13 * c24 + c12 * c14 * c23
    lambda1 = lambda4 * c33 - c23**2 * c11 - c13**2 * c22 + 2 * c12 * c13 * c23
    lambda2 = lambda4 * c44 - c24**2 * c11 - c14**2 * c22 + 2 * c12 * c14 * c24
    asin = _asin(lambda0, lambda1 * lambda2)
    constant, slopes, size = _constants(h, k), g1.erf * g2.erf, h.erf * k.erf
    value = (4 / math.pi**2 * size * asin + 2 / math.pi * constant) / jnp.sqrt(lambda4)
    scale = abs(slopes) * (abs(size) + abs(constant))
    return _estimate(slopes * value, scale * c33 * c44 / jnp.sqrt(lambda4))


def slopes(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g'(u) h'(w)⟩ = e_g e_h (2/π)/√Λ, Λ = (1 + C11)(1 + C22) - C12²."""
    g, h = map(form_of, activations)
    value = 2 / math.pi / jnp.sqrt(_lambda(C[..., 0, 0], C[..., 0, 1], C[..., 1, 1]))
    return _estimate(g.erf * h.erf * value, abs(g.erf * h.erf))


def _constants(g: ClosedForm, h: ClosedForm) -> Any:
    """o_g o_h."""
    return 0.0 if g.constant is None or h.constant is None else g.constant * h.constant


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
