"""Compute groups in this process, in other processes, or on the workers of a Dask cluster."""

import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import xarray as xr

from tutelage.runs.coordinates import array_variable
from tutelage.sweeps import cluster
from tutelage.sweeps.code import versions, versions_of_process
from tutelage.sweeps.combine import FAILURE
from tutelage.sweeps.compute import Task, timed
from tutelage.sweeps.groups import Group, Queue
from tutelage.sweeps.points import POINT
from tutelage.sweeps.processes import Raised

Values = Callable[[Group], list[tuple[str, dict[str, Any]]]]
# The call for a group: a function of the package, which returns a result and its seconds.
Work = Callable[[Group], tuple[Callable[..., tuple[Any, float]], tuple]]
# Groups per worker: one running and one waiting.  Long groups do not wait at a busy worker.
GROUPS_PER_WORKER, LONG_GROUPS_PER_WORKER = 2, 1
# Intervals at which the list of workers is read, after and before all of them have started.
POLL_SECONDS, START_POLL_SECONDS = 1.0, 0.05
# A group is given up after this many workers that computed it were killed or ran out of memory.
MAX_LOST_WORKERS = 3
KILLED = (
    f"{MAX_LOST_WORKERS} workers with this point were killed, perhaps for lack "
    f"of memory; the last {MAX_LOST_WORKERS - 1} of them had no other work"
)


def finished(
    task: Task, queue: Queue, values: Values, workers: int | str
) -> Iterator[tuple[Group, xr.Dataset]]:
    """Yield the groups of a queue as they are finished."""
    if workers == 1 or not len(queue):
        while group := queue.take():
            result, seconds = timed(task, values(group))
            queue.took(group, seconds)
            yield group, result
        return
    nothing = xr.Dataset({FAILURE: array_variable((POINT,), np.array([KILLED]))})
    is_local = isinstance(workers, int)
    own_versions = versions_of_process() if is_local else versions(task.function)

    def work(group: Group) -> Any:
        return on_process if is_local else on_worker, (own_versions, task, values(group))

    for group, result in by_workers(queue, work, workers, task.function):
        yield group, nothing if result is None else result


def on_worker(
    asked: Mapping[str, str], task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[xr.Dataset, float]:
    """Compute a group on a worker of a cluster; refuse if the worker has other versions."""
    cluster.check_same(_process_name(), asked, versions(task.function))
    return timed(task, points)


def on_process(
    asked: Mapping[str, str], task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[xr.Dataset, float]:
    """Compute a group in a process of this machine; refuse if source files have changed."""
    cluster.check_same(_process_name(), asked, versions_of_process())
    return timed(task, points)


def _process_name() -> str:
    return f"process {os.getpid()} of {platform.node()}"


def by_workers(
    queue: Queue,
    work: Work,
    workers: int | str,
    function: str = "",
    per_worker: int = GROUPS_PER_WORKER,
) -> Iterator[tuple[Group, Any]]:
    """Yield finished groups and their results; None for a group that ends its workers.

    function: workers with other versions of this public function are refused.
    per_worker: number of groups that a worker has at a time.
    """
    if isinstance(workers, int):
        workers = min(workers, max(len(queue), 1))  # further workers would be idle
    with cluster.connected(workers) as connection:
        try:
            expected = workers if isinstance(workers, int) else 1
            yield from _on_workers(connection, queue, work, function, per_worker, expected)
        except Raised as problem:
            raise problem.args[0] from None
        except (OSError, CancelledError):
            words = (
                "the scheduler no longer answers; finished points are in the store, if "
                "one was given"
            )
            raise ConnectionError(words) from None


def _on_workers(
    connection: Any, queue: Queue, work: Work, function: str, per_worker: int, expected: int
) -> Iterator[tuple[Group, Any]]:
    given: dict[Any, tuple[Group, str]] = {}
    addresses: set[str] = set()
    lost: Counter[tuple[int, ...]] = Counter()
    while len(queue) or given:
        present = connection.present()
        new = [address for address in present if address not in addresses]
        addresses |= connection.checked(new, function)
        present = [address for address in present if address in addresses]
        queue.share(present)
        for group in _taken_back(given, present):
            if _is_hopeless(group, queue, lost):
                yield group, None
        _give(connection, queue, work, present, given, per_worker)
        if not given:  # no worker has connected yet
            time.sleep(START_POLL_SECONDS)
            continue
        is_complete = len(present) >= expected
        for future in connection.wait(given, POLL_SECONDS if is_complete else START_POLL_SECONDS):
            group, _ = given.pop(future)
            result, seconds = connection.result(future)
            queue.took(group, seconds)
            yield group, result


def _give(
    connection: Any,
    queue: Queue,
    work: Work,
    present: Sequence[str],
    given: dict[Any, tuple[Group, str]],
    per_worker: int,
) -> None:
    """Submit groups to workers that can take more."""
    load: Counter[str] = Counter()
    for busy_with, address in given.values():
        load[address] += per_worker if busy_with.alone else 1
    for _ in range(per_worker):
        for address in present:
            free = load[address] < per_worker
            group = queue.take(address, idle=not load[address]) if free else None
            if group is not None:
                function, arguments = work(group)
                future = connection.submit(address, function, arguments)
                given[future] = (group, address)
                load[address] += per_worker if group.alone else 1


def _taken_back(given: dict[Any, tuple[Group, str]], present: Sequence[str]) -> list[Group]:
    """Return the groups of workers that have disappeared."""
    gone = [f for f, (_, address) in given.items() if address not in present and not f.done()]
    groups = [given.pop(future)[0] for future in gone]
    for future in gone:
        future.cancel()
    return groups


def _is_hopeless(group: Group, queue: Queue, lost: Counter[tuple[int, ...]]) -> bool:
    """Return whether a point has ended MAX_LOST_WORKERS workers; other groups wait again.

    A larger group that has is split into its points.
    """
    lost[tuple(group.numbers)] += 1
    if lost[tuple(group.numbers)] < MAX_LOST_WORKERS:
        queue.again(group)
    elif len(group.numbers) > 1:
        queue.split(group)
    else:
        return True
    return False
