"""Teachers that drift and batches of examples, in the equations."""

import equinox as eqx
import numpy as np
import pytest
from scenarios import random_overlaps, to_vector

import tutelage as tl
from tutelage import InputError
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized

LINEAR = tl.Committee(1, tl.Linear())
NEAR = tl.Overlaps(Q=[[0.5]], R=[[0.3]], T=[[1.0]])
ROUNDING = 1e-14  # of numbers of order one, after Newton's method


def stationary(eta, delta):
    """(R, Q) of the linear unit with K = M = 1 and T = 1: two linear equations."""
    R = eta / (eta + delta)
    return R, (2 * eta * R + eta**2 * (1 - 2 * R)) / (2 * eta - eta**2)


@pytest.mark.parametrize(("eta", "delta"), [(0.5, 0.2), (1.5, 0.03)])
def test_a_linear_unit_follows_its_teacher_at_a_distance(eta, delta):
    scenario = tl.Scenario(LINEAR, LINEAR, drift=delta)
    R, Q = stationary(eta, delta)
    point = tl.online.fixed_point(scenario, NEAR, eta)
    assert abs(point.overlaps.R[0, 0] - R) < ROUNDING
    assert abs(point.overlaps.Q[0, 0] - Q) < ROUNDING
    assert point.stable
    assert np.isclose(np.max(point.eigenvalues.real), max(-eta - delta, eta**2 - 2 * eta))
    run = tl.online.evolve(scenario, NEAR, eta, until=300)
    assert run.attrs["outcome"] == "converged"
    # At rest at rates of ten tolerances of 1e-9, with a slowest decay of 0.53 or more.
    assert abs(run.R.values[-1, 0, 0] - R) < 2e-8
    assert abs(run.Q.values[-1, 0, 0] - Q) < 2e-8


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_a_batch_of_a_linear_unit_is_a_smaller_rate_in_the_end(batch):
    """ε_g(∞) = ης²/(4 - 2η) at the rate η/b (K = 1)."""
    eta, noise = 0.5, 0.3
    scenario = tl.Scenario(LINEAR, LINEAR, label_noise=noise)
    point = tl.online.fixed_point(scenario, NEAR, eta, batch=batch)
    small = eta / batch
    assert abs(point.generalization_error - small * noise**2 / (4 - 2 * small)) < ROUNDING


def test_drift_acts_on_R_and_a_batch_on_what_is_of_second_order():
    o, eta = random_overlaps(2, 1, seed=7), np.float64(0.5)
    o = tl.Overlaps(o.Q, 0.1 * o.R, np.diag(np.diag(o.T)))
    units = tl.Committee(2, tl.Erf()), tl.Committee(1, tl.Erf())
    numbers = {"label_noise": 0.3, "weight_decay": 0.1}
    plain, drifting = (
        eqx.filter_jit(Flow(tl.Scenario(*units, o.T, drift=drift, **numbers)))(o, eta)
        for drift in (0.0, 0.4)
    )
    assert np.allclose(drifting.R - plain.R, -0.4 * o.R, atol=1e-15)
    assert np.array_equal(drifting.Q, plain.Q)
    flow = Flow(tl.Scenario(*units, o.T, **numbers), batch=4)
    several = eqx.filter_jit(flow)(o, eta)
    second = eta**2 * eqx.filter_jit(lambda flow: flow.moments.second_order(o))(flow)
    assert np.array_equal(several.R, plain.R)
    assert np.allclose(several.Q, plain.Q - 0.75 * second, atol=1e-15)
    assert np.max(np.abs(second)) > 0.01


@pytest.mark.parametrize("batch", [1, 3])
def test_the_linearized_equations_are_those_of_the_flow(batch):
    scenario = tl.Scenario(*[tl.Committee(2, tl.Erf())] * 2, weight_decay=0.1, drift=0.3)
    o = tl.Overlaps(Q=[[0.5, 0.1], [0.1, 0.6]], R=[[0.3, 0.1], [0.0, 0.2]], T=scenario.T)
    flow, eta = Flow(scenario, batch=batch), 0.8
    rates = np.asarray(to_vector(eqx.filter_jit(flow)(o, np.float64(eta))))
    here = linearized(flow, np.asarray(to_vector(o)), eta)
    assert np.allclose(eta * here.rates, rates, atol=1e-14)
    h = 1e-5
    above, below = (linearized(flow, np.asarray(to_vector(o)), eta + s * h) for s in (1, -1))
    # Central differences: h² f'''/6, and rounding over h.
    assert np.allclose((above.rates - below.rates) / (2 * h), here.by_rate, atol=1e-9)


def test_a_branch_passes_through_the_fixed_points():
    scenario = tl.Scenario(LINEAR, LINEAR, drift=0.1)
    along = tl.online.branch(scenario, NEAR, 0.5, until=1.0, batch=2)
    eta, R = along.learning_rate.values, along.R.values[:, 0, 0]
    assert eta[-1] > 0.99
    assert np.allclose(R, eta / (eta + 0.1), atol=1e-11)  # Newton's method
    point = tl.online.fixed_point(scenario, NEAR, float(eta[-1]), batch=2)
    assert abs(along.Q.values[-1, 0, 0] - point.overlaps.Q[0, 0]) < 1e-11
    with pytest.raises(InputError, match="0 with weight decay or drift"):
        tl.online.branch(scenario, NEAR, 0.5, until=0.0)


@pytest.mark.slow
def test_identical_students_follow_as_one_does():
    two = tl.Committee(2, tl.ReLU())
    for eta in (0, 0.5):
        scenario = tl.Scenario(two, two, drift=0.05)
        result = tl.online.fixed_points(scenario, eta, starts=5, batch=2)
        same = [p for p in result if np.ptp(p.overlaps.Q) < 1e-9]
        assert same
        assert all(p.residual < 1e-12 for p in same)


@pytest.mark.slow
def test_symmetric_committees_drift_as_all_do():
    two = tl.Committee(2, tl.Erf())
    scenario = tl.Scenario(two, two, drift=0.3)
    state = tl.online.SymmetricState(Q=0.5, C=0.1, R=0.2, S=0.05)
    few = tl.online.SymmetricFlow(scenario)(state, 0.5)
    every = Flow(scenario)(state.overlaps(2), 0.5)
    assert np.allclose([few.R, few.S, few.Q], [*every.R[0], every.Q[0, 0]], atol=1e-14)


def test_the_critical_rate_of_a_batch_is_as_many_times_higher():
    """λ = η²/b - 2η of a linear unit at its solution: stable up to 2b."""
    solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    for eta, stable in ((5.9, True), (6.1, False)):
        point = tl.online.fixed_point(tl.Scenario(LINEAR, LINEAR), solution, eta, batch=3)
        assert point.stable is stable


@pytest.mark.parametrize("drift", [-0.1, np.nan, np.inf, "0.1", [0.1, -0.1]])
def test_drift_that_is_none_is_refused(drift):
    with pytest.raises(InputError, match="drift: got"):
        tl.Scenario(LINEAR, LINEAR, drift=drift)


@pytest.mark.parametrize("batch", [0, -1, 1.5, np.nan, True, "2", [1, 2], None])
def test_a_batch_that_is_no_number_of_examples_is_refused(batch):
    scenario = tl.Scenario(LINEAR, LINEAR)
    for function in (tl.online.evolve, tl.simulation.chain, tl.simulation.network):
        options = {} if function is tl.online.evolve else {"dimension": 10}
        with pytest.raises(InputError, match="batch: got"):
            function(scenario, NEAR, 0.5, until=1.0, batch=batch, **options)


def test_teachers_that_drift_become_orthogonal():
    """A linear unit, τ = y_1 + y_2: dR_n/dα = η (T_n1 + T_n2 - R_n) - δ R_n, T_12 = u e^(-2δα)."""
    eta, delta, u, times = 0.7, 0.2, 0.8, np.array([0.0, 0.5, 2.0, 6.0])
    T = np.array([[1.0, u], [u, 2.0]])
    scenario = tl.Scenario(LINEAR, tl.Committee(2, tl.Linear()), T, drift=delta)
    start = tl.Overlaps(Q=[[0.5]], R=[[0.3, -0.1]], T=T)
    run = tl.online.evolve(scenario, start, eta, until=6, times=times)
    fast, slow = np.exp(-(eta + delta) * times), np.exp(-2 * delta * times)
    np.testing.assert_allclose(run.teacher_overlaps[:, 0, 1], u * slow, rtol=1e-14)
    np.testing.assert_array_equal(run.teacher_overlaps[:, 1, 1], 2.0)
    for n, (own, first) in enumerate(((1.0, 0.3), (2.0, -0.1))):
        learned = own * (1 - fast) / (eta + delta) + u * (slow - fast) / (eta - delta)
        # The tolerance of some dozen steps.
        np.testing.assert_allclose(run.R[:, 0, n], first * fast + eta * learned, atol=1e-8)
    # ε_g = ½ (Q - 2 Σ_n R_n + Σ_nm T_nm), with the T of that time.
    error = 0.5 * (run.Q[:, 0, 0] - 2 * run.R.sum(["student", "teacher"]) + 3 + 2 * u * slow)
    np.testing.assert_allclose(run.generalization_error, error, atol=1e-13)
    rates = eqx.filter_jit(Flow(scenario))(start, np.float64(eta))
    np.testing.assert_allclose(rates.T, [[0, -2 * delta * u], [-2 * delta * u, 0]], atol=1e-15)


@pytest.mark.slow
def test_runs_differ_in_how_fast_their_teachers_part():
    """One drift for each run, and none; T of every run at every time."""
    T, drifts = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.0, 0.3])
    two = tl.Committee(2, tl.Linear())
    options = {"until": 2.0, "times": [0.0, 2.0]}
    start = tl.Overlaps(Q=[[0.5]], R=[[0.3, 0.1]], T=T)
    pair = tl.online.evolve(tl.Scenario(LINEAR, two, T, drift=drifts), start, 0.5, **options)
    np.testing.assert_allclose(pair.teacher_overlaps[:, 1, 0, 1], 0.5 * np.exp(-4 * drifts))
    for run, drift in enumerate(drifts):
        one = tl.online.evolve(tl.Scenario(LINEAR, two, T, drift=drift), start, 0.5, **options)
        np.testing.assert_allclose(pair.R[run], one.R, atol=1e-9)  # the tolerance of a step
        error = pair.generalization_error[run]
        np.testing.assert_allclose(error, one.generalization_error, atol=1e-9)


def test_nothing_is_at_rest_before_teachers_are_orthogonal():
    """Functions that need a stationary state refuse the drift by name; the last state of a run is
    one.
    """
    two, u = tl.Committee(2, tl.Linear()), 0.4
    T = np.array([[1.0, u], [u, 1.0]])
    scenario = tl.Scenario(LINEAR, two, T, drift=0.5)
    start = tl.Overlaps(Q=[[1.0]], R=[[0.5, 0.5]], T=T)
    online, words = tl.online, r"drift: got teachers with overlaps of up to 0\.4"
    for call in (
        lambda: online.fixed_point(scenario, start, 0.5),
        lambda: online.fixed_points(scenario, 0.5),
        lambda: online.plateau(scenario, start, 0.5),
        lambda: online.branch(scenario, start, 0.5, until=0.6),
        lambda: online.critical_learning_rates(scenario, start),
        lambda: online.best_learning_rate(scenario, start, 1e-3),
        lambda: online.best_tracking(scenario, start),
        lambda: online.iterate(scenario, start, 0.5, steps=2),
        lambda: online.SymmetricScenario(two, two, (1.0, u), drift=0.5),
    ):
        with pytest.raises(InputError, match=words):
            call()
    run = tl.online.evolve(scenario, start, 0.5, until=100)
    assert run.attrs["outcome"] == "converged" and run.attrs["ended_at"] > 10
    point = tl.online.fixed_point(
        tl.Scenario(LINEAR, two, drift=0.5), tl.Overlaps([[1.0]], [[0.5, 0.5]], np.eye(2)), 0.5
    )
    # At rest at rates of ten tolerances of 1e-9, with a slowest decay of 0.5 or more.
    np.testing.assert_allclose(run.R[-1], point.overlaps.R, atol=1e-7)
