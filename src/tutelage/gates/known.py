"""Gates whose activations are classes of the package, with closed forms where they exist."""

import math
from typing import Any

from tutelage._checks import is_traced
from tutelage.activations import Activation, LeakyReLU, Linear, ReLU, Sigmoid, Swish, Tanh
from tutelage.gates.base import AbstractGate
from tutelage.gates.derived import Expectation, Signal
from tutelage.gates.levels import Gate
from tutelage.gates.slopes import TwoSlopes


def expectation_of(gate: AbstractGate, beta: Any) -> Activation:
    """Return `Sigmoid` for {0, 1}, `Tanh` for {−1, 1} at β = 1, `Expectation` otherwise."""
    if _equal(gate, (0.0, 1.0)) and (is_traced(beta) or beta > 0):
        return Sigmoid(beta)
    if _equal(gate, (-1.0, 1.0)) and not is_traced(beta) and beta == 1:
        return Tanh()
    return Expectation(gate, beta)


def signal_of(gate: AbstractGate, beta: Any) -> Activation:
    """Return `Swish` for {0, 1}, straight lines in both limits of β, `Signal` otherwise."""
    if not is_traced(beta) and beta == 0:
        level = float(gate.mean(0.0, 0.0))
        return _lines(level, level)
    if not is_traced(beta) and beta == math.inf:
        return _lines(*gate.ends)
    return Swish(beta) if _equal(gate, (0.0, 1.0)) else Signal(gate, beta)


def _lines(left: float, right: float) -> Activation:
    """Return the first named activation with these slopes, for exact averages or an exact g."""
    if right != 1 or left < 0:
        return TwoSlopes(left, right)
    if left in (0.0, 1.0):
        return ReLU() if left == 0 else Linear()
    return LeakyReLU(left)


def _equal(gate: AbstractGate, states: tuple[float, ...]) -> bool:
    """Return whether a gate has these states and equal weights."""
    return isinstance(gate, Gate) and gate.states == states and len(set(gate.weights)) == 1
