"""Groups handed to whoever computes them: this process, or the workers of a Dask cluster."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import xarray as xr

from tutelage.sweeps import cluster
from tutelage.sweeps.compute import Task, timed
from tutelage.sweeps.groups import Group, Queue
from tutelage.sweeps.pieces import FAILURE
from tutelage.sweeps.points import POINT

Values = Callable[[Group], list[tuple[str, dict[str, Any]]]]
Finished = Iterator[tuple[Group, xr.Dataset]]
# Groups that each worker has: one that it works on, and one that waits for it.
EACH = 2
# Seconds between two looks at which workers there are.
LOOK = 1.0


def finished(task: Task, queue: Queue, values: Values, workers: int | str) -> Finished:
    """All groups of a queue, as they are finished."""
    if workers == 1 or not len(queue):
        yield from _in_this_process(task, queue, values)
        return
    with cluster.connected(workers) as (client, revive):
        try:
            yield from _on_workers(client, revive, task, queue, values)
        except (OSError, CancelledError):
            words = "the scheduler is gone; what was finished is kept in the store, if there is one"
            raise ConnectionError(words) from None


def _in_this_process(task: Task, queue: Queue, values: Values) -> Finished:
    while group := queue.take():
        found, seconds = timed(task, values(group))
        queue.took(group, seconds)
        yield group, found


def _on_workers(
    client: Any, revive: Callable[[], None], task: Task, queue: Queue, values: Values
) -> Finished:
    from distributed import TimeoutError as Late, wait

    given: dict[Any, tuple[Group, str]] = {}
    known: set[str] = set()
    while len(queue) or given:
        revive()
        there = list(client.nthreads())
        known |= cluster.checked(client, [address for address in there if address not in known])
        there = [address for address in there if address in known]
        queue.workers = max(len(there), 1)
        _give(client, task, queue, values, there, given)
        if not given:  # nobody is there yet
            time.sleep(LOOK)
            continue
        try:
            done = wait(list(given), timeout=LOOK, return_when="FIRST_COMPLETED").done
        except Late:
            continue
        for future in done:
            group, _ = given.pop(future)
            found = _found(future, group, queue)
            if found is not None:
                yield group, found


def _give(
    client: Any,
    task: Task,
    queue: Queue,
    values: Values,
    there: Sequence[str],
    given: dict[Any, tuple[Group, str]],
) -> None:
    """Hand groups to workers that have less than they could; another one may take over."""
    load = Counter(address for _, address in given.values())
    for _ in range(EACH):
        for address in there:
            group = queue.take(address) if load[address] < EACH else None
            if group is not None:
                future = client.submit(
                    on_worker,
                    *(cluster.versions(), task, values(group)),
                    workers=[address],
                    allow_other_workers=True,
                    pure=False,
                )
                given[future] = (group, address)
                load[address] += 1


def on_worker(
    versions: Mapping[str, str], task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[xr.Dataset, float]:
    """What a worker computes; refused by one that came later, with other versions."""
    from distributed import get_worker

    if cluster.versions() != versions:
        cluster.check_same(f"that asked for {get_worker().address}", versions)
    return timed(task, points)


def _found(future: Any, group: Group, queue: Queue) -> xr.Dataset | None:
    """The results of a group; None if its points are tried again, each alone."""
    from distributed import KilledWorker

    try:
        found, seconds = future.result()
    except KilledWorker as problem:
        if len(group.numbers) > 1:
            queue.split(group)
            return None
        words = f"its workers were killed, {problem.allowed_failures + 1} of them, perhaps for "
        return xr.Dataset({FAILURE: (POINT, np.array([f"{words}want of memory"]))})
    queue.took(group, seconds)
    return found
