"""Worker process: it reads requests from its standard input and writes answers.

It ends when the server does, whatever it is doing then; it may use so much memory and no more.
"""

import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tutelage._checks import ComputationError, InputError
from tutelage.explorer import files, frames
from tutelage.explorer.pictures import as_json
from tutelage.explorer.views import VIEWS, papers

GIGABYTE = 2**30
LISTS = {"papers": papers.figures, "files": lambda: {"files": files.playable()}}
COMPILED = "/jax/core/compile/backend_compile_duration"


class Job:
    """The current request, and whether it was cancelled."""

    def __init__(self, header: dict[str, Any], out: "Out"):
        self.id, self.task = header["id"], header["task"]
        self.view, self.state = VIEWS[header["view"]], header["state"]
        self.format = header.get("format", "")
        self.unwanted = threading.Event()
        self._out = out

    def send_event(self, **header: Any) -> None:
        """Send an intermediate result."""
        body = header.pop("body", b"")
        self._out.send({"id": self.id, "kind": "event", **header}, body)


class Out:
    """The stream of messages to the server; stray prints are redirected to the standard error."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        message = memoryview(frames.packed(header, body))
        with self._lock:
            while message:
                message = message[self._stream.write(message) :]


def main(gigabytes: float) -> None:
    """Answer requests until the input ends."""
    _limit_memory(gigabytes)
    out, waiting = Out(), queue.SimpleQueue[dict[str, Any]]()
    current: dict[int, Job] = {}
    threading.Thread(target=_listen, args=(waiting, current), daemon=True).start()
    compiled = _count_compilations()
    out.send({"kind": "ready"})
    while True:
        job = Job(waiting.get(), out)
        current.clear()
        current[job.id] = job
        before, begun = compiled[0], time.perf_counter()
        header, body = _answer(job, begun, lambda: compiled[0] > before)  # noqa: B023
        current.clear()
        out.send({"id": job.id, "kind": "answer", "compiled": compiled[0] > before, **header}, body)


def _listen(waiting: Any, current: dict[int, Job]) -> None:
    """Pass on requests, mark cancelled ones, and end with the server."""
    with suppress(EOFError, OSError, ValueError):
        while True:
            header, _ = frames.read(sys.stdin.buffer)
            if header.get("stop") is not None:
                job = current.get(header["stop"])
                if job is not None:
                    job.unwanted.set()
            else:
                waiting.put(header)
    os._exit(0)


def _limit_memory(gigabytes: float) -> None:
    """Limit the memory, so that too large an array raises a MemoryError."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        most = int(gigabytes * GIGABYTE)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _count_compilations() -> list[int]:
    from tutelage._jax import jax

    compiled = [0]

    def count(event: str, duration_secs: float, **_: object) -> None:
        compiled[0] += event == COMPILED

    jax.monitoring.register_event_duration_secs_listener(count)
    return compiled


def _answer(job: Job, begun: float, compiled: object) -> tuple[dict[str, Any], bytes]:
    """Return status and content of the answer; on errors the message of the library."""
    try:
        if job.task == "runs":
            return {"status": 200}, as_json(_run(job))
        if job.task in LISTS:
            return {"status": 200}, as_json(LISTS[job.task]())
        if job.task == "drawn":
            return {"status": 200}, papers.drawn(job.state["section"])
        if job.task == "data":
            return {"status": 200}, _file(job)
        return {"status": 200}, _picture(job, begun, compiled)
    except (ComputationError, InputError) as problem:
        names = {parameter.name for parameter in job.view.PARAMETERS}
        name = problem.argument if problem.argument in names else None
        return {"status": 400}, as_json({"error": str(problem), "parameter": name})
    except MemoryError:
        error = "the request needs more memory than is allowed; try smaller numbers"
        return {"status": 400}, as_json({"error": error, "parameter": None})
    except Exception as problem:
        print(f"tutelage: {job.view.NAME}: {problem!r}", file=sys.stderr, flush=True)
        error = f"the computation failed ({type(problem).__name__}); try other numbers"
        return {"status": 500}, as_json({"error": error, "parameter": None})


def _picture(job: Job, begun: float, compiled: Any) -> bytes:
    view, state = job.view, job.state
    picture = view.details(state) if job.task == "details" else view.draw(state)
    return as_json(
        picture,
        python=view.python(state),
        command=view.command(state),
        seconds=time.perf_counter() - begun,
        state=state,
        compiled=compiled(),
    )


def _run(job: Job) -> dict[str, Any]:
    """Send traces as they grow, until the end or until the request is cancelled."""
    events: Iterator[tuple[str, dict[str, Any]]] = job.view.stream(job.state)
    message = ""
    for name, content in events:
        if job.unwanted.is_set():
            return {"message": "stopped"}
        message = content.get("message", message)
        if name != "message":
            job.send_event(event=name, body=as_json(content))
    return {"message": message, "python": job.view.python_of_runs(job.state)}


def _file(job: Job) -> bytes:
    import tempfile
    from pathlib import Path

    from tutelage import results

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{job.format}"
        results.save(job.view.dataset(job.state), path)
        return path.read_bytes()
