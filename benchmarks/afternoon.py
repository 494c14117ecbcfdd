"""One curve against programs that are written in an afternoon (`benchmarks/peers`), on one core.

    make bench
    python benchmarks/afternoon.py erf 4 8    # some of the rows
    python benchmarks/afternoon.py sides 2 8  # right-hand sides alone

All numbers of curves are CPU milliseconds of a warm call, the least of several.  The programs run
in turn, each of them CALLS_OF_A_TURN times; the first calls of the turns, for which the other
programs have filled the caches of the processor, are listed separately.  Each program has the
widest tolerance, of half powers of ten, with which its largest error at 401 times is at most ERROR;
errors are differences from the same program with a tolerance of 1e-12, and these references have to
agree.

A right-hand side is timed in a compiled loop of many, each at a state that depends on the previous
one, in turn for tutelage and the numba program.
"""

import os
import sys
import time
from functools import partial

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
from peers import diffrax_program, numba_loops, numba_relu, scipy_program
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import OLDER_GENERATOR, WIDE_VECTORS, jax, jnp, one_kernel
from tutelage.model.timing import Rate
from tutelage.online import Flow, integration

ERROR, REFERENCE = 1e-6, 1e-12
CALLS_OF_A_TURN = 6
TOLERANCES = 10.0 ** np.arange(-5, -11.5, -0.5)
WITH_RATE, SIDES = "relu at a rate", "sides"
UNITS = {"erf": tl.Erf(), "relu": tl.ReLU(), WITH_RATE: tl.ReLU()}
SIZES = {"erf": (2, 4, 8, 16), "relu": (2, 4, 8), WITH_RATE: (2, 3, 4, 6, 8)}
PEERS = {
    "numba": numba_loops.curve,
    "diffrax": diffrax_program.curve,
    "NumPy, SciPy": scipy_program.curve,
}
# Programs with four-point averages of ReLUs.
PEERS_WITH_RATE = {"numba": numba_relu.curve}


def library(unit, Q, R, T, learning_rate, times, tolerance):
    """The package's curve, as the peers return theirs; after its end a run keeps its state."""
    committee = tl.Committee(len(Q), UNITS[unit])
    scenario, start = tl.Scenario(committee, committee, T), tl.Overlaps(Q, R, T)
    run = tl.online.evolve(
        scenario, start, learning_rate, until=times[-1], times=times, tolerance=tolerance
    )
    i, k = np.triu_indices(len(Q))
    vectors = np.hstack([run.R.values.reshape(len(run.time), -1), run.Q.values[:, i, k]])
    return vectors[np.minimum(np.arange(len(times)), len(vectors) - 1)]


class CompiledSeconds:
    """CPU seconds within compiled integrations, apart from the rest of a call."""

    def __init__(self):
        self.total, self.choice = 0.0, integration._advance
        integration._advance = self.timed

    def timed(self, *which):
        advance = self.choice(*which)

        def timed_advance(*arguments):
            start = time.process_time()
            result = jax.block_until_ready(advance(*arguments))
            self.total += time.process_time() - start
            return result

        return timed_advance


def widest_tolerance(curve, setting, times):
    """The widest tolerance with an error of at most ERROR, that error, and the reference."""
    exact = curve(*setting, times, REFERENCE)
    for tolerance in TOLERANCES:
        error = np.max(np.abs(curve(*setting, times, tolerance) - exact))
        if error <= ERROR:
            return tolerance, error, exact
    raise RuntimeError(f"no tolerance gives an error of {ERROR:g}")


def setting_of(unit, units):
    """The start of the other benchmarks of on-line learning, K = M."""
    Q = np.diag(0.2 * np.arange(1, units + 1) / units)
    # With ReLUs a rate of 0.5 is above the critical one for eight units.
    eta, until = {"erf": (0.5, 1000.0), "relu": (0, 60.0), WITH_RATE: (1 / units, 20.0 * units)}[
        unit
    ]
    return (unit, Q, 1e-3 * np.eye(units), np.eye(units), eta), np.linspace(0.0, until, 401)


def measured(calls, seconds, most=30):
    """Least CPU seconds of every call, and of its first calls in a turn."""
    first, least = (dict.fromkeys(calls, np.inf) for _ in range(2))
    begin = time.process_time()
    for _ in range(most):
        for name, call in calls.items():
            for number in range(CALLS_OF_A_TURN):
                start = time.process_time()
                call()
                used = time.process_time() - start
                least[name] = min(least[name], used)
                if number == 0:
                    first[name] = min(first[name], used)
        if time.process_time() - begin > seconds:
            break
    return least, first


def add_row(table, unit, units, seconds=10.0):
    setting, times = setting_of(unit, units)
    peers = PEERS_WITH_RATE if unit == WITH_RATE else PEERS
    curves, calls, errors, references = {"tutelage": library, **peers}, {}, {}, {}
    for name, curve in curves.items():
        tolerance, errors[name], references[name] = widest_tolerance(curve, setting, times)
        calls[name] = partial(curve, *setting, times, tolerance)
    apart = max(np.max(np.abs(x - references["tutelage"])) for x in references.values())
    if apart > ERROR / 10:
        raise RuntimeError(f"the references differ by {apart:.1g}")
    compiled = CompiledSeconds()
    inner = np.inf

    def one_call():
        nonlocal inner
        compiled.total = 0.0
        library(*setting, times, calls["tutelage"].args[-1])
        inner = min(inner, compiled.total)

    least, first = measured(calls | {"tutelage": one_call}, seconds)
    integration._advance = compiled.choice
    times_of = {name: f"{1e3 * x:.3g}" for name, x in least.items()}
    best = min(least[name] for name in peers)
    table.add_row(
        f"{unit}, K = M = {units}",
        f"{times_of['tutelage']} ({1e3 * inner:.3g})",
        *(times_of.get(name, "–") for name in PEERS),
        f"{best / least['tutelage']:.2f}",
        ", ".join(f"{1e3 * x:.3g}" for x in first.values()),
        f"{min(errors.values()):.0e} to {max(errors.values()):.0e}",
    )


def side(units):
    """A state of random weights, and calls that compute many right-hand sides, by program."""
    W = np.random.default_rng(3).normal(size=(2 * units, 2 * units + 6)) / np.sqrt(2 * units + 6)
    overlaps = tl.Overlaps.from_weights(W[:units], W[units:])
    committee = tl.Committee(units, tl.ReLU())
    flow, T = Flow(tl.Scenario(committee, committee, overlaps.T)), np.array(overlaps.T)
    y0, count = flow.vector(overlaps)[None], int(2e5 / units**4) + 5
    y = np.concatenate([np.ravel(overlaps.R), np.array(overlaps.Q)[np.triu_indices(units)]])

    def loop(y):
        rates = partial(flow.rates, T=T, rate=Rate(jnp.asarray(0.5)))
        return jax.lax.fori_loop(0, count, lambda _, y: y + 1e-12 * rates(y), y)

    moments = flow.moments  # options as `integration` chooses them, for up to 16 fields
    is_wide = moments.uses_wide_vectors or moments.fits_large_kernel
    options = OLDER_GENERATOR | (WIDE_VECTORS if is_wide else {})
    compiled = jax.jit(one_kernel(loop), compiler_options=options).lower(y0).compile()
    first, second = numba_loops.first_relu, numba_relu.second_relu
    sizes = (units, units, T, 0.5, count)
    return count, {
        "tutelage": lambda: jax.block_until_ready(compiled(y0)),
        "numba": lambda: numba_loops.repeat(first, second, y.copy(), *sizes),
    }


def add_side(table, units, seconds=4.0):
    count, calls = side(units)
    for call in calls.values():
        call()
    least, _ = measured(calls, seconds)
    ours, peer = (1e6 * least[name] / count for name in ("tutelage", "numba"))
    table.add_row(f"K = M = {units}", f"{ours:.3g}", f"{peer:.3g}", f"{peer / ours:.2f}")


def table_of(title, *columns):
    table = Table(title=title)
    for column in columns:
        table.add_column(column)
    return table


if __name__ == "__main__":
    chosen = sys.argv[1:2] or [*SIZES, SIDES]
    sizes = [int(x) for x in sys.argv[2:]]
    console = Console(width=None if sys.stdout.isatty() else 150)
    title = f"one curve, CPU ms at an error of at most {ERROR:g}"
    columns = ("curve", "tutelage (compiled)", *PEERS, "best peer / tutelage", "first of a turn")
    curves = table_of(title, *columns, "errors")
    for unit in chosen:
        for size in (sizes or SIZES[unit]) if unit in SIZES else ():
            add_row(curves, unit, size)
    if curves.rows:
        console.print(curves)
    if SIDES in chosen:
        title = "one right-hand side of ReLUs at a rate, CPU μs"
        sides = table_of(title, "units", "tutelage", "numba", "numba / tutelage")
        for size in sizes or SIZES[WITH_RATE]:
            add_side(sides, size)
        console.print(sides)
