"""Critical learning rates: exact ones, the defining property on both sides, published ones."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from scenarios import GRADED, GRADED_START, TWO

import tutelage as tl
from tutelage._checks import InputError
from tutelage.online.flow import Flow
from tutelage.online.stationary import critical_rates, stability
from tutelage.online.stationary.critical_rates import critical_learning_rates
from tutelage.online.stationary.plateaus import plateau
from tutelage.online.stationary.points import fixed_point
from tutelage.online.stationary.stability import loss_of_stability, solution_loses_stability
from tutelage.online.steps import Steps
from tutelage.online.trajectory import evolve


def single(activation):
    """straat2019, Fig. 1."""
    one = tl.Committee(1, activation)
    scenario = tl.Scenario(one, one)
    return scenario, tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=scenario.T)


@pytest.fixture(scope="module")
def of_single():
    return critical_learning_rates(*single(tl.ReLU()))


@pytest.fixture(scope="module")
def of_graded():
    return critical_learning_rates(GRADED, GRADED_START)


def test_the_solution_of_a_single_relu_is_unstable_above_two(of_single):
    """λ = η²/2 - η changes its sign (straat2019 section 3)."""
    value, error = of_single.loses_stability
    assert abs(value - 2.0) < 1e-9
    assert abs(value - 2.0) <= error <= 1e-6


def ended_at(scenario, teachers):
    """A run that has nearly learned, student i the teacher teachers[i]."""
    T = np.asarray(scenario.T)
    close = tl.Overlaps(Q=T[np.ix_(teachers, teachers)], R=(1 - 1e-5) * T[teachers], T=T)
    flow = Flow(scenario)
    zero = np.zeros(1)
    return flow, Steps(zero, flow.vector(close)[None], zero, zero, "converged")


def unstable_above(slope, K):
    """η_c of K students that have learned orthonormal teachers, from the moments of g' alone.

    Orthogonal to the teachers E_ij = e_i·e_j moves by
    -η(AE + EA)_ij + η²⟨g_i' g_j' Σ g_k' g_l' E_kl⟩ with A_ij = ⟨g_i' g_j'⟩; the mode that grows
    first has E_ii = p and E_ij = q.  Units are independent: all averages are products of
    m_n = ⟨g'ⁿ⟩, here by the trapezoidal rule.
    """
    x = np.linspace(-12.0, 12.0, 4800, endpoint=False) + 0.0025  # kinks at 0 between two points
    weight = np.exp(-(x**2) / 2)
    weight /= np.sum(weight)
    a, b, c, d = (float(weight @ slope(x) ** n) for n in (1, 2, 3, 4))
    decay = -2 * np.array([[b, (K - 1) * a**2], [a**2, b + (K - 2) * a**2]])
    growth = np.array(
        [
            [d + (K - 1) * b**2, 2 * (K - 1) * c * a + (K - 1) * (K - 2) * b * a**2],
            [
                2 * c * a + (K - 2) * a**2 * b,
                2 * b**2 + 4 * (K - 2) * b * a**2 + (K - 2) * (K - 3) * a**4,
            ],
        ]
    )
    if K == 1:
        return -decay[0, 0] / growth[0, 0]
    rates = np.linalg.eigvals(np.linalg.solve(-decay, growth))
    return 1 / np.max(rates.real)


def holds_from_both_sides(estimate, exact, rounding=1.0):
    """True error ≤ estimate ≤ 100 times the true error, or a number of roundings of the value."""
    true = abs(estimate.value - exact)
    return true <= estimate.error <= 100 * max(true, rounding * np.spacing(exact))


@pytest.mark.parametrize("teachers", [[0, 1], [1, 0]])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_the_solution_is_recognised_whichever_student_learned_which_teacher(teachers, size):
    """η_c = 3 - √3 for two orthogonal teachers, of any length: rates scale with T, so do errors."""
    exact = 3 - math.sqrt(3)
    assert unstable_above(lambda x: x > 0, 2) == pytest.approx(exact, rel=1e-14)
    scenario = tl.Scenario(TWO, TWO, teacher_overlaps=size * np.asarray(GRADED.T))
    estimate = loss_of_stability(*ended_at(scenario, teachers), 0.5, 2.0)
    assert holds_from_both_sides(estimate, exact)


@pytest.mark.parametrize(("g", "exact"), [(tl.ReLU(), 2.0), (tl.Erf(), math.pi * math.sqrt(5 / 3))])
def test_the_error_of_the_rate_of_instability_holds_from_both_sides(g, exact):
    one = tl.Committee(1, g)
    scenario = tl.Scenario(one, one)
    for estimate in (
        loss_of_stability(*ended_at(scenario, [0]), 0.5, 8.0),
        solution_loses_stability(scenario),
    ):
        assert holds_from_both_sides(estimate, exact)


def swish_slope(x):
    s = scipy.special.expit(x)
    return s + x * s * (1 - s)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("g", "slope", "K"),
    [
        (tl.Softplus(), scipy.special.expit, 1),
        (tl.Swish(), swish_slope, 1),
        (tl.Swish(), swish_slope, 2),
        (tl.ReLU(), lambda x: x > 0, 3),
    ],
)
def test_the_error_holds_for_units_without_closed_forms_and_for_three(g, slope, K):
    """Derivatives of averages by conditioning lose eight digits where fields coincide."""
    units = tl.Committee(K, g)
    scenario = tl.Scenario(units, units, teacher_overlaps=np.eye(K))
    exact = unstable_above(slope, K)
    estimate = loss_of_stability(*ended_at(scenario, [*range(K)]), 0.2, 1.7 * exact)
    assert holds_from_both_sides(estimate, exact)


@pytest.mark.slow
def test_the_rate_of_instability_of_relus_does_not_depend_on_the_length_of_teachers():
    """Three correlated teachers; nothing is known exactly, but a factor of T changes nothing."""
    three, B = tl.Committee(3, tl.ReLU()), np.random.default_rng(0).normal(size=(3, 4))
    results = [
        loss_of_stability(*ended_at(tl.Scenario(three, three, c * (B @ B.T)), order), 0.05, 2.0)
        for c, order in ((1.0, [0, 1, 2]), (1.7, [1, 2, 0]), (3.3, [2, 1, 0]))
    ]
    errors = sum(estimate.error for estimate in results)
    spread = np.ptp([estimate.value for estimate in results])
    assert spread <= errors <= 100 * spread


@pytest.mark.parametrize("c", [0.3, 1.2, -0.7])
def test_the_solution_of_correlated_teachers_has_their_correlations(c):
    """Renaming students renames rows of R, and rows and columns of Q.

    At c = 1.2 a student that has learned the shorter teacher has a larger overlap with the other.
    """
    two = tl.Committee(2, tl.Erf())
    scenario = tl.Scenario(two, two, teacher_overlaps=[[1.0, c], [c, 2.0]])
    flow, run = ended_at(scenario, [1, 0])
    y = stability._solution(flow, run)
    exact = tl.Overlaps(Q=[[2.0, c], [c, 1.0]], R=[[c, 2.0], [1.0, c]], T=scenario.T)
    np.testing.assert_array_equal(y, flow.vector(exact))


@pytest.mark.parametrize("coarse", [-1e-6, -3e-8, 1e-10, 2e-7, 1e-4])
def test_the_error_of_a_bisection_is_what_a_wider_tolerance_changes(coarse):
    """At least this change, and at most 1.5 times it, beyond the widths of the intervals."""
    width, value = 1e-9, 1.5

    def escapes(eta, tolerance=critical_rates.FINE):
        return eta > value + (coarse if tolerance == critical_rates.COARSE else 0.0)

    result = critical_rates._with_coarse_bracket(escapes, value, width)
    assert result.value == value
    assert abs(coarse) <= result.error <= 1.5 * abs(coarse) + 3 * width


@pytest.mark.parametrize("critical", [1e-4, 0.1, 0.5, 0.7, 5.0, 40.0])
def test_a_rate_is_bracketed_from_below_and_from_above(critical):
    """By factors of two from η = 1, in a number of runs that is bounded."""
    tried = []

    def escapes(eta):
        tried.append(eta)
        assert len(tried) < 40
        return eta > critical

    low, high = critical_rates._bracket(escapes, 64.0)
    assert low <= critical < high and high == 2 * low


def test_a_missing_rate_is_no_bracket():
    with pytest.raises(critical_rates._Missing, match="bounded at every learning rate up to 64"):
        critical_rates._bracket(lambda eta: False, 64.0)
    with pytest.raises(critical_rates._Missing, match="down to 1e-6"):
        critical_rates._bracket(lambda eta: True, 64.0)


def test_a_single_relu_has_neither_a_plateau_nor_a_rising_error(of_single):
    assert of_single.plateau_vanishes is None and "saddle" in of_single.reasons["plateau_vanishes"]
    assert of_single.non_monotonic is None and "falls" in of_single.reasons["non_monotonic"]


@pytest.mark.slow
def test_the_plateau_of_three_erf_units_is_that_of_small_rates():
    """At 0.8 of the rate of instability runs linger next to another saddle, with a fold at
    1.6524.
    """
    three = tl.Committee(3, tl.Erf())
    scenario = tl.Scenario(three, three)
    start = tl.Overlaps(Q=np.diag([0.1, 0.15, 0.2]), R=1e-3 * np.eye(3), T=scenario.T)
    rates = critical_learning_rates(scenario, start, upper=4.0)
    assert rates.loses_stability.value == pytest.approx(1.620675, abs=1e-6)
    # Followed from η = 0.02 by papers/beyond, at the saddle of the limit η → 0.
    assert rates.plateau_vanishes.value == pytest.approx(2.142141, abs=1e-6)
    other = plateau(scenario, start, 0.8 * rates.loses_stability.value).point.overlaps
    assert np.ptp(other.R) > 1e-3 > np.ptp(plateau(scenario, start, 0.5).point.overlaps.R)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [1.9, 2.1])
def test_above_two_a_single_relu_ends_next_to_the_solution(eta):
    """Nothing explodes at η = 2: a stable state with a finite error takes the run instead."""
    scenario, start = single(tl.ReLU())
    end = evolve(scenario, start, eta, until=3000.0).isel(time=-1)
    assert (float(end.generalization_error) > 1e-2) == (eta > 2)
    assert float(end.Q[0, 0]) < 2


@pytest.mark.slow
def test_the_norm_of_a_single_relu_explodes_where_that_state_has_its_fold(of_single):
    """Second route: at a fold λ² is linear in η, so two eigenvalues below it give the fold.

    The next term is of relative size √δ, with δ the distance 1e-4 to the fold.
    """
    scenario, start = single(tl.ReLU())
    eta = of_single.diverges.value
    squares = []
    for delta in (1e-4, 2e-4):
        run = evolve(scenario, start, eta - delta, until=3000.0).isel(time=-1)
        near = tl.Overlaps(Q=run.Q.values, R=run.R.values, T=scenario.T)
        squares.append(fixed_point(scenario, near, eta - delta).eigenvalues[0].real ** 2)
    fold = eta - 1e-4 + 1e-4 * squares[0] / (squares[1] - squares[0])
    assert abs(fold - eta) < 1e-4 * math.sqrt(2e-4) * 10
    assert evolve(scenario, start, eta * 1.01, until=3000.0).attrs["outcome"] == "diverged"


def test_the_solution_of_a_single_erf_is_unstable_above_its_exact_value_and_norms_stay_bounded():
    """A deviation orthogonal to the teacher obeys d|u|²/dα = (η²⟨g'⁴⟩ - 2η⟨g'²⟩)|u|².

    ⟨g'²⟩ = 2/(π√3) and ⟨g'⁴⟩ = 4/(π²√5) give η = π√(5/3).
    """
    rates = critical_learning_rates(*single(tl.Erf()), upper=8.0)
    value, error = rates.loses_stability
    assert abs(value - math.pi * math.sqrt(5 / 3)) <= error <= 1e-6
    assert rates.diverges is None and "bounded" in rates.reasons["diverges"]
    # Above it the run converges all the same, to a state with an error.
    end = evolve(*single(tl.Erf()), 5.0, until=1000.0)
    assert end.attrs["outcome"] == "converged" and end.generalization_error.values[-1] > 0.03


@pytest.mark.parametrize("upper", [0.0, -1.0, math.nan, "4"])
def test_an_upper_limit_that_is_no_positive_number_is_refused(upper):
    with pytest.raises(InputError, match="upper"):
        critical_learning_rates(*single(tl.ReLU()), upper=upper)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "published"),
    [("non_monotonic", 1.2175), ("plateau_vanishes", 1.2545), ("diverges", 1.2575)],
)
def test_the_values_of_citton2025_differ_from_exact_ones_in_the_fourth_digit(
    of_graded, name, published
):
    """The paper has a series of order 10 where we have exact averages."""
    value, error = getattr(of_graded, name)
    assert abs(value - published) < 1e-3
    assert error < 1e-6


@pytest.mark.slow
def test_the_run_diverges_just_above_and_converges_just_below(of_graded):
    scenario, start = GRADED, GRADED_START
    eta, error = of_graded.diverges
    outcomes = [
        evolve(scenario, start, eta + side * (error + 1e-7), until=3000.0, tolerance=1e-11).attrs[
            "outcome"
        ]
        for side in (-1, 1)
    ]
    assert outcomes == ["converged", "diverged"]


@pytest.mark.slow
def test_the_errors_of_both_rates_hold_from_both_sides(of_graded, monkeypatch):
    """Against tolerances a hundred times smaller, and no slope that counts as integration error."""
    flow = Flow(GRADED)
    y0 = flow.vector(GRADED_START)

    def escapes(eta):
        return critical_rates._run(flow, y0, eta, 1e-12).outcome == "diverged"

    def rise(eta):
        return critical_rates._fastest_rise(flow, y0, eta, 1e-12)

    value = of_graded.diverges.value
    exact = np.mean(critical_rates._bisect(escapes, value - 1e-7, value + 1e-7, 1e-12))
    assert holds_from_both_sides(of_graded.diverges, exact)
    monkeypatch.setattr(critical_rates, "RISING", 1e-12)
    value = of_graded.non_monotonic.value
    exact = scipy.optimize.brentq(rise, value - 1e-5, value + 1e-5, xtol=1e-12)
    assert holds_from_both_sides(of_graded.non_monotonic, exact)


@pytest.mark.slow
def test_the_error_rises_just_above_and_falls_just_below(of_graded):
    """Differences of the recorded error instead of its exact slope, at a distance of 1e-5.

    The slope is then of order 1e-5 for a time of order √1e-5: differences of 1e-9 between
    times 1e-3 apart, against a tolerance of 1e-12.
    """
    scenario, start = GRADED, GRADED_START
    times = np.linspace(0.0, 40.0, 4001)
    for side, rises in ((-1, False), (1, True)):
        eta = of_graded.non_monotonic.value + side * 1e-5
        run = evolve(scenario, start, eta, until=40.0, times=times, tolerance=1e-12)
        assert bool(np.any(np.diff(run.generalization_error.values) > 1e-10)) == rises


@pytest.mark.slow
def test_the_plateau_is_lost_in_a_fold(of_graded):
    """Second route, as above: λ² is linear in η, up to a relative √δ."""
    scenario, start = GRADED, GRADED_START
    eta = of_graded.plateau_vanishes.value
    squares = []
    for delta in (1e-4, 2e-4):
        result = plateau(scenario, start, eta - delta).point
        # The fold happens among states with exchangeable students: R_1n = R_2n, Q_11 = Q_22.
        v = result.eigenvectors
        uneven = np.abs(v[[0, 1, 4]] - v[[2, 3, 6]]).max(axis=0)
        squares.append(np.min(np.abs(result.eigenvalues[uneven < 1e-6])) ** 2)
    fold = eta - 1e-4 + 1e-4 * squares[0] / (squares[1] - squares[0])
    assert abs(fold - eta) < 1e-4 * math.sqrt(2e-4) * 10
    assert plateau(scenario, start, eta + 1e-4).length is None
