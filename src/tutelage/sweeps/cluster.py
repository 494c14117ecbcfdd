"""A Dask cluster: processes on this machine, or a cluster with a given address.

On this machine, the scheduler runs in this process, and workers are started by ``dask worker``,
each with one thread.  Both listen on the loopback interface only.  Workers end with this process,
however it ends: without a scheduler they close.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tutelage._checks import InputError, positive_integer
from tutelage.sweeps.code import versions

LOOPBACK = "127.0.0.1"
INSTALL = "pip install 'tutelage[sweeps]', or workers=1 for this process alone"
# Seconds in which a scheduler has to answer; seconds after which workers that were asked to end are
# killed.
ANSWER_SECONDS, END_SECONDS = 10.0, 5.0
# Each worker may be started this many times.
MAX_STARTS = 10
# Largest number of workers per core, and a number that is always allowed.
MAX_WORKERS_PER_CORE, ALWAYS_ALLOWED_WORKERS = 16, 64
# One thread per worker for JAX (NPROC) and for NumPy.  XLA's own flags for this purpose compile
# other programs, which round differently.
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Defaults that the environment may override: workers compute on CPU cores, where small systems are
# faster; on a GPU each takes memory as it needs it, instead of most of the memory at its start.
ENVIRONMENT_DEFAULTS = {"JAX_PLATFORMS": "cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# A worker that needs too much memory is ended, not paused.
NO_PAUSE = {"DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "False"}


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(argument: str, workers: object, hint: str) -> None:
    """Refuse more processes than the memory of this machine allows; an address is checked on
    connection.
    """
    if not isinstance(workers, int) or isinstance(workers, bool):
        return
    positive_integer(argument, workers, hint)
    most = max(ALWAYS_ALLOWED_WORKERS, MAX_WORKERS_PER_CORE * cores())
    if workers > most:
        allowed = f"each is a process of some 300 MB: at most {most} on this machine"
        raise InputError(argument, str(workers), allowed, hint)


@contextmanager
def connected(workers: int | str) -> Iterator[tuple[Any, Callable[[], None]]]:
    """Connect to workers on this machine (a number), or to the scheduler at an address.

    Yields a client, and a function to call from time to time: it restarts workers that have ended.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        allowed = "more than one worker needs Dask, which is not installed"
        raise InputError("workers", repr(workers), allowed, INSTALL) from None
    with ExitStack() as stack:
        if isinstance(workers, str):
            yield stack.enter_context(_client(workers)), lambda: None
        else:
            local = stack.enter_context(_local(workers))
            yield stack.enter_context(_client(local.address)), local.revive


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from distributed import Client

    try:
        # Not the default client of this process: xarray and others would ask it for locks.
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        allowed = f"no Dask scheduler answers there ({problem})"
        raise InputError("workers", repr(address), allowed, '"tcp://HOST:8786"') from None
    try:
        yield client
    finally:
        with suppress(Exception):  # the scheduler may have exited
            client.close(timeout=END_SECONDS)


@contextmanager
def _local(count: int) -> Iterator["Workers"]:
    """Run a scheduler in this process and a number of workers."""
    from distributed import LocalCluster

    # Without a dashboard, which would be another server.
    options = {"n_workers": 0, "host": LOOPBACK, "dashboard_address": None, "silence_logs": 50}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LocalCluster(**options) as scheduler,
    ):
        workers = Workers(scheduler.scheduler_address, count, Path(folder))
        try:
            yield workers
        finally:
            workers.end()


class Workers:
    """Processes ``dask worker`` on this machine, each of which supervises one worker.

    They run in separate sessions, so that only this process receives Ctrl-C.
    """

    def __init__(self, address: str, count: int, folder: Path):
        self.address, self._folder, self._left = address, folder, MAX_STARTS * count
        self._log = folder / "workers.log"
        self._share = 1 / count  # fraction of the memory
        self._processes = [self._start() for _ in range(count)]

    def revive(self) -> None:
        """Restart the processes that have ended."""
        for place, process in enumerate(self._processes):
            if process.poll() is not None:
                self._left -= 1
                if self._left < 0:
                    log = self._log.read_text(errors="replace")[-500:]
                    raise RuntimeError(f"workers do not start; the end of their log:\n{log}")
                self._processes[place] = self._start()

    def end(self) -> None:
        """Terminate all processes, and kill those that do not end."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _start(self) -> subprocess.Popen:
        options = {
            "--nthreads": 1,
            "--host": LOOPBACK,
            "--local-directory": self._folder,
            "--memory-limit": f"{self._share:.4f}",
            "--death-timeout": 30,
        }
        words = [str(x) for option in options.items() for x in option]
        cache = os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(self._folder / "compiled")
        environment = {**ENVIRONMENT_DEFAULTS, **os.environ, **ONE_THREAD, **NO_PAUSE}
        # Workers share compiled programs.
        environment |= {"JAX_COMPILATION_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, *words]
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*command, "--no-dashboard"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def checked(client: Any, addresses: list[str], function: str) -> set[str]:
    """Return the workers that answer; refuse workers with other versions of the packages that
    compute.
    """

    # defined here, because the worker may lack a name of this module
    def found(function: str) -> dict[str, str]:
        import platform

        try:
            from tutelage.sweeps.code import versions
        except ImportError as problem:
            return {"tutelage": f"none ({problem})", "python": platform.python_version()}
        return versions(function)

    everyone = (
        client.run(found, function, workers=addresses, on_error="return") if addresses else {}
    )
    answers = {
        name: x for name, x in everyone.items() if not isinstance(x, OSError)
    }  # a worker that died gives an exception
    for address, worker_versions in answers.items():
        worker_versions = (
            worker_versions
            if isinstance(worker_versions, dict)
            else {"tutelage": str(worker_versions)}
        )
        check_same(address, versions(function), worker_versions)
    return set(answers)


def check_same(name: str, here: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse a worker whose versions differ from those of this process."""
    for what, version in here.items():
        if there.get(what, version) != version:
            received = f"the worker {name}, which has {what} {there[what]}"
            allowed = f"all machines need the same version; this process has {version}"
            raise InputError("workers", received, allowed, "the same environment on all machines")
