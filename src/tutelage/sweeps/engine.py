"""Compute groups in this process, or on the workers of a Dask cluster."""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import xarray as xr

from tutelage.sweeps import cluster
from tutelage.sweeps.code import versions
from tutelage.sweeps.combine import FAILURE
from tutelage.sweeps.compute import Task, timed
from tutelage.sweeps.groups import Group, Queue
from tutelage.sweeps.points import POINT

Values = Callable[[Group], list[tuple[str, dict[str, Any]]]]
# The call for a group: a function of the package, which returns a result and its seconds.
Work = Callable[[Group], tuple[Callable[..., tuple[Any, float]], tuple]]
# Groups per worker: one running and one waiting.
GROUPS_PER_WORKER = 2
# Interval at which the list of workers is read.
POLL_SECONDS = 1.0
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
    nothing = xr.Dataset({FAILURE: (POINT, np.array([KILLED]))})
    own_versions = versions(task.function)

    def work(group: Group) -> Any:
        return on_worker, (own_versions, task, values(group))

    for group, result in by_workers(queue, work, workers, task.function):
        yield group, nothing if result is None else result


def on_worker(
    asked: Mapping[str, str], task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[xr.Dataset, float]:
    """Compute a group on a worker; refuse if the worker has other versions."""
    from distributed import get_worker

    cluster.check_same(get_worker().address, asked, versions(task.function))
    return timed(task, points)


class _Raised(Exception):
    """An error raised by the computation of a worker, not by the connection to it."""


def by_workers(
    queue: Queue, work: Work, workers: int | str, function: str = ""
) -> Iterator[tuple[Group, Any]]:
    """Yield finished groups and their results; None for a group that ends its workers.

    function: workers with other versions of this public function are refused.
    """
    if isinstance(workers, int):
        workers = min(workers, max(len(queue), 1))  # further workers would be idle
    with cluster.connected(workers) as (client, revive):
        try:
            yield from _on_workers(client, revive, queue, work, function)
        except _Raised as problem:
            raise problem.args[0] from None
        except (OSError, CancelledError):
            words = (
                "the scheduler no longer answers; finished points are in the store, if "
                "one was given"
            )
            raise ConnectionError(words) from None


def _on_workers(
    client: Any, revive: Callable[[], None], queue: Queue, work: Work, function: str
) -> Iterator[tuple[Group, Any]]:
    from distributed import TimeoutError as Late, wait

    given: dict[Any, tuple[Group, str]] = {}
    addresses: set[str] = set()
    lost: Counter[tuple[int, ...]] = Counter()
    while len(queue) or given:
        revive()
        present = list(client.nthreads())
        new = [address for address in present if address not in addresses]
        addresses |= cluster.checked(client, new, function) if function else set(new)
        present = [address for address in present if address in addresses]
        queue.share(present)
        for group in _taken_back(given, present):
            if _is_hopeless(group, queue, lost):
                yield group, None
        _give(client, queue, work, present, given)
        if not given:  # no worker has connected yet
            time.sleep(POLL_SECONDS)
            continue
        try:
            with client.as_current():
                finished_futures = wait(
                    list(given), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED"
                ).done
        except Late:
            continue
        for future in finished_futures:
            group, _ = given.pop(future)
            if future.status == "error":
                raise _Raised(future.exception())
            result, seconds = future.result()
            queue.took(group, seconds)
            yield group, result


def _give(
    client: Any,
    queue: Queue,
    work: Work,
    present: Sequence[str],
    given: dict[Any, tuple[Group, str]],
) -> None:
    """Submit groups to workers that can take more."""
    load: Counter[str] = Counter()
    for busy_with, address in given.values():
        load[address] += GROUPS_PER_WORKER if busy_with.alone else 1
    for _ in range(GROUPS_PER_WORKER):
        for address in present:
            free = load[address] < GROUPS_PER_WORKER
            group = queue.take(address, idle=not load[address]) if free else None
            if group is not None:
                function, arguments = work(group)
                with warnings.catch_warnings():
                    # An argument may be large, about which Dask would warn.
                    warnings.filterwarnings("ignore", message="Sending large graph")
                    future = client.submit(function, *arguments, workers=[address], pure=False)
                given[future] = (group, address)
                load[address] += GROUPS_PER_WORKER if group.alone else 1


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
