"""A part of a paper: the computation and drawing of one of its figures, tables or passages."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.papers.row import Row


class Figure(NamedTuple):
    """A figure of a paper drawn again: the matplotlib Figure, and the data in it.

    data: one Dataset for each set of curves, by a short name; "" if there is only one.
    name: distinguishes the figures of one section, if there are several.
    film: a matplotlib Animation that goes with it, if there is one.
    """

    picture: Any
    data: Mapping[str, "xr.Dataset"]
    name: str = ""
    film: Any = None


class Section(NamedTuple):
    """A part of a paper that is computed, stored and shown together.

    name: "fig3", "table1", "eq11", "text"; unique in its paper.
    title: of the section in the report, such as "Figure 3: learning curves for K = 5".
    caption: the curves, their parameters, and the result, in our words.
    compute: gives figures and rows in the order in which they are shown; its argument says
        whether to take the paper's sizes (True) or ones that take seconds (False).
    full: what a full run does more, in words; "" if there is no difference.
    outside: what the results depend on in addition to code and size, such as data on this machine.
    """

    name: str
    title: str
    caption: str
    compute: "Callable[[bool], Iterable[Row | Figure]]"
    full: str = ""
    outside: Callable[[], str] = lambda: ""
