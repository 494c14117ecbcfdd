"""Pages opened in a browser: errors on the console, and requests to other hosts."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest


def chromium() -> str | None:
    """The browser of the system, or one that Playwright has downloaded."""
    system = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    cache = Path.home() / ".cache" / "ms-playwright"
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", cache))
    downloaded = map(str, sorted(folder.glob("chromium-*/chrome-*/chrome"), reverse=True))
    return next((path for path in [*system, *downloaded] if path), None)


CHROMIUM = chromium()
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--virtual-time-budget=5000", "--enable-logging=stderr", "--v=0"),
)
NOBODY = "not an origin"  # as the browser writes it
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium was found: make browser")


def complaints(page: Path, folder: Path, own: str = "file:") -> list[str]:
    """Console messages and requests to hosts that a page makes when it is opened from the disk.

    folder: an empty one, for what the browser writes.
    own: how addresses begin that a page may ask for.
    """
    log = folder / "requests.json"
    options = (*OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}")
    opened = subprocess.run(
        [str(CHROMIUM), *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "</html>" in opened.stdout, "the page was not opened"
    console = re.findall(r":CONSOLE[:(]\d+\)?\] (.*)", opened.stderr)
    return console + [address for address in _asked_for(log) if not address.startswith(own)]


def widest(page: Path, folder: Path, selector: str, width: int) -> int:
    """Largest width of the selected elements in a window of this width, scrolled parts included."""
    inside = html.escape(page.read_text(encoding="utf-8"))
    measure = "d => [...d.querySelectorAll('%s')].map(e => e.scrollWidth)" % selector  # noqa: UP031
    frame = folder / "frame.html"
    frame.write_text(
        f'<html><body><iframe width="{width}" height="600" srcdoc="{inside}"></iframe><p></p>'
        "<script>const f = document.querySelector('iframe'); f.onload = () => {"
        f"document.querySelector('p').id = 'w' + Math.max(...({measure})(f.contentDocument))"
        "}</script></body></html>",
        encoding="utf-8",
    )
    options = (*OPTIONS, f"--user-data-dir={folder / 'profile'}", "--dump-dom")
    opened = subprocess.run(
        [str(CHROMIUM), *options, frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return int(re.findall(r'<p id="w(\d+)">', opened.stdout)[-1])


def _asked_for(log: Path) -> list[str]:
    """Return the addresses that the page requested; requests of the browser itself have no
    origin.
    """
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    given = [event.get("params", {}) for event in events]
    return sorted({e["url"] for e in given if e.get("initiator", NOBODY) != NOBODY and "url" in e})
