"""One published number beside the computed one, and what to make of the two.

The verdict is never written by hand.  A number printed with digits is reproduced when
the computed one rounds to it: the tolerance is half a unit of the last printed digit.
A closed form is reproduced when it is met up to the rounding of float64.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import xarray as xr

Verdict = Literal["agrees", "corrected", "differs"]

# A closed form and its evaluation take some tens of float64 operations each.
ROUNDING = 64 * 2.0**-52


class Published(NamedTuple):
    """A number as a paper states it: its text, its value and how far off is still the same."""

    text: str
    value: float
    tolerance: float

    def met_by(self, computed: float, uncertainty: float = 0.0) -> bool:
        return abs(computed - self.value) <= self.tolerance + uncertainty


def digits(text: str) -> Published:
    """A number printed with digits, such as ``"0.0150"``.

    >>> digits("0.341")
    Published(text='0.341', value=0.341, tolerance=0.0005)
    """
    _, _, decimals = text.partition(".")
    return Published(text, float(text), 0.5 * 10.0 ** -len(decimals))


def closed_form(text: str, value: float, scale: float = 1.0) -> Published:
    """A number printed as a formula, such as ``"1/3"``; ``scale`` is that of its largest term."""
    return Published(text, value, ROUNDING * max(scale, abs(value)))


def method(text: str, value: float, error: float) -> Published:
    """What a published numerical method gives, known up to that method's own error."""
    return Published(text, value, error)


class Figure(NamedTuple):
    """A figure of a paper drawn again: its number, the matplotlib Figure, and the data in it.

    data: one Dataset for each set of curves, by a short name; "" if there is only one.
    """

    name: str
    picture: Any
    data: Mapping[str, "xr.Dataset"]


@dataclass(frozen=True)
class Record:
    """A row of ``tutelage reproduce``; `note` explains a slip of the paper."""

    paper: str
    item: str
    published: float
    computed: float
    error: float
    verdict: Verdict
    note: str = ""
    printed: str = field(default="", repr=False)

    def as_dict(self) -> dict[str, str | float | None]:
        """The six keys that programs read; what is not finite, which JSON lacks, is None."""
        keys = ("paper", "item", "published", "computed", "error", "verdict")
        values = {key: getattr(self, key) for key in keys}
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in values.items()
        }


def compare(
    paper: str, item: str, published: Published, computed: float, uncertainty: float = 0.0
) -> Record:
    """The record of a number that the paper states correctly, as far as is known.

    ``uncertainty`` is the error estimate that came with the computed number, if one did.
    """
    verdict: Verdict = "agrees" if published.met_by(computed, uncertainty) else "differs"
    return _record(paper, item, published, computed, verdict, note="")


def correct(
    paper: str, item: str, published: Published, exact: Published, computed: float, note: str
) -> Record:
    """The record of a number whose printed form has a known slip.

    It is "corrected" only if the computed number meets the exact form and not the
    printed one; a slip that is none, or a correction that is wrong, comes out as such.
    """
    verdict: Verdict = "differs"
    if published.met_by(computed):
        verdict = "agrees"
    elif exact.met_by(computed):
        verdict = "corrected"
    return _record(paper, item, published, computed, verdict, note)


def _record(
    paper: str, item: str, published: Published, computed: float, verdict: Verdict, note: str
) -> Record:
    computed = float(computed) + 0.0  # −0 is 0
    error = abs(computed - published.value)
    if not math.isfinite(computed):
        verdict = "differs"
    return Record(
        paper, item, float(published.value), computed, error, verdict, note, published.text
    )
