"""Milletari, Chotibut and Trevisanutto, Mean field theory of activation functions (2019).

So far: the activations themselves, eqs. (4) to (7).  The paper's noise parameter β is
the `beta` of `Sigmoid` and `Swish`; its σ is the logistic function.
"""

import math
from collections.abc import Iterator

from tutelage.activations import Sigmoid, Swish
from tutelage.papers.record import Published, Record, closed_form, compare, correct

PAPER = "milletari2019"
POINTS = [(1.0, 0.7), (1.0, -1.5), (2.0, 0.7), (2.0, -1.5)]  # (β, h)
PHASE_SPACE_NOTE = (
    "milletari2019, the factor of eq. (7) for a sigmoid is printed as σ(βh)σ(−βh); the derivative "
    "of σ(βh) with respect to h has one more factor β, as the printed one for Swish has."
)


def records() -> list[Record]:
    """Values and derivatives of the gates at a few signals h and noise levels β."""
    return [*_values(), *_limits(), *_factors(), *_phase_space_factors()]


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _values() -> Iterator[Record]:
    for beta, h in POINTS:
        value = h * _logistic(beta * h)
        item = f"eq. (5), ⟨j⟩ = h σ(βh), β = {beta:g}, h = {h:g}"
        yield compare(PAPER, item, _formula(value), float(Swish(beta)(h)))


def _limits() -> Iterator[Record]:
    for h in (1.0, -1.0):
        # exp(−10³) underflows: at this β the limit is reached in float64.
        published = closed_form(f"max(h, 0) = {max(h, 0.0):g}", max(h, 0.0))
        item = f"eq. (6), Swish → ReLU for β → ∞, h = {h:g}"
        yield compare(PAPER, item, published, float(Swish(1e3)(h)))
        # Swish(β) = h/2 + βh²/4 + …: the next term is below rounding.
        item = f"Sec. 2.3, Swish → linear for β → 0, h = {h:g}"
        yield compare(PAPER, item, closed_form("h/2", h / 2), float(Swish(1e-16)(h)))


def _factors() -> Iterator[Record]:
    for beta, h in POINTS:
        factor = _logistic(beta * h) * (1 + h * beta * _logistic(-beta * h))
        item = f"eq. (7), factor ĝ of Swish, β = {beta:g}, h = {h:g}"
        yield compare(PAPER, item, _formula(factor), float(Swish(beta).derivative(h)))


def _phase_space_factors() -> Iterator[Record]:
    for beta, h in POINTS:
        printed = _logistic(beta * h) * _logistic(-beta * h)
        item = f"eq. (7), factor g of Sigmoid, β = {beta:g}, h = {h:g}"
        computed = float(Sigmoid(beta).derivative(h))
        exact = _formula(beta * printed)
        yield correct(PAPER, item, _formula(printed), exact, computed, PHASE_SPACE_NOTE)


def _formula(value: float) -> Published:
    return closed_form(f"{value:.6f}", value)
