"""Trajectories: known limits, published curves, and all outcomes."""

import math

import numpy as np
import pytest
from scenarios import ONE, PERCEPTRON, PERCEPTRON_START as START, to_vector
from scipy.integrate import solve_ivp

import tutelage as tl
from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.model.layout import layout_of
from tutelage.online import Flow, evolve, integration
from tutelage.online.integration import _check_pace
from tutelage.online.trajectory import _check_averages
from tutelage.solve.stepping import IntegratorState


def test_linear_units_follow_an_exponential():
    """g = x: dR/dα = η(1 - R) and dQ/dα = 2η(R - Q) + η²(1 - 2R + Q), solved by hand."""
    line = tl.Committee(1, tl.Linear())
    eta, t = 0.3, np.linspace(0, 20, 11)
    run = evolve(tl.Scenario(line, line), START, eta, until=20, times=t)
    R = 1 - np.exp(-eta * t)
    # D = 1 - 2R + Q decays as exp((η² - 2η) α).
    D = (1 + 0.25) * np.exp((eta**2 - 2 * eta) * t)
    assert np.all(np.abs(run.R.values[:, 0, 0] - R) <= 1e-7)
    assert np.all(np.abs(run.Q.values[:, 0, 0] - (D - 1 + 2 * R)) <= 1e-7)
    assert np.all(np.abs(run.generalization_error.values - D / 2) <= 1e-7)


@pytest.mark.slow
def test_another_integrator_finds_the_same_curve():
    """SciPy's DOP853 at 1e-10; both tolerances add up over 20 units of time."""
    flow = Flow(PERCEPTRON)
    compiled = jax.jit(
        lambda y: to_vector(flow(layout_of(1, 1).overlaps(y, START.T), jnp.asarray(1.0)))
    )

    def rates(t, y):
        return np.asarray(compiled(jnp.asarray(y)))

    t = np.array([1.0, 5.0, 20.0])
    other = solve_ivp(rates, (0, 20), to_vector(START), "DOP853", t, rtol=1e-10, atol=1e-10)
    run = evolve(PERCEPTRON, START, 1.0, until=20, times=t, tolerance=1e-10)
    assert np.all(np.abs(run.R.values[:, 0, 0] - other.y[0]) <= 1e-8)
    assert np.all(np.abs(run.Q.values[:, 0, 0] - other.y[1]) <= 1e-8)


def test_requested_times_are_exact():
    t = [0.5, math.pi, 7.25]
    assert evolve(PERCEPTRON, START, 0.5, until=10, times=t).time.values.tolist() == t


def test_learning_goes_down_to_rounding_and_ends_by_itself():
    """The covariance is singular there: student = teacher."""
    run = evolve(PERCEPTRON, START, 1.0, until=10_000)
    assert run.attrs["outcome"] == "converged"
    assert run.attrs["ended_at"] < 100
    assert run.time.values[-1] <= run.attrs["ended_at"]
    last = evolve(PERCEPTRON, START, 1.0, until=run.attrs["ended_at"])
    assert last.generalization_error.values[-1] < 1e-12


@pytest.mark.parametrize(("unit", "stages"), [(tl.Erf(), 1), (tl.ReLU(), 2)])
def test_only_units_with_kinks_need_a_second_stage_to_end_at_the_solution(
    unit, stages, monkeypatch
):
    """Their averages are not smooth outside of the set of covariances."""
    advance, calls = integration._advance, []

    def counted(*which):
        calls.append(which)
        return advance(*which)

    monkeypatch.setattr(integration, "_advance", counted)
    one = tl.Committee(1, unit)
    start = tl.Overlaps(Q=[[0.2]], R=[[0.1]], T=[[1.0]])
    run = evolve(tl.Scenario(one, one), start, 0.5, until=400.0, tolerance=1e-6)
    assert len(calls) == stages
    assert run.attrs["outcome"] == "converged"
    assert run.generalization_error.values[-1] < 1e-12


def test_divergence_is_an_outcome():
    """Everything before the divergence is recorded and finite."""
    run = evolve(PERCEPTRON, START, 4.0, until=100, times=np.linspace(0, 100, 1001))
    assert run.attrs["outcome"] == "diverged"
    assert 0 < run.attrs["ended_at"] < 100
    assert np.all(np.isfinite(run.Q.values))
    assert run.Q.values[-1, 0, 0] > 100


@pytest.mark.slow
def test_between_two_and_the_divergence_the_perceptron_settles_elsewhere():
    """Above η = 2 the solution is unstable, but at first another state is near and stable.

    straat2019 calls η = 2 critical, from the linearization; norms do not grow without bound yet.
    """
    run = evolve(PERCEPTRON, START, 2.1, until=2000)
    assert run.attrs["outcome"] == "converged"
    assert run.generalization_error.values[-1] == pytest.approx(0.04188, abs=1e-5)


def test_batches_are_single_runs_side_by_side():
    rates, t = [0.5, 1.0, 4.0], np.linspace(0, 30, 401)
    runs = evolve(PERCEPTRON, START, np.array(rates), until=30, times=t)
    assert runs.Q.dims == ("run", "time", "student", "student_2")
    assert runs.outcome.values.tolist()[2] == "diverged"
    for i, eta in enumerate(rates):
        alone = evolve(PERCEPTRON, START, eta, until=30, times=t)
        common = alone.sel(time=alone["time"].isin(t))  # without the end of a run that diverges
        together = runs.R.values[i, : common.sizes["time"]]
        assert np.all(np.abs(together - common.R.values) <= 1e-7)


@pytest.mark.slow
def test_starts_may_differ_from_run_to_run():
    starts = tl.Overlaps(np.full((2, 1, 1), 0.25), np.array([[[0.0]], [[0.4]]]), [[1.0]])
    assert evolve(PERCEPTRON, starts, 1.0, until=5).sizes["run"] == 2


@pytest.mark.parametrize(
    ("disturbance", "Q"), [({"label_noise": 0.5}, 1.0799001), ({"weight_decay": 0.1}, 0.5274222)]
)
def test_noise_and_decay_lead_away_from_the_solution(disturbance, Q):
    """A run from the solution ends where a run from a neighbouring state does."""
    scenario = tl.Scenario(ONE, ONE, **disturbance)
    ends = [
        evolve(scenario, tl.Overlaps([[1.0]], [[R]], [[1.0]]), 0.5, until=80).Q.values[-1, 0, 0]
        for R in (1.0, 0.999)
    ]
    assert abs(ends[0] - ends[1]) < 1e-7  # both at rest within ten tolerances, 10⁻⁸
    assert abs(ends[0] - Q) < 1e-6


def test_a_run_that_ends_between_recorded_times_has_its_end():
    run = evolve(PERCEPTRON, START, 0.5, until=1e5)
    assert run.attrs["outcome"] == "converged"
    assert run["time"].values[-1] == run.attrs["ended_at"] < 1000
    assert abs(run.Q.values[-1, 0, 0] - 1) < 1e-6  # ε_g < 10⁻¹³ is a deviation below its root


def test_a_run_goes_on_beyond_the_recorded_times():
    run = evolve(PERCEPTRON, START, 0.5, until=20, times=[1.0, 2.0])
    assert run["time"].values.tolist() == [1.0, 2.0]
    assert run.attrs["ended_at"] == 20


@pytest.mark.slow
def test_teachers_that_differ_may_come_to_rest():
    starts = tl.Overlaps(Q=[[[0.25]], [[0.5]]], R=np.zeros((2, 1, 1)), T=[[[1.0]], [[2.0]]])
    assert evolve(PERCEPTRON, starts, 0.5, until=150).outcome.values.tolist() == ["converged"] * 2


def test_a_rate_beyond_all_bounds_diverges_at_once():
    assert evolve(PERCEPTRON, START, 1e75, until=5).attrs["outcome"] == "diverged"
    run = evolve(PERCEPTRON, START, [0.5, 1e60], until=5)
    assert run.outcome.values.tolist() == ["reached", "diverged"]


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (lambda t: math.exp(-t), "jax.numpy"),
        (lambda t: 1.0 if t < 5 else 0.5, "jax.numpy"),
        (lambda t: jnp.ones(2), "one number"),
        (lambda t: 1 / t, "inf at time 0"),
        ([], "empty"),
    ],
)
def test_rates_that_cannot_be_are_refused(rate, message):
    with pytest.raises(tl.InputError, match=message):
        evolve(PERCEPTRON, START, rate, until=10, times=[1.0, 10.0])


def test_starts_may_share_what_is_the_same():
    """R differs from run to run, Q does not: the same as with Q repeated."""
    R = np.array([[[0.0]], [[0.1]]])
    shared = tl.Overlaps([[0.25]], R, [[1.0]])
    repeated = tl.Overlaps(np.full((2, 1, 1), 0.25), R, [[1.0]])
    assert evolve(PERCEPTRON, shared, 1.0, until=5).equals(
        evolve(PERCEPTRON, repeated, 1.0, until=5)
    )


@pytest.mark.slow
def test_teachers_may_differ_from_run_to_run():
    """A teacher twice as long is the same problem in other units: R and Q scale."""
    T = np.array([[[1.0]], [[4.0]]])
    starts = tl.Overlaps(0.25 * T, 0.0 * T, T)
    runs = evolve(PERCEPTRON, starts, 1.0, until=10)
    assert np.allclose(runs.R.values[1], 4 * runs.R.values[0], atol=1e-6)


def test_a_constant_schedule_is_a_constant_rate():
    constant = evolve(PERCEPTRON, START, 0.5, until=10)
    schedule = evolve(PERCEPTRON, START, lambda t: 0.5 + 0.0 * t, until=10)
    assert np.allclose(constant.R, schedule.R, atol=1e-8)


def test_provenance_is_complete():
    run = evolve(PERCEPTRON, START, 0.5, until=1)
    assert '"activations.ReLU"' in run.attrs["scenario"]
    assert run.attrs["learning_rate"] == 0.5
    assert run.attrs["tutelage_version"] == tl.__version__


@pytest.mark.slow
def test_reference_values_of_the_committee():
    """K = 3, M = 2, η → 0 (straat2019 Fig. 3): Q_22, Q_23, Q_33 = 0.235, 0.250, 0.265."""
    s = tl.Scenario(tl.Committee(3, tl.ReLU()), tl.Committee(2, tl.ReLU()))
    start = tl.Overlaps(np.diag([0.2, 0.3, 0.25]), [[1e-3, 0], [0, 0], [0, 0]], s.T)
    Q = evolve(s, start, 0, until=4000).Q.values[-1]
    assert np.allclose([Q[1, 1], Q[1, 2], Q[2, 2]], [0.235, 0.250, 0.265], atol=5e-4)


@pytest.mark.slow
def test_a_symmetric_start_stays_on_the_plateau():
    """Only rounding breaks the symmetry; the run is stationary, and a disturbance would grow."""
    two = tl.Committee(2, tl.ReLU())
    s = tl.Scenario(two, two)
    start = tl.Overlaps(0.2 * np.eye(2), np.full((2, 2), 1e-3), s.T)
    run = evolve(s, start, 0, until=5000, times=np.linspace(0, 5000, 5001))
    assert run.attrs["outcome"] == "plateau"
    assert np.allclose(run.R.values[-1], 0.524579, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate: got -1.0.*at least 0"),
        ({"learning_rate": math.nan}, "learning_rate: got nan"),
        ({"learning_rate": [0.5, -0.5]}, "learning_rate: got -0.5 at index 1"),
        ({"learning_rate": lambda t: math.nan}, "learning_rate: got nan at time 0"),
        ({"until": 0}, "until: got 0.*greater than 0"),
        ({"until": -3.0}, "until: got -3.0"),
        ({"times": [3.0, 2.0]}, "times: .*increase"),
        ({"times": [1.0, 200.0]}, "times: .*between 0 and until = 100"),
        ({"tolerance": 0.0}, "tolerance: got 0.0"),
        ({"start": tl.Overlaps(np.eye(2), np.zeros((2, 1)), [[1.0]])}, "start: got 2 students"),
        ({"method": "erf"}, "method: .*ReLU"),
    ],
)
def test_bad_input_is_refused_before_any_work(arguments, message):
    defaults = {"start": START, "learning_rate": 1.0, "until": 100}
    with pytest.raises(tl.InputError, match=message):
        evolve(PERCEPTRON, **(defaults | arguments))


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_an_error_above_that_of_the_integration_is_no_noise(tolerance):
    """Two erf units, where noise is largest: against a tolerance of 1e-12, half of the error."""
    two = tl.Committee(2, tl.Erf())
    scenario = tl.Scenario(two, two)
    start = tl.Overlaps(Q=np.diag([0.2, 0.3]), R=1e-3 * np.eye(2), T=scenario.T)
    times = np.linspace(0.0, 600.0, 601)
    coarse, fine = (
        tl.online.evolve(scenario, start, 0.5, until=600.0, times=times, tolerance=t)
        for t in (tolerance, 1e-12)
    )
    n = min(coarse.sizes["time"], fine.sizes["time"]) - 1
    result, exact = (run.generalization_error.values[:n] for run in (coarse, fine))
    known = exact > coarse.attrs["integration_error"]
    assert known.sum() > 100
    # A plateau that is left a little earlier or later is another matter: compare at equal errors.
    late = known & (exact < 1e-3)
    assert np.all(np.abs(result - exact)[late] < 0.5 * exact[late])


def test_steps_that_stability_keeps_too_short_end_in_words():
    """γ = 10¹⁰: every step is shorter than 10⁻⁹, and there would be more than 10⁹ of them."""
    one = tl.Committee(1, tl.ReLU())
    start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    with pytest.raises(tl.ComputationError, match=r"cannot reach 1; stability limits"):
        tl.online.evolve(tl.Scenario(one, one, weight_decay=1e10), start, 1.0, until=1)


def on_its_way(t, y, h):
    rest = (np.zeros((7, 1, 1)), np.zeros((1, 1, 1)), np.zeros(1, int))
    return IntegratorState(
        *(np.array([x]) for x in (t, h, [y])), *rest, np.array([True]), np.zeros(1, int)
    )


def test_a_coarse_run_that_has_left_the_covariances_comes_back_and_goes_on(monkeypatch):
    """Its errors made Q - RRᵀ negative, where a fine tolerance takes steps of 1e-7 and no end."""
    three = tl.Committee(3, tl.ReLU())
    R = [[0.01, -0.01, -0.02], [0.0, 0.0, -0.01], [-0.01, -0.01, 0.0]]
    start = tl.Overlaps(0.05 * np.eye(3), R, np.eye(3))

    def long_steps(before, now, until):
        assert np.min(now.h) > 1e-3

    monkeypatch.setattr(integration, "_check_pace", long_steps)
    run = evolve(tl.Scenario(three, three), start, 0.5, until=300, tolerance=2e-5)
    own = np.linalg.eigvalsh(run.Q.values - run.R.values @ run.R.values.transpose(0, 2, 1))
    assert np.min(own) < -1e-8 and own[-1, 0] > -1e-12  # beyond rounding, and not
    fine = evolve(tl.Scenario(three, three), start, 0.5, until=300)
    difference = np.max(np.abs(run.generalization_error.values - fine.generalization_error.values))
    assert difference < run.attrs["integration_error"]


def test_short_steps_of_a_divergence_are_distinguished_from_those_of_stability():
    """g = eˣ at η = 0.05: Q goes to infinity at α = 4.3921, by rates of order e⁸^Q; two recorded
    calls. The same steps of a run that hardly moves would not end.
    """
    before = on_its_way(4.392088109, 2.21724057, 1.486651513898054e-07)
    _check_pace(before, on_its_way(4.392089111, 3.3540114, 2.0e-11), 5.0)
    with pytest.raises(tl.ComputationError, match="stability limits the steps to 2e-11"):
        _check_pace(before, on_its_way(4.392089111, 2.21724058, 2.0e-11), 5.0)


def test_averages_that_are_known_to_no_digit_are_refused_unless_they_were_asked_for():
    _check_averages(1e-3, None)
    _check_averages(5.0, "hermite")
    for error in (5.4, math.nan, math.inf):
        with pytest.raises(InputError, match=r"averages have an error of"):
            _check_averages(error, None)


def test_a_walk_in_pieces_is_the_walk(monkeypatch):
    """However many steps a compiled call takes, to the last bit."""
    one = tl.Committee(1, tl.ReLU())
    start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    whole = tl.online.evolve(tl.Scenario(one, one), start, 1.0, until=20)
    monkeypatch.setattr("tutelage.online.integration.FIRST_STEPS", 3)
    monkeypatch.setattr("tutelage.online.integration.MAX_CALL_SECONDS", 0.0)
    pieces = tl.online.evolve(tl.Scenario(one, one), start, 1.0, until=20)
    assert pieces.identical(whole)


@pytest.mark.parametrize(
    "unit, rate",
    [(tl.Erf(), 0.5), pytest.param(tl.Erf(), 0, marks=pytest.mark.slow), (tl.ReLU(), 0)],
)
def test_one_kernel_computes_the_same_curve(monkeypatch, unit, rate):
    """Rounding differs: 1e-13 of states of order one, after a hundred steps."""
    two = tl.Committee(2, unit)
    scenario = tl.Scenario(two, two)
    start = tl.Overlaps(Q=[[0.1, 0], [0, 0.2]], R=[[1e-3, 0], [0, 1e-3]], T=np.eye(2))
    whole = evolve(scenario, start, rate, until=5)
    monkeypatch.setattr(integration, "_advance", lambda *_: integration._compiled)
    many = evolve(scenario, start, rate, until=5)
    for name in ("Q", "R", "generalization_error"):
        assert np.all(np.abs(whole[name].values - many[name].values) <= 1e-13)
