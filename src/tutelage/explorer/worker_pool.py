"""Pool of worker processes of the explorer: what a page may ask of them, and for how long.

Slow tasks never take the last worker; finite networks that would wait for them get an extra worker.
A request that no client waits for is stopped when its worker is needed.  After workers were killed,
a request is answered or refused within `RECOVERY_SECONDS`.  The server itself computes nothing.
"""

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tutelage.explorer.pictures import as_json
from tutelage.runs import worker_pool
from tutelage.runs.worker_pool import START, WORKER_ENDED, Answer, Worker

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
# Compiled programs stay in memory: a worker with this many is replaced.
MAX_COMPILED_PROGRAMS = 60
# Seconds before a stale request is stopped: it often ends by itself, and a restart is expensive.
STALE_SECONDS = 1.0
GRACE_SECONDS = 0.5  # time in which a stopped worker may end by itself
TICK_SECONDS = 0.1
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
WORKER_MODULE = "tutelage.explorer.worker_process"


class Cancelled(Exception):
    """The request was replaced by a newer one, or stopped by the client."""


@dataclass(eq=False)
class Job(worker_pool.Job):
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
    stale: bool = False
    again: bool = False
    refuse_at: float = math.inf  # time of its refusal after workers were killed

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.view, self.task, self.program)

    @property
    def max_wait(self) -> float:
        """Seconds that the job may wait for a worker."""
        return MAX_WAIT_SECONDS * (10 if self.task in SLOW_TASKS else 1)

    @property
    def max_seconds(self) -> float:
        """Seconds that the job may take."""
        return LIMITS.get(self.task, DEFAULT_LIMIT_SECONDS)

    def message(self) -> tuple[dict[str, Any], bytes]:
        names = ("task", "view", "state", "format")
        return {name: getattr(self, name) for name in names}, b""

    def cancel(self) -> None:
        self.stale = True
        if not self.answer.done():
            self.answer.set_exception(Cancelled())
            self.answer.exception()  # avoids a warning if no client waits


def refused(status: int, error: str) -> Answer:
    """Return an answer with the reason of a refusal."""
    return Answer(status, as_json({"error": error, "parameter": None}))


class Pool(worker_pool.Pool):
    """All workers, and the queue of requests."""

    def __init__(self, count: int):
        path = [*sys.path]
        code = START.format(path=path, module=WORKER_MODULE, gigabytes=MEMORY_GIGABYTES)
        super().__init__(count, code)
        self.latest: dict[tuple[str, str], int] = {}
        self._extra: asyncio.Task[None] | None = None

    def start(self) -> None:
        super().start()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        self._watching.cancel()
        if self._extra is not None:
            self._tasks.append(self._extra)
        await super().close()

    async def ask(self, job: Job) -> Answer:
        """Return the answer to a request; raise `Cancelled` if a newer one replaces it."""
        if job.number < self.latest.get(job.owner, job.number):
            raise Cancelled
        self._note(job)
        if len(self.waiting) >= MAX_WAITING_JOBS:
            return refused(503, "too many requests are waiting; try again in a moment")
        for older in self._jobs_of(job.owner):
            self.discard(older)
        return await super().ask(job)

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

    def stop(self, owner: tuple[str, str]) -> int:
        """Cancel the jobs of a client and slot; return their number."""
        jobs = self._jobs_of(owner)
        for job in jobs:
            self.discard(job)
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
            new = self.compiled.rank(worker, job.key) > 0
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

    def begin(self, worker: Worker, job: Job) -> None:
        super().begin(worker, job)
        if worker.replaces_killed:
            job.refuse_at = min(job.refuse_at, job.asked + RECOVERY_SECONDS)

    def choice(self, job: Job, free: list[Worker]) -> Worker | None:
        if job.task in SLOW_TASKS and self._is_last():
            return None
        return super().choice(job, free)

    def _is_last(self) -> bool:
        """Return whether slow tasks have all workers but one."""
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
                if job is not None and now - job.begun > job.max_seconds:
                    seconds = f"{job.max_seconds:g} s"
                    worker.end(f"this takes longer than {seconds}, the limit of a request")
            ready = any(worker.ready for worker in self.workers)
            words = "all processes are busy" if ready else "no process could be started in time"
            for job in list(self.waiting):
                if now - job.asked > (job.max_wait if ready else MAX_WAIT_SECONDS):
                    self.waiting.remove(job)
                    job.finish(refused(503, f"{words}; try again in a moment"))
            self._refuse_late(now)
            self.assign()
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
        stale = [worker for worker in self.workers if _is_stale(worker, now)]
        for worker, job in zip(stale, waiting, strict=False):
            # A worker that compiles the program of a waiting request is not stopped.
            compiles = self.compiled.rank(worker, worker.job.key) > 0
            if worker.job.key != job.key or not compiles:
                worker.end("stopped")

    async def handle_message(
        self, worker: Worker, job: Job, header: dict[str, Any], body: bytes
    ) -> None:
        worker.replaces_killed, job.refuse_at = False, math.inf  # the worker has answered
        if header["kind"] == "event":
            if header["event"] == "traces":  # compilation is finished
                self.compiled.add(worker, job.key)
            if job.send_event is not None and not job.stale:
                await job.send_event(header["event"], body)
            return
        await super().handle_message(worker, job, header, body)
        if self.compiled.count(worker) >= MAX_COMPILED_PROGRAMS:
            worker.end("another process replaces it")

    def handle_loss(self, worker: Worker, job: Job, code: int) -> None:
        """Let another worker retry the job, once."""
        if worker.ended == WORKER_ENDED and not job.again and not job.stale:
            job.again = True
            job.asked = time.monotonic()
            job.refuse_at = job.asked + RECOVERY_SECONDS
            self.waiting.insert(0, job)
            return
        job.finish(refused(503 if code else 500, worker.ended))


def _is_stale(worker: Worker, now: float) -> bool:
    """Return whether the job of a worker was cancelled but did not stop in time."""
    job = worker.job
    return job is not None and job.stale and not worker.ended and now - job.begun > STALE_SECONDS
