"""States at many loads at once: Newton's method on whole arrays, for learning curves."""

import numpy as np

from tutelage.equilibrium.symmetric.branch import is_inside
from tutelage.equilibrium.symmetric.pieces import Piece, state_at
from tutelage.equilibrium.symmetric.site import Point, Site, specialized
from tutelage.equilibrium.symmetric.theory import FiniteTheory, Theory

STEPS = 12
POLISHED = 1e-13


def states_at(theory: Theory, piece: Piece, loads: np.ndarray) -> Point:
    """The state of a piece at each load, NaN where the piece does not reach it."""
    low, high = np.min(piece.load), np.max(piece.load)
    reached = (loads >= low) & (loads <= high)
    found = np.full((3, len(loads)), np.nan)
    if np.any(reached):
        start = _guess(piece, loads[reached])
        if isinstance(theory, FiniteTheory):
            found[:, reached] = _newton(theory.site, loads[reached], start)
        else:
            found[:, reached] = _scalar(theory, loads[reached], start)
    for i in np.flatnonzero(reached & np.isnan(found[0])):
        point = state_at(theory, piece, float(loads[i]))
        if point is not None:
            found[:, i] = point
    return Point(*found)


def _guess(piece: Piece, loads: np.ndarray) -> np.ndarray:
    """Interpolated in √(α − α_fold), of which V is a smooth function next to a fold."""
    order = slice(None) if piece.load[-1] > piece.load[0] else slice(None, None, -1)
    known = np.maximum.accumulate(piece.load[order])
    x, at = np.sqrt(known - known[0]), np.sqrt(loads - known[0])
    return np.stack([np.interp(at, x, column[order]) for column in (piece.V, piece.d, piece.c)])


def _newton(site: Site, loads: np.ndarray, start: np.ndarray) -> np.ndarray:
    """(V, d, c) at given loads: αDB = 1 beside the two equations at given V; NaN if it fails."""
    x, polished = start.copy(), np.zeros(len(loads), dtype=bool)
    side = np.sign(np.sum(start[0]))
    for _ in range(STEPS):
        here = is_inside(site, Point(*x)) & (np.sign(x[0]) == side)
        x[:, ~here] = np.nan
        todo = here & ~polished
        if not np.any(todo):
            break
        step = _step(site, loads[todo], Point(*x[:, todo]))
        x[:, todo] -= step
        polished[todo] = np.max(np.abs(step) / (1 + np.abs(x[:, todo])), axis=0) < POLISHED
    x[:, ~polished] = np.nan
    return x


def _scalar(theory: Theory, loads: np.ndarray, start: np.ndarray) -> np.ndarray:
    """R at given loads, by Newton steps on 1/α(R), which is smooth; NaN if they fail."""
    V = start[0].copy()
    side, size = np.sign(np.sum(V)), np.full(len(V), np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(STEPS):
            load, rate = theory.slope(Point(V, 0.0, 0.0))
            step = (load / loads - 1) * load / rate
            V = np.where(np.abs(V - step) < 1, V - step, np.nan)
            size = np.abs(step)
            if np.all(size < POLISHED):
                break
        V = np.where((size < POLISHED) & (np.sign(V) == side), V, np.nan)
    return np.stack([V, 0 * V, 0 * V])


def _step(site: Site, loads: np.ndarray, point: Point) -> np.ndarray:
    equations, (inverse, gradient) = specialized(site, point)
    F = np.concatenate([(loads * inverse - 1)[:, None], equations.F], axis=-1)
    J = np.empty((len(loads), 3, 3))
    J[:, 0] = loads[:, None] * gradient
    J[:, 1:, 0], J[:, 1:, 1:] = equations.along, equations.J
    return np.linalg.solve(J, F[..., None])[..., 0].T
