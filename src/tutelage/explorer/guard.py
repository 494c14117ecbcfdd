"""Check that every request comes from the explorer's own page and has the token.

The address that is opened has the token, and the answer to it sets a cookie, which all later
requests bring along: the page, its files, pictures and streams.  Without the token another account
of this machine could open the page, since any account can connect to the loopback interface.

A page on the web can make a browser send requests to this machine.  They carry its Origin, or have
``Sec-Fetch-Site`` of another site, or name another Host, as after a change of its
address (DNS rebinding): all are refused.
"""

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from tutelage.explorer.bundle import PLOTLY_STYLES
from tutelage.explorer.pictures import as_json

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LONGEST_QUERY = 8192
# Only resources of this server, and only the inline styles of Plotly.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-hashes' "
    + " ".join(f"'{style}'" for style in PLOTLY_STYLES)
    + "; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
NAMES = ("127.0.0.1", "localhost", "[::1]")
HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


class Guard:
    """Refuse requests from other pages, from other hosts, or without the token.

    port: of the server.
    token: None switches the check of the token off.
    public: whether the server may be reached under any name, not only those of the loopback.
    """

    def __init__(self, port: int, token: str | None, public: bool = False):
        self.port, self.token, self.public = port, token, public
        # Browsers send a cookie to every port of a host, so each server uses its own name.
        self.cookie = f"tutelage_token_{port}"

    def around(self, app: Any) -> Any:
        """Wrap the application in these checks, and add the headers of every answer."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                return await app(scope, receive, send)
            if scope["type"] != "http":  # websockets are not used
                return None

            async def send_with_headers(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    others = [(n, v) for n, v in message["headers"] if n.lower() != b"server"]
                    added = [(n.encode(), v.encode()) for n, v in HEADERS.items()]
                    message["headers"] = [*others, *added]
                await send(message)

            answer = self._refusal(scope)
            if answer is not None:
                return await _answer(send_with_headers, *answer)
            return await app(scope, receive, send_with_headers)

        return guarded

    def _refusal(self, scope: Scope) -> tuple[int, dict[str, str], str] | None:
        """Return status, headers and reason of a refusal; None for an allowed request."""
        headers = _headers(scope)
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 403, {}, "this server answers to its own address only"
        if not self._from_here(scope, headers, hosts[0]):
            return 403, {}, "this server answers its own page only"
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            return 414, {}, f"an address has at most {LONGEST_QUERY} characters"
        if scope["method"] not in ("GET", "HEAD") and scope["path"] != "/api/stop":
            return 405, {}, "this address only accepts GET requests"
        return None if self.token is None else self._without_token(scope, headers)

    def _is_ours(self, host: str) -> bool:
        """Return whether the host is a loopback name; a public server allows all names."""
        if self.public:
            return HOST.fullmatch(host) is not None
        return host.lower() in {f"{name}:{self.port}" for name in NAMES}

    def _from_here(self, scope: Scope, headers: dict[str, list[str]], host: str) -> bool:
        origins = headers.get("origin", [])
        if any(origin.lower() != f"http://{host.lower()}" for origin in origins):
            return False
        sites = headers.get("sec-fetch-site", ["none"])
        if all(site in ("same-origin", "none") for site in sites):
            return True
        # A link to the page may come from any site; other requests may not.
        mode = headers.get("sec-fetch-mode", [""])
        return scope["path"] == "/" and mode == ["navigate"] and scope["method"] == "GET"

    def _without_token(
        self, scope: Scope, headers: dict[str, list[str]]
    ) -> tuple[int, dict[str, str], str] | None:
        """Refuse a request without the token; exchange a token in the address for the cookie."""
        if scope["path"] == "/":
            given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
            if self._is_token(given[0]):
                cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                return 303, {"location": "/", "set-cookie": cookie}, "welcome"
        if any(self._is_token(value) for value in _cookies(headers, self.cookie)):
            return None
        return 403, {}, "open the address with ?token=… that the server has printed"

    def _is_token(self, text: str) -> bool:
        assert self.token is not None
        return hmac.compare_digest(text.encode(), self.token.encode())


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _cookies(headers: dict[str, list[str]], name: str) -> list[str]:
    """Return the values of the cookie with this name."""
    values = []
    for line in headers.get("cookie", []):
        cookie: SimpleCookie = SimpleCookie()
        try:
            cookie.load(line)
        except CookieError:
            continue
        if name in cookie:
            values.append(cookie[name].value)
    return values


async def _answer(send: Send, status: int, headers: dict[str, str], reason: str) -> None:
    body = as_json({"error": reason, "parameter": None})
    listed = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    pairs = [(name.encode(), value.encode()) for name, value in listed.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
