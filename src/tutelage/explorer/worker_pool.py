"""Pool of worker processes: it assigns requests to workers and enforces time limits.

A request goes to a free worker that has already compiled its program, if there is one.  Slow tasks
never take the last worker; finite networks that would wait for them get an extra worker.  A request
that no client waits for is stopped when its worker is needed.  After workers were killed, a request
is answered or refused within `RECOVERY_SECONDS`.  The server itself computes nothing.
"""

import asyncio
import itertools
import math
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tutelage.explorer import frames
from tutelage.explorer.pictures import as_json

# Time limits of requests in seconds, by task; most of the time is compilation.
LIMITS = {"picture": 120.0, "details": 240.0, "runs": 300.0, "data": 120.0}
DEFAULT_LIMIT_SECONDS = 60.0  # limit of all other tasks
SLOW_TASKS = frozenset({"details", "runs", "drawn"})  # tasks that never occupy the last worker
MAX_WAIT_SECONDS = 30.0  # time that a request waits for a worker; ten times as long for slow tasks
MAX_WAITING_JOBS = 200
# Finite networks wait this long for the tasks of other pages; then an extra worker starts, which
# ends after it has been idle.
EXTRA_AFTER_SECONDS, EXTRA_IDLE_SECONDS = 2.0, 60.0
# After this time a request is refused if its worker was killed or replaces a killed worker.
RECOVERY_SECONDS = 25.0
MEMORY_GIGABYTES = 6.0
# Seconds to wait for a worker that has compiled a program, or is compiling it, before another
# worker compiles it as well.
WAIT_IF_COMPILED_SECONDS, WAIT_IF_COMPILING_SECONDS = 1.0, 15.0
# Compiled programs stay in memory: a worker with this many is replaced.
MAX_COMPILED_PROGRAMS = 60
# Seconds before a stale request is stopped: it often ends by itself, and a restart is expensive.
STALE_SECONDS = 1.0
GRACE_SECONDS = 0.5  # time in which a stopped worker may end by itself
TICK_SECONDS = 0.1
WORKER_ENDED = "the process that computed this ended, perhaps for lack of memory; try again"
RECOVERING = (
    "processes ended, perhaps for lack of memory, and new ones have to "
    f"compile this again, which takes longer than {RECOVERY_SECONDS:g} s; try "
    "again in a moment"
)
WORDS = {
    "picture": "a picture",
    "details": "a plateau",
    "runs": "finite networks",
    "data": "data",
    "drawn": "a figure of a paper",
}
START = (
    "import sys; sys.path[:] = {path!r}; "
    "from tutelage.explorer.worker_process import main; main({most})"
)


class Cancelled(Exception):
    """The request was replaced by a newer one, or stopped by the client."""


class Answer(NamedTuple):
    """status: HTTP status; compiled: whether a program was compiled."""

    status: int
    body: bytes
    compiled: bool = False


@dataclass(eq=False)
class Job:
    """A computing task for a worker.

    owner: client and slot; a request with a higher number of the same owner replaces it.
    program: key of the compiled program.
    send_event: callback for intermediate results.
    """

    task: str
    view: str
    state: dict[str, Any]
    owner: tuple[str, str]
    number: int
    program: str
    format: str = ""
    send_event: Callable[[str, bytes], Awaitable[None]] | None = None
    id: int = field(default_factory=itertools.count(1).__next__)
    asked: float = field(default_factory=time.monotonic)
    begun: float = 0.0
    stale: bool = False
    again: bool = False
    refuse_at: float = math.inf  # time of its refusal after workers were killed
    answer: asyncio.Future[Answer] = field(default_factory=asyncio.Future)

    @property
    def key(self) -> tuple[Any, ...]:
        """Key of the compiled programs that the job needs."""
        return (self.view, self.task, self.program)

    @property
    def max_wait(self) -> float:
        """Seconds that the job may wait for a worker."""
        return MAX_WAIT_SECONDS * (10 if self.task in SLOW_TASKS else 1)

    @property
    def max_seconds(self) -> float:
        """Seconds that the job may take."""
        return LIMITS.get(self.task, DEFAULT_LIMIT_SECONDS)

    def cancel(self) -> None:
        self.stale = True
        if not self.answer.done():
            self.answer.set_exception(Cancelled())
            self.answer.exception()  # avoids a warning if no client waits

    def finish(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


def refused(status: int, error: str) -> Answer:
    """Return an answer with the reason of a refusal."""
    return Answer(status, as_json({"error": error, "parameter": None}))


class Worker:
    """A worker process: its state, its job, and the programs that it has compiled."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.ready = False
        self.job: Job | None = None
        self.known: set[tuple[Any, ...]] = set()
        self.ended = ""  # reason why the server stopped it
        self.replaces_killed = False  # until its first answer
        self.extra = False  # an extra worker is not restarted
        self.idle_since = time.monotonic()

    @classmethod
    async def started(cls) -> "Worker":
        code = START.format(path=[*sys.path], most=MEMORY_GIGABYTES)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # the server handles Ctrl-C and stops its workers
            env={**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")},
        )  # fmt: skip
        return cls(process)

    @property
    def free(self) -> bool:
        return self.ready and self.job is None and not self.ended

    def is_worth_waiting_for(self, job: Job, waited: float) -> bool:
        """Return whether waiting for this worker is faster than compiling the program
        on another.
        """
        if self.job is None or self.ended:
            return False
        if job.key in self.known:
            return waited < WAIT_IF_COMPILED_SECONDS
        return self.job.key == job.key and waited < WAIT_IF_COMPILING_SECONDS

    def is_stale(self, now: float) -> bool:
        """Return whether its job was cancelled but did not stop in time."""
        job = self.job
        return job is not None and job.stale and not self.ended and now - job.begun > STALE_SECONDS

    def begin(self, job: Job) -> None:
        self.job, job.begun = job, time.monotonic()
        if self.replaces_killed:
            job.refuse_at = min(job.refuse_at, job.asked + RECOVERY_SECONDS)
        header = {name: getattr(job, name) for name in ("id", "task", "view", "state", "format")}
        self._send(header)

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

    def _send(self, header: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError, RuntimeError):  # it has just ended, which the reader notices
            self.process.stdin.write(frames.packed(header))


class Pool:
    """All workers, and the queue of requests."""

    def __init__(self, count: int):
        self.count = count
        self.workers: list[Worker] = []
        self.waiting: list[Job] = []
        self.latest: dict[tuple[str, str], int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._extra: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def start(self) -> None:
        """Start all workers."""
        lives = [self._run_worker() for _ in range(self.count)]
        self._tasks = [asyncio.create_task(life) for life in (*lives, self._watch())]

    async def close(self) -> None:
        """Stop all workers, and cancel all waiting requests."""
        self._closing.set()
        for job in [*self.waiting, *(w.job for w in self.workers if w.job)]:
            job.cancel()
        for worker in self.workers:
            worker.end("the server has ended")
        *lives, watch = self._tasks
        watch.cancel()
        extra = [] if self._extra is None else [self._extra]
        await asyncio.gather(*lives, *extra, watch, return_exceptions=True)

    async def ask(self, job: Job) -> Answer:
        """Return the answer to a request; raise `Cancelled` if a newer one replaces it."""
        if job.number < self.latest.get(job.owner, job.number):
            raise Cancelled
        self._note(job)
        if len(self.waiting) >= MAX_WAITING_JOBS:
            return refused(503, "too many requests are waiting; try again in a moment")
        for older in self._jobs_of(job.owner):
            self._discard(older)
        self.waiting.append(job)
        self._assign()
        try:
            return await job.answer
        except asyncio.CancelledError:  # the client has gone
            self._discard(job)
            raise

    def _note(self, job: Job) -> None:
        """Record the latest number of each client and slot, for a bounded number of clients."""
        self.latest.pop(job.owner, None)
        self.latest[job.owner] = job.number
        if len(self.latest) > 1000:
            self.latest.pop(next(iter(self.latest)))

    def _jobs_of(self, owner: tuple[str, str]) -> list[Job]:
        """Return the waiting and running jobs of a client and slot."""
        running = [worker.job for worker in self.workers if worker.job is not None]
        return [job for job in (*self.waiting, *running) if job.owner == owner and not job.stale]

    def _discard(self, job: Job) -> None:
        """Cancel a job; ask the worker that runs it to stop."""
        job.cancel()
        if job in self.waiting:
            self.waiting.remove(job)
        for worker in self.workers:
            if worker.job is job:
                worker.ask_to_stop()

    def stop(self, owner: tuple[str, str]) -> int:
        """Cancel the jobs of a client and slot; return their number."""
        jobs = self._jobs_of(owner)
        for job in jobs:
            self._discard(job)
            for worker in self.workers:
                if worker.job is job:
                    loop = asyncio.get_running_loop()
                    loop.call_later(GRACE_SECONDS, self._end_if_still, worker, job)
        return len(jobs)

    def _end_if_still(self, worker: Worker, job: Job) -> None:
        if worker.job is job:
            worker.end("stopped")

    def progress(self, owner: tuple[str, str]) -> dict[str, Any]:
        """Return the status of a client and slot as a text, with the elapsed time."""
        now = time.monotonic()
        for job in self._jobs_of(owner):
            worker = next((w for w in self.workers if w.job is job), None)
            if worker is None:
                words = self._why_waiting()
                return {"state": "waiting", "seconds": now - job.asked, "message": words}
            new = job.key not in worker.known
            words = "compiling: the first picture of its kind takes longer" if new else "computing"
            state = "compiling" if new else "computing"
            return {"state": state, "seconds": now - job.asked, "message": words}
        return {"state": "idle", "seconds": 0.0, "message": ""}

    def _why_waiting(self) -> str:
        """Describe the tasks of the busy workers."""
        if not any(worker.ready for worker in self.workers):
            return "starting"
        tasks = [worker.job.task for worker in self.workers if worker.job is not None]
        busy = " and ".join(dict.fromkeys(WORDS.get(task, "a list") for task in tasks))
        starts = any(not worker.ready for worker in self.workers)
        more = "; another process starts" if starts else ""
        return f"waiting for a process: the others compute {busy}{more}" if busy else "starting"

    def _assign(self) -> None:
        """Assign waiting requests to free workers, in the order of arrival."""
        for job in list(self.waiting):
            worker = self._choice(job)
            if worker is not None:
                self.waiting.remove(job)
                worker.begin(job)

    def _choice(self, job: Job) -> Worker | None:
        free = [worker for worker in self.workers if worker.free]
        if not free or (job.task in SLOW_TASKS and self._is_last(free)):
            return None
        for worker in free:
            if job.key in worker.known:
                return worker
        waited = time.monotonic() - job.asked
        if any(worker.is_worth_waiting_for(job, waited) for worker in self.workers):
            return None
        return min(free, key=lambda worker: len(worker.known))

    def _is_last(self, free: list[Worker]) -> bool:
        long = sum(
            worker.job is not None and worker.job.task in SLOW_TASKS for worker in self.workers
        )
        count = self.count + any(worker.extra and worker.ready for worker in self.workers)
        return count > 1 and long >= count - 1

    async def _watch(self) -> None:
        """Enforce the time limits, periodically."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            for worker in self.workers:
                job = worker.job
                if job is not None and now - job.begun > LIMITS.get(
                    job.task, DEFAULT_LIMIT_SECONDS
                ):
                    seconds = f"{LIMITS.get(job.task, DEFAULT_LIMIT_SECONDS):g} s"
                    worker.end(f"this takes longer than {seconds}, the limit of a request")
            ready = any(worker.ready for worker in self.workers)
            words = "all processes are busy" if ready else "no process could be started in time"
            for job in list(self.waiting):
                if now - job.asked > (job.max_wait if ready else MAX_WAIT_SECONDS):
                    self.waiting.remove(job)
                    job.finish(refused(503, f"{words}; try again in a moment"))
            self._refuse_late(now)
            self._assign()
            self._make_room(now)
            self._start_extra(now)
            self._end_extra(now)

    def _refuse_late(self, now: float) -> None:
        """Refuse requests that are late because workers were killed.

        A worker that runs such a request continues, so that its program is compiled for the next.
        """
        running = [worker.job for worker in self.workers if worker.job is not None]
        for job in [job for job in (*self.waiting, *running) if now > job.refuse_at]:
            if job in self.waiting:
                self.waiting.remove(job)
            job.finish(refused(503, RECOVERING))
            job.stale = True

    def _start_extra(self, now: float) -> None:
        """Start an extra worker if finite networks have to wait for tasks of other pages."""
        late = [
            job.task == "runs" and now - job.asked > EXTRA_AFTER_SECONDS for job in self.waiting
        ]
        if any(late) and self._extra is None:
            self._extra = asyncio.create_task(self._run_worker(extra=True))

    def _end_extra(self, now: float) -> None:
        """Stop an extra worker after it has been idle."""
        if self._extra is not None and self._extra.done():
            self._extra = None
        if self._extra is None or len(self.workers) <= self.count:
            return
        for worker in self.workers:
            if worker.extra and worker.free and now - worker.idle_since > EXTRA_IDLE_SECONDS:
                worker.end("it was no longer needed")

    def _make_room(self, now: float) -> None:
        """Stop stale jobs if other requests wait for their workers."""
        waiting = [job for job in self.waiting if now - job.asked > TICK_SECONDS]
        stale = [worker for worker in self.workers if worker.is_stale(now)]
        for worker, job in zip(stale, waiting, strict=False):
            # A worker that compiles the program of a waiting request is not stopped.
            assert worker.job is not None
            if worker.job.key != job.key or worker.job.key in worker.known:
                worker.end("stopped")

    async def _run_worker(self, extra: bool = False) -> None:
        """Run one worker; restart its process when it exits, unless it is an extra one."""
        killed = False
        while not self._closing.is_set():
            begun = time.monotonic()
            worker = await Worker.started()
            worker.extra, worker.replaces_killed = extra, killed
            self.workers.append(worker)
            if not self._closing.is_set():
                await self._listen(worker)
            worker.end(WORKER_ENDED)
            self.workers.remove(worker)
            self._handle_loss(worker, await worker.gone())
            killed = worker.ended == WORKER_ENDED
            if extra:
                return
            if not worker.ready and time.monotonic() - begun < 5.0:
                with suppress(asyncio.TimeoutError):  # limits the rate of restarts
                    await asyncio.wait_for(self._closing.wait(), 1.0)

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
                await self._told(worker, worker.job, header, body)
            self._assign()

    async def _told(self, worker: Worker, job: Job, header: dict[str, Any], body: bytes) -> None:
        worker.replaces_killed, job.refuse_at = False, math.inf  # the worker has answered
        if header["kind"] == "event":
            if header["event"] == "traces":  # compilation is finished
                worker.known.add(job.key)
            if job.send_event is not None and not job.stale:
                await job.send_event(header["event"], body)
            return
        if header["status"] == 200:
            worker.known.add(job.key)
        worker.job, worker.idle_since = None, time.monotonic()
        job.finish(Answer(header["status"], body, header["compiled"]))
        if len(worker.known) >= MAX_COMPILED_PROGRAMS:
            worker.end("another process replaces it")

    def _handle_loss(self, worker: Worker, code: int) -> None:
        """Handle the loss of a worker: another worker retries its job once."""
        job, worker.job = worker.job, None
        if job is None:
            return
        if worker.ended == WORKER_ENDED and not job.again and not job.stale:
            job.again = True
            job.asked = time.monotonic()
            job.refuse_at = job.asked + RECOVERY_SECONDS
            self.waiting.insert(0, job)
            return
        job.finish(refused(503 if code else 500, worker.ended))
