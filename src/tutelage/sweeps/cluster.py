"""A Dask cluster: one of processes on this machine, or the one whose address is given.

The one on this machine is a scheduler in this process, and workers started by ``dask worker`` as
one would start them by hand, each with one thread.  Both listen on the loopback interface alone.
Workers end with this process, however it ends: without a scheduler they close.
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
# Seconds until a scheduler has to answer, and until workers that were asked to end are ended.
ANSWERS, ENDS = 10.0, 5.0
# How often a worker may be started.
MOST_STARTS = 10
# So many processes on a core are more than enough, and so many on any machine are not too many.
PER_CORE, LEAST_ALLOWED = 16, 64
# One thread for each worker, of JAX (NPROC) and of NumPy: it is their number that fills a machine.
# XLA's own flags for this choose other programs, which round otherwise.
ONE_THREAD = {"NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# What the environment may say otherwise: workers compute on cores, where small systems are faster
# than on a GPU; and on one that is asked for each takes memory as it needs it, instead of most of
# it at its start, which would leave nothing for the others.
UNLESS_SAID = {"JAX_PLATFORMS": "cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# A worker that needs too much memory is ended, and not put to sleep before.
AWAKE = {"DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "False"}


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(argument: str, workers: Any, hint: str) -> None:
    """A number of processes that this machine bears; addresses are looked at when one connects."""
    if not isinstance(workers, int) or isinstance(workers, bool):
        return
    positive_integer(argument, workers, hint)
    most = max(LEAST_ALLOWED, PER_CORE * cores())
    if workers > most:
        allowed = f"each is a process of some 300 MB: at most {most} on this machine"
        raise InputError(argument, str(workers), allowed, hint)


@contextmanager
def connected(workers: int | str) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A client of so many workers on this machine, or of the scheduler at an address.

    Beside it, what has to be called now and then: it starts workers again that have ended.
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
        # Not the default of this process: xarray and others would ask it for locks.
        client = Client(address, timeout=ANSWERS, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        allowed = f"no Dask scheduler answers there ({problem})"
        raise InputError("workers", repr(address), allowed, '"tcp://HOST:8786"') from None
    try:
        yield client
    finally:
        with suppress(Exception):  # a scheduler that is gone
            client.close(timeout=ENDS)


@contextmanager
def _local(count: int) -> Iterator["Workers"]:
    """A scheduler in this process, and so many workers beside it."""
    from distributed import LocalCluster

    # No dashboard: its server would be one more thing that listens.
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
    """Processes ``dask worker`` on this machine, each of which watches over one worker.

    In sessions of their own, so that Ctrl-C is heard by this process alone.
    """

    def __init__(self, address: str, count: int, folder: Path):
        self.address, self._folder, self._left = address, folder, MOST_STARTS * count
        self._log = folder / "workers.log"
        self._share = 1 / count  # of the memory
        self._processes = [self._start() for _ in range(count)]

    def revive(self) -> None:
        """Start those again that have ended, as one does whose worker was killed at its start."""
        for place, process in enumerate(self._processes):
            if process.poll() is not None:
                self._left -= 1
                if self._left < 0:
                    said = self._log.read_text(errors="replace")[-500:]
                    raise RuntimeError(f"workers do not start; the last they said:\n{said}")
                self._processes[place] = self._start()

    def end(self) -> None:
        """Ask all to end, and end them."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(ENDS)
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
        kept = os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(self._folder / "compiled")
        environment = {**UNLESS_SAID, **os.environ, **ONE_THREAD, **AWAKE}
        # What one worker has compiled the others need not compile.
        environment |= {"JAX_COMPILATION_CACHE_DIR": kept, "PYTHONPATH": os.pathsep.join(sys.path)}
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


def checked(client: Any, addresses: list[str]) -> set[str]:
    """Workers that answer; one with another tutelage, JAX or Python is refused by its name."""

    def found() -> dict[str, str]:  # not a name of this module, which a worker may not have
        import platform

        try:
            from tutelage.sweeps.code import versions
        except ImportError as problem:
            return {"tutelage": f"none ({problem})", "python": platform.python_version()}
        return versions()

    everyone = client.run(found, workers=addresses, on_error="return") if addresses else {}
    answers = {name: x for name, x in everyone.items() if not isinstance(x, OSError)}  # or it died
    for address, there in answers.items():
        check_same(address, there if isinstance(there, dict) else {"tutelage": str(there)})
    return set(answers)


def check_same(name: str, there: Mapping[str, str]) -> None:
    """Refuse a worker of this name if its versions are not ours."""
    for what, here in versions().items():
        if there.get(what, here) != here:
            received = f"the worker {name}, which has {what} {there[what]}"
            allowed = f"all have to have the same, and here it is {here}"
            raise InputError("workers", received, allowed, "the same environment on all machines")
