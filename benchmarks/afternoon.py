"""One curve against programs that are written in an afternoon (`benchmarks/peers`), on one core.

    make bench
    python benchmarks/afternoon.py erf 4 8    # some of the rows

All numbers are CPU milliseconds of a warm call, the least of several.  The programs run in turn,
each of them CALLS_OF_A_TURN times; the first calls of the turns, for which the other programs have
filled the caches of the processor, are listed separately.  Each program has the widest tolerance,
of half powers of ten, with which its largest error at 401 times is at most ERROR; errors are
differences from the same program with a tolerance of 1e-12, and these references have to agree.
"""

import os
import sys
import time
from functools import partial

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
from peers import diffrax_program, numba_loops, scipy_program
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jax
from tutelage.online import integration

ERROR, REFERENCE = 1e-6, 1e-12
CALLS_OF_A_TURN = 6
TOLERANCES = 10.0 ** np.arange(-5, -11.5, -0.5)
UNITS = {"erf": tl.Erf(), "relu": tl.ReLU()}
PEERS = {
    "numba": numba_loops.curve,
    "diffrax": diffrax_program.curve,
    "NumPy, SciPy": scipy_program.curve,
}


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
    eta, until = (0.5, 1000.0) if unit == "erf" else (0, 60.0)
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
    curves, calls, errors, references = {"tutelage": library, **PEERS}, {}, {}, {}
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
    best = min(least[name] for name in PEERS)
    table.add_row(
        f"{unit}, K = M = {units}",
        f"{times_of['tutelage']} ({1e3 * inner:.3g})",
        *(times_of[name] for name in PEERS),
        f"{best / least['tutelage']:.2f}",
        ", ".join(f"{1e3 * x:.3g}" for x in first.values()),
        f"{min(errors.values()):.0e} to {max(errors.values()):.0e}",
    )


if __name__ == "__main__":
    units = sys.argv[1:2] or list(UNITS)
    sizes = [int(x) for x in sys.argv[2:]] or [2, 4, 8, 16]
    table = Table(title=f"one curve, CPU ms at an error of at most {ERROR:g}")
    for column in (
        "curve",
        "tutelage (compiled)",
        *PEERS,
        "best peer / tutelage",
        "first of a turn",
        "errors",
    ):
        table.add_column(column)
    for unit in units:
        for size in sizes:
            if unit == "erf" or size < 16:
                add_row(table, unit, size)
    Console(width=None if sys.stdout.isatty() else 150).print(table)
