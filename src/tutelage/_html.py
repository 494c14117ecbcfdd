"""Small HTML tables of values, for notebooks: rows of names, and matrices as shaded cells."""

import html
from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_CELLS = 10  # in a row or a column of a matrix
POSITIVE, NEGATIVE = (178, 24, 43), (33, 102, 172)  # red and blue of RdBu
STRONGEST_SHADE = 0.55  # keeps black text readable, also on dark pages


def rows_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table with a name and a value in each row.

    >>> rows_table("State", [("load", "46 < 50")])
    '<table><caption>State</caption><tr><th>load</th><td><pre>46 &lt; 50</pre></td></tr></table>'
    """
    cells = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{value}</td></tr>"
        for name, value in ((name, as_html(value)) for name, value in rows)
    )
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


def as_html(value: object) -> str:
    """Return a value as HTML: its own HTML if it has any, otherwise its text with line breaks."""
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    return f"<pre>{html.escape(str(value))}</pre>"


def matrix_table(name: str, values: Any) -> str:
    """Return a matrix as cells, red where positive and blue where negative; large ones by shape."""
    x = np.atleast_2d(np.asarray(values, dtype=float))
    if x.ndim > 2 or max(x.shape) > MAX_CELLS:
        return f"<p>{html.escape(name)}: an array of shape {np.shape(values)}</p>"
    largest = float(np.abs(x).max(initial=0.0)) or 1.0
    body = "".join(f"<tr>{''.join(_cell(v, largest) for v in row)}</tr>" for row in x)
    return f"<table><caption>{html.escape(name)}</caption>{body}</table>"


def _cell(value: float, largest: float) -> str:
    shade = STRONGEST_SHADE * abs(value) / largest
    colour = POSITIVE if value > 0 else NEGATIVE
    mixed = ", ".join(str(round(255 - shade * (255 - channel))) for channel in colour)
    style = f"background: rgb({mixed}); color: black; padding: 0.2em 0.6em; text-align: right"
    return f'<td style="{style}">{value:.4g}</td>'


def side_by_side(parts: Iterable[str]) -> str:
    """Return tables next to each other."""
    inside = "".join(f'<div style="margin-right: 1.5em">{part}</div>' for part in parts)
    return f'<div style="display: flex; flex-wrap: wrap">{inside}</div>'
