"""Compare a published number with the computed one and give the verdict.

The verdict is never written by hand.  A number printed with digits is reproduced when
the computed one rounds to it: the tolerance is half a unit of the last printed digit.
A closed form is reproduced when it is met up to the rounding of float64.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from tutelage._checks import InputError

# agrees: within the printed digits, or the uncertainty of the computed number. corrected: differs,
# and the computed number agrees with the exact form or value that replaces the printed one.
# differs: neither; for a statement, a test says the opposite in every reading of the paper. in our
# reading: fails as the authors count or print it, and holds in a reading of ours. depends: on a
# setting that the paper does not print: it agrees in one reading, and not in another; the note says
# on which, with the results. undecided: a
# statement that the runs neither confirm nor refute. not comparable: computed, but under other
# conditions than the paper's, which the note names. missing: published, but not computed here; the
# note says why. new: computed here, and not in any of the papers.
Verdict = Literal[
    "agrees",
    "corrected",
    "differs",
    "in our reading",
    "depends",
    "undecided",
    "not comparable",
    "missing",
    "new",
]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
GRAVITY: tuple[Verdict, ...] = ("agrees", "corrected", "differs")

# A closed form and its evaluation take some tens of float64 operations each.
ROUNDING = 64 * 2.0**-52


class Published(NamedTuple):
    """A number as a paper states it: its text, its value and its tolerance."""

    text: str
    value: float
    tolerance: float

    def met_by(self, computed: float, uncertainty: float = 0.0) -> bool:
        if not (math.isfinite(uncertainty) and uncertainty >= 0):
            raise InputError(
                "uncertainty", f"{uncertainty}", "it has to be finite and not negative"
            )
        return abs(computed - self.value) <= self.tolerance + uncertainty


def digits(text: str) -> Published:
    """A number printed with digits, such as ``"0.0150"``, and without an exponent.

    >>> digits("0.341")
    Published(text='0.341', value=0.341, tolerance=0.0005)
    """
    if not re.fullmatch(r"[-−]?\d+(\.\d+)?", text):
        raise InputError("text", repr(text), "it has to be digits with at most a point", "0.015")
    _, _, decimals = text.partition(".")
    return Published(text, float(text.replace("−", "-")), 0.5 * 10.0 ** -len(decimals))


def closed_form(text: str, value: float, scale: float = 1.0) -> Published:
    """A number printed as a formula, such as ``"1/3"``; ``scale`` is the size of its largest
    term.
    """
    return Published(text, value, ROUNDING * max(scale, abs(value)))


def formula(value: float, scale: float = 1.0) -> Published:
    """A printed formula, evaluated at arguments of our choice; ``scale`` as for `closed_form`.

    >>> formula(1 / 15).text
    'formula: 0.0666667'
    """
    return closed_form(f"formula: {value:.6g}", value, scale)


def method(text: str, value: float, error: float) -> Published:
    """A number from a numerical method, known up to the error of the method."""
    return Published(text, value, error)


@dataclass(frozen=True)
class Row:
    """A row of ``tutelage reproduce``.

    published: as a number; `printed`: as printed in the paper.
    error: how far the computed number is from the published one.
    uncertainty: error estimate, or standard error, of the computed number; 0 if it is rounding.
    note: the evidence for a verdict that is not "agrees", and where to find it.
    words: what was computed, where a number is not enough, such as for a sentence.
    recorded: for a number that is stored in the package: by which command,
        version, machine and seed; "" if it has been computed now.
    """

    paper: str
    item: str
    published: float
    computed: float
    error: float
    verdict: Verdict
    note: str = ""
    printed: str = ""
    uncertainty: float = 0.0
    words: str = ""
    recorded: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON; a number that is not finite becomes None."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> "Row":
        """Build the row from the entries of `as_dict`; None becomes NaN."""
        values: dict[str, Any] = {k: math.nan if v is None else v for k, v in entries.items()}
        return cls(**values)


def counted(verdicts: Iterable[str]) -> dict[str, int]:
    """Count the rows of each verdict that occurs, in the order of `VERDICTS`."""
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def summary(verdicts: Iterable[str]) -> str:
    """Return the counts as command, report and README print them.

    >>> summary(["new", "agrees", "agrees"])
    '3 rows: 2 agrees, 1 new'
    """
    counts = counted(verdicts)
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{sum(counts.values())} rows: {parts}"


def compare(
    paper: str, item: str, published: Published, computed: float, uncertainty: float = 0.0
) -> Row:
    """Compare a published number with a computed one.

    ``uncertainty`` is the error estimate that came with the computed number, if one did.
    """
    verdict: Verdict = "agrees" if published.met_by(computed, uncertainty) else "differs"
    return _row(paper, item, published, computed, verdict, "", uncertainty)


def correct(
    paper: str,
    item: str,
    published: Published,
    exact: Published,
    computed: float,
    note: str,
    uncertainty: float = 0.0,
) -> Row:
    """Compare a number whose printed form has a known slip with its exact form.

    It is "corrected" only if the computed number meets the exact form and not the
    printed one; a slip that is none, or a correction that is wrong, comes out as such.
    A row that agrees has no note, because the note explains the slip.
    """
    verdict: Verdict = "differs"
    if published.met_by(computed, uncertainty):
        verdict, note = "agrees", ""
    elif exact.met_by(computed, uncertainty):
        verdict = "corrected"
    return _row(paper, item, published, computed, verdict, note, uncertainty)


def with_note(row: Row, note: str) -> Row:
    """Add evidence to the note of a row, unless the row agrees.

    >>> with_note(compare("p", "i", digits("0.34"), 0.3), "why").note
    'why'
    """
    if row.verdict == "agrees":
        return row
    return replace(row, note=f"{row.note} {note}".strip())


def worst(item: str, points: Iterable[Row]) -> Row:
    """Return one row for a formula at several points: the one with the largest error.

    A point that differs comes before one that is corrected, and this before one that agrees.

    Args:
        points: rows whose items are the names of the points.

    >>> row = worst("2x", (compare("p", f"x = {x}", formula(2 * x), x + x) for x in (0.1, 7.0)))
    >>> row.verdict, row.note
    ('agrees', 'Of 2 points the error is largest at x = 0.1.')
    """
    rows = list(points)
    farthest = max(rows, key=lambda row: (GRAVITY.index(row.verdict), row.error))
    note = f"{farthest.note} Of {len(rows)} points the error is largest at {farthest.item}."
    return replace(farthest, item=item, note=note.strip())


def not_comparable(
    paper: str, item: str, printed: str, computed: float, why: str, uncertainty: float = 0.0
) -> Row:
    """Return the row of a number computed under other conditions; ``why`` names them."""
    return _unmatched(paper, item, printed, computed, "not comparable", why, uncertainty)


def missing(paper: str, item: str, printed: str, why: str) -> Row:
    """Return the row of a published number that is not computed here, with the reason."""
    return _unmatched(paper, item, printed, math.nan, "missing", why)


def unpublished(
    item: str, computed: float, uncertainty: float, note: str = "", paper: str = "beyond"
) -> Row:
    """Return the row of a number that no paper contains, with its error.

    Args:
        paper: key of the paper in whose report the number is; "beyond" if it belongs to none.
    """
    return _unmatched(paper, item, "", computed, "new", note, uncertainty)


def _row(
    paper: str,
    item: str,
    published: Published,
    computed: float,
    verdict: Verdict,
    note: str,
    uncertainty: float,
) -> Row:
    computed = float(computed) + 0.0  # −0 is 0
    error = abs(computed - published.value)
    if not math.isfinite(computed):
        verdict = "differs"
    value = float(published.value)
    text = published.text
    return Row(paper, item, value, computed, error, verdict, note, text, float(uncertainty))


def _unmatched(
    paper: str,
    item: str,
    printed: str,
    computed: float,
    verdict: Verdict,
    note: str,
    uncertainty: float = 0.0,
) -> Row:
    values = (math.nan, float(computed), math.nan)
    return Row(paper, item, *values, verdict, note, printed, float(uncertainty))
