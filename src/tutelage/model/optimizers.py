"""Optimizers: how a step of gradient descent uses the gradient of a batch.

With G the mean gradient of a batch, W the weights and V a velocity that starts at zero,

    V ← μ V + G,   W ← (1 - γ) W + η H V,

where H is a K × K matrix: 1 for `Plain` and `Momentum`, diag(V·V + ε)^(-1/2) for `Normalized`, and
(V·V + ε 1)^(-1/2) for `Muon`.  Weight decay γ is decoupled from the gradient.  The classes hold
values only: `tutelage.online.iterate` has the map of the overlaps, and
`tutelage.simulation.network`, written independently, the step of all weights.
"""

from typing import Any, ClassVar

import equinox as eqx

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, short_repr
from tutelage._names import with_checked_arguments

__all__ = ["Momentum", "Muon", "Normalized", "Plain"]

# Default of ε, relative to the trace of G·Gᵀ in the first step.
RELATIVE_EPSILON = 1e-12
# Optimizers that scale each coordinate of a weight vector separately.
COORDINATE_WISE = ("ada", "sign", "lion", "rmsprop", "sophia", "rprop")


class Optimizer(eqx.Module):
    """A rule that makes a step from the gradient of a batch.

    momentum: μ.
    epsilon: ε; None for a rule without ε, or for the default.
    """

    momentum: Any = 0.0
    epsilon: Any = None
    # Whether the rule divides by the size of the gradient, and needs ε.
    normalizes: ClassVar[bool] = False


@with_checked_arguments
class Plain(Optimizer):
    """Gradient descent: W ← W + η G."""

    def __init__(self) -> None:
        self.momentum, self.epsilon = 0.0, None


@with_checked_arguments
class Momentum(Optimizer):
    """Gradient descent with momentum: V ← μ V + G, W ← W + η V.

    momentum: μ, from 0 to less than 1.

    >>> import tutelage as tl
    >>> tl.optimizers.Momentum(0.9)
    Momentum(momentum=0.9)
    """

    @validated
    def __init__(self, momentum: float = 0.9):
        self.momentum, self.epsilon = _momentum(momentum), None


@with_checked_arguments
class Normalized(Optimizer):
    """Gradient descent with the gradient of each unit divided by its norm.

    W_i ← W_i + η G_i / √(|G_i|² + ε)

    epsilon: ε > 0; by default 10⁻¹² of |G|² in the first step.
    """

    normalizes = True

    @validated
    def __init__(self, *, epsilon: float | None = None):
        self.momentum, self.epsilon = 0.0, _epsilon(epsilon)


@with_checked_arguments
class Muon(Optimizer):
    """Gradient descent with orthogonalized gradients, also called spectral descent.

    V ← μ V + G,   W ← W + η (V·V + ε 1)^(-1/2) V:

    the singular values of the step are η, except those below √ε.

    epsilon: ε > 0; by default 10⁻¹² of |G|² in the first step.
    momentum: μ, from 0 to less than 1.
    """

    normalizes = True

    @validated
    def __init__(self, *, epsilon: float | None = None, momentum: float = 0.0):
        self.momentum, self.epsilon = _momentum(momentum), _epsilon(epsilon)


def _momentum(value: Any) -> Any:
    finite_number("momentum", value, at_least=0.0, hint="0.9")
    if value >= 1:
        allowed = "it has to be less than 1: the sum of gradients grows without bound otherwise"
        raise InputError("momentum", short_repr(value), allowed, "0.9")
    return float(value)


def _epsilon(value: Any) -> Any:
    if value is None:
        return None
    finite_number("epsilon", value, above=0.0, hint="1e-12, or None for the default")
    return float(value)


def check_optimizer(value: object) -> None:
    """Check for an `Optimizer`; say why optimizers that scale coordinates do not close the
    equations.
    """
    if type(value) in RULES:
        return
    kind = value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)
    name = str(kind).lower()
    hint = "tl.optimizers.Momentum(0.9), Normalized() or Muon()"
    if any(word in name for word in COORDINATE_WISE):
        allowed = (
            "it rescales each coordinate of a weight vector; overlaps do not "
            "contain coordinates, so the equations do not close"
        )
    else:
        allowed = "it has to be one of tl.optimizers, whose steps have a map of the overlaps"
        meant = [rule.__name__ for rule in RULES if rule.__name__.lower() == name]
        hint = f"tl.optimizers.{meant[0]}()" if meant else hint
    raise InputError("optimizer", short_repr(value), allowed, hint)


RULES = (Plain, Momentum, Normalized, Muon)
