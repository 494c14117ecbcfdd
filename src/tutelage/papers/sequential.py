"""Sequential tests: a rule, fixed in advance, for how many random runs a claim takes.

There are at most L stages.  At stage l = 1, …, L there are n 2^(l-1) runs in all, and every claim
that has not been decided before is tested at the level 0.01/L.  The first decision is final: the
chance that any stage decides wrongly is at most the sum of their levels, 0.01, however much the
stages have in common (Bonferroni).  The cost is stated by n 2^(L-1): claims that are undecided then
stay undecided.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
import xarray as xr

from tutelage._checks import positive_integer
from tutelage.papers.claim import LEVEL, claim
from tutelage.papers.row import Row

MAX_STAGES = 4  # the most runs are 8 times as many as the first


def until_decided(
    draw: Callable[[int, int], Any],
    claims: Callable[[Any, float], Iterable[Row]],
    runs: int,
    stages: int = MAX_STAGES,
) -> tuple[Any, list[Row]]:
    """Draw runs until claims are decided; return all runs, and the row of each claim at its stage.

    Args:
        draw: from the number of the first new run and how many there are, their results: an array
            that begins with runs, or a Dataset with the dimension ``run``.  New runs are
            independent of those before.
        claims: from all runs so far and the level of one stage, the rows, the same every time.
        runs: n, those of the first stage.
        stages: L.

    >>> random = np.random.default_rng(0)
    >>> drawn, (row,) = until_decided(
    ...     lambda first, count: random.normal(0.5, 1.0, count),
    ...     lambda samples, level: [claim("p", "i", samples, level=level)],
    ...     runs=4,
    ... )
    >>> len(drawn), row.verdict
    (8, 'agrees')
    """
    positive_integer("runs", runs, "runs=8")
    positive_integer("stages", stages, "stages=4")

    def growing() -> Iterator[Any]:
        everything = draw(0, runs)
        yield everything
        for stage in range(1, stages):
            first = runs * 2 ** (stage - 1)
            everything = _joined(everything, draw(first, first))
            yield everything

    return decide_in_stages(growing(), claims, stages)


def decide_in_stages(
    growing: Iterable[Any], claims: Callable[[Any, float], Iterable[Row]], stages: int = MAX_STAGES
) -> tuple[Any, list[Row]]:
    """Decide claims on runs that come stage by stage, or that were recorded before.

    Args:
        growing: all runs of each stage, at most L of them.
    """
    everything: Any = None
    rows: list[Row] = []
    for everything in growing:
        now = list(claims(everything, LEVEL / stages))
        before = rows or now
        rows = [
            new if old.verdict == "undecided" else old for old, new in zip(before, now, strict=True)
        ]
        if not any(row.verdict == "undecided" for row in rows):
            break
    return everything, rows


def sequential_claim(
    paper: str,
    item: str,
    draw: Callable[[int, int], Any],
    relation: Literal[">", "<"] = ">",
    limit: float = 0.0,
    *,
    runs: int = 8,
    stages: int = MAX_STAGES,
) -> Row:
    """Decide a `claim` about a mean with runs drawn in stages (`until_decided`)."""

    def claims(samples: Any, level: float) -> list[Row]:
        return [claim(paper, item, samples, relation, limit, level=level)]

    return until_decided(draw, claims, runs, stages)[1][0]


def _joined(before: Any, new: Any) -> Any:
    if isinstance(before, xr.Dataset):
        joined = xr.concat([before, new], "run", data_vars="minimal")
        return joined.assign_coords(run=np.arange(joined.sizes["run"]))
    return np.concatenate([before, new])
