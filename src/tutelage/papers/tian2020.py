"""Tian, Student specialization in deep ReLU networks with finite width (2020).

So far: Theorem 6, the mean push of one teacher node on one student node.  For inputs
x ~ N(0, 1) and unit weights at an angle θ,

    E[x θ(w_k·x) (w*_j·x)₊]  ∝  (π − θ) w*_j + sin θ w_k.

Its component along any vector e is a three-point average of the fields w_k·x, e·x and
w*_j·x.  The proportionality leaves the ratio sin θ/(π − θ) to be compared.
"""

import math

import numpy as np

from tutelage import averages
from tutelage.activations import ReLU
from tutelage.papers.record import Record, closed_form, compare

PAPER = "tian2020"
ANGLES = {"π/6": math.pi / 6, "π/2": math.pi / 2, "5π/6": 5 * math.pi / 6}


def records() -> list[Record]:
    """The ratio of the two coefficients of Theorem 6 at three angles."""
    return [
        compare(
            PAPER,
            f"Theorem 6, coefficient of w_k over that of w*_j, θ = {name}",
            # The ratio is a solution of equations with the determinant sin²θ ≥ 1/4.
            closed_form(
                "sin θ/(π - θ)", math.sin(angle) / (math.pi - angle), scale=math.sin(angle) ** -2
            ),
            _ratio(angle),
        )
        for name, angle in ANGLES.items()
    ]


def _ratio(angle: float) -> float:
    gram = np.array([[1.0, math.cos(angle)], [math.cos(angle), 1.0]])  # of w_k and w*_j
    k, j = 0, 1
    components = [float(averages.i3(ReLU(), gram[np.ix_([k, e, j], [k, e, j])])) for e in (k, j)]
    of_student, of_teacher = np.linalg.solve(gram, components)
    return float(of_student / of_teacher)
