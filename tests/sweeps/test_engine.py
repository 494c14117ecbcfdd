"""The groups that workers get, and the groups of killed workers."""

import contextlib
import itertools
import subprocess
import sys

import pytest

from tutelage.runs import program_store
from tutelage.sweeps import cluster, engine, processes
from tutelage.sweeps.groups import Queue


class Future:
    """A group at a worker of `Cluster`."""

    def __init__(self, points, address):
        self.points, self.address = points, address

    def done(self):
        return False

    def cancel(self):
        pass


class Cluster:
    """Workers that compute their groups in order; a point of ``deadly`` ends its worker.

    ended: points that were at work when a worker was killed.
    """

    def __init__(self, count, deadly):
        self.deadly, self.ended, self._workers = deadly, [], {}
        self._count, self._numbers = count, itertools.count()

    def _revive(self):
        while len(self._workers) < self._count:
            self._workers[f"worker {next(self._numbers)}"] = []

    def present(self):
        self._revive()
        return list(self._workers)

    def checked(self, addresses, function):
        return set(addresses)

    def submit(self, address, points, arguments):
        future = Future(points, address)
        self._workers[address].append(future)
        return future

    def wait(self, futures, seconds):
        """One group of each worker is finished, or ends its worker."""
        done = []
        for address, waiting in list(self._workers.items()):
            if waiting and self.deadly & set(waiting[0].points):
                self.ended.append(waiting[0].points)
                del self._workers[address]
            elif waiting:
                done.append(waiting.pop(0))
        return done

    def result(self, future):
        return future.points, 1.0


@pytest.fixture
def computed(monkeypatch):
    """Compute points on workers; the result of each, and the groups that ended a worker."""

    def compute(count, deadly, least):
        workers = Cluster(2, deadly)
        monkeypatch.setattr(cluster, "connected", lambda _: contextlib.nullcontext(workers))
        monkeypatch.setattr(engine, "POLL_SECONDS", 0.0)
        queue = Queue(list(range(count)), ["one shape"] * count, least)
        submitted = engine.by_workers(queue, lambda group: (tuple(group.numbers), ()), 2)
        results = {number: result for group, result in submitted for number in group.numbers}
        return results, workers.ended

    return compute


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("deadly", range(8))
def test_a_point_that_ends_its_workers_is_given_up_and_no_other_point(computed, deadly, least):
    """It may end `MAX_LOST_WORKERS` workers alone, and as many in a group before that."""
    results, ended = computed(8, {deadly}, least)
    assert sorted(results) == list(range(8))
    assert [number for number, result in results.items() if result is None] == [deadly]
    assert ended.count((deadly,)) == engine.MAX_LOST_WORKERS
    together = [points for points in ended if len(points) > 1]
    assert len(together) in (0, engine.MAX_LOST_WORKERS) and all(
        deadly in points for points in together
    )


def test_points_that_wait_behind_one_that_ends_its_workers_are_computed(computed):
    """All workers have a point that ends them, and another one that waits."""
    deadly = {0, 1, 4, 5}
    results, ended = computed(8, deadly, 1)
    assert {number for number, result in results.items() if result is None} == deadly
    assert [ended.count((number,)) for number in sorted(deadly)] == [engine.MAX_LOST_WORKERS] * 4


@pytest.mark.parametrize("is_on", [True, False])
def test_workers_use_the_stored_programs_and_without_them_the_cache_of_jax(
    is_on, tmp_path, monkeypatch
):
    """JAX's own cache switches the store off."""
    monkeypatch.setattr(program_store, "is_on", lambda: is_on)
    assert ("JAX_COMPILATION_CACHE_DIR" in processes.environment(tmp_path)) is not is_on


START = """
import sys
from tutelage.sweeps import engine
from tutelage.sweeps.compute import Task
from tutelage.sweeps.groups import Queue
engine.by_workers = lambda *_: ()
list(engine.finished(Task("online.evolve", {}, None, None), Queue([0], ["one"], 1), list, 2))
print("dask" in sys.modules)
"""


def test_no_import_of_dask_delays_the_start_of_processes():
    """xarray imports it to check for its arrays, which takes 0.4 CPU s."""
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
