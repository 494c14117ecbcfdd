"""The papers: their figures, tables and numbers beside computed ones.

One module per paper, named by its citation key, and `beyond` for what is in none of them.  They
contain no physics: each calls the rooms of the package, holds the numbers that were printed,
and says in ``SECTIONS`` what is drawn and computed for each part of the paper.
`tutelage.report` keeps the results, and makes a page of them.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import NamedTuple

from tutelage._checks import InputError
from tutelage.papers.record import Record
from tutelage.papers.section import Section

TITLES = {
    "oostwal2019": "Hidden unit specialization in layered neural networks: ReLU vs. sigmoidal",
    "straat2019": "On-line learning dynamics of ReLU neural networks",
    "citton2025": "The role of the learning rate in layered neural networks with ReLU activation",
    "tian2020": "Student specialization in deep ReLU networks with finite width",
    "milletari2019": "Mean-field theory of activation functions in deep neural networks",
    "beyond": "Beyond the papers: what the exact computation adds",
}

__all__ = ["TITLES", "Entry", "Record", "reproduce", "sections"]


class Entry(NamedTuple):
    """A section, and whose it is."""

    paper: str
    section: Section

    @property
    def stem(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.paper}_{self.section.name}"


def sections(papers: Iterable[str] = (), figure: str | None = None) -> list[Entry]:
    """The sections of the named papers, in the order named; of all when none is named.

    Args:
        papers: citation keys, members of `TITLES`.
        figure: only this part of them: the number of a figure, or the name of a section.

    >>> [entry.section.name for entry in sections(["oostwal2019"], "3")]
    ['fig3']
    """
    entries = [Entry(key, part) for key in _keys(papers) for part in _sections(key)]
    if figure is None:
        return entries
    chosen = [entry for entry in entries if entry.section.name in (figure, f"fig{figure}")]
    if not chosen:
        names = ", ".join(dict.fromkeys(entry.section.name for entry in entries))
        raise InputError("--figure", repr(figure), f"it has to be one of {names}", "--figure 3")
    return chosen


def reproduce(papers: Iterable[str] = (), figure: str | None = None) -> list[Record]:
    """The records of those `sections`, computed now and in small; nothing is kept.

    >>> {record.paper for record in reproduce(["oostwal2019"], "eq11")}
    {'oostwal2019'}
    """
    import matplotlib.pyplot as plt

    records = []
    for entry in sections(papers, figure):
        for piece in entry.section.compute(False):
            if isinstance(piece, Record):
                records.append(piece)
            else:
                plt.close(piece.picture)
    return records


def _keys(papers: Iterable[str]) -> list[str]:
    keys = list(dict.fromkeys(papers)) or list(TITLES)
    for key in keys:
        if key not in TITLES:
            raise InputError(
                "PAPER", repr(key), f"it has to be one of {', '.join(TITLES)}", "tutelage reproduce"
            )
    return keys


def _sections(key: str) -> tuple[Section, ...]:
    return import_module(f"{__name__}.{key}").SECTIONS
