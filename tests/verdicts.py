"""The verdict that every row of the report has to have: ``tests/papers/verdicts.csv``.

The table is changed on purpose, never by a test:

    tutelage reproduce --out FOLDER         # quick sizes, without the images of CIFAR-10
    python tests/verdicts.py FOLDER         # rewrites the sections of that report; read the diff
    python tests/verdicts.py PAPER SECTION  # computes one section and rewrites its rows

Both rewrite docs/coverage.md, too, and print the counts that README.md has (`summary`).
"""

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path

from tutelage.papers import PAPERS, reproduce, sections
from tutelage.papers.coverage import contents, leading, markdown, names
from tutelage.papers.row import VERDICTS

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
TABLE = Path(__file__).parent / "papers" / "verdicts.csv"
COLUMNS = ("paper", "section", "item", "verdict", "recorded")
RECORDED = "recorded"


def of_rows(rows: list[dict]) -> list[tuple[str, ...]]:
    """The rows of the table that belong to a report."""
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
    second = f"{before} of them from recorded results; --full recomputes them"
    return f"{counts.total()} rows: {parts}\n{second}"


def coverage_page() -> str:
    """Return docs/coverage.md: every statement of the papers with the verdicts of its rows."""
    titles = {key: paper.title for key, paper in PAPERS.items()}
    return markdown(((paper, item, verdict) for paper, _, item, verdict, _ in expected()), titles)


def of_report(folder: Path) -> list[dict]:
    """Read the rows of a report."""
    return json.loads((folder / "rows.json").read_text(encoding="utf-8"))


def of_section(paper: str, name: str) -> list[dict]:
    """Compute the rows of one section."""
    return [{**row.as_dict(), "section": name} for row in reproduce([paper], name)]


def wrong_citations(rows: list[dict]) -> list[tuple[str, str]]:
    """Return the items whose notes cite a place where their statement is not.

    Only the first place after the key of a paper is looked at, as in "straat2019, Sec. 3, has".
    """
    wrong = []
    for row in rows:
        lines = [line for line in contents(row["paper"]) if line.has(row["item"])]
        for words in re.findall(rf"{row['paper']},? (?:below )?(.{{0,30}})", row["note"]):
            places = leading(words)[:1] if lines else []
            wrong += [
                (row["item"], place)
                for place in places
                if not any(names(line, place) for line in lines)
            ]
    return wrong


def rewrite(rows: list[dict]) -> None:
    """Replace the sections that these rows belong to; other sections stay as they are."""
    parts: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    new = of_rows(rows)
    changed = {row[:2] for row in new}
    for row in [*(row for row in expected() if row[:2] not in changed), *new]:
        parts.setdefault(row[:2], []).append(row)
    order = [(entry.paper.key, entry.section.name) for entry in sections()]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name in sorted(parts, key=order.index):
            writer.writerows(parts[name])
    PAGE.write_text(coverage_page(), encoding="utf-8")


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    rewrite(of_section(first, *rest) if rest else of_report(Path(first)))
    print(summary())
