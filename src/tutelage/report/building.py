"""From sections to a page: compute what is not there yet, then write everything that is."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tutelage.papers import Entry, sections
from tutelage.report.page import write_page
from tutelage.report.parts import Part, command, compute, kept, made
from tutelage.runs import files
from tutelage.sweeps import engine
from tutelage.sweeps.groups import Group, Queue


def build(
    papers: Iterable[str] = (),
    figure: str | None = None,
    full: bool = False,
    again: bool = False,
    folder: str | Path = "report",
    workers: int = 1,
    show: Callable[[int, int, str], None] = lambda done, total, title: None,
) -> list[dict[str, Any]]:
    """Compute sections of papers and write ``index.html`` of all that has been computed so far.

    Results that the same code has computed before are taken from the folder; what has been
    finished when a run is stopped is not computed again by the next.

    Args:
        papers: citation keys, members of `tutelage.papers.PAPERS`; all if none is named.
        figure: only the figure of this number, or the section of this name.
        full: at the papers' sizes.
        again: compute what is there already once more.
        folder: where the report goes; made if it does not exist.
        workers: processes that compute; each stays with a module as long as there is another one
            for the others, because sections of a module share what they compute.
        show: called before each section with how many are done, of how many, and its title.

    Returns:
        The rows of the sections asked for, as entries for programs: those of
        `tutelage.papers.Row`, the section, and the command that recomputes it.

    Raises:
        NotWritten: if a disk is full, with the rows where only the page is missing.
    """
    chosen, folder = sections(papers, figure), made(Path(folder))
    wanted = []
    for entry in chosen:
        before = kept(entry, full, folder)
        if again or before is None:
            # What is recomputed is recomputed at its size.
            wanted.append((entry, full or (before is not None and before.full)))
    _compute(
        wanted,
        folder,
        workers,
        lambda done, title: show(len(chosen) - len(wanted) + done, len(chosen), title),
    )
    show(len(chosen), len(chosen), "writing the report")
    # What earlier runs have left stays in the report, also if this one asked for one figure.
    parts = {entry: part for entry in sections() if (part := kept(entry, False, folder))}
    rows = _rows({entry: parts[entry] for entry in chosen})
    try:
        write_page(parts, folder)
        _write_rows(_rows(parts), folder)
    except OSError as problem:
        words = f"the page in {str(folder)!r} could not be written ({files.reason(problem)})"
        raise files.NotWritten(words, rows) from None
    return rows


def _compute(
    wanted: list[tuple[Entry, bool]],
    folder: Path,
    workers: int,
    show: Callable[[int, str], None],
) -> None:
    """Sections at their sizes, one after the other or by several processes."""
    if workers == 1 or len(wanted) < 2:
        for done, (entry, full) in enumerate(wanted):
            show(done, f"{entry.paper.key}, {entry.section.title}")
            compute(entry, full, folder)
        return
    names = [(entry.paper.key, entry.section.name, full) for entry, full in wanted]
    queue = Queue(list(range(len(wanted))), [entry.module for entry, _ in wanted], least=1)

    def work(group: Group) -> Any:
        return compute_some, ([names[number] for number in group.numbers], folder.resolve())

    done = 0
    show(done, f"{len(wanted)} sections on {workers} processes")
    for group, found in engine.by_workers(queue, work, workers):
        title = ", ".join(" ".join(names[number][:2]) for number in group.numbers)
        if found is None:
            raise RuntimeError(f"{title}: {engine.KILLED}")
        done += len(group.numbers)
        show(done, f"the last one: {title}")


def compute_some(wanted: list[tuple[str, str, bool]], folder: Path) -> tuple[str, float]:
    """Sections by paper, name and size, in a process of their own; and how long they took."""
    import matplotlib

    begun = time.perf_counter()
    matplotlib.use("Agg")
    for paper, name, full in wanted:
        (entry,) = [entry for entry in sections([paper]) if entry.section.name == name]
        compute(entry, full, folder)
    return "done", time.perf_counter() - begun


def _rows(parts: dict[Entry, Part]) -> list[dict[str, Any]]:
    return [
        {**row.as_dict(), "section": entry.section.name, "command": command(entry, part)}
        for entry, part in parts.items()
        for row in part.rows
    ]


def _write_rows(rows: list[dict[str, Any]], folder: Path) -> None:
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    files.write(folder / "rows.json", text, follow_link=False)
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, fieldnames=list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    files.write(folder / "rows.csv", table.getvalue(), follow_link=False)
