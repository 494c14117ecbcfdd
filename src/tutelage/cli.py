"""The command ``tutelage``.

Every subcommand shows an example in its ``--help``, prints JSON for programs with
``--json``, and is silent but for its result when it does not run on a terminal.
Whatever computes is imported inside the function that needs it, so that ``--help``
answers at once.
"""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tutelage
from tutelage.checks import InputError
from tutelage.papers import TITLES

if TYPE_CHECKING:
    from rich.console import Console

    from tutelage.papers import Record

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the same plain help on a terminal and in a log
    context_settings={"help_option_names": ["-h", "--help"]},
)
COLOURS = {"agrees": "green", "corrected": "yellow", "differs": "bold red"}
LOG_WIDTH = 150  # a log has no width of its own; this is what the widest table needs


def main() -> None:
    """Run the command; an `InputError` becomes its message and the exit code 2."""
    try:
        app(prog_name="tutelage")
    except InputError as problem:
        print(f"tutelage: {problem}", file=sys.stderr)
        sys.exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tutelage {tutelage.__version__}")
        raise typer.Exit


@app.callback(epilog="Example: tutelage reproduce oostwal2019")
def tutelage_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Statistical physics of learning from a teacher."""


@app.command(epilog="Example: tutelage reproduce oostwal2019 straat2019 --json")
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
        typer.Option(metavar="DIR", help="Also draw the errors, one picture for each paper."),
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
    if any(record.verdict == "differs" for record in records):
        raise typer.Exit(1)


def _console(stderr: bool = False) -> "Console":
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = LOG_WIDTH
    return console


def _compute(papers: list[str]) -> list["Record"]:
    console = _console(stderr=True)
    if not console.is_terminal:
        return tutelage.papers.reproduce(papers)
    with console.status("computing"):
        return tutelage.papers.reproduce(papers)


def _print_table(records: list["Record"]) -> None:
    from rich.table import Table

    console = _console()
    table = Table("paper", "item", box=None, pad_edge=False)
    for heading in ("published", "computed", "error"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for row in records:
        verdict = f"[{COLOURS[row.verdict]}]{row.verdict}[/]"
        numbers = (row.printed, f"{row.computed:.10g}", f"{row.error:.1e}")
        table.add_row(row.paper, _plain(row.item), *map(_plain, numbers), verdict)
    console.print(table)
    for note in dict.fromkeys(row.note for row in records if row.verdict == "corrected"):
        console.print(f"\ncorrected: {_plain(note)}")
    counts = {v: sum(row.verdict == v for row in records) for v in COLOURS}
    console.print(
        f"\n{len(records)} comparisons: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    )


def _plain(text: str) -> str:
    """Square brackets are matrices here, not markup."""
    return text.replace("[", r"\[")


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
    import matplotlib

    matplotlib.use("Agg")  # files only: no window, and no display needed
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for paper in dict.fromkeys(record.paper for record in records):
        rows = [record for record in records if record.paper == paper]
        ax = tutelage.figures.agreement(
            [row.item for row in rows], [row.error for row in rows], [row.verdict for row in rows]
        )
        ax.set_title(paper)
        ax.figure.savefig(folder / f"{paper}.png", dpi=150)
        plt.close(ax.figure)


if __name__ == "__main__":
    main()
