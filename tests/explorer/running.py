"""A server in a separate process, for the tests of the explorer."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx

SOURCE = Path(__file__).parents[2] / "src"
CACHE = Path(__file__).parents[2] / ".pytest_cache" / "jax"
START = "from tutelage.cli import main; main()"


@contextlib.contextmanager
def explorer(*options: str, started: list | None = None) -> Iterator[str]:
    """Run ``tutelage explore`` at a free port; yield the printed address, and stop it.

    The address has the token, unless ``--token none`` is among the options.

    started: a list to which the process is added.
    """
    compiled = {
        "JAX_COMPILATION_CACHE_DIR": str(CACHE),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", START, "explore", "--port", "0", "--no-browser", *options],
        env={**os.environ, **compiled, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    if started is not None:
        started.append(process)
    try:
        line = process.stdout.readline()
        match = re.search(r"http://\S+", line)
        assert match, f"the server has said {line!r}"
        yield match.group()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            process.stdout.close()


@contextlib.contextmanager
def entered(address: str, timeout: float = 120) -> Iterator[httpx.Client]:
    """Return a client with the cookie of the printed address."""
    with httpx.Client(base_url=address.partition("?")[0], timeout=timeout) as one:
        assert one.get(address).status_code == 303
        yield one
