"""The server of the page: its addresses and their answers.

By default it listens on this machine only, computes nothing itself, and answers every
request with a picture, a file, or an error in the library's words.
"""

import asyncio
import re
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse

from tutelage._checks import InputError, short_repr
from tutelage.explorer import files
from tutelage.explorer.guard import Guard
from tutelage.explorer.parameters import State, state_of
from tutelage.explorer.pictures import as_json
from tutelage.explorer.views import VIEWS, described
from tutelage.explorer.worker_pool import Cancelled, Job, Pool
from tutelage.runs.worker_pool import Answer

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
FILES = {"nc": "application/x-netcdf", "csv": "text/csv; charset=utf-8"}
PREDRAWN_VIEWS = ("online", "transitions")  # drawn when the server starts
# The cache serves other clients and the back button.
MAX_CACHED_PICTURES = 200
POLL_SECONDS = 0.5  # interval between checks that the client is still connected
PARTS = {"": "picture", "details": "details"}


Key = tuple[Any, ...]


@dataclass(frozen=True)
class ViewRequest:
    """A validated request: view, state, and requesting client."""

    view: Any
    state: State
    owner: tuple[str, str]
    number: int
    task: str

    def job(self, task: str = "", **more: Any) -> Job:
        program = self.view.program(self.state)
        task = task or self.task
        return Job(task, self.view.NAME, self.state, self.owner, self.number, program, **more)


class AnonymousClients:
    """Unique ids for anonymous clients, so that none cancels the request of another."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> tuple[str, str]:
        self.last += 1
        return "", str(self.last)


class Explorer:
    """State of a running server: its workers and a cache of pictures."""

    def __init__(self, workers: int):
        self.pool = Pool(workers)
        self.anonymous = AnonymousClients()
        self.cache: OrderedDict[Key, bytes] = OrderedDict()
        self.first: dict[Key, asyncio.Task[None]] = {}

    def asked(self, request: Request) -> ViewRequest:
        """Return the validated request."""
        query = query_of(request)
        view = _one_of("view", query.pop("view", "online"), VIEWS)
        owner, number = self._owner(query)
        task = _one_of("part", query.pop("part", ""), PARTS)
        if task == "details" and not view.DETAILS:
            raise InputError("part", "'details'", f"the view {view.NAME} has no details", "part=")
        query.pop("format", None)
        return ViewRequest(view, state_of(view.PARAMETERS, query), owner, number, task)

    def owner(self, request: Request) -> tuple[str, str]:
        return self._owner(query_of(request))[0]

    def _owner(self, query: dict[str, str]) -> tuple[tuple[str, str], int]:
        """Return client and slot, and the number of the request."""
        client, slot = query.pop("client", ""), query.pop("slot", "a")
        number = query.pop("number", "0")
        for name, value in (("client", client or "a"), ("slot", slot)):
            if not files.NAME.fullmatch(value):
                allowed = "it has to be a name of at most 100 letters and digits"
                raise InputError(name, short_repr(value), allowed, "a")
        if not re.fullmatch("[0-9]{1,15}", number):
            raise InputError("number", short_repr(number), "it has to be a whole number", "1")
        return (client, slot) if client else self.anonymous.next(), int(number)

    async def picture(self, asked: ViewRequest) -> Answer:
        """Return a picture from the cache or draw it; wait if it is being drawn."""
        key = (asked.task, asked.view.NAME, tuple(asked.state.items()))
        if key in self.first and not self.first[key].done():
            await asyncio.wait([self.first[key]])
        if key in self.cache and asked.view.NAME != "playback":  # its file may have changed
            self.cache.move_to_end(key)
            return Answer(200, self.cache[key])
        answer = await self.pool.ask(asked.job())
        if answer.status == 200:
            self._keep(key, answer.body)
        return answer

    async def listed(self, task: str) -> Response:
        """List the current files of the folders: figures of the report, or saved trainings."""
        job = Job(task, "papers", {}, self.anonymous.next(), 0, "")
        answer = await self.pool.ask(job)
        return _json(answer.body, answer.status)

    async def drawn(self, section: str) -> Answer:
        """Return a figure of a paper from the cache, or draw it."""
        key = ("drawn", section)
        if key in self.cache:
            return Answer(200, self.cache[key])
        job = Job("drawn", "papers", {"section": section}, self.anonymous.next(), 0, "")
        answer = await self.pool.ask(job)
        if answer.status == 200:
            self._keep(key, answer.body)
        return answer

    def _keep(self, key: Key, body: bytes) -> None:
        self.cache[key] = body
        if len(self.cache) > MAX_CACHED_PICTURES:
            self.cache.popitem(last=False)

    def warm_up(self) -> None:
        """Draw the first pictures of the page before they are requested."""
        for name in PREDRAWN_VIEWS:
            view = VIEWS[name]
            state = state_of(view.PARAMETERS, {})
            request = ViewRequest(view, state, self.anonymous.next(), 0, "picture")
            key = ("picture", name, tuple(state.items()))
            self.first[key] = asyncio.create_task(self._drawn(key, request))

    async def _drawn(self, key: Key, asked: ViewRequest) -> None:
        with suppress(Cancelled):
            answer = await self.pool.ask(asked.job())
            if answer.status == 200:
                self.cache[key] = answer.body


def _one_of(name: str, value: str, choices: dict[str, Any]) -> Any:
    if value not in choices:
        listed = f"it has to be one of {', '.join(filter(None, choices))}"
        raise InputError(name, short_repr(value), listed, next(iter(choices)))
    return choices[value]


def query_of(request: Request) -> dict[str, str]:
    """Return the query of an address; refuse repeated parameters."""
    query: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in query:
            raise InputError(
                name[:60], "two values", "one value is allowed", f"only one {name[:60]}="
            )
        query[name] = value
    return query


def application(workers: int, guard: Guard) -> Any:
    """The server as an ASGI application."""
    explorer = Explorer(workers)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        explorer.pool.start()
        explorer.warm_up()
        try:
            yield
        finally:
            await explorer.pool.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(InputError, _refused)
    app.add_exception_handler(Cancelled, _cancelled)
    app.add_exception_handler(Exception, _failed)
    app.add_exception_handler(404, _nothing)
    app.add_exception_handler(405, _nothing)
    _pages(app)
    _api(app, explorer)
    return guard.around(app)


def _pages(app: FastAPI) -> None:
    """Add the addresses of the page and its files."""

    @app.get("/")
    async def index() -> Response:
        return _static("index.html")

    @app.get("/static/{name}")
    async def static(name: str) -> Response:
        return _static(name)

    @app.get("/plotly.min.js")
    async def plotly() -> Response:
        day = {"Cache-Control": "private, max-age=86400"}
        return FileResponse(plotly_file(), media_type=TYPES[".js"], headers=day)

    @app.get("/docs/{name}")
    async def docs(name: str) -> Response:
        return _documentation(name)


def _static(name: str) -> Response:
    """Return a file of the page by name."""
    file = STATIC / name
    if not files.NAME.fullmatch(name) or file.suffix not in TYPES or not file.is_file():
        return JSONResponse({"error": "the file does not exist", "parameter": None}, 404)
    return FileResponse(file, media_type=TYPES[file.suffix], headers={"Cache-Control": "no-cache"})


def _documentation(name: str) -> Response:
    """Return a page of the documentation as text; without it, the docstring of the package."""
    if name not in {view.DOCUMENTATION for view in VIEWS.values()}:
        return _json(as_json({"error": "the page does not exist", "parameter": None}), 404)
    page = Path(__file__).parents[3] / "docs" / f"{name}.md"
    if page.is_file():
        return FileResponse(page, media_type="text/plain; charset=utf-8")
    return Response(
        import_module(f"tutelage.{name}").__doc__, media_type="text/plain; charset=utf-8"
    )


def plotly_file() -> Path:
    """Return the path of plotly.min.js without importing plotly."""
    package = find_spec("plotly")
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "package_data" / "plotly.min.js"


def _api(app: FastAPI, explorer: Explorer) -> None:
    """Add the addresses that answer with JSON, files and events."""

    @app.get("/api/views")
    async def views() -> Response:
        listed = [described(view) for view in VIEWS.values()]
        return _json(as_json({"views": listed}))

    @app.get("/api/picture")
    async def picture(request: Request) -> Response:
        answer = await _while_wanted(request, explorer.picture(explorer.asked(request)))
        return _json(answer.body, answer.status)

    @app.get("/api/progress")
    async def progress(request: Request) -> Response:
        return _json(as_json(explorer.pool.progress(explorer.owner(request))))

    @app.post("/api/stop")
    async def stop(request: Request) -> Response:
        return _json(as_json({"stopped": explorer.pool.stop(explorer.owner(request))}))

    @app.get("/api/data")
    async def data(request: Request) -> Response:
        format = query_of(request).get("format", "nc")
        kind = _one_of("format", format, FILES)
        asked = explorer.asked(request)
        answer = await _while_wanted(request, explorer.pool.ask(asked.job("data", format=format)))
        if answer.status != 200:
            return _json(answer.body, answer.status)
        name = f'attachment; filename="tutelage-{asked.view.NAME}.{format}"'
        return Response(answer.body, media_type=kind, headers={"Content-Disposition": name})

    @app.get("/api/papers")
    async def papers() -> Response:
        return await explorer.listed("papers")

    @app.get("/api/files")
    async def playable() -> Response:
        return await explorer.listed("files")

    @app.get("/api/report/{name}")
    async def report(name: str) -> Response:
        content = files.picture(name)
        if content is None:
            return _json(
                as_json({"error": "the report does not have this picture", "parameter": None}), 404
            )
        return Response(content, media_type=TYPES[".svg"])

    @app.get("/api/drawn/{name}")
    async def drawn(request: Request, name: str) -> Response:
        answer = await _while_wanted(request, explorer.drawn(name.removesuffix(".svg")))
        if answer.status != 200:
            return _json(answer.body, answer.status)
        return Response(answer.body, media_type=TYPES[".svg"])

    @app.get("/api/runs")
    async def runs(request: Request) -> Response:
        asked = explorer.asked(request)
        if not asked.view.STREAMS:
            allowed = "this view has no runs"
            raise InputError("view", repr(asked.view.NAME), allowed, "view=online")
        return StreamingResponse(_events(explorer, asked), media_type="text/event-stream")


async def _while_wanted(request: Request, asked: Coroutine[Any, Any, Answer]) -> Answer:
    """Return the answer; cancel the computation if the client disconnects."""
    task = asyncio.create_task(asked)
    while not (await asyncio.wait([task], timeout=POLL_SECONDS))[0]:
        if await request.is_disconnected():
            task.cancel()
            raise Cancelled
    return task.result()


async def _events(explorer: Explorer, asked: ViewRequest) -> AsyncIterator[bytes]:
    """Send the events of a run; stop the run if the client disconnects."""
    events: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send_event(name: str, body: bytes) -> None:
        await events.put(_event(name, body))

    async def finish() -> None:
        try:
            answer = await explorer.pool.ask(asked.job("runs", send_event=send_event))
            await events.put(_event("done" if answer.status == 200 else "failed", answer.body))
        except Cancelled:
            await events.put(_event("done", as_json({"message": "stopped"})))
        except Exception as problem:
            await events.put(_event("failed", _error_of(problem)))
        finally:
            await events.put(None)

    async def say_why_it_waits() -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            progress = explorer.pool.progress(asked.owner)
            if progress["state"] == "waiting":
                await events.put(_event("progress", as_json(progress)))

    tasks = [asyncio.create_task(finish()), asyncio.create_task(say_why_it_waits())]
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        for task in tasks:
            task.cancel()
        explorer.pool.stop(asked.owner)


def _event(name: str, body: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + body + b"\n\n"


def _json(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, InputError)
    return _json(as_json({"error": str(problem), "parameter": problem.argument}), 400)


async def _cancelled(request: Request, problem: Exception) -> Response:
    return _json(as_json({"cancelled": True}), 409)


async def _nothing(request: Request, problem: Exception) -> Response:
    status = getattr(problem, "status_code", 404)
    return _json(as_json({"error": "this address does not exist", "parameter": None}), status)


async def _failed(request: Request, problem: Exception) -> Response:
    return _json(_error_of(problem), 500)


def _error_of(problem: Exception) -> bytes:
    """Return the answer to an unexpected exception; print it for the owner of the server."""
    print(f"tutelage: the explorer: {problem!r}", file=sys.stderr, flush=True)
    error = f"the request failed ({type(problem).__name__})"
    return as_json({"error": error, "parameter": None})
