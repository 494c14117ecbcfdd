"""The specialized curve cut where its load turns: at folds, and where V changes sign.

On each piece the load is a monotonic function of V, so that a load has at most one state on it.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import toms748

from tutelage._checks import InputError
from tutelage.equilibrium.symmetric.theory import Point, Theory

# dα/dV at V = 0 vanishes by symmetry for K = 2 and for even κ̃; what is left is rounding.
FLAT = 1e-10


class Piece(NamedTuple):
    """A monotonic part of the curve: points at increasing V, and their loads.

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


class Curve(NamedTuple):
    """The pieces from the lowest V to the highest, the folds between them, and the point V = 0."""

    pieces: list[Piece]
    folds: list[Point]
    start: Point | None


def curve(theory: Theory) -> Curve:
    """All pieces of the specialized curve of a theory; of all its sheets if there are several."""
    sheets = [_curve_of(theory, points) for points in theory.sheets()]
    pieces = [piece for sheet in sheets for piece in sheet.pieces]
    folds = [fold for sheet in sheets for fold in sheet.folds]
    starts = [sheet.start for sheet in sheets if sheet.start is not None]
    lowest = min(starts, key=lambda point: float(theory.slope(point)[0]), default=None)
    return Curve(pieces, folds, lowest)


def _curve_of(theory: Theory, points: Point) -> Curve:
    """The pieces of one sheet, the folds between them, and its point V = 0."""
    loads, rates = theory.slope(points)
    folds = _folds(theory, points, loads, rates)
    zero = np.flatnonzero(points.V == 0)
    if theory.has_flat_state:
        start = Point(*(float(x[zero[0]]) for x in points)) if len(zero) else None
        cuts = [*folds, *([start] if start else [])]
        return Curve(_cut(theory, points, loads, cuts), folds, start)
    # States R < 0 of a single unit are not connected to those that grow from R = 0.
    pieces, below = [], points.V < 0
    for negative, side in ((True, below), (False, ~below)):
        part, own = Point(*(x[side] for x in points)), [p for p in folds if (p.V < 0) == negative]
        pieces += _cut(theory, part, loads[side], own) if np.any(side) else []
    return Curve(pieces, folds, None)


def check_reach(argument: str, branches: Curve, load: float) -> None:
    """Beyond some load specialized states differ from the teacher by rounding: it is refused."""
    reach = min((float(np.max(p.load)) for p in branches.pieces if p.outward), default=math.inf)
    if load > reach:
        raise InputError(
            argument,
            f"{load:g}",
            f"beyond {reach:.3g} a state is the teacher up to rounding",
            "the asymptote ε_g = 1/(2α)",
        )


def _folds(theory: Theory, points: Point, loads: np.ndarray, rates: np.ndarray) -> list[Point]:
    """Where dα/dV changes its sign away from V = 0, to rounding."""
    rates = np.where((points.V == 0) & (np.abs(rates) < FLAT * loads), 0.0, rates)
    found = []
    for i in np.flatnonzero(rates[:-1] * rates[1:] < 0):
        left, right = (Point(*(float(x[j]) for x in points)) for j in (i, i + 1))

        def rate(V, left=left, right=right):
            return theory.slope(theory.at(float(V), _between(left, right, V)))[1]

        V = toms748(rate, left.V, right.V, xtol=1e-300, rtol=1e-13)
        found.append(theory.at(float(V), _between(left, right, V)))
    return [point for point in found if np.isfinite(point.d)]


def _between(left: Point, right: Point, V: float) -> Point:
    """Interpolate between two points of the curve: the ends themselves are exact."""
    weight = (V - left.V) / (right.V - left.V)
    return Point(*(a + weight * (b - a) for a, b in zip(left, right, strict=True)))


def _cut(theory: Theory, points: Point, loads: np.ndarray, cuts: list[Point]) -> list[Piece]:
    """Pieces between consecutive cuts; a cut belongs to both of its neighbours."""
    rows = [np.array([*points, loads])]
    new = [p for p in cuts if not np.any(points.V == p.V)]
    rows += [np.array([[p.V], [p.d], [p.c], [theory.slope(p)[0]]]) for p in new]
    table = np.concatenate(rows, axis=1)
    table = table[:, np.argsort(table[0])]
    at = [0, *sorted(int(np.flatnonzero(table[0] == p.V)[0]) for p in cuts), table.shape[1] - 1]
    pieces = []
    for i, j in itertools.pairwise(at):
        if j > i:
            V, d, c, load = table[:, i : j + 1]
            grows = load[-1] > load[0]
            pieces.append(Piece(V, d, c, load, bool(grows == (V[0] + V[-1] > 0))))
    return pieces


def state_at(theory: Theory, piece: Piece, load: float) -> Point | None:
    """The state of a piece at a load, or None if the piece does not reach it."""
    if not min(piece.load[0], piece.load[-1]) <= load <= max(piece.load[0], piece.load[-1]):
        return None
    increasing = piece.load[-1] > piece.load[0]
    loads = piece.load if increasing else piece.load[::-1]
    j = int(np.clip(np.searchsorted(loads, load), 1, len(loads) - 1))
    if not increasing:
        j = len(loads) - j
    ends = piece.point(j - 1), piece.point(j)

    def excess(V):
        return theory.slope(theory.at(float(V), _between(*ends, V)))[0] - load

    left, right = (excess(end.V) for end in ends)
    if left * right > 0:  # at the ends of a piece rounding may hide the sign
        return ends[0] if abs(left) < abs(right) else ends[1]
    V = toms748(excess, ends[0].V, ends[1].V, xtol=1e-300, rtol=1e-15 * 4)
    return theory.at(float(V), _between(*ends, V))


def states_at(theory: Theory, piece: Piece, loads: np.ndarray) -> Point:
    """The state of a piece at each load, NaN where the piece does not reach it."""
    reached = (loads >= np.min(piece.load)) & (loads <= np.max(piece.load))
    found = np.full((3, len(loads)), np.nan)
    if np.any(reached):
        found[:, reached] = theory.at_load(loads[reached], _guess(piece, loads[reached]))
    for i in np.flatnonzero(reached & np.isnan(found[0])):
        point = state_at(theory, piece, float(loads[i]))
        if point is not None:
            found[:, i] = point
    return Point(*found)


def _guess(piece: Piece, loads: np.ndarray) -> Point:
    """Interpolated in √(α − α_fold), of which V is a smooth function next to a fold."""
    order = slice(None) if piece.load[-1] > piece.load[0] else slice(None, None, -1)
    known = np.maximum.accumulate(piece.load[order])
    x, at = np.sqrt(known - known[0]), np.sqrt(np.maximum(loads - known[0], 0.0))
    return Point(*(np.interp(at, x, column[order]) for column in (piece.V, piece.d, piece.c)))
