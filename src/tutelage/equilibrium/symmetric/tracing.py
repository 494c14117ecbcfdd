"""Tracing of the curve of specialized states for a finite number of units.

Specialized states are found at a given V, from V = 1 (R = 1, S = C = 0, infinite load) downwards:
through V = 0, where they leave the unspecialized state, to the states with R < S.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from tutelage.equilibrium.symmetric.theory import CLOSEST, Point

if TYPE_CHECKING:
    from tutelage.equilibrium.symmetric.finite import FiniteTheory

POINTS_PER_ROUND = 31  # points at once on the way to the end of the curve


def trace(theory: "FiniteTheory") -> Point:
    """Trace the specialized curve from V next to 1 down to where the load diverges again."""
    V = grid(theory.K)
    if theory.units == 2 and theory.kernel.slope > 0:
        return trace_mirrored(theory, V[V > 0])
    return Point(*np.array(followed(theory, V)).reshape(-1, 3)[::-1].T)


def trace_mirrored(theory: "FiniteTheory", V: np.ndarray) -> Point:
    """Trace the curve of two units at V > 0, and its mirror image: exchanging the students
    exchanges R and S and keeps U.
    """
    points = np.array(followed(theory, V)).reshape(-1, 3)[::-1]
    if len(points):
        middle = np.array([theory.at(0.0, Point(*points[0]))], dtype=float)
        points = np.concatenate([points[::-1] * np.array([-1.0, 1.0, 1.0]), middle, points])
    return Point(*points.T)


def grid(K: float) -> np.ndarray:
    """V from 1 downwards: dense at 1, where α → ∞, and around 0 on the scale 1/K.

    B > 0 and C > −1/(K−1) allow V² < K/(K−1): states with R < S reach beyond −1.
    """
    end = 1 - np.geomspace(CLOSEST, 0.04, 50)
    zero = np.geomspace(min(1e-3, 0.01 / K), 0.02, 12)
    right = np.concatenate([end, np.arange(0.95, 0.025, -0.01), zero[::-1], [0.0]])
    left = np.arange(-0.03, -math.sqrt(K / (K - 1)) - 0.01, -0.01)
    return np.concatenate([right, -zero, left])


def followed(theory: "FiniteTheory", V: np.ndarray) -> list[Point]:
    """Solve at decreasing V: all points in one batch, then one at a time from the first
    failure on.
    """
    together = theory.at(V, theory.limit(V))
    missing = np.flatnonzero(~theory.is_state(together))
    good = int(missing[0]) if len(missing) else len(V)
    points = [Point(*x) for x in zip(*(x[:good] for x in together), strict=True)]
    return points + step_by_step(theory, points[-1] if points else Point(1.0, 0.0, 0.0), V[good:])


def step_by_step(theory: "FiniteTheory", point: Point, V: np.ndarray) -> list[Point]:
    """Solve at decreasing V, each point from the previous one, up to the end of the curve."""
    points = list[Point]()
    for next_V in V:
        following = _advance(theory, point, float(next_V))
        if not theory.is_state(following):
            return points + _towards_the_end(theory, point, float(next_V))
        point = following
        points.append(point)
    return points


def _advance(theory: "FiniteTheory", point: Point, V: float) -> Point:
    """Return the point at V, by shorter steps where Newton's method needs them."""
    following = theory.at(V, point)
    if np.isfinite(following.d) or abs(V - point.V) < 1e-4:
        return following
    middle = _advance(theory, point, 0.5 * (V + point.V))
    return _advance(theory, middle, V) if np.isfinite(middle.d) else middle


def _towards_the_end(theory: "FiniteTheory", inside: Point, outside: float) -> list[Point]:
    """Return points that approach the end of the curve, where the load diverges."""
    approached = list[Point]()
    while abs(outside - inside.V) > CLOSEST * abs(outside):
        V = np.linspace(inside.V, outside, POINTS_PER_ROUND + 2)[1:-1]
        points = theory.at(V, inside)
        good = int(np.argmin([*theory.is_state(points), False]))
        approached += [Point(*x) for x in zip(*(x[:good] for x in points), strict=True)]
        inside, outside = approached[-1] if good else inside, float([*V, outside][good])
    return approached
