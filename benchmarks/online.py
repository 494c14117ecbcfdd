"""Speed of on-line learning, after compilation, on one core.

    make bench

Seconds are CPU seconds, but for the commands. Ratios are to the alternative named in the row, in
the same run.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import equinox as eqx
import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import OLDER_GENERATOR, jax, jnp, one_kernel
from tutelage.model.layout import layout_of
from tutelage.model.timing import Rate
from tutelage.online import Flow, evolve


def committee(units, activation, norms=None):
    c = tl.Committee(units, activation)
    scenario = tl.Scenario(c, c, None if norms is None else np.diag(norms))
    Q = np.diag(0.1 * np.arange(1, units + 1) / units * 2)
    return scenario, tl.Overlaps(Q, 1e-3 * np.eye(units), scenario.T)


def seconds(call, repeats=6):
    """First call, best of the others, and the last result."""
    start = time.process_time()
    call()
    first, best, result = time.process_time() - start, np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        best = min(best, time.process_time() - start)
    return first, best, result


def euler(scenario, start, eta, until, dt):
    """Fixed steps, compiled: the way it is usually done."""
    flow = Flow(scenario)
    layout = flow.layout

    @jax.jit
    def run(y):
        def step(_, y):
            rates = flow(layout.overlaps(y, scenario.T), jnp.asarray(eta))
            return y + dt * layout.vector(vars(rates))

        return jax.lax.fori_loop(0, round(until / dt), step, y)

    return lambda: jax.block_until_ready(run(flow.vector(start)))


def relu_rows(table):
    scenario, start = committee(2, tl.ReLU(), [1.0, 2.0])
    first, best, _ = seconds(lambda: evolve(scenario, start, 1.0, until=90, tolerance=1e-8))
    table.add_row(
        "ReLU, K = M = 2, T = diag(1, 2), η = 1, to α = 90",
        f"{1e3 * best:.0f} ms",
        f"first call {first:.1f} s; target 40 ms",
    )
    rates = np.linspace(0.1, 1.2, 64)
    first, batch, _ = seconds(lambda: evolve(scenario, start, rates, until=90, tolerance=1e-8), 1)
    table.add_row(
        "the same, 64 learning rates in one batch",
        f"{batch:.2f} s",
        f"{64 * best / batch:.1f} times faster than one by one; target 0.6 s",
    )
    scenario, start = committee(8, tl.ReLU())
    first, best, _ = seconds(lambda: evolve(scenario, start, 0.5, until=100, tolerance=1e-8), 1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    table.add_row(
        "ReLU, K = M = 8, η = 0.5, to α = 100",
        f"{best:.1f} s",
        f"first call {first:.1f} s, {memory:.1f} GB; target 20 s, 2 GB",
    )


def kernel_rows(table, sizes=(2, 3, 4, 6)):
    """One right-hand side of a single ReLU run, compiled into one kernel and into many."""
    for units in sizes:
        scenario, _ = committee(units, tl.ReLU())
        J = np.random.default_rng(units).normal(size=(units, 3 * units)) / np.sqrt(3 * units)
        start = tl.Overlaps.from_weights(J, np.eye(units, 3 * units))
        flow, T, count = Flow(scenario), np.asarray(start.T)[None], 20_000 // units**4
        y = np.asarray(flow.vector(start))[None]

        def run(y, flow=flow, T=T, count=count):
            def step(_, y):
                return y + 1e-9 * flow.rates(y, T, Rate(np.asarray(0.5)))

            return jax.lax.fori_loop(0, count, step, y)

        one, many = (jax.jit(f, compiler_options=OLDER_GENERATOR) for f in (one_kernel(run), run))
        times = [seconds(lambda f=f, y=y: jax.block_until_ready(f(y)), 5)[1] for f in (one, many)]
        fast, slow = (1e6 * x / count for x in times)
        table.add_row(
            f"ReLU, K = M = {units}: one right-hand side",
            f"{fast:.1f} μs",
            f"in many kernels {slow:.0f} μs",
        )


def batch_rows(table):
    """Many runs in one call, per run, against one run alone."""
    for g, counts in ((tl.ReLU(), (64, 512, 4096)), (tl.Erf(), (64, 512))):
        scenario, start = committee(2, g)
        # The first calls of a single run may use a program that is not optimized.
        call = partial(evolve, scenario, start, until=20, times=[20.0], tolerance=1e-8)
        _, alone, _ = seconds(partial(call, 0.5), 8)
        for count in counts:
            rates = np.linspace(0.1, 1.0, count)
            first, best, _ = seconds(partial(call, rates))
            table.add_row(
                f"{g.name}, K = M = 2, to α = 20, {count} learning rates in one call",
                f"{1e3 * best / count:.2f} ms each",
                f"one run alone {1e3 * alone:.1f} ms; first call {first:.1f} s",
            )


def erf_rows(table):
    """Work time for α up to 1000; errors at α = 100, before everything is learned.

    Times are counted in right-hand sides, too, of which Euler's method takes 100,000.
    """
    for K in (2, 4, 8):
        scenario, start = committee(K, tl.Erf())
        _, best, _ = seconds(partial(evolve, scenario, start, 0.5, until=1000, tolerance=1e-8))
        _, slow, _ = seconds(euler(scenario, start, 0.5, 1000, 0.01), 1)
        sides = best / (slow / 100_000)
        exact, adaptive = (
            evolve(scenario, start, 0.5, until=100, times=[100.0], tolerance=tolerance).R.values[-1]
            for tolerance in (1e-13, 1e-8)
        )
        last = euler(scenario, start, 0.5, 100, 0.01)()
        fixed = layout_of(K, scenario.M).overlaps(last, scenario.T).R
        errors = [np.max(np.abs(R - exact)) for R in (adaptive, fixed)]
        table.add_row(
            f"erf, K = M = {K}, η = 0.5, to α = 1000",
            f"{1e3 * best:.0f} ms",
            f"as {sides:,.0f} steps of Euler's method: "
            f"{slow / best:.0f} times faster than compiled Euler with dt = 0.01, "
            f"{errors[1] / errors[0]:.0f} times more accurate; target 100 and 1000",
        )


def sides(flow, start, runs, count):
    """Right-hand sides in a row, compiled, of one state or of several at once."""
    y = jnp.broadcast_to(flow.vector(start), (*runs, flow.layout.size))
    T = jnp.broadcast_to(start.T, (*runs, *start.T.shape))
    eta = jnp.full(runs, 0.5)

    @jax.jit
    def run(y, eta):
        def step(_, y):
            return y + 1e-6 * flow.rates(y, T, Rate(eta, readout=eta))

        return jax.lax.fori_loop(0, count, step, y)

    return lambda: jax.block_until_ready(run(y, eta))


def readout_rows(table):
    """A right-hand side with a second layer that learns, and with one that stays."""
    for g, units, runs, count in (
        (tl.ReLU(), 2, (), 4000),
        (tl.ReLU(), 2, (64,), 200),
        (tl.ReLU(), 4, (), 400),
        (tl.ReLU(), 8, (), 20),
        (tl.Erf(), 2, (), 20_000),
        (tl.Erf(), 2, (64,), 400),
        (tl.Erf(), 4, (), 4000),
        (tl.GELU(), 2, (), 40),
    ):
        v = np.linspace(0.8, 1.2, units)
        layers = tl.Committee(units, g, v)
        scenario = tl.Scenario(layers, layers)
        Q, R = (a * np.eye(units) + b for a, b in ((0.2, 0.01), (0.01, 0.02)))
        start = tl.Overlaps(Q, R, scenario.T)
        stays, learns = (
            sides(Flow(scenario, readout_rate=rate), start, runs, count) for rate in (0.0, 1.0)
        )
        pairs = [(seconds(stays, 1)[1], seconds(learns, 1)[1]) for _ in range(9)]
        fixed, trained = np.min(pairs, axis=0) / count
        several = f", {runs[0]} states" if runs else ""
        table.add_row(
            f"{g.name}, K = M = {units}{several}: one right-hand side, v learns",
            f"{1e6 * trained:.1f} μs",
            f"{trained / fixed:.2f} times that with fixed v; target 1.3",
        )


def symmetric_rows(table):
    """One right-hand side costs the same at any K; a run spans K times as long a time."""
    start = tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
    one, whole = {}, {}
    for K in (3, 1_000_000):
        many = tl.Committee(K, tl.ReLU())
        scenario = tl.online.SymmetricScenario(many, many, output_scale=1 / np.sqrt(K))
        flow = tl.online.SymmetricFlow(scenario)
        rates = eqx.filter_jit(lambda flow, state: flow(state, jnp.asarray(0.5)))
        state = jax.tree.map(jnp.asarray, start)
        _, one[K], _ = seconds(lambda f=flow, r=rates, s=state: [r(f, s) for _ in range(200)])
        run = partial(tl.online.evolve_symmetric, scenario, start, 0.5, until=5 * K)
        _, whole[K], _ = seconds(run)
        table.add_row(
            f"symmetric reduction, ReLU, K = {K:,}: one right-hand side; a run to α = 5 K",
            f"{1e6 * one[K] / 200:.0f} μs; {1e3 * whole[K]:.0f} ms",
            f"{one[K] / one[3]:.2f}; {whole[K] / whole[3]:.1f} times that of K = 3",
        )


def command_rows(table):
    arguments = [sys.executable, "-m", "tutelage.cli", "online", "--until", "90", "--json"]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TUTELAGE_PROGRAMS": f"{cache}/programs"}
        for name in ("cold", "with a warm compilation cache"):
            start = time.perf_counter()
            subprocess.run(arguments, check=True, capture_output=True, env=environment)
            table.add_row(
                f"first curve from the command line, {name}",
                f"{time.perf_counter() - start:.1f} s",
                "target 6 s / 3 s",
            )


if __name__ == "__main__":
    table = Table(title="on-line learning, one core")
    for column in ("work", "time", "compared"):
        table.add_column(column)
    for rows in (
        relu_rows,
        kernel_rows,
        batch_rows,
        erf_rows,
        readout_rows,
        symmetric_rows,
        command_rows,
    ):
        rows(table)
    Console(width=None if sys.stdout.isatty() else 150).print(table)
