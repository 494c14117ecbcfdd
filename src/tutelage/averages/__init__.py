"""Gaussian averages of activations.

    I2 = ⟨g(u) h(w)⟩,   I3 = ⟨g'(u) v h(w)⟩,   I4 = ⟨g'(u) g'(v) h(w) k(z)⟩

`i2`, `i3` and `i4` compute them by one of the methods `orthant` (exact for ReLU, leaky ReLU, linear
and erf in any mixture), `erf` (closed forms), `conditional`, `quadrature` and `hermite` (every
activation, with a bound on the error).
"""

from tutelage.averages.api import i2, i3, i4
from tutelage.averages.estimate import Estimate
from tutelage.averages.methods import ErfClosedForm, Hermite, Method, Orthant, Quadrature

__all__ = [
    "ErfClosedForm",
    "Estimate",
    "Hermite",
    "Method",
    "Orthant",
    "Quadrature",
    "i2",
    "i3",
    "i4",
]
