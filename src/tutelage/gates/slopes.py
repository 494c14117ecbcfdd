"""Two straight lines that meet at zero, the limit of a signal without noise."""

import equinox as eqx

from tutelage._checks import finite_number
from tutelage._names import with_checked_arguments
from tutelage.activations.closed import ClosedForm
from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.gates.base import number


@with_checked_arguments
class TwoSlopes(PiecewiseLinear):
    """g(x) = b x for x > 0 and a x for x < 0, any two numbers.

    g = m x + d |x| with m = (b + a)/2 and d = (b − a)/2: the noiseless signal of a gate with the
    ends a and b, and for a = b = ⟨s⟩ at β = 0 its signal in pure noise.

    Like every `PiecewiseLinear` it has closed forms.  For a < 0 it does not leak as `LeakyReLU`
    does: below zero its signal changes sign, and for a = −b it is b |x|.

    Args:
        left: a, the lowest state of a gate.
        right: b, its highest state.

    >>> import tutelage as tl
    >>> print(tl.gates.Gate([-1, 1]).signal(float("inf"))([-2.0, 3.0]))
    [2. 3.]
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
