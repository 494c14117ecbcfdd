"""Milletari, Chotibut and Trevisanutto (2019), Appendix A: the cross-entropy as a probability."""

import math
from collections.abc import Iterator

from tutelage import gates
from tutelage.papers.record import Published, Record, closed_form, compare

PAPER = "milletari2019"
LABELS, PROBABILITIES = (1, 0, 0, 1, 1), (0.9, 0.2, 0.4, 0.7, 0.6)  # y and q


def cross_entropy() -> Iterator[Record]:
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
