"""The base class of gates: averages as derivatives of the partition function.

Z depends on β and h only through t = βh.  With A(t) = log Z the cumulants of the state are

    ⟨s⟩ = β⁻¹ ∂_h log Z = A'(t),    ⟨s²⟩ − ⟨s⟩² = β⁻² ∂_h² log Z = A''(t),    …

and these forms need no division by β: β = 0 is a value like any other.
"""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import is_traced
from tutelage._given import ArrayLike, CheckedInside
from tutelage._jax import jnp, match_ranks
from tutelage._types import Scalar
from tutelage.gates.calculus import Function, derivative
from tutelage.gates.validation import check_beta, check_betas, check_fields

if TYPE_CHECKING:
    from tutelage.activations import Activation

# The value of t = βh that replaces an infinite one: exponents of two states differ by more than
# the range of the exponential function, and none overflows.
LARGEST = 1e300
# Tolerance for the mirror symmetry of the states, each of which was rounded once.
MIRRORED = 4 * float(np.finfo(np.float64).eps)


class AbstractGate(eqx.Module):
    """A gate in front of a unit; its states are drawn from p(s) ∝ w_s exp(β s h).

    A new kind of gate needs A(t), its ends, its symmetry and a way to draw: the rest is inherited.
    """

    def log_partition(self, beta: ArrayLike, field: ArrayLike) -> Float[Array, "..."]:
        """log Z(β, h) = log Σ_s w_s exp(β s h), without overflow.

        Args:
            beta: β ≥ 0, finite; broadcast against the field.
            field: h, any shape.
        """
        beta = check_betas(beta, infinite=False)
        return _cumulant(self, 0, self._argument(beta, field))

    def mean(self, beta: ArrayLike, field: ArrayLike) -> Float[Array, "..."]:
        """⟨s⟩ = β⁻¹ ∂_h log Z   (``milletari2019`` eq. (4)); β = ``math.inf`` is the exact limit.

        >>> import math
        >>> import tutelage as tl
        >>> print(tl.gates.Gate([0, 1]).mean(math.inf, [-2.0, 0.0, 3.0]))
        [0.  0.5 1. ]
        """
        return self._mean(self._argument(check_betas(beta), field))

    def transmitted(self, beta: ArrayLike, field: ArrayLike) -> Float[Array, "..."]:
        """⟨j⟩ = ∂_β log Z = h ⟨s⟩   (``milletari2019`` eq. (5)); β may be ``math.inf``."""
        h, mean = match_ranks(check_fields(field), self.mean(beta, field))
        return h * mean

    def variance(self, beta: ArrayLike, field: ArrayLike) -> Float[Array, "..."]:
        """⟨s²⟩ − ⟨s⟩² = β⁻² ∂_h² log Z ≥ 0; β may be ``math.inf``."""
        return self._variance(self._argument(check_betas(beta), field))

    def expectation(self, beta: CheckedInside[Scalar]) -> "Activation":
        """The activation ⟨s⟩ of the field; {0, 1} gives `Sigmoid`, {−1, 1} tanh(βh).

        Args:
            beta: β ≥ 0.  An infinite one would be a step, which has no derivative to learn
                with; `mean` has its values.

        Returns:
            The package's own activation where there is one (`Sigmoid`, `Tanh`), so that results
            can be saved under its name; otherwise `Expectation`.  Both agree to rounding.

        >>> import tutelage as tl
        >>> tl.gates.Gate([0, 1]).expectation(2.0).name
        'Sigmoid(2)'
        """
        from tutelage.gates.known import (
            expectation_of,
        )  # imported here, because that module imports this one

        return expectation_of(self, check_beta(beta, infinite=False, hint=NO_STEP))

    def signal(self, beta: CheckedInside[Scalar]) -> "Activation":
        """The activation ⟨j⟩ = h ⟨s⟩ of the field; {0, 1} gives `Swish`, {−1, 1} h tanh(βh).

        Args:
            beta: β ≥ 0; ``math.inf`` gives two straight lines, `ReLU` for {0, 1} and |h| for
                {−1, 1}; 0 a linear unit.

        Returns:
            The package's own activation where there is one (`Swish`, `ReLU`, `LeakyReLU`,
            `Linear`), so that its closed forms are used; otherwise `Signal`, or `TwoSlopes`
            in the limits.  All agree to rounding.

        >>> import math
        >>> import tutelage as tl
        >>> gate = tl.gates.Gate([0, 1])
        >>> gate.signal(2.0).name, gate.signal(math.inf).name
        ('Swish(2)', 'ReLU')
        """
        from tutelage.gates.known import signal_of

        return signal_of(self, check_beta(beta))

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The constructor call of the gate, with all digits."""

    @property
    @abc.abstractmethod
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest state, which are taken for β → ∞."""

    @property
    @abc.abstractmethod
    def is_symmetric(self) -> bool:
        """True if states and weights are symmetric about the centre: A(t) − t·centre is even."""

    @property
    def centre(self) -> float:
        """The mean of both ends."""
        return 0.5 * (self.ends[0] + self.ends[1])

    @abc.abstractmethod
    def _log_partition(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """A(t) = log Z, entry by entry."""

    @abc.abstractmethod
    def _entropy(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """A(t) − t A'(t), computed without that difference, which loses log₁₀ |t| digits."""

    @abc.abstractmethod
    def _draw(self, t: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draw one state for each entry of t."""

    def _mean(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return _cumulant(self, 1, t)

    def _variance(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return _cumulant(self, 2, t)

    def _third(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return _cumulant(self, 3, t)

    def _argument(self, beta: ArrayLike, field: ArrayLike) -> Float[Array, "..."]:
        """t = βh; an infinite β leaves only the sign of the field."""
        beta = beta if is_traced(beta) else np.asarray(beta, float)
        beta, h = match_ranks(beta, check_fields(field))
        if is_traced(beta) or not np.any(np.isinf(beta)):
            return jnp.asarray(beta) * h
        sharp = np.isinf(beta)
        far = LARGEST / max(1.0, *(abs(s) for s in self.ends))
        return jnp.where(sharp, jnp.sign(h) * far, np.where(sharp, 0.0, beta) * h)


@eqx.filter_jit  # one compiled program instead of one for each of fifty operations
def _cumulant(gate: AbstractGate, order: int, t: Float[Array, "..."]) -> Float[Array, "..."]:
    """A(t), differentiated ``order`` times."""
    f: Function = gate._log_partition
    for _ in range(order):
        f = derivative(f)
    return f(t)


@eqx.filter_jit
def entropy_of(gate: AbstractGate, t: Float[Array, "..."]) -> Float[Array, "..."]:
    """A(t) − t A'(t)."""
    return gate._entropy(t)


NO_STEP = "gate.mean(math.inf, h) for the values of the step, gate.signal(math.inf) for a limit "
NO_STEP += "that has a derivative"


def number(x: float) -> str:
    """Write a number with the fewest digits that determine it: 1, 0.5, 0.1."""
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(float(x))
