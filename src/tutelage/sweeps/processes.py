"""Worker processes of a sweep on this machine, with the methods of `cluster.Dask`.

The pool of `runs.worker_pool` runs in a thread.  Workers have one thread each, and share compiled
programs.  They end with this process, however it ends: their input ends with it.
"""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutelage._checks import InputError
from tutelage._memory import GIB, available_memory
from tutelage.runs import program_store, worker_pool
from tutelage.runs.worker_pool import START, Answer, Worker
from tutelage.runs.worker_process import Request, answer_requests

INSTALL = "pip install 'tutelage[sweeps]', or workers=1 for this process alone"
# This many processes per worker may end before they are ready.
MAX_FAILED_STARTS = 10
# A worker may use its share of the memory of this machine, but at least this much: programs reserve
# more than they use.
LEAST_GIB = 2.0
# One thread per worker for JAX (NPROC) and for NumPy.  XLA's own flags for this purpose compile
# other programs, which round differently.
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
OK, FAILED = 200, 500  # status of an answer


class Raised(Exception):
    """An error raised by the computation of a worker, not by the connection to it."""


@dataclass(eq=False, kw_only=True)
class Call(worker_pool.Job):
    """A call for one worker, pickled."""

    body: bytes

    def message(self) -> tuple[dict[str, Any], bytes]:
        return {}, self.body


class Pool(worker_pool.Pool):
    """Worker processes; a call whose worker ends stays unfinished, and its caller cancels it."""

    def handle_loss(self, worker: Worker, job: Call, code: int) -> None:
        pass


class Processes:
    """Worker processes of this machine."""

    def __init__(self, count: int, folder: Path):
        self._count, self._log = count, folder / "workers.log"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._written = self._log.open("ab")
        self._pool = self._run(self._started, folder)

    async def _started(self, folder: Path) -> Pool:
        cpu = os.environ.get("JAX_PLATFORMS", "cpu") == "cpu"
        share = max(available_memory() / GIB / self._count, LEAST_GIB)
        # On a GPU, a process reserves addresses of all memories of the machine.
        code = START.format(path=[*sys.path], module=__name__, gigabytes=share if cpu else None)
        pool = Pool(self._count, code, environment(folder), self._written)
        pool.start()
        return pool

    def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a coroutine function, which runs in the thread of the pool."""
        return asyncio.run_coroutine_threadsafe(function(*arguments), self._loop).result()

    def end(self) -> None:
        """End all processes."""
        self._run(self._closed)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._written.close()

    async def _closed(self) -> None:
        await self._pool.close()
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    def present(self) -> list[str]:
        """Return the names of the workers that are ready; raise an error if they do not start."""
        if self._pool.failed_starts > MAX_FAILED_STARTS * self._count:
            log = self._log.read_text(errors="replace")[-500:]
            raise RuntimeError(f"workers do not start; the end of their log:\n{log}")
        return [_name(worker) for worker in [*self._pool.workers] if worker.ready]

    def checked(self, names: list[str], function: str) -> set[str]:
        """Return the workers with the versions of this process: all, on the same machine."""
        return {*names}

    def submit(self, name: str, function: Callable[..., Any], arguments: tuple) -> Future[Answer]:
        """Call a function on a worker."""
        body = _cloudpickle().dumps((function, arguments))

        async def ask() -> Answer:
            worker = next((w for w in self._pool.workers if _name(w) == name), None)
            if worker is None:  # it has just ended
                await asyncio.Future()
            return await self._pool.ask(Call(worker=worker, body=body))

        return asyncio.run_coroutine_threadsafe(ask(), self._loop)

    def wait(self, futures: Collection[Future[Answer]], seconds: float) -> Collection[Any]:
        """Wait until a call is finished; return all finished calls."""
        return wait(futures, seconds, FIRST_COMPLETED).done

    def result(self, future: Future[Answer]) -> Any:
        """Return the result of a finished call; raise `Raised` for an error of its computation."""
        answer = future.result()
        result = _cloudpickle().loads(answer.body)
        if answer.status == FAILED:
            raise Raised(result)
        return result


def _cloudpickle() -> Any:
    """Import cloudpickle, which also pickles functions of a script, lazily."""
    import cloudpickle  # type: ignore[import-untyped]

    return cloudpickle


def _name(worker: Worker) -> str:
    return f"process {worker.process.pid}"


def environment(folder: Path) -> dict[str, str]:
    """Return the environment variables of workers.

    Workers share the compiled programs that this package stores for every process.  Without that
    store JAX keeps programs in the folder.
    """
    # On a GPU each worker takes memory as it needs it, instead of most of the memory at its start.
    preallocate = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    shared = {"XLA_PYTHON_CLIENT_PREALLOCATE": preallocate}
    if not program_store.is_on():
        cache = os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(folder / "compiled")
        shared["JAX_COMPILATION_CACHE_DIR"] = cache
    return {**ONE_THREAD, **shared}


@contextmanager
def started(count: int) -> Iterator[Processes]:
    """Start worker processes; end them at the end of the block."""
    try:
        _cloudpickle()
    except ImportError:
        allowed = "more than one worker needs cloudpickle, which is not installed"
        raise InputError("workers", repr(count), allowed, INSTALL) from None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        processes = Processes(count, Path(folder))
        try:
            yield processes
        finally:
            processes.end()


def main(gigabytes: float | None) -> None:
    """Answer the calls of a sweep until the input ends."""
    import tutelage.online.trajectory
    import tutelage.sweeps.engine  # what nearly every call needs  # noqa: F401

    answer_requests(_respond, gigabytes)


def _respond(request: Request) -> tuple[dict[str, Any], bytes]:
    try:
        function, arguments = _cloudpickle().loads(request.body)
        return {"status": OK}, _cloudpickle().dumps(function(*arguments))
    except Exception as problem:
        return {"status": FAILED}, _pickled_error(problem)


def _pickled_error(problem: Exception) -> bytes:
    """Pickle an error; one that cannot be restored becomes a RuntimeError of the same message."""
    try:
        body = _cloudpickle().dumps(problem)
        _cloudpickle().loads(body)
    except Exception:
        body = _cloudpickle().dumps(RuntimeError(f"{type(problem).__name__}: {problem}"))
    return body
