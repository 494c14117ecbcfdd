"""⟨g(u) h(w)⟩ as a function of the covariance of two fields of fixed variances.

With fixed norms the averages of oostwal2019, Appendix B, are elementary functions of one number,
with elementary derivatives; every other activation gets a polynomial through a few exact values.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp, match_rank
from tutelage.activations import Activation
from tutelage.activations.closed import ClosedForm
from tutelage.averages.api import average
from tutelage.averages.methods import Method, chosen
from tutelage.averages.two_point import two_point
from tutelage.equilibrium.kernel.table import chebyshev_coefficients, chebyshev_points

# Chebyshev points: doubled until the last coefficients are rounding.  Two units that both have a
# kink and no closed form would need more points; their error is 1e-11.
FEWEST_POINTS, MOST_POINTS = 64, 512
ROUNDING = 1e-14
# The number of coefficients is a multiple of this, so that few programs are compiled.
COEFFICIENTS_PER_BLOCK = 32


class PairKernel(eqx.Module):
    """φ(c) = I2 of u with variance 1 and w with variance q, at the covariance c; abstract.

    Several variances q share one kernel: arguments have shape (..., q).
    """

    def value(self, c: Float[Array, "... q"]) -> Float[Array, "... q"]:
        """φ(c)."""
        raise NotImplementedError

    def first(self, c: Float[Array, "... q"]) -> Float[Array, "... q"]:
        """φ'(c) = ⟨g'(u) h'(w)⟩ (Price's theorem)."""
        raise NotImplementedError

    def second(self, c: Float[Array, "... q"]) -> Float[Array, "... q"]:
        """φ''(c); infinite where two fields of units with kinks coincide."""
        return jax.jvp(self.first, (c,), (jnp.ones_like(c),))[1]


class ScaledKernel(eqx.Module):
    """s κ(c/ℓ), with the κ of erf or of |x| (`tutelage.averages.two_point`)."""

    kappa: Callable = eqx.field(static=True)
    scale: Float[Array, " q"]
    size: Float[Array, " q"]
    largest: Float[Array, " q"]

    def derivative(self, c: Float[Array, "... q"], order: int) -> Float[Array, "... q"]:
        """Return the derivative of this order; 0 is the value."""
        # Rounding must not carry |c| beyond √q.
        largest, size, scale = (match_rank(x, c) for x in (self.largest, self.size, self.scale))
        rho = jnp.clip(c, -largest, largest) / size
        return scale / size**order * self.kappa(rho, order)


class ClosedPair(PairKernel):
    """φ = φ₀ + m c + Σ s κ(c/ℓ)."""

    level: Any
    linear: Any
    scaled_kernels: tuple[ScaledKernel, ...]

    def __init__(self, g: ClosedForm, h: ClosedForm, variances: Float[Array, " q"]):
        self.level, self.linear, curved = two_point(g, h, jnp.ones_like(variances), variances)
        largest = jnp.sqrt(variances)
        self.scaled_kernels = tuple(
            ScaledKernel(kappa, jnp.broadcast_to(scale, variances.shape), size, largest)
            for kappa, scale, size in curved
        )

    def value(self, c):
        level, linear = match_rank(self.level, c), match_rank(self.linear, c)
        return level + linear * c + self._sum(c, 0)

    def first(self, c):
        return match_rank(self.linear, c) + self._sum(c, 1)

    def second(self, c):
        return self._sum(c, 2)

    def _sum(self, c: Array, order: int) -> Array:
        return sum(
            (scaled.derivative(c, order) for scaled in self.scaled_kernels), jnp.zeros_like(c)
        )


class Interpolated(PairKernel):
    """A polynomial in the correlation ρ = c/√q through Chebyshev points.

    φ is a power series Σ c_n d_n ρⁿ in the Hermite coefficients of g and h, smooth up to ρ = ±1
    unless both have a kink; a polynomial is as exact as the averages and thousands of times
    faster than their quadrature.
    """

    coefficients: Float[Array, "n q"]
    sizes: Float[Array, " q"]

    def __init__(
        self, activations: tuple[Activation, Activation], variances: Array, method: Method
    ):
        self.sizes = jnp.sqrt(variances)
        points = FEWEST_POINTS
        while True:
            a = _fitted(activations, variances, method, points)
            if points == MOST_POINTS or np.max(np.abs(a[-points // 8 :])) < ROUNDING:
                break
            points *= 2
        significant = np.flatnonzero(np.max(np.abs(a), axis=1) > 1e-2 * ROUNDING)
        # Each length is compiled anew: few lengths need few programs.
        self.coefficients = jnp.asarray(
            a[
                : COEFFICIENTS_PER_BLOCK
                * (1 + max(significant, default=0) // COEFFICIENTS_PER_BLOCK)
            ]
        )

    def value(self, c):
        return _clenshaw(self.coefficients, c / match_rank(_positive(self.sizes), c))

    def first(self, c):
        return jax.jvp(self.value, (c,), (jnp.ones_like(c),))[1]


def pair_kernel(
    activations: tuple[Activation, Activation],
    variances: Float[Array, " q"],
    method: Method | str | None = None,
) -> PairKernel:
    """Return the closed form if it exists and no method is requested, else a polynomial.

    >>> import tutelage as tl
    >>> relu = pair_kernel((tl.ReLU(), tl.ReLU()), jnp.ones(1))
    >>> print(f"{relu.value(jnp.zeros(1))[0]:.12f}")  # 1/(2π)
    0.159154943092
    """
    g, h = (activation.closed_form for activation in activations)
    q = jnp.asarray(variances)
    if method is None and g is not None and h is not None:
        return ClosedPair(g, h, q)
    return Interpolated(activations, q, chosen(method, activations))


def _positive(sizes: Array) -> Array:
    """Replace zero variances (of teachers with constant output) by one."""
    return jnp.where(sizes > 0, sizes, 1.0)


def _fitted(
    activations: tuple[Activation, Activation], variances: Array, method: Method, points: int
) -> np.ndarray:
    """Coefficients of φ in Chebyshev polynomials of ρ, shape (points, q)."""
    c = jnp.outer(chebyshev_points(points), jnp.sqrt(variances))
    entries = [jnp.ones_like(c), c, c, jnp.broadcast_to(variances, c.shape)]
    C = jnp.stack(entries, axis=-1).reshape(*c.shape, 2, 2)
    return chebyshev_coefficients(np.asarray(average("i2", activations, C, method).value))


def _clenshaw(a: Float[Array, "n q"], x: Float[Array, "... q"]) -> Float[Array, "... q"]:
    """Σ a_n T_n(x)."""

    def step(b, a_n):
        return (match_rank(a_n, x) + 2 * x * b[0] - b[1], b[0]), None

    b, _ = jax.lax.scan(step, (jnp.zeros_like(x), jnp.zeros_like(x)), a[:0:-1])
    return match_rank(a[0], x) + x * b[0] - b[1]
