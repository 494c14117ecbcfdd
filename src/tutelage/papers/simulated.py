"""Statements about simulations: "good correspondence", decided by a test."""

import xarray as xr

from tutelage import simulation
from tutelage.papers.record import Record, compare, method


def correspondence(
    paper: str, item: str, words: str, theory: xr.Dataset, runs: xr.Dataset
) -> Record:
    """The record of a statement that simulations and theory agree, in the paper's words.

    The number computed is the largest deviation in standard errors, as `simulation.compare`
    finds it, and 0 is published; the verdict is that of its test, at the level 0.01.
    """
    found = simulation.compare(theory, runs)
    return compare(paper, item, method(words, 0.0, found.threshold), found.worst)
