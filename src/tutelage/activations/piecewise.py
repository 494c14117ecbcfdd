"""Two straight lines that meet at zero: ReLU, leaky ReLU and linear units."""

import abc
from typing import Any

import equinox as eqx

from tutelage._checks import finite_numbers, per_run_array
from tutelage._jax import jnp
from tutelage._names import with_checked_arguments
from tutelage.activations.base import Activation, Parity, labelled
from tutelage.activations.closed import ClosedForm


class PiecewiseLinear(Activation):
    """g(x) = b x for x > 0 and a x for x < 0, with (a, b) the ``slopes``.

    g(x) = m x + d |x| and g'(x) = m + d sgn(x), with m = (b + a)/2 and d = (b − a)/2.
    """

    @property
    @abc.abstractmethod
    def slopes(self) -> tuple[Any, Any]:
        """a, on the left of zero, and b, on its right."""

    @property
    def closed_form(self) -> ClosedForm:
        a, b = self.slopes
        return ClosedForm(line=0.5 * (b + a), modulus=0.5 * (b - a))

    @property
    def parity(self) -> Parity:
        a, b = self.slopes
        if not self.closed_form.is_static or abs(a) != abs(b):
            return "none"
        return "odd" if a == b else "even"

    def _g(self, x):
        # Both functions have the mean of both sides as derivative at 0 in JAX.
        a, b = self.slopes
        return b * jnp.maximum(x, 0.0) + a * jnp.minimum(x, 0.0)

    def _dg(self, x):
        a, b = self.slopes
        return jnp.where(x > 0, b, jnp.where(x < 0, a, 0.5 * (b + a)))

    def _ddg(self, x):
        return jnp.zeros_like(x)


@with_checked_arguments
class ReLU(PiecewiseLinear):
    """g(x) = max(0, x): a = 0."""

    @property
    def slopes(self) -> tuple[float, float]:
        return 0.0, 1.0


@with_checked_arguments
class LeakyReLU(PiecewiseLinear):
    """g(x) = x for x > 0 and a x for x < 0.

    Args:
        slope: a ≥ 0; 0 is the ReLU, 1 a linear unit.
    """

    slope: Any = eqx.field(default=0.01, converter=per_run_array)

    def __check_init__(self):
        finite_numbers(
            "slope",
            self.slope,
            at_least=0.0,
            hint="a slope in [0, 1]; for units like |x|, which rise on both sides and do not "
            "leak, tl.Activation.from_function(f, kinks=(0.0,))",
        )

    @property
    def slopes(self) -> tuple[Any, float]:
        return self.slope, 1.0

    @property
    def name(self) -> str:
        return labelled("LeakyReLU", self.slope)


@with_checked_arguments
class Linear(PiecewiseLinear):
    """g(x) = x: a = 1, and no kink."""

    @property
    def slopes(self) -> tuple[float, float]:
        return 1.0, 1.0

    @property
    def closed_form(self) -> ClosedForm:
        return ClosedForm(line=1.0)
