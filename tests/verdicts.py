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
COLUMNS = ("paper", "section", "item", "verdict")


def expected() -> list[tuple[str, ...]]:
    """Paper, section, item and verdict of every row."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [tuple(line[name] for name in COLUMNS) for line in csv.DictReader(file)]


def summary() -> str:
    """The counts, as the command prints them."""
    counts = Counter(verdict for *_, verdict in expected())
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{counts.total()} rows: {parts}"


def rewrite(folder: Path) -> None:
    """From the rows of a report."""
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)])


if __name__ == "__main__":
    rewrite(Path(sys.argv[1]))
