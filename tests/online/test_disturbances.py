"""Disturbances of states at rest: Jacobians from differences of rates against exact ones."""

import itertools
from functools import partial

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jnp
from tutelage.online import disturbances, integration, trajectory
from tutelage.online.flow import Flow
from tutelage.online.integration import rates_of_states
from tutelage.runs.stored_jit import StoredFunction

ERF, RELU = tl.Erf(), tl.ReLU()
EQUAL = tl.Overlaps(Q=np.full((2, 2), 0.25), R=np.zeros((2, 2)), T=np.eye(2))  # singular
UNEQUAL = tl.Overlaps(Q=[[0.2, 0.0], [0.0, 0.3]], R=[[1e-3, 0.0], [0.0, 1e-3]], T=np.eye(2))
STEP = disturbances.STEP
# Rounding of the differences: that of rates of order one, over the shortest step.
ROUNDING = 10 * np.finfo(float).eps / (STEP * disturbances.SHARE)
slow = pytest.mark.slow

CASES = [
    (ERF, EQUAL, 0.5, {}, "plateau"),
    (RELU, EQUAL, 0.5, {}, "plateau"),
    (ERF, UNEQUAL, 0.5, {"label_noise": 0.1}, "converged"),
    pytest.param(ERF, EQUAL, 0, {}, "plateau", marks=slow),
    pytest.param(ERF, UNEQUAL, 0.5, {"weight_decay": 0.01}, "converged", marks=slow),
    pytest.param(RELU, UNEQUAL, 0.5, {"label_noise": 0.1}, "converged", marks=slow),
]


@pytest.fixture
def ends(monkeypatch):
    """Return a list of the arguments with which runs ask whether disturbances grow."""
    arguments = []

    def recorded(*given):
        arguments.append(given)
        return disturbances.grows(*given)

    monkeypatch.setattr(trajectory, "grows", recorded)
    monkeypatch.setattr(disturbances, "_by_differences", itertools.count())
    return arguments


def run(unit, start, rate, numbers):
    committee = tl.Committee(start.K, unit)
    return tl.online.evolve(
        tl.Scenario(committee, committee, **numbers), start, rate, until=2000, tolerance=1e-8
    )


@pytest.mark.parametrize(("unit", "start", "rate", "numbers", "outcome"), CASES)
def test_differences_give_the_largest_eigenvalue_within_their_bound(
    ends, unit, start, rate, numbers, outcome
):
    assert run(unit, start, rate, numbers).attrs["outcome"] == outcome
    ((flow, end, teachers, rates, _),) = ends
    rates_of = partial(rates_of_states, flow, end, teachers, rates)
    value, bound = disturbances._from_differences(flow, rates_of, end.last)
    T = np.asarray(teachers.at(end.ended_at))
    exact = disturbances._largest_eigenvalue(flow, end.last, T, rates.at(end.ended_at))
    assert abs(value - exact) < bound + ROUNDING
    assert disturbances.CLEAR * (bound + ROUNDING) < abs(exact)


def test_rates_at_the_end_use_the_program_of_the_run(ends):
    run(*CASES[0][:4])
    ((flow, end, teachers, rate, _),) = ends
    inwards = flow.layout.vector({"Q": np.eye(2), "R": np.zeros((2, 2))})
    states, before = end.last + 1e-3 * np.arange(3)[:, None] * inwards, _calls_of_programs()
    ours = rates_of_states(flow, end, teachers, rate, states)
    assert _calls_of_programs() == before
    direct = [flow.rates(jnp.asarray(y), np.eye(2), rate) for y in states]
    np.testing.assert_allclose(ours, direct, rtol=0, atol=20 * np.finfo(float).eps)


def _calls_of_programs():
    """Return how many calls remain until each program of the integration is optimized."""
    functions = [f for f in vars(integration).values() if isinstance(f, StoredFunction)]
    return [{key: p.remaining_calls for key, p in f.programs.items()} for f in functions]


@pytest.mark.parametrize(("unit", "start", "rate", "numbers", "outcome"), CASES[:1] + CASES[2:3])
def test_the_exact_jacobian_decides_where_differences_do_not(
    ends, monkeypatch, unit, start, rate, numbers, outcome
):
    asked = []
    exact = disturbances._largest_eigenvalue

    def recorded(*given):
        asked.append(exact(*given))
        return asked[-1]

    monkeypatch.setattr(disturbances, "_largest_eigenvalue", recorded)
    assert run(unit, start, rate, numbers).attrs["outcome"] == outcome
    assert not asked
    monkeypatch.setattr(disturbances, "CLEAR", 1e9)  # no difference is that accurate
    assert run(unit, start, rate, numbers).attrs["outcome"] == outcome
    assert len(asked) == 1


def test_later_runs_use_the_exact_jacobian(ends, monkeypatch):
    monkeypatch.setattr(disturbances, "MAX_BY_DIFFERENCES", 1)
    asked = []
    monkeypatch.setattr(disturbances, "_largest_eigenvalue", lambda *_: asked.append(0) or 1.0)
    for _ in range(3):
        run(*CASES[0][:4])
    assert len(asked) == 2


@pytest.mark.parametrize("matrix", [[[0.3, 0.0], [0.0, -1.0]], [[-0.1, 5.0], [0.0, -0.2]]])
def test_the_bound_covers_quadratic_rates(matrix):
    committee = tl.Committee(1, ERF)
    flow, A = Flow(tl.Scenario(committee, committee)), np.array(matrix)

    def rates_of(states):
        return states @ A.T + 3.0 * states**2

    value, bound = disturbances._from_differences(flow, rates_of, np.zeros(2))
    assert abs(value - np.max(np.linalg.eigvals(A).real)) < bound
    assert 0 < bound < 1e-2


def test_rates_that_are_not_finite_decide_nothing():
    committee = tl.Committee(1, ERF)
    flow = Flow(tl.Scenario(committee, committee))
    value, bound = disturbances._from_differences(
        flow, lambda y: np.full_like(y, np.nan), np.ones(2)
    )
    assert np.isnan(value) and np.isnan(bound)
