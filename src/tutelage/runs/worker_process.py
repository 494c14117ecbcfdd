"""Main loop of a worker process: read requests from the standard input, and write answers.

The process ends when its pool does, whatever it computes then, and its memory is limited.
"""

import gc
import os
import queue
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tutelage.runs import frames

GIGABYTE = 2**30


class Request:
    """The current request, and whether it was cancelled."""

    def __init__(self, header: dict[str, Any], body: bytes, out: "Out"):
        self.id, self.header, self.body = header["id"], header, body
        self.unwanted = threading.Event()
        self._out = out

    def send_event(self, *, body: bytes = b"", **header: Any) -> None:
        """Send an intermediate result."""
        self._out.send({"id": self.id, "kind": "event", **header}, body)


class Out:
    """The stream of messages to the pool; stray prints are redirected to the standard error."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        message = memoryview(frames.packed(header, body))
        with self._lock:
            while message:
                message = message[self._stream.write(message) :]


def answer_requests(
    respond: Callable[[Request], tuple[dict[str, Any], bytes]], gigabytes: float | None
) -> None:
    """Answer requests until the input ends.

    respond: returns header and body of the answer; the header has a status.
    gigabytes: limit of the memory; None for no limit.
    """
    if gigabytes is not None:
        limit_memory(gigabytes)
    gc.freeze()  # modules stay: no collection has to look at them
    gc.enable()
    out, waiting = Out(), queue.SimpleQueue[Request]()
    current: dict[int, Request] = {}
    threading.Thread(target=_listen, args=(waiting, current, out), daemon=True).start()
    out.send({"kind": "ready"})
    while True:
        request = waiting.get()
        current.clear()
        current[request.id] = request
        header, body = respond(request)
        current.clear()
        out.send({"id": request.id, "kind": "answer", **header}, body)


def _listen(waiting: Any, current: dict[int, Request], out: Out) -> None:
    """Pass on requests, mark cancelled ones, and end with the pool."""
    with suppress(EOFError, OSError, ValueError):
        while True:
            header, body = frames.read(sys.stdin.buffer)
            if header.get("stop") is not None:
                request = current.get(header["stop"])
                if request is not None:
                    request.unwanted.set()
            else:
                waiting.put(Request(header, body, out))
    os._exit(0)


def limit_memory(gigabytes: float) -> None:
    """Limit the memory, so that too large an array raises a MemoryError."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        most = int(gigabytes * GIGABYTE)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
