"""The searches of `best_control` at the lower resolution, from several first guesses.

Every finished search is saved in the checkpoint, from which the same call continues.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tutelage.online.best.certificate import compared_starts, hamiltonian_spread_of
from tutelage.online.best.first_guess import best_constant, first_guesses, step_count
from tutelage.online.best.goals import check_plateau_is_left
from tutelage.online.best.grids import KnotGrid
from tutelage.online.best.search import Optimum, Search
from tutelage.runs.checkpoint import Checkpoint
from tutelage.runs.progress import Progress


class Coarse(NamedTuple):
    """The best optimum at the lower resolution, and how the optima of all starts compare.

    end: the final time, the soonest one if an error is to be reached.
    values: the controls at the knots.
    starts, start_values, distance: as `tutelage.online.best.certificate.compared_starts`.
    spread: of the Hamiltonian.
    goal: the end if an error is to be reached, else ln ε_g at the end.
    """

    grid: KnotGrid
    end: float
    values: np.ndarray
    starts: list[str]
    start_values: list[float]
    distance: float
    spread: float
    goal: float


class _Searches(NamedTuple):
    """Finished searches: the grid, the end, the best constant controls, and optima by start."""

    grid: KnotGrid
    end: float
    constant: np.ndarray
    optima: dict[str, Optimum]

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "knots": self.grid.knots,
            "ends": self.grid.ends,
            "end": np.asarray(self.end),
            "constant": self.constant,
            "starts": np.asarray([*self.optima]),
            "values": np.stack([optimum.values for optimum in self.optima.values()]),
        }

    @classmethod
    def stored(cls, search: Search, stored: Mapping[str, np.ndarray]) -> "_Searches":
        grid, end = KnotGrid(stored["knots"], stored["ends"]), float(stored["end"])
        optima = {
            str(name): search.evaluated(grid, end, values)
            for name, values in zip(stored["starts"], stored["values"], strict=True)
        }
        return cls(grid, end, stored["constant"], optima)


def search_coarsely(
    search: Search,
    start_from: Mapping[str, Callable[[Any], Any]],
    knots: int,
    seed: int,
    file: Checkpoint,
    bar: Progress,
) -> Coarse:
    """Find the best optimum from several first guesses, with half of the knots."""
    stored = file.load()
    done = _Searches.stored(search, stored) if stored else _first(search, knots)
    file.save(done.arrays())
    guesses = first_guesses(done.end, done.grid, done.constant, start_from, seed, search)
    for name, values in guesses.items():
        if name not in done.optima:
            done.optima[name] = search.optimum(done.grid, done.end, values)
            file.save(done.arrays())
        bar.add(1)
    best = min(done.optima.values(), key=lambda optimum: optimum.path.value)
    end = done.end
    if best is not done.optima["constant"]:
        end, best = search.soonest(done.grid, end, best.values)
    starts, start_values, distance = compared_starts(search, done.grid, done.optima)
    spread = hamiltonian_spread_of(search, best.path)
    goal = end if search.error is not None else best.path.value
    return Coarse(done.grid, end, best.values, starts, start_values, distance, spread, goal)


def _first(search: Search, knots: int) -> _Searches:
    """Search from the best constant controls; refuse an end on the plateau."""
    constant = best_constant(search)
    few = knots // 2
    flat = np.tile(constant.values, (few + 1, 1))
    count = step_count(search, lambda n: KnotGrid.of(few, n), constant.end, flat)
    grid = KnotGrid.of(few, count)
    end, first = search.soonest(grid, constant.end, flat)
    if search.until is not None:
        check_plateau_is_left(search, constant, float(np.exp(first.path.value)))
    return _Searches(grid, end, constant.values, {"constant": first})
