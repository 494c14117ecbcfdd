"""Sweeps: against the loop that a user would write, what a group costs, many trivial points.

    make bench

Seconds are those of a clock, on a machine that should have nothing else to do; CPU seconds are
those of all processes that were started.  ``--rates 3`` is a tenth of the points, and ``--workers
1,2,4`` other numbers of workers.  Each work is done three times in new processes: with nothing
compiled, with the programs that the first time has stored, and once more with these, where only the
second pass of the process counts.  How work is shared by many workers, without the loop and the
trivial points:

    python benchmarks/sweeps.py --scaling --rates 200 --workers 1,2,4,8,16

When each worker starts and computes each group, with the programs that are stored:

    python benchmarks/sweeps.py --timeline --rates 200 --workers 2
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)

import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage.sweeps import cluster, engine

UNITS = {"ReLU": tl.ReLU(), "Erf": tl.Erf(), "LeakyReLU(0.2)": tl.LeakyReLU(0.2)}
UNTIL = 200.0


def grid(rates):
    return {
        "learning_rate": np.linspace(0.05, 1.2, rates).tolist(),
        "weight_decay": [0.0, *np.geomspace(1e-5, 1e-1, 9).tolist()],
        "activation": list(UNITS.values()),
    }


def scenario_of(unit, decay=0.0):
    two = tl.Committee(2, unit)
    return tl.Scenario(two, two, weight_decay=decay)


def start():
    return tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 1e-3]], T=np.eye(2))


def loop(over):
    """What a user would write: one run after the other, the last error of each."""
    return [
        float(
            tl.online.evolve(
                scenario_of(unit, decay), start(), rate, until=UNTIL
            ).generalization_error[-1]
        )
        for unit in over["activation"]
        for decay in over["weight_decay"]
        for rate in over["learning_rate"]
    ]


def swept(over, workers):
    return tl.sweeps.run(
        tl.online.evolve,
        over,
        scenario=scenario_of(tl.ReLU()),
        start=start(),
        until=UNTIL,
        keep=tl.sweeps.last("generalization_error"),
        workers=workers,
    )


def apart(*arguments):
    """A part of this script in a new process, without and with stored programs.

    Returns for each the seconds of a clock and of processors, and then the CPU seconds of a second
    pass, for which all programs are loaded.
    """
    results = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TUTELAGE_PROGRAMS": f"{folder}/programs"}
        for _ in range(2):
            begun, before = time.perf_counter(), os.times()
            command = [sys.executable, __file__, *map(str, arguments)]
            subprocess.run(command, check=True, env=environment)
            after = os.times()
            used = after.children_user + after.children_system
            used -= before.children_user + before.children_system
            results += [f"{time.perf_counter() - begun:.0f}", f"{used:.1f}"]
        command.append("--again")
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    return [*results, done.stdout.strip()]


def trivial(count, workers):
    """Points that cost nothing: seconds, and memory of this process."""
    import resource

    over = {"tolerance": np.linspace(0.01, 1.0, count).tolist()}
    begun = time.perf_counter()
    tl.sweeps.run(tl.spectra.negative_fraction, over, eigenvalues=[-1.0, 2.0], workers=workers)
    seconds = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, memory


def overhead(groups=200):
    """Seconds for each group of one point that costs nothing, by numbers of workers."""
    from tutelage.sweeps import study

    class Single(engine.Queue):
        def _count(self, shape):
            return 1

    result, usual, seen = {}, study.Queue, engine.finished
    over = {"tolerance": np.linspace(0.01, 1.0, groups).tolist()}
    for workers in (1, 2):
        times = []

        def watched(*arguments, times=times):
            for done in seen(*arguments):
                times.append(time.perf_counter())
                yield done

        study.Queue, engine.finished = Single, watched
        tl.sweeps.run(tl.spectra.negative_fraction, over, eigenvalues=[-1.0, 2.0], workers=workers)
        result[workers] = (times[-1] - times[groups // 4]) / (groups - groups // 4)
    study.Queue, engine.finished = usual, seen
    return result


def with_times(asked, task, points):
    """Compute a group in a worker; the result has the process, and when it began and ended."""
    from tutelage.sweeps import engine

    begun, cpu = time.time(), time.process_time()
    result, seconds = engine.on_process(asked, task, points)
    times = (os.getpid(), begun, time.time(), cpu, time.process_time() - cpu)
    return result.assign_attrs(times=times), seconds


def timeline(over, workers):
    """Print when workers computed their groups, in seconds after the start of the sweep."""
    begun, seen, groups = time.time(), engine.finished, []

    def watched(*arguments):
        for group, result in seen(*arguments):
            groups.append((group, result.attrs.pop("times")))
            yield group, result

    engine.on_process, engine.finished = with_times, watched
    swept(over, workers)
    total = time.time() - begun
    columns = ("worker", "begin", "end", "points", "CPU ms per point", "CPU seconds before")
    table = Table(*columns, title=f"{workers} workers, {total:.2f} s")
    for group, (process, first, last, before, cpu) in sorted(groups, key=lambda x: x[1]):
        count = len(group.numbers)
        table.add_row(
            str(process), f"{first - begun:.2f}", f"{last - begun:.2f}", str(count),
            f"{1e3 * cpu / count:.2f}", f"{before:.2f}",
        )  # fmt: skip
    Console().print(table)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rates", type=int, default=30)
    options.add_argument("--scaling", action="store_true")
    options.add_argument("--timeline", action="store_true")
    options.add_argument(
        "--workers", default=",".join(str(n) for n in sorted({1, cluster.cores()}))
    )
    options.add_argument("--part", default="")
    options.add_argument("--again", action="store_true")
    given = options.parse_args()
    over = grid(given.rates)
    if given.part:
        for _ in range(1 + given.again):
            before = sum(os.times()[:4])
            loop(over) if given.part == "loop" else swept(over, int(given.part))
        if given.again:
            print(f"{sum(os.times()[:4]) - before:.2f}")
        return
    if given.timeline:
        timeline(over, int(given.workers.split(",")[-1]))
        return
    rates = ["--rates", given.rates]
    count = int(np.prod([len(x) for x in over.values()]))
    table = Table(
        "work",
        "seconds",
        "CPU seconds",
        "seconds, programs stored",
        "CPU seconds",
        "CPU seconds, programs loaded",
        title=f"{count} points of evolve, K = M = 2, α = {UNTIL:g}",
    )
    if not given.scaling:
        table.add_row("the loop of a user", *apart("--part", "loop", *rates))
    for workers in given.workers.split(","):
        words = f"tl.sweeps.run, {workers} worker{'s' * (workers != '1')}"
        table.add_row(words, *apart("--part", workers, *rates))
    if not given.scaling:
        _trivial_rows(table)
    Console().print(table)


def _trivial_rows(table, points=100_000):
    for workers, seconds in overhead().items():
        table.add_row(f"a group of one trivial point, {workers} worker(s)", f"{seconds:.4f}")
    for workers in (1, 2):
        seconds, memory = trivial(points, workers)
        table.add_row(f"{points} trivial points, {workers} worker(s)", f"{seconds:.1f}")
        table.add_row("memory of this process, in GiB", f"{memory:.2f}")


if __name__ == "__main__":
    main()
