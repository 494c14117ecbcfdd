"""The two activations of a gate, differentiated from its partition function."""

from typing import Any

from tutelage._checks import InputError, is_traced
from tutelage._names import with_checked_arguments
from tutelage.activations import Activation
from tutelage.activations.base import Parity
from tutelage.gates.base import NO_STEP, AbstractGate, number
from tutelage.gates.validation import check_beta


@with_checked_arguments
class Expectation(Activation):
    """g(h) = ⟨s⟩ = β⁻¹ ∂_h log Z(β, h) = A'(βh)   (``milletari2019`` eq. (4)).

    g' = β A''(βh): the back-propagated factor is the variance of the gate times β.

    Args:
        gate: a `Gate` or an `Interval`.
        beta: β ≥ 0, finite; 0 gives a constant.
    """

    gate: AbstractGate
    beta: float

    def __check_init__(self):
        check_gate(self.gate)
        check_beta(self.beta, infinite=False, hint=NO_STEP)

    @property
    def parity(self) -> Parity:
        return "odd" if self.gate.is_symmetric and self.gate.centre == 0 else "none"

    @property
    def even_part_level(self) -> float | None:
        return self.gate.centre if self.gate.is_symmetric else None

    @property
    def name(self) -> str:
        return _name(self)

    def _g(self, x):
        return self.gate._mean(self.beta * x)

    def _dg(self, x):
        return self.beta * self.gate._variance(self.beta * x)

    def _ddg(self, x):
        return self.beta**2 * self.gate._third(self.beta * x)


@with_checked_arguments
class Signal(Activation):
    """g(h) = ⟨j⟩ = ∂_β log Z(β, h) = h A'(βh)   (``milletari2019`` eq. (5)).

    g' = A'(t) + t A''(t) and g'' = β [2A''(t) + t A'''(t)] with t = βh.

    Args:
        gate: a `Gate` or an `Interval`.
        beta: β ≥ 0, finite; 0 gives a straight line.  The infinite limit is ``gate.signal``'s.

    >>> import tutelage as tl
    >>> two = tl.gates.Signal(tl.gates.Gate([-1, 1]), 2.0)  # h tanh 2h
    >>> two.name, f"{two(1.0):.6f}"
    ('Signal(Gate([-1, 1]), 2)', '0.964028')
    """

    gate: AbstractGate
    beta: float

    def __check_init__(self):
        check_gate(self.gate)
        check_beta(self.beta, infinite=False, hint="gate.signal(math.inf) for the limit")

    @property
    def parity(self) -> Parity:
        return "even" if self.gate.is_symmetric and self.gate.centre == 0 else "none"

    @property
    def odd_part_slope(self) -> float | None:
        return self.gate.centre if self.gate.is_symmetric else None

    @property
    def name(self) -> str:
        return _name(self)

    def _g(self, x):
        return x * self.gate._mean(self.beta * x)

    def _dg(self, x):
        t = self.beta * x
        return self.gate._mean(t) + t * self.gate._variance(t)

    def _ddg(self, x):
        t = self.beta * x
        return self.beta * (2 * self.gate._variance(t) + t * self.gate._third(t))


def _name(g: Any) -> str:
    beta = "traced" if is_traced(g.beta) else number(g.beta)
    return f"{type(g).__name__}({g.gate.name}, {beta})"


def check_gate(gate: object) -> None:
    """Refuse an argument that is not a gate."""
    if not isinstance(gate, AbstractGate):
        allowed = "it has to be a gate"
        raise InputError("gate", repr(gate), allowed, "tl.gates.Gate([0, 1])")
