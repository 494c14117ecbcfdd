"""The papers: their figures, tables and numbers next to computed ones.

One folder per paper, named by its citation key, and `beyond` for results of no paper; every folder
is a paper, and its ``__init__`` has the title.  They contain no physics except
lemmas that only the paper needs: each calls the library, contains the printed numbers, and lists in
the ``SECTIONS`` of its modules what is drawn and computed for each part of the paper.
`tutelage.report` stores the results, and makes a page of them.
"""

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage.papers.paper import Entry, Paper
from tutelage.papers.row import Row

__all__ = ["PAPERS", "Entry", "Paper", "Row", "reproduce", "sections"]


def _found() -> dict[str, Paper]:
    """Find the papers, sorted by the year at the end of the key; `beyond` comes last."""
    keys = [module.name for module in iter_modules(__path__) if module.ispkg]
    keys.sort(key=lambda key: (key[-4:], key))
    return {key: import_module(f"{__name__}.{key}").PAPER for key in keys}


PAPERS = _found()


@validated
def sections(papers: Iterable[str] = (), figure: str | None = None) -> list[Entry]:
    """Return the sections of the named papers in that order, or of all papers.

    Args:
        papers: citation keys, members of `PAPERS`.
        figure: only this part of them: the number of a figure, or the name of a section.

    >>> [entry.section.name for entry in sections(["oostwal2019"], "3")]
    ['fig3']
    """
    entries = [entry for key in _keys(papers) for entry in PAPERS[key].entries]
    if figure is None:
        return entries
    chosen = [entry for entry in entries if entry.section.name in (figure, f"fig{figure}")]
    if not chosen:
        names = ", ".join(dict.fromkeys(entry.section.name for entry in entries))
        raise InputError("--figure", repr(figure), f"it has to be one of {names}", "--figure 3")
    return chosen


@validated
def reproduce(papers: Iterable[str] = (), figure: str | None = None) -> list[Row]:
    """Compute the rows of those `sections` at their quick size; nothing is stored.

    >>> {row.paper for row in reproduce(["oostwal2019"], "eq11")}
    {'oostwal2019'}
    """
    import matplotlib.pyplot as plt

    rows = []
    for entry in sections(papers, figure):
        for piece in entry.section.compute(False):
            if isinstance(piece, Row):
                rows.append(piece)
            else:
                plt.close(piece.picture)
    return rows


def _keys(papers: Iterable[Any]) -> list[str]:
    keys = list(papers)
    for key in keys:
        if not isinstance(key, str) or key not in PAPERS:
            raise InputError(
                "PAPER",
                short_repr(key),
                f"it has to be one of {', '.join(PAPERS)}",
                "tutelage reproduce",
            )
    return list(dict.fromkeys(keys)) or list(PAPERS)
