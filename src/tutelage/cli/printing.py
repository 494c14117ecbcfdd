"""Output of the commands: console and tables for people, JSON for programs, files."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console
    from rich.table import Table

    from tutelage.averages import Estimate

MAX_ROWS = 20  # of a table that a diagram prints
LOG_WIDTH = 160  # a log has no width; this is the width of the widest table
Result = TypeVar("Result")


def console(stderr: bool = False) -> "Console":
    """A console that is as wide as its terminal, and wide enough in a log."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise  # the command itself reports that its output was not written

    screen = Screen(stderr=stderr, highlight=False)
    if not screen.is_terminal:
        screen.width = LOG_WIDTH
    return screen


def waiting(compute: Callable[[], Result]) -> Result:
    """Compute the result, with a spinner on a terminal and a line in a log if it takes long."""
    from tutelage.runs.progress import Progress

    with Progress(True, None, "computing"):
        return compute()


def plain(text: str) -> str:
    """Escape square brackets, which are matrices here and not markup."""
    return text.replace("[", r"\[")


def table(*headings: str) -> "Table":
    """Make a table without lines."""
    from rich.table import Table

    return Table(*headings, box=None, pad_edge=False)


def framed(title: str, *headings: str) -> "Table":
    """Make a table in a frame, with a title."""
    from rich.table import Table

    return Table(*headings, title=title)


def show(table: "Table") -> None:
    """Print a table, or each row as a list on a terminal too narrow for its numbers."""
    from rich.table import Table

    screen = console()
    space = 2 if table.box is None else 3  # around each column
    spare = screen.width - 1 - sum(_unbroken(column) + space for column in table.columns)
    if spare >= 0:
        for column in table.columns:
            width = max(len(line) for line in _lines(column))
            column.width = min(width, _unbroken(column) + spare)
            spare -= column.width - _unbroken(column)
        screen.print(table)
        return
    for line in (table.title, table.caption):
        if line:
            screen.print(line)
    headings = [str(column.header) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        row = Table.grid(padding=(0, 2))
        for heading, cell in zip(headings, cells, strict=True):
            row.add_row(heading, cell)
        screen.print(row, "")


def _unbroken(column: Any) -> int:
    """Return the width that a column needs: words may be wrapped, numbers may not."""
    lines = _lines(column)
    numbers = [len(line) for line in lines[1:] if not re.search(r"[^\W\d_]{3}", line)]
    words = [len(word) for line in lines for word in line.split()]
    return max([*numbers, *words], default=0)


def _lines(column: Any) -> list[str]:
    """Return the heading and all lines of the cells."""
    return [str(column.header), *(line for x in column.cells for line in str(x).splitlines())]


def matrix(values: Any, spread: Any = None) -> str:
    """Format a matrix, one line per row, with ± a spread if it is given."""
    cells = [[f"{float(x):z9.6f}" for x in line] for line in values]
    if spread is not None:
        widths = [[f" ± {float(x):.6f}" for x in line] for line in spread]
        both = zip(cells, widths, strict=True)
        cells = [[a + b for a, b in zip(*line, strict=True)] for line in both]
    return "\n".join("  ".join(line) for line in cells)


def number_or_dash(value: float, digits: str) -> str:
    """Format a number, or a dash if it is unknown."""
    return f"{value:{digits}}" if math.isfinite(value) else "–"


def estimates_table(
    table: "Table", finding: Any, names: Mapping[str, str], value: str, error: str
) -> None:
    """Build a table of findings: an estimate with its error, or the reason why there is none."""
    for name, words in names.items():
        estimate = getattr(finding, name)
        if estimate is None:
            table.add_row(words, "none", finding.reasons.get(name, ""))
        else:
            numbers = float(estimate.value), float(estimate.error)
            table.add_row(words, f"{numbers[0]:{value}}", f"{numbers[1]:{error}}")
    show(table)


def for_json(value: Any) -> Any:
    """Convert to JSON: numbers, text, lists and mappings; numbers that are not finite become None.

    >>> import numpy as np
    >>> for_json({"R": np.array([[0.5, np.nan]]), "seed": np.int64(3)})
    {'R': [[0.5, None]], 'seed': 3}
    """
    if isinstance(value, Mapping):
        return {str(name): for_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(entry) for entry in value]
    if hasattr(value, "tolist"):  # of NumPy or JAX
        return for_json(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def dataset_for_json(dataset: "xr.Dataset") -> dict[str, Any]:
    """Convert a Dataset to JSON: attributes, coordinates and all curves."""
    attributes = {str(name): _attribute(value) for name, value in dataset.attrs.items()}
    names = (*dataset.coords, *dataset.data_vars)
    return {**attributes, **{str(name): for_json(dataset[name].values) for name in names}}


def _attribute(value: Any) -> Any:
    """Decode an attribute that was stored as JSON, also inside a nested result.

    >>> _attribute("0.5"), _attribute("reached"), _attribute(math.inf)
    (0.5, 'reached', 'inf')
    >>> _attribute('{"dataset": {"times": "[0, 1]", "outcome": "reached"}}')
    {'dataset': {'times': [0, 1], 'outcome': 'reached'}}
    """
    try:
        decoded = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return "inf" if decoded == math.inf else for_json(_opened(decoded))


def _opened(value: Any) -> Any:
    """Decode attributes of a nested Dataset, which are encoded as JSON twice."""
    if isinstance(value, list):
        return [_opened(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"dataset"}:
        return {"dataset": {name: _attribute(entry) for name, entry in value["dataset"].items()}}
    return {name: _opened(entry) for name, entry in value.items()}


def estimate_for_json(estimate: "Estimate | None") -> Any:
    if estimate is None:
        return None
    return {"value": float(estimate.value), "error": float(estimate.error)}


def print_json(content: Any) -> None:
    print(json.dumps(for_json(content), indent=1, allow_nan=False))


def shown_rows(table: "Table", count: int) -> list[int]:
    """Return the numbers of at most `MAX_ROWS` rows; the caption counts those left out."""
    import numpy as np

    rows = np.unique(np.linspace(0, count - 1, min(count, MAX_ROWS)).round().astype(int))
    if len(rows) < count:
        table.caption = f"{len(rows)} of {count} rows; --json prints all of them, --out saves them"
    return rows.tolist()
