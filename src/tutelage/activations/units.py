"""The table of named units, which the commands, the explorer and `bridge` read.

A new activation is a row.  Nothing is imported for it: ``--help`` must not wait for JAX.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

# Conversion of the values of c g at 1, 0 and −1 to the factor c and the parameters of g; NaN if no
# such unit exists.
Fit = Callable[[float, float, float], tuple[float, ...]]


class UnitParameter(NamedTuple):
    """A parameter of an activation that the explorer can change.

    name: of the argument.
    symbol, label, help: for readers.
    default, low, high: of a slider, which is logarithmic if ``log`` is set.
    """

    name: str
    symbol: str
    label: str
    help: str
    default: float
    low: float
    high: float
    logarithmic: bool = False


class NamedUnit(NamedTuple):
    """An activation of the package.

    kind: the name of its class.
    label: its name for readers.
    fit: its factor and parameters from three values.
    parameter: what can be chosen on a page, if anything.
    """

    kind: str
    label: str
    fit: Fit
    parameter: UnitParameter | None = None


def _ratio(x: float, y: float) -> float:
    return x / y if y else math.nan


def _erf(up: float, zero: float, down: float) -> tuple[float, float]:
    factor = (up - down) / (2 * math.erf(math.sqrt(0.5)))
    return factor, _ratio(zero, factor)


def _logistic(up: float, factor: float) -> tuple[float, float]:
    """Return c and the β > 0 for which c σ(βx) has the given value at x = 1."""
    share = _ratio(up, factor)
    return factor, math.log(share / (1 - share)) if 0.5 < share < 1 else math.nan


def _leaky(up: float, zero: float, down: float) -> tuple[float, float]:
    slope = _ratio(-down, up)
    return up, slope if slope >= 0 else math.nan


_SLOPE = UnitParameter("slope", "a", "slope", "slope of the leaky ReLU for x < 0", 0.1, 0.0, 1.0)
_SWISH = UnitParameter(
    "beta", "β", "steepness", "steepness of Swish, x/(1 + exp(−βx))", 1.0, 0.1, 20.0, True
)
_SIGMOID = _SWISH._replace(help="steepness of the sigmoid, 1/(1 + exp(−βx))")

# Keys are the names in commands and in web addresses.
UNITS: dict[str, NamedUnit] = {
    "relu": NamedUnit("ReLU", "ReLU", lambda up, zero, down: (up,)),
    "erf": NamedUnit("Erf", "erf(x/√2)", _erf),
    "leaky": NamedUnit("LeakyReLU", "leaky ReLU", _leaky, _SLOPE),
    "swish": NamedUnit("Swish", "Swish", lambda up, zero, down: _logistic(up, up - down), _SWISH),
    "gelu": NamedUnit("GELU", "GELU", lambda up, zero, down: (up - down,)),
    "softplus": NamedUnit("Softplus", "softplus", lambda up, zero, down: (up - down,)),
    "tanh": NamedUnit("Tanh", "tanh", lambda up, zero, down: (up / math.tanh(1.0),)),
    "sigmoid": NamedUnit(
        "Sigmoid", "sigmoid", lambda up, zero, down: _logistic(up, up + down), _SIGMOID
    ),
    "linear": NamedUnit("Linear", "linear", lambda up, zero, down: (up,)),
}
