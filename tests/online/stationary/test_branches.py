"""Branches of fixed points of on-line learning: folds, branch points, limits."""

import numpy as np
import pytest
from scenarios import GRADED, PERCEPTRON

import tutelage as tl
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized
from tutelage.online.stationary import branches
from tutelage.online.stationary.branches import branch
from tutelage.online.stationary.identical import merged

# The plateau ceases at η ≈ 1.2545 (citton2025, section 3), from a series of order 10.
PUBLISHED_FOLD = 1.2545


@pytest.fixture(scope="module")
def noisy():
    one = tl.Committee(1, tl.Erf())
    return tl.Scenario(one, one, label_noise=0.3, weight_decay=0.02)


def test_noise_moves_the_fixed_point_along_a_branch_that_solves_the_equations(noisy):
    point = tl.online.fixed_point(noisy, tl.Overlaps([[1.0]], [[0.9]], [[1.0]]), 0.5)
    along = branch(noisy, point.overlaps, learning_rate=0.5, until=1.0, step=0.1)
    assert along.attrs["ended"] == "reached" and along.learning_rate[-1] == 1.0
    end = tl.Overlaps(Q=along.Q.values[-1], R=along.R.values[-1], T=noisy.T)
    second = tl.online.fixed_point(noisy, end, 1.0)
    np.testing.assert_allclose(second.overlaps.Q, end.Q, atol=1e-12)
    # In units of η, which is one at the end.
    np.testing.assert_allclose(along.eigenvalue.values[-1], second.eigenvalues.real, atol=1e-11)
    assert tl.results.recompute(along).identical(along)


@pytest.mark.parametrize(
    ("R", "Q", "eta", "until", "reason"),
    [
        (0.5, 1.0, 0.7, 2.0, None),
        (0.5, 1.1e6, 0.7, 2.0, "norms beyond 10⁶"),  # one number is enough
        (-1.1e6, 1e13, 0.7, 2.0, "norms beyond 10⁶"),
        (0.5, 1.0, 0.0, 2.0, "learning rate 0"),
        (0.5, 1.0, 0.0, 0.0, None),  # where it was to go
        (1.1, 1.0, 0.7, 2.0, "not positive semi-definite"),
    ],
)
def test_a_branch_ends_where_it_leaves_the_valid_states(noisy, R, Q, eta, until, reason):
    assert branches._ending(Flow(noisy), until)(np.array([R, Q, eta]), []) == reason


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
    solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    along = branch(PERCEPTRON, solution, learning_rate=1.5, until=2.5)
    assert list(along.special_kind.values) == ["branch point"]
    # Overlaps rounded to 2⁻⁵³ leave an angle of its square root, on which the Jacobian depends.
    assert abs(float(along.special_learning_rate[0]) - 2.0) < 2.0**-25
    eta = along.learning_rate.values
    # A state that is off by rounding has angles of 1e-8 in place of 0, and eigenvalues follow.
    np.testing.assert_allclose(
        along.eigenvalue.values.max(axis=1), np.maximum(eta / 2 - 1, -0.5), atol=1e-7
    )


@pytest.fixture(scope="module")
def graded():
    return GRADED


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
    f, J, _ = linearized(Flow(graded), y, critical)
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


@pytest.mark.slow
def test_identical_students_are_followed_as_identical_students(graded):
    near = symmetric(graded, 0.447802, 1.043177, 1.138635, 1.138635)
    along = branch(graded, near, learning_rate=1.0, until=2.0, step=0.1, max_steps=40)
    assert list(along.special_kind.values) == ["fold"]
    assert np.ptp(along.Q.values, axis=(1, 2)).max() == 0
    # The same fold for one student with twice the output, at half the learning rate.
    single, half = merged(graded, rate_of(1.0))
    alone = tl.Overlaps(Q=[[1.138635]], R=[[0.447802, 1.043177]], T=graded.T)
    other = branch(single, alone, learning_rate=half.first, until=1.0, step=0.1, max_steps=40)
    ratio = along.special_learning_rate.values / other.special_learning_rate.values
    np.testing.assert_allclose(ratio, 2.0, rtol=1e-11)


@pytest.mark.parametrize("first", [0.5, 1.0, 1.4])
def test_the_branch_of_a_solution_has_its_exact_branch_point(first):
    """3 - √3 for two ReLU students of teachers with the squared norms 1 and 2."""
    solution = tl.Overlaps(Q=GRADED.T, R=GRADED.T, T=GRADED.T)
    along = branch(GRADED, solution, first, until=2.4 - first)
    eta, error = float(along.special_learning_rate[0]), float(along.special_error[0])
    assert along.special_kind.values.tolist() == ["branch point"]
    assert abs(eta - (3 - np.sqrt(3))) <= error < 1e-13
    np.testing.assert_array_equal(along.Q.values, np.broadcast_to(GRADED.T, along.Q.shape))


def test_a_branch_that_meets_a_solution_ends_there_at_the_exact_learning_rate():
    """The root of its error, from states with a regular covariance, extrapolates to 3 - √3."""
    near = tl.Overlaps(
        Q=[[1.009340, -2.25e-4], [-2.25e-4, 2.007214]],
        R=[[0.999057, -5.47e-4], [2.867e-3, 1.998006]],
        T=GRADED.T,
    )
    along = branch(GRADED, near, 1.2822874, until=1.2, step=0.02)
    exact = 3 - np.sqrt(3)
    assert along.attrs["ended"] == "meets a solution"
    eta, error = float(along.special_learning_rate[-1]), float(along.special_error[-1])
    assert abs(eta - exact) <= error < 1e-13 and along.learning_rate[-1] == eta
    rates, roots = along.learning_rate.values[:-1], np.sqrt(along.generalization_error.values[:-1])
    close = rates < exact + 2e-3
    fits = [np.polyfit(roots[close], rates[close], degree)[-1] for degree in (2, 3)]
    # The difference of the two fits estimates the error of either.
    assert abs(fits[1] - exact) < 2 * abs(fits[1] - fits[0]) < 1e-5
    assert np.all(along.eigenvalue.values[:-1, 0] < 0)  # stable up to the end


@pytest.mark.parametrize(
    ("away", "step"),
    [
        (3e-4, 0.01),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in ((3e-4, 0.05), (1.5e-3, 0.01))),
    ],
)
def test_a_branch_next_to_a_solution_has_its_exact_learning_rate(away, step):
    """Two or three points before the covariance becomes singular: no root between them counts."""
    exact = 3 - np.sqrt(3)
    dQ = np.array([[42.406, 12.520], [12.520, 31.249]])
    dR = np.array([[-2.619, -2.811], [-1.951, -8.194]])
    T = np.asarray(GRADED.T)
    near = tl.Overlaps(Q=T + away**2 * dQ, R=T + away**2 * dR, T=T, rounding=1e-6)
    along = branch(GRADED, near, exact + away, until=1.2, step=step, max_steps=40)
    assert along.attrs["ended"] == "meets a solution"
    eta, error = along.special_learning_rate.values, along.special_error.values
    assert len(eta) == 1 and abs(eta[0] - exact) <= error[0] < 1e-13


def test_a_special_point_next_to_a_solution_is_as_uncertain_as_its_distance():
    x = np.array([1.0, 1.0])
    special = branches.Special("branch point", np.array([1.0, 1.0 + 1e-6, 1.268188]), 7e-9)
    assert branches._uncertain(x, special, 0.25).error > 2.4e-4
    far = branches.Special("fold", np.array([1.0, 1.1, 1.3]), 7e-9)
    assert branches._uncertain(x, far, 0.25).error == 7e-9
