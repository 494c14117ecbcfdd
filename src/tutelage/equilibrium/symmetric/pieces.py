"""The specialized curve cut where its load turns: at folds, and where V changes sign.

On each piece the load is a monotonic function of V, so that a load has at most one state on it.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from tutelage._checks import InputError
from tutelage.equilibrium.symmetric.branch import Trace
from tutelage.equilibrium.symmetric.site import Point
from tutelage.equilibrium.symmetric.theory import Theory

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
    """All pieces of the specialized curve of a theory."""
    trace = theory.trace()
    folds = _folds(theory, trace)
    zero = np.flatnonzero(trace.V == 0)
    cuts = [p for p in folds]
    start = None
    if len(zero) and not _is_single(theory):
        i = int(zero[0])
        start = Point(0.0, float(trace.d[i]), float(trace.c[i]))
        cuts.append(start)
    return Curve(_cut(theory, trace, cuts), folds, start)


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


def _is_single(theory: Theory) -> bool:
    """A single unit with a linear part: R grows from 0 at no load, and nothing is symmetric."""
    return theory.units == 1 and theory.kernel.slope > 0


def _folds(theory: Theory, trace: Trace) -> list[Point]:
    """Where dα/dV changes its sign away from V = 0, to rounding."""
    found = []
    slope = trace.slope.copy()
    slope[(trace.V == 0) & (np.abs(slope) < FLAT * trace.load)] = 0.0
    for i in range(len(slope) - 1):
        if not slope[i] * slope[i + 1] < 0:
            continue
        guess = Point(trace.V[i], trace.d[i], trace.c[i])

        def rate(V, guess=guess):
            point = theory.at(float(V), guess)
            return math.nan if point is None else theory.slope(point)[1]

        V = brentq(rate, trace.V[i], trace.V[i + 1], xtol=1e-300, rtol=1e-13)
        point = theory.at(float(V), guess)
        if point is not None:
            found.append(point)
    return found


def _cut(theory: Theory, trace: Trace, cuts: list[Point]) -> list[Piece]:
    """Pieces between consecutive cuts; a cut belongs to both of its neighbours."""
    rows = [np.array([trace.V, trace.d, trace.c, trace.load])]
    new = [p for p in cuts if not np.any(trace.V == p.V)]
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
    guess = piece.point(j - 1)

    def excess(V):
        point = theory.at(float(V), guess)
        return math.nan if point is None else theory.slope(point)[0] - load

    left, right = excess(piece.V[j - 1]), excess(piece.V[j])
    if left * right > 0:  # at the ends of a piece rounding may hide the sign
        return piece.point(j - 1 if abs(left) < abs(right) else j)
    V = brentq(excess, piece.V[j - 1], piece.V[j], xtol=1e-300, rtol=1e-15 * 4)
    return theory.at(float(V), guess)
