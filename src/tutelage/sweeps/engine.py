"""Groups handed to whoever computes them: this process, or the workers of a Dask cluster."""

import time
import warnings
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
# What is called for a group: a function of the package that returns a result and its seconds.
Work = Callable[[Group], tuple[Callable[..., tuple[Any, float]], tuple]]
# Groups that each worker has: one that it works on, and one that waits for it.
EACH = 2
# Seconds between two looks at which workers there are.
LOOK = 1.0
# Workers that may be lost with a group, killed or out of memory, before it is given up.
MOST_LOST = 3
KILLED = (
    f"{MOST_LOST} workers were killed that had this point, the last {MOST_LOST - 1} with no other "
    "work, perhaps for want of memory"
)


def finished(
    task: Task, queue: Queue, values: Values, workers: int | str
) -> Iterator[tuple[Group, xr.Dataset]]:
    """All groups of a queue, as they are finished."""
    if workers == 1 or not len(queue):
        while group := queue.take():
            found, seconds = timed(task, values(group))
            queue.took(group, seconds)
            yield group, found
        return
    nothing = xr.Dataset({FAILURE: (POINT, np.array([KILLED]))})
    call = (cluster.versions(), task)
    for group, found in by_workers(
        queue, lambda group: (on_worker, (*call, values(group))), workers
    ):
        yield group, nothing if found is None else found


def on_worker(
    versions: Mapping[str, str], task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[xr.Dataset, float]:
    """What a worker computes; refused by one that came later, with other versions."""
    from distributed import get_worker

    if cluster.versions() != versions:
        cluster.check_same(f"that asked for {get_worker().address}", versions)
    return timed(task, points)


class _Raised(Exception):
    """An error of what a worker computes, to be told from one of the way to it."""


def by_workers(queue: Queue, work: Work, workers: int | str) -> Iterator[tuple[Group, Any]]:
    """Groups that workers have finished, and their results; None for one that ends its workers."""
    if isinstance(workers, int):
        workers = min(workers, max(len(queue), 1))  # more would have nothing to do
    with cluster.connected(workers) as (client, revive):
        try:
            yield from _on_workers(client, revive, queue, work)
        except _Raised as problem:
            raise problem.args[0] from None
        except (OSError, CancelledError):
            words = "the scheduler is gone; what was finished is kept in the store, if there is one"
            raise ConnectionError(words) from None


def _on_workers(
    client: Any, revive: Callable[[], None], queue: Queue, work: Work
) -> Iterator[tuple[Group, Any]]:
    from distributed import TimeoutError as Late, wait

    given: dict[Any, tuple[Group, str]] = {}
    known: set[str] = set()
    lost: Counter[tuple[int, ...]] = Counter()
    while len(queue) or given:
        revive()
        there = list(client.nthreads())
        known |= cluster.checked(client, [address for address in there if address not in known])
        there = [address for address in there if address in known]
        queue.share(there)
        for group in _taken_back(given, there):
            if _is_hopeless(group, queue, lost):
                yield group, None
        _give(client, queue, work, there, given)
        if not given:  # nobody is there yet
            time.sleep(LOOK)
            continue
        try:
            with client.as_current():
                done = wait(list(given), timeout=LOOK, return_when="FIRST_COMPLETED").done
        except Late:
            continue
        for future in done:
            group, _ = given.pop(future)
            if future.status == "error":
                raise _Raised(future.exception())
            found, seconds = future.result()
            queue.took(group, seconds)
            yield group, found


def _give(
    client: Any,
    queue: Queue,
    work: Work,
    there: Sequence[str],
    given: dict[Any, tuple[Group, str]],
) -> None:
    """Hand groups to workers that have less than they could."""
    load: Counter[str] = Counter()
    for busy_with, address in given.values():
        load[address] += EACH if busy_with.alone else 1
    for _ in range(EACH):
        for address in there:
            free = load[address] < EACH
            group = queue.take(address, idle=not load[address]) if free else None
            if group is not None:
                function, arguments = work(group)
                with warnings.catch_warnings():
                    # An argument may be large.
                    warnings.filterwarnings("ignore", message="Sending large graph")
                    future = client.submit(function, *arguments, workers=[address], pure=False)
                given[future] = (group, address)
                load[address] += EACH if group.alone else 1


def _taken_back(given: dict[Any, tuple[Group, str]], there: Sequence[str]) -> list[Group]:
    """Groups of workers that are not there any more."""
    gone = [f for f, (_, address) in given.items() if address not in there and not f.done()]
    groups = [given.pop(future)[0] for future in gone]
    for future in gone:
        future.cancel()
    return groups


def _is_hopeless(group: Group, queue: Queue, lost: Counter[tuple[int, ...]]) -> bool:
    """Whether a single point has ended as many workers as it may; else it waits again.

    A group that has is worked on point by point: the others are not to blame.
    """
    lost[tuple(group.numbers)] += 1
    if lost[tuple(group.numbers)] < MOST_LOST:
        queue.again(group)
    elif len(group.numbers) > 1:
        queue.split(group)
    else:
        return True
    return False
