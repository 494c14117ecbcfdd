"""Hermite coefficients of a field and of its first derivative, and their sizes.

For a field x of variance q and f = g or f = g' everything the series and its error need:

    c_n = ⟨h_n(z) f(√q z)⟩,   n = 0 … order,    ‖f‖₂² = ⟨f²⟩,   ‖f‖₄⁴ = ⟨f⁴⟩,

and which c_n vanish identically because of a symmetry of g.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import Scalar
from tutelage.activations import Activation
from tutelage.activations.base import Parity
from tutelage.activations.hermite import derivative_coefficients
from tutelage.activations.panels import graded_edges, on_panels
from tutelage.averages.quadrature.rules import panels

# Norms only enter errors; this is their relative error, from rounding and quadrature.
NORM_ROUNDING = 1e-13


class Expansion(NamedTuple):
    """c_n, bounds on the errors of c_n, ‖f‖₂², ‖f‖₄ and the orders that do not vanish."""

    values: Float[Array, "... n"]
    error: Float[Array, "... n"]
    square: Float[Array, "..."]
    norm4: Float[Array, "..."]
    present: tuple[bool, ...]

    @property
    def tail(self) -> Float[Array, "..."]:
        """Upper bound of ⟨f²⟩ − Σ_{n≤N} c_n², the part that the expansion omits."""
        left = self.square - jnp.sum(self.values**2, axis=-1)
        return jnp.maximum(left, 0.0) + NORM_ROUNDING * self.square

    def below(self, order: int) -> "Expansion":
        """Return the expansion to a lower order."""
        keep = order + 1
        return self._replace(
            values=self.values[..., :keep],
            error=self.error[..., :keep],
            present=self.present[:keep],
        )


def expand(g: Activation, order: int, q: Float[Array, "..."]) -> Expansion:
    """Expand g to the given order."""
    values, error = g.hermite(order, q)
    return Expansion(values, error, *_norms(g, 0, q), _present(g, order))


def expand_derivative(g: Activation, order: int, q: Float[Array, "..."]) -> Expansion:
    """Expand g' to the given order: the coefficients of g shifted by one (weak derivative).

    Without a closed form c_{n+1}/√q loses all digits at small q; there g' is projected.
    """
    coefficients = g.hermite(order + 1, q) if g.kinks else g.hermite_series(order + 1, q)
    if coefficients is not None:
        c, c_error = coefficients
        values = derivative_coefficients(c, q, g.derivative(0.0))
        error = derivative_coefficients(c_error, q)
    else:
        values, error = _Derivative(g).hermite(order, q)
    return Expansion(values, error, *_norms(g, 1, q), _present(g, order + 1)[1:])


class _Derivative(Activation):
    """The derivative of a smooth activation, as an activation."""

    of: Activation

    @property
    def parity(self) -> Parity:
        opposite: dict[Parity, Parity] = {"odd": "even", "even": "odd", "none": "none"}
        return opposite[self.of.parity]

    @property
    def odd_part_slope(self) -> float | None:
        return None if self.of.even_part_level is None else 0.0

    @property
    def even_part_level(self) -> Scalar | None:
        return self.of.odd_part_slope

    def _g(self, x: Array) -> Array:
        return self.of.derivative(x)

    def _dg(self, x: Array) -> Array:
        return self.of.second_derivative(x)

    def _ddg(self, x: Array) -> Array:
        third: Array = jax.jvp(self.of.second_derivative, (x,), (jnp.ones_like(x),))[1]
        return third


def _present(g: Activation, order: int) -> tuple[bool, ...]:
    """Return, for each n, False if c_n of g vanishes identically: linear odd part, constant even
    part.
    """
    odd_linear, even_constant = g.odd_part_slope is not None, g.even_part_level is not None

    def present(n: int) -> bool:
        if n % 2:
            return g.parity != "even" and (n == 1 or not odd_linear)
        return g.parity != "odd" and (n == 0 or not even_constant)

    return tuple(present(n) for n in range(order + 1))


def _norms(g: Activation, order: int, q: Array) -> tuple[Array, Array]:
    """⟨f²⟩ and ⟨f⁴⟩^¼ for f = g (order 0) or g' (order 1)."""
    q = jax.lax.stop_gradient(q)
    form = g.closed_form
    if form is not None and form.is_homogeneous:
        a, b = form.slopes
        scale = q if order == 0 else jnp.ones_like(q)
        fourth = 3.0 if order == 0 else 1.0
        return 0.5 * (b**2 + a**2) * scale, (0.5 * fourth * (b**4 + a**4)) ** 0.25 * jnp.sqrt(scale)
    f = (g, g.derivative)[order]

    def single(variance: Array) -> tuple[Array, Array]:
        s = jnp.sqrt(variance)
        if g.kinks:
            spread = jnp.maximum(s, 1e-100)
            x, w = panels([k.position / spread for k in g.kinks], jnp.asarray(1.0), 160)
        else:
            x, w = (jnp.asarray(v) for v in _graded())
        y = f(s * x) ** 2
        return jnp.sum(w * y), jnp.sum(w * y**2) ** 0.25

    square, norm4 = jax.lax.map(single, q.ravel(), batch_size=512)
    stop = jax.lax.stop_gradient
    return stop(square.reshape(q.shape)), stop(norm4.reshape(q.shape))


@lru_cache
def _graded() -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre panels of halved width towards 0, for steep functions too."""
    x, w = on_panels(graded_edges(12.0, [0.0], halvings=14), 12)
    return x, w * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
