"""Following the curve of specialized states.

Specialized states are found at a given V, from V = 1 (R = 1, S = C = 0, infinite load) downwards:
through V = 0, where they leave the unspecialized state, to the states with R < S.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tutelage.equilibrium.symmetric.site import Point, Site, specialized

STEPS = 60
# Newton's method has converged when a step changes nothing beyond this, relative to 1 + |x|.
POLISHED = 1e-14
ROUGH = 1e-12  # what steps on whole arrays have to reach everywhere
CLOSEST = 1e-9  # 1 − |V| at the ends of the curve
SHORTEST = 1e-12


class Trace(NamedTuple):
    """The specialized curve at increasing V: points, loads and dα/dV."""

    V: np.ndarray
    d: np.ndarray
    c: np.ndarray
    load: np.ndarray
    slope: np.ndarray


def newton(
    residual: Callable[[Any], tuple[np.ndarray, np.ndarray]],
    start: tuple[float, float],
    allowed: Callable[[float, float], bool],
) -> tuple[float, float] | None:
    """A root by damped Newton steps that stay where ``allowed``; None if there is no way."""
    (x, y), last = start, math.inf
    for _ in range(STEPS):
        (f, g), ((a, b), (c, d)) = residual((x, y))
        determinant = a * d - b * c
        if not determinant or not math.isfinite(determinant):
            return None
        step_x, step_y = (d * f - b * g) / determinant, (a * g - c * f) / determinant
        factor = 1.0
        while not allowed(x - factor * step_x, y - factor * step_y):
            factor /= 2
            if factor < SHORTEST:
                return None
        x, y = x - factor * step_x, y - factor * step_y
        size = max(abs(step_x) / (1 + abs(x)), abs(step_y) / (1 + abs(y)))
        # At the level of rounding steps stop to shrink; one that is as large as the last is noise.
        if factor == 1 and (size < POLISHED or (size < 1e-10 and size >= 0.5 * last)):
            return x, y
        last = size
    return None


def specialized_point(site: Site, V: float, guess: Point) -> Point | None:
    """The state on the specialized curve at V, next to a guess."""

    def residual(x):
        equations, _ = specialized(site, Point(V, *x))
        return equations.F, equations.J

    def allowed(d, c):
        at = site.overlap(Point(V, d, c))
        return bool(abs(at.R) < 1 and abs(at.S) < 1 and abs(at.C) < 1)

    if not allowed(guess.d, guess.c):
        return None
    x = newton(residual, (float(guess.d), float(guess.c)), allowed)
    return None if x is None else Point(V, float(x[0]), float(x[1]))


def slope(site: Site, point: Point) -> tuple[Any, Any]:
    """α and dα/dV along the specialized curve; infinite and NaN where there is no state."""
    equations, (inverse, gradient) = specialized(site, point)
    turn = -solve_2x2(equations.J, equations.along)
    rate = gradient[..., 0] + np.sum(gradient[..., 1:] * turn, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        load = np.where(inverse > 0, 1 / inverse, np.inf)
        return load[()], np.where(inverse > 0, -rate * load**2, np.nan)[()]


def solve_2x2(J: np.ndarray, F: np.ndarray) -> np.ndarray:
    """J⁻¹F, shape (..., 2)."""
    (a, b), (c, d) = np.moveaxis(J, (-2, -1), (0, 1))
    f, g = np.moveaxis(F, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a singular J gives no number
        return np.stack([d * f - b * g, a * g - c * f], -1) / (a * d - b * c)[..., None]


def trace(site: Site) -> Trace:
    """The specialized curve from V next to 1 down to where the load is infinite again."""
    found = _downwards(site)
    columns = np.array(found, dtype=float).reshape(-1, 3)[::-1].T
    if found and is_mirrored(site):
        columns = _mirrored(site, columns)
    points = Point(*columns)
    load, rate = slope(site, points)
    return Trace(*points, load, np.where((points.V == 0) & is_mirrored(site), 0.0, rate))


def is_mirrored(site: Site) -> bool:
    """True if V → −V is a symmetry: for two units, and for even activations."""
    return site.K == 2 or site.kernel.slope == 0


def _mirrored(site: Site, columns: np.ndarray) -> np.ndarray:
    """Both halves of the curve from that with V ≥ 0.

    Exchanging two students exchanges R and S and keeps U.  If κ is even, (R, S) → (−R, −S) is
    a symmetry, U changes its sign, and U = C = 0 where V = 0.
    """
    columns = columns[:, columns[0] > 0]
    other = columns[:, ::-1] * np.array([[-1.0], [1.0], [1.0]])
    if site.kernel.slope == 0:
        other[1] = -2 * site.K - other[1]
        middle = np.array([[0.0], [-site.K], [0.0]])
    else:
        middle = np.array([specialized_point(site, 0.0, Point(*columns[:, 0]))], dtype=float).T
    return np.concatenate([other, middle, columns], axis=1)


def _downwards(site: Site) -> list[Point]:
    """Points at falling V; where steps on the whole array fail, one after the other."""
    V = _grid(site.K)
    V = V[V > 0] if is_mirrored(site) else V
    d, c = _all_at_once(site, V)
    missing = np.flatnonzero(np.isnan(d))
    good = int(missing[0]) if len(missing) else len(V)
    found = [Point(*x) for x in zip(V[:good], d[:good], c[:good], strict=True)]
    here = found[-1] if found else Point(1.0, 0.0, 0.0)
    for next_V in V[good:]:
        following = _advance(site, here, float(next_V))
        if following is None or not _is_state(site, following):
            found.extend(_towards_the_end(site, here, float(next_V)))
            break
        here = following
        found.append(here)
    return found


def _all_at_once(site: Site, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d, c) at all V by Newton steps from K → ∞; NaN where they fail or leave the states.

    For K → ∞, κ'(0) d = (1−V)[κ''(0) − D] and κ'(0)(c − 2d) = D(1−V²).
    """
    k, n = site.kernel, site.n
    x = np.full((2, len(V)), np.nan)
    if k.slope == 0:
        return x[0], x[1]
    D = np.where(V == 0, k.second(0.0), k.tilde_first(np.clip(V, -1, 1)) / np.where(V == 0, 1, V))
    x[0] = (1 - V) * (k.second(0.0) - D) / k.slope * (1 - n)
    x[1] = 2 * x[0] + D * (1 - V) * (1 + V) / k.slope
    x = np.array(specialized_points(site, V, x[0], x[1])[1:])
    good = np.isfinite(x[0])
    at = site.overlap(Point(V[good], *x[:, good]))
    states = (at.B > 0) & (at.KA > 0) & (site.load(Point(V[good], *x[:, good])) > 0)
    x[:, np.flatnonzero(good)[~states]] = np.nan
    return x[0], x[1]


def specialized_points(site: Site, V: np.ndarray, d: np.ndarray, c: np.ndarray) -> Point:
    """The states at all V next to guesses, by undamped steps; NaN where they fail."""
    x, last = np.array([d, c], dtype=float), np.full(len(V), np.inf)
    for _ in range(STEPS // 4):
        here = is_inside(site, Point(V, *x))
        x[:, ~here] = np.nan
        if not np.any(here):
            break
        equations, _ = specialized(site, Point(V[here], *x[:, here]))
        step = solve_2x2(equations.J, equations.F).T
        x[:, here] -= step
        last[here] = np.max(np.abs(step) / (1 + np.abs(x[:, here])), axis=0)
        if np.all(last[here] < POLISHED):
            break
    x[:, ~(is_inside(site, Point(V, *x)) & (last < ROUGH))] = np.nan
    return Point(V, x[0], x[1])


def is_inside(site: Site, point: Point) -> np.ndarray:
    """True where R, S and C are correlations."""
    at = site.overlap(point)
    return (np.abs(at.R) < 1) & (np.abs(at.S) < 1) & (np.abs(at.C) < 1)


def _grid(K: float) -> np.ndarray:
    """V from 1 downwards: dense at 1, where α → ∞, and around 0 on the scale 1/K.

    B > 0 and C > −1/(K−1) allow V² < K/(K−1): states with R < S reach beyond −1.
    """
    end = 1 - np.geomspace(CLOSEST, 0.04, 50)
    zero = np.geomspace(min(1e-3, 0.01 / K), 0.02, 12)
    right = np.concatenate([end, np.arange(0.95, 0.025, -0.01), zero[::-1], [0.0]])
    left = np.arange(-0.03, -math.sqrt(K / (K - 1)) - 0.01, -0.01)
    return np.concatenate([right, -zero, left])


def _advance(site: Site, here: Point, V: float) -> Point | None:
    """The point at V, through shorter steps where Newton's method needs them."""
    following = specialized_point(site, V, here)
    if following is not None or abs(V - here.V) < 1e-4:
        return following
    middle = _advance(site, here, 0.5 * (V + here.V))
    return None if middle is None else _advance(site, middle, V)


def _is_state(site: Site, point: Point) -> bool:
    at = site.overlap(point)
    return bool(at.B > 0 and at.KA > 0 and site.load(point) > 0)


def _towards_the_end(site: Site, inside: Point, outside: float) -> list[Point]:
    """Points between a state and a V without one, by halves: the load grows at each."""
    found = []
    for _ in range(60):
        V = 0.5 * (inside.V + outside)
        if abs(V - inside.V) < CLOSEST * abs(V):
            break
        point = specialized_point(site, V, inside)
        if point is not None and _is_state(site, point):
            inside = point
            found.append(point)
        else:
            outside = V
    return found
