"""citton2025, Sec. 3: statements about fixed points, decided by the recorded study of them.

`tutelage.papers.beyond.landscape` follows all branches of fixed points that it finds in this
setting, and counts the runs that linger next to each of them.
"""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.beyond.landscape import RUNS_PER_KIND, unpadded
from tutelage.papers.citton2025 import KEY
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row
from tutelage.papers.section import Figure, Section
from tutelage.papers.simulated import statement

SOLUTION, PLATEAU, IDENTICAL = 0, 2, 3  # recorded branches
# Learning rates with the plateau, below the loss of its fold; rates beyond the printed η_c; and a
# rate above which a branch belongs to large rates alone.
PLATEAU_EXISTS, CRITICAL, LARGE = 1.2543, 1.2575, 0.9
STABLE = 1e-7
NOTE = (
    "Recorded in *beyond the papers*, section landscape; a second search is its section search. "
    "Neither proves that no fixed point is missed."
)


def role(full: bool) -> Iterator[Row | Figure]:
    """Decide five sentences about fixed points."""
    data = recorded.load_recorded("beyond", "branches")
    yield from recorded.mark_recorded(_rows(data), recorded.describe_origin(data))


def _rows(data: xr.Dataset) -> Iterator[Row]:
    branches = unpadded(data)
    others = [one for n, one in enumerate(branches) if n not in (SOLUTION, IDENTICAL)]
    item = f"Sec. 3, other branches of fixed points, none of them stable up to η = {CRITICAL}"
    words = "two stable fixed points that correspond to perfect alignment"
    yield statement(KEY, item, words, [_unstable(one) for one in others], NOTE)
    item = f"Sec. 3, branches of fixed points that begin above η = {LARGE}, at least one"
    begins = [float(one.learning_rate.min()) > LARGE for one in branches]
    words = "for large values of η other fixed points appear"
    yield statement(KEY, item, words, [any(begins)], NOTE)
    small = data.sel(kind="small")
    exists = data.rate.values < PLATEAU_EXISTS
    item = "Sec. 3, runs from small students linger at the plateau's fixed point where it exists"
    words = "a fixed point responsible for the symmetric plateau observed in the dynamics"
    lingering = small.visits.isel(branch=PLATEAU).values[exists] / RUNS_PER_KIND
    yield statement(KEY, item, words, lingering == 1, NOTE)
    item = "Sec. 3, four kinds of starts, no run lingers at identical students"
    words = "identical student weight vectors, but it is not visited"
    visits = data.visits.isel(branch=IDENTICAL).sum("rate").values
    yield statement(KEY, item, words, visits == 0, NOTE)
    yield _growth(data)


def _unstable(branch: xr.Dataset) -> bool:
    below = branch.learning_rate.values < CRITICAL
    return bool(np.all(np.nanmax(branch.eigenvalue.values[below], axis=1) > STABLE))


def _growth(data: xr.Dataset) -> Row:
    """Check whether norms grow without bound at rates above η_c, from each kind of start."""
    above = data.isel(rate=np.flatnonzero(data.rate.values > CRITICAL))
    rates = ", ".join(map(str, above.rate.values))
    item = f"Sec. 3, η = {rates}, every run of a kind of starts diverges"
    words = "learning rates greater than η_c ≈ 1.2575: uncontrollable growth of the norms"
    rows = {
        f"students {kind}": statement(
            KEY, item, words, above.diverged.sel(kind=kind).values == RUNS_PER_KIND
        )
        for kind in data.kind.values.tolist()
    }
    return in_each_reading(item, "the start", rows, NOTE)


SECTIONS = (
    Section(
        "role",
        "Section 3: the role of the fixed points",
        "Sentences about fixed points that the recorded study of all branches decides: which are "
        "stable, which appear at large learning rates, which are visited by runs, and from which "
        "starts norms grow.",
        role,
        outside=lambda: recorded.digest("beyond"),
    ),
)
