"""Continuation on normal forms with known answers."""

import numpy as np
import pytest

from tutelage.solve.continuation import follow


def fold(y, p):
    return y**2 - p, np.array([[2 * y[0], -1.0]])


def pitchfork(y, p):
    return p * y - y**3, np.array([[p - 3 * y[0] ** 2, y[0]]])


def transcritical(y, p):
    return p * y - y**2, np.array([[p - 2 * y[0], y[0]]])


def cubic(y, p):
    """p + x - x³/3 = 0 turns round at x = ∓1, p = ±2/3; a second variable follows, y = x²."""
    f = np.array([p + y[0] - y[0] ** 3 / 3, y[1] - y[0] ** 2])
    return f, np.array([[1 - y[0] ** 2, 0.0, 1.0], [-2 * y[0], 1.0, 0.0]])


@pytest.mark.parametrize(
    ("system", "start", "parameter", "until", "expected"),
    [
        (fold, [1.0], 1.0, -1.0, [("fold", 0.0)]),
        (pitchfork, [0.0], -1.0, 1.03, [("branch point", 0.0)]),
        (pitchfork, [1.0], 1.0, -1.0, [("branch point", 0.0)]),
        (transcritical, [0.0], -1.0, 1.03, [("branch point", 0.0)]),
        (transcritical, [-1.0], -1.0, 1.03, [("branch point", 0.0)]),
        (cubic, [-2.5, 6.25], 2.5 - 2.5**3 / 3, 3.0, [("fold", 2 / 3), ("fold", -2 / 3)]),
    ],
)
def test_special_points_of_normal_forms_are_located_and_distinguished(
    system, start, parameter, until, expected
):
    curve = follow(system, np.array(start), parameter, until=until, step=0.07, steps=150)
    assert [special.kind for special in curve.specials] == [kind for kind, _ in expected]
    # 1e-9 is what is promised; the interpolation errs by less than 1e-11.
    for special, (_, p) in zip(curve.specials, expected, strict=True):
        assert abs(special.point[-1] - p) < 1e-9
        rounding = 16 * np.finfo(float).eps  # points of a curve of size 1 have errors of a few eps
        assert abs(special.point[-1] - p) <= special.error + rounding


def test_every_point_of_a_curve_solves_the_equations():
    curve = follow(cubic, np.array([-2.5, 6.25]), 2.5 - 2.5**3 / 3, until=3.0)
    residuals = [np.max(np.abs(cubic(u[:-1], u[-1])[0])) for u in curve.points]
    assert curve.ended == "reached" and curve.points[-1, -1] == pytest.approx(3.0, abs=1e-15)
    assert max(residuals) < 1e-13  # rounding of numbers of order ten


def test_curves_end_with_a_reason():
    def far(u, specials):
        return "far" if u[-1] > 2 else None

    assert follow(fold, np.array([1.0]), 1.0, until=-1.0, ending=far).ended == "far"
    assert follow(fold, np.array([1.0]), 1.0, until=5.0, steps=3).ended == "steps used up"

    def wall(y, p):  # the curve y = √(1 - p) of real numbers ends at p = 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return y - np.sqrt(1 - np.array([p])), np.array([[1.0, 0.5 / np.sqrt(1 - p)]])

    assert follow(wall, np.array([1.0]), 0.0, until=2.0).ended == "no further point found"


def test_other_functions_mark_points_too_and_can_end_the_curve():
    """On the parabola y² = p the slope dp/dy = 2y is one at y = 1/2, p = 1/4."""
    curve = follow(
        fold,
        np.array([1.0]),
        1.0,
        until=-1.0,
        tests={"slope one": lambda place: float(place.u[0] - 0.5)},
        ending=lambda u, specials: "found" if specials else None,
    )
    assert curve.ended == "found" and [special.kind for special in curve.specials] == ["slope one"]
    assert abs(curve.specials[0].point[-1] - 0.25) < 1e-12
