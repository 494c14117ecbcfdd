"""Straat and Biehl, On-line learning dynamics of ReLU neural networks (ESANN 2019).

So far: the three-point average, eq. (6), from which the equations of motion at small
learning rate are made.
"""

import math

import numpy as np

from tutelage import averages
from tutelage.activations import ReLU
from tutelage.papers.record import Record, closed_form, compare

PAPER = "straat2019"

# Fields u, v, w, built from weights so that the singular ones are singular on purpose.
COVARIANCES = {
    "a generic covariance": [[1.0, 0.3, -0.4], [0.3, 0.7, 0.2], [-0.4, 0.2, 1.5]],
    "Fig. 1 start, x x y": [[0.25, 0.25, 0.0], [0.25, 0.25, 0.0], [0.0, 0.0, 1.0]],
    "Fig. 2 plateau, x1 y2 y1": [[0.718, 0.52, 0.52], [0.52, 1.0, 0.0], [0.52, 0.0, 1.0]],
    "J = B, all fields equal": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
    "w = -u": [[1.0, 0.5, -1.0], [0.5, 1.0, -0.5], [-1.0, -0.5, 1.0]],
    "J2 = B2/2 (Fig. 3), x2 y2 x3": [[0.25, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.25]],
}


def records() -> list[Record]:
    """Eq. (6) as printed against the three-point average."""
    return [_three_point(name, np.array(C)) for name, C in COVARIANCES.items()]


def _three_point(name: str, C: np.ndarray) -> Record:
    text = f"{_equation_6(C):.6f}"
    published = closed_form(text, _equation_6(C), scale=float(np.max(C)))
    return compare(PAPER, f"eq. (6), {name}", published, float(averages.i3(ReLU(), C)))


def _equation_6(S: np.ndarray) -> float:
    """σ12 √(σ11σ33 − σ13²)/(2πσ11) + σ23 asin(σ13/√(σ11σ33))/(2π) + σ23/4, as printed."""
    (s11, s12, s13), (_, _, s23), (_, _, s33) = S
    return float(
        s12 * math.sqrt(s11 * s33 - s13**2) / (2 * math.pi * s11)
        + s23 * math.asin(s13 / math.sqrt(s11 * s33)) / (2 * math.pi)
        + s23 / 4
    )
