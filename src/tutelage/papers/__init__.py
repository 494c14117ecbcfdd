"""The papers: their published numbers beside computed ones.

One module per paper, named by its citation key.  They contain no physics: each calls
the rooms of the package, holds the numbers that were printed, and returns a list of
`Record`; some also draw the paper's figures.  A paper appears here as soon as the package
can decide one of its numbers.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from tutelage.checks import InputError
from tutelage.papers.record import Record

TITLES = {
    "oostwal2019": "Hidden unit specialization in layered neural networks: ReLU vs. sigmoidal",
    "straat2019": "On-line learning dynamics of ReLU neural networks",
    "citton2025": "The role of the learning rate in layered neural networks with ReLU activation",
    "tian2020": "Student specialization in deep ReLU networks with finite width",
    "milletari2019": "Mean-field theory of activation functions in deep neural networks",
}

__all__ = ["TITLES", "Record", "draw", "reproduce"]


def reproduce(papers: Iterable[str] = ()) -> list[Record]:
    """The records of the named papers, in the order named; of all when none is named.

    Args:
        papers: citation keys, members of `TITLES`.

    Raises:
        InputError: a key that is not in `TITLES`.

    >>> {record.paper for record in reproduce(["straat2019"])}
    {'straat2019'}
    """
    return [record for key in _keys(papers) for record in _module(key).records()]


def draw(papers: Iterable[str], folder: str | Path) -> list[Path]:
    """Draw the figures of the named papers that have some, with their data beside them.

    Args:
        papers: citation keys, members of `TITLES`; all when none is named.
        folder: where the files go; made if it does not exist.

    Returns:
        The pictures, ``KEY_FIGURE.png``; the data have the same name and end in ``.nc``.
    """
    import matplotlib.pyplot as plt

    from tutelage import results

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for key in _keys(papers):
        for figure in getattr(_module(key), "figures", tuple)():
            name = f"{key}_{figure.name}"
            pictures.append(folder / f"{name}.png")
            figure.picture.savefig(pictures[-1], dpi=150)
            plt.close(figure.picture)
            for part, dataset in figure.data.items():
                results.save(dataset, folder / f"{name}{'_' if part else ''}{part}.nc")
    return pictures


def _keys(papers: Iterable[str]) -> list[str]:
    keys = list(dict.fromkeys(papers)) or list(TITLES)
    for key in keys:
        if key not in TITLES:
            raise InputError(
                "PAPER", repr(key), f"it has to be one of {', '.join(TITLES)}", "tutelage reproduce"
            )
    return keys


def _module(key: str) -> Any:
    return import_module(f"{__name__}.{key}")
