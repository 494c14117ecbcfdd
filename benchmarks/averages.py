"""Accuracy and speed of the four-point average of the ReLU, all methods in one table.

    make bench

Errors are largest errors against 30 digits (tests/reference.py), in units of the standard
deviations of the unbounded fields. Speeds are of compiled calls in CPU seconds of one core, the
first call, which compiles, reported apart. Ratios are to the Hermite series of order 10, the method
of citton2025, in the same run.
"""

import os
import platform
import sys
import time
from pathlib import Path

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import numpy as np
from problems import problems
from rich.console import Console
from rich.table import Table
from units import covariances, true_errors

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.averages import Hermite, Orthant, Quadrature

BATCH = 100_000
RELU = problems("i4", tags="relu", without="rounded")
CLASSES = {
    "condition ≤ 1e4": [p for p in RELU if p.condition <= 1e4],
    "1 - |ρ| = 1e-1 … 1e-16": [p for p in RELU if {"near singular"} & p.tags],
    "rank 1, 2, 3": [p for p in RELU if {"rank 1", "rank 2", "rank 3"} & p.tags],
}
# Items in the timed batch: fewer for slower methods, so that each run takes seconds.
METHODS = {
    "orthant": (Orthant(), BATCH),
    "Hermite, order 10": (Hermite(10), 10_000),
    "Hermite, order 20": (Hermite(20), 200),
    "quadrature, 20 nodes": (Quadrature(20), 20),
}


def random_covariances(count: int) -> np.ndarray:
    A = np.random.default_rng(0).normal(size=(count, 4, 4))
    return A @ np.swapaxes(A, -1, -2)


def speed(function, C) -> tuple[float, float]:
    """CPU seconds of the first call, and items per second of the best of three further ones."""
    first = _seconds(function, C)
    best = min(_seconds(function, C) for _ in range(3))
    return first, len(C) / best


def _seconds(function, C) -> float:
    start = time.process_time()
    jax.block_until_ready(function(C))
    return time.process_time() - start


def largest_error(method, members) -> float:
    values = tl.averages.i4(tl.ReLU(), covariances(members), method)
    scales = np.array([max(p.scale, 1e-300) for p in members])
    return float(np.max(true_errors(values, members) / scales))


def table_of_methods() -> Table:
    table = Table(title="⟨θ(u) θ(v) w₊ z₊⟩ by four methods, one core")
    for column in ("method", "per second", "ratio", "first call", *CLASSES):
        table.add_column(column, justify="left" if column == "method" else "right")
    measured = {}
    for name, (method, count) in METHODS.items():
        function = jax.jit(lambda C, m=method: tl.averages.i4(tl.ReLU(), C, m))
        measured[name] = speed(function, jnp.asarray(random_covariances(count)))
    baseline = measured["Hermite, order 10"][1]
    for name, (method, _) in METHODS.items():
        first, rate = measured[name]
        errors = [f"{largest_error(method, members):.1e}" for members in CLASSES.values()]
        table.add_row(name, f"{rate:,.0f}", f"{rate / baseline:.3g}", f"{first:.1f} s", *errors)
    return table


def table_of_calls() -> Table:
    table = Table(title=f"orthant, batch of {BATCH:,}, one core")
    for column in ("call", "per second", "first call"):
        table.add_column(column, justify="left" if column == "call" else "right")
    C = random_covariances(BATCH)
    calls = {
        "i4, compiled": jax.jit(lambda C: tl.averages.i4(tl.ReLU(), C)),
        "i4 as called by a user, covariances checked": lambda C: tl.averages.i4(tl.ReLU(), C),
        "gradient of i4, compiled": jax.jit(
            jax.grad(lambda C: jnp.sum(tl.averages.i4(tl.ReLU(), C)))
        ),
        "i3, compiled": jax.jit(lambda C: tl.averages.i3(tl.ReLU(), C[:, :3, :3])),
        "i2, compiled": jax.jit(lambda C: tl.averages.i2(tl.ReLU(), C[:, :2, :2])),
    }
    for name, call in calls.items():
        first, rate = speed(call, C if "user" in name else jnp.asarray(C))
        table.add_row(name, f"{rate:,.0f}", f"{first:.1f} s")
    return table


def table_of_a_smooth_unit() -> Table:
    """GELU: two fields by quadrature, the others by a series, against a rule over all four."""
    table = Table(title="I4 of GELU, one core")
    for column in ("method", "per second", "ratio", "first call", "largest error estimate"):
        table.add_column(column, justify="left" if column == "method" else "right")
    A = np.random.default_rng(1).normal(size=(200, 4, 12)) / np.sqrt(12)  # norms about one
    C = A @ np.swapaxes(A, -1, -2)
    methods = {"quadrature": ("quadrature", 5), "default (conditional)": (None, len(C))}
    baseline = None
    for name, (method, count) in methods.items():
        function = jax.jit(lambda C, m=method: tl.averages.i4(tl.GELU(), C, m))
        first, rate = speed(function, jnp.asarray(C[:count]))
        baseline = baseline or rate
        error = tl.averages.i4(tl.GELU(), C[:count], method, return_error=True).error
        numbers = f"{rate:,.1f}", f"{rate / baseline:,.0f}", f"{first:.1f} s"
        table.add_row(name, *numbers, f"{np.max(error):.1e}")
    return table


if __name__ == "__main__":
    console = Console(width=None if sys.stdout.isatty() else 140)
    counts = ", ".join(f"{len(members)} with {name}" for name, members in CLASSES.items())
    console.print(f"{platform.machine()}, jax {jax.__version__}; problems: {counts}")
    console.print(table_of_methods())
    console.print(table_of_calls())
    console.print(table_of_a_smooth_unit())
