"""Teachers that drift and batches of examples, in chain and network."""

import numpy as np
import pytest
from scenarios import assert_same_law

import tutelage as tl
from tutelage import InputError
from tutelage._jax import jax, jnp
from tutelage.model.timing import rate_of
from tutelage.simulation.chain import Chain
from tutelage.simulation.ensemble import run_keys
from tutelage.simulation.factor import triangle
from tutelage.simulation.inputs import as_inputs
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.network import NetworkSystem
from tutelage.simulation.starts import initial_weights

NORMS = [1.0, 1.5]


def scenario(K, M, drift=0.0, **numbers):
    numbers = {"label_noise": 0.5, "weight_decay": 0.05} | numbers
    units = tl.Committee(K, tl.Erf()), tl.Committee(M, tl.Erf())
    return tl.Scenario(*units, np.diag(NORMS[:M]), drift=drift, **numbers)


def start(K, M):
    Q = np.diag([0.5, 0.6, 0.7][:K])
    return tl.Overlaps(Q, 0.4 * np.eye(K, M) + 0.1, np.diag(NORMS[:M]))


def distance(runs, theory):
    """The largest |mean - theory| of R, Q and ε_g after the start, in standard errors."""
    results = []
    for name in ("R", "Q", "generalization_error"):
        values = runs[name].values[:, 1:]
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        results.append(np.max(np.abs(values.mean(axis=0) - theory[name].values[1:]) / error))
    return max(results)


@pytest.mark.parametrize(
    ("function", "K", "N", "runs", "drift", "batch"),
    [
        ("chain", 1, 1000, 100, 0.5, 4),
        pytest.param("network", 2, 1000, 40, 0.5, 4, marks=pytest.mark.slow),
        pytest.param("chain", 2, 2000, 100, 0.5, 1, marks=pytest.mark.slow),
        pytest.param("chain", 3, 2000, 100, 0.5, 2, marks=pytest.mark.slow),
        pytest.param("network", 3, 1000, 40, 0.5, 2, marks=pytest.mark.slow),
        pytest.param("network", 1, 1000, 40, 0.5, 1, marks=pytest.mark.slow),
    ],
)
def test_runs_lie_on_the_theory_and_not_on_one_without_the_term(function, K, N, runs, drift, batch):
    """Within five standard errors; without a term the theory is more than 25 of them away."""
    s, begin, eta = scenario(K, K if K < 3 else 2, drift), start(K, K if K < 3 else 2), 1.5
    times = [0.0, 1.0, 2.0]
    options = {"until": 2.0, "times": times}
    result = getattr(tl.simulation, function)(
        s, begin, eta, dimension=N, runs=runs, batch=batch, seed=1, **options
    )
    assert distance(result, tl.online.evolve(s, begin, eta, batch=batch, **options)) < 5
    plain = scenario(K, s.M)
    assert distance(result, tl.online.evolve(plain, begin, eta, batch=batch, **options)) > 25
    if batch > 1:
        assert distance(result, tl.online.evolve(s, begin, eta, **options)) > 25


@pytest.mark.parametrize(
    ("K", "M", "drift", "batch"),
    [
        # `test_chain.py` has a law without drift among its fast tests.
        pytest.param(1, 1, 2.0, 3, marks=pytest.mark.slow),
        pytest.param(2, 2, 2.0, 1, marks=pytest.mark.slow),
        pytest.param(2, 1, 0.0, 3, marks=pytest.mark.slow),
        pytest.param(1, 2, 2.0, 1, marks=pytest.mark.slow),
        pytest.param(3, 1, 0.0, 2, marks=pytest.mark.slow),
        pytest.param(3, 2, 1.0, 5, marks=pytest.mark.slow),
    ],
)
def test_the_chain_has_the_law_of_the_network_in_few_dimensions(K, M, drift, batch):
    """Means and variances of all overlaps at N = 9 and α = 1, within five standard errors."""
    s, begin, runs = scenario(K, M, drift), start(K, M), 2000
    options = {"dimension": 9, "until": 1.0, "times": [0.0, 1.0], "runs": runs, "batch": batch}
    chain = tl.simulation.chain(s, begin, 0.8, seed=1, **options).isel(time=-1)
    network = tl.simulation.network(s, begin, 0.8, seed=2, **options).isel(time=-1)
    assert_same_law(chain, network, ("R", "Q"))


def test_teachers_walk_at_fixed_norms():
    N, delta, runs = 40, 3.0, 50
    s = scenario(1, 2, delta)
    begin = start(1, 2)
    weights = initial_weights(s, begin, N, runs)
    system = NetworkSystem(GradientDescent(s, rate_of(0.5)), weights, N, as_inputs("gaussian", N))
    keys = run_keys(3, 0, runs)
    before = system.initial(keys, jnp.arange(runs))
    advance = jax.jit(lambda *arguments: system.advance(*arguments))
    after = advance(before, keys, jnp.asarray(0), jnp.asarray(1))
    B, C = np.asarray(before.B), np.asarray(after.B)
    T = np.diag(NORMS)
    assert np.allclose(C @ np.swapaxes(C, 1, 2), T, atol=1e-13)  # rounding
    assert np.allclose(B @ np.swapaxes(C, 1, 2), (1 - delta / N) * T, atol=1e-13)
    steps = C - B
    assert np.std(steps[:, 0, 0]) > 0.01  # each in a different direction
    many = advance(before, keys, jnp.asarray(0), jnp.asarray(100))
    C = np.asarray(many.B)
    assert np.allclose(C @ np.swapaxes(C, 1, 2), T, atol=1e-12)
    # ⟨B(0)·B(α)⟩ = T (1 - δ/N)^s, with a scatter of at most √(T²/N) in each run.
    overlap = np.einsum("rnj,rnj->rn", B, C)
    expected = np.diag(T) * (1 - delta / N) ** 100
    assert np.all(np.abs(overlap.mean(axis=0) - expected) < 5 * np.diag(T) / np.sqrt(N * runs))


SKEW = np.array([[1.0, 0.9], [0.9, 1.5]])


@pytest.mark.parametrize(
    ("kind", "K"),
    [
        ("chain", 1),
        *(
            pytest.param(*x, marks=pytest.mark.slow)
            for x in (("chain", 3), ("network", 1), ("network", 3))
        ),
    ],
)
def test_teachers_that_are_not_orthogonal_part_as_they_walk(kind, K):
    """T_nm ← (1 - δ/N)² T_nm for n ≠ m at fixed norms, in the weights and in the chain's factor."""
    N, runs, delta, steps = 30, 3, 6.0, 20
    s = tl.Scenario(tl.Committee(K, tl.Erf()), tl.Committee(2, tl.Erf()), SKEW, drift=delta)
    begin = tl.Overlaps(0.5 * np.eye(K), np.full((K, 2), 0.1), SKEW)
    rule, keys = GradientDescent(s, rate_of(jnp.asarray(0.5))), run_keys(3, 0, runs)
    if kind == "chain":
        system = Chain(rule, begin, N)
    else:
        weights = initial_weights(s, begin, N, runs)
        system = NetworkSystem(rule, weights, N, as_inputs("gaussian", N))
    share = (1 - delta / N) ** (2 * steps)
    expected = SKEW * np.array([[1, share], [share, 1]])
    advance = jax.jit(lambda *arguments: system.advance(*arguments))
    state = system.initial(keys, jnp.arange(runs))
    after = advance(state, keys, jnp.asarray(0), jnp.asarray(steps))
    if kind == "chain":  # columns first, runs last
        P = np.transpose(np.asarray(after.factor.columns().P), (2, 1, 0))
    else:
        P = np.asarray(after.B)
    # Rounding in 20 steps.
    np.testing.assert_allclose(P @ np.swapaxes(P, 1, 2), [expected] * runs, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "K"), [("chain", 2), ("chain", 3), ("network", 1)])
def test_runs_follow_teachers_that_part(function, K):
    """Within five standard errors of the theory, and far from a theory with constant T."""
    s = tl.Scenario(*(tl.Committee(k, tl.Erf()) for k in (K, 2)), SKEW, drift=0.5)
    begin = tl.Overlaps(0.5 * np.eye(K), 0.3 * np.eye(K, 2) + 0.2, SKEW)
    options = {"until": 2.0, "times": [0.0, 1.0, 2.0]}
    N, runs = (4000, 400) if function == "chain" else (300, 40)
    result = getattr(tl.simulation, function)(s, begin, 1.2, dimension=N, runs=runs, **options)
    theory = tl.online.evolve(s, begin, 1.2, **options)
    assert distance(result, theory) < 5
    share = (1 - 0.5 / N) ** (4 * N)
    np.testing.assert_allclose(result.teacher_overlaps[2, 0, 1], 0.9 * share, rtol=1e-12)
    stays = tl.Scenario(s.student, s.teacher, SKEW)
    still = tl.online.evolve(stays, begin, 1.2, **options)
    assert distance(result, still) > 25


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3])
def test_a_run_is_the_same_in_a_batch_of_any_size(K):
    s, begin = scenario(K, 2, 0.3), start(K, 2)
    options = {"dimension": 20, "until": 2.0, "batch": 3}
    few, many = (tl.simulation.chain(s, begin, 0.8, runs=n, **options) for n in (2, 19))
    for name in ("Q", "R"):
        assert np.array_equal(few[name], many[name][:2])


@pytest.mark.slow
def test_drift_and_batch_are_computed_again():
    runs = tl.simulation.chain(
        scenario(1, 1, 0.3), start(1, 1), 0.8, dimension=20, until=0.5, runs=2, batch=3
    )
    recomputed = tl.results.recompute(runs)
    assert recomputed.attrs["batch"] == 3
    assert np.array_equal(recomputed.R, runs.R)


def test_a_triangle_keeps_all_products():
    A = np.random.default_rng(2).normal(size=(6, 3, 4))
    A[:, 1, 0] = 0.0
    L = np.asarray(jax.jit(triangle)(jnp.asarray(A)))
    gram = [np.einsum("cir,cjr->ijr", X, X) for X in (A, L)]
    assert np.allclose(*gram, atol=1e-14)
    assert L.shape == (3, 3, 4)
    assert all(np.all(L[j, i] == 0) for i in range(3) for j in range(i + 1, 3))


def test_drift_without_free_directions_is_refused():
    arguments = (scenario(2, 2, 0.5), start(2, 2), 0.5)
    for function in (tl.simulation.chain, tl.simulation.network):
        with pytest.raises(InputError, match="dimension: got 6, but 2 teachers that drift need"):
            function(*arguments, dimension=6, until=1.0)
        with pytest.raises(InputError, match="drift: got 50, but with N = 20 inputs"):
            function(scenario(2, 2, 50), *arguments[1:], dimension=20, until=1.0)
        with pytest.raises(InputError, match="batch: got 8589934592"):
            function(*arguments, dimension=20, until=1.0, batch=2**33)
    with pytest.raises(InputError, match="dimension: got 5, but 4 examples at once need"):
        tl.simulation.chain(scenario(2, 2), start(2, 2), 0.5, dimension=5, until=1.0, batch=4)
