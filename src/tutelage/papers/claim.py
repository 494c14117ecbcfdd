"""A statement without a number, decided by measurements that could have said otherwise."""

import math
from typing import Any, Literal

import numpy as np

from tutelage.papers.record import Record, Verdict

LEVEL = 0.01


def claim(
    paper: str,
    item: str,
    samples: Any,
    relation: Literal[">", "<"] = ">",
    limit: float = 0.0,
    note: str = "",
) -> Record:
    """The record of a statement that a mean is greater, or less, than a limit.

    It "agrees" if a one-sided t test of the samples says so at the level 0.01, and "differs" if
    not, be it that they say the opposite or nothing.  ``computed`` is the mean, ``uncertainty``
    its standard error, and ``error`` its distance from the limit.

    Args:
        samples: one number for each run, independent of the others; at least two.

    >>> claim("p", "i", [1.0, 1.2, 0.9, 1.1]).verdict
    'agrees'
    >>> claim("p", "i", [1.0, 1.2, 0.9, 1.1], "<").verdict
    'differs'
    >>> claim("p", "i", [-1.0, 1.2, -0.9, 1.1]).verdict
    'differs'
    """
    from scipy.stats import t

    values = np.asarray(samples, dtype=float)
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    excess = mean - limit if relation == ">" else limit - mean
    critical = float(t.isf(LEVEL, len(values) - 1))
    # Samples that are all alike decide by themselves; NaN never does.
    verdict: Verdict = "agrees" if excess > critical * error and excess > 0 else "differs"
    printed = f"{relation} {limit:g}"
    return Record(paper, item, limit, mean, abs(excess), verdict, note, printed, error)


def in_every_run(paper: str, item: str, holds: Any, note: str = "") -> Record:
    """The record of a statement that something is so in every run: the fraction where it is."""
    fraction = float(np.mean(np.asarray(holds, dtype=float)))
    error = math.sqrt(fraction * (1 - fraction) / len(holds))
    verdict: Verdict = "agrees" if fraction == 1.0 else "differs"
    return Record(paper, item, 1.0, fraction, 1 - fraction, verdict, note, "every run", error)
