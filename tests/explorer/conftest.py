"""One server for all tests of the explorer."""

from collections.abc import Iterator

import httpx
import pytest
from explorer.running import explorer


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with explorer("--workers", "2") as found:
        yield found


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=120) as one:
        yield one
