"""Processes that compute for the server, and the order in which they do.

A request goes to a process that has compiled its program before, if one is free; what takes long
never has the last process, and finite networks that would wait for it get a further process; what
nobody waits for any more is ended when its process is needed; and nothing takes longer than it may.
After processes were killed, a request is answered or refused within `RECOVERY_SECONDS`.  The server
itself computes nothing and is never busy.
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

# Seconds that a request may take in all, by its task: compiling takes most of it.
LIMITS = {"picture": 120.0, "details": 240.0, "runs": 300.0, "data": 120.0}
SHORT = 60.0  # for all other tasks
LONG = frozenset({"details", "runs", "drawn"})  # tasks that never have the last process
WAITING = 30.0  # seconds that a request waits for a process, those that take long ten times that
MOST_WAITING = 200
# Networks that a reader has asked for wait so long for the tasks of other pages; then a further
# process starts, and ends when it has been idle.
EXTRA_AFTER_SECONDS, EXTRA_IDLE_SECONDS = 2.0, 60.0
# A request whose process was killed, or that a process computes which took the place of a killed
# one, is answered or refused within this time.
RECOVERY_SECONDS = 25.0
GIGABYTES = 6.0
# A process that knows a program, or compiles it now, is waited for so long before another one
# compiles it, too.
WORTH_WAITING, WORTH_COMPILING = 1.0, 15.0
# Programs stay in memory: a process that has so many is replaced.
MOST_KNOWN = 60
# A stale request is left alone so long: it is likely to end by itself, and to end it costs a start.
PATIENCE = 1.0
GRACE = 0.5  # seconds that a process has to stop by itself
TICK = 0.1
BY_ITSELF = "the process that computed this has ended, perhaps for lack of memory; try again"
RECOVERING = (
    "processes have ended, perhaps for lack of memory, and new ones have to compile this again, "
    f"which takes longer than {RECOVERY_SECONDS:g} s; try again in a moment"
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
    """A newer request has taken the place of this one, or somebody has stopped it."""


class Answer(NamedTuple):
    """status: of HTTP; compiled: whether something was."""

    status: int
    body: bytes
    compiled: bool = False


@dataclass(eq=False)
class Job:
    """Something to compute.

    owner: client and slot; a newer number of the same owner takes its place.
    program: what is compiled for it.
    tell: called with what is known before the end.
    """

    task: str
    view: str
    state: dict[str, Any]
    owner: tuple[str, str]
    number: int
    program: str
    format: str = ""
    tell: Callable[[str, bytes], Awaitable[None]] | None = None
    id: int = field(default_factory=itertools.count(1).__next__)
    asked: float = field(default_factory=time.monotonic)
    begun: float = 0.0
    stale: bool = False
    again: bool = False
    refuse_at: float = math.inf  # when it is refused because processes were killed
    answer: asyncio.Future[Answer] = field(default_factory=asyncio.Future)

    @property
    def key(self) -> tuple[Any, ...]:
        """What a process knows that has done such a thing before."""
        return (self.view, self.task, self.program)

    @property
    def patience(self) -> float:
        """Seconds that it may wait for a process, where processes are ready."""
        return WAITING * (10 if self.task in LONG else 1)

    @property
    def limit(self) -> float:
        """Seconds that it may take."""
        return LIMITS.get(self.task, SHORT)

    def cancel(self) -> None:
        self.stale = True
        if not self.answer.done():
            self.answer.set_exception(Cancelled())
            self.answer.exception()  # nobody may be there to hear of it

    def finish(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


def refused(status: int, error: str) -> Answer:
    """An answer that says why there is none."""
    return Answer(status, as_json({"error": error, "parameter": None}))


class Worker:
    """One process: ready or not, what it does, and the programs it has compiled."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.ready = False
        self.job: Job | None = None
        self.known: set[tuple[Any, ...]] = set()
        self.ended = ""  # why the server has ended it, in words
        self.replaces_killed = False  # and has answered nothing yet
        self.extra = False  # it is not started again after its end
        self.idle_since = time.monotonic()

    @classmethod
    async def started(cls) -> "Worker":
        code = START.format(path=[*sys.path], most=GIGABYTES)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the server, which ends them all
            env={**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")},
        )  # fmt: skip
        return cls(process)

    @property
    def free(self) -> bool:
        return self.ready and self.job is None and not self.ended

    def is_worth(self, job: Job, waited: float) -> bool:
        """Whether it will soon be free and know the program, so that nobody else compiles it."""
        if self.job is None or self.ended:
            return False
        if job.key in self.known:
            return waited < WORTH_WAITING
        return self.job.key == job.key and waited < WORTH_COMPILING

    def is_stale(self, now: float) -> bool:
        """Whether it is at something that nobody wants, and has had its time to end by itself."""
        job = self.job
        return job is not None and job.stale and not self.ended and now - job.begun > PATIENCE

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
        """At once; what it was doing is answered with the reason."""
        self.ended = self.ended or why
        # Not `process.kill()`, which asks for the exit code before it kills: of a process that has
        # just ended it takes the code away from asyncio, which then prints "Unknown child process".
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    async def gone(self) -> int:
        """Its exit code, once it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.process.wait()

    def _send(self, header: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError, RuntimeError):  # it has just ended, which its reader will notice
            self.process.stdin.write(frames.packed(header))


class Pool:
    """All processes, and what waits for one."""

    def __init__(self, count: int):
        self.count = count
        self.workers: list[Worker] = []
        self.waiting: list[Job] = []
        self.latest: dict[tuple[str, str], int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._extra: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def start(self) -> None:
        """Start all processes; they compute as soon as they are ready."""
        lives = [self._life() for _ in range(self.count)]
        self._tasks = [asyncio.create_task(life) for life in (*lives, self._watch())]

    async def close(self) -> None:
        """End all processes, and everybody who waits."""
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
        """The answer to a request; `Cancelled` if a newer one has taken its place."""
        if job.number < self.latest.get(job.owner, job.number):
            raise Cancelled
        self._note(job)
        if len(self.waiting) >= MOST_WAITING:
            return refused(503, "too many requests are waiting; try again in a moment")
        for older in self._of(job.owner):
            self._discard(older)
        self.waiting.append(job)
        self._assign()
        try:
            return await job.answer
        except asyncio.CancelledError:  # the client has gone
            self._discard(job)
            raise

    def _note(self, job: Job) -> None:
        """The latest number of each client and slot, of as many as are likely to come back."""
        self.latest.pop(job.owner, None)
        self.latest[job.owner] = job.number
        if len(self.latest) > 1000:
            self.latest.pop(next(iter(self.latest)))

    def _of(self, owner: tuple[str, str]) -> list[Job]:
        """What waits or runs for a client and slot."""
        running = [worker.job for worker in self.workers if worker.job is not None]
        return [job for job in (*self.waiting, *running) if job.owner == owner and not job.stale]

    def _discard(self, job: Job) -> None:
        """Nobody wants it any more; a process that is at it goes on until it is needed."""
        job.cancel()
        if job in self.waiting:
            self.waiting.remove(job)
        for worker in self.workers:
            if worker.job is job:
                worker.ask_to_stop()

    def stop(self, owner: tuple[str, str]) -> int:
        """End what runs for a client and slot; how many there were."""
        jobs = self._of(owner)
        for job in jobs:
            self._discard(job)
            for worker in self.workers:
                if worker.job is job:
                    loop = asyncio.get_running_loop()
                    loop.call_later(GRACE, self._end_if_still, worker, job)
        return len(jobs)

    def _end_if_still(self, worker: Worker, job: Job) -> None:
        if worker.job is job:
            worker.end("stopped")

    def progress(self, owner: tuple[str, str]) -> dict[str, Any]:
        """What is being done for a client and slot, and for how long."""
        now = time.monotonic()
        for job in self._of(owner):
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
        """What the processes do instead, in words."""
        if not any(worker.ready for worker in self.workers):
            return "starting"
        tasks = [worker.job.task for worker in self.workers if worker.job is not None]
        busy = " and ".join(dict.fromkeys(WORDS.get(task, "a list") for task in tasks))
        starts = any(not worker.ready for worker in self.workers)
        more = "; another process starts" if starts else ""
        return f"waiting for a process: the others compute {busy}{more}" if busy else "starting"

    def _assign(self) -> None:
        """Give waiting requests to free processes, in the order in which they came."""
        for job in list(self.waiting):
            worker = self._choice(job)
            if worker is not None:
                self.waiting.remove(job)
                worker.begin(job)

    def _choice(self, job: Job) -> Worker | None:
        free = [worker for worker in self.workers if worker.free]
        if not free or (job.task in LONG and self._is_last(free)):
            return None
        for worker in free:
            if job.key in worker.known:
                return worker
        waited = time.monotonic() - job.asked
        if any(worker.is_worth(job, waited) for worker in self.workers):
            return None
        return min(free, key=lambda worker: len(worker.known))

    def _is_last(self, free: list[Worker]) -> bool:
        long = sum(worker.job is not None and worker.job.task in LONG for worker in self.workers)
        count = self.count + any(worker.extra and worker.ready for worker in self.workers)
        return count > 1 and long >= count - 1

    async def _watch(self) -> None:
        """Look after limits: of time, of patience."""
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            for worker in self.workers:
                job = worker.job
                if job is not None and now - job.begun > LIMITS.get(job.task, SHORT):
                    seconds = f"{LIMITS.get(job.task, SHORT):g} s"
                    worker.end(f"this takes longer than {seconds}, the most a request may take")
            ready = any(worker.ready for worker in self.workers)
            words = "all processes are busy" if ready else "no process could be started in time"
            for job in list(self.waiting):
                if now - job.asked > (job.patience if ready else WAITING):
                    self.waiting.remove(job)
                    job.finish(refused(503, f"{words}; try again in a moment"))
            self._refuse_late(now)
            self._assign()
            self._make_room(now)
            self._start_extra(now)
            self._end_extra(now)

    def _refuse_late(self, now: float) -> None:
        """Refuse what is late because processes were killed; a process that is at it goes on.

        What it compiles is there for the next request.
        """
        running = [worker.job for worker in self.workers if worker.job is not None]
        for job in [job for job in (*self.waiting, *running) if now > job.refuse_at]:
            if job in self.waiting:
                self.waiting.remove(job)
            job.finish(refused(503, RECOVERING))
            job.stale = True

    def _start_extra(self, now: float) -> None:
        """One further process, where networks wait for tasks of other pages."""
        late = [
            job.task == "runs" and now - job.asked > EXTRA_AFTER_SECONDS for job in self.waiting
        ]
        if any(late) and self._extra is None:
            self._extra = asyncio.create_task(self._life(extra=True))

    def _end_extra(self, now: float) -> None:
        """End one process too many, once it has been idle."""
        if self._extra is not None and self._extra.done():
            self._extra = None
        if self._extra is None or len(self.workers) <= self.count:
            return
        for worker in self.workers:
            if worker.extra and worker.free and now - worker.idle_since > EXTRA_IDLE_SECONDS:
                worker.end("it was not needed any more")

    def _make_room(self, now: float) -> None:
        """End what nobody waits for, if somebody waits for its process."""
        wanted = [job for job in self.waiting if now - job.asked > TICK]
        stale = [worker for worker in self.workers if worker.is_stale(now)]
        for worker, job in zip(stale, wanted, strict=False):
            # One that compiles what is waited for is at work for it, too.
            assert worker.job is not None
            if worker.job.key != job.key or worker.job.key in worker.known:
                worker.end("stopped")

    async def _life(self, extra: bool = False) -> None:
        """Run one process; start the next one after its end, unless it is an extra one."""
        killed = False
        while not self._closing.is_set():
            begun = time.monotonic()
            worker = await Worker.started()
            worker.extra, worker.replaces_killed = extra, killed
            self.workers.append(worker)
            if not self._closing.is_set():
                await self._listen(worker)
            worker.end(BY_ITSELF)
            self.workers.remove(worker)
            self._lost(worker, await worker.gone())
            killed = worker.ended == BY_ITSELF
            if extra:
                return
            if not worker.ready and time.monotonic() - begun < 5.0:
                with suppress(asyncio.TimeoutError):  # not a thousand times a second
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
        worker.replaces_killed, job.refuse_at = False, math.inf  # it answers
        if header["kind"] == "event":
            if header["event"] == "traces":  # whatever had to be compiled is
                worker.known.add(job.key)
            if job.tell is not None and not job.stale:
                await job.tell(header["event"], body)
            return
        if header["status"] == 200:
            worker.known.add(job.key)
        worker.job, worker.idle_since = None, time.monotonic()
        job.finish(Answer(header["status"], body, header["compiled"]))
        if len(worker.known) >= MOST_KNOWN:
            worker.end("another process takes its place")

    def _lost(self, worker: Worker, code: int) -> None:
        """Its process has ended while it was at something, which another one may try once more."""
        job, worker.job = worker.job, None
        if job is None:
            return
        if worker.ended == BY_ITSELF and not job.again and not job.stale:
            job.again = True
            job.asked = time.monotonic()
            job.refuse_at = job.asked + RECOVERY_SECONDS
            self.waiting.insert(0, job)
            return
        job.finish(refused(503 if code else 500, worker.ended))
