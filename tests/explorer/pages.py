"""Helpers for tests of the page in a browser."""

import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
WIDE = {"viewport": {"width": 1400, "height": 900}}
PHONE = {"viewport": {"width": 400, "height": 800}}
FRAMES = "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
LONG = 60_000  # ms; a busy machine


class Watched:
    """A page with a record of its console messages, errors and requests to other hosts."""

    def __init__(self, context, own: str):
        self.complaints: list[str] = []
        self.own = own
        context.set_default_timeout(LONG)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _asked(self, request) -> None:
        if not request.url.startswith((self.own, "data:", "blob:")):
            self.complaints.append(f"asks for {request.url}")


def settled(page) -> None:
    """Wait until the requested pictures are drawn."""
    page.evaluate(FRAMES)
    page.locator("#stage[aria-busy=false] .plot .main-svg, #figures .card").first.wait_for()
    page.evaluate(FRAMES)


def until(page, condition):
    """Wait until a condition holds; return its value."""
    end = time.monotonic() + LONG / 1000
    while not (value := condition()):
        assert time.monotonic() < end, "it has not come to hold"
        page.wait_for_timeout(20)
    return value


def number(page, label):
    """Return the values of a row of the table next to the picture."""
    return page.locator("#numbers tr", has_text=label).locator("td").all_inner_texts()


def fragment(page):
    return {k: v[0] for k, v in parse_qs(urlsplit(page.url).fragment).items()}


def drawn(page, panel=0):
    """Names of the curves that Plotly draws in a panel, and the ranges of its axes.

    Found and read at once: a locator reads a moment later, when another one may have replaced it.
    """
    return page.evaluate(
        "panel => { const p = document.querySelectorAll('.plot')[panel];"
        " return {names: p.data.map(t => t.name), x: p.layout.xaxis,"
        " y: p._fullLayout.yaxis.range}; }",
        panel,
    )


def faults(page):
    """Return the serious accessibility problems that axe-core finds."""
    result = find_spec("axe_core_python")
    assert result and result.origin
    page.evaluate((Path(result.origin).parent / "axe.min.js").read_text(encoding="utf-8"))
    message = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        (fault["id"], node["html"], node["failureSummary"])
        for fault in message["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
