"""Worker process of the explorer: it computes the pictures, runs and files of requests."""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from tutelage._checks import ComputationError, InputError
from tutelage.explorer import files
from tutelage.explorer.pictures import as_json
from tutelage.explorer.views import VIEWS, papers
from tutelage.runs.worker_process import Request, answer_requests

LISTS = {"papers": papers.figures, "files": lambda: {"files": files.playable()}}
COMPILED = "/jax/core/compile/backend_compile_duration"


class ViewRequest:
    """The current request: its task, view and state."""

    def __init__(self, request: Request):
        header = request.header
        self.task, self.state = header["task"], header["state"]
        self.view, self.format = VIEWS[header["view"]], header.get("format", "")
        self.unwanted, self.send_event = request.unwanted, request.send_event


def main(gigabytes: float) -> None:
    """Answer requests until the input ends."""
    from tutelage.runs import stored_jit

    compiled = _count_compilations()
    stored_jit.OPTIMIZES_IN_THREAD = True

    def respond(request: Request) -> tuple[dict[str, Any], bytes]:
        before, begun = compiled[0], time.perf_counter()
        header, body = _answer(ViewRequest(request), begun, lambda: compiled[0] > before)
        return {"compiled": compiled[0] > before, **header}, body

    answer_requests(respond, gigabytes)


def _count_compilations() -> list[int]:
    """Return a list of one number, which counts the compilations that requests wait for."""
    from tutelage._jax import jax

    compiled = [0]

    def count(event: str, duration_secs: float, **_: object) -> None:
        is_waited_for = threading.current_thread() is threading.main_thread()
        compiled[0] += event == COMPILED and is_waited_for

    jax.monitoring.register_event_duration_secs_listener(count)
    return compiled


def _answer(job: ViewRequest, begun: float, compiled: object) -> tuple[dict[str, Any], bytes]:
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


def _picture(job: ViewRequest, begun: float, compiled: Any) -> bytes:
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


def _run(job: ViewRequest) -> dict[str, Any]:
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


def _file(job: ViewRequest) -> bytes:
    import tempfile
    from pathlib import Path

    from tutelage import results

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{job.format}"
        results.save(job.view.dataset(job.state), path)
        return path.read_bytes()
