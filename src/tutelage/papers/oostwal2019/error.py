"""Oostwal, Straat and Biehl (2019): the generalization error as a function of the overlaps.

Sec. II C and Appendices B to D.  Outputs carry 1/√K, so `output_scale` is 1/√K in all of this.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from tutelage import averages, generalization_error
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.row import (
    Published,
    Row,
    closed_form,
    compare,
    correct,
    digits,
    formula,
    worst,
)

SIGMOIDAL = Erf(offset=1.0)  # eq. (2)
UNITS = (1, 2, 5, 10, 100)
PLATEAUS = {
    "erf": (SIGMOIDAL, closed_form("1/3 - 1/π", 1 / 3 - 1 / math.pi), "0.0150"),
    "ReLU": (ReLU(), closed_form("1/4 - 1/(2π)", 1 / 4 - 1 / (2 * math.pi)), "0.091"),
}
STATES = [(2, 0.6, 0.2, 0.1), (5, 0.15, 0.15, 0.05), (10, -0.4, 0.1, 0.02)]  # (K, R, S, C)
NOTE_11 = (
    "oostwal2019 eq. (11) has a factor 1/K too many: at R = S = C = 0 it gives 1/(3K), while "
    "eq. (9) and the text below eq. (12) give 1/3 for every K. Computed from eq. (9); averages "
    "over random inputs agree (tests/averages/test_generalization.py)."
)
NOTE_26 = (
    "oostwal2019 eq. (26) is for outputs that are plain sums; with the outputs of eq. (1) it "
    "carries a factor 1/K. Computed from eq. (9); both are in "
    "tests/averages/test_generalization.py."
)


def section_ii() -> Iterator[Row]:
    """Eqs. (9) to (12) and the errors quoted below them."""
    yield from _unlearned()
    yield from _learned()
    yield _equation_11()
    yield _equation_12()


def appendix_b() -> Iterator[Row]:
    """Eqs. (26) to (28)."""
    yield from _equations_26_28()
    yield _equation_27()


def error(g: Activation, overlaps: Overlaps) -> float:
    """Compute ε_g of a student and a teacher with K units each and outputs scaled as in eq. (1)."""
    both = Committee(overlaps.K, g)
    scale = 1 / math.sqrt(overlaps.K)
    scenario = Scenario(both, both, teacher_overlaps=overlaps.T, output_scale=scale)
    return float(generalization_error(scenario, overlaps))


def site_symmetric(K: int, R: float, S: float, C: float) -> Overlaps:
    """Eq. (10): R and 1 on the diagonals, S and C off them."""
    one = np.eye(K)
    return Overlaps(Q=one + C * (1 - one), R=R * one + S * (1 - one), T=one)


def point(K: int, R: float, S: float, C: float) -> str:
    """Return the name of a state."""
    return f"K = {K}, R = {R:g}, S = {S:g}, C = {C:g}"


def _unlearned() -> Iterator[Row]:
    starts = {K: site_symmetric(K, 0.0, 0.0, 0.0) for K in UNITS}
    for name, g, text, value in (
        ("erf", SIGMOIDAL, "1/3", 1 / 3),
        ("ReLU", ReLU(), "1/2 - 1/(2π)", 1 / 2 - 1 / (2 * math.pi)),
    ):
        # K² averages of order one over K: the cancelling terms, and their rounding, are of order K.
        points = (
            compare(KEY, f"K = {K}", closed_form(text, value, scale=K), error(g, start))
            for K, start in starts.items()
        )
        yield worst(f"ε_g at R = S = C = 0, {name}, K = 1, 2, 5, 10 and 100", points)
    start = site_symmetric(3, 0.0, 0.0, 0.0)
    yield compare(KEY, "ε_g at R = S = C = 0, ReLU, K = 3", digits("0.341"), error(ReLU(), start))


def _learned() -> Iterator[Row]:
    solution = site_symmetric(5, 1.0, 0.0, 0.0)
    for name, g in (("erf", SIGMOIDAL), ("ReLU", ReLU())):
        item = f"ε_g at R = 1, S = C = 0, {name}, K = 5"
        yield compare(KEY, item, closed_form("0", 0.0), error(g, solution))
    state = site_symmetric(*STATES[0])
    yield compare(
        KEY,
        "below eq. (9), ε_g with and without the additive constant, erf",
        closed_form("equal", error(Erf(), state)),
        error(SIGMOIDAL, state),
    )


def _equation_11() -> Row:
    points = []
    for K, R, S, C in [(5, 0.0, 0.0, 0.0), *STATES]:
        braces = (
            1 / 3
            + (K - 1) / math.pi * (math.asin(C / 2) - 2 * math.asin(S / 2))
            - 2 / math.pi * math.asin(R / 2)
        )
        computed = error(SIGMOIDAL, site_symmetric(K, R, S, C))
        published, exact = _value(braces / K), _value(braces, K)
        points.append(correct(KEY, point(K, R, S, C), published, exact, computed, NOTE_11))
    return worst("eq. (11), erf, at four states of K = 2, 5 and 10", points)


def _equation_12() -> Row:
    def average(x: float) -> float:
        return x / 4 + math.sqrt(1 - x**2) / (2 * math.pi) + x * math.asin(x) / (2 * math.pi)

    points = []
    for K, R, S, C in STATES:
        braces = (
            K
            + K * (K - 1) / (2 * math.pi)
            - 2 * K * average(R)
            + K * (K - 1) * average(C)
            - 2 * K * (K - 1) * average(S)
        )
        computed = error(ReLU(), site_symmetric(K, R, S, C))
        points.append(compare(KEY, point(K, R, S, C), _value(braces / (2 * K), K), computed))
    return worst("eq. (12), ReLU, at three states of K = 2, 5 and 10", points)


def _equations_26_28() -> Iterator[Row]:
    """Check eqs. (26) to (28) at a state without symmetry: weights with K = M = 3 in N = 7
    dimensions.
    """
    random = np.random.default_rng(2019)
    W, V = random.normal(size=(2, 3, 7)) / math.sqrt(7)
    state = Overlaps.from_weights(W, V)
    erf_sum = _sum_over_pairs(_erf_average, W, V)
    item = "eq. ({}), {}, K = M = 3 without symmetry"
    yield correct(
        KEY,
        item.format(26, "erf"),
        _value(erf_sum / 2),
        _value(erf_sum / 6),
        error(SIGMOIDAL, state),
        NOTE_26,
    )
    relu = _value(_sum_over_pairs(_equation_27_printed, W, V) / 6)
    yield compare(KEY, item.format(28, "ReLU"), relu, error(ReLU(), state))


def _sum_over_pairs(
    average: Callable[[float, float, float], float], W: np.ndarray, V: np.ndarray
) -> float:
    """Σ_ab ± ⟨g(x_a) g(x_b)⟩ over students (+) and teachers (−), eq. (25) without 1/(2K)."""
    fields = np.concatenate([W, V])
    signs = [1.0] * len(W) + [-1.0] * len(V)
    return sum(
        p * q * average(float(a @ a), float(b @ b), float(a @ b))
        for p, a in zip(signs, fields, strict=True)
        for q, b in zip(signs, fields, strict=True)
    )


def _erf_average(c11: float, c22: float, c12: float) -> float:
    """Return one term of eq. (26), times 2: the sum in its braces is over ⟨g g⟩ π/2."""
    return 2 / math.pi * math.asin(c12 / math.sqrt((1 + c11) * (1 + c22)))


def _equation_27_printed(c11: float, c22: float, c12: float) -> float:
    # Rounding makes |c12| exceed √(c11 c22) by one unit for a field with itself.
    rho = max(-1.0, min(1.0, c12 / math.sqrt(c11 * c22)))
    root = math.sqrt(max(0.0, c11 * c22 - c12**2))
    return c12 / 4 + (root + c12 * math.asin(rho)) / (2 * math.pi)


def _equation_27() -> Row:
    points = []
    for c11, c22, c12 in [(1.0, 1.0, 0.5), (0.3, 2.0, -0.6), (1.0, 4.0, 2.0), (1.0, 4.0, -2.0)]:
        name = f"C = [{c11:g} {c12:g}; {c12:g} {c22:g}]"
        computed = float(averages.i2(ReLU(), [[c11, c12], [c12, c22]]))
        printed = _value(_equation_27_printed(c11, c22, c12))
        points.append(compare(KEY, name, printed, computed))
    return worst("eq. (27), ⟨g(x)g(y)⟩ of the ReLU, at four covariances, two singular", points)


def single_unit() -> Iterator[Row]:
    """Eqs. (30) and (31)."""
    erf, relu = [], []
    for R in (-0.5, 0.5, 0.9):
        name, state = f"R = {R:g}", site_symmetric(1, R, 0.0, 0.0)
        printed = 1 / 3 - 2 / math.pi * math.asin(R / 2)
        erf.append(compare(KEY, name, _value(printed), error(SIGMOIDAL, state)))
        printed = (2 - R) / 4 - (math.sqrt(1 - R**2) + R * math.asin(R)) / (2 * math.pi)
        relu.append(compare(KEY, name, _value(printed), error(ReLU(), state)))
    yield worst("eq. (30), erf, K = 1, R = -0.5, 0.5 and 0.9", erf)
    yield worst("eq. (31), ReLU, K = 1, R = -0.5, 0.5 and 0.9", relu)


def plateau(name: str) -> Iterator[Row]:
    """Compare ε_g at R = S = 1/K, C = 0 for K → ∞, from finite committees and from the limit."""
    g, exact, printed = PLATEAUS[name]
    item = f"plateau ε_g at R = S = 1/K, C = 0, {name}, K → ∞"
    yield compare(KEY, f"{item} (κ̃(1))", exact, _kappa_tilde(g, 1.0))
    value, change = _large_network(g)
    yield compare(KEY, f"{item} (K = 32, 64, 128)", digits(printed), value, change)


def mirror_images() -> Row:
    """Sec. III B: R and −R have the same error for K → ∞."""
    item = "Sec. III B, ε_g(R) - ε_g(-R), ReLU, K → ∞, R = 0.7"
    difference = _kappa_tilde(ReLU(), -0.7) - _kappa_tilde(ReLU(), 0.7)
    return compare(KEY, item, closed_form("0", 0.0), difference)


def _kappa_tilde(g: Activation, rho: float) -> float:
    """κ(ρ) − κ(0) − κ'(0) ρ with κ(ρ) = ⟨g(u)g(w)⟩ at unit norm; κ'(0) = c_1²."""
    C = np.array([[[1.0, r], [r, 1.0]] for r in (rho, 0.0)])
    kappa = np.asarray(averages.i2(g, C))
    c_1 = float(g.hermite(1).values[1])
    return float(kappa[0] - kappa[1] - c_1**2 * rho)


def _large_network(g: Activation) -> tuple[float, float]:
    """Return ε_g extrapolated from K = 32, 64, 128, and the size of the extrapolation."""
    a, b, c = (error(g, site_symmetric(K, 1 / K, 1 / K, 0.0)) for K in (32, 64, 128))
    limit, first_order = (a - 6 * b + 8 * c) / 3, 2 * c - b
    return limit, abs(limit - first_order)


def appendix_d() -> Iterator[Row]:
    """⟨g(x)⟩ given x*: Σ_n c_n Sⁿ h_n(x*), so that the two printed terms are c_0 and c_1."""
    c = ReLU().hermite(1).values
    mean = closed_form("1/√(2π)", 1 / math.sqrt(2 * math.pi))
    yield compare(KEY, "App. D, mean response of an orthogonal unit", mean, float(c[0]))
    slope = closed_form("1/2", 0.5)
    yield compare(KEY, "App. D, its slope in S x*", slope, float(c[1]))


def _value(value: float, terms: float = 1.0) -> Published:
    """Compare a formula with its printed value; rounding errors grow with the K units of a sum."""
    return formula(value, scale=terms)
