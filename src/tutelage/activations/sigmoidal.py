"""Units that saturate: error function, sigmoid and hyperbolic tangent."""

import math
from typing import Any

import equinox as eqx
import numpy as np

from tutelage._checks import finite_numbers, is_traced, per_run_array
from tutelage._jax import jax, jnp
from tutelage._names import with_checked_arguments
from tutelage.activations.base import Activation, Parity, labelled
from tutelage.activations.closed import ClosedForm

logistic = jax.nn.sigmoid


@with_checked_arguments
class Erf(Activation):
    """g(x) = b + erf(x/√2), g'(x) = √(2/π) exp(−x²/2)   (Saad and Solla 1995).

    Args:
        offset: b; ``oostwal2019`` eq. (2) has b = 1.
    """

    offset: Any = eqx.field(default=0.0, converter=per_run_array)

    def __check_init__(self):
        finite_numbers("offset", self.offset, hint="offset=0 for erf, offset=1 for 1 + erf")

    @property
    def parity(self) -> Parity:
        return "odd" if not is_traced(self.offset) and np.all(self.offset == 0) else "none"

    @property
    def closed_form(self) -> ClosedForm:
        return ClosedForm(erf=1.0, constant=self.offset)

    @property
    def name(self) -> str:
        return labelled("Erf", self.offset, default=0.0)

    def _g(self, x):
        return self.offset + jax.scipy.special.erf(x / math.sqrt(2))

    def _dg(self, x):
        return math.sqrt(2 / math.pi) * jnp.exp(-(x**2) / 2)

    def _ddg(self, x):
        return -x * self._dg(x)


@with_checked_arguments
class Sigmoid(Activation):
    """g(x) = σ(βx) = 1/(1 + exp(−βx)), g' = βσ(1−σ)   (``milletari2019``).

    Args:
        beta: the inverse temperature β > 0, how steep.
    """

    beta: Any = eqx.field(default=1.0, converter=per_run_array)

    def __check_init__(self):
        finite_numbers(
            "beta",
            self.beta,
            above=0.0,
            hint="beta=1; beta=0 gives the constant 1/2, and infinite beta a step, whose "
            "derivative is zero",
        )

    @property
    def even_part_level(self) -> float:
        return 0.5

    @property
    def name(self) -> str:
        return labelled("Sigmoid", self.beta, default=1.0)

    def _g(self, x):
        return logistic(self.beta * x)

    def _dg(self, x):
        # σ(−t) instead of 1 − σ(t), which would lose every digit for large t.
        t = self.beta * x
        return self.beta * logistic(t) * logistic(-t)

    def _ddg(self, x):
        return -self.beta * self._dg(x) * jnp.tanh(self.beta * x / 2)


@with_checked_arguments
class Tanh(Activation):
    """g(x) = tanh x, g' = 1/cosh² x."""

    @property
    def parity(self) -> Parity:
        return "odd"

    def _g(self, x):
        return jnp.tanh(x)

    def _dg(self, x):
        return 4 * logistic(2 * x) * logistic(-2 * x)

    def _ddg(self, x):
        return -2 * jnp.tanh(x) * self._dg(x)
