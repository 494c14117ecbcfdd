"""Runs by programs that XLA has not optimized, as in the first calls, against optimized ones."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import OLDER_GENERATOR, UNOPTIMIZED
from tutelage.online import integration
from tutelage.runs.stored_jit import StoredFunction

OPTIMIZED = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
}
# Programs differ by rounding, which changes the lengths of steps where stability limits them.  Ends
# are ends of steps; they were shifted by up to 1e-4 of the time, states by 0.1 `integration_error`.
MAX_END_SHIFT = 1e-3

ERF, RELU = tl.Erf(), tl.ReLU()
SINGULAR = tl.Overlaps(Q=np.full((2, 2), 0.25), R=np.zeros((2, 2)), T=np.eye(2))
SOLUTION = tl.Overlaps(Q=np.eye(2), R=np.eye(2), T=np.eye(2))
START = tl.Overlaps(Q=[[0.2, 0.0], [0.0, 0.1]], R=[[0.2, 0.1], [0.0, 0.1]], T=np.eye(2))
ONE = tl.Overlaps(Q=[[0.2]], R=[[0.0]], T=[[1.0]])


def curve(monkeypatch, options, unit, start, learning_rate, until):
    function = integration._compiled_one_kernel.function
    program = StoredFunction(function, OLDER_GENERATOR | options, as_one_kernel=True)
    monkeypatch.setattr(integration, "_advance", lambda *_: program)
    committee = tl.Committee(start.K, unit)
    scenario = tl.Scenario(committee, committee)
    run = tl.online.evolve(scenario, start, learning_rate, until=until)
    assert program.programs
    return run


@pytest.mark.parametrize(
    ("unit", "start", "learning_rate", "until", "outcome"),
    [
        (ERF, ONE, 0.5, 1000, "converged"),
        pytest.param(RELU, ONE, 0, 100, "converged", marks=pytest.mark.slow),
        pytest.param(ERF, SINGULAR, 0, 200, "plateau", marks=pytest.mark.slow),
        (RELU, SINGULAR, 0, 200, "plateau"),
        (RELU, SOLUTION, 0, 20, "converged"),
        pytest.param(RELU, START, 20.0, 200, "diverged", marks=pytest.mark.slow),
        pytest.param(ERF, START, 0.5, 1000, "converged", marks=pytest.mark.slow),
        pytest.param(RELU, START, 0, 60, "reached", marks=pytest.mark.slow),
    ],
)
def test_the_first_calls_give_the_results_of_later_ones(
    monkeypatch, unit, start, learning_rate, until, outcome
):
    arguments = (unit, start, learning_rate, until)
    first, later = (curve(monkeypatch, x, *arguments) for x in (UNOPTIMIZED, OPTIMIZED))
    assert first.attrs["outcome"] == later.attrs["outcome"] == outcome
    assert first.sizes == later.sizes
    most = later.attrs["integration_error"] * max(1.0, float(np.abs(later.Q).max()))
    for name in ("Q", "R", "generalization_error"):
        assert np.max(np.abs(first[name].values - later[name].values)) <= most
    ends = [run.attrs["ended_at"] for run in (first, later)]
    np.testing.assert_allclose(*ends, rtol=MAX_END_SHIFT)
    same = set(first.attrs) - {"ended_at", "created"}
    assert {name: first.attrs[name] for name in same} == {name: later.attrs[name] for name in same}
