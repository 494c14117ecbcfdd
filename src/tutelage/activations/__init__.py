"""Activations: what a unit does with its field.

Each knows its value, its derivatives (with kinks as delta functions in g''), its parity, its
normalised Hermite coefficients at any variance, and which averages of it are known exactly.
They are frozen equinox modules: values that can be compared, passed through ``jit`` and
differentiated with respect to their parameters.
"""

from tutelage.activations.base import Activation, Kink, Parity
from tutelage.activations.custom import Custom
from tutelage.activations.hermite import (
    HermiteCoefficients,
    derivative_coefficients,
    hermite_functions,
)
from tutelage.activations.piecewise import LeakyReLU, Linear, PiecewiseLinear, ReLU
from tutelage.activations.sigmoidal import Erf, Sigmoid, Tanh
from tutelage.activations.smooth import GELU, Softplus, Swish

__all__ = [
    "GELU",
    "Activation",
    "Custom",
    "Erf",
    "HermiteCoefficients",
    "Kink",
    "LeakyReLU",
    "Linear",
    "Parity",
    "PiecewiseLinear",
    "ReLU",
    "Sigmoid",
    "Softplus",
    "Swish",
    "Tanh",
    "derivative_coefficients",
    "hermite_functions",
]
