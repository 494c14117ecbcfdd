"""Starts are realised exactly, random ones have their law, corrected ones do not scatter."""

import equinox as eqx
import numpy as np
import pytest
from scenarios import GRADED as PAIR, GRADED_START as START, PERCEPTRON

import tutelage as tl
from tutelage._jax import jnp
from tutelage.model.timing import rate_of
from tutelage.simulation.ensemble import run_keys
from tutelage.simulation.inputs import as_inputs
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.network import NetworkSystem
from tutelage.simulation.starts import initial_weights

ALONE = tl.Overlaps(Q=[[0.25]], R=[[1e-3]], T=[[1.0]])
SAME = tl.Overlaps(Q=[[1, 0], [0, 2]], R=[[1, 0], [0, 2]], T=PAIR.T)  # students = teachers


def begun(start, N=50, runs=3, seed=0):
    """Weights with which the runs begin."""
    weights = initial_weights(PAIR, start, N, runs)
    system = NetworkSystem(
        GradientDescent(PAIR, rate_of(1.0)), weights, N, as_inputs("gaussian", N)
    )
    return system.initial(run_keys(seed, 0, runs), jnp.arange(runs))


@pytest.mark.parametrize("start", [START, SAME], ids=["citton2025", "singular"])
@pytest.mark.parametrize("N", [4, 50])
def test_every_run_realises_the_overlaps_in_a_different_frame(start, N):
    J, B = (np.asarray(W) for W in begun(start, N)[:2])
    for run in range(3):
        overlaps = tl.Overlaps.from_weights(J[run], B[run])
        # Sums of 50 products of numbers of order one.
        np.testing.assert_allclose(overlaps.covariance, start.covariance, rtol=0, atol=1e-14)
    assert np.min(np.abs(B[0] - B[1]).max(axis=1)) > 0.01


def test_each_run_may_have_a_different_start():
    starts = tl.simulation.random_start(PAIR, dimension=50, student_norm=[0.5, 2.0], runs=3)
    J, B, *_ = begun(starts)
    np.testing.assert_allclose(J @ np.swapaxes(J, 1, 2), starts.Q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(J @ np.swapaxes(B, 1, 2), starts.R, rtol=0, atol=1e-14)


def test_given_weights_are_taken_as_they_are():
    J, B = START.to_weights(50)
    begin = begun((J, B))
    np.testing.assert_array_equal(begin.J, np.broadcast_to(J, (3, 2, 50)))
    np.testing.assert_array_equal(begin.B, np.broadcast_to(B, (3, 2, 50)))


def test_random_starts_have_the_law_of_random_weights():
    """Against weights that are drawn one by one: means and covariances of all overlaps."""
    N, runs, norm = 6, 20_000, np.array([0.5, 1.5])
    start = tl.simulation.random_start(PAIR, dimension=N, student_norm=norm, runs=runs, seed=4)
    rng = np.random.default_rng(8)
    B = np.concatenate([np.diag([1.0, np.sqrt(2.0)]), np.zeros((2, N - 2))], axis=1)
    J = rng.normal(size=(runs, 2, N)) * (norm / np.sqrt(N))[:, None]
    ours, theirs = (
        np.concatenate([np.asarray(Q)[:, [0, 0, 1], [0, 1, 1]], np.reshape(R, (runs, -1))], axis=1)
        for Q, R in ((start.Q, start.R), (J @ np.swapaxes(J, 1, 2), J @ B.T))
    )
    products = [
        np.concatenate([x, (x[:, :, None] * x[:, None, :]).reshape(runs, -1)], axis=1)
        for x in (ours, theirs)
    ]
    gap = np.abs(products[0].mean(axis=0) - products[1].mean(axis=0))
    error = np.sqrt(sum(x.var(axis=0) / runs for x in products))
    # 7 means and 28 second moments within 5 standard errors: a wrong alarm in 5·10⁴.
    assert np.max(gap / error) < 5


@pytest.mark.slow
@pytest.mark.parametrize("units", [1, 2])
def test_a_corrected_start_takes_fluctuations_out_of_the_first_examples_and_nothing_else(units):
    scenario, start = ((PERCEPTRON, ALONE), (PAIR, START))[units - 1]
    N, runs, times = 100, 60, [0.0, 0.5, 1.0]
    theory = tl.online.evolve(scenario, start, 1.0, until=1.0, times=times)
    spread = {}
    for corrected in (False, True):
        run = tl.simulation.network(
            *(scenario, start, 1.0),
            dimension=N,
            until=1.0,
            runs=runs,
            seed=1,
            times=times,
            corrected_start=corrected,
        )
        R = run.R.values[:, 1:]
        spread[corrected] = R.std(axis=0, ddof=1)
        # Means agree with the theory, within 5 standard errors of the runs without correction
        # (and a bias of order 1/N = 0.01, less than one).
        error = spread[False] / np.sqrt(runs)
        assert np.all(np.abs(R.mean(axis=0) - theory.R.values[1:]) < 5 * error + 1 / N)
    # 256 fields instead of one example: spreads 16 times smaller but for what comes through Q;
    # a ratio of spreads is known to 1/√60 = 13 %.
    assert np.max(spread[True] / spread[False]) < 1 / 4


@pytest.mark.slow
def test_a_corrected_start_leaves_later_examples_alone():
    """After the first N examples the rule is the plain one."""
    N = 12
    source = initial_weights(PERCEPTRON, ALONE, N, 2)
    keys = run_keys(0, 0, 2)
    gaussian = as_inputs("gaussian", N)
    rule = GradientDescent(PERCEPTRON, rate_of(1.0))
    plain, corrected = (NetworkSystem(rule, source, N, gaussian, c) for c in (False, True))
    state = plain.initial(keys, jnp.arange(2))

    def learned(system, first, count):
        return learn(system, state, keys, jnp.asarray(first), jnp.asarray(count)).J

    np.testing.assert_array_equal(learned(plain, N, 5), learned(corrected, N, 5))
    assert np.all(np.asarray(learned(plain, N - 1, 1) != learned(corrected, N - 1, 1)))


@eqx.filter_jit
def learn(system, state, keys, first, count):
    return system.advance(state, keys, first, count)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (tl.Overlaps([[1.0]], [[0.0]], [[1.0]]), "start: got 1 students and 1 teachers"),
        (tl.Overlaps(np.eye(2), np.zeros((2, 2)), np.eye(2)), "start: got another T"),
        (tl.simulation.random_start(PAIR, dimension=50, runs=4), r"start: got leading axes \(4,\)"),
        ([0.1, 0.2, 0.3], "start: got list"),
        (None, "start: got NoneType"),
        (START.to_weights(40), "start: got weights of 40 components"),
    ],
)
def test_starts_that_cannot_be_used_are_refused(start, message):
    with pytest.raises(tl.InputError, match=message):
        tl.simulation.network(PAIR, start, 1.0, dimension=50, until=1.0, runs=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension": 3}, "dimension: got 3"),
        ({"student_norm": 0.0}, "student_norm: got 0.0"),
        ({"student_norm": [1.0, 1.0, 1.0]}, "student_norm"),
        ({"runs": 0}, "runs: got 0"),
        ({"seed": 0.5}, "seed: got 0.5"),
        ({"seed": True}, "seed: got True"),
    ],
)
def test_random_starts_that_cannot_be_are_refused(change, message):
    with pytest.raises(tl.InputError, match=message):
        tl.simulation.random_start(PAIR, **{"dimension": 50, **change})
