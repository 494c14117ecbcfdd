"""A running server: its answers, its access rules, and its robustness."""

import asyncio
import importlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
import strict_json
import xarray as xr
from explorer.running import entered, explorer

import tutelage as tl
from tutelage.explorer.connections import HEAD_SECONDS
from tutelage.explorer.views import VIEWS

ERF = {"activation": "erf", "until": "30"}


def test_the_views_are_listed(client):
    answer = client.get("/api/views")
    strict_json.check(answer.text)
    views = answer.json()["views"]
    assert [view["name"] for view in views] == list(VIEWS)
    for view in views:
        assert view["formula"].startswith("<math") or view["name"] == "papers"


def test_the_page_and_its_files_are_served(client):
    assert "<html" in client.get("/").text
    assert client.get("/static/main.js").headers["content-type"].startswith("text/javascript")
    assert len(client.get("/plotly.min.js").content) > 10**6
    assert "# On-line learning" in client.get("/docs/online").text
    for name in (
        *("/static/..%2fserver.py", "/static/server.py", "/static/", "/docs/..%2fREADME"),
        *("/api/report/..%2findex.html", "/nothing", "/api/nothing", "/openapi.json"),
    ):
        assert client.get(name).status_code == 404


def test_a_picture_has_the_numbers_of_the_library(client):
    answer = client.get("/api/picture", params={"view": "transitions", "K": "2", "load": "30"})
    strict_json.check(answer.text)
    numbers = {row["symbol"]: row["value"] for row in answer.json()["numbers"]}
    transitions = tl.equilibrium.transitions(tl.Erf(), 2)
    assert numbers["α_c"] == float(transitions.coexists.value)
    assert numbers["ε_g"] == tl.equilibrium.states(tl.Erf(), 2, 30.0)[0].generalization_error


def test_data_are_what_is_drawn(client, tmp_path):
    picture = client.get("/api/picture", params=ERF).json()
    drawn = {t["name"]: t["y"] for panel in picture["panels"] for t in panel["traces"]}
    for format in ("nc", "csv"):
        answer = client.get("/api/data", params={**ERF, "format": format})
        assert f'filename="tutelage-online.{format}"' in answer.headers["content-disposition"]
        file = tmp_path / f"data.{format}"
        file.write_bytes(answer.content)
        run = tl.results.load(file)
        assert run["R"].values[:, 0, 0].tolist() == drawn["R₁₁"]


def test_what_cannot_be_used_is_refused_in_the_librarys_words(client):
    for query, name, words in (
        ({"K": "0"}, "K", "allows 1 to 5"),
        ({"learning_rate": "nan"}, "learning_rate", "finite"),
        ({"activation": "relux"}, "activation", "one of relu"),
        ({"start_r": "0.9"}, "start_r", "at most √"),
        ({"M": "3", "teacher_cosine": "-0.8"}, "teacher_cosine", "3 vectors"),
        ({"readout": "1"}, "readout", "2 comma-separated numbers"),
        ({"view": "nothing"}, "view", "one of online"),
        ({"view": "activation", "activation": "formula", "formula": "x+"}, "formula", "too early"),
        ({"nothing": "1"}, "nothing", "this view has"),
        ({"part": "nothing"}, "part", "one of details"),
        ({"client": "a b"}, "client", "100"),
    ):
        answer = client.get("/api/picture", params=query)
        assert answer.status_code == 400, query
        assert answer.json()["parameter"] == name
        assert words in answer.json()["error"]
        assert "Traceback" not in answer.text
    assert client.get("/api/picture?K=1&K=2").status_code == 400
    assert client.get("/api/data?format=exe").status_code == 400
    assert client.get("/api/runs?view=transitions").status_code == 400


def test_another_address_of_this_machine_is_refused(client):
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"},
                    {"sec-fetch-site": "cross-site"}):  # fmt: skip
        assert client.get("/api/views", headers=headers).status_code == 403


def test_without_the_token_nothing_is_answered(address, client):
    with httpx.Client(base_url=client.base_url) as stranger:
        for path in (
            "/",
            "/static/main.js",
            "/api/views",
            "/api/files",
            "/api/runs",
            "/docs/online",
        ):
            answer = stranger.get(path)
            assert answer.status_code == 403 and "token" in answer.json()["error"]
        assert stranger.post("/api/stop").status_code == 403
    other = httpx.get(address.replace("token=", "token=x"))
    assert other.status_code == 403 and "set-cookie" not in other.headers


def test_a_token_is_the_default_and_can_be_switched_off_or_chosen():
    token = importlib.import_module("tutelage.explorer.serve")._token
    assert len(token(False, None)) >= 32 and token(False, None) != token(False, None)
    assert token(True, None) and token(False, "none") is None
    assert token(False, "a-token-of-my-own") == "a-token-of-my-own"


@pytest.mark.slow
def test_a_server_whose_token_is_switched_off():
    with explorer("--token", "none", "--workers", "1") as open_to_all:
        assert "token" not in open_to_all
        assert httpx.get(f"{open_to_all}api/views").status_code == 200


def test_half_sent_requests_do_not_keep_others_from_being_answered(address, client):
    at = urlsplit(address)
    half = [socket.create_connection((at.hostname, at.port)) for _ in range(520)]
    try:
        for connection in half:
            connection.sendall(b"GET /api/views HTTP/1.1\r\nHost: x")
        for _ in range(3):
            with httpx.Client(cookies=client.cookies, base_url=client.base_url) as another:
                assert another.get("/api/views").status_code == 200
    finally:
        for connection in half:
            connection.close()


@pytest.mark.slow
def test_the_head_of_a_request_has_a_time_limit(address):
    at = urlsplit(address)
    with socket.create_connection((at.hostname, at.port), timeout=HEAD_SECONDS + 20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        begun = time.monotonic()
        while time.monotonic() - begun < HEAD_SECONDS - 2:  # a letter now and then
            time.sleep(0.5)
            connection.sendall(b"a")
        assert connection.recv(100) == b""
        assert time.monotonic() - begun < HEAD_SECONDS + 5


async def raw(address, target):
    """Return status and content of the answer to a raw request."""
    at = urlsplit(address)
    cookie = f"Cookie: tutelage_token_{at.port}={at.query.removeprefix('token=')}\r\n"
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(b"GET " + target + f" HTTP/1.1\r\nHost: {at.netloc}\r\n{cookie}".encode())
    writer.write(b"Connection: close\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


NAMES = [*(p.name for view in VIEWS.values() for p in view.PARAMETERS), "view", "slot", "x", ""]
VALUES = [
    *("", "nan", "-1", "1e999", "0x1", "[]", "{}", "'", "%00", "%ff%fe", "..%2f..%2fx", "a" * 3000),
    *("%E2%88%9E", "%ed%a0%80", "null", "%3Cscript%3E", "1;2", "1&&", "=", "%", "1%0d%0aHost:x"),
]
PATHS = ["/api/picture", "/api/data", "/api/runs", "/api/progress", "/%2e%2e/x", "//", "/%00", "*"]


def malformed(rng):
    """An invalid request."""
    parts = [
        f"{rng.choice(NAMES)}={rng.choice(VALUES)}" for _ in range(rng.choice([0, 1, 1, 2, 5]))
    ]
    rng.shuffle(parts)
    return "?".join([rng.choice(PATHS), "&".join([*parts, "activation=nothing"])]).encode()


def test_a_thousand_malformed_requests_leave_it_serving(address, client):
    rng, at_once = random.Random(0), asyncio.Semaphore(20)

    async def one(target):
        async with at_once:
            return target, *await raw(address, target)

    async def all_of_them():
        return await asyncio.gather(*(one(malformed(rng)) for _ in range(1000)))

    for target, status, body in asyncio.run(all_of_them()):
        harmless = (200,) if target.startswith(b"/api/progress") else ()
        assert status in (400, 404, 414, *harmless), (target, status)
        assert status == 200 or b"error" in body or body == b"Invalid HTTP request received.", (
            target
        )
    assert client.get("/api/picture", params=ERF).status_code == 200


def test_bytes_that_are_no_requests_leave_it_serving(client, address):
    at = urlsplit(address)
    long = b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"
    for content in (b"\x00" * 100, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\n", long):
        with socket.create_connection((at.hostname, at.port)) as connection:
            connection.sendall(content)
    assert client.get("/api/views").status_code == 200


@pytest.mark.slow
def test_fifty_clients_at_once(client):
    async def everybody():
        how = {"base_url": client.base_url, "cookies": client.cookies, "timeout": 120}
        async with httpx.AsyncClient(**how) as one:
            rates = [0.5 + 0.01 * i for i in range(50)]
            asked = [
                one.get("/api/picture", params={**ERF, "learning_rate": rate, "client": f"c{i}"})
                for i, rate in enumerate(rates)
            ]
            return rates, await asyncio.gather(*asked)

    rates, answers = asyncio.run(everybody())
    for rate, answer in zip(rates, answers, strict=True):
        assert answer.status_code == 200
        assert answer.json()["state"]["learning_rate"] == rate


def events(response):
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


LONG = {**ERF, "dimension": "100000", "until": "100", "runs": "2", "client": "me", "slot": "a.runs"}


def test_a_run_is_streamed_and_stopped_while_others_are_answered(client):
    with client.stream("GET", "/api/runs", params=LONG) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = events(response)
        assert next(stream)[0] == "progress"
        progress = client.get("/api/progress", params={"client": "me", "slot": "a.runs"}).json()
        assert progress["state"] in ("compiling", "computing")
        assert client.get("/api/picture", params={**ERF, "learning_rate": "0.9"}).status_code == 200
        stopped = client.post("/api/stop", params={"client": "me", "slot": "a.runs"}).json()
        assert stopped == {"stopped": 1}
        assert [name for name, _ in stream][-1] == "done"
    idle = client.get("/api/progress", params={"client": "me", "slot": "a.runs"}).json()
    assert idle["state"] == "idle"


def test_a_run_without_a_client_ends(client):
    with client.stream("GET", "/api/runs", params={**LONG, "client": "gone"}) as response:
        next(events(response))
    until = time.monotonic() + 20
    where = {"client": "gone", "slot": "a.runs"}
    while client.get("/api/progress", params=where).json()["state"] != "idle":
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_a_picture_without_a_client_is_cancelled(client):
    where = {"client": "gone", "slot": "a"}
    with pytest.raises(httpx.ReadTimeout):
        client.get("/api/picture", params={**where, "activation": "tanh", "K": "3"}, timeout=0.5)
    time.sleep(2)
    assert client.get("/api/progress", params=where).json()["state"] == "idle"
    assert client.get("/api/picture", params={**ERF, "learning_rate": "0.65"}).status_code == 200


def test_an_impossible_run_is_refused(client):
    answer = client.get("/api/runs", params={**ERF, "learning_rate": "0"})
    *_, (name, problem) = events(answer)
    assert name == "failed" and problem["parameter"] == "learning_rate"


def children(pid):
    """Return the child processes of a process."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [int(line) for line in listed.stdout.split()]


@pytest.mark.slow
def test_workers_that_are_killed_are_replaced_and_all_end_with_the_server():
    with (
        explorer("--workers", "1", started=(process := [])) as address,
        entered(address, 60) as one,
    ):
        assert one.get("/api/picture", params=ERF).status_code == 200
        (worker,) = children(process[0].pid)
        os.kill(worker, signal.SIGKILL)
        second = one.get("/api/picture", params={**ERF, "learning_rate": "0.8"})
        assert second.status_code == 200
        (other,) = children(process[0].pid)
        assert other != worker
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with one picture, and a folder with one training."""
    folder = tmp_path_factory.mktemp("report")
    for name in ("parts", "figures"):
        (folder / name).mkdir()
    (folder / "figures" / "oostwal2019_fig4.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'/>"
    )
    part = {"pictures": [{"svg": "oostwal2019_fig4.svg"}]}
    (folder / "parts" / "oostwal2019_fig4.json").write_text(json.dumps(part))
    values = np.ones((1, 2, 3))
    training = xr.Dataset(
        {"eigenvalues": (("run", "epoch", "eigenvalue"), values)}, {"epoch": [0, 1]}
    )
    tl.results.save(training, folder / "training.nc")
    return folder


@pytest.mark.slow
def test_papers_and_files_with_a_report_and_a_token(report):
    token = "a-token-for-this-test"
    options = ("--report", str(report), "--files", str(report), "--public", "--token", token)
    with explorer(*options, "--workers", "1") as address:
        address = address.replace(str(urlsplit(address).hostname), "127.0.0.1", 1)
        with httpx.Client(base_url=address.partition("?")[0], timeout=120) as one:
            assert one.get("/").status_code == 403
            assert one.get(address, follow_redirects=True).status_code == 200
            listed = one.get("/api/papers").json()
            pictures = [f["picture"] for f in listed["figures"] if f["picture"]]
            assert pictures == ["/api/report/oostwal2019_fig4.svg"] and not listed["message"]
            assert "<svg" in one.get(pictures[0]).text
            files = one.get("/api/files").json()["files"]
            assert files[-1]["name"] == "training.nc"
            played = one.get("/api/picture", params={"view": "playback", "file": "training.nc"})
            assert len(played.json()["frames"]) == 2


def test_the_server_itself_computes_nothing():
    code = f"import sys; sys.path[:] = {sys.path!r}; import tutelage.explorer.server\n"
    code += "print({'jax', 'scipy', 'xarray'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "set()\n"


def test_a_missing_package_is_named(monkeypatch):
    module = importlib.import_module("tutelage.explorer.serve")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(
        tl.InputError, match=r"fastapi, uvicorn, plotly.*pip install 'tutelage\[explore\]'"
    ):
        tl.explorer.serve()
    with pytest.raises(tl.InputError, match="plotly"):
        tl.explorer.export("page.html")


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("port", {"port": 70_000}),
        ("token", {"token": "short"}),
        ("token", {"token": "a token with spaces between its words"}),
        ("token", {"public": True, "token": "none"}),
        ("token", {"token": ""}),
        ("workers", {"port": 0, "workers": 0}),
        ("files", {"files": "nowhere"}),
    ],
)
def test_a_server_that_cannot_be_is_refused(argument, given):
    with pytest.raises(tl.InputError, match=f"^{argument}: "):
        tl.explorer.serve(**given)
