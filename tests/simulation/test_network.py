"""Networks of N inputs: the rule as it is written, and the theory that it should follow."""

import equinox as eqx
import numpy as np
import pytest
from scenarios import GRADED as PAIR, PERCEPTRON

import tutelage as tl
from tutelage._jax import jnp
from tutelage.model.timing import Scheduled
from tutelage.simulation.ensemble import run_keys
from tutelage.simulation.inputs import as_inputs
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.network import NetworkSystem, Weights
from tutelage.simulation.starts import initial_weights

PAIR_START = tl.Overlaps(Q=[[0.3, 0.1], [0.1, 0.4]], R=[[0.2, 0.1], [-0.1, 0.3]], T=PAIR.T)


def literal_step(scenario, J, B, xi, noise, eta):
    """J_i ← (1 - γ/N) J_i + (η/N) δ_i ξ, component by component."""
    g, h = scenario.student.activation, scenario.teacher.activation
    (s_K, s_M), N = scenario.output_scale, J.shape[1]
    sigma = s_K * sum(float(g(J_i @ xi)) for J_i in J)
    tau = s_M * sum(float(h(B_n @ xi)) for B_n in B) + scenario.label_noise * noise
    new = np.empty_like(J)
    for i, J_i in enumerate(J):
        delta = s_K * float(g.derivative(J_i @ xi)) * (tau - sigma)
        for j in range(N):
            new[i, j] = (1 - scenario.weight_decay / N) * J_i[j] + eta / N * delta * xi[j]
    return new


def test_a_step_is_the_literal_formula():
    scenario = tl.Scenario(
        tl.Committee(2, tl.Erf()),
        tl.Committee(3, tl.ReLU()),
        output_scale=(0.7, 1.3),
        label_noise=0.3,
        weight_decay=0.2,
    )
    N, runs, first, count = 11, 2, 3, 6  # from the middle of a block to the middle of another
    rng = np.random.default_rng(5)
    J, B = rng.normal(size=(runs, 2, N)), rng.normal(size=(runs, 3, N))

    def eta(time):
        return 0.5 + time

    start = initial_weights(
        tl.Scenario(scenario.student, scenario.teacher, B[0] @ B[0].T), (J[0], B[0]), N, 1
    )
    system = NetworkSystem(
        GradientDescent(scenario, Scheduled(eta)), start, N, as_inputs("gaussian", N)
    )
    keys = run_keys(7, 0, runs)
    state = Weights(jnp.asarray(J), jnp.asarray(B))
    advanced = system.advance(state, keys, jnp.asarray(first), jnp.asarray(count))
    for run in range(runs):
        expected = J[run]
        for s in range(first, first + count):
            xi, (noise,), _ = system._example(keys[run], jnp.asarray(s))
            expected = literal_step(scenario, expected, B[run], np.asarray(xi), noise, eta(s / N))
        # A few roundings of numbers of order one in each of six steps.
        np.testing.assert_allclose(advanced.J[run], expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(advanced.B, B)


def first_change(inputs, eta, N, runs):
    """N ΔR and N ΔQ of the first example: mean over runs and its standard error."""
    run = tl.simulation.network(
        *(PAIR, PAIR_START, eta),
        dimension=N,
        until=1 / N,
        inputs=inputs,
        runs=runs,
        seed=1,
        times=[0, 1 / N],
    )
    change = np.concatenate(
        [N * np.diff(run[x].values, axis=1).reshape(runs, -1) for x in ("R", "Q")], axis=1
    )
    return change.mean(axis=0), change.std(axis=0, ddof=1) / np.sqrt(runs)


@eqx.filter_jit
def rates(eta):
    """The right-hand side of the theory."""
    flow = tl.online.Flow(PAIR)(PAIR_START, eta)
    return jnp.concatenate([jnp.ravel(flow.R), jnp.ravel(flow.Q)])


@pytest.mark.parametrize(
    "inputs",
    [pytest.param(name, marks=pytest.mark.slow) for name in ("gaussian", "sign", "uniform")],
)
def test_the_first_example_changes_overlaps_by_the_rates_of_the_theory_on_average(inputs):
    eta, N, runs = 2.0, 400, 3000
    mean, error = first_change(inputs, eta, N, runs)
    theory = np.asarray(rates(jnp.asarray(eta)))
    # Seven numbers within 5 standard errors: a wrong alarm in 10⁵.  The mean itself deviates
    # from the theory by (K + M)/N of the η² term, a quarter of a standard error.
    assert np.max(np.abs(mean - theory) / error) < 5
    # The same test notices a factor ½ in the η² term: rates are r(η) = η L + η² S, and
    # η L + ½ η² S = 2 r(η/2).
    wrong = 2 * np.asarray(rates(jnp.asarray(eta / 2)))
    assert np.max(np.abs(mean - wrong) / error) > 5


@pytest.mark.slow
def test_signs_differ_from_gaussian_inputs_if_there_are_few():
    """With four inputs the test distinguishes them; with 400 both agree with the theory, above.

    |ξ|² = N for signs, while Gaussian inputs have ⟨δ_i δ_k |ξ|²⟩ > N ⟨δ_i δ_k⟩.
    """
    gaussian, sign = (first_change(inputs, 2.0, 4, 10_000) for inputs in ("gaussian", "sign"))
    assert np.max(np.abs(gaussian[0] - sign[0]) / np.hypot(gaussian[1], sign[1])) > 5


def test_runs_lie_on_the_theory_and_scatter_as_one_over_root_N():
    start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    times, runs = [0.0, 0.5, 1.5], 200
    options = {"until": 1.5, "runs": runs, "seed": 2, "times": times}
    theory = tl.online.evolve(PERCEPTRON, start, 1.0, until=1.5, times=times)
    spreads = []
    for N in (25, 225):
        run = tl.simulation.network(PERCEPTRON, start, 1.0, dimension=N, **options)
        R = run.R.values[:, 1:, 0, 0]
        spreads.append(R.std(axis=0, ddof=1))
        gap = np.abs(R.mean(axis=0) - theory.R.values[1:, 0, 0])
    # N = 225: the mean deviates by O(1/N), about a standard error √(1/(N·200)) = 1/212.
    assert np.all(gap < 5 * spreads[1] / np.sqrt(runs))
    # √(225/25) = 3; a spread is known to 1/√(2·200) = 5 %, a ratio to 7 %.
    assert np.all(np.abs(spreads[0] / spreads[1] / 3 - 1) < 5 * 0.07)


@pytest.mark.slow
@pytest.mark.parametrize("activation", [tl.ReLU(), tl.Erf()], ids=lambda g: g.name)
@pytest.mark.parametrize("units", [(2, 2), (3, 2)])
def test_larger_networks_lie_on_the_theory(activation, units):
    K, M = units
    scenario = tl.Scenario(
        tl.Committee(K, activation),
        tl.Committee(M, activation),
        label_noise=0.1,
        weight_decay=0.05,
    )
    Q, R = np.diag(np.linspace(0.2, 0.4, K)), 0.2 * np.eye(K, M)
    start = tl.Overlaps(Q, R, scenario.T)
    times, runs, N = [0.0, 1.0, 2.0, 4.0], 40, 2000
    theory = tl.online.evolve(scenario, start, 0.7, until=4.0, times=times)
    run = tl.simulation.network(
        scenario, start, 0.7, dimension=N, until=4.0, runs=runs, seed=3, times=times
    )
    for name in ("R", "Q", "generalization_error"):
        values = run[name].values[:, 1:]
        error = values.std(axis=0, ddof=1) / np.sqrt(runs)
        # Standard errors of about 1/√(2000·40) = 1/280 beside a bias of about 1/2000: 5 + 1.
        assert np.all(np.abs(values.mean(axis=0) - theory[name].values[1:]) < 6 * error), name


def test_a_run_that_diverges_is_missing_afterwards_and_leaves_the_others_alone():
    perfect, away = [[[1.0]], [[1.0]]], [[[0.25]], [[0.0]]]
    Q, R = (np.array(x) for x in zip(perfect, away, strict=True))
    start = tl.Overlaps(Q, R, np.ones((2, 1, 1)))
    run = tl.simulation.network(PERCEPTRON, start, 8.0, dimension=200, until=20.0, runs=2)
    assert run.outcome.values.tolist() == ["reached", "diverged"]
    assert run.ended_at.values[0] == 20 and 0 < run.ended_at.values[1] < 20
    np.testing.assert_allclose(run.Q.values[0], 1.0, rtol=1e-12)  # δ = 0: nothing to learn
    late = run.time.values > run.ended_at.values[1]
    for name in ("Q", "R", "generalization_error"):
        missing = np.isnan(run[name].values[1].reshape(len(late), -1))
        assert np.all(missing[late]) and not np.any(missing[~late]), name
    assert np.any(late) and np.nanmax(run.Q.values) <= 1e6


def test_the_record_has_the_names_of_the_theory_and_the_exact_error():
    run = tl.simulation.network(
        *(PAIR, PAIR_START, 0.5),
        dimension=100,
        until=0.3,
        runs=2,
        times=np.geomspace(0.001, 0.3, 20),
    )
    assert run.Q.dims == ("run", "time", "student", "student_2")
    assert run.R.dims == ("run", "time", "student", "teacher")
    assert run.student.values.tolist() == run.teacher.values.tolist() == [1, 2]
    # Whole examples, each once: 0.001·100 rounds to 0, as do several of its neighbours.
    examples = run.time.values * 100
    np.testing.assert_allclose(examples, np.unique(np.rint(examples)), rtol=1e-15)
    states = tl.Overlaps(
        run.Q.values[1], run.R.values[1], np.broadcast_to(PAIR.T, (len(run.time), 2, 2))
    )
    np.testing.assert_allclose(
        run.generalization_error[1], tl.generalization_error(PAIR, states), rtol=1e-12
    )
    assert run.attrs["computed_by"] == "simulation.network" and run.attrs["dimension"] == 100
