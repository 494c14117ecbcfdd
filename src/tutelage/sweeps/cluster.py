"""Workers that compute groups: processes of this machine, or those of a Dask cluster."""

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from tutelage._checks import InputError, positive_integer
from tutelage.sweeps import processes
from tutelage.sweeps.code import versions
from tutelage.sweeps.processes import Raised

INSTALL = "pip install 'tutelage[sweeps]', or workers=2 for processes of this machine"
# Seconds in which a scheduler has to answer; seconds in which the connection to it is closed.
ANSWER_SECONDS, END_SECONDS = 10.0, 5.0
# Largest number of workers per core, and a number that is always allowed.
MAX_WORKERS_PER_CORE, ALWAYS_ALLOWED_WORKERS = 16, 64


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
def connected(workers: int | str) -> Iterator[Any]:
    """Connect to new processes of this machine (a number), or to the scheduler at an address.

    Yields `processes.Processes` or `Dask`, which have the same methods.
    """
    if isinstance(workers, int):
        with processes.started(workers) as own:
            yield own
        return
    try:
        from distributed import Client
    except ImportError:
        allowed = "a scheduler needs Dask, which is not installed"
        raise InputError("workers", repr(workers), allowed, INSTALL) from None
    try:
        # Not the default client of this process: xarray and others would ask it for locks.
        client = Client(workers, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        allowed = f"no Dask scheduler answers there ({problem})"
        raise InputError("workers", repr(workers), allowed, '"tcp://HOST:8786"') from None
    try:
        yield Dask(client)
    finally:
        with suppress(Exception):  # the scheduler may have exited
            client.close(timeout=END_SECONDS)


class Dask:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any):
        self.client = client

    def present(self) -> list[str]:
        """Return the addresses of the workers."""
        return list(self.client.nthreads())

    def checked(self, addresses: list[str], function: str) -> set[str]:
        """Return the workers that answer; refuse workers with other versions of the computing
        packages.
        """
        return checked(self.client, addresses, function) if function else {*addresses}

    def submit(self, address: str, function: Callable[..., Any], arguments: tuple) -> Any:
        """Call a function on a worker."""
        with warnings.catch_warnings():
            # An argument may be large, about which Dask would warn.
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(function, *arguments, workers=[address], pure=False)

    def wait(self, futures: Collection[Any], seconds: float) -> Collection[Any]:
        """Wait until a call is finished; return all finished calls."""
        from distributed import TimeoutError, wait

        try:
            with self.client.as_current():
                return wait(list(futures), timeout=seconds, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return ()

    def result(self, future: Any) -> Any:
        """Return the result of a finished call; raise `Raised` for an error of its computation."""
        if future.status == "error":
            raise Raised(future.exception())
        return future.result()


def checked(client: Any, addresses: list[str], function: str) -> set[str]:
    """Return the workers that answer; refuse workers with other versions of the packages that
    compute.
    """

    # defined here, because the worker may lack a name of this module
    def installed_versions(function: str) -> dict[str, str]:
        import platform

        try:
            from tutelage.sweeps.code import versions
        except ImportError as problem:
            return {"tutelage": f"none ({problem})", "python": platform.python_version()}
        return versions(function)

    everyone = (
        client.run(installed_versions, function, workers=addresses, on_error="return")
        if addresses
        else {}
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


def check_same(name: str, own: Mapping[str, str], other: Mapping[str, str]) -> None:
    """Refuse a worker whose versions differ from those of this process."""
    for what, version in own.items():
        if other.get(what, version) != version:
            received = f"the worker {name}, which has {what} {other[what]}"
            allowed = f"all machines need the same version; this process has {version}"
            raise InputError("workers", received, allowed, "the same environment on all machines")
