"""Join the contents of each paper with its rows: the outcome of every statement.

``papers/KEY/contents.csv`` has a line for each section, equation, theorem, figure, table and
statement of a paper, in the order of the paper and in our words.  A line names its rows by the
beginnings of their items ("eq. (11)*"), or gives the reason why it has none.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from tutelage.papers.row import counted

FILE = "contents.csv"
LISTED = 6  # at most this many items of one verdict are named; more are counted
# "Sec. III A", "eq. (5)", "eqs. (8) to (14)", "Fig. 2", "Theorem 6", as in items and notes.
PLACE = re.compile(
    r"(?:Sec\.|App\.) (?:[IVX]+(?: [A-D]\b)?|\d+(?:\.\d+)*|[A-D]\b)"
    r"|[Ee]qs?\. \(\d+\)(?: to \(\d+\))?"
    r"|(?:Fig\.|Figure) \d+"
    r"|(?:Theorem|Lemma|Corollary|Definition|Assumption) \d+"
    r"|[Aa]bstract"
)


class Line(NamedTuple):
    """One line of ``contents.csv``.

    section: "Sec. III A".
    place: "eq. (11)", "Fig. 2", "Theorem 6"; "" for a sentence.
    says: the statement in a few words.
    rows: patterns of items, in which ``*`` matches anything; none if there is a reason.
    reason: why it has no row; "" if it has some.
    """

    section: str
    place: str
    says: str
    rows: tuple[str, ...]
    reason: str

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.section, self.place)))

    def has(self, item: str) -> bool:
        """Return whether a row with this item belongs to the line."""
        return any(fnmatchcase(item, pattern) for pattern in self.rows)


def contents(paper: str) -> list[Line]:
    """Return the lines of a paper, in their order; none for `beyond`.

    >>> contents("citton2025")[4].name
    'Sec. 2.1'
    """
    file = Path(__file__).parent / paper / FILE
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return [
            Line(
                line["section"],
                line["place"],
                line["says"],
                tuple(filter(None, line["rows"].split("; "))),
                line["reason"],
            )
            for line in csv.DictReader(text)
        ]


def covered(paper: str, verdicts: Mapping[str, str]) -> Iterator[tuple[Line, str]]:
    """Return each line of a paper with its outcome in words.

    Args:
        verdicts: of the rows of the paper that have been computed, by item.
    """
    for line in contents(paper):
        matching = {item: verdict for item, verdict in verdicts.items() if line.has(item)}
        words = line.reason if line.reason else _outcome(matching)
        yield line, words or "not computed yet"


def _outcome(verdicts: Mapping[str, str]) -> str:
    """Count the rows that agree, and name the others.

    >>> _outcome({"a": "agrees", "b": "agrees", "c": "depends"})
    '2 agrees. depends: c'
    """
    parts = []
    for verdict, count in counted(verdicts.values()).items():
        items = [item for item, one in verdicts.items() if one == verdict]
        named = verdict != "agrees" and count <= LISTED
        parts.append(f"{verdict}: {'; '.join(items)}" if named else f"{count} {verdict}")
    return ". ".join(parts)


def cited(text: str) -> list[str]:
    """Return the sections, equations and figures that a text cites.

    >>> cited("Sec. III A, eq. (22) and Fig. 2a"), cited("milletari2019, App. B")
    (['Sec. III A', 'eq. (22)', 'Fig. 2'], ['App. B'])
    """
    return [place.replace("Figure", "Fig.") for place in PLACE.findall(text)]


def leading(item: str) -> list[str]:
    """Return the citations with which an item begins: the place of its statement in the paper.

    >>> leading("Sec. 3, Fig. 3, ReLU, Q_22(∞)"), leading("eq. (5), rate at the start of Fig. 2")
    (['Sec. 3', 'Fig. 3'], ['eq. (5)'])
    """
    places = []
    for part in item.removeprefix("below ").split(", "):
        place = PLACE.match(part)
        if place is None:
            break
        places += cited(place.group())
    return places


def names(line: Line, place: str) -> bool:
    """Return whether a line belongs to a citation: to its section, a section around it, its
    equation or figure.

    >>> line = Line("Sec. III A", "eqs. (14) to (16)", "", (), "")
    >>> [names(line, place) for place in ("Sec. III", "Sec. III A", "eq. (15)", "Sec. II")]
    [True, True, True, False]
    """
    if place.lower() == line.section.lower():
        return True
    if place.startswith(("Sec.", "App.")):
        return line.section.startswith((f"{place} ", f"{place}."))
    if place.lower().startswith("eq"):
        own = numbers(line.place) if line.place.startswith("eq") else set()
        return bool(own) and numbers(place) <= own
    return place == line.place


def numbers(place: str) -> set[int]:
    """Return the numbers in "eq. (5)" or "eqs. (8) to (14)"."""
    ends = [int(one) for one in re.findall(r"\d+", place)]
    return set(range(ends[0], ends[-1] + 1)) if ends else set()


def markdown(rows: Iterable[tuple[str, str, str]], titles: Mapping[str, str]) -> str:
    """Write a page with a table for each paper.

    Args:
        rows: paper, item and verdict of each.
        titles: of the papers, by key, in the order in which they are shown.
    """
    verdicts: dict[str, dict[str, str]] = {paper: {} for paper in titles}
    for paper, item, verdict in rows:
        verdicts.setdefault(paper, {})[item] = verdict
    parts = [PAGE]
    for paper, title in titles.items():
        lines = [
            f"| {_plain(line.name)} | {_plain(line.says)} | {_plain(words)} |"
            for line, words in covered(paper, verdicts[paper])
        ]
        if lines:
            head = "| place | statement | outcome |\n| --- | --- | --- |"
            parts.append("\n".join([f"## {paper}\n\n*{_plain(title)}*\n\n{head}", *lines]))
    return "\n\n".join(parts) + "\n"


PAGE = """# Every statement of the papers

The outcome of each section, equation, theorem, figure, table and statement of the five papers, in
their order. A line has the verdicts of its rows in the report of `make reproduce`, or the reason
why it has none; rows that do not agree are named. Verdicts: *agrees*, *corrected* (the paper has a
slip), *differs* (in every reading), *in our reading* (fails as the authors count or print it, holds
in a reading of ours), *depends* (on what is not printed), *undecided*, *not comparable*, *missing*
and *new*. The page is generated by `python tests/verdicts.py`."""


def _plain(text: str) -> str:
    """Return text without markup."""
    return re.sub(r"([*_|<>`\[\]])", r"\\\1", text)
