"""Worker processes on this machine: a pool starts them, gives them jobs, and replaces lost ones.

A job goes to a free worker that has already compiled its program, if there is one
(`CompiledPrograms`).  A worker whose process ends is restarted; `Pool.handle_loss` decides what
becomes of its job.  The process of the pool computes nothing itself.
"""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from tutelage.runs import frames

# Seconds to wait for a worker that has compiled a program, or is compiling it, before another
# worker compiles it as well.
WAIT_IF_COMPILED_SECONDS, WAIT_IF_COMPILING_SECONDS = 1.0, 15.0
# A process that ends earlier than this without being ready is restarted after RESTART_SECONDS.
SHORT_LIFE_SECONDS, RESTART_SECONDS = 5.0, 1.0
WORKER_ENDED = "the process that computed this ended, perhaps for lack of memory; try again"
# What a worker process runs; `main` answers requests (`worker_process`).  Garbage collection would
# take a fifth of the time of its imports.
START = (
    "import gc, sys; gc.disable(); sys.path[:] = {path!r}; "
    "from {module} import main; main({gigabytes})"
)
# Workers compute on CPU cores, unless the environment chooses otherwise.
ENVIRONMENT_DEFAULTS = {"JAX_PLATFORMS": "cpu"}


class Answer(NamedTuple):
    """status: HTTP status; compiled: whether a program was compiled."""

    status: int
    body: bytes
    compiled: bool = False


class CompiledPrograms:
    """The programs that each worker has compiled."""

    def __init__(self) -> None:
        self._of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)

    def add(self, worker: Hashable, program: Hashable) -> None:
        self._of[worker].add(program)

    def keep(self, workers: Collection[Hashable]) -> None:
        """Drop the programs of all other workers, whose processes have ended."""
        for worker in [worker for worker in self._of if worker not in workers]:
            del self._of[worker]

    def count(self, worker: Hashable) -> int:
        return len(self._of[worker])

    def rank(self, worker: Hashable, program: Hashable) -> int:
        """Return 0 if the worker has compiled the program, 1 if no worker has, 2 if another has.

        >>> compiled = CompiledPrograms()
        >>> compiled.add("a", "ReLU")
        >>> compiled.rank("a", "ReLU"), compiled.rank("a", "Erf"), compiled.rank("b", "ReLU")
        (0, 1, 2)
        """
        if program in self._of[worker]:
            return 0
        return 2 if any(program in programs for programs in self._of.values()) else 1


@dataclass(eq=False, kw_only=True)
class Job:
    """Work for a worker.

    worker: the only worker that may do it; None for any.
    """

    worker: "Worker | None" = None
    id: int = field(default_factory=itertools.count(1).__next__)
    asked: float = field(default_factory=time.monotonic)
    begun: float = 0.0
    answer: asyncio.Future[Answer] = field(default_factory=asyncio.Future)

    @property
    def key(self) -> Hashable:
        """Key of the compiled programs that the job needs."""
        return None

    def message(self) -> tuple[dict[str, Any], bytes]:
        """Return the header and the body of the message to the worker, without the id."""
        raise NotImplementedError

    def cancel(self) -> None:
        self.answer.cancel()

    def finish(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class Worker:
    """A worker process and its job."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.ready = False
        self.job: Any = None
        self.ended = ""  # reason why the pool stopped it
        self.replaces_killed = False  # until its first answer
        self.extra = False  # an extra worker is not restarted
        self.idle_since = time.monotonic()

    @property
    def free(self) -> bool:
        return self.ready and self.job is None and not self.ended

    def begin(self, job: Job) -> None:
        self.job, job.begun = job, time.monotonic()
        header, body = job.message()
        self._send({"id": job.id, **header}, body)

    def ask_to_stop(self) -> None:
        if self.job is not None:
            self._send({"stop": self.job.id})

    def end(self, why: str) -> None:
        """Kill the process; its job is answered with the reason."""
        self.ended = self.ended or why
        # Not `process.kill()`, which polls the exit code first: for a process that has just ended
        # it takes the code away from asyncio, which then prints "Unknown child process".
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    async def gone(self) -> int:
        """Wait for the end of the process; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.process.wait()

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        assert self.process.stdin is not None
        with suppress(OSError, RuntimeError):  # it has just ended, which the reader notices
            self.process.stdin.write(frames.packed(header, body))


class Pool:
    """All workers, and the queue of jobs.

    count: number of workers.
    code: program of a worker process.
    environment: variables that replace those of this process.
    log: file for the standard error of the workers; None for that of this process.
    """

    def __init__(
        self,
        count: int,
        code: str,
        environment: Mapping[str, str] = ENVIRONMENT_DEFAULTS,
        log: IO[bytes] | None = None,
    ):
        self.count = count
        self.workers: list[Worker] = []
        self.waiting: list[Any] = []
        self.compiled = CompiledPrograms()
        self.failed_starts = 0
        self._code, self._environment, self._log = code, environment, log
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = asyncio.Event()

    def start(self) -> None:
        """Start all workers."""
        self._tasks = [asyncio.create_task(self._run_worker()) for _ in range(self.count)]

    async def close(self) -> None:
        """Stop all workers, and cancel all jobs."""
        self._closing.set()
        for job in [*self.waiting, *(w.job for w in self.workers if w.job)]:
            job.cancel()
        for worker in self.workers:
            worker.end("the server has ended")
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def ask(self, job: Any) -> Answer:
        """Return the answer to a job."""
        self.waiting.append(job)
        self.assign()
        try:
            answer: Answer = await job.answer
            return answer
        except asyncio.CancelledError:  # the client has gone
            self.discard(job)
            raise

    def discard(self, job: Job) -> None:
        """Cancel a job; ask the worker that runs it to stop."""
        job.cancel()
        if job in self.waiting:
            self.waiting.remove(job)
        for worker in self.workers:
            if worker.job is job:
                worker.ask_to_stop()

    def assign(self) -> None:
        """Assign waiting jobs to free workers, in the order of arrival."""
        for job in list(self.waiting):
            worker = self.choice(job, [worker for worker in self.workers if worker.free])
            if worker is not None:
                self.waiting.remove(job)
                self.begin(worker, job)

    def begin(self, worker: Worker, job: Any) -> None:
        """Send a job to a free worker."""
        worker.begin(job)

    def choice(self, job: Any, free: list[Worker]) -> Worker | None:
        """Choose one of the free workers for a job; None to wait for another worker."""
        if job.worker is not None:
            return job.worker if job.worker in free else None
        waited = time.monotonic() - job.asked
        if not free:
            return None
        best = min(free, key=lambda w: (self.compiled.rank(w, job.key), self.compiled.count(w)))
        wait = self.compiled.rank(best, job.key) > 0 and any(
            self._is_worth_waiting_for(worker, job, waited) for worker in self.workers
        )
        return None if wait else best

    def _is_worth_waiting_for(self, worker: Worker, job: Job, waited: float) -> bool:
        """Return whether waiting for a worker is faster than compiling the program on another."""
        if worker.job is None or worker.ended:
            return False
        if self.compiled.rank(worker, job.key) == 0:
            return waited < WAIT_IF_COMPILED_SECONDS
        return worker.job.key == job.key and waited < WAIT_IF_COMPILING_SECONDS

    async def _run_worker(self, extra: bool = False) -> None:
        """Run one worker; restart its process when it exits, unless it is an extra one."""
        killed = False
        while not self._closing.is_set():
            begun = time.monotonic()
            try:
                worker = await self._started()
            except OSError:  # no memory, or too many processes
                self.failed_starts += 1
                await self._pause()
                continue
            worker.extra, worker.replaces_killed = extra, killed
            self.workers.append(worker)
            if not self._closing.is_set():
                await self._listen(worker)
            worker.end(WORKER_ENDED)
            self.workers.remove(worker)
            self.compiled.keep(self.workers)
            code, job, worker.job = await worker.gone(), worker.job, None
            if job is not None:
                self.handle_loss(worker, job, code)
            killed = worker.ended == WORKER_ENDED
            if extra:
                return
            if not worker.ready:
                self.failed_starts += 1
                if time.monotonic() - begun < SHORT_LIFE_SECONDS:
                    await self._pause()

    async def _pause(self) -> None:
        """Limit the rate of restarts."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._closing.wait(), RESTART_SECONDS)

    async def _started(self) -> Worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", self._code,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            start_new_session=True,  # this process handles Ctrl-C and stops its workers
            env={**ENVIRONMENT_DEFAULTS, **os.environ, **self._environment},
        )  # fmt: skip
        return Worker(process)

    async def _listen(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        while True:
            try:
                header, body = await frames.received(worker.process.stdout)
            except (asyncio.IncompleteReadError, ValueError, OSError):
                return
            if header["kind"] == "ready":
                worker.ready = True
            elif worker.job is not None and header["id"] == worker.job.id:
                await self.handle_message(worker, worker.job, header, body)
            self.assign()

    async def handle_message(
        self, worker: Worker, job: Any, header: dict[str, Any], body: bytes
    ) -> None:
        """Handle the answer of a worker."""
        worker.replaces_killed = False
        if header["status"] == 200:
            self.compiled.add(worker, job.key)
        worker.job, worker.idle_since = None, time.monotonic()
        job.finish(Answer(header["status"], body, header.get("compiled", False)))

    def handle_loss(self, worker: Worker, job: Any, code: int) -> None:
        """Handle the loss of the worker of a job; its process has ended with an exit code."""
        raise NotImplementedError
