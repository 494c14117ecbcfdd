"""Speed of deep students, after compilation, on two cores, or on a GPU if JAX has one.

    make bench

An iteration is one step of one run.  Ratios are between rows of the same run.
"""

import os
import sys
import time
from itertools import pairwise

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))

from rich.console import Console
from rich.table import Table

from tutelage._jax import jax, jnp
from tutelage.deep import training
from tutelage.deep.plan import plan

TWO_LAYERS = {"hidden": 10, "multiple": 5}
DEEP = {"hidden": "50-75-100-125", "multiple": 10}


def planned(runs, iterations, fresh, hidden, multiple, seed=0):
    return plan(
        hidden,
        multiple,
        1.0,
        inputs=100,
        outputs=50,
        epochs=1,
        examples=16 * iterations,
        evaluation=1,
        batch=16,
        learning_rate=0.01,
        data="gaussian",
        fresh=fresh,
        runs=runs,
        seed=seed,
    )


def seconds(call, repeats=3):
    """Of the fastest of some calls, after one that compiles."""
    jax.block_until_ready(call())
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - begin)
    return min(times)


def together(runs, iterations, fresh):
    what = planned(runs, iterations, fresh, **TWO_LAYERS)
    start = training.begin(what)
    return runs * iterations / seconds(lambda: training.advance(what, start, start.students, 0))


def apart(runs, iterations, fresh):
    """The same number of runs, one after the other; compiled once, as they are all alike."""
    what = [planned(1, iterations, fresh, seed=seed, **TWO_LAYERS) for seed in range(runs)]
    starts = [training.begin(one) for one in what]

    def call():
        pairs = zip(what, starts, strict=True)
        return [training.advance(one, start, start.students, 0) for one, start in pairs]

    return runs * iterations / seconds(call)


def products_per_second(n=1500):
    """Multiplications and additions per second in a product of large matrices."""
    A, product = jnp.ones((n, n)), jax.jit(lambda A: A @ A)
    return 2 * n**3 / seconds(lambda: product(A))


def deep_seconds(iterations):
    what = planned(1, iterations, True, **DEEP)
    start = training.begin(what)
    needed = seconds(lambda: training.advance(what, start, start.students, 0), repeats=2)
    return needed / iterations, operations(what)


def operations(what):
    """Of an iteration: forward, gradients of weights, and of all activations but the inputs."""
    pairs = [list(pairwise(w)) for w in (what.student, what.teacher)]
    student, teacher = (sum(m * n for m, n in layer) for layer in pairs)
    lowest = what.student[0] * what.student[1]
    return 2 * what.batch * (3 * student - lowest + teacher)


if __name__ == "__main__":
    table = Table(title=f"deep students, {jax.devices()[0].device_kind}, float64")
    for column in ("work", "speed", "compared"):
        table.add_column(column)
    for fresh, name in ((False, "fixed set"), (True, "fresh data")):
        batch, single = together(32, 200, fresh), apart(32, 200, fresh)
        table.add_row(
            f"d = 100, 10 teachers, 5x, C = 50, {name}, 32 seeds in one batch",
            f"{batch:.3g} iterations/s",
            f"{batch / single:.2f} times 32 separate runs ({single:.3g}/s); target 5",
        )
    per_step, work = deep_seconds(20)
    rate = products_per_second()
    table.add_row(
        "50-75-100-125, 10x, one run",
        f"{1000 * per_step:.3g} s per 1000 iterations",
        f"{work / per_step / rate:.0%} of the rate of matrix products ({rate / 1e9:.3g} GFlop/s)",
    )
    Console(width=None if sys.stdout.isatty() else 150).print(table)
