"""Citton, Richert and Biehl, The role of the learning rate (ESANN 2025).

So far: the Hermite coefficients of the ReLU, the truncated series for the four-point
average beside its exact value, and the singular covariances the series cannot treat.
The paper's Hermite polynomials H_n are not normalised: ⟨H_n, g⟩ = √(n!) c_n.
"""

import math
from collections.abc import Iterator

import numpy as np

from tutelage import averages
from tutelage.activations import ReLU
from tutelage.papers.record import Published, Record, closed_form, compare, correct, method

PAPER = "citton2025"
NOTE_1 = (
    "citton2025 cuts the series of eq. (1) at order 10. It converges where no eigenvalue of the "
    "correlation matrix exceeds 2 (|ρ_ij| < 1 is not enough); on the plateau one is 2.28, and the "
    "series is off by 5e-5. Computed exactly, and confirmed by quadrature."
)
ORDER = 10  # Sec. 3: "we expand the activation function up to order N = 10"

# Overlaps of K = M = 2 with the graded teacher T = diag(1, 2): students first, then teachers.
START = [  # Fig. 1: Q_ik = k/10 δ_ik, R_in = 10⁻³ δ_in
    [0.1, 0.0, 1e-3, 0.0],
    [0.0, 0.2, 0.0, 1e-3],
    [1e-3, 0.0, 1.0, 0.0],
    [0.0, 1e-3, 0.0, 2.0],
]
PLATEAU = [  # the symmetric fixed point of Fig. 2 at η = 1, to six digits
    [1.345386, 0.542161, 0.458277, 1.050455],
    [0.542161, 1.345386, 0.458277, 1.050455],
    [0.458277, 0.458277, 1.0, 0.0],
    [1.050455, 1.050455, 0.0, 2.0],
]


def records() -> list[Record]:
    """Coefficients, the series against the exact average, and singular covariances."""
    return [*_coefficients(), *_series(), *_singular()]


def _coefficients() -> Iterator[Record]:
    c = np.asarray(ReLU().hermite(ORDER).values)
    for n in range(ORDER + 1):
        value = _printed_coefficient(n)
        # H_n has size √(n!), and rounding is relative to that.
        published = closed_form(f"{value:.6g}", value, scale=math.sqrt(math.factorial(n)))
        computed = math.sqrt(math.factorial(n)) * float(c[n])
        yield compare(PAPER, f"⟨H_{n}, g⟩ of the ReLU", published, computed)


def _printed_coefficient(n: int) -> float:
    """⟨H_0, g⟩ = 1/√(2π), ⟨H_1, g⟩ = 1/2, ⟨H_n, g⟩ = (−1)ⁿ H_{n−2}(0)/√(2π), Sec. 2.2."""
    if n == 1:
        return 0.5
    if n % 2:
        return 0.0
    return (_hermite_at_zero(n - 2) if n else 1.0) / math.sqrt(2 * math.pi)


def _hermite_at_zero(n: int) -> float:
    """H_n(0) = (−1)^{n/2} (n−1)!! for even n."""
    return float((-1) ** (n // 2) * math.prod(range(1, n, 2)))


def _series() -> Iterator[Record]:
    """Eq. (1) cut at order 10, the exact average, and quadrature to decide between them."""
    for name, C in (("start of Fig. 1", START), ("plateau at η = 1", PLATEAU)):
        series = float(averages.i4(ReLU(), C, method=averages.Hermite(order=ORDER)))
        third = averages.i4(ReLU(), C, method=averages.Quadrature(), return_error=True)
        yield correct(
            PAPER,
            f"eq. (1) to order {ORDER}, I4 of x1 x2 y1 y2, {name}",
            closed_form(f"{series:.8f}", series),
            method("quadrature", float(third.value), float(third.error)),
            float(averages.i4(ReLU(), C)),
            NOTE_1,
        )


def _singular() -> Iterator[Record]:
    """Sec. 2.2: with a repeated field I4 has fewer dimensions; with two, it is an I2."""
    C = np.array([[1.345386, 0.458277], [0.458277, 1.0]])
    two_point = closed_form("I2(x, y)", float(averages.i2(ReLU(), C)))
    for name, fields in (("x x x y", [0, 0, 0, 1]), ("x y x y", [0, 1, 0, 1])):
        item = f"Sec. 2.2, singular I4 of {name}"
        yield _compare_i4(item, two_point, C[np.ix_(fields, fields)])
    item = "Sec. 2.2, singular I4 of x x x x"
    yield _compare_i4(item, closed_form("1/2", 0.5), np.ones((4, 4)))


def _compare_i4(item: str, published: Published, C: np.ndarray) -> Record:
    exact = averages.i4(ReLU(), C, return_error=True)
    return compare(PAPER, item, published, float(exact.value), uncertainty=float(exact.error))
