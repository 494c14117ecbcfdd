"""Smooth relatives of the ReLU: Swish, GELU and Softplus.

All three are x/2 plus an even function, so that c_3 = c_5 = … = 0.
"""

import math
from typing import Any

import equinox as eqx
import numpy as np

from tutelage._checks import finite_numbers, per_run_array
from tutelage._jax import jax, jnp, match_rank
from tutelage._names import with_checked_arguments
from tutelage.activations.base import Activation, labelled
from tutelage.activations.hermite import (
    HermiteCoefficients,
    hermite_at_zero,
    powers,
    safe_sqrt,
    with_rounding,
)

logistic = jax.nn.sigmoid


@with_checked_arguments
class Swish(Activation):
    """g(x) = x σ(βx), σ the logistic function   (``milletari2019``).

    Args:
        beta: the inverse temperature β > 0; the ReLU is the limit β → ∞.
    """

    beta: Any = eqx.field(default=1.0, converter=per_run_array)

    def __check_init__(self):
        finite_numbers(
            "beta",
            self.beta,
            above=0.0,
            hint="beta=1; tl.Linear() for the limit 0 (up to a factor 1/2) and tl.ReLU() for "
            "the limit of infinite beta",
        )

    @property
    def odd_part_slope(self) -> float:
        return 0.5

    @property
    def name(self) -> str:
        return labelled("Swish", self.beta, default=1.0)

    def _g(self, x):
        return x * logistic(self.beta * x)

    def _dg(self, x):
        t = self.beta * x
        return logistic(t) * (1 + t * logistic(-t))

    def _ddg(self, x):
        t = self.beta * x
        bell = logistic(t) * logistic(-t)
        # Multiply t by the bell first: the product vanishes at both ends, where t tanh(t/2) is
        # unbounded.
        return self.beta * (2 * bell - (t * bell) * jnp.tanh(t / 2))


@with_checked_arguments
class GELU(Activation):
    """g(x) = x Φ(x), Φ the Gaussian distribution function; g'' = (2 − x²) φ(x)."""

    @property
    def is_line_times_distribution(self) -> bool:
        return True

    @property
    def odd_part_slope(self) -> float:
        return 0.5

    def _g(self, x):
        return 0.5 * x * jax.scipy.special.erfc(-x / math.sqrt(2))

    def _dg(self, x):
        return 0.5 * jax.scipy.special.erfc(-x / math.sqrt(2)) + x * _density(x)

    def _ddg(self, x):
        # Beyond 40 the density is zero in float64, and x² must not overflow there.
        x = jnp.clip(x, -40.0, 40.0)
        return (2 - x**2) * _density(x)

    def hermite_series(self, order, q) -> HermiteCoefficients:
        """With v = 1 + q: c_0 = q/√(2πv), c_1 = √q/2 and, for even n ≥ 2,

            c_n = (n + q)/√(2πv) (q/v)^{n/2} h_{n−2}(0)/√(n(n−1)).

        ⟨g(y + √q z)⟩ = y Φ(y/√v) + q N(y; 0, v); c_n = √(qⁿ/n!) times its n-th derivative
        at y = 0.
        """
        n = np.arange(2, order + 1)
        scale = 1 / jnp.sqrt(2 * np.pi * (1 + q))
        h = hermite_at_zero(order)[: max(order - 1, 0)] / np.sqrt(n * (n - 1))
        powers_of_ratio = powers(q / (1 + q), order // 2 + 1)[..., n // 2]
        q, scale = q[..., None], scale[..., None]
        n_plus_q = match_rank(n.astype(float), q) + q
        rest = scale * n_plus_q * powers_of_ratio * match_rank(h, q)
        c = jnp.concatenate([q * scale, safe_sqrt(q) / 2, rest], axis=-1)
        return with_rounding(c[..., : order + 1])


@with_checked_arguments
class Softplus(Activation):
    """g(x) = ln(1 + eˣ), g' = σ(x), g'' = σ(x)σ(−x)."""

    @property
    def odd_part_slope(self) -> float:
        return 0.5

    def _g(self, x):
        return jnp.logaddexp(x, 0.0)

    def _dg(self, x):
        return logistic(x)

    def _ddg(self, x):
        return logistic(x) * logistic(-x)


def _density(x):
    return jnp.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
