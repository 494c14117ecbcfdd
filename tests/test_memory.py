"""Sizes that do not fit in memory are refused at once, with the size that would fit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage import _memory
from tutelage._checks import InputError
from tutelage._memory import available_memory, check_memory
from tutelage.averages import Estimate
from tutelage.averages.conditional.derivatives import Average, estimate
from tutelage.model.layout import unchecked
from tutelage.online.trajectory import bytes_of_a_run

ONE = tl.Committee(1, tl.Erf())
SCENARIO = tl.Scenario(ONE, ONE)
START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
GIB = 2**30
TEN = tl.Scenario(*[tl.Committee(10, tl.ReLU())] * 2)
LARGE = TEN, tl.Overlaps(Q=np.eye(10), R=np.zeros((10, 10)), T=TEN.T)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A machine of one GiB, so that refusals are equal everywhere."""
    monkeypatch.setattr(_memory, "available_memory", lambda: GIB)


def test_a_container_has_less_than_its_machine(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("max\n")
    monkeypatch.setattr(_memory, "LIMITS", (str(limit), str(tmp_path / "nothing")))
    whole = available_memory()
    limit.write_text(f"{whole // 2}\n")
    assert available_memory() == whole // 2


def test_the_size_that_is_named_fits_and_the_next_one_does_not():
    def bytes_of(n):
        return 8 * n**2 + 100

    with pytest.raises(InputError, match=r"count=11585 or less") as refused:
        check_memory("count", 10**9, bytes_of, "the matrix")
    assert "7.45e+09 GiB; 1 GiB is available" in str(refused.value)
    check_memory("count", 11585, bytes_of, "the matrix")
    with pytest.raises(InputError):
        check_memory("count", 11586, bytes_of, "the matrix")


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "K"), [(tl.ReLU(), 1), (tl.ReLU(), 2), (tl.Erf(), 2)])
def test_the_averages_of_a_run_take_at_most_the_estimated_memory(activation, K):
    """Against what XLA allocates for the right-hand sides of 1000 runs."""
    units, runs = tl.Committee(K, activation), 1000
    scenario = tl.Scenario(units, units)
    flow, eye = tl.online.Flow(scenario), np.broadcast_to(np.eye(K), (runs, K, K))

    def rates(Q, R, T):
        change = flow(unchecked(Q, R, T), np.full(runs, 0.5))
        return change.Q, change.R

    compiled = jax.jit(rates).lower(0.5 * eye, 0.1 * eye, eye).compile()
    taken = compiled.memory_analysis().temp_size_in_bytes
    assert 0 < taken < runs * bytes_of_a_run(scenario, None, 2)


def temporary_bytes(function, *arguments):
    """What XLA allocates besides arguments and results."""
    return jax.jit(function).lower(*arguments).compile().memory_analysis().temp_size_in_bytes


def test_gradients_of_many_averages_take_the_memory_of_one():
    """A stand-in with 10⁴ nodes, each with ten numbers that reverse mode would store."""
    nodes = np.linspace(0, 1, 10**4)

    def value(c):
        def add(total, node):
            return total + jnp.sum(jnp.tanh(node * c) ** 3 * np.ones((10, 1))), None

        return jax.lax.scan(add, 0.0, nodes)[0]

    average = Average(lambda c: Estimate(value(c), jnp.zeros(())), value)
    many = np.random.default_rng(0).normal(size=(100, 3))
    plain, bounded = (
        jax.vmap(jax.grad(f)) for f in (value, lambda c: estimate((c,), average=average).value)
    )
    assert temporary_bytes(bounded, many) < 10**5 < 10**7 < temporary_bytes(plain, many)
    np.testing.assert_allclose(jax.jit(bounded)(many), jax.jit(plain)(many), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size", "most"), [("i2", 2, 10**7), ("i4", 4, 10**8)])
def test_gradients_of_averages_of_smooth_units_take_bounded_memory(kind, size, most):
    """One hundred covariances in one compiled call; in reverse mode I4 of tanh takes 606 GB."""
    A = np.random.default_rng(0).normal(size=(100, size, 6)) / 6**0.5
    C, average = jnp.asarray(A @ np.swapaxes(A, -1, -2)), getattr(tl.averages, kind)
    gradient = jax.jit(jax.vmap(jax.grad(lambda C: average(tl.Tanh(), C))))
    compiled = gradient.lower(C).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < most
    D = 1e-5 * (np.ones((size, size)) + np.eye(size))
    up, down = (average(tl.Tanh(), C[:2] + step) for step in (D, -D))
    # Central differences: the square of the step, and rounding over the step.
    assert np.all(
        np.abs(np.sum(compiled(C)[:2] * D, axis=(1, 2)) - (up - down) / 2) < 1e-9 * np.sum(D)
    )


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tl.online.evolve(*LARGE, np.ones(1000), until=1, times=[1.0]), "the number of ru"),
        (lambda: tl.simulation.network(SCENARIO, START, 1.0, dimension=10**9, until=1), "dimens"),
        (
            lambda: tl.simulation.chain(SCENARIO, START, 1.0, dimension=10, until=1, runs=10**8),
            "ru",
        ),
        (lambda: tl.simulation.random_start(SCENARIO, dimension=10, runs=10**9), "runs"),
        (lambda: tl.online.evolve(SCENARIO, START, np.ones(10**6), until=1), "the number of runs"),
        (lambda: tl.equilibrium.learning_curve(tl.Erf(), 2, np.arange(2e6)), "the number of loads"),
        (lambda: tl.Scenario(ONE, tl.Committee(10**6, tl.Erf())), "the units of the teacher"),
        (lambda: tl.equilibrium.sample(SCENARIO, 1.0, dimension=10**9, sweeps=1), "dimension"),
        (lambda: tl.averages.i4(tl.Erf(), np.eye(4), tl.averages.Hermite(order=1000)), "order"),
        (lambda: tl.deep.teacher([10], inputs=10**9), "inputs"),
        (lambda: tl.spectra.linear_examples(10**9), "count"),
    ],
)
def test_what_is_too_large_is_refused_with_the_size_that_would_do(call, argument):
    with pytest.raises(InputError, match=rf"{argument}.* GiB; 1 GiB is available\. Try: .*or less"):
        call()


def test_so_many_nodes_that_an_average_would_take_years_are_refused():
    with pytest.raises(InputError, match=r"nodes: got 10000 .* points, about 3e\+08 s"):
        tl.averages.i4(tl.Tanh(), np.eye(4), tl.averages.Quadrature(nodes=10000))
    assert float(tl.averages.i2(tl.Tanh(), np.eye(2), tl.averages.Quadrature(nodes=400))) < 1e-15


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("online --student 1000000", "--student: got 1000000, but the overlaps of all units"),
        ("online --sweep-learning-rate 0.1:1:1000000", "the number of runs: got 1000000"),
        ("simulate --runs 100000000", "runs: got 100000000"),
        ("equilibrium --loads 0:1:100000000", "loads: got 100000000"),
        ("equilibrium --phase-diagram 1:2:1000000000000 --activation swish", "COUNT of --phase"),
    ],
)
def test_the_commands_refuse_sizes_beyond_memory(run, arguments, words):
    code, out, err = run(*arguments.split())
    assert code == 2 and out == "" and words in err and "or less" in err
