"""``tutelage reproduce``: figures and numbers of the papers next to computed ones, in a report."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli.output_files import Files, in_folder, say, use_files_only
from tutelage.cli.printing import console, plain, print_json, table
from tutelage.papers import PAPERS, sections
from tutelage.papers.row import summary
from tutelage.runs.files import NotWritten

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = 24  # width of the column for values that a paper gives in words
# A section that takes longer (in seconds) is named in a log.
ANNOUNCE_SECONDS = 1.0
MEMORY = "4 GB"  # all papers at their small size took 3.8 GB
NOTABLE = ("differs", "in our reading", "depends", "corrected")
COLOURS = {
    "agrees": "green",
    "corrected": "yellow",
    "differs": "bold red",
    "in our reading": "magenta",
    "depends": "magenta",
    "undecided": "blue",
    "not comparable": "dim",
    "missing": "dim",
    "new": "cyan",
}


def _papers(incomplete: str) -> list[str]:
    """Complete the key of a paper in a shell."""
    return [key for key in PAPERS if key.startswith(incomplete)]


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER",
            help=f"Citation keys: {', '.join(PAPERS)}; by default all papers.",
            show_default=False,
            autocompletion=_papers,
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(metavar="N", help="Only this figure, or the section of this name."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Compute at the papers' sizes, which takes hours.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Recompute stored sections.")] = False,
    workers: Annotated[int, typer.Option(metavar="COUNT", help="Number of worker processes.")] = 1,
    all_rows: Annotated[
        bool, typer.Option("--rows", help="Print every row, and the notes below them.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of rows instead of a table.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the report.")] = Path(
        "report"
    ),
) -> None:
    """Draw the papers' figures and check their published numbers.

    The report is DIR/index.html, with every figure (PNG, SVG, PDF), its data, and all rows. Printed
    are the number of rows with each verdict, and the rows that differ, depend on something that a
    paper does not print, or were corrected. Computed sections are saved in DIR: an interrupted run
    continues, and a second run takes seconds. The exit code is 1 if a number differs and no note
    says why.
    """
    from tutelage.sweeps.cluster import check_workers

    check_workers("--workers", workers, "--workers 2")
    with Files(folder=out):
        whole = True
        try:
            rows = _build(papers or [], figure, full, again, out, workers)
        except NotWritten as problem:
            say(f"{problem}; {in_folder(out)}")
            if problem.result is None:
                raise typer.Exit(1) from None
            rows, whole = problem.result, False
        if as_json:
            print_json(rows)
        else:
            _print(rows, all_rows, out)
    # A claim that does not hold counts as a finding if a note explains it; an unexplained deviation
    # counts as a failure.
    if not whole or any(row["verdict"] == "differs" and not row["note"] for row in rows):
        raise typer.Exit(1)


def _print(rows: list[dict[str, Any]], all_rows: bool, out: Path) -> None:
    if all_rows:
        _print_rows(rows)
    _print_notable(rows)
    _print_counts(rows)
    console().print(f"report: {plain(str(out / 'index.html'))}")


def _build(
    papers: list[str], figure: str | None, full: bool, again: bool, out: Path, workers: int
) -> list[dict[str, Any]]:
    use_files_only()
    from tutelage.report import build

    if full:
        _announce_full_runs(papers, figure)
    with _progress() as show:
        return build(papers, figure, full, again, out, workers, show)


def _announce_full_runs(papers: list[str], figure: str | None) -> None:
    """Print what full runs compute and how long they take, before they start."""
    for entry in sections(papers, figure):
        if entry.section.full:
            say(f"{entry.paper.key}, {entry.section.name}, at full size: {entry.section.full}")


class Sections:
    """Print lines in a log that name the running section if it takes long."""

    def __init__(self) -> None:
        self._soon: threading.Timer | None = None
        self._said = False

    def show(self, done: int, total: int, title: str) -> None:
        """Announce the next section; loaded sections are skipped silently."""
        self._forget()
        words = f"{done} of {total} done; {title}" if done < total else title
        self._soon = threading.Timer(ANNOUNCE_SECONDS, self._say, (words,))
        self._soon.daemon = True
        self._soon.start()

    def _say(self, words: str) -> None:
        if not self._said:
            say(f"this takes up to {MEMORY} of memory; finished sections are saved")
            self._said = True
        say(words)

    def _forget(self) -> None:
        if self._soon is not None:
            self._soon.cancel()

    def __enter__(self) -> "Sections":
        return self

    def __exit__(self, *_: object) -> None:
        self._forget()


@contextmanager
def _progress() -> "Iterator[Callable[[int, int, str], None]]":
    """Show a bar with the running section on a terminal, or a line per section in a log."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        with Sections() as sections:
            yield sections.show
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}")
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), text)
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, title: bar.update(
            task, completed=done, total=total, description=plain(title)
        )


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """Print every row, then every note of rows that do not agree, once each."""
    printed = table("paper", "item")
    printed.add_column("published", justify="right", max_width=WORDS)
    for heading in ("computed", "error"):
        printed.add_column(heading, justify="right")
    printed.add_column("verdict")
    for row in rows:
        # A published number is followed by the deviation from it, a new number by its error.
        error = row["uncertainty"] if row["verdict"] == "new" else row["error"]
        computed = row["words"] or _text(row["computed"], ".10g")
        numbers = (row["printed"], computed, "" if row["words"] else _text(error, ".1e"))
        printed.add_row(row["paper"], plain(row["item"]), *map(plain, numbers), _verdict(row))
    screen = console()
    screen.print(printed)
    notes = {(row["verdict"], row["note"]): None for row in rows if row["note"]}
    for verdict, note in notes:
        if verdict not in ("agrees", "new"):
            screen.print(f"\n{verdict}: {plain(note)}")
    screen.print()


def _print_notable(rows: list[dict[str, Any]]) -> None:
    """Print a line for each row that differs, depends or was corrected; long lines end in …."""
    from rich.text import Text

    notable = [row for verdict in NOTABLE for row in rows if row["verdict"] == verdict]
    printed = table()
    for heading in ("verdict", "paper"):
        printed.add_column(heading, no_wrap=True)
    printed.add_column("item")  # leaves room for the other columns
    printed.add_column("published", no_wrap=True, max_width=WORDS)
    printed.add_column("computed", no_wrap=True)
    for row in notable:
        item = Text(row["item"], no_wrap=True, overflow="ellipsis")
        numbers = (plain(row["printed"]), row["words"] or _text(row["computed"], ".6g"))
        printed.add_row(_verdict(row), row["paper"], item, *numbers)
    if notable:
        console().print(printed, "")


def _print_counts(rows: list[dict[str, Any]]) -> None:
    """Print the number of rows with each verdict, for each paper."""
    counts = Counter((row["paper"], row["verdict"]) for row in rows)
    verdicts = [verdict for verdict in COLOURS if any(row["verdict"] == verdict for row in rows)]
    printed = table("paper")
    for heading in ("rows", *verdicts):
        printed.add_column(heading, justify="right")
    for paper in dict.fromkeys(row["paper"] for row in rows):
        numbers = [counts[paper, verdict] for verdict in verdicts]
        printed.add_row(paper, str(sum(numbers)), *map(str, numbers))
    console().print(printed, f"\n{summary(row['verdict'] for row in rows)}")
    if before := sum(bool(row["recorded"]) for row in rows):
        console().print(f"{before} of them from recorded results; --full recomputes them")


def _verdict(row: dict[str, Any]) -> str:
    return f"[{COLOURS[row['verdict']]}]{row['verdict']}[/]"


def _text(value: float | None, digits: str) -> str:
    return "" if value is None else f"{value:{digits}}"
