"""The explorer: how long the first picture takes, and a step of a slider, alone and in company.

    make bench

The server is started as a user starts it, with what was compiled by an earlier start; ``--cold``
begins with nothing.  Seconds are those of a clock, from a client's request to the last byte of its
answer, on a machine that should have nothing else to do.  Every step asks for another learning
rate, so that nothing is answered from memory.
"""

import argparse
import asyncio
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time

import httpx
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

START = "from tutelage.cli import main; main()"
UNITS = ("erf", "relu")
STEPS, CLIENTS = 20, 10


class Running:
    """A server in a process of its own."""

    def __enter__(self) -> "Running":
        self.begun = time.monotonic()
        command = [
            sys.executable,
            "-c",
            START,
            "explore",
            "--port",
            "0",
            "--no-browser",
            "--token",
            "none",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group()
        self.listening = time.monotonic() - self.begun
        return self

    def __exit__(self, *_) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def asked(client: httpx.Client, **state) -> float:
    """Seconds of one picture."""
    begun = time.perf_counter()
    client.get("/api/picture", params=state).raise_for_status()
    return time.perf_counter() - begun


def first_picture() -> tuple[float, float]:
    """From the command to a server that listens, and from there to the first picture."""
    with Running() as server, httpx.Client(base_url=server.address, timeout=300) as client:
        return server.listening, asked(client)


def steps(client: httpx.Client, **state) -> np.ndarray:
    rates = np.linspace(0.2, 0.9, STEPS)
    return np.array([asked(client, **state, learning_rate=float(rate)) for rate in rates])


def moved_loads(client: httpx.Client) -> np.ndarray:
    return np.array([asked(client, view="transitions", load=41 + i) for i in range(STEPS)])


def processors(server: Running) -> float:
    """Seconds that processors have worked for the server and its workers."""
    tree = psutil.Process(server.process.pid)
    times = [process.cpu_times() for process in (tree, *tree.children())]
    return sum(time.user + time.system for time in times)


async def in_company(address: str) -> np.ndarray:
    """Steps of so many clients at a time, each of which waits for its answer before the next."""
    async with httpx.AsyncClient(base_url=address, timeout=300) as client:

        async def one(number: int) -> list[float]:
            results = []
            for rate in np.linspace(0.2, 0.9, STEPS):
                begun = time.perf_counter()
                query = {"client": f"c{number}", "learning_rate": rate + 1e-3 * (number + 1)}
                (await client.get("/api/picture", params=query)).raise_for_status()
                results.append(time.perf_counter() - begun)
            return results

        return np.ravel(await asyncio.gather(*(one(number) for number in range(CLIENTS))))


def row(table: Table, server: Running, name: str, measure) -> None:
    before = processors(server)
    seconds = measure()
    each = (processors(server) - before) / len(seconds)
    result = 1000 * np.array([*np.quantile(seconds, [0.5, 0.9, 1.0]), each])
    table.add_row(name, *(f"{x:.0f} ms" for x in result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cold", action="store_true", help="begin with nothing compiled")
    if parser.parse_args().cold:
        os.environ["TUTELAGE_PROGRAMS"] = tempfile.mkdtemp()
    else:
        first_picture()  # so that something is compiled
    console = Console(width=100)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    listening, first = first_picture()
    console.print(f"listens after {listening:.2f} s, first picture {first:.2f} s later")
    table = Table("a step of the learning rate", "median", "90 %", "worst", "of processors")
    with Running() as server, httpx.Client(base_url=server.address, timeout=300) as client:
        for unit in UNITS:
            for K, M in ((1, 1), (2, 2), (3, 2), (3, 3)):
                state = {"activation": unit, "K": K, "M": M, "until": 100}
                asked(client, **state)
                row(table, server, f"{unit}, K = {K}, M = {M}", lambda s=state: steps(client, **s))
        asked(client, view="transitions", load=40)
        row(table, server, "a step of the load, erf, K = 5", lambda: moved_loads(client))
        name = f"erf, K = M = 2, {CLIENTS} clients at once"
        row(table, server, name, lambda: asyncio.run(in_company(server.address)))
    console.print(table)


if __name__ == "__main__":
    main()
