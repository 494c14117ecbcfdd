"""Curves of solutions of f(y, p) = 0, through folds, with the special points on them.

Pseudo-arclength continuation (Keller 1977; Kuznetsov, Elements of Applied Bifurcation Theory,
sections 10.1 and 10.2): the solution u = (y, p) is followed along its tangent t, and corrected
by Newton's method in the plane that is orthogonal to t,

    f(u) = 0,   t·(u - u_predicted) = 0,

which works where the curve turns round in p.  Functions of a place on the curve that change
their sign mark special points; these two by default:

    fold           the component of t along p changes its sign
    branch point   det [∂f/∂u; t] changes its sign: another curve passes through

At a fold the determinant does not vanish, and at a simple branch point the curve does not turn.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tutelage.solve.newton import newton

System = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]

CORRECTIONS = 12
# Residual |f| allowed on the curve, relative to u where that is greater than one.
CORRECTED = 1e-11
# Neighbouring tangents differ by less than 14 degrees, or the step is halved: a longer one
# could land on another curve.
TURN = 0.97


class CurvePoint(NamedTuple):
    """A point u = (y, p) of the curve, its tangent t, and J = [∂f/∂y, ∂f/∂p]."""

    u: Float[np.ndarray, " d+1"]
    t: Float[np.ndarray, " d+1"]
    J: Float[np.ndarray, "d d+1"]


class Special(NamedTuple):
    """A special point: its kind, u = (y, p), and a bound on the error of p."""

    kind: str
    point: Float[np.ndarray, " d+1"]
    error: float


class Curve(NamedTuple):
    """Points u = (y, p), their tangents, the special points between them, why the curve ends."""

    points: Float[np.ndarray, "n d+1"]
    tangents: Float[np.ndarray, "n d+1"]
    specials: list[Special]
    ended: str


Test = Callable[[CurvePoint], float]
Ending = Callable[[np.ndarray, list[Special]], str | None]


def determinant(place: CurvePoint) -> float:
    """det [J; t], which changes its sign at a branch point."""
    return float(np.linalg.det(np.vstack([place.J, place.t])))


def along_parameter(place: CurvePoint) -> float:
    """dp/ds, which changes its sign at a fold."""
    return float(place.t[-1])


TESTS: Mapping[str, Test] = {"branch point": determinant, "fold": along_parameter}


def follow(
    system: System,
    start: Float[np.ndarray, " d"],
    parameter: float,
    *,
    until: float,
    step: float = 0.05,
    steps: int = 1000,
    tests: Mapping[str, Test] = TESTS,
    ending: Ending = lambda u, specials: None,
) -> Curve:
    """Follow the curve through a solution, first towards ``until``.

    Args:
        system: (y, p) -> f of shape (d,) and [∂f/∂y, ∂f/∂p] of shape (d, d + 1).
        start, parameter: a point on the curve, or so near that Newton's method finds it.
        until: where in p the curve ends; it may turn round before.
        step: the longest step, relative to |u| where that is greater than one.
        steps: the largest number of steps.
        tests: functions of a `CurvePoint`, by the kind of the points where they change their sign.
        ending: u and the special points so far -> a reason for ending there, or None.

    >>> import numpy as np
    >>> parabola = lambda y, p: (y**2 - p, np.array([[2 * y[0], -1.0]]))  # a fold at p = 0
    >>> curve = follow(parabola, np.array([1.0]), 1.0, until=-1.0, steps=60)
    >>> [special.kind for special in curve.specials], f"{abs(curve.specials[0].point[-1]):.9f}"
    (['fold'], '0.000000000')
    """
    place, side = _begin(system, start, parameter, until), np.sign(until - parameter)
    places, specials, ended = [place], list[Special](), "steps used up"
    for new in _walk(system, place, step, steps):
        if new is None:
            ended = "no further point found"
            break
        if reached := bool(side * (new.u[-1] - until) >= 0):
            new = _land(system, places[-1], new, until)
        specials += _between(system, tests, places[-1], new)
        places.append(new)
        if reason := "reached" if reached else ending(new.u, specials):
            ended = reason
            break
    points, tangents = (np.array([place[k] for place in places]) for k in (0, 1))
    return Curve(points, tangents, specials, ended)


def _begin(system: System, y: np.ndarray, parameter: float, until: float) -> CurvePoint:
    """Return the point of the curve next to y at a parameter; its tangent leads to ``until``."""

    def fixed(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f, J = system(y, parameter)
        return f, J[:, :-1]

    y = newton(fixed, y, steps=CORRECTIONS, tolerance=_accuracy(y)).x
    J = system(y, parameter)[1]
    t = np.linalg.svd(J)[2][-1]
    return CurvePoint(np.append(y, parameter), t if t[-1] * (until - parameter) >= 0 else -t, J)


def _accuracy(u: np.ndarray) -> float:
    return CORRECTED * max(1.0, float(np.max(np.abs(u))))


def _walk(
    system: System, place: CurvePoint, step: float, steps: int
) -> Iterator[CurvePoint | None]:
    """Yield points along the curve; None if even the shortest step finds no point."""
    length = step / 4
    for _ in range(steps):
        longest = step * max(1.0, float(np.max(np.abs(place.u))))
        length = min(length, longest)
        while (new := _ahead(system, place, length)) is None or new.t @ place.t < TURN:
            length /= 2
            if length < 1e-9 * longest:
                yield None
                return
        yield new
        place, length = new, 1.5 * length


def _ahead(system: System, place: CurvePoint, length: float) -> CurvePoint | None:
    """Return the point at a distance ``length`` along the tangent."""
    return _in_plane(system, place.u + length * place.t, place.t)


def _in_plane(system: System, guess: np.ndarray, normal: np.ndarray) -> CurvePoint | None:
    """Return the point where the curve meets the plane through the guess."""

    def both(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f, J = system(u[:-1], u[-1])
        return np.append(f, normal @ (u - guess)), np.vstack([J, normal])

    root = newton(both, guess, steps=CORRECTIONS, tolerance=_accuracy(guess))
    if not root.converged:
        return None
    place = _at(system, root.x, normal)
    return place if np.all(np.isfinite(place.t)) else None


def _at(system: System, u: np.ndarray, before: np.ndarray) -> CurvePoint:
    """Compute the tangent t with J t = 0 and before·t > 0; smooth also where the rank of J
    drops.
    """
    J = system(u[:-1], u[-1])[1]
    if not np.all(np.isfinite(J)):  # too far away for a tangent
        return CurvePoint(u, np.full_like(u, np.nan), J)
    t = np.linalg.lstsq(np.vstack([J, before]), np.eye(len(u))[-1], rcond=None)[0]
    return CurvePoint(u, t / np.linalg.norm(t), J)


def _between(
    system: System, tests: Mapping[str, Test], left: CurvePoint, right: CurvePoint
) -> list[Special]:
    """Locate special points between two points.  Where two test functions vanish together the first
    counts: the outer curve of a pitchfork turns where it crosses the other, at a branch point.
    """
    specials = list[Special]()
    for kind, test in tests.items():
        if test(left) * test(right) < 0:
            new = _locate(system, kind, test, left, right)
            if all(np.max(np.abs(new.point - other.point)) > 1e-6 for other in specials):
                specials.append(new)
    return specials


def _locate(system: System, kind: str, test: Test, left: CurvePoint, right: CurvePoint) -> Special:
    """Locate the zero of a test function by false position, then by interpolation from both sides.

    Newton's method is inaccurate at a branch point itself, so that the last step interpolates.
    """
    chord = right.u - left.u
    span, normal = float(np.linalg.norm(chord)), chord / np.linalg.norm(chord)
    s = _false_position(lambda s: _near(system, left, right, s, normal), test, left, right)
    h = min(1e-3 / span, 0.1)
    near = [(k, _near(system, left, right, s + k * h, normal)) for k in (-3, 3, -2, 2, -1, 1)]
    tested = [(k, test(place), place.u) for k, place in near if place is not None]
    if len(tested) < 4:
        return Special(kind, left.u + s * chord, float(abs(chord[-1])))
    nodes, values, points = (np.array(x) for x in zip(*tested, strict=True))
    best, rough = (_interpolated(nodes[k:], values[k:], points[k:]) for k in (0, 2))
    return Special(kind, best, float(abs(best[-1] - rough[-1])))


def _near(
    system: System, left: CurvePoint, right: CurvePoint, s: float, normal: np.ndarray
) -> CurvePoint | None:
    """Return the point at the fraction s between two points, from the cubic through both."""
    span = float(np.linalg.norm(right.u - left.u))
    a = left.u * (1 + 2 * s) + s * span * left.t
    b = right.u * (3 - 2 * s) - (1 - s) * span * right.t
    return _in_plane(system, (1 - s) ** 2 * a + s**2 * b, normal)


def _false_position(
    place: Callable[[float], CurvePoint | None], test: Test, left: CurvePoint, right: CurvePoint
) -> float:
    """Find a zero by the Illinois method: the value at an end that is retained is halved."""
    a, b, fa, fb = 0.0, 1.0, test(left), test(right)
    for _ in range(60):
        s = (a * fb - b * fa) / (fb - fa)
        new = place(s)
        if new is None or abs(s - b) < 1e-5:
            return s
        value = test(new)
        if value == 0:
            return s
        a, fa = (b, fb) if value * fb < 0 else (a, fa / 2)
        b, fb = s, value
    return s


def _interpolated(nodes: np.ndarray, values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return u at the root, closest to the middle, of the polynomial through the values."""
    degree = len(nodes) - 1
    roots = np.roots(np.polyfit(nodes, values, degree))
    root = roots[np.argmin(np.abs(roots))].real
    return np.array([np.polyval(np.polyfit(nodes, x, degree), root) for x in points.T])


def _land(system: System, left: CurvePoint, right: CurvePoint, until: float) -> CurvePoint:
    """Return the point between two points at which p is ``until``."""
    u = left.u + (until - left.u[-1]) / (right.u[-1] - left.u[-1]) * (right.u - left.u)
    landed = _begin(system, u[:-1], until, until)
    return _at(system, landed.u, right.t)
