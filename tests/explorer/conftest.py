"""One server for all tests of the explorer."""

from collections.abc import Iterator

import httpx
import pytest
from browser import CHROMIUM
from explorer.pages import OPTIONS
from explorer.running import entered, explorer


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with explorer("--workers", "2") as result:
        yield result


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with entered(address) as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """A browser for one file of tests: while it is open, no other event loop can run."""
    sync = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with sync.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        yield one
        one.close()
