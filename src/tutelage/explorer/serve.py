"""Start the server of the explorer on this machine."""

import os
import re
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tutelage._arguments import validated
from tutelage._checks import InputError, positive_integer

PORT = 8765
NEEDED = ("fastapi", "uvicorn", "plotly")
TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,200}")  # characters allowed in an address and a cookie
WITHOUT_TOKEN = "none"
MAX_CONNECTIONS = 500  # a further connection is answered with status 503


def check_installed() -> None:
    """Check that the packages of the extra are installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        allowed = "the explorer needs these packages"
        hint = "pip install 'tutelage[explore]'"
        raise InputError("tutelage explore", f"no {', '.join(missing)} installed", allowed, hint)


@validated
def serve(
    port: int = PORT,
    *,
    public: bool = False,
    token: str | None = None,
    workers: int | None = None,
    report: str | Path = "report",
    files: str | Path | None = None,
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve the explorer until the process is interrupted.

    Args:
        port: TCP port; 0 for any free port.
        public: listen on all network interfaces instead of this machine only.
        token: secret that every request needs, in the address or in a cookie; random by default.
            "none" disables it: then every account of this machine can use the page and see the
            files. A public page always has a token.
        workers: number of worker processes; by default that of the processors, 2 to 4.
        report: folder of the report of ``tutelage reproduce``, whose figures are shown.
        files: a folder with saved trainings, which can be played back.
        opened: called with the address when the server is ready, such as `webbrowser.open`.

    Raises:
        InputError: if a package is missing, or the port is taken.
    """
    check_installed()
    import uvicorn

    from tutelage.explorer import files as folders
    from tutelage.explorer.connections import LimitedConnection
    from tutelage.explorer.guard import Guard
    from tutelage.explorer.server import application

    if files is not None and not Path(files).is_dir():
        raise InputError("files", repr(str(files)), "it has to be a folder", "files=None")
    folders.choose(report, files)
    count = max(2, min(4, os.cpu_count() or 2))
    if workers is not None:
        count = positive_integer("workers", workers, "workers=2")
    key = _token(public, token)
    listening = _socket(port, public)
    at = listening.getsockname()[1]
    address = f"http://{socket.gethostname() if public else '127.0.0.1'}:{at}/"

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if opened is not None and self.started:
                opened(address if key is None else f"{address}?token={key}")

    config = uvicorn.Config(
        application(count, Guard(at, key, public)),
        http=LimitedConnection,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    with suppress(KeyboardInterrupt):  # Ctrl-C is the usual end
        Server(config).run(sockets=[listening])


def _token(public: bool, token: str | None) -> str | None:
    """Return the required token; None if it is disabled."""
    if token is None:
        return secrets.token_urlsafe(24)
    if token == WITHOUT_TOKEN and not public:
        return None
    if not TOKEN.fullmatch(token):
        allowed = "it has to consist of 16 to 200 letters, digits, or any of . _ ~ -"
        raise InputError("token", f"{len(token)} letters", allowed, "token=None for a random one")
    return token


def _socket(port: int, public: bool) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError("port", str(port), "it has to be from 0 to 65535", f"{PORT}")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("0.0.0.0" if public else "127.0.0.1", port))
    except OSError as problem:
        listening.close()
        allowed = f"the port cannot be used ({problem.strerror})"
        raise InputError("port", str(port), allowed, "port 0 for any free port") from None
    return listening
