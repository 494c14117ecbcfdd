"""The papers: their published numbers beside computed ones.

One module per paper, named by its citation key.  They contain no physics: each calls
the rooms of the package, holds the numbers that were printed, and returns a list of
`Record`.  A paper appears here as soon as the package can decide one of its numbers.
"""

from collections.abc import Iterable
from importlib import import_module

from tutelage.checks import InputError
from tutelage.papers.record import Record

TITLES = {
    "oostwal2019": "Hidden unit specialization in layered neural networks: ReLU vs. sigmoidal",
    "straat2019": "On-line learning dynamics of ReLU neural networks",
    "citton2025": "The role of the learning rate in layered neural networks with ReLU activation",
    "tian2020": "Student specialization in deep ReLU networks with finite width",
    "milletari2019": "Mean-field theory of activation functions in deep neural networks",
}

__all__ = ["TITLES", "Record", "reproduce"]


def reproduce(papers: Iterable[str] = ()) -> list[Record]:
    """The records of the named papers, in the order named; of all when none is named.

    Args:
        papers: citation keys, members of `TITLES`.

    Raises:
        InputError: a key that is not in `TITLES`.

    >>> {record.paper for record in reproduce(["straat2019"])}
    {'straat2019'}
    """
    keys = list(dict.fromkeys(papers)) or list(TITLES)
    for key in keys:
        if key not in TITLES:
            raise InputError(
                "PAPER", repr(key), f"it has to be one of {', '.join(TITLES)}", "tutelage reproduce"
            )
    return [record for key in keys for record in import_module(f"{__name__}.{key}").records()]
