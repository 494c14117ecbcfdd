"""Speed of deep students, after compilation, on two cores, or on a GPU if JAX has one.

    make bench

An iteration is one step of one run.  Rows that are compared are measured in turn, and the fastest
of some repeats counts.  Seconds are CPU seconds of all cores together; on a GPU, of the clock.
"""

import os
import sys
import time
from itertools import pairwise

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))

from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.deep.training import training
from tutelage.deep.training.groups import first_students, groups_of, split_into_groups
from tutelage.deep.training.settings import settings

RUNS = 32
TWO_LAYERS = {"hidden": 10, "multiple": 5}
DEEP = {"hidden": "50-75-100-125", "multiple": 10}


def planned(runs, iterations, fresh, hidden, multiple, seed=0, precision="float64"):
    return settings(
        hidden,
        multiple,
        1.0,
        inputs=100,
        outputs=50,
        epochs=1,
        recorded=None,
        examples=16 * iterations,
        evaluation=1,
        batch=16,
        learning_rate=0.01,
        data="gaussian",
        fresh=fresh,
        runs=runs,
        seed=seed,
        precision=precision,
        correlations=False,
    )


def now():
    return time.process_time() if jax.default_backend() == "cpu" else time.perf_counter()


def seconds(*calls, repeats=5):
    """Of the fastest of some repeats of each call, in turn, after one that compiles."""
    times = [[] for _ in calls]
    for repeat in range(1 + repeats):
        for call, mine in zip(calls, times, strict=True):
            begin = now()
            jax.block_until_ready(call())
            if repeat:
                mine.append(now() - begin)
    return [min(mine) for mine in times]


def epoch(what):
    groups = groups_of(what)
    students = split_into_groups(first_students(what), groups)
    return lambda: training.advance(what, groups, students, 0)


def steps(fresh, iterations=625):
    """Iterations per second one run at a time and in one batch: steps and their data."""
    together = epoch(planned(RUNS, iterations, fresh, **TWO_LAYERS))
    apart = [epoch(planned(1, iterations, fresh, seed=i, **TWO_LAYERS)) for i in range(RUNS)]
    times = seconds(lambda: [jax.block_until_ready(one()) for one in apart], together)
    return [RUNS * iterations / t for t in times]


def trainings(fresh, epochs=2):
    """The same for whole calls, with construction and records."""
    sizes = {**TWO_LAYERS, "polarity": 1.0, "epochs": epochs, "fresh": fresh}
    times = seconds(
        lambda: [tl.deep.train(**sizes, runs=1, seed=i).outcome.values for i in range(RUNS)],
        lambda: tl.deep.train(**sizes, runs=RUNS).outcome.values,
        repeats=3,
    )
    return [RUNS * epochs * 625 / t for t in times]


def products_per_second(n=1500):
    """Multiplications and additions per second in a product of large matrices."""
    A, product = jnp.ones((n, n)), jax.jit(lambda A: A @ A)
    return 2 * n**3 / seconds(lambda: product(A))[0]


def operations(what):
    """Of an iteration: forward, gradients of weights, and of all activations but the inputs."""
    pairs = [list(pairwise(w)) for w in (what.student, what.teacher)]
    student, teacher = (sum(m * n for m, n in layer) for layer in pairs)
    lowest = what.student[0] * what.student[1]
    return 2 * what.batch * (3 * student - lowest + teacher)


def compared(table, name, work, rate, alone, together):
    """Two rows, and which part of the rate of products five times the first would take."""
    for how, result in (("one at a time", alone), ("in one batch", together)):
        message = f"{name}, {RUNS} runs {how}", f"{result:.3g}", f"{work * result / rate:.0%}"
        ratio = f"{together / alone:.2f} times; the target, 5, takes {5 * work * alone / rate:.0%}"
        table.add_row(*message, ratio if result == together else "")


def main():
    rate = products_per_second()
    table = Table(
        title=f"deep students, {jax.devices()[0].device_kind}; float64 but where it says; rate of "
        f"products of large matrices {rate / 1e9:.3g} GFlop/s",
        caption="steps: d = 100, 10 teachers, 5x, C = 50, batches of 16, with their data; "
        "calls: deep.train with two epochs, records and construction included",
    )
    for column in ("work", "iterations/s", "of the rate", "compared"):
        table.add_column(column)
    work = operations(planned(1, 1, True, **TWO_LAYERS))
    for what, measured in (("steps", steps), ("calls", trainings)):
        for fresh, name in ((False, "fixed set"), (True, "fresh data")):
            compared(table, f"{what}, {name}", work, rate, *measured(fresh))
    plans = [planned(1, 40, True, **DEEP, precision=one) for one in ("float64", "float32")]
    times = [one / 40 for one in seconds(*map(epoch, plans), repeats=3)]
    for what, per_step in zip(plans, times, strict=True):
        share = f"{operations(what) / per_step / rate:.0%}"
        spent = f"{1000 * per_step:.3g} s per 1000 iterations, {times[0] / per_step:.2f} times"
        name = f"50-75-100-125, 10x, one run, {what.precision}"
        table.add_row(name, f"{1 / per_step:.3g}", share, spent)
    Console(width=None if sys.stdout.isatty() else 150).print(table)


if __name__ == "__main__":
    main()
