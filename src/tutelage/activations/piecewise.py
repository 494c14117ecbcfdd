"""Two straight lines that meet at zero: ReLU, leaky ReLU and linear units."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from tutelage._checks import finite_numbers, several
from tutelage._jax import jnp
from tutelage._names import named
from tutelage.activations.base import Activation, Kink, Parity, labelled
from tutelage.activations.hermite import (
    HermiteCoefficients,
    closed_form,
    hermite_at_zero,
    safe_sqrt,
)


class PiecewiseLinear(Activation):
    """g(x) = x for x > 0 and a x for x < 0, with a the ``slope``.

    g(x) = m x + d |x| and g'(x) = m + d sgn(x), with m = (1 + a)/2 and d = (1 − a)/2.
    """

    closed_forms: ClassVar[frozenset[str]] = frozenset({"i2", "i3", "i4"})

    @property
    @abc.abstractmethod
    def slope(self) -> float:
        """a, on the left of zero."""

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return (Kink(0.0, 1.0 - self.slope),)

    @property
    def odd_part_slope(self) -> float:
        return 0.5 * (1 + self.slope)

    def _g(self, x):
        # Both functions have the mean of both sides as derivative at 0 in JAX.
        return jnp.maximum(x, 0.0) + self.slope * jnp.minimum(x, 0.0)

    def _dg(self, x):
        a = self.slope
        return jnp.where(x > 0, 1.0, jnp.where(x < 0, a, 0.5 * (1 + a)))

    def _ddg(self, x):
        return jnp.zeros_like(x)

    def _hermite(self, order, q) -> HermiteCoefficients:
        """c_1 = m √q and, for even n, c_n = (1 − a) √q c_n[ReLU] (``citton2025`` section 2.2).

        From g'' = (1 − a) δ: c_n[ReLU] = h_{n−2}(0)/√(2π n (n−1)) for n ≥ 2, c_0 = 1/√(2π).
        """
        a = self.slope
        kink = relu_at_unit_variance(order)
        linear = np.arange(order + 1) == 1
        c = jnp.where(linear, 0.5 * (1 + a), (1 - a) * kink)
        return closed_form(safe_sqrt(q)[..., None] * c)


def relu_at_unit_variance(order: int) -> np.ndarray:
    """c_n of the ReLU at q = 1; zero at n = 1, where the linear part speaks."""
    h = hermite_at_zero(order)
    n = np.arange(2, order + 1)
    c = np.concatenate([h[:1], np.zeros(min(order, 1)), h[: order - 1] / np.sqrt(n * (n - 1))])
    return c / np.sqrt(2 * np.pi)


@named
class ReLU(PiecewiseLinear):
    """g(x) = max(0, x): a = 0."""

    @property
    def slope(self) -> float:
        return 0.0


@named
class LeakyReLU(PiecewiseLinear):
    """g(x) = x for x > 0 and a x for x < 0.

    Args:
        slope: a ≥ 0; 0 is the ReLU, 1 a linear unit.
    """

    slope: Any = eqx.field(default=0.01, converter=several)

    def __check_init__(self):
        finite_numbers(
            "slope",
            self.slope,
            at_least=0.0,
            hint="a slope in [0, 1]; for units like |x|, which rise on both sides and do not "
            "leak, tl.Activation.from_function(f, kinks=(0.0,))",
        )

    @property
    def parity(self) -> Parity:
        return "odd" if isinstance(self.slope, (int, float)) and self.slope == 1 else "none"

    @property
    def name(self) -> str:
        return labelled("LeakyReLU", self.slope)


@named
class Linear(PiecewiseLinear):
    """g(x) = x: a = 1, and no kink."""

    @property
    def slope(self) -> float:
        return 1.0

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return ()

    @property
    def parity(self) -> Parity:
        return "odd"
