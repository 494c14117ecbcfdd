"""Limits for connections that do not send their request.

uvicorn waits for the rest of a request without a time limit.  Several hundred incomplete requests
would use up all connections, and other clients would be answered with 503.  Here the head of a
request has a time limit, and if too many connections have no request, the oldest one is closed.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

# seconds from the opening of a connection, or from the first byte of a further request
HEAD_SECONDS = 10.0
MAX_WITHOUT_REQUEST = 100  # number of connections; less than `serve.MAX_CONNECTIONS`


class LimitedConnection(H11Protocol):
    """A connection that is closed if the head of its request does not arrive in time."""

    # Connections without a request, the one that has waited longest first.
    _without_request: ClassVar[dict["LimitedConnection", asyncio.TimerHandle]] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_request()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        """Start the time limit once; further bytes do not extend it."""
        waiting = self._without_request
        if self in waiting or self.transport.is_closing():
            return
        waiting[self] = self.loop.call_later(HEAD_SECONDS, self._close)
        if len(waiting) > MAX_WITHOUT_REQUEST:
            next(iter(waiting))._close()

    def _stop_waiting(self) -> None:
        timer = self._without_request.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _close(self) -> None:
        self._stop_waiting()
        self.transport.close()
