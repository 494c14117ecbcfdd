"""Speed of simulations, after compilation: on one core, and on a GPU if JAX has one.

    make bench
    python benchmarks/simulation.py readouts    # second layers that learn, alone

Steps are examples learned, in all runs together.  Ratios are between rows of the same run.  Seconds
are CPU seconds; on a GPU those of the clock.
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
from tutelage.model.timing import rate_of, with_readout_rate
from tutelage.simulation.chain import Chain
from tutelage.simulation.ensemble import run_keys
from tutelage.simulation.inputs import as_inputs
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.network import NetworkSystem
from tutelage.simulation.starts import initial_weights


def problem(g, units):
    """Who learns from whom, and from where, for K = M."""
    committee = tl.Committee(units, g)
    scenario = tl.Scenario(committee, committee)
    norms = np.diag(np.linspace(0.1, 0.2, units))
    return scenario, tl.Overlaps(Q=norms, R=1e-3 * np.eye(units), T=scenario.T)


def rule_of(scenario, readout_rate=None):
    return GradientDescent(scenario, with_readout_rate(rate_of(jnp.asarray(0.5)), readout_rate))


SCENARIO, START = problem(tl.ReLU(), 2)


def now():
    return time.process_time() if jax.default_backend() == "cpu" else time.perf_counter()


@eqx.filter_jit
def advance(system, state, keys, first, count):
    return system.advance(state, keys, first, count)


def steps_per_second(system, runs, steps, repeats=3):
    """Of the fastest of some calls, after one that compiles."""
    keys = run_keys(0, 0, runs)
    state = eqx.filter_jit(system.initial)(keys, jnp.arange(runs))
    times = []
    for _ in range(1 + repeats):
        begin = now()
        jax.block_until_ready(advance(system, state, keys, jnp.asarray(0), jnp.asarray(steps)))
        times.append(now() - begin)
    return runs * steps / min(times[1:])


def chain(N, runs, steps, scenario=SCENARIO, start=START, readout_rate=None):
    return steps_per_second(Chain(rule_of(scenario, readout_rate), start, N), runs, steps)


def whole_call(N, runs, until, times, repeats=2):
    """Of the verb itself: with recording, generalization errors and a Dataset."""
    seconds = []
    for _ in range(1 + repeats):
        begin = now()
        tl.simulation.chain(SCENARIO, START, 0.5, dimension=N, until=until, runs=runs, times=times)
        seconds.append(now() - begin)
    return runs * N * until / min(seconds[1:])


def network(N, runs, steps):
    start, inputs = initial_weights(SCENARIO, START, N, runs), as_inputs("gaussian", N)
    return steps_per_second(NetworkSystem(rule_of(SCENARIO), start, N, inputs), runs, steps)


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
    begin = now()
    for _ in range(10):
        last = copy(array)
    jax.block_until_ready(last)
    return 10 * 2 * array.nbytes / (now() - begin)


def normals_per_second(size=2**26):
    draw = jax.jit(lambda key: jax.random.normal(key, (size,)))
    jax.block_until_ready(draw(jax.random.key(0)))
    begin = now()
    jax.block_until_ready([draw(jax.random.key(seed)) for seed in range(5)])
    return 5 * size / (now() - begin)


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


def readout_rows(table):
    """Both layers learn, against the first alone; and how far the runs are from the theory.

    The mean over runs is off by O(1/N): for that to be less than a standard error N is larger than
    the number of runs.
    """
    on_gpu = jax.default_backend() == "gpu"
    runs, steps, power = (2**20, 512, "2²⁰") if on_gpu else (256, 20_000, "2⁸")
    speeds = [
        chain(1000, runs, steps, readout_rate=rate)
        for _ in range(2)
        for rate in (None, jnp.asarray(0.5))
    ]
    fixed, learning = (max(speeds[k::2]) for k in range(2))
    work = f"chain, N = 1000, {power} runs, K = M = 2, ReLU: first layer; both layers"
    ratio = f"{learning / fixed:.2f} times the speed"
    table.add_row(work, f"{fixed:.3g}; {learning:.3g}", ratio)
    N, count = (200_000, 2**14) if on_gpu else (20_000, 64)
    layers = (tl.Committee(2, tl.ReLU(), v) for v in ([0.8, 0.5], [1.0, 1.2]))
    scenario = tl.Scenario(*layers, label_noise=0.3, readout_decay=0.1)
    start = tl.Overlaps(np.diag([0.3, 0.4]), 0.2 * np.eye(2) + 0.05, scenario.T)
    common = {"until": 2.0, "times": [0.0, 1.0, 2.0], "readout_rate": 0.4}
    begin = now()
    run = tl.simulation.chain(scenario, start, 0.5, dimension=N, runs=count, **common)
    taken = now() - begin
    with jax.default_device(jax.devices("cpu")[0]):
        theories = [
            tl.online.evolve(scenario, start, 0.5, **common | {"readout_rate": rate})
            for rate in (0.4, 0.38)
        ]
    right, wrong = (largest_deviation(run, theory) for theory in theories)
    work = f"the same to α = 2, N = {N}, {count} runs: {taken:.0f} s, with compilation"
    compared = f"{right:.2f} standard errors from the theory at most (5 allowed), "
    table.add_row(
        work, f"{2 * N * count / taken:.3g}", compared + f"{wrong:.0f} from one with 0.95 η_v"
    )


def largest_deviation(runs, theory):
    """Of the means of R, Q and v from the theory, in standard errors, after the start."""
    results = []
    for name in ("R", "Q", "readout"):
        values, expected = runs[name].values[:, 1:], theory[name].values[1:]
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        results.append(np.max(np.abs(values.mean(axis=0) - expected) / error))
    return max(results)


if __name__ == "__main__":
    table = Table(title=f"simulations in float64, ReLU, K = M = 2, {jax.devices()[0].device_kind}")
    for column in ("work", "steps per second", "compared"):
        table.add_column(column)
    if "readouts" in sys.argv[1:]:
        readout_rows(table)
    else:
        (gpu_rows if jax.default_backend() == "gpu" else core_rows)(table)
    Console(width=None if sys.stdout.isatty() else 150).print(table)
