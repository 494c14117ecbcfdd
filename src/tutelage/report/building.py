"""Build a report: compute the sections that are not stored yet, then write the page."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tutelage.papers import Entry, sections
from tutelage.report.page import write_page
from tutelage.report.parts import Part, command, compute, prepare_folder, stored_part
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
    """Compute sections of papers, and write ``index.html`` with all sections computed so far.

    Stored results of the same code are taken from the folder, so that an interrupted run
    continues after its last complete section.

    Args:
        papers: citation keys, members of `tutelage.papers.PAPERS`; default: all.
        figure: number of the only figure, or name of the only section, to compute.
        full: compute at the sizes of the papers.
        again: recompute stored sections.
        folder: folder of the report; created if it does not exist.
        workers: number of worker processes.  Sections of one module share results, so that a
            worker computes them together if there are enough modules.
        show: progress callback (done, total, title), called before each section.

    Returns:
        The rows of the requested sections: the fields of `tutelage.papers.Row`, the section, and
        the command that recomputes it.

    Raises:
        NotWritten: if the disk is full; it has the rows if only the page is missing.
    """
    chosen, folder = sections(papers, figure), prepare_folder(Path(folder))
    missing = []
    for entry in chosen:
        before = stored_part(entry, full, folder)
        if again or before is None:
            # A full section is recomputed at full size.
            missing.append((entry, full or (before is not None and before.full)))
    _compute(
        missing,
        folder,
        workers,
        lambda done, title: show(len(chosen) - len(missing) + done, len(chosen), title),
    )
    show(len(chosen), len(chosen), "writing the report")
    # The page also has the sections that were stored by earlier runs.
    parts = {entry: part for entry in sections() if (part := stored_part(entry, False, folder))}
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
    """Compute sections serially, or with several worker processes."""
    if workers == 1 or len(wanted) < 2:
        for finished, (entry, full) in enumerate(wanted):
            show(finished, f"{entry.paper.key}, {entry.section.title}")
            compute(entry, full, folder)
        return
    names = [(entry.paper.key, entry.section.name, full) for entry, full in wanted]
    queue = Queue(list(range(len(wanted))), [entry.module for entry, _ in wanted], least=1)

    def work(group: Group) -> Any:
        return compute_sections, ([names[number] for number in group.numbers], folder.resolve())

    finished = 0
    show(finished, f"{len(wanted)} sections on {workers} processes")
    for group, result in engine.by_workers(
        queue, work, workers, per_worker=engine.LONG_GROUPS_PER_WORKER
    ):
        title = ", ".join(" ".join(names[number][:2]) for number in group.numbers)
        if result is None:
            raise RuntimeError(f"{title}: {engine.KILLED}")
        finished += len(group.numbers)
        show(finished, f"last: {title}")


def compute_sections(wanted: list[tuple[str, str, bool]], folder: Path) -> tuple[str, float]:
    """Compute sections, given by paper, name and size, in a worker; return the seconds taken."""
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
