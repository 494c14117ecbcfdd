"""Speed of simulations, after compilation: on one core, and on a GPU if JAX has one.

    make bench

Steps are examples learned, in all runs together.  Ratios are between rows of the same run.
"""

import os
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import equinox as eqx
import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.model.timing import both, rate_of
from tutelage.simulation.chain import Chain
from tutelage.simulation.ensemble import run_keys
from tutelage.simulation.inputs import as_inputs
from tutelage.simulation.network import Network
from tutelage.simulation.rule import GradientDescent
from tutelage.simulation.starts import initial_weights


def problem(g, units):
    """Who learns from whom, and from where, for K = M."""
    committee = tl.Committee(units, g)
    scenario = tl.Scenario(committee, committee)
    norms = np.diag(np.linspace(0.1, 0.2, units))
    return scenario, tl.Overlaps(Q=norms, R=1e-3 * np.eye(units), T=scenario.T)


def rule_of(scenario, readout_rate=None):
    return GradientDescent(scenario, both(rate_of(jnp.asarray(0.5)), readout_rate))


SCENARIO, START = problem(tl.ReLU(), 2)


@eqx.filter_jit
def advance(system, state, keys, first, count):
    return system.advance(state, keys, first, count)


def steps_per_second(system, runs, steps, repeats=3):
    """Of the fastest of some calls, after one that compiles."""
    keys = run_keys(0, 0, runs)
    state = eqx.filter_jit(system.initial)(keys, jnp.arange(runs))
    times = []
    for _ in range(1 + repeats):
        begin = time.perf_counter()
        jax.block_until_ready(advance(system, state, keys, jnp.asarray(0), jnp.asarray(steps)))
        times.append(time.perf_counter() - begin)
    return runs * steps / min(times[1:])


def chain(N, runs, steps, scenario=SCENARIO, start=START, readout_rate=None):
    return steps_per_second(Chain(rule_of(scenario, readout_rate), start, N), runs, steps)


def whole_call(N, runs, until, times, repeats=2):
    """Of the verb itself: with recording, generalization errors and a Dataset."""
    seconds = []
    for _ in range(1 + repeats):
        begin = time.perf_counter()
        tl.simulation.chain(SCENARIO, START, 0.5, dimension=N, until=until, runs=runs, times=times)
        seconds.append(time.perf_counter() - begin)
    return runs * N * until / min(seconds[1:])


def network(N, runs, steps):
    start, inputs = initial_weights(SCENARIO, START, N, runs), as_inputs("gaussian", N)
    return steps_per_second(Network(rule_of(SCENARIO), start, N, inputs), runs, steps)


def core_rows(table):
    for runs, steps, target in ((256, 20_000, "; target 4e6"), (1, 50_000, "")):
        speed = chain(1000, runs, steps)
        table.add_row(f"chain, N = 1000, {runs} runs", f"{speed:.3g}", f"one core{target}")
    speed = chain(1000, 256, 20_000, readout_rate=jnp.asarray(0.1))
    table.add_row("the same, 256 runs, both layers learn", f"{speed:.3g}", "one core")
    for N, steps, target in ((1000, 100, 100), (10_000, 10, 1000)):
        ratio = chain(N, 256, 5000) / network(N, 256, steps)
        table.add_row(
            f"chain against network, N = {N}, 256 runs", f"{ratio:.3g} times", f"target {target}"
        )
    for runs, steps, target in ((1, 5000, "; target 25,000"), (64, 200, "")):
        speed = network(1000, runs, steps)
        table.add_row(f"network, N = 1000, {runs} runs", f"{speed:.3g}", f"one core{target}")


def copied_bytes_per_second(size=2**29):
    """Bytes read and written per second in a copy: what the memory can do."""
    array, copy = jnp.ones(size), jax.jit(lambda x: x + 1.0)
    jax.block_until_ready(copy(array))
    begin = time.perf_counter()
    for _ in range(10):
        last = copy(array)
    jax.block_until_ready(last)
    return 10 * 2 * array.nbytes / (time.perf_counter() - begin)


def normals_per_second(size=2**26):
    draw = jax.jit(lambda key: jax.random.normal(key, (size,)))
    jax.block_until_ready(draw(jax.random.key(0)))
    begin = time.perf_counter()
    jax.block_until_ready([draw(jax.random.key(seed)) for seed in range(5)])
    return 5 * size / (time.perf_counter() - begin)


def gpu_rows(table):
    """A step of a network reads J and B and writes J; its inputs are normal numbers."""
    runs = 2**20
    for N in (1000, 10**6):
        speed = chain(N, runs, 512)
        table.add_row(f"chain, N = {N:g}, 2²⁰ runs", f"{speed:.3g}", "GPU; target 5e9")
    for name, until, times in (("at the end", 10, [10]), ("at 11 times", 10, np.arange(11))):
        speed = whole_call(1000, runs, until, times)
        work = f"the same to α = {until}, recorded {name}"
        table.add_row(work, f"{speed:.3g}", "all of `tl.simulation.chain`")
    for g, units in ((tl.Erf(), 2), (tl.ReLU(), 4), (tl.ReLU(), 8)):
        speed = chain(1000, runs, 64, *problem(g, units))
        table.add_row(f"chain, {g.name}, K = M = {units}, 2²⁰ runs", f"{speed:.3g}", "GPU")
    N, runs = 10_000, 1024
    speed = network(N, runs, 64)
    moved = speed * N * 8 * (2 * SCENARIO.K + SCENARIO.M)
    table.add_row(
        f"network, N = {N}, {runs} runs",
        f"{speed:.3g}",
        f"GPU; {moved / copied_bytes_per_second():.0%} of the bandwidth of a copy, "
        f"{speed * N / normals_per_second():.0%} of the rate of normal numbers alone",
    )


if __name__ == "__main__":
    table = Table(title=f"simulations in float64, ReLU, K = M = 2, {jax.devices()[0].device_kind}")
    for column in ("work", "steps per second", "compared"):
        table.add_column(column)
    (gpu_rows if jax.default_backend() == "gpu" else core_rows)(table)
    Console(width=None if sys.stdout.isatty() else 150).print(table)
