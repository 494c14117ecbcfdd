"""``tutelage reproduce``: published numbers beside computed ones."""

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.checks import InputError
from tutelage.cli.show import console, plain, use_files_only, waiting
from tutelage.papers import TITLES

if TYPE_CHECKING:
    from tutelage.papers import Record

COLOURS = {"agrees": "green", "corrected": "yellow", "differs": "bold red"}


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER",
            help=f"Citation keys: {', '.join(TITLES)}; all of them when none is named.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of records instead of a table.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also save the records, as .json or .csv."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also draw the papers' figures, with their data beside them, and the errors.",
        ),
    ] = None,
) -> None:
    """Show published numbers beside computed ones.

    The verdict is "agrees" (reproduced to the digits printed), "corrected" (the paper
    has a known slip, explained below the table) or "differs"; the exit code is 1 if
    any number differs.
    """
    _check_destination(out)
    records = _compute(papers or [])
    if as_json:
        print(json.dumps([record.as_dict() for record in records], indent=1))
    else:
        _print_table(records)
    if out is not None:
        _save(records, out)
    if plot is not None:
        _draw(records, plot)
    # A claim that does not hold is a finding if a note says why; a number that nobody has
    # looked into is a failure.
    if any(record.verdict == "differs" and not record.note for record in records):
        raise typer.Exit(1)


def _compute(papers: list[str]) -> list["Record"]:
    from tutelage.papers import reproduce

    return waiting(lambda: reproduce(papers))


def _print_table(records: list["Record"]) -> None:
    from rich.table import Table

    screen = console()
    table = Table("paper", "item", box=None, pad_edge=False)
    for heading in ("published", "computed", "error"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for row in records:
        verdict = f"[{COLOURS[row.verdict]}]{row.verdict}[/]"
        numbers = (row.printed, f"{row.computed:.10g}", f"{row.error:.1e}")
        table.add_row(row.paper, plain(row.item), *map(plain, numbers), verdict)
    screen.print(table)
    told = [(row.verdict, row.note) for row in records if row.verdict != "agrees" and row.note]
    for verdict, note in dict.fromkeys(told):
        screen.print(f"\n{verdict}: {plain(note)}")
    counts = {v: sum(row.verdict == v for row in records) for v in COLOURS}
    screen.print(
        f"\n{len(records)} comparisons: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    )


def _check_destination(out: Path | None) -> None:
    if out is not None and out.suffix not in (".json", ".csv"):
        raise InputError(
            "--out", repr(str(out)), "the name has to end in .json or .csv", "--out records.csv"
        )


def _save(records: list["Record"], out: Path) -> None:
    rows = [record.as_dict() for record in records]
    with out.open("w", newline="", encoding="utf-8") as file:
        if out.suffix == ".json":
            json.dump(rows, file, indent=1)
            return
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _draw(records: list["Record"], folder: Path) -> None:
    """The errors, one picture for each paper, and the figures of those that have some."""
    use_files_only()
    import matplotlib.pyplot as plt

    from tutelage import figures
    from tutelage.papers import draw

    folder.mkdir(parents=True, exist_ok=True)
    keys = list(dict.fromkeys(record.paper for record in records))
    for paper in keys:
        rows = [record for record in records if record.paper == paper]
        ax = figures.agreement(
            [row.item for row in rows], [row.error for row in rows], [row.verdict for row in rows]
        )
        ax.set_title(paper)
        ax.figure.savefig(folder / f"{paper}.png", dpi=150)
        plt.close(ax.figure)
    waiting(lambda: draw(keys, folder))
