"""Milletari, Chotibut and Trevisanutto, Mean field theory of activation functions (2019).

The activations themselves, eqs. (4) to (7), as the package has them by name and as they follow from
the partition function of a gate; the cross-entropy of Appendix A; and the claims about Hessian
spectra of Section 3 and Appendix B, which have a module of their own.  The paper's noise parameter
β is the `beta` of `Sigmoid`, `Swish` and the gates; its σ is the logistic function.
"""

import math
from collections.abc import Iterator

from tutelage import gates
from tutelage.activations import Sigmoid, Swish
from tutelage.papers.milletari2019_spectra import spectra_records
from tutelage.papers.record import Figure, Published, Record, closed_form, compare, correct

PAPER = "milletari2019"
POINTS = [(1.0, 0.7), (1.0, -1.5), (2.0, 0.7), (2.0, -1.5)]  # (β, h)
LABELS, PROBABILITIES = (1, 0, 0, 1, 1), (0.9, 0.2, 0.4, 0.7, 0.6)  # y and q of Appendix A
PHASE_SPACE_NOTE = (
    "milletari2019, the factor of eq. (7) for a sigmoid is printed as σ(βh)σ(−βh); the derivative "
    "of σ(βh) with respect to h has one more factor β, as the printed one for Swish has."
)


def records() -> list[Record]:
    """Values and derivatives of the gates at a few signals h and noise levels β; spectra."""
    return [
        *_values(),
        *_limits(),
        *_factors(),
        *_phase_space_factors(),
        *_from_partition_functions(),
        *_cross_entropy(),
        *spectra_records(),
    ]


def figures() -> Iterator[Figure]:
    """Figures 1 and 2: Hessian spectra along training."""
    from tutelage.papers.milletari2019_figures import spectra_figures  # matplotlib

    return spectra_figures()


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


def _from_partition_functions() -> Iterator[Record]:
    """By automatic differentiation of log Z, which knows no activation by name."""
    two, signs = gates.Gate([0, 1]), gates.Gate([-1, 1])
    for beta, h in POINTS:
        at = f"β = {beta:g}, h = {h:g}"
        sigma = _logistic(beta * h)
        rows = (
            ("eq. (4), ⟨s⟩ = σ(βh) from Z", sigma, two.mean(beta, h)),
            ("eq. (5), ⟨j⟩ = h σ(βh) from Z", h * sigma, two.transmitted(beta, h)),
            (
                "abstract, tanh(βh) as ⟨s⟩ of the states ±1",
                math.tanh(beta * h),
                signs.mean(beta, h),
            ),
        )
        for item, printed, computed in rows:
            yield compare(PAPER, f"{item}, {at}", _formula(printed), float(computed))
    for h in (1.0, -1.0):
        published = closed_form(f"max(h, 0) = {max(h, 0.0):g}", max(h, 0.0))
        item = f"eq. (6), ⟨j⟩ from Z at β = ∞, h = {h:g}"
        yield compare(PAPER, item, published, float(two.signal(math.inf)(h)))


def _cross_entropy() -> Iterator[Record]:
    """Eqs. (15) and (16): exact for single labels; for their number in the limit of many."""
    pairs = list(zip(LABELS, PROBABILITIES, strict=True))
    S = sum(math.log(q) if y else math.log(1 - q) for y, q in pairs)
    P = gates.label_probability(LABELS, PROBABILITIES)
    item = f"eq. (16), log P(y) = m S, {len(pairs)} labels, all multipliers summed"
    yield compare(PAPER, item, _formula(S), math.log(P))
    for k, m, q in ((1, 4, 0.3), (3, 4, 0.3)):
        y = k / m
        found = gates.saddle_point(k, [q] * m)
        printed = math.log(y * (1 - q) / (q * (1 - y)))
        item = f"eq. (15), −iλ_c, the mean of {m} labels is {y:g}, q = {q:g}"
        yield compare(PAPER, item, _formula(printed), found.multiplier)
        exponent = y * math.log(q / y) + (1 - y) * math.log((1 - q) / (1 - y))
        item = f"eq. (16) with its constant, the mean of {m} labels is {y:g}, q = {q:g}"
        yield compare(PAPER, item, _formula(exponent), found.exponent / m)


def _formula(value: float) -> Published:
    return closed_form(f"{value:.6f}", value)
