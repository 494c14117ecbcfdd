"""All roots q of the saddle-point equation at every R, joined to curves by following R.

At a low temperature several q may belong to one R, and Newton's method from one start finds any of
them.  The residual is therefore evaluated on a grid of p = 1 − q for every R of a grid; each change
of sign holds a root, which a bracketed Newton iteration refines; and roots at neighbouring R are
joined in the order of p.
"""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tutelage.equilibrium.symmetric.theory import Point

if TYPE_CHECKING:
    from tutelage.equilibrium.thermal.quenched import QuenchedTheory

# Values of p per decade; decades below the smallest scale of p, which is min(1, T) (1 − R).
POINTS_PER_DECADE = 24
SMALLEST_FRACTION = 1e-4
# Smallest p/(1 − R²) at zero temperature: what lies below is the regime of χ = (1 − q)/T.
SMALLEST_AT_ZERO = 1e-12
# Relative distances of p from its largest value 1 − R², where q = R².
CLOSEST_TO_SQUARE, POINTS_NEAR_SQUARE = 1e-15, 150
# Newton steps, or bisections where these would leave the bracket.
MAX_STEPS = 80
# Two steps in a row below this, relative to d, end the iteration.
STEP_TOLERANCE = 1e-13
# Width in R within which two roots meet; next to R = 0, where all loads are those of R = 0, none
# is looked for.
MEETING_WIDTH, SMALLEST_MEETING_R = 1e-11, 2e-6
POINTS_PER_ROUND = 30  # in one batch, which costs hardly more than one
# Steps towards the place where |F| is least: F itself is flat there.
REGULA_FALSI_STEPS = 12


def follow_roots(theory: "QuenchedTheory") -> list[Point]:
    """Return curves of roots at increasing R: R > 0, and R < 0 where κ̃'(R)/R is positive."""
    grid = theory.grid()
    curves = []
    for R in (grid[grid <= 0], grid[grid >= 0]):
        ratio = theory.terms(Point(R, 0.0, 0.0)).ratio
        for part in _stretches(R, ratio > 0):
            curves += _joined(theory, part)
    return [Point(R, d, np.zeros_like(R)) for R, d in curves]


def _stretches(R: np.ndarray, good: np.ndarray) -> list[np.ndarray]:
    """Split R into the intervals on which a condition holds."""
    cuts = np.flatnonzero(np.diff(good.astype(int))) + 1
    return [part for part, ok in zip(np.split(R, cuts), np.split(good, cuts), strict=True) if ok[0]]


def _joined(theory: "QuenchedTheory", R: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Join the roots of all R to curves; two curves end where their roots meet."""
    done: list[list[tuple[float, float]]] = []
    going: list[list[tuple[float, float]]] = []
    at = roots(theory, R)
    for i, here in enumerate(at):
        # Two roots meet; a single one has come in at the end of the grid of p.
        if i and abs(len(here) - len(going)) > 1:
            for r, between in _towards_meeting(theory, R[i - 1], R[i], len(at[i - 1])):
                going = _continued(going, r, between, done)
        going = _continued(going, float(R[i]), here, done)
    done += going
    rows = (np.array(curve).T for curve in done if len(curve) > 1)
    return [(R, d) for R, d in rows]


def _continued(going: list, R: float, here: np.ndarray, done: list) -> list:
    """Append the roots at R to the curves; curves end or begin where the number changes."""
    if len(here) == len(going):
        for curve, d in zip(going, here, strict=True):
            curve.append((R, float(d)))
        return going
    last = np.array([curve[-1][1] for curve in going])
    few, many = sorted((last, here), key=len)
    partners = _partners(few, many)
    if len(here) > len(going):
        longer: list = [[] for _ in here]
        for curve, j in zip(going, partners, strict=True):
            longer[j] = curve
        return _continued(longer, R, here, done)
    done += [curve for j, curve in enumerate(going) if j not in partners]
    return _continued([going[j] for j in partners], R, here, done)


def _partners(few: np.ndarray, many: np.ndarray) -> tuple[int, ...]:
    """Match the roots of the shorter row to those of the longer one, in order."""
    choices = itertools.combinations(range(len(many)), len(few))
    return min(choices, key=lambda j: float(np.sum(np.abs(many[list(j)] - few))))


def _towards_meeting(
    theory: "QuenchedTheory", left: float, right: float, count: int
) -> list[tuple[float, np.ndarray]]:
    """Return roots on both sides of the R at which their number changes from `count`."""
    before, after = [], []
    while right - left > MEETING_WIDTH and min(abs(left), abs(right)) > SMALLEST_MEETING_R:
        R = np.linspace(left, right, POINTS_PER_ROUND + 2)[1:-1]
        listed = list(zip(R.tolist(), roots(theory, R), strict=True))
        first = next(
            (i for i, (_, here) in enumerate(listed) if len(here) != count), POINTS_PER_ROUND
        )
        if first > 0:
            left = listed[first - 1][0]
            before.append(listed[first - 1])
        if first < POINTS_PER_ROUND:
            right = listed[first][0]
            after.append(listed[first])
    return before + after[::-1]


def roots(theory: "QuenchedTheory", R: np.ndarray) -> list[np.ndarray]:
    """Return all roots d = ln[(1 − q)/(1 − R²)] at each R, increasing."""
    span = -np.log(SMALLEST_FRACTION * min(1.0, theory.temperature) or SMALLEST_AT_ZERO)
    far = np.linspace(-span, -0.3, int(span / np.log(10) * POINTS_PER_DECADE))
    near = np.log1p(-np.geomspace(0.25, CLOSEST_TO_SQUARE, POINTS_NEAR_SQUARE))
    d = np.broadcast_to(np.concatenate([far, near, [0.0]]), (len(R), len(far) + len(near) + 1))
    here = theory.equations(Point(R[:, None], d, 0.0))
    F, slope = here.F[..., 0], here.J[..., 0, 0]
    F[:, -1] = np.where(R == 0, 0.0, -1.0)  # q = R²: the first term vanishes; q = 0 solves R = 0
    row, column = np.nonzero(np.sign(F[:, :-1]) * np.sign(F[:, 1:]) < 0)
    brackets = [(row, d[row, column], d[row, column + 1])]
    sign = np.sign(F[:, :-1])
    turns = (sign == np.sign(F[:, 1:])) & (sign * slope[:, :-1] < 0) & (sign * slope[:, 1:] > 0)
    row, column = np.nonzero(turns)
    if len(row):
        low, high, sign = d[row, column], d[row, column + 1], sign[row, column]
        turn = _nearest_to_zero(theory, R[row], sign, low, high)
        two = sign * theory.equations(Point(R[row], turn, 0.0)).F[..., 0] < 0
        row, low, turn, high = row[two], low[two], turn[two], high[two]
        brackets += [(row, low, turn), (row, turn, high)]
    row, low, high = (np.concatenate(x) for x in zip(*brackets, strict=True))
    found = refined(theory, R[row], low, high)
    listed = [np.sort(found[row == i]) for i in range(len(R))]
    begins = theory.temperature >= theory.noise  # below, q cannot grow from 0 with R
    return [np.append(x, 0.0) if begins and r == 0 else x for r, x in zip(R, listed, strict=True)]


def _nearest_to_zero(
    theory: "QuenchedTheory", R: np.ndarray, sign: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the place where |F| is least, between two places with F of the same sign.

    Regula falsi for F' = 0, with the value at an end halved that stays (Illinois).
    """

    def slope(d: np.ndarray) -> np.ndarray:
        return sign * theory.equations(Point(R, d, 0.0)).J[..., 0, 0]

    falling, rising = slope(low), slope(high)
    for _ in range(REGULA_FALSI_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = (low * rising - high * falling) / (rising - falling)
        middle = np.where((cut > low) & (cut < high), cut, 0.5 * (low + high))
        here = slope(middle)
        falls = here < 0
        rising = np.where(falls, 0.5 * rising, here)
        falling = np.where(falls, here, 0.5 * falling)
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    return middle


def refined(
    theory: "QuenchedTheory", R: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Refine roots between two values of d, by bracketed Newton steps."""
    sign = np.sign(theory.equations(Point(R, low, 0.0)).F[..., 0])
    d, done = 0.5 * (low + high), False
    for _ in range(MAX_STEPS):
        found = theory.equations(Point(R, d, 0.0))
        F, slope = found.F[..., 0], found.J[..., 0, 0]
        before = sign * F > 0
        low, high = np.where(before, d, low), np.where(before, high, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = d - F / slope
        inside = (step > low) & (step < high)
        new = np.where(inside, step, 0.5 * (low + high))
        last = np.all(np.abs(new - d) <= STEP_TOLERANCE * np.abs(d))
        d = new
        if last and done:
            break
        done = bool(last)
    return d
