"""Statements in words, such as "good correspondence", decided by a computation."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from tutelage import simulation
from tutelage.papers.row import Row, compare, method


def correspondence(paper: str, item: str, words: str, theory: xr.Dataset, runs: xr.Dataset) -> Row:
    """Return the row of a statement that simulations and theory agree, in the paper's words.

    The number computed is the largest deviation in standard errors on which the verdict of
    `simulation.compare` rests, and 0 is published; the verdict is that of its test, at the level
    0.01.  The note gives the evidence.
    """
    comparison = simulation.compare(theory, runs)
    deviation = getattr(comparison, comparison.rests_on)
    row = compare(paper, item, method(words, 0.0, comparison.threshold), deviation.standard_errors)
    sentences = [f"{comparison.threshold:.1f} standard errors are allowed at the level 0.01."]
    if comparison.rests_on != "raw":
        raw = f"{comparison.raw.standard_errors:.1f} (p = {comparison.raw.p_value:.2g})"
        sentences += [f"A bias of order 1/N is allowed for; without that the deviation is {raw}."]
    if comparison.left_out:
        sentences += [f"{comparison.left_out[0].upper()}{comparison.left_out[1:]}."]
    words = f"{deviation.standard_errors:.2f} standard errors"
    return replace(row, note=" ".join(sentences), words=words)


def statement(paper: str, item: str, words: str, holds: Any, note: str = "") -> Row:
    """Return the row of a statement about several cases, in the paper's words.

    The number computed is the fraction of the cases in which it holds, and 1 is published.

    Args:
        holds: whether it does, for each of the cases; at least one.

    >>> statement("p", "i", "it grows", np.diff([1.0, 2.0, 4.0]) > 0).verdict
    'agrees'
    >>> statement("p", "i", "it grows", np.diff([1.0, 2.0, 1.5]) > 0).computed
    0.5
    """
    cases = np.asarray(holds, dtype=float).ravel()
    fraction = float(np.mean(cases))
    outcome = f"holds in {round(fraction * len(cases))} of {len(cases)} cases"
    row = compare(paper, item, method(words, 1.0, 0.0), fraction)
    return replace(row, note=note, words=outcome)
