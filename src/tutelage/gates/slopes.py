"""Two straight lines that meet at zero: what is left of a signal without noise."""

import equinox as eqx

from tutelage._checks import finite_number
from tutelage._jax import jnp
from tutelage._names import named
from tutelage.activations import Activation
from tutelage.activations.base import Kink, Parity, labelled
from tutelage.activations.hermite import HermiteCoefficients
from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.gates.base import number


@named
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
    def parity(self) -> Parity:
        return "even" if isinstance(self.slope, (int, float)) and self.slope == -1 else "none"

    @property
    def name(self) -> str:
        return labelled("Bent", self.slope)


@named
class TwoSlopes(Activation):
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
        # Fixed numbers: whether there is a kink decides how averages are taken.
        self.left = float(finite_number("left", left))
        self.right = float(finite_number("right", right))

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return () if self.left == self.right else (Kink(0.0, self.right - self.left),)

    @property
    def parity(self) -> Parity:
        if self.left == self.right:
            return "odd"
        return "even" if self.left == -self.right else "none"

    @property
    def odd_part_slope(self) -> float:
        return 0.5 * (self.left + self.right)

    @property
    def name(self) -> str:
        return f"TwoSlopes({number(self.left)}, {number(self.right)})"

    def _g(self, x):
        # Both functions have the mean of both sides as derivative at 0 in JAX.
        return self.right * jnp.maximum(x, 0.0) + self.left * jnp.minimum(x, 0.0)

    def _dg(self, x):
        a, b = self.left, self.right
        return jnp.where(x > 0, b, jnp.where(x < 0, a, 0.5 * (a + b)))

    def _ddg(self, x):
        return jnp.zeros_like(x)

    def _hermite(self, order, q) -> HermiteCoefficients:
        """d times those of |x|, and m √q at n = 1."""
        bend, line = 0.5 * (self.right - self.left), self.odd_part_slope
        modulus, linear = Bent(-1.0)._hermite(order, q), Bent(1.0)._hermite(order, q)
        return HermiteCoefficients(
            bend * modulus.values + line * linear.values,
            abs(bend) * modulus.error + abs(line) * linear.error,
        )
