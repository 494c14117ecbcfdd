"""Continuation on normal forms with known answers, then the branches of on-line learning."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.online.branches import _system, branch
from tutelage.online.flow import Flow
from tutelage.online.identical import one_for_all
from tutelage.online.stationary import rates_and_jacobian
from tutelage.solve.continuation import follow

# The plateau ceases at η ≈ 1.2545 (citton2025, section 3), from a series of order 10.
PUBLISHED_FOLD = 1.2545


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
def test_special_points_of_normal_forms_are_located_and_told_apart(
    system, start, parameter, until, expected
):
    curve = follow(system, np.array(start), parameter, until, step=0.07, steps=150)
    assert [special.kind for special in curve.specials] == [kind for kind, _ in expected]
    # 1e-9 is what is promised; the interpolation errs by less than 1e-11.
    for special, (_, p) in zip(curve.specials, expected, strict=True):
        assert abs(special.point[-1] - p) < 1e-9
        assert abs(special.point[-1] - p) <= special.error + 1e-15


def test_every_point_of_a_curve_solves_the_equations():
    curve = follow(cubic, np.array([-2.5, 6.25]), 2.5 - 2.5**3 / 3, 3.0)
    residuals = [np.max(np.abs(cubic(u[:-1], u[-1])[0])) for u in curve.points]
    assert curve.ended == "reached" and curve.points[-1, -1] == pytest.approx(3.0, abs=1e-15)
    assert max(residuals) < 1e-13  # rounding of numbers of order ten


def test_curves_end_with_a_reason():
    ending = follow(fold, np.array([1.0]), 1.0, -1.0, ending=lambda u: "far" if u[-1] > 2 else None)
    assert ending.ended == "far"
    assert follow(fold, np.array([1.0]), 1.0, 5.0, steps=3).ended == "steps used up"

    def wall(y, p):  # the curve y = √(1 - p) of real numbers ends at p = 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return y - np.sqrt(1 - np.array([p])), np.array([[1.0, 0.5 / np.sqrt(1 - p)]])

    assert follow(wall, np.array([1.0]), 0.0, 2.0).ended == "no further point found"


@pytest.fixture(scope="module")
def noisy():
    one = tl.Committee(1, tl.Erf())
    return tl.Scenario(one, one, label_noise=0.3, weight_decay=0.02)


def test_the_system_is_the_rates_divided_by_the_learning_rate(noisy):
    flow, y, eta = Flow(noisy), np.array([0.4, 0.7]), 0.8
    system = _system(flow, share=1)
    rates, derivatives = system(y, eta)
    f, J = rates_and_jacobian(flow, eta, y)
    np.testing.assert_allclose(rates, f / eta, rtol=1e-14)
    np.testing.assert_allclose(derivatives[:, :-1], J / eta, rtol=1e-14)
    h = 1e-5  # central differences err by h² and 1e-16/h
    slope = (system(y, eta + h)[0] - system(y, eta - h)[0]) / (2 * h)
    np.testing.assert_allclose(derivatives[:, -1], slope, atol=1e-9)


def test_noise_moves_the_fixed_point_along_a_branch_that_solves_the_equations(noisy):
    point = tl.online.fixed_point(noisy, tl.Overlaps([[1.0]], [[0.9]], [[1.0]]), 0.5)
    along = branch(noisy, point, learning_rate=0.5, until=1.0, step=0.1)
    assert along.attrs["ended"] == "reached" and along.learning_rate[-1] == 1.0
    end = tl.Overlaps(Q=along.Q.values[-1], R=along.R.values[-1], T=noisy.T)
    again = tl.online.fixed_point(noisy, end, 1.0)
    np.testing.assert_allclose(again.overlaps.Q, end.Q, atol=1e-12)
    # In units of η, which is one at the end.
    np.testing.assert_allclose(along.eigenvalue.values[-1], again.eigenvalues.real, atol=1e-11)


def test_bad_input_is_refused(noisy):
    state = tl.Overlaps([[1.0]], [[0.9]], [[1.0]])
    for argument, options in (
        ("learning_rate", {"learning_rate": 0.0, "until": 1.0}),
        ("until", {"learning_rate": 1.0, "until": 1.0}),
        ("until", {"learning_rate": 1.0, "until": -1.0}),
        ("until", {"learning_rate": 1.0, "until": 0.0}),  # with weight decay
        ("step", {"learning_rate": 1.0, "until": 2.0, "step": 0.0}),
        ("max_steps", {"learning_rate": 1.0, "until": 2.0, "max_steps": 0}),
    ):
        with pytest.raises(tl.InputError) as problem:
            branch(noisy, state, **options)
        assert problem.value.argument == argument


def test_the_solution_of_the_single_relu_loses_its_stability_at_a_branch_point():
    """λ = η (η/2 - 1) passes through zero at η_c = 2 (straat2019, section 3.1)."""
    one = tl.Committee(1, tl.ReLU())
    solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    along = branch(tl.Scenario(one, one), solution, learning_rate=1.5, until=2.5)
    assert list(along.special_kind.values) == ["branch point"]
    assert abs(float(along.special_learning_rate[0]) - 2.0) < 1e-9
    eta = along.learning_rate.values
    # A state that is off by rounding has angles of 1e-8 in place of 0, and eigenvalues follow.
    np.testing.assert_allclose(
        along.eigenvalue.values.max(axis=1), np.maximum(eta / 2 - 1, -0.5), atol=1e-7
    )


@pytest.fixture(scope="module")
def graded():
    two = tl.Committee(2, tl.ReLU())
    return tl.Scenario(two, two, teacher_overlaps=[[1, 0], [0, 2]])


def symmetric(scenario, R_1, R_2, Q_11, Q_12):
    Q = [[Q_11, Q_12], [Q_12, Q_11]]
    return tl.Overlaps(Q=Q, R=[[R_1, R_2], [R_1, R_2]], T=scenario.T)


@pytest.fixture(scope="module")
def plateau(graded):
    """Up to Q = 10³, well after the fold."""
    near = symmetric(graded, 0.458277, 1.050455, 1.345386, 0.542161)
    return branch(graded, near, learning_rate=1.0, until=2.0, max_steps=60)


def test_the_plateau_of_a_graded_teacher_ends_in_a_fold(graded, plateau):
    assert list(plateau.special_kind.values) == ["fold"]
    critical = float(plateau.special_learning_rate[0])
    # The published value lies 1.7e-4 above the exact one; the series itself is off by 1e-6 only.
    assert abs(critical - PUBLISHED_FOLD) < 5e-4
    assert float(plateau.learning_rate.max()) <= critical + 1e-12
    # At a fold one eigenvalue passes through zero; on both sides of it the branch has one more
    # and one less direction that leads away.
    away = np.sum(plateau.eigenvalue.values > 0, axis=1)
    assert away[0] == 1 and away[-1] == 2
    Q, R = plateau.special_Q.values[0], plateau.special_R.values[0]
    y = np.concatenate([R.ravel(), Q[np.triu_indices(2)]])
    f, J = rates_and_jacobian(Flow(graded), critical, y)
    assert np.max(np.abs(f)) < 1e-10
    assert np.min(np.abs(np.linalg.eigvals(J))) < 1e-9


def test_a_fold_does_not_depend_on_the_steps(graded, plateau):
    near = symmetric(graded, 0.458277, 1.050455, 1.345386, 0.542161)
    other = branch(graded, near, learning_rate=1.0, until=2.0, step=0.12, max_steps=20)
    difference = plateau.special_learning_rate.values - other.special_learning_rate.values
    assert np.max(np.abs(difference)) < 1e-11


def test_the_branch_reaches_the_limit_of_small_learning_rates(graded):
    near = symmetric(graded, 0.458277, 1.050455, 1.345386, 0.542161)
    along = branch(graded, near, learning_rate=1.0, until=0.0, step=0.1)
    limit = tl.online.fixed_point(graded, symmetric(graded, 0.46, 1.11, 1.05, 0.62), 0)
    assert along.attrs["ended"] == "reached" and along.learning_rate[-1] == 0
    np.testing.assert_allclose(along.Q.values[-1], limit.overlaps.Q, atol=1e-10)
    # Half of the digits are lost at the singular covariance of the limit.
    np.testing.assert_allclose(along.eigenvalue.values[-1], limit.eigenvalues.real, atol=1e-7)


def test_identical_students_are_followed_as_identical_students(graded):
    near = symmetric(graded, 0.447802, 1.043177, 1.138635, 1.138635)
    along = branch(graded, near, learning_rate=1.0, until=2.0, step=0.1, max_steps=40)
    assert list(along.special_kind.values) == ["fold"]
    assert np.ptp(along.Q.values, axis=(1, 2)).max() == 0
    # The same fold for one student with twice the output, at half the learning rate.
    single, half = one_for_all(graded, 1.0)
    alone = tl.Overlaps(Q=[[1.138635]], R=[[0.447802, 1.043177]], T=graded.T)
    other = branch(single, alone, learning_rate=half, until=1.0, step=0.1, max_steps=40)
    ratio = along.special_learning_rate.values / other.special_learning_rate.values
    np.testing.assert_allclose(ratio, 2.0, rtol=1e-11)
