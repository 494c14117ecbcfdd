"""Results of long runs that are stored in the package, so that every report can show them.

A file holds what rows and pictures are made of, and in its attributes the command, the version, the
machine and the seed that made it.  Rows of it are marked *recorded*.  A full run computes them
again, and reports for each whether it still holds.
"""

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import xarray as xr

from tutelage import results
from tutelage.papers.row import Row
from tutelage.papers.section import Figure
from tutelage.sweeps import engine
from tutelage.sweeps.groups import Group, Queue

FOLDER = "recorded"  # of a paper
# The folder in which unfinished runs save their parts, the number of processes that compute parts,
# and the CPU seconds of parts that other processes have computed.
PARTS_VARIABLE, PROCESSES_VARIABLE = "TUTELAGE_PARTS", "TUTELAGE_PROCESSES"
EARLIER = {"cpu_seconds": 0.0}
Data = TypeVar("Data", xr.Dataset, Mapping[str, xr.Dataset])


def load_recorded(paper: str, name: str) -> xr.Dataset:
    """Load ``papers/PAPER/recorded/NAME.nc``."""
    return results.load(Path(__file__).parent / paper / FOLDER / f"{name}.nc")


def in_parts(
    name: str, keys: Iterable[Any], compute: Callable[[Any], xr.Dataset]
) -> list[xr.Dataset]:
    """Compute the parts of a long run, one for each key.

    If the environment variable TUTELAGE_PARTS names a folder, finished parts are saved there, and
    the next process continues from them.  TUTELAGE_PROCESSES is the number of processes that
    compute parts; with more than one the last parts, which take longest, begin first.
    """
    every = list(keys)
    processes = min(int(os.environ.get(PROCESSES_VARIABLE, "1")), len(every))
    names = [f"{name}-{key}" for key in every]
    if processes <= 1:
        return [part(name, partial(compute, key)) for name, key in zip(names, every, strict=True)]

    def work(group: Group) -> Any:
        (number,) = group.numbers
        return _timed_part, (names[number], partial(compute, every[number]))

    queue = Queue([*range(len(every))][::-1], names, least=1)
    finished = {}
    for group, result in engine.by_workers(
        queue, work, processes, per_worker=engine.LONG_GROUPS_PER_WORKER
    ):
        if result is None:
            raise RuntimeError(f"{group.shape}: {engine.KILLED}")
        finished[group.numbers[0]] = result
    EARLIER["cpu_seconds"] += sum(seconds for _, seconds in finished.values())
    return [finished[number][0] for number in range(len(every))]


def _timed_part(
    name: str, compute: Callable[[], xr.Dataset]
) -> tuple[tuple[xr.Dataset, float], float]:
    """Compute or load one part in a worker; return it with its CPU seconds, and the seconds."""
    begun, begin, earlier = time.perf_counter(), time.process_time(), EARLIER["cpu_seconds"]
    dataset = part(name, compute)
    spent = time.process_time() - begin + EARLIER["cpu_seconds"] - earlier
    return (dataset, spent), time.perf_counter() - begun


def part(name: str, compute: Callable[[], xr.Dataset]) -> xr.Dataset:
    """Compute one part of a long run, or load it from the folder TUTELAGE_PARTS."""
    folder = os.environ.get(PARTS_VARIABLE)
    if not folder:
        return compute()
    file = Path(folder) / f"{name}.nc"
    if file.exists():
        finished = results.load(file).drop_encoding()
        EARLIER["cpu_seconds"] += float(finished.attrs.pop("cpu_seconds"))
        return finished
    begin = time.process_time()
    new = compute()
    file.parent.mkdir(parents=True, exist_ok=True)
    results.save(new.assign_attrs(cpu_seconds=time.process_time() - begin), file)
    return new


def digest(paper: str) -> str:
    """Return a hash of the recorded files of a paper, on which its sections depend besides code."""
    content = hashlib.sha256()
    for file in sorted((Path(__file__).parent / paper / FOLDER).glob("*.nc")):
        content.update(file.name.encode() + file.read_bytes())
    return content.hexdigest()[:16]


def describe_origin(*datasets: xr.Dataset) -> str:
    """Return command, machine, versions and seed of datasets in words."""
    return "; ".join(dict.fromkeys(_describe(one.attrs) for one in datasets))


def _describe(attrs: Mapping[str, Any]) -> str:
    code = f"tutelage {attrs['tutelage_version']}, commit {attrs['commit']}"
    if "commit_note" in attrs:
        code += f" ({attrs['commit_note']})"
    versions = f"{code}, jax {attrs['jax_version']}"
    origin = f"{attrs['machine']}, {versions}, seed {attrs['seed']}"
    return f"{attrs['command']} ({origin}; not computed again with later code)"


def show_recorded(
    before: Data,
    compute: Callable[[], Data],
    show: Callable[[Data], Iterable[Row | Figure]],
    full: bool,
) -> Iterator[Row | Figure]:
    """Show recorded data; a full run computes the data again and compares the rows.

    before: one dataset, or several by name.
    show: makes rows and figures of the data.
    """
    if full:
        return compare_with_recorded(show(compute()), show(before))
    datasets = [before] if isinstance(before, xr.Dataset) else before.values()
    return mark_recorded(show(before), describe_origin(*datasets))


def mark_recorded(parts: Iterable[Row | Figure], recorded: str) -> Iterator[Row | Figure]:
    """Mark rows as recorded, with the command that recorded them."""
    for part in parts:
        yield replace(part, recorded=recorded) if isinstance(part, Row) else part


def compare_with_recorded(
    now: Iterable[Row | Figure], before: Iterable[Row | Figure]
) -> Iterator[Row | Figure]:
    """Add to recomputed rows whether the recorded ones still hold."""
    then = {row.item: row for row in before if isinstance(row, Row)}
    for part in now:
        if isinstance(part, Row) and part.item in then:
            old = then[part.item]
            outcome = "which still holds" if _holds(old, part) else "which no longer holds"
            words = f"Recorded before: {old.computed:.6g}, {old.verdict}, {outcome}."
            part = replace(part, note=f"{part.note} {words}".strip())
        yield part


def _holds(old: Row, now: Row) -> bool:
    """Return whether verdicts are the same, and new numbers agree to four standard errors."""
    if now.verdict != "new":
        return old.verdict == now.verdict
    allowed = 4 * math.hypot(old.uncertainty, now.uncertainty)
    return abs(old.computed - now.computed) <= allowed
