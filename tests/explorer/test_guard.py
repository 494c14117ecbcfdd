"""Requests are allowed from the explorer's own page and with the token only."""

import asyncio

import pytest

from tutelage.explorer.guard import HEADERS, Guard

TOKEN = "a-token-of-many-letters"
HERE = {"host": "127.0.0.1:8765"}


async def _nothing(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"server", b"x")]})
    await send({"type": "http.response.body", "body": b"passed"})


def asked(headers, *, method="GET", path="/api/picture", query="", token=None, public=False):
    """Return status and headers of the answer."""
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
    scope["headers"] = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    second = []

    async def send(message):
        second.append(message)

    asyncio.run(Guard(8765, token, public).around(_nothing)(scope, None, send))
    return second[0]["status"], {n.decode(): v.decode() for n, v in second[0]["headers"]}


def status(headers, **how):
    return asked(list(headers.items()), **how)[0]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost:8765", "LocalHost:8765", "[::1]:8765"]
)
def test_loopback_names_of_the_host_are_accepted(host):
    assert status({"host": host}) == 200
    assert status({"host": host, "origin": f"http://{host}"}) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "localhost.evil:8765"),
        *("127.0.0.1:8765@evil", "", "\xff"),
    ],
)
def test_another_name_of_this_machine_is_refused(host):
    assert status({"host": host}) == 403


def test_one_host_has_to_be_named():
    assert asked([])[0] == 403
    assert asked([("host", "127.0.0.1:8765"), ("host", "evil.example")])[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:80", ""]
)
def test_other_pages_are_refused(origin):
    assert status({**HERE, "origin": origin}) == 403
    assert status({**HERE, "origin": origin}, path="/api/stop", method="POST") == 403


def test_a_page_on_the_web_cannot_ask_by_an_image_or_a_script():
    for site in ("cross-site", "same-site"):
        elsewhere = {**HERE, "sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
        assert status(elsewhere) == 403
        assert status(elsewhere, path="/") == 403
        # A link to the page is followed, one to its numbers is not.
        link = {**elsewhere, "sec-fetch-mode": "navigate"}
        assert status(link, path="/") == 200
        assert status(link) == 403
    assert status({**HERE, "sec-fetch-site": "same-origin"}) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "x"])
def test_addresses_are_only_read(method):
    assert status(HERE, method=method) == 405


def test_addresses_have_an_end():
    assert status(HERE, query="x" * 8193) == 414


def test_every_answer_has_the_headers():
    for result in (asked(list(HERE.items())), asked([])):
        assert HEADERS.items() <= result[1].items()
        assert "server" not in result[1]
    assert "unsafe-inline" not in HEADERS["content-security-policy"]
    assert "unsafe-eval" not in HEADERS["content-security-policy"]


PLACES = {"loopback": (HERE, False), "public": ({"host": "192.0.2.7:8765"}, True)}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_answered_without_the_token(place):
    host, public = PLACES[place]
    how = {"token": TOKEN, "public": public}
    paths = ("/", "/api/picture", "/api/runs", "/static/main.js", "/plotly.min.js", "/docs/online")
    for path in paths:
        assert status(host, path=path, **how) == 403
        assert status(host, path=path, query="token=another", **how) == 403
        assert status({**host, "cookie": f"tutelage_token_8765={TOKEN}"}, path=path, **how) == 200
    assert status(host, path="/api/stop", method="POST", **how) == 403
    code, headers = asked(list(host.items()), path="/", query=f"token={TOKEN}", **how)
    assert code == 303 and headers["location"] == "/"
    assert headers["set-cookie"].startswith(f"tutelage_token_8765={TOKEN}; ")
    assert "HttpOnly" in headers["set-cookie"] and "SameSite=Strict" in headers["set-cookie"]
    # The token in the address opens the page and nothing else.
    assert status(host, query=f"token={TOKEN}", **how) == 403
    for cookie in ("wrong", '"', "", TOKEN[:-1], TOKEN + "x"):
        assert status({**host, "cookie": f"tutelage_token_8765={cookie}"}, **how) == 403
    # The cookie of a server at another port.
    assert status({**host, "cookie": f"tutelage_token_8766={TOKEN}"}, **how) == 403


def test_with_the_token_other_pages_and_hosts_are_still_refused():
    cookie = {"cookie": f"other=1; tutelage_token_8765={TOKEN}"}
    assert status({**HERE, **cookie}, token=TOKEN) == 200
    assert status({**HERE, **cookie, "origin": "http://evil.example"}, token=TOKEN) == 403
    assert status({"host": "evil.example:8765", **cookie}, token=TOKEN) == 403
    assert status({"host": "evil.example:8765", **cookie}, token=TOKEN, public=True) == 200
