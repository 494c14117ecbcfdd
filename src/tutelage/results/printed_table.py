r"""A result as a LaTeX or Markdown table, with as many digits as the errors allow."""

import math
from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError

ERROR_SUFFIXES = ("_error", "_standard_error")
SUFFIXES = (*ERROR_SUFFIXES, "_spread", "_reason")
MAX_ROWS = 200
DIGITS_WITHOUT_ERROR = 6
MAX_DIGITS = 15  # of float64
EXPONENTS_WRITTEN_OUT = range(-4, 7)
MISSING = {"latex": "--", "markdown": "–"}


@validated
def table(
    dataset: xr.Dataset,
    format: Literal["latex", "markdown"] = "latex",
    *,
    variables: Sequence[str] | None = None,
) -> str:
    r"""Print numbers of a result as a table, with digits from their errors.

    A number with an error, in the variable ``NAME_error`` or ``NAME_standard_error``, is written
    as 45.9137(2): the digits in brackets are the error in units of the last place, rounded up.
    There is one row for each combination of coordinates.  A dimension without values, such as
    ``point`` of a sweep over a table, has its other coordinates as columns.

    Args:
        dataset: any result, such as that of `tutelage.sweeps.run`.
        format: "latex" for a ``tabular``, or "markdown".
        variables: which columns; by default all variables that are not errors of others.

    Raises:
        InputError: if the table would have more than 200 rows, or a variable is missing.

    >>> import xarray as xr
    >>> numbers = {"load": ("units", [23.7, 45.9]), "load_error": ("units", [0.02, 0.1])}
    >>> dataset = xr.Dataset(numbers, {"units": [2, 5]})
    >>> print(table(dataset))
    \begin{tabular}{rr}
    units & load \\ \hline
    2 & 23.70(2) \\
    5 & 45.9(1) \\
    \end{tabular}
    """
    names = _columns(dataset, variables)
    chosen = dataset[[*names, *(e for n in names if (e := error_name(dataset, n)))]]
    dimensions = [d for d in chosen.sizes if any(d in dataset[n].dims for n in names)]
    count = math.prod(chosen.sizes[d] for d in dimensions)
    if count > MAX_ROWS:
        raise InputError(
            "dataset",
            f"{count} rows over {', '.join(map(str, dimensions))}",
            f"a table for a paper has at most {MAX_ROWS}",
            "dataset.sel(...) of some entries, or variables=['generalization_error']",
        )
    labels = [label for d in dimensions for label in _labels(chosen, d)]
    header = [*map(str, labels), *names]
    rows = [_row(chosen, names, labels, index, format) for index in _indices(chosen, dimensions)]
    return (_latex if format == "latex" else _markdown)(header, rows)


def error_name(dataset: xr.Dataset, name: str) -> str | None:
    """Return the name of the variable that holds the error of another one, if it exists."""
    return next((name + end for end in ERROR_SUFFIXES if name + end in dataset), None)


def _columns(dataset: xr.Dataset, variables: Collection[str] | None) -> list[str]:
    every = [str(name) for name in dataset.data_vars]
    if variables is None:
        of_others = {name + end for name in every for end in SUFFIXES}
        return [name for name in every if name not in of_others]
    missing = [name for name in variables if name not in every]
    if missing:
        raise InputError("variables", repr(missing[0]), f"it has to be one of {', '.join(every)}")
    return list(variables)


def _labels(dataset: xr.Dataset, dimension: Any) -> list[Any]:
    """The coordinates that stand for a dimension: its own, or those along it."""
    along = [name for name, c in dataset.coords.items() if c.dims == (dimension,)]
    return [dimension] if dimension in along or not along else along


def _indices(dataset: xr.Dataset, dimensions: list[Any]) -> list[dict[Any, int]]:
    shape = [dataset.sizes[d] for d in dimensions]
    return [dict(zip(dimensions, index, strict=True)) for index in np.ndindex(*shape)]


def _row(
    dataset: xr.Dataset, names: list[str], labels: list[Any], index: dict[Any, int], format: str
) -> list[str]:
    def entry(name: object) -> Any:
        variable = dataset[name]
        return variable.isel({d: i for d, i in index.items() if d in variable.dims}).values[()]

    errors = {name: error_name(dataset, name) for name in names}
    return [number(entry(label), None, format) for label in labels] + [
        number(entry(name), entry(errors[name]) if errors[name] else None, format) for name in names
    ]


def number(value: Any, error: Any, format: str = "latex") -> str:
    """Format a value with the digits that its error allows; return text unchanged.

    >>> number(0.158652, 3e-4), number(1068.52, 12.0), number(2.5e-9, 1e-10)
    ('0.1587(3)', '1070(20)', '$2.5(1) \\\\times 10^{-9}$')
    """
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(value)
    value = float(value)
    if math.isnan(value):
        return MISSING[format]
    if math.isinf(value):
        sign = "-" if value < 0 else ""
        return f"${sign}\\infty$" if format == "latex" else f"{sign}∞"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if exponent in EXPONENTS_WRITTEN_OUT:
        return _plain(value, error)
    mantissa = _plain(value / 10.0**exponent, None if error is None else error / 10.0**exponent)
    return (
        f"${mantissa} \\times 10^{{{exponent}}}$" if format == "latex" else f"{mantissa}e{exponent}"
    )


def _plain(value: float, error: Any) -> str:
    if error is None or not np.isfinite(error) or error <= 0:
        return f"{value:.{DIGITS_WITHOUT_ERROR}g}"
    place = math.floor(math.log10(error))  # of the one digit of the error
    if value:
        place = max(place, math.floor(math.log10(abs(value))) - MAX_DIGITS + 1)
    unit = 10.0**place
    digits = max(1, math.ceil(round(float(error) / unit, 6)))
    if digits == 10:
        digits, place, unit = 1, place + 1, 10.0 ** (place + 1)
    if place >= 0:
        return f"{round(value / unit) * unit:.0f}({digits * unit:.0f})"
    return f"{value:.{-place}f}({digits})"


def _latex(header: list[str], rows: list[list[str]]) -> str:
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (header, *rows)]
    lines[0] += r" \hline"
    return "\n".join([rf"\begin{{tabular}}{{{'r' * len(header)}}}", *lines, r"\end{tabular}"])


def _escaped(text: str) -> str:
    """Escape LaTeX commands; leave formulas unchanged."""
    if text.startswith("$"):
        return text
    for character in "\\&%#_{}":
        text = text.replace(
            character, r"\textbackslash " if character == "\\" else f"\\{character}"
        )
    return text


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in (header, *rows))
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    return "\n".join([lines[0], f"|{' ---: |' * len(header)}", *lines[1:]])
