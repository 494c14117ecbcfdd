"""Two-layer students of dimension d approach the theory of on-line learning.

f_c = Σ_k v_ck σ(w_k·x), x ~ N(0, 1), without biases, one example in a step.  The step of the
theory is η/d times the gradient of ½ Σ_c (f*_c - f_c)², for v it is η_v/d times; `descend` takes
the mean of (f*_c - f_c)² over C outputs, whose rate is η C/2d.
"""

import equinox as eqx
import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.deep import Network
from tutelage.deep.training.training import descend

TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(TWO, TWO)
START = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[0.1, 0], [0, 0.1]], T=np.eye(2))
ONE = tl.Scenario(tl.Committee(1, tl.ReLU()), tl.Committee(1, tl.ReLU()))
LAYERED = tl.Scenario(
    tl.Committee(1, tl.ReLU(), [[0.8], [-0.5]]), tl.Committee(1, tl.ReLU(), [[1.0], [0.3]])
)
ONE_START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])


def students(scenario, start, rate, d, times, *, readout_rate=0.0, runs):
    """Q, R and v of all runs, shapes (runs, times, ...), by the steps of `tl.deep.train`."""
    seeds = np.random.default_rng([0, d, 0]).integers(2**31, size=runs)
    J, B = (
        jnp.stack(some)
        for some in zip(*(start.to_weights(d, int(one)) for one in seeds), strict=True)
    )
    pair = layered(J, scenario.student.weights), layered(B, scenario.teacher.weights)
    keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
    marks = jnp.asarray(np.rint(np.multiply(times, d)).astype(np.int64))
    η = jnp.asarray(rate / d * scenario.outputs / 2)
    result = learned(*pair, keys, η, jnp.asarray(readout_rate / rate), marks)
    return dict(zip(("Q", "R", "readout"), map(np.asarray, result), strict=True))


def layered(J, v):
    """A batch of networks with the filters J, shape (runs, K, d), and the outputs v σ(Jx)."""
    runs, K, _ = J.shape
    W = (jnp.swapaxes(J, 1, 2), jnp.broadcast_to(v.T, (runs, K, len(v))))
    return Network(W, (jnp.zeros((runs, K)), jnp.zeros((runs, len(v)))))


@eqx.filter_jit
def learned(students, teachers, keys, η, ratio, marks):
    """Overlaps after these numbers of steps; the last layer has ``ratio`` times the rate η."""

    def one(student, teacher, key):
        B = teacher.weights[0]

        def step(s, weights):
            x = jax.random.normal(jax.random.fold_in(key, s), (1, len(B)))
            W, V = descend(Network(weights, student.biases), x, teacher(x), η).weights
            return W, weights[1] + ratio * (V - weights[1])

        def record(weights, ends):
            W, V = jax.lax.fori_loop(ends[0], ends[1], step, weights)
            return (W, V), (W.T @ W, W.T @ B, V.T)

        begin = jnp.concatenate([jnp.zeros(1, marks.dtype), marks[:-1]])
        return jax.lax.scan(record, student.weights, (begin, marks))[1]

    return jax.vmap(one)(students, teachers, keys)


def in_standard_errors(found, theory):
    """The largest deviation of a mean over runs, after the start."""
    gaps = []
    for name in {"Q", "R", "readout"} & set(theory):
        x = found[name][:, 1:]
        error = x.std(axis=0, ddof=1) / np.sqrt(len(x))
        gaps.append(np.max(np.abs(x.mean(axis=0) - theory[name].values[1:]) / error))
    return max(gaps)


@pytest.mark.slow
def test_the_deviation_from_the_theory_shrinks_as_the_root_of_the_dimension():
    times, d = np.linspace(0.0, 4.0, 11), (25, 100, 400)
    theory = tl.online.evolve(SCENARIO, START, 0.5, until=4.0, times=times)
    results = [students(SCENARIO, START, 0.5, n, times, runs=48) for n in d]
    gaps = [[one[name] - theory[name].values for name in ("Q", "R")] for one in results]
    squares = np.mean(np.square(gaps), axis=(1, 3, 4, 5))  # (dimensions, runs)
    x = np.log(d) - np.mean(np.log(d))
    slope, mean = x / (x @ x), squares.mean(axis=1)
    relative = squares.std(axis=1, ddof=1) / mean / np.sqrt(48)
    exponent, error = -0.5 * slope @ np.log(mean), 0.5 * np.sqrt(slope**2 @ relative**2)
    assert error < 0.06
    # The next order in 1/d, at d = 25, is allowed 0.1; the level is that of 4 standard errors.
    assert abs(exponent - 0.5) < 4 * error + 0.1
    # A bias of 1/d is a tenth of the scatter 1/√(48 d); 80 numbers, level 0.004.
    assert in_standard_errors(results[-1], theory) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("readout_rate", [0.5, 0.0])
def test_both_layers_follow_the_theory_at_the_matched_rates(readout_rate):
    """Two outputs: within five standard errors, and far from the theory of half the rate.

    A bias of 1/d is a twentieth of the scatter of a run, 1/√d, and half a standard error.
    """
    times, η_v = [0.0, 1.0, 2.0], {"readout_rate": readout_rate}
    result = students(LAYERED, ONE_START, 0.5, 400, times, runs=100, **η_v)
    options = {"learning_rate": 0.5, "until": 2.0, "times": times, **η_v}
    theory = tl.online.evolve(LAYERED, ONE_START, **options)
    assert ("readout" in theory) is (readout_rate > 0)
    assert in_standard_errors(result, theory) < 5
    wrong = {"readout_rate": readout_rate / 2} if readout_rate else {"learning_rate": 0.25}
    other = tl.online.evolve(LAYERED, ONE_START, **options | wrong)
    assert in_standard_errors(result, other) > 25


@pytest.mark.slow
def test_a_wrong_learning_rate_does_not_agree():
    times = [0.0, 2.0, 4.0]
    R = students(ONE, ONE_START, 0.5, 200, times, runs=8)["R"].mean(axis=0)
    right, wrong = (
        np.abs(R - tl.online.evolve(ONE, ONE_START, η, until=4.0, times=times)["R"].values).max()
        for η in (0.5, 0.25)
    )
    assert wrong > 3 * right
