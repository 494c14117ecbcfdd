"""From sections to a page: compute what is not there yet, then write everything that is."""

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tutelage.papers import Entry, sections
from tutelage.report.page import write_page
from tutelage.report.parts import Part, command, compute, kept, made
from tutelage.runs import files


def build(
    papers: Iterable[str] = (),
    figure: str | None = None,
    full: bool = False,
    again: bool = False,
    folder: str | Path = "report",
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
        show: called before each section with how many are done, of how many, and its title.

    Returns:
        The rows of the sections asked for, as entries for programs: those of
        `tutelage.papers.Row`, the section, and the command that recomputes it.

    Raises:
        NotWritten: if a disk is full, with the rows where only the page is missing.
    """
    chosen, folder = sections(papers, figure), made(Path(folder))
    for done, entry in enumerate(chosen):
        show(done, len(chosen), f"{entry.paper.key}, {entry.section.title}")
        before = kept(entry, full, folder)
        if again or before is None:
            # What is recomputed is recomputed at its size.
            compute(entry, full or (before is not None and before.full), folder)
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


def _rows(parts: dict[Entry, Part]) -> list[dict[str, Any]]:
    return [
        {**row.as_dict(), "section": entry.section.name, "command": command(entry, part)}
        for entry, part in parts.items()
        for row in part.rows
    ]


def _write_rows(rows: list[dict[str, Any]], folder: Path) -> None:
    files.write(folder / "rows.json", json.dumps(rows, indent=1, ensure_ascii=False))
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, fieldnames=list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    files.write(folder / "rows.csv", table.getvalue())
