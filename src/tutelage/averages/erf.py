"""Closed forms for the error function, g(x) = o + e erf(x/√2) (Saad and Solla 1995).

With indices 1 … 4 in the order of the arguments. A constant o changes g but not g'; its
contribution follows from the symmetry z → -z, under which erf is odd and its derivative even.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.activations.closed import ClosedForm
from tutelage.averages.estimate import Estimate
from tutelage.averages.orthant.angle import arctangent
from tutelage.averages.orthant.averages import power_of_two
from tutelage.averages.orthant.twofold import minor

# Relative rounding error of a few dozen operations on numbers of order one.
_ROUNDING = 1e-14


def supports(activations: tuple[Activation, ...]) -> bool:
    """Return whether every unit is an error function."""
    forms = (g.closed_form for g in activations)
    return all(form is not None and form.is_error_function for form in forms)


def i2(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g(u) h(w)⟩ = e_g e_h (2/π) asin[C12/√((1 + C11)(1 + C22))] + o_g o_h."""
    g, h = map(form_of, activations)
    constant, size = _constants(g, h), g.erf * h.erf
    return _estimate(constant + size * _scaled(C).signs(0, 1), abs(size) + abs(constant))


def i3(activations: tuple[Activation, ...], C: Float[Array, "... 3 3"]) -> Estimate:
    """⟨g'(u) v h(w)⟩ = e_g e_h (2/π) Σ23/√Λ3 with Σ the covariance given u + n = 0, for any
    offsets.

    Λ3 = (1 + C11)(1 + C33) - C13²;  Σ23 = [C23(1 + C11) - C12 C13]/(1 + C11), whose terms cancel.
    """
    g, h = map(form_of, activations)
    fields, size = _scaled(C), g.erf * h.erf
    given = fields.given(0)
    root, units = jnp.sqrt(fields.determinant(0, 2)), given.sizes / fields.sizes[..., [0, 0, 2]]
    value = 2 / math.pi * given.C[..., 1, 2] / root * units[..., 1] * units[..., 2]
    return _estimate(size * value, abs(size) * jnp.sqrt(C[..., 1, 1] / (1 + C[..., 2, 2])))


def i4(activations: tuple[Activation, ...], C: Float[Array, "... 4 4"]) -> Estimate:
    """⟨g_1'(u) g_2'(v) h(w) k(z)⟩ = (2/π) [(2/π) asin(Σ34/√((1 + Σ33)(1 + Σ44))) + o_h o_k]/√Λ4.

    The first term times e of all four units, the second times e_1 e_2.  Σ is the covariance of w
    and z given u + n = v + m = 0, n and m independent of variance 1.  The arcsine is that of
    Λ0/√(Λ1 Λ2) in Saad and Solla, whose determinants cancel.
    """
    g1, g2, h, k = map(form_of, activations)
    fields = _scaled(C)
    root = fields.deviation(0)
    fields = fields.given(0)
    root = root * fields.deviation(1)
    constant, slopes, size = _constants(h, k), g1.erf * g2.erf, h.erf * k.erf
    value = 2 / math.pi * (size * fields.given(1).signs(2, 3) + constant) / root
    scale = abs(slopes) * (abs(size) + abs(constant))
    return _estimate(slopes * value, scale * (1 + C[..., 2, 2]) * (1 + C[..., 3, 3]) / root)


def slopes(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g'(u) h'(w)⟩ = e_g e_h (2/π)/√Λ, Λ = (1 + C11)(1 + C22) - C12²."""
    g, h = map(form_of, activations)
    fields, size = _scaled(C), g.erf * h.erf
    root = fields.deviation(0) * fields.given(0).deviation(1)
    return _estimate(size * (2 / math.pi / root), abs(size))


def _constants(g: ClosedForm, h: ClosedForm) -> Any:
    """Return o_g o_h, the product of the constants."""
    return 0.0 if g.constant is None or h.constant is None else g.constant * h.constant


class _Noisy(NamedTuple):
    """Fields with independent noise, rescaled so that no product over- or underflows.

    C: covariance of the fields, in these units.
    noise: variance of the noise of every field, in these units.
    sizes: the units; powers of two, so that no digit changes.
    """

    C: Float[Array, "... n n"]
    noise: Float[Array, "... n"]
    sizes: Float[Array, "... n"]

    def deviation(self, i: int) -> Array:
        """√(1 + C_ii) in the original units."""
        return self.sizes[..., i] * jnp.sqrt(self.noise[..., i] + self.C[..., i, i])

    def determinant(self, i: int, j: int) -> Array:
        """(n_i + C_ii)(n_j + C_jj) - C_ij²."""
        pair = self.C[..., i, i], self.C[..., i, j], self.C[..., j, j]
        return _lambda(*pair, self.noise[..., i], self.noise[..., j])

    def signs(self, i: int, j: int) -> Array:
        """(2/π) asin[C_ij/√((n_i + C_ii)(n_j + C_jj))]."""
        return 2 / math.pi * arctangent(self.C[..., i, j], jnp.sqrt(self.determinant(i, j)))

    def given(self, x: int) -> "_Noisy":
        """Fields given one of them with its noise: C_ij - C_ix C_xj/(n_x + C_xx), in new units."""
        C, n = self.C, self.noise[..., x][..., None, None]
        own, column = C[..., x, x][..., None, None], C[..., :, x]
        left = minor(own, column[..., :, None], column[..., None, :], C)
        C = (n * C + left) / (n + own)
        variance = jnp.diagonal(C, axis1=-2, axis2=-1)
        change = _not_negative(variance, self.noise) - variance
        diagonal = jnp.where(np.eye(C.shape[-1], dtype=bool), change[..., None], 0.0)
        return self._replace(C=C + diagonal).rescaled()

    def rescaled(self) -> "_Noisy":
        """Return the fields in units of about their standard deviation with noise."""
        variance = jnp.diagonal(self.C, axis1=-2, axis2=-1) + self.noise
        size = power_of_two(jnp.sqrt(jax.lax.stop_gradient(variance)))
        C = self.C / size[..., :, None] / size[..., None, :]
        # Deviations are below 2 here and covariances below 4, except where only rounding is left.
        C = jnp.clip(C, -8.0, 8.0)
        return _Noisy(C, self.noise / size / size, self.sizes * size)


def _scaled(C: Float[Array, "... n n"]) -> _Noisy:
    """Return fields with noise of variance 1, rescaled."""
    ones = jnp.ones(C.shape[:-1])
    return _Noisy(C, ones, ones).rescaled()


def _lambda(C_ii: Array, C_ij: Array, C_jj: Array, n_i: Array, n_j: Array) -> Array:
    """(n_i + C_ii)(n_j + C_jj) - C_ij²: without cancellation, for fields with noise n_i and n_j."""
    noise = n_i * n_j + n_i * C_jj + n_j * C_ii
    return noise + _not_negative(minor(C_ii, C_ij, C_ij, C_jj), noise)


def _not_negative(x: Array, scale: Array) -> Array:
    """Return x, or 0 where rounding has made it less than -``scale``/2.

    Where fields coincide x is 0, or rounding of either sign: it is not clipped, since a bound at 0
    would cut its derivatives in one place of a compiled program and not in another.
    """
    return jnp.where(x > -0.5 * scale, x, 0.0)


def _estimate(value: Array, scale: Array | float) -> Estimate:
    return Estimate(value, _ROUNDING * jnp.broadcast_to(jnp.asarray(scale), value.shape))
