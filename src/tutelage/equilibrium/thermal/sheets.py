"""All roots q of the saddle-point equation at every R, joined into curves by continuation in R.

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
    from tutelage.equilibrium.thermal.quenched import QuenchedTheory, TeacherTerms

# Values of p per decade; decades below the smallest scale of p, which is min(1, T) (1 − R).
POINTS_PER_DECADE = 12
SMALLEST_FRACTION = 1e-4
# Smallest p/(1 − R²) at zero temperature; smaller values belong to the regime of χ = (1 − q)/T.
SMALLEST_AT_ZERO = 1e-12
# Relative distances of p from its largest value 1 − R², where q = R².
CLOSEST_TO_SQUARE, POINTS_NEAR_SQUARE = 1e-15, 75
# Newton steps, or bisections where these would leave the bracket.
MAX_STEPS = 80
# A step below this, relative to d, ends the iteration, and F below its rounding.
STEP_TOLERANCE = 1e-13
ROUNDING = 4 * float(np.finfo(np.float64).eps)
# Width in R to which the meeting point of two roots is located, and the R below which it is not
# located: there all loads equal the load of R = 0.
MEETING_WIDTH, SMALLEST_MEETING_R = 1e-11, 2e-6
POINTS_PER_ROUND = 30  # in one batch, which costs little more than a single point
# Points on each side of a first guess of the meeting, and the steps that compute the guess.
POINTS_PER_SIDE, MEETING_STEPS, DIFFERENCE = 10, 8, 1e-6
# Steps towards the place where |F| is least: F itself is flat there.
REGULA_FALSI_STEPS = 12
# Relative difference of κ̃'(R)/R and κ̃'(−R)/(−R) below which κ̃ is even.
EVEN_TOLERANCE = 1e-12


def follow_roots(theory: "QuenchedTheory") -> list[Point]:
    """Return curves of roots at increasing R: R > 0, and R < 0 where κ̃'(R)/R is positive."""
    grid = theory.grid()
    left, right = (theory.teacher_terms(R) for R in (grid[grid <= 0], grid[grid >= 0]))
    curves = _curves_of(theory, right)
    if np.allclose(left.ratio, right.ratio[::-1], rtol=EVEN_TOLERANCE, atol=0):
        curves = [(-R[::-1], d[::-1]) for R, d in curves] + curves
    else:
        curves = _curves_of(theory, left) + curves
    return [Point(R, d, np.zeros_like(R)) for R, d in curves]


def _curves_of(
    theory: "QuenchedTheory", teacher: "TeacherTerms"
) -> list[tuple[np.ndarray, np.ndarray]]:
    parts = _stretches(teacher.R, teacher.ratio > 0)
    return [curve for part in parts for curve in _joined(theory, part)]


def _stretches(R: np.ndarray, good: np.ndarray) -> list[np.ndarray]:
    """Split R into the intervals on which a condition holds."""
    cuts = np.flatnonzero(np.diff(good.astype(int))) + 1
    return [part for part, ok in zip(np.split(R, cuts), np.split(good, cuts), strict=True) if ok[0]]


def _joined(theory: "QuenchedTheory", R: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Join the roots of all R to curves; two curves end where their roots meet."""
    finished: list[list[tuple[float, float]]] = []
    active: list[list[tuple[float, float]]] = []
    at = roots(theory, R)
    for i, current in enumerate(at):
        # Two roots meet; a single new root came from the end of the grid of p.
        if i and abs(len(current) - len(active)) > 1:
            for r, between in _towards_meeting(theory, R[i - 1 : i + 1], at[i - 1 : i + 1]):
                active = _continued(active, r, between, finished)
        active = _continued(active, float(R[i]), current, finished)
    finished += active
    rows = (np.array(curve).T for curve in finished if len(curve) > 1)
    return [(R, d) for R, d in rows]


def _continued(curves: list, R: float, roots_at_R: np.ndarray, ended: list) -> list:
    """Append the roots at R to the curves; curves end or begin where the number changes."""
    if len(roots_at_R) == len(curves):
        for curve, d in zip(curves, roots_at_R, strict=True):
            curve.append((R, float(d)))
        return curves
    last = np.array([curve[-1][1] for curve in curves])
    few, many = sorted((last, roots_at_R), key=len)
    partners = _partners(few, many)
    if len(roots_at_R) > len(curves):
        longer: list = [[] for _ in roots_at_R]
        for curve, j in zip(curves, partners, strict=True):
            longer[j] = curve
        return _continued(longer, R, roots_at_R, ended)
    ended += [curve for j, curve in enumerate(curves) if j not in partners]
    return _continued([curves[j] for j in partners], R, roots_at_R, ended)


def _partners(few: np.ndarray, many: np.ndarray) -> tuple[int, ...]:
    """Match the roots of the shorter row to those of the longer one, in order."""
    choices = itertools.combinations(range(len(many)), len(few))
    return min(choices, key=lambda j: float(np.sum(np.abs(many[list(j)] - few))))


def _towards_meeting(
    theory: "QuenchedTheory", interval: np.ndarray, at_ends: list[np.ndarray]
) -> list[tuple[float, np.ndarray]]:
    """Return roots on both sides of the R at which their number changes."""
    (left, right), count = (float(R) for R in interval), len(at_ends[0])
    before, after = [], []
    R = _next_to_meeting(theory, interval, at_ends)
    while right - left > MEETING_WIDTH and min(abs(left), abs(right)) > SMALLEST_MEETING_R:
        if len(R) == 0:
            R = np.linspace(left, right, POINTS_PER_ROUND + 2)[1:-1]
        listed = list(zip(R.tolist(), roots(theory, R), strict=True))
        first = next((i for i, (_, here) in enumerate(listed) if len(here) != count), len(R))
        before += listed[:first]
        after += listed[first:][::-1]
        left, right = ([left, *R.tolist(), right][first + k] for k in (0, 1))
        R = R[:0]
    return before + after[::-1]


def _next_to_meeting(
    theory: "QuenchedTheory", interval: np.ndarray, at_ends: list[np.ndarray]
) -> np.ndarray:
    """Return R on both sides of F = ∂F/∂d = 0, ever closer; none if Newton's method fails."""
    few, many = sorted(at_ends, key=len)
    alone = [i for i in range(len(many)) if i not in _partners(few, many)]
    R = float(interval[int(len(at_ends[1]) > len(at_ends[0]))])
    d = float(np.mean(many[alone[:2]]))
    for _ in range(MEETING_STEPS):
        shift = DIFFERENCE * np.eye(3)
        solution = theory.equations(Point(R + shift[1], d + shift[2], 0.0))
        F, slope, along = solution.F[:, 0], solution.J[:, 0, 0], solution.along[:, 0]
        second = (slope[1:] - slope[0]) / DIFFERENCE
        matrix = np.array([[along[0], slope[0]], second])
        if not np.all(np.isfinite(matrix)) or np.linalg.det(matrix) == 0:
            return np.array([])
        step = np.linalg.solve(matrix, [F[0], slope[0]])
        R, d = R - step[0], d - step[1]
        if not (interval[0] < R < interval[1] and d < 0):
            return np.array([])
    width = np.geomspace(0.25 * MEETING_WIDTH, 1.0, POINTS_PER_SIDE, endpoint=False)
    return np.concatenate([R + (interval[0] - R) * width[::-1], R + (interval[1] - R) * width])


def roots(theory: "QuenchedTheory", R: np.ndarray) -> list[np.ndarray]:
    """Return all roots d = ln[(1 − q)/(1 − R²)] at each R, increasing."""
    span = -np.log(SMALLEST_FRACTION * min(1.0, theory.temperature) or SMALLEST_AT_ZERO)
    far = np.linspace(-span, -0.3, int(span / np.log(10) * POINTS_PER_DECADE))
    near = np.log1p(-np.geomspace(0.25, CLOSEST_TO_SQUARE, POINTS_NEAR_SQUARE))
    d = np.concatenate([far, near, [0.0]])
    teacher = theory.teacher_terms(R)
    F, slope, _ = theory.residual(teacher.at((slice(None), None)), d)
    F[:, -1] = np.where(R == 0, 0.0, -1.0)  # q = R²: the first term vanishes; q = 0 solves R = 0
    sign = np.sign(F[:, :-1])
    row, column = np.nonzero(sign * np.sign(F[:, 1:]) < 0)
    brackets = [(row, d[column], d[column + 1])]
    turns = (sign == np.sign(F[:, 1:])) & (sign * slope[:, :-1] < 0) & (sign * slope[:, 1:] > 0)
    row, column = np.nonzero(turns)
    if len(row):
        low, high, sign, here = d[column], d[column + 1], sign[row, column], teacher.at(row)
        turn = _nearest_to_zero(theory, here, sign, low, high)
        two = sign * theory.residual(here, turn)[0] < 0
        row, low, turn, high = row[two], low[two], turn[two], high[two]
        brackets += [(row, low, turn), (row, turn, high)]
    row, low, high = (np.concatenate(x) for x in zip(*brackets, strict=True))
    solution = refined(theory, teacher.at(row), low, high)
    listed = [np.sort(solution[row == i]) for i in range(len(R))]
    begins = theory.temperature >= theory.noise  # below, q cannot grow from 0 with R
    return [np.append(x, 0.0) if begins and r == 0 else x for r, x in zip(R, listed, strict=True)]


def _nearest_to_zero(
    theory: "QuenchedTheory",
    teacher: "TeacherTerms",
    sign: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Return the place where |F| is least, between two places with F of the same sign.

    Regula falsi for F' = 0, with the value at an end halved that stays (Illinois).
    """

    def slope(d: np.ndarray) -> np.ndarray:
        return sign * theory.residual(teacher, d)[1]

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
    theory: "QuenchedTheory", teacher: "TeacherTerms", low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Refine roots between two values of d, by bracketed Newton steps."""
    sign = np.sign(theory.residual(teacher, low)[0])
    d = 0.5 * (low + high)
    for _ in range(MAX_STEPS):
        F, slope, size = theory.residual(teacher, d)
        before = sign * F > 0
        low, high = np.where(before, d, low), np.where(before, high, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = d - F / slope
        inside = (step > low) & (step < high)
        new = np.where(inside, step, 0.5 * (low + high))
        exact = np.abs(F) <= ROUNDING * size
        last = np.all(exact | (np.abs(new - d) <= STEP_TOLERANCE * np.abs(d)))
        d = np.where(exact & ~inside, d, new)
        if last:
            break
    return d
