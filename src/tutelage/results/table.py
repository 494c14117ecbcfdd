"""A Dataset as one long table in CSV, for a spreadsheet, a data frame, or a colleague.

There is a column for each index and each variable, and a row for each entry: variables that have
the same indices share their rows, and a cell is empty where a column does not apply.  So every
column is of one kind (no text among numbers), a filter on the indices gives one curve, and a
result of any shape is a table.  What is not in the table (attributes, descriptions, the shape)
stands above it in lines that begin with ``#``, which NumPy, gnuplot, R and pandas
(``comment="#"``) skip and a spreadsheet shows: it travels with the numbers.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.results import checksum

Indices = tuple[str, ...]
Sizes = Mapping[str, int]
HELP = (
    "A row for each entry; a cell is empty where a column does not apply.",
    'Read it with tutelage.results.load(FILE) or pandas.read_csv(FILE, comment="#").',
)


class Column(NamedTuple):
    """What has to be known of a variable to make it from its cells."""

    kind: str  # coordinate or variable
    indices: Indices
    type: str
    attributes: dict[str, Any]


def text(dataset: xr.Dataset) -> str:
    """The file; the checksum in its first line is that of everything below."""
    _check(dataset)
    sizes = {str(name): size for name, size in dataset.sizes.items()}
    columns = {str(name): _column(dataset, name) for name in dataset.variables}
    head = [*HELP, f"sizes: {json.dumps(sizes)}"]
    for name, value in dataset.attrs.items():
        if name != checksum.NAME:
            kind = "numbers" if np.ndim(value) else "attribute"
            head.append(f"{kind} {name}: {_written(value)}")
    for name, column in columns.items():
        known = {key: value for key, value in column._asdict().items() if value != {}}
        head.append(f"column {name}: {json.dumps(known, ensure_ascii=False)}")
    below = "".join(f"# {line}\n" for line in head) + _table(dataset, sizes, columns)
    return f"# {checksum.NAME}: {checksum.of(below.encode())}\n{below}"


def read(file: bytes, path: str) -> xr.Dataset:
    """The Dataset that `text` has written, its numbers bit for bit."""
    try:
        # Mail and version control may change the ends of lines, and mean no harm.
        first, _, below = file.decode().replace("\r\n", "\n").partition("\n")
    except ValueError:
        first, below = "", ""
    if not first.startswith(f"# {checksum.NAME}: "):
        kind = "a table that save has written (pandas.read_csv reads others)"
        raise checksum.unreadable(path, kind)
    checksum.check(first.rpartition(" ")[2], checksum.of(below.encode()), path)
    return _dataset(below)


def _check(dataset: xr.Dataset) -> None:
    """Numbers and text, under names that a line can hold."""
    for name in [*dataset.variables, *dataset.attrs, *dataset.sizes]:
        if not isinstance(name, str) or ": " in name or "\n" in name:
            raise InputError("dataset", f"the name {name!r}", "a table takes words for names")
    for name, variable in dataset.variables.items():
        if name in dataset.indexes and dataset.indexes[name].nlevels > 1:
            allowed = "a table has no index of several levels"
            raise InputError("dataset", repr(name), allowed, f"run.reset_index({name!r})")
        if not _type(variable.values):
            allowed = "a table holds real numbers, text, True and False"
            raise InputError("dataset", f"{name!r} of type {variable.dtype}", allowed)


def _column(dataset: xr.Dataset, name: Any) -> Column:
    variable = dataset.variables[name]
    kind = "coordinate" if name in dataset.coords else "variable"
    attributes = {str(key): _plain(value) for key, value in variable.attrs.items()}
    return Column(kind, tuple(map(str, variable.dims)), _type(variable.values), attributes)


def _type(values: np.ndarray) -> str:
    """That of the entries; "" if it is none that a table holds."""
    if values.dtype.kind in "fiub":
        return values.dtype.name
    if values.dtype.kind == "U":
        return values.dtype.str
    return "str" if all(isinstance(x, str) for x in values.ravel()) else ""


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _written(attribute: Any) -> str:
    """An attribute as JSON; what is JSON already, as a scenario, stands as it is."""
    if isinstance(attribute, str) and _is_structure(attribute) and "\n" not in attribute:
        return attribute
    return json.dumps(_plain(attribute))


def _attribute(written: str) -> Any:
    """A number or a text; what is made of several stays the JSON that it was."""
    return written if _is_structure(written) else json.loads(written)


def _is_structure(text: str) -> bool:
    """JSON of something else than a number or a text.

    >>> [_is_structure(text) for text in ('[1, 2]', 'null', 'true', '1', '"1"', 'reached')]
    [True, True, True, False, False, False]
    """
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, bool) or not isinstance(found, str | int | float)


def _blocks(sizes: Sizes, columns: Mapping[str, Column]) -> list[Indices]:
    """The indices of the rows, block by block, few indices first."""
    blocks = list(dict.fromkeys(c.indices for c in columns.values() if c.kind == "variable"))
    for column in columns.values():
        if _home(column, blocks, sizes) is None:
            blocks.append(column.indices)
    return sorted(blocks, key=len)


def _home(column: Column, blocks: list[Indices], sizes: Sizes) -> Indices | None:
    """Where all entries of a column are: for a coordinate, beside any variable with its indices."""
    if column.kind == "variable":
        return column.indices
    for block in blocks:
        others = set(block) - set(column.indices)
        if set(column.indices) <= set(block) and all(sizes[name] for name in others):
            return block
    return None


def _table(dataset: xr.Dataset, sizes: Sizes, columns: Mapping[str, Column]) -> str:
    """Indices first, then what is known of them, then the variables."""
    coordinates = [name for name, column in columns.items() if column.kind == "coordinate"]
    heading = list(dict.fromkeys([*sizes, *coordinates, *columns]))
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heading)
    for block in _blocks(sizes, columns):
        cells = [_cells(dataset, name, columns.get(name), block) for name in heading]
        writer.writerows(zip(*cells, strict=True))
    return file.getvalue()


def _cells(dataset: xr.Dataset, name: str, column: Column | None, block: Indices) -> list[Any]:
    """A column in the rows of a block, in which the last index changes first."""
    shape = {index: dataset.sizes[index] for index in block}
    indices = (name,) if column is None else column.indices
    variable = column is not None and column.kind == "variable"
    if not (indices == block if variable else set(indices) <= set(block)):
        return [""] * math.prod(shape.values())
    # An index without values counts from 0, as in Python.
    values = np.arange(shape[name]) if column is None else dataset[name].values
    spread = xr.Variable(indices, values).set_dims(shape).transpose(*block)
    return ["" if x != x else x for x in spread.values.ravel().tolist()]


def _dataset(below: str) -> xr.Dataset:
    """From the head and the rows, which the checksum has found to be whole."""
    sizes, columns, attrs, table = _head(below)
    rows = csv.reader(io.StringIO(table, newline=""))
    heading = next(rows)
    blocks = _blocks(sizes, columns)
    found: dict[str, xr.Variable] = {}
    for block in blocks:
        shape = [sizes[index] for index in block]
        cells = [next(rows) for _ in range(math.prod(shape))]
        for name in _held(block, blocks, sizes, columns):
            values = _values([row[heading.index(name)] for row in cells], columns[name].type)
            found[name] = _variable(xr.Variable(block, values.reshape(shape)), columns[name])
    coordinates = {name: x for name, x in found.items() if columns[name].kind == "coordinate"}
    variables = {name: found[name] for name in columns if name not in coordinates}
    return xr.Dataset(variables, coordinates, attrs)


def _held(
    block: Indices, blocks: list[Indices], sizes: Sizes, columns: Mapping[str, Column]
) -> Iterator[str]:
    """What is read from the rows of a block."""
    for name, column in columns.items():
        if _home(column, blocks, sizes) == block:
            yield name


def _variable(spread: xr.Variable, column: Column) -> xr.Variable:
    """Without the indices beside which it was repeated."""
    first = spread[{index: 0 for index in spread.dims if index not in column.indices}]
    return xr.Variable(
        column.indices, first.transpose(*column.indices).values, dict(column.attributes)
    )


def _head(below: str) -> tuple[dict[str, int], dict[str, Column], dict[str, Any], str]:
    """Sizes, columns and attributes, and what is below them."""
    sizes: dict[str, int] = {}
    columns: dict[str, Column] = {}
    attrs: dict[str, Any] = {}
    while below.startswith("# "):
        line, _, below = below.partition("\n")
        key, _, value = line.removeprefix("# ").partition(": ")
        what, _, name = key.partition(" ")
        if key == "sizes":
            sizes = json.loads(value)
        elif what == "column":
            entries = json.loads(value)
            indices, attributes = tuple(entries["indices"]), entries.get("attributes", {})
            columns[name] = Column(entries["kind"], indices, entries["type"], attributes)
        elif what == "attribute":
            attrs[name] = _attribute(value)
        elif what == "numbers":
            attrs[name] = np.array(json.loads(value))
    return sizes, columns, attrs, below


def _values(cells: list[str], kind: str) -> np.ndarray:
    """Entries from their cells; the shortest text of a number is read back as the same number."""
    if kind.startswith("float"):
        return np.array([float(cell) if cell else math.nan for cell in cells], dtype=kind)
    if kind == "bool":
        return np.array([cell == "True" for cell in cells], dtype=bool)
    if kind.startswith(("int", "uint")):
        return np.array([int(cell) for cell in cells], dtype=kind)
    return np.array(cells, dtype=kind)
