"""The verdict that every row of the report has to have: ``tests/papers/verdicts.csv``.

The table is changed on purpose, never by a test:

    tutelage reproduce --out FOLDER         # quick sizes, without the images of CIFAR-10
    python tests/verdicts.py FOLDER         # writes the table anew; read its diff

and README.md has the counts (`summary`).
"""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

from tutelage.papers.row import VERDICTS

TABLE = Path(__file__).parent / "papers" / "verdicts.csv"
COLUMNS = ("paper", "section", "item", "verdict", "recorded")
RECORDED = "recorded"


def of_rows(rows: list[dict]) -> list[tuple[str, ...]]:
    """What the table has of rows of a report."""
    *names, _ = COLUMNS
    return [(*(row[n] for n in names), RECORDED if row["recorded"] else "") for row in rows]


def expected() -> list[tuple[str, ...]]:
    """Paper, section, item and verdict of every row, and whether it is recorded."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [tuple(line[name] for name in COLUMNS) for line in csv.DictReader(file)]


def summary() -> str:
    """The counts, as the command prints them, in two lines."""
    counts = Counter(verdict for *_, verdict, _ in expected())
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    before = sum(row[-1] == RECORDED for row in expected())
    again = f"{before} of them recorded before; --full computes them again"
    return f"{counts.total()} rows: {parts}\n{again}"


def rewrite(folder: Path) -> None:
    """From the rows of a report."""
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *of_rows(rows)])


if __name__ == "__main__":
    rewrite(Path(sys.argv[1]))
