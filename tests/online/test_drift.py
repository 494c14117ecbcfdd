"""Teachers that drift and batches of examples, in the equations."""

import equinox as eqx
import numpy as np
import pytest
from scenarios import random_overlaps

import tutelage as tl
from tutelage import InputError
from tutelage.model.layout import to_vector
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
        found = tl.online.fixed_points(scenario, eta, starts=5, batch=2)
        same = [p for p in found if np.ptp(p.overlaps.Q) < 1e-9]
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
    for verb in (tl.online.evolve, tl.simulation.chain, tl.simulation.network):
        options = {} if verb is tl.online.evolve else {"dimension": 10}
        with pytest.raises(InputError, match="batch: got"):
            verb(scenario, NEAR, 0.5, until=1.0, batch=batch, **options)


def test_teachers_that_are_not_orthogonal_do_not_drift():
    two = tl.Committee(2, tl.ReLU())
    with pytest.raises(InputError, match=r"drift: got teachers with overlaps of up to 0\.5"):
        tl.Scenario(two, two, [[1, 0.5], [0.5, 2]], drift=0.1)
    T = [np.eye(2), [[1, 0.1], [0.1, 1]]]
    start = tl.Overlaps(Q=[np.eye(2)] * 2, R=np.zeros((2, 2, 2)), T=T)
    with pytest.raises(InputError, match="have to be orthogonal"):
        tl.online.evolve(tl.Scenario(two, two, drift=0.1), start, 0.5, until=1.0)
