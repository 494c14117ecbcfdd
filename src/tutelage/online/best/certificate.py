"""Evidence that schedules are optimal."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tutelage._findings import Finding
from tutelage.online.best.discretized import Path
from tutelage.online.best.grids import KnotGrid
from tutelage.online.best.search import Optimum, Search

# Number of random perturbations, and their sizes relative to the widths of the bounds.
PERTURBATIONS, SMALLEST_SIZE, LARGEST_SIZE = 20, 1e-3, 0.3
# Searches whose ln ε_g differs by less than this have reached the same optimum.
SAME_VALUE = 1e-4


@dataclass(frozen=True, repr=False)
class Certificate(Finding):
    """Evidence that schedules are optimal.

    knots: the numbers of intervals of the two resolutions, coarse and fine.
    hamiltonian_spread: (max H - min H)/|mean H| at both: it vanishes for an exact optimum.
    hamiltonian: mean of H, which is d(ln ε_g)/d(end).
    gradient_norm: of ln ε_g by the scaled unknowns, without those held at a bound.
    smallest_increase: of ln ε_g over random perturbations of the schedules within the bounds.
    starts: names of the schedules from which searches began, at the coarse resolution.
    start_values: ln ε_g that each of them reached, relative to the lowest.
    start_distance: largest root mean square difference of schedules from starts with the lowest
        value, relative to the widths of the bounds; None if one start reached it.
    """

    knots: tuple[int, int]
    hamiltonian_spread: tuple[float, float]
    hamiltonian: float
    gradient_norm: float
    smallest_increase: float
    starts: tuple[str, ...]
    start_values: tuple[float, ...]
    start_distance: float | None

    @property
    def brief(self) -> str:
        return (
            f"spread of H {self.hamiltonian_spread[1]:.1g}, gradient {self.gradient_norm:.1g}, "
            f"the smallest change of ln ε_g by a perturbation is {self.smallest_increase:+.1g}"
        )


def compared_starts(
    search: Search, grid: KnotGrid, optima: Mapping[str, Optimum]
) -> tuple[list[str], list[float], float]:
    """Optima from several starts: names, ln ε_g relative to the lowest, distance
    between schedules.
    """
    values = np.array([optimum.path.value for optimum in optima.values()])
    lowest = float(np.min(values))
    same = [o.values for o, value in zip(optima.values(), values, strict=True)]
    same = [v for v, value in zip(same, values, strict=True) if value - lowest < SAME_VALUE]
    width = search.bounds[:, 1] - search.bounds[:, 0]
    weights = grid.weights()[:, None]
    differences = [
        np.sqrt(np.max(np.sum(weights * ((one - same[0]) / width) ** 2, axis=0)))
        for one in same[1:]
    ]
    distance = float(max(differences)) if differences else np.nan
    return [*optima], [float(x) for x in values - lowest], distance


def hamiltonian_spread_of(search: Search, run: Path) -> float:
    """Return (max H - min H)/|mean H|."""
    H = run.hamiltonian(search.system)
    return float(np.ptp(H) / abs(np.mean(H)))


def smallest_increase_of(
    search: Search, grid: KnotGrid, end: float, best: Optimum, seed: int
) -> float:
    """Return the smallest change of ln ε_g by random perturbations at the knots."""
    draw = np.random.default_rng(seed)
    low, high = search.bounds.T
    changes = []
    for size in np.geomspace(SMALLEST_SIZE, LARGEST_SIZE, PERTURBATIONS):
        noise = size * (high - low) * draw.standard_normal(best.values.shape)
        values = np.clip(best.values + noise, low, high)
        changes.append(search.value(grid, end, values) - best.path.value)
    return float(min(changes))
