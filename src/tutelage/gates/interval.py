"""A gate that is open to any degree between two ends."""

import math

import equinox as eqx
import numpy as np
import scipy.special
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_number
from tutelage._jax import jnp
from tutelage._names import with_checked_arguments
from tutelage.gates.base import AbstractGate, number

# log(sinh x/x) = Σ_n (−1)ⁿ⁺¹ ζ(2n)/n (x/π)²ⁿ, from the zeros iπk of sinh; at |x| ≤ 1 the terms
# fall by π² each, and 20 of them are enough for the third derivative, which multiplies by (2n)³.
N = np.arange(1, 21)
COEFFICIENTS = (-1.0) ** (N + 1) * scipy.special.zeta(2.0 * N) / N / math.pi ** (2.0 * N)
SERIES_UP_TO = 1.0


@with_checked_arguments
class Interval(AbstractGate):
    """Z(β, h) = ∫ ds exp(β s h) from low to high, with weight one for each unit of length.

        A(t) = log w + c t + log(sinh x/x),    x = w t/2,   c = (low + high)/2,   w = high − low

    so that ⟨s⟩ = c + (w/2)(coth x − 1/x): the Langevin function instead of tanh.

    Args:
        low, high: the ends, low < high.

    >>> import tutelage as tl
    >>> print(f"{tl.gates.Interval(-1, 1).mean(1.0, 1.0):.6f}")  # coth 1 − 1
    0.313035
    """

    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)

    def __init__(self, low: float, high: float):
        self.low = float(finite_number("low", low, hint="Interval(0, 1)"))
        self.high = float(finite_number("high", high, hint="Interval(0, 1)"))
        if not self.low < self.high:
            allowed = f"it has to be greater than low = {self.low:g}"
            raise InputError("high", f"{self.high:g}", allowed, "Gate([s]) for a single state")

    @property
    def name(self) -> str:
        return f"Interval({number(self.low)}, {number(self.high)})"

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def is_symmetric(self) -> bool:
        return True

    @property
    def _width(self) -> float:
        return self.high - self.low

    def _log_partition(self, t):
        return math.log(self._width) + self.centre * t + _log_sinhc(0.5 * self._width * t)

    def _entropy(self, t):
        """log w + log(sinh x/x) − x coth x + 1; the terms ±|x| are cancelled by hand
        for large |x|.
        """
        x = jnp.abs(0.5 * self._width * t)
        small = x < SERIES_UP_TO
        near, far = jnp.where(small, x, 0.0), jnp.where(small, 1.0, x)
        # Σ a_n (1 − 2n) x²ⁿ, because x d/dx multiplies x²ⁿ by 2n.
        series = near**2 * _polynomial(COEFFICIENTS * (1 - 2 * N), near**2)
        e = jnp.exp(-2 * far)
        closed = 1 - jnp.log(2 * far) + jnp.log1p(-e) - 2 * far * e / (1 - e)
        return math.log(self._width) + jnp.where(small, series, closed)

    def _draw(self, t, generator):
        """Invert the distribution function, from the more probable end.

        The distance d from that end has density ∝ exp(−|t| d) on [0, w].
        """
        v = generator.random(t.shape)
        steep = np.abs(t) * self._width > 1e-300
        rate = np.where(steep, np.abs(t), 1.0)
        decay = np.expm1(-np.minimum(rate * self._width, 800.0))
        d = np.where(steep, -np.log1p(v * decay) / rate, v * self._width)
        return np.where(t >= 0, self.high - d, self.low + d)


def _log_sinhc(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(sinh x/x), with accurate derivatives at 0 and without overflow."""
    small = jnp.abs(x) < SERIES_UP_TO
    near, far = jnp.where(small, x, 0.0), jnp.where(small, 1.0, jnp.abs(x))
    y = near**2
    series = y * _polynomial(COEFFICIENTS, y)
    closed = far - jnp.log(2 * far) + jnp.log1p(-jnp.exp(-2 * far))
    return jnp.where(small, series, closed)


def _polynomial(coefficients: np.ndarray, y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Σ_n a_n yⁿ from n = 0 (Horner), unrolled, because a JAX loop would be compiled each time."""
    total = jnp.zeros_like(y)
    for a in coefficients[::-1]:
        total = a + y * total
    return total
