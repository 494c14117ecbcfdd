"""Batches of the order of N examples: the map of overlaps against networks with all weights."""

import numpy as np
import pytest
from training_by_hand import UNITS

import tutelage as tl
from tutelage import InputError
from tutelage.online.flow import Flow

N, B, RUNS, STEPS, ETA, ETA_V = 500, 0.5, 40, 3, 0.8, 0.3
START = tl.Overlaps([[0.5, 0.1], [0.1, 0.4]], [[0.2, 0.1], [0.0, 0.3]], np.eye(2))
V, V_TEACHER, NOISE, DECAY = np.array([0.7, -0.5]), np.array([1.0, 0.6]), 0.3, 0.05


def simulated(g, slope, seed):
    """Q, R and v of one network after every step, in NumPy."""
    rng = np.random.default_rng(seed)
    J, W = (np.array(x) for x in START.to_weights(N, seed))
    v, result = V.copy(), []
    for _ in range(STEPS):
        xi = rng.standard_normal((int(B * N), N))
        x, y = xi @ J.T, xi @ W.T
        e = g(y) @ V_TEACHER + NOISE * rng.standard_normal(len(xi)) - g(x) @ v
        step = (slope(x) * v * e[:, None]).T @ xi / len(xi)
        dv = g(x).T @ e / len(xi)
        J, v = (1 - DECAY) * J + ETA * step, v + ETA_V * dv
        result.append(np.concatenate([(J @ J.T).ravel(), (J @ W.T).ravel(), v]))
    return np.array(result)


@pytest.mark.parametrize("unit", ["erf", pytest.param("relu", marks=pytest.mark.slow)])
def test_networks_that_learn_whole_batches_have_these_overlaps(unit):
    activation, g, slope = UNITS[unit]
    student, teacher = (tl.Committee(2, activation, v) for v in (V, V_TEACHER))
    scenario = tl.Scenario(student, teacher, label_noise=NOISE, weight_decay=DECAY)
    run = tl.online.iterate(scenario, START, ETA, steps=STEPS, batch=B, readout_rate=ETA_V)
    parts = (run[name].values[1:].reshape(STEPS, -1) for name in ("Q", "R", "readout"))
    theory = np.concatenate(list(parts), axis=1)
    runs = np.array([simulated(g, slope, seed) for seed in range(RUNS)])
    error = runs.std(axis=0, ddof=1) / np.sqrt(RUNS)
    # Five standard errors, and a few parts in N of overlaps of order one.
    assert np.all(np.abs(runs.mean(axis=0) - theory) < 5 * error + 3 / N)
    # Without the term that is random, D/b, the norms would be off by more than that.
    large = tl.online.iterate(scenario, START, ETA, steps=STEPS, batch=1e9, readout_rate=ETA_V)
    assert theory[0, 0] - large.Q.values[1, 0, 0] > 5 * error[0, 0] + 3 / N


def test_a_linear_unit_learns_in_closed_form():
    """1 - R ← (1 - η)(1 - R);  E = 1 - 2R + Q ← ((1 - η)² + η²/b) E for K = M = 1."""
    one, eta, b = tl.Committee(1, tl.Linear()), 0.4, 2.0
    start = tl.Overlaps([[0.5]], [[0.2]], [[1.0]])
    run = tl.online.iterate(tl.Scenario(one, one), start, eta, steps=6, batch=b)
    R, Q = run.R.values.ravel(), run.Q.values.ravel()
    np.testing.assert_allclose(1 - R, 0.8 * (1 - eta) ** np.arange(7), rtol=1e-13)
    E = 1 - 2 * R + Q
    # ⟨δ²⟩ = E for the linear unit: what |ξ|² = N adds is of order 1/N and left out.
    np.testing.assert_allclose(E[1:] / E[:-1], (1 - eta) ** 2 + eta**2 / b, rtol=1e-12)


@pytest.mark.parametrize(
    "g", [tl.ReLU(), tl.Erf(), pytest.param(tl.GELU(), marks=pytest.mark.slow)]
)
def test_the_mean_jacobian_gives_the_first_order(g):
    scenario = tl.Scenario(tl.Committee(2, g, V), tl.Committee(2, g, V_TEACHER))
    moments = Flow(scenario).moments
    first = np.asarray(moments.first_order(START))
    np.testing.assert_allclose(moments.jacobian(START) @ START.covariance, first, atol=1e-13)


def test_small_steps_are_the_flow_without_its_second_order():
    """η → 0 at steps of η: gradient flow, up to terms of the order of η."""
    two = tl.Committee(2, tl.Erf())
    scenario = tl.Scenario(two, two)
    flow = tl.online.evolve(scenario, START, 0, until=2, times=[2])
    errors = []
    for eta in (0.02, 0.01):
        run = tl.online.iterate(scenario, START, eta, steps=round(2 / eta), batch=1e9)
        errors.append(np.max(np.abs(run.R.values[-1] - flow.R.values[0])))
    assert errors[0] < 0.02 and abs(errors[0] / errors[1] - 2) < 0.1


def test_a_run_at_too_large_a_rate_has_the_outcome_diverged():
    one = tl.Committee(1, tl.Linear())
    start = tl.Overlaps([[0.5]], [[0.2]], [[1.0]])
    run = tl.online.iterate(tl.Scenario(one, one), start, 3.0, steps=100)
    assert run.attrs["outcome"] == "diverged" and 1 < run.sizes["time"] < 101
    assert np.isfinite(run.generalization_error).all()


def test_bad_numbers_are_refused_by_name():
    two = tl.Committee(2, tl.Erf())
    drifting = tl.Scenario(two, two, drift=0.1)
    calls = {
        "drift": lambda: tl.online.iterate(drifting, START, 0.5, steps=2),
        "batch": lambda: tl.online.iterate(tl.Scenario(two, two), START, 0.5, steps=2, batch=0),
        "steps": lambda: tl.online.iterate(tl.Scenario(two, two), START, 0.5, steps=0),
        "readout_rate": lambda: tl.online.iterate(
            tl.Scenario(two, two), START, 0.5, steps=2, readout_rate=-1
        ),
    }
    for word, call in calls.items():
        with pytest.raises(InputError, match=word):
            call()
