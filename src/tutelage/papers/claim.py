"""Decide statements without numbers by statistical tests that can refute them."""

import math
from typing import Any, Literal

import numpy as np

from tutelage._checks import InputError
from tutelage.papers.row import Row, Verdict

LEVEL = 0.01


def claim(
    paper: str,
    item: str,
    samples: Any,
    relation: Literal[">", "<"] = ">",
    limit: float = 0.0,
    note: str = "",
    *,
    level: float = LEVEL,
) -> Row:
    """Return the row of a statement that a mean is greater, or less, than a limit.

    It "agrees" if a one-sided t test of the samples confirms it at the level 0.01, "differs" if a
    test confirms the opposite, and is "undecided" otherwise.  ``computed`` is the mean,
    ``uncertainty`` its standard error, and ``error`` its distance from the limit.

    Args:
        samples: one number for each run, independent of the others; at least two.
        level: of this test, if it is one of several (`tutelage.papers.sequential`).

    >>> claim("p", "i", [1.0, 1.2, 0.9, 1.1]).verdict
    'agrees'
    >>> claim("p", "i", [1.0, 1.2, 0.9, 1.1], "<").verdict
    'differs'
    >>> claim("p", "i", [-1.0, 1.2, -0.9, 1.1]).verdict
    'undecided'
    """
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or len(values) < 2:
        raise InputError("samples", f"shape {values.shape}", "there have to be at least two runs")
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    excess = values - limit if relation == ">" else limit - values
    chance = _chance(excess)
    verdict: Verdict = "undecided"
    if chance < level:
        verdict = "agrees"
    elif chance > 1 - level:
        verdict = "differs"
    else:
        note = f"{len(values)} runs do not decide it at the level {level:.2g}. {note}".strip()
    distance, printed = abs(float(np.mean(excess))), f"{relation} {limit:g}"
    return Row(paper, item, limit, mean, distance, verdict, note, printed, error)


def _chance(excess: np.ndarray) -> float:
    """Return the p-value of the mean under a true mean of zero; NaN if a value is NaN.

    By a t test; by a sign test if all values are equal, where a t test is undefined.
    """
    from scipy.stats import ttest_1samp

    if np.ptp(excess) == 0:
        equally = 2.0 ** -len(excess)
        return equally if excess[0] > 0 else 1 - equally
    return float(ttest_1samp(excess, 0.0, alternative="greater").pvalue)


def counterexample(paper: str, item: str, printed: str, refuted: bool, note: str) -> Row:
    """Return the row of a general statement that one case may refute.

    Args:
        printed: the statement in a few words.
        refuted: whether the case contradicts the statement.
        note: describes the case, and what replaces the statement.

    >>> row = counterexample("p", "i", "x > 0 for all x", refuted=True, note="x = 0.")
    >>> row.verdict, row.words
    ('differs', 'one counterexample')
    """
    verdict: Verdict = "differs" if refuted else "agrees"
    words, count = ("one counterexample", 1.0) if refuted else ("no counterexample", 0.0)
    return Row(paper, item, 0.0, count, count, verdict, note, printed, 0.0, words)


def in_every_run(paper: str, item: str, holds: Any) -> Row:
    """Return the row of a statement about every run, with the fraction of runs where it holds."""
    fraction = float(np.mean(np.asarray(holds, dtype=float)))
    error = math.sqrt(fraction * (1 - fraction) / len(holds))
    verdict: Verdict = "agrees" if fraction == 1.0 else "differs"
    words = f"in {round(fraction * len(holds))} of {len(holds)} runs"
    return Row(paper, item, 1.0, fraction, 1 - fraction, verdict, "", "every run", error, words)
