"""Theory against runs: correct theory is rejected no more often than the level says, wrong is."""

import numpy as np
import pytest
import xarray as xr
from made_up_runs import TIME, ensemble, theory
from scenarios import PERCEPTRON as SCENARIO, PERCEPTRON_START as START
from scipy import stats

import tutelage as tl
from tutelage._checks import ComputationError, InputError
from tutelage.simulation import comparison
from tutelage.simulation.comparison import compare
from tutelage.simulation.interpolated_theory import theory_at


def rejections(count, level, **made):
    """Number of rejections of correct theories."""
    draw = np.random.default_rng(11)
    return sum(
        not compare(theory(), ensemble(draw, **made), level=level, bias=0.0, seed=s).agrees
        for s in range(count)
    )


# The allowed number of rejections is the 99.9 percent quantile of its binomial law.
@pytest.mark.slow
@pytest.mark.parametrize("runs", [8, 20])
def test_correct_theory_is_rejected_no_more_often_than_the_level(runs, monkeypatch):
    monkeypatch.setattr(comparison, "REFLECTIONS", 400)
    assert rejections(300, 0.05, runs=runs) <= stats.binom.ppf(0.999, 300, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "skew"), [(10, 0.0), (100, 0.0), (30, 1.0), (100, 1.0)])
def test_the_level_holds_for_many_ensembles_skewed_or_not(runs, skew):
    assert rejections(500, 0.02, runs=runs, skew=skew) <= stats.binom.ppf(0.999, 500, 0.02)


def test_the_test_is_not_idle():
    """A level of one half rejects about half: the law of the largest deviation is the right one."""
    low, high = stats.binom.ppf([0.0005, 0.9995], 200, 0.5)
    assert low <= rejections(200, 0.5, runs=9) <= high


def test_a_shift_of_one_overlap_by_a_few_standard_errors_is_found():
    draw = np.random.default_rng(2)
    runs = ensemble(draw, runs=100, N=1000)
    error = tl.simulation.summary(runs)["R_standard_error"].values
    for shift, expected in ((0.5, True), (8.0, False)):
        wrong = theory()
        wrong["R"] = wrong["R"] + shift * error
        comparison = compare(wrong, runs, bias=0.0)
        assert comparison.agrees is expected
    assert (
        comparison.raw.quantity == "R_11" and comparison.raw.standard_errors > comparison.threshold
    )
    assert comparison.raw.p_value <= comparison.level


def test_a_bias_of_the_order_of_the_variance_is_allowed_if_it_is_meant_to_be():
    """More runs than N: the 1/N shift of the mean is many standard errors, and no disagreement."""
    runs = ensemble(np.random.default_rng(3), runs=2000, N=100, bias=0.5)
    comparison = compare(theory(), runs)
    assert comparison.agrees and comparison.rests_on == "beyond_bias"
    assert comparison.beyond_bias.p_value > comparison.level >= comparison.raw.p_value
    strict = compare(theory(), runs, bias=0.0)
    assert not strict.agrees and (strict.rests_on, strict.beyond_bias) == ("raw", None)
    assert strict.raw == comparison.raw  # the same deviation, with or without a bias to explain it


def spreading(spread, shift):
    """20 runs of a single unit whose R has a given spread and a shifted mean at each time."""
    z = np.linspace(-1.0, 1.0, 20)
    z /= np.std(z, ddof=1)
    R = 1.0 + np.multiply.outer(z, spread) + shift
    steady = np.ones_like(R)
    values = {"Q": steady[..., None, None], "R": R[..., None, None], "generalization_error": steady}
    axes = {"Q": ("student", "student_2"), "R": ("student", "teacher"), "generalization_error": ()}
    result = {name: (("run", "time", *axes[name]), value) for name, value in values.items()}
    return xr.Dataset(result, coords={"time": np.arange(float(len(spread)))})


@pytest.mark.parametrize(
    ("shift", "agrees"), [(0.0049, True), (0.0051 + 4 * 0.001 / np.sqrt(20), False)]
)
def test_a_bias_may_stay_when_the_runs_have_come_together_again(shift, agrees):
    """The spread grows to 0.05 and shrinks to 0.001: 2 × 0.05² over the overlap 1 stays allowed.

    The last mean is off by more than 20 standard errors.
    """
    curve = spreading([0.0] * 4, 0.0).isel(run=0)
    runs = spreading([0.0, 0.05, 0.01, 0.001], np.array([0.0, 0.0, 0.0, shift]))
    comparison = compare(curve, runs)
    assert comparison.raw.standard_errors > 20 and comparison.raw.time == 3.0
    assert comparison.agrees is agrees
    assert agrees or comparison.beyond_bias.bias == pytest.approx(0.005)
    # A spread that comes later allows nothing before.
    early = spreading([0.0, 0.001, 0.01, 0.05], np.array([0.0, shift, 0.0, 0.0]))
    assert not compare(curve, early).agrees


def test_the_deviation_without_a_bias_is_the_largest_of_the_summary():
    """A second route: mean and standard error of `summary`, theory at the same times."""
    runs = ensemble(np.random.default_rng(9), runs=50, N=100, bias=2.0)
    result, curve, means = compare(theory(), runs), theory(), tl.simulation.summary(runs)
    later = slice(1, None)  # all runs start alike
    t = max(
        float(np.max(np.abs((means[x] - curve[x]) / means[f"{x}_standard_error"])[later]))
        for x in ("Q", "R", "generalization_error")
    )
    # The theory is taken to be known to a thousand roundings of an overlap of order one.
    assert result.raw.standard_errors == pytest.approx(t, rel=1e-9)
    assert f"largest deviation {t:.2f} standard errors" in str(result).splitlines()[0]


def test_a_wrong_start_is_detected_although_all_runs_have_it():
    runs = ensemble(np.random.default_rng(4), runs=10, N=10)
    wrong = theory()
    wrong["R"][0] += 1e-3
    comparison = compare(wrong, runs)
    assert not comparison.agrees and (comparison.raw.standard_errors, comparison.raw.time) == (
        np.inf,
        0.0,
    )


def half_the_squared_term(learning_rate, until):
    """dQ/dα = η a + ½ η² b instead of η a + η² b: half of η, twice as fast."""
    run = tl.online.evolve(SCENARIO, START, learning_rate / 2, until=2 * until)
    return run.assign_coords(time=run["time"] / 2).drop_attrs()


def test_a_wrong_factor_one_half_in_the_squared_learning_rate_is_detected():
    """100 runs at N = 1000, at the level 0.01; the right factor passes with the same runs."""
    runs = tl.simulation.chain(SCENARIO, START, 1.0, dimension=1000, until=5, runs=100, seed=1)
    right = compare(tl.online.evolve(SCENARIO, START, 1.0, until=5.0), runs)
    wrong = compare(half_the_squared_term(1.0, 5.0), runs)
    assert right.agrees, right
    assert not wrong.agrees and wrong.beyond_bias.standard_errors > 10, wrong
    assert (right.runs, right.diverged, right.level) == (100, 0, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("learning_rate", [0.3, 1.0, 1.5])
def test_chains_are_rejected_no_more_often_than_the_level(learning_rate):
    """One simulation of 4000 runs at N = 1000, cut into 40 ensembles; the level 0.05."""
    curve = tl.online.evolve(SCENARIO, START, learning_rate, until=10.0)
    times = np.linspace(0.0, 10.0, 21)
    runs = tl.simulation.chain(
        SCENARIO, START, learning_rate, dimension=1000, until=10, runs=4000, seed=5, times=times
    )
    parts = [runs.isel(run=slice(100 * i, 100 * i + 100)) for i in range(40)]
    count = sum(not compare(curve, part, level=0.05).agrees for part in parts)
    assert count <= stats.binom.ppf(0.999, 40, 0.05)


@pytest.mark.slow
def test_two_units_agree_up_to_their_plateau_and_a_wrong_factor_does_not():
    """The setting of citton2025 Fig. 1: ten ensembles of 100 runs at N = 1000, the level 0.05."""
    two = tl.Committee(2, tl.ReLU())
    scenario = tl.Scenario(two, two, teacher_overlaps=[[1, 0], [0, 2]])
    start = tl.Overlaps(Q=np.diag([0.1, 0.2]), R=1e-3 * np.eye(2), T=scenario.T)
    curve = tl.online.evolve(scenario, start, 1.0, until=15.0)
    wrong = tl.online.evolve(scenario, start, 0.5, until=30.0)
    wrong = wrong.assign_coords(time=wrong["time"] / 2).drop_attrs()
    runs = tl.simulation.chain(
        scenario, start, 1.0, dimension=1000, until=15.0, runs=1000, seed=4, times=TIME * 1.5
    )
    parts = [runs.isel(run=slice(100 * i, 100 * i + 100)) for i in range(10)]
    count = sum(not compare(curve, part, level=0.05).agrees for part in parts)
    assert count <= stats.binom.ppf(0.999, 10, 0.05)
    assert not any(compare(wrong, part).agrees for part in parts)


def test_a_theory_at_other_times_is_interpolated_and_the_error_of_that_is_not_understated():
    time = np.sort(np.random.default_rng(0).uniform(0.0, 10.0, 50))
    value, error = theory_at(theory(np.linspace(0, 10, 21)), time)
    exact, none = theory_at(theory(time), time)
    gap = np.abs(value - exact)
    assert np.max(gap) > 1e-6  # the splines are to be seen
    # The error of a spline changes its sign between knots: the largest over time is what counts.
    assert np.all(np.max(gap, axis=0) <= 3 * np.max(error, axis=0))
    assert np.max(none) < 1e-12


def test_a_theory_that_has_converged_stays_where_it_is():
    run = theory().assign_attrs(outcome="converged").isel(time=slice(0, 31))
    value, _ = theory_at(run, np.array([7.0, 9.0]))
    last = theory_at(run, np.array([7.5]))[0][0]
    np.testing.assert_array_equal(value[1], last)


def test_only_times_at_which_all_values_exist_are_compared_and_others_are_listed():
    runs = ensemble(np.random.default_rng(5), runs=20)
    gone = runs.where((runs["run"] != 3) | (runs["time"] < 6.0))
    comparison = compare(theory().sel(time=slice(0, 8)), gone)
    assert comparison.times[-1] == 5.75 and comparison.diverged == 1
    message = "43% of the time was not compared: α = 5.75 to 10; a run diverges after that"
    assert comparison.left_out == message
    short = compare(theory().sel(time=slice(0, 4)), runs)
    assert short.times[-1] == 4.0
    message = "60% of the time was not compared: α = 4 to 10; the theory ends there"
    assert short.left_out == message and message in str(short)
    assert compare(theory(), runs).left_out == ""


@pytest.mark.parametrize(
    ("N", "bias", "shift", "verdict"),
    [
        pytest.param(
            *(1000, 0.0, 0.0, "theory and 2000 runs agree, without any bias"),
            marks=pytest.mark.slow,
        ),
        (100, 0.5, 0.0, "theory and 2000 runs agree only with such a bias"),
        (1000, 0.0, 0.1, "theory and 2000 runs differ, even with such a bias"),
    ],
)
def test_the_verdict_prints_deviation_then_bias_then_evidence(N, bias, shift, verdict):
    runs = ensemble(np.random.default_rng(6), runs=2000, N=N, bias=bias)
    shifted = theory().assign(R=theory()["R"] + shift * TIME[:, None, None])
    first, second, last = str(compare(shifted, runs)).splitlines()
    assert first.startswith("largest deviation ") and "p = " in first
    assert second.startswith("beyond a bias of order 1/N (at most 2 × variance over runs")
    assert last == verdict
    assert repr(compare(shifted, runs)) == str(compare(shifted, runs))
    assert len(str(compare(shifted, runs, bias=0)).splitlines()) == 2


def test_the_result_repeats_itself():
    runs = ensemble(np.random.default_rng(7), runs=20)
    first, second = (compare(theory(), runs, seed=3) for _ in range(2))
    assert (first.raw, first.threshold) == (second.raw, second.threshold)


RUNS = ensemble(np.random.default_rng(8), runs=20)
OF_2 = theory().assign_attrs(learning_rate="2.0")


@pytest.mark.parametrize(
    ("curve", "runs", "keywords", "message"),
    [
        (theory(), RUNS.isel(run=slice(0, 5)), {}, "runs: got 5 runs, but the level 0.01 needs"),
        (theory(), RUNS.isel(run=0), {}, "runs: got no Q over run"),
        (RUNS, RUNS, {}, "theory: got"),
        (theory(K=2), RUNS, {}, "theory: got 2 students"),
        (theory(TIME[:5] + 0.1), RUNS, {}, "theory: got 5 times, not those of the runs"),
        (OF_2, RUNS.assign_attrs(learning_rate="1"), {}, "theory: got the learning_rate 2.0"),
        (theory(), RUNS, {"level": 0.0}, "level: got 0.0"),
        (theory(), RUNS, {"level": 1.0}, "level: got 1.0"),
        (theory(), RUNS, {"bias": -1.0}, "bias: got -1.0"),
    ],
)
def test_what_cannot_be_compared_is_refused(curve, runs, keywords, message):
    with pytest.raises(InputError, match=message):
        compare(curve, runs, **keywords)


def test_runs_without_a_common_time_cannot_be_compared():
    with pytest.raises(ComputationError, match="runs: there is no time after 0"):
        compare(theory().isel(time=[0]), RUNS)


def test_another_learning_rate_can_be_compared_on_purpose():
    runs = RUNS.assign_attrs(learning_rate="1")
    assert compare(OF_2.drop_attrs(), runs).agrees
    assert compare(OF_2.assign_attrs(learning_rate="1.0"), runs).agrees
    assert isinstance(compare(theory(), runs).summary, xr.Dataset)
