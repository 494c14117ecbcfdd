"""Branches: the specialized curve, cut at its folds and where V changes sign.

On each branch the load is a monotonic function of V, so that it has at most one state per load.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import toms748

from tutelage._checks import InputError
from tutelage.equilibrium.symmetric.theory import Point, Theory, between

# dα/dV at V = 0 vanishes by symmetry for K = 2 and for even κ̃; any remainder is rounding error.
FLAT = 1e-10


class Branch(NamedTuple):
    """A part of the curve on which the load is monotonic: points at increasing V, and loads.

    outward: True if the load grows away from V = 0: a minimum among site-symmetric states.
    """

    V: np.ndarray
    d: np.ndarray
    c: np.ndarray
    load: np.ndarray
    outward: bool

    @property
    def sign(self) -> int:
        """1 for R > S, −1 for R < S."""
        return 1 if self.V[0] + self.V[-1] > 0 else -1

    def point(self, i: int) -> Point:
        return Point(float(self.V[i]), float(self.d[i]), float(self.c[i]))

    @property
    def inner(self) -> Point:
        """The end next to V = 0."""
        return self.point(0 if self.sign > 0 else -1)


class BranchCurve(NamedTuple):
    """The branches in the order of V, the folds between them, and the point V = 0."""

    branches: list[Branch]
    folds: list[Point]
    start: Point | None


def follow_branches(theory: Theory) -> BranchCurve:
    """Return all branches of the specialized curve of a theory, on all its sheets."""
    sheets = [_curve_of(theory, points) for points in theory.sheets()]
    branches = [branch for sheet in sheets for branch in sheet.branches]
    folds = [fold for sheet in sheets for fold in sheet.folds]
    starts = [sheet.start for sheet in sheets if sheet.start is not None]
    lowest = min(starts, key=lambda point: float(theory.slope(point)[0]), default=None)
    return BranchCurve(branches, folds, lowest)


def _curve_of(theory: Theory, points: Point) -> BranchCurve:
    """Return the branches of one sheet, the folds between them, and its point V = 0."""
    loads, rates = theory.slope(points)
    folds = _folds(theory, points, loads, rates)
    zero = np.flatnonzero(points.V == 0)
    if theory.has_flat_state:
        start = Point(*(float(x[zero[0]]) for x in points)) if len(zero) else None
        cuts = [*folds, *([start] if start else [])]
        return BranchCurve(_cut(theory, points, loads, cuts), folds, start)
    # States R < 0 of a single unit are not connected to those that grow from R = 0.
    branches, below = [], points.V < 0
    for negative, side in ((True, below), (False, ~below)):
        part, own = Point(*(x[side] for x in points)), [p for p in folds if (p.V < 0) == negative]
        branches += _cut(theory, part, loads[side], own) if np.any(side) else []
    return BranchCurve(branches, folds, None)


def check_reach(argument: str, branch_curve: BranchCurve, load: float) -> None:
    """Refuse loads at which specialized states equal the teacher within rounding."""
    reach = min(
        (float(np.max(p.load)) for p in branch_curve.branches if p.outward), default=math.inf
    )
    if load > reach:
        raise InputError(
            argument,
            f"{load:g}",
            f"beyond {reach:.3g} the overlaps equal those of the teacher within rounding",
            "the asymptote ε_g = 1/(2α)",
        )


def _folds(theory: Theory, points: Point, loads: np.ndarray, rates: np.ndarray) -> list[Point]:
    """Return the points V ≠ 0 at which dα/dV changes its sign."""
    rates = np.where((points.V == 0) & (np.abs(rates) < FLAT * loads), 0.0, rates)
    folds = []
    for i in np.flatnonzero(rates[:-1] * rates[1:] < 0):
        left, right = (Point(*(float(x[j]) for x in points)) for j in (i, i + 1))
        folds.append(theory.fold(left, right))
    return [point for point in folds if np.isfinite(point.d)]


def _cut(theory: Theory, points: Point, loads: np.ndarray, cuts: list[Point]) -> list[Branch]:
    """Return the branches between consecutive cuts; a cut belongs to both neighbours."""
    rows = [np.array([*points, loads])]
    new = [p for p in cuts if not np.any(points.V == p.V)]
    rows += [np.array([[p.V], [p.d], [p.c], [theory.slope(p)[0]]]) for p in new]
    table = np.concatenate(rows, axis=1)
    table = table[:, np.argsort(table[0])]
    at = [0, *sorted(int(np.flatnonzero(table[0] == p.V)[0]) for p in cuts), table.shape[1] - 1]
    branches = []
    for i, j in itertools.pairwise(at):
        if j > i:
            V, d, c, load = table[:, i : j + 1]
            grows = load[-1] > load[0]
            branches.append(Branch(V, d, c, load, bool(grows == (V[0] + V[-1] > 0))))
    return branches


def state_at(theory: Theory, branch: Branch, load: float) -> Point | None:
    """Return the state of a branch at a load, or None if the branch does not reach it."""
    if not min(branch.load[0], branch.load[-1]) <= load <= max(branch.load[0], branch.load[-1]):
        return None
    increasing = branch.load[-1] > branch.load[0]
    loads = branch.load if increasing else branch.load[::-1]
    j = int(np.clip(np.searchsorted(loads, load), 1, len(loads) - 1))
    if not increasing:
        j = len(loads) - j
    ends = branch.point(j - 1), branch.point(j)

    def excess(V):
        return theory.slope(theory.at(float(V), between(*ends, V)))[0] - load

    left, right = (excess(end.V) for end in ends)
    if left * right > 0:  # at the ends of a branch rounding may hide the sign
        return ends[0] if abs(left) < abs(right) else ends[1]
    V = toms748(excess, ends[0].V, ends[1].V, xtol=1e-300, rtol=1e-15 * 4)
    return theory.at(float(V), between(*ends, V))


def states_at(theory: Theory, branch: Branch, loads: np.ndarray) -> Point:
    """Return the state of a branch at each load, NaN where the branch does not reach it."""
    reached = (loads >= np.min(branch.load)) & (loads <= np.max(branch.load))
    states = np.full((3, len(loads)), np.nan)
    if np.any(reached):
        states[:, reached] = theory.at_load(loads[reached], _guess(branch, loads[reached]))
    for i in np.flatnonzero(reached & np.isnan(states[0])):
        point = state_at(theory, branch, float(loads[i]))
        if point is not None:
            states[:, i] = point
    return Point(*states)


def _guess(branch: Branch, loads: np.ndarray) -> Point:
    """Interpolate a first guess in √(α − α_fold), in which V is smooth next to a fold."""
    order = slice(None) if branch.load[-1] > branch.load[0] else slice(None, None, -1)
    known_loads = np.maximum.accumulate(branch.load[order])
    x, at = np.sqrt(known_loads - known_loads[0]), np.sqrt(np.maximum(loads - known_loads[0], 0.0))
    return Point(*(np.interp(at, x, column[order]) for column in (branch.V, branch.d, branch.c)))
