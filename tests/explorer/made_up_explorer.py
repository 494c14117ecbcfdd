"""A server with made-up curves and the interface of the explorer, for tests of the page only.

`python tests/explorer/made_up_explorer.py` serves it on port 8001.
"""

import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tutelage.explorer.views import VIEWS as REAL

ROOT = Path(__file__).parents[2] / "src/tutelage/explorer/static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "style-src-attr 'unsafe-hashes' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-S+l+cz1wXqs2B0FcjqqT7NvjwGmhD1UjJswXjlSkj0s=' "
    "'sha256-AR/cKIZjWPcPmBUPDA6oti9XBiTbJvz0Cro2J1VzzS8='; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def plotly() -> Path:
    """Return the script of the package plotly."""
    result = find_spec("plotly")
    assert result and result.origin, "there is no plotly here: pip install 'tutelage[explore]'"
    return Path(result.origin).parent / "package_data/plotly.min.js"


def number(name, label, symbol, minimum, maximum, default, **more):
    """Return a numeric parameter."""
    words = {"name": name, "label": label, "symbol": symbol, "help": f"The {label}."}
    span = {"minimum": minimum, "maximum": maximum, "default": default}
    return (
        {"kind": "number", "group": "Student", "scale": "linear", "step": 0.01}
        | words
        | span
        | more
    )


def choice(name, label, default, *values, **more):
    choices = [{"value": value, "label": value.upper()} for value in values]
    words = {"name": name, "label": label, "symbol": None, "help": None, "default": default}
    return {"kind": "choice", "group": "Student", "choices": choices} | words | more


RUNS = {"group": "Finite networks", "for": "runs"}
VIEWS = [
    {
        "name": "online",
        "title": "On-line learning",
        "formula": REAL["online"].FORMULA,
        "formula_text": "d R over d alpha equals eta R",
        "documentation": "https://example.org/online",
        "streams": True,
        "parameters": [
            number("K", "students", "K", 1, 4, 2, kind="integer", step=1),
            choice("activation", "activation", "relu", "relu", "erf", "leaky"),
            number("slope", "slope", "s", 0, 1, 0.1, shown_when={"activation": ["leaky"]}),
            number(
                "learning_rate",
                "learning rate",
                "η",
                1e-3,
                10,
                1.0,
                scale="log",
                step=None,
                zero=True,
            ),
            number("noise", "noise", "ς", 0, 1, 0.0, group="Teacher"),
            {
                "name": "corrected",
                "label": "corrected start",
                "symbol": None,
                "help": "First examples without fluctuations.",
                "group": "Teacher",
                "kind": "toggle",
                "default": False,
            },
            number("dimension", "inputs", "N", 10, 1e5, 1000, kind="integer", scale="log", **RUNS),
            number("runs", "runs", None, 1, 20, 5, kind="integer", step=1, **RUNS),
        ],
    },
    {
        "name": "transitions",
        "title": "Phase transitions",
        "formula": REAL["transitions"].FORMULA,
        "formula_text": "free energy",
        "documentation": None,
        "streams": False,
        "parameters": [
            number("load", "load", "α", 0, 10, 2.0),
            {"name": "followed", "label": "followed", "kind": "hidden", "default": "low"},
        ],
    },
    {
        "name": "activation",
        "title": "Which activation",
        "formula": REAL["activation"].FORMULA,
        "formula_text": "Hermite coefficients",
        "documentation": None,
        "streams": False,
        "parameters": [
            {
                "name": "formula",
                "label": "formula",
                "symbol": "g(x)",
                "help": "For instance x*tanh(x).",
                "group": "Activation",
                "kind": "text",
                "default": "tanh(x)",
            }
        ],
    },
    {
        "name": "playback",
        "title": "Deep students and spectra",
        "formula": REAL["playback"].FORMULA,
        "formula_text": "correlations",
        "documentation": None,
        "streams": False,
        "parameters": [
            {
                "name": "file",
                "label": "training",
                "symbol": None,
                "help": None,
                "group": "Training",
                "kind": "file",
                "default": "deep.nc",
            }
        ],
    },
    {
        "name": "papers",
        "title": "Papers",
        "formula": None,
        "formula_text": None,
        "documentation": None,
        "streams": False,
        "parameters": [],
    },
]
FIGURES = [
    {
        "paper": "citton2025",
        "title": "Figure 1: learning curves",
        "caption": "Two students, two teachers.",
        "picture": "/api/report/one.svg",
        "opens": {"view": "online", "state": {"learning_rate": 0.5, "K": 3}},
    },
    {
        "paper": "oostwal2019",
        "title": "Figure 2: erf",
        "caption": "K = 5.",
        "picture": None,
        "opens": {"view": "transitions", "state": {"load": 6}},
    },
    {
        "paper": "tian2020",
        "title": "Table 1",
        "caption": "Only a table.",
        "picture": None,
        "opens": None,
    },
]
PICTURE_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='40'><circle r='20'/></svg>"
)


def axis(label, scale="linear", scales=("linear", "log"), range_=None):
    return {
        "label": label,
        "symbol": label[0],
        "scale": scale,
        "scales": list(scales),
        "range": range_,
    }


def trace(name, family, x, y, member=0, kind="line", **more):
    return {"name": name, "family": family, "member": member, "kind": kind, "x": x, "y": y} | more


def online(state):
    rate = state["learning_rate"]
    x = [0.25 * i for i in range(1, 121)]
    grown = [
        trace(
            f"R{i + 1}{j + 1}",
            "R",
            x,
            [
                math.tanh((1 + rate) * a / (10 + 3 * i + j))
                * (1 if i == j else 0.3 - 0.08 * i + 0.04 * j)
                for a in x
            ],
            state["K"] * i + j,
        )
        for i in range(state["K"])
        for j in range(2)
    ]
    norms = [
        trace(f"Q{i + 1}{i + 1}", "Q", x, [0.9 - 0.5 * math.exp(-a / (4 + i)) for a in x], i)
        for i in range(state["K"])
    ]
    error = trace("ε", "error", x, [math.exp(-a * (0.1 + rate / 10)) for a in x])
    return {
        "panels": [
            panel("overlaps", "Overlaps", axis("α = examples / N"), axis("overlap"), grown + norms),
            panel(
                "error",
                "Generalization error",
                axis("α = examples / N"),
                axis("ε_g", "log"),
                [error],
                [{"axis": "x", "at": 10, "label": "plateau ends"}],
            ),
        ],
        "numbers": [
            numbered("final error", "ε_g", error["y"][-1]),
            numbered("eigenvalue", "λ", 0.123456789012, error=1e-9),
            numbered("diverges above", "η_d", None, reason="no such rate below 10"),
            numbered("outcome", None, "reached"),
        ],
        "messages": ["The averages are exact."],
        "python": f"tl.online.evolve(scenario, start, learning_rate={rate})",
        "command": f"tutelage online --learning-rate {rate}",
    }


def transitions(state):
    """Two branches, one up to 6 and one down to 4."""
    load = state["load"]
    low = load < 4 or (load <= 6 and state["followed"] == "low")
    state["followed"] = "low" if low else "high"
    x = [0.1 * i for i in range(101)]
    here = trace("now", "state", [load], [0.0 if low else 0.8], kind="points")
    lines = [
        trace("unspecialized", "R", x, [0.0 if a < 6 else None for a in x]),
        trace("specialized", "S", x, [0.8 if a > 4 else None for a in x], kind="dashed"),
    ]
    return {
        "panels": [
            panel("states", "States", axis("α", scales=("linear",)), axis("R − S"), [*lines, here])
        ],
        "numbers": [numbered("followed", "R − S", 0.0 if low else 0.8)],
        "messages": [],
        "python": f"tl.equilibrium.states(tl.Erf(), units=5, load={load})",
        "command": None,
    }


COMMON = [0.001 + 0.5 * i for i in range(200)]


def activation(state):
    if "(" not in state["formula"]:
        raise ValueError("formula: a call such as tanh(x) is needed")
    return {
        "panels": [
            panel(
                "hermite",
                "Hermite coefficients",
                axis("n", scales=("linear",)),
                axis("c_n"),
                [trace("c", "c", [0, 1, 2, 3], [0, 0.5, 0, 0.1], kind="points", error=[0.1] * 4)],
            ),
            panel(
                "gaps",
                "With gaps",
                axis("n"),
                axis("c"),
                [
                    trace("scattered", "a", [0, 1, 2], [1, None, 2]),
                    trace("a line", "b", [0, 1, 2, 3], [1, None, 2, 3]),
                ],
            ),
            panel(
                "close",
                "On top of each other",
                axis("α"),
                axis("y"),
                [
                    trace(name, "R", COMMON, [math.tanh(rate * a) for a in COMMON], i)
                    for i, (name, rate) in enumerate([("R12", 2), ("R21", 2.3), ("R22", 0.02)])
                ],
            ),
        ],
        "numbers": [numbered("kind of transition", None, "continuous")],
        "messages": [],
        "python": "tl.activations",
        "command": None,
    }


def playback(state):
    frames = [
        {
            "label": f"epoch {n}",
            "traces": {
                "correlations": [
                    trace(
                        "ρ",
                        "rho",
                        [1, 2, 3],
                        [1, 2],
                        kind="heat",
                        z=[[math.tanh(n / (3 + i + j)) for i in range(3)] for j in range(2)],
                    )
                ]
            },
            "numbers": [numbered("loss", None, 1 / (n + 1))],
        }
        for n in range(5)
    ]
    return {
        "panels": [
            panel(
                "correlations",
                "Correlations of nodes",
                axis("teacher node", scales=("linear",)),
                axis("student node", scales=("linear",)),
                [],
            )
        ],
        "numbers": [],
        "messages": [],
        "python": "tl.deep.specialize()",
        "command": None,
        "frames": frames,
    }


def panel(name, title, x, y, traces, marks=()):
    return {
        "name": name,
        "title": title,
        "description": f"{title}, drawn.",
        "x": x,
        "y": y,
        "traces": traces,
        "marks": list(marks),
    }


def numbered(label, symbol, value, error=None, reason=None):
    return {"label": label, "symbol": symbol, "value": value, "error": error, "reason": reason}


DRAW = {
    "online": online,
    "transitions": transitions,
    "activation": activation,
    "playback": playback,
}


def checked(query):
    """Return the state of a view from a query."""
    view = next(v for v in VIEWS if v["name"] == query["view"])
    state = {}
    for p in view["parameters"]:
        given = query.get(p["name"], p["default"])
        if p["kind"] == "toggle":
            given = given in (True, "true")
        elif p["kind"] in ("number", "integer"):
            given = (int if p["kind"] == "integer" else float)(given)
            if given > p["maximum"]:
                raise ValueError(f"{p['name']}: {given} came, at most {p['maximum']} is allowed")
        state[p["name"]] = given
    return state


class Server(ThreadingHTTPServer):
    """Server that counts requests; each picture takes `delay` seconds."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.asked: list[str] = []
        self.delay = 0.0
        self.streaming = threading.Event()  # set while a stream is open
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, query = urlsplit(self.path).path, dict(parse_qsl(urlsplit(self.path).query))
        self.server.asked.append(self.path)
        if path == "/plotly.min.js":
            self.answer(plotly().read_bytes(), "text/javascript")
        elif path == "/" or path.startswith("/static/"):
            file = ROOT / (path.removeprefix("/static/").strip("/") or "index.html")
            if not file.is_file():
                return self.answer(b"no such file", "text/plain", 404)
            self.answer(file.read_bytes(), KINDS[file.suffix])
        elif path == "/api/views":
            self.tell({"views": VIEWS})
        elif path == "/api/papers":
            self.tell({"figures": FIGURES})
        elif path == "/api/files":
            files = [("deep.nc", "deep student"), ("spectrum.nc", "spectrum")]
            self.tell({"files": [{"name": n, "label": w, "view": "playback"} for n, w in files]})
        elif path == "/api/progress":
            self.tell({"state": "compiling", "seconds": 0.5, "message": "compiling K = 2"})
        elif path.startswith("/api/report/"):
            self.answer(PICTURE_SVG.encode(), "image/svg+xml")
        elif path == "/api/data":
            self.answer(b"x,y\n1,2\n", "text/csv")
        elif path == "/api/picture":
            self.picture(query)
        elif path == "/api/runs":
            self.runs(query)
        else:
            self.tell({"error": "no such address", "parameter": None}, 404)

    def do_POST(self):
        self.server.asked.append(self.path)
        self.tell({"stopped": True})

    def picture(self, query):
        time.sleep(self.server.delay)
        try:
            state = checked(query)
            drawn = DRAW[query["view"]](state)
        except ValueError as error:
            name = str(error).split(":")[0]
            return self.tell({"error": str(error), "parameter": name}, 422)
        drawn = {"next": {"followed": state["followed"]} if "followed" in state else {}} | drawn
        self.tell(drawn | {"state": state, "seconds": 0.01, "compiled": True})

    def runs(self, query):
        state = checked(query)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.server.streaming.set()
        try:
            for done in range(1, 2 + state["runs"]):
                x = [0.25 * i for i in range(1, 121)]
                y = [math.exp(-a / 5) * (1 + 0.02 * math.sin(done * a)) for a in x]
                traces = [trace(f"run {done}", "error", x, y, done, "faint")]
                self.send("progress", {"done": done, "of": state["runs"], "message": f"run {done}"})
                self.send("traces", {"panel": "error", "traces": traces})
                time.sleep(0.05 if state["runs"] < 20 else 0.5)
            self.send("done", {"message": f"{state['runs']} runs of N = {state['dimension']}"})
        except OSError:  # the page closed it
            pass
        finally:
            self.server.streaming.clear()
            self.close_connection = True

    def send(self, event, data):
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def tell(self, data, status=200):
        self.answer(json.dumps(data).encode(), "application/json", status)

    def answer(self, body, kind, status=200):
        try:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cache-Control", "max-age=3600" if len(body) > 1e6 else "no-cache")
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the page did not wait
            self.close_connection = True


if __name__ == "__main__":
    print(Server(8001).address)
    threading.Event().wait()
