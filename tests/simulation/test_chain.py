"""The overlap chain: the literal formulas, the law of the network, and the theory for large N."""

import sys

import equinox as eqx
import numpy as np
import pytest
from scenarios import PERCEPTRON
from scipy import stats

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.model.timing import Scheduled
from tutelage.simulation.chain import Chain, _learn_block
from tutelage.simulation.ensemble import Ensemble, run_keys
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.simulate import simulate

START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
TWO = tl.Committee(2, tl.Erf())
PAIR = tl.Scenario(TWO, TWO)
PAIR_START = tl.Overlaps(Q=[[0.3, 0.1], [0.1, 0.4]], R=[[0.2, 0.1], [-0.1, 0.3]], T=PAIR.T)


def overlaps_of(K, M, seed=1):
    """Some overlaps with T = 1, norms below 1."""
    weights = np.random.default_rng(seed).normal(size=(K, 9)) / 4
    return tl.Overlaps.from_weights(weights, np.eye(M, 9))


def falling(time):
    return 0.9 / (1 + time)


@pytest.mark.parametrize("K, M", [(2, 3), pytest.param(3, 2, marks=pytest.mark.slow)])
def test_an_example_changes_overlaps_by_the_literal_formulas(K, M):
    """With noise, decay, output scales and a schedule; six examples across the end of a block."""
    scenario = tl.Scenario(
        tl.Committee(K, tl.Erf()),
        tl.Committee(M, tl.ReLU()),
        output_scale=(0.7, 1.3),
        label_noise=0.3,
        weight_decay=0.2,
    )
    N, runs = 11, 4
    keys = run_keys(5, 0, runs)
    system = Chain(GradientDescent(scenario, Scheduled(falling)), overlaps_of(K, M), N)
    advance = eqx.filter_jit(lambda system, *arguments: system.advance(*arguments))
    draw, observe = (eqx.filter_jit(f) for f in (system._draw, system.observe))
    fields = eqx.filter_jit(lambda state, example: state.factor.fields(example))
    state = system.initial(keys, jnp.arange(runs))
    g, h = scenario.student.activation, scenario.teacher.activation
    for s in range(13, 19):
        ξ, noise = jax.tree.map(lambda x: x[0], draw(keys, jnp.array([s])))
        x, y = (np.stack(f, axis=-1) for f in fields(state, ξ))
        Q, R = (np.asarray(observe(state)[name]) for name in "QR")
        square = np.sum(np.square(ξ.z), axis=0) + np.square(ξ.rest)
        error = 1.3 * np.sum(h(y), -1) + 0.3 * np.asarray(noise[0]) - 0.7 * np.sum(g(x), -1)
        a = falling(s / N) / N * 0.7 * np.asarray(g.derivative(x)) * error[:, None]
        d = 1 - 0.2 / N
        R = d * R + a[:, :, None] * y[:, None, :]
        ax = a[:, :, None] * x[:, None, :]
        Q = d**2 * Q + d * (ax + np.swapaxes(ax, 1, 2))
        Q += a[:, :, None] * a[:, None, :] * square[:, None, None]
        state = advance(system, state, keys, jnp.asarray(s), jnp.asarray(1))
        for name, literal in (("Q", Q), ("R", R)):
            computed = observe(state)[name]
            np.testing.assert_allclose(computed, literal, rtol=0, atol=1e-14)  # 50 roundings of 1


SOME_TIMES = [0.1, 0.775, 1.9, 2.0]
WAYS = [(2, [2.0], 5), (5, SOME_TIMES, 5), (1, None, 1), (70, [2.0], 70)]  # batch, times, runs


@pytest.mark.parametrize(
    "units, ways", [(1, [(2, SOME_TIMES, 4)]), pytest.param(3, WAYS, marks=pytest.mark.slow)]
)
def test_a_run_is_the_same_in_any_batch_and_between_any_times(units, ways, monkeypatch):
    """Bit for bit, with different starts."""
    c = tl.Committee(units, tl.Erf())
    scenario, N = tl.Scenario(c, c), 40
    start = tl.simulation.random_start(scenario, dimension=N, runs=5, seed=2)

    def overlaps(batch, times, runs=5):
        some = jax.tree.map(lambda x: x[np.arange(runs) % 5], start)
        monkeypatch.setitem(sys.modules["tutelage.simulation.chain"].RUNS_PER_BATCH, "cpu", batch)
        options = {"dimension": N, "until": 2.0, "runs": runs, "seed": 9, "times": times}
        return tl.simulation.chain(scenario, some, 0.5, **options).isel(time=-1)

    expected = overlaps(5, [2.0])
    for batch, times, runs in ways:
        result = overlaps(batch, times, runs)
        for name in ("Q", "R"):
            np.testing.assert_array_equal(result[name][:5], expected[name][:runs])


@pytest.mark.parametrize("begin, end", [(-5, 3), (3, 5), (14, 40), (-1, 16)])
def test_a_loop_of_known_length_learns_the_same_examples(begin, end, monkeypatch):
    """As on a GPU: examples of a block beyond the loop are dropped."""

    def learn(i, seen):
        return 17 * seen + i

    def all_seen():
        return int(_learn_block(learn, jnp.asarray(begin), jnp.asarray(end), jnp.asarray(1)))

    expected = all_seen()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert all_seen() == expected


# Two-sample Kolmogorov-Smirnov tests of every overlap at two times; correct code fails a case
# with a probability of at most 10⁻³ (Bonferroni), and always or never with these fixed seeds.
CASES = {
    "relu, N = 30": (tl.ReLU(), tl.ReLU(), 2, 2, 30, 1.0),
}
SLOW_CASES = {
    "erf teaches tanh, K != M, N = K + M + 1": (tl.Tanh(), tl.Erf(), 2, 3, 6, 1.5),
    "erf, K > M, N = K + M": (tl.Erf(), tl.Erf(), 3, 1, 4, 1.5),
    "relu, N = K + M + 1": (tl.ReLU(), tl.ReLU(), 1, 1, 3, 1.0),
    "relu, K > M": (tl.ReLU(), tl.ReLU(), 3, 2, 20, 0.6),
    "tanh, N = 200": (tl.Tanh(), tl.Tanh(), 2, 2, 200, 1.5),
    "erf, K = 4": (tl.Erf(), tl.Erf(), 4, 2, 50, 1.0),
}


def compare_with_network(g, h, K, M, N, eta, runs, other_dimension=None):
    """The smallest p-value of all overlaps at α = 0.5 and 3, times their number."""
    scenario = tl.Scenario(
        tl.Committee(K, g), tl.Committee(M, h), label_noise=0.2, weight_decay=0.1
    )
    arguments = (scenario, overlaps_of(K, M), eta)
    options = {"until": 3.0, "times": [0.5, 3.0]}
    full = tl.simulation.network(*arguments, dimension=N, runs=runs, seed=1, **options)
    N = other_dimension or N
    short = tl.simulation.chain(*arguments, dimension=N, runs=4 * runs, seed=2, **options)
    upper = np.triu_indices(K)
    p_values = []
    for time in (0, 1):
        for one, other in zip(
            *(
                np.concatenate(
                    [
                        d.R.values[:, time].reshape(len(d.run), -1).T,
                        d.Q.values[:, time][:, *upper].T,
                    ]
                )
                for d in (full, short)
            ),
            strict=True,
        ):
            # A ReLU that is silent does not learn: some overlaps have values of finite
            # probability, which network and chain round differently.
            p_values.append(stats.ks_2samp(one.round(9), other.round(9)).pvalue)
    return min(p_values) * len(p_values)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_chain_and_network_have_the_same_law(case):
    assert compare_with_network(*case, runs=400) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("case", (CASES | SLOW_CASES).values(), ids=CASES | SLOW_CASES)
def test_chain_and_network_have_the_same_law_in_many_runs(case):
    assert compare_with_network(*case, runs=2500) > 1e-3


@pytest.mark.slow
def test_networks_of_another_size_have_another_law():
    """The comparison can fail: N = 30 and N = 120 differ."""
    case = CASES["relu, N = 30"]
    assert compare_with_network(*case, runs=400, other_dimension=120) < 1e-6


class HalfSquare(Chain):
    """A chain with a wrong η² term: half of the |ξ|² that lies outside, nearly all of it."""

    def _draw(self, keys, s):
        ξ, noise = super()._draw(keys, s)
        return ξ._replace(rest=ξ.rest / np.sqrt(2)), noise


def worst_deviation(system_type, scenario, start, eta, N, runs, until):
    """The largest |mean - theory| of R and Q at the end, in standard errors."""
    several = Ensemble.checked(scenario, N, until, runs, 3, [until])
    rule = GradientDescent(scenario, several.rate(eta))
    result = simulate(system_type(rule, start, N), several).isel(time=-1)
    theory = tl.online.evolve(scenario, start, eta, until=until, times=[until]).isel(time=-1)
    return max(
        float(np.max(np.abs(d.mean("run") - theory[name]) / (d.std("run") / np.sqrt(runs))))
        for name, d in (("Q", result.Q), ("R", result.R))
    )


@pytest.mark.slow
def test_a_wrong_factor_one_half_in_the_square_of_the_learning_rate_is_detected():
    """N = 2000, 100 runs: the bias of 1/N is a tenth of a standard error.  Five are allowed."""
    arguments = (PAIR, PAIR_START, 1.0, 2000, 100, 3.0)
    assert worst_deviation(Chain, *arguments) < 5
    assert worst_deviation(HalfSquare, *arguments) > 25


@pytest.mark.slow
def test_noise_decay_and_a_schedule_lie_on_the_theory():
    scenario = tl.Scenario(TWO, TWO, label_noise=0.5, weight_decay=0.3)
    assert worst_deviation(Chain, scenario, PAIR_START, falling, 2000, 100, 3.0) < 5


@pytest.mark.slow
def test_the_deviation_from_the_theory_shrinks_as_one_over_N():
    """Mean of R and Q minus theory, 60,000 runs: N times it agrees between N within errors."""
    runs, until, eta = 60_000, 2.0, 1.0
    theory = tl.online.evolve(PERCEPTRON, START, eta, until=until, times=[until]).isel(time=-1)
    sizes, scaled, errors = (20, 40, 80), [], []
    for N in sizes:
        run = tl.simulation.chain(
            PERCEPTRON, START, eta, dimension=N, until=until, runs=runs, times=[until]
        )
        x = run.isel(time=-1, student=0, teacher=0, student_2=0)
        deviation = np.array([float((x[n] - theory[n].item()).mean()) for n in "QR"])
        scaled.append(N * deviation)
        errors.append(N * np.array([float(x[n].std()) for n in "QR"]) / np.sqrt(runs))
    scaled, errors = np.array(scaled), np.array(errors)
    # There is a bias, or nothing would be tested.
    assert np.all(np.abs(scaled) > 10 * errors, axis=0).any()
    limit, slope = 2 * scaled[2] - scaled[1], 80 * (scaled[1] - scaled[2])
    expected = limit + slope / 20  # N·bias = limit + slope/N + …
    se = np.sqrt(errors[0] ** 2 + 4 * errors[1] ** 2 + 9 * errors[2] ** 2)
    assert np.all(np.abs(scaled[0] - expected) < 5 * se + 0.1 * np.abs(scaled[2]))


@pytest.mark.slow
def test_ten_million_inputs():
    """A thousand examples of N = 10⁷, 4000 runs: the first order of the equations of motion."""
    N, count, runs = 10**7, 1000, 4000
    options = {"dimension": N, "until": count / N, "runs": runs, "times": [count / N]}
    run = tl.simulation.chain(PERCEPTRON, START, 1.0, **options)
    theory = tl.online.evolve(PERCEPTRON, START, 1.0, until=count / N, times=[count / N])
    for name in "QR":
        x = run[name].isel(time=-1).values.ravel()
        assert abs(x.mean() - theory[name].values.item()) < 5 * x.std() / np.sqrt(runs)
        assert x.std() > 0


@pytest.mark.parametrize("T", [np.eye(2), [[1, 1], [1, 1]]], ids=["regular", "singular"])
def test_a_student_that_knows_the_teacher_stays_there(T):
    two = tl.Committee(2, tl.ReLU())
    scenario = tl.Scenario(two, two, teacher_overlaps=T)
    start = tl.Overlaps(Q=T, R=T, T=T)
    run = tl.simulation.chain(scenario, start, 1.0, dimension=10, until=20, runs=3, times=[20])
    for name in "QR":
        np.testing.assert_allclose(run[name][:, -1], np.broadcast_to(T, (3, 2, 2)), atol=1e-14)


@pytest.mark.parametrize(
    "until", [1_000, pytest.param(100_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_overlaps_stay_a_covariance_and_reach_the_solution(until):
    """N = 10, 10⁴ (or 10⁶) examples: all digits of the solution, no negative eigenvalue."""
    run = tl.simulation.chain(
        *(PAIR, PAIR_START, 1.0),
        dimension=10,
        until=until,
        runs=16,
        times=np.geomspace(1, until, 20),
    )
    Q, R = run.Q.values, run.R.values
    T = np.broadcast_to(PAIR.T, R.shape)
    C = np.block([[Q, R], [np.swapaxes(R, -1, -2), T]])
    assert np.all(np.linalg.eigvalsh(C)[..., 0] > -10 * np.finfo(float).eps)
    # At the solution each student is a teacher, up to rounding of the steps that keep it there.
    for name in "QR":
        last = np.sort(np.abs(run[name].values[:, -1]), axis=-1)
        np.testing.assert_allclose(last, np.broadcast_to([0.0, 1.0], last.shape), atol=1e-13)


def test_a_run_that_diverges_is_missing_afterwards():
    run = tl.simulation.chain(PERCEPTRON, START, 8.0, dimension=50, until=60, runs=4)
    assert set(run.outcome.values) == {"diverged"}
    assert np.all(run.ended_at < 60)
    assert np.all(np.isnan(run.Q.values[:, -1])) and np.all(np.isfinite(run.Q.values[:, 0]))


def test_the_dataset_has_its_provenance():
    options = {"dimension": 50, "until": 1, "runs": 2, "seed": 7, "times": [0, 1]}
    run = tl.simulation.chain(PERCEPTRON, START, 1.0, **options)
    assert run.attrs["computed_by"] == "simulation.chain"
    assert (run.attrs["dimension"], run.attrs["runs"], run.attrs["seed"]) == (50, 2, 7)
    np.testing.assert_allclose(run.Q[:, 0], [[[0.25]]] * 2, rtol=1e-15)


@pytest.mark.parametrize(
    "argument, change",
    [
        ("dimension", {"dimension": 1}),
        ("dimension", {"dimension": 10.5}),
        ("runs", {"runs": 0}),
        ("seed", {"seed": 0.5}),
        ("until", {"until": -1}),
        ("learning_rate", {"learning_rate": 0}),
        ("start", {"start": PAIR_START}),
        ("start", {"start": "random"}),
        ("scenario", {"scenario": None}),
    ],
)
def test_bad_input_is_refused(argument, change):
    arguments = {
        "scenario": PERCEPTRON,
        "start": START,
        "learning_rate": 1.0,
        "dimension": 10,
        "until": 1.0,
    } | change
    with pytest.raises(tl.InputError, match=f"^{argument}: "):
        tl.simulation.chain(**arguments)
