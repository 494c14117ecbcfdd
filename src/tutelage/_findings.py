"""Results of searches as frozen records that print as a few lines."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from tutelage._html import rows_table

# Arrays with more entries are represented by their shape.
MOST_ENTRIES = 16
LONGEST_LINE = 100


class Finding:
    """Base class of results of a search: a frozen dataclass that prints as a few lines.

    Numbers are a `tutelage.averages.Estimate`, or None with a reason in ``reasons``, by the name
    of the field.

    also: names of properties that are printed after the fields.
    """

    also: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        rows = dict(self._rows())
        width = max(map(len, rows), default=0)
        lines = [f"  {name:{width}}  {_indented(text, width + 4)}" for name, text in rows.items()]
        return "\n".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        """Return the rows as an HTML table, for notebooks."""
        return rows_table(type(self).__name__, self._rows())

    @property
    def brief(self) -> str:
        """Return a one-line representation, for a record that contains this one."""
        return type(self).__name__

    def _rows(self) -> Iterator[tuple[str, str]]:
        reasons: Mapping[str, str] = getattr(self, "reasons", {})
        given: set[str] = set()
        fields = [f.name for f in dataclasses.fields(self) if f.repr]  # type: ignore[arg-type]
        for name in (*fields, *self.also):
            if name == "reasons":
                continue
            reason = reasons.get(name, "")
            yield name, formatted(getattr(self, name), "" if reason in given else reason)
            given.add(reason)


def formatted(value: Any, reason: str = "") -> str:
    """Format a value for the representation of a record.

    >>> from tutelage.averages import Estimate
    >>> formatted(Estimate(2.0, 1e-9)), formatted(0.1 + 0.2), formatted(None, "there is no saddle")
    ('2 ± 1e-09', '0.3', 'none: there is no saddle')
    >>> formatted(Estimate(1068.52105, 1e-3)), formatted((1.6875389974e-14, 0.0))
    ('1068.5211 ± 0.001', '(1.68754e-14, 0)')
    """
    if value is None:
        return f"none: {reason}" if reason else "none"
    if isinstance(value, Finding):
        return value.brief
    if getattr(value, "_fields", ()) == ("value", "error"):  # an Estimate
        if np.ndim(value.value):
            return f"{_array(value.value)} ± {np.max(value.error):.1g}"
        return f"{_digits(float(value.value), float(value.error))} ± {float(value.error):.1g}"
    if isinstance(value, float):
        return "missing" if math.isnan(value) else f"{value:.6g}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, tuple) and len(value) > MOST_ENTRIES:
        return f"{len(value)} values"
    if isinstance(value, tuple) and any(isinstance(x, float) for x in value):
        value = f"({', '.join(map(formatted, value))})"
    text = repr(value) if not isinstance(value, str) else value
    if isinstance(value, Mapping) and len(text) > LONGEST_LINE:
        return ", ".join(map(str, value))
    return text if len(text) <= LONGEST_LINE or "\n" in text else type(value).__name__


def _digits(value: float, error: float) -> str:
    """Format a number with the digits that its error allows and one more, at most 15 in all."""
    certain = 17 if error <= 0 else math.floor(math.log10(max(abs(value), error) / error)) + 2
    return f"{value:.{min(certain, 15)}g}"


def _array(values: object) -> str:
    x = np.asarray(values)
    if x.size > MOST_ENTRIES:
        return f"an array of shape {x.shape}"
    x = x.real if np.iscomplexobj(x) and not np.any(x.imag) else x
    return np.array2string(x, precision=6, suppress_small=True, max_line_width=LONGEST_LINE)


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)
