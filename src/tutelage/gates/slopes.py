"""Two straight lines that meet at zero, the limit of a signal without noise."""

from typing import Any

import equinox as eqx

from tutelage._checks import finite_number
from tutelage._names import with_checked_arguments
from tutelage.activations.base import labelled
from tutelage.activations.closed import ClosedForm
from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.gates.base import number


@with_checked_arguments
class Bent(PiecewiseLinear):
    """g(x) = x for x > 0 and a x for x < 0, where a may be negative: |x| for a = −1.

    Like every `PiecewiseLinear` it has closed forms.  It does not leak as `LeakyReLU` does:
    below zero its signal changes sign.

    Args:
        slope: a, the lowest state of a gate whose highest is 1.

    >>> import tutelage as tl
    >>> print(tl.gates.Gate([-1, 1]).signal(float("inf"))([-2.0, 3.0]))
    [2. 3.]
    """

    slope: float = -1.0

    def __check_init__(self):
        finite_number("slope", self.slope, hint="slope=-1 for |x|")

    @property
    def slopes(self) -> tuple[Any, float]:
        return self.slope, 1.0

    @property
    def name(self) -> str:
        return labelled("Bent", self.slope)


@with_checked_arguments
class TwoSlopes(PiecewiseLinear):
    """g(x) = b x for x > 0 and a x for x < 0, any two numbers.

    g = m x + d |x| with m = (b + a)/2 and d = (b − a)/2: the noiseless signal of a gate with the
    ends a and b, and for a = b = ⟨s⟩ at β = 0 its signal in pure noise.

    Args:
        left: a.
        right: b.
    """

    left: float = eqx.field(static=True)
    right: float = eqx.field(static=True)

    def __init__(self, left: float, right: float):
        # Static numbers: whether there is a kink decides which averages are used.
        self.left = float(finite_number("left", left))
        self.right = float(finite_number("right", right))

    @property
    def slopes(self) -> tuple[float, float]:
        return self.left, self.right

    @property
    def closed_form(self) -> ClosedForm:
        return ClosedForm(line=self.left) if self.left == self.right else super().closed_form

    @property
    def name(self) -> str:
        return f"TwoSlopes({number(self.left)}, {number(self.right)})"
