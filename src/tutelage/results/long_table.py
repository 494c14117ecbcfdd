"""A Dataset as one long table in CSV, for spreadsheets, data frames and other programs.

There is a column for each index and each variable, and a row for each entry: variables that have
the same indices share their rows, and a cell is empty where a column does not apply.  So every
column is of one kind (no text among numbers), a filter on the indices gives one curve, and a result
of any shape is a table.  Attributes, descriptions and the shape precede the table in lines that
begin with ``#``, which NumPy, gnuplot, R and pandas (``comment="#"``) skip and a spreadsheet shows:
they stay with the numbers.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.results import checksum

# Types of columns, as `_type` writes them.
TYPE = re.compile("float(16|32|64)|u?int(8|16|32|64)|bool|str|[<>|]U[0-9]{1,9}")
ROWS_AT_ONCE = 4096
MAX_HEAD_LINES = 10_000  # every line becomes Python objects of about a kilobyte
MAX_COLUMNS = 2_000
MAX_JSON_LETTERS = 1_000_000  # of a line that is parsed
FEW_LETTERS = 1_000_000
Indices = tuple[str, ...]
Sizes = Mapping[str, int]
HELP = (
    "A row for each entry; a cell is empty where a column does not apply.",
    'Read it with tutelage.results.load(FILE) or pandas.read_csv(FILE, comment="#").',
)


class Column(NamedTuple):
    """Metadata needed to rebuild a variable from its cells."""

    kind: str  # coordinate or variable
    indices: Indices
    type: str
    attributes: dict[str, Any]


def text(dataset: xr.Dataset) -> str:
    """Return the text of the file; the checksum in its first line covers everything below it."""
    _check(dataset)
    sizes = {str(name): size for name, size in dataset.sizes.items()}
    columns = {str(name): _column(dataset, name) for name in dataset.variables}
    head = [*HELP, f"sizes: {json.dumps(sizes)}"]
    for name, value in dataset.attrs.items():
        if name != checksum.NAME:
            kind = "numbers" if np.ndim(value) else "attribute"
            head.append(f"{kind} {name}: {_written(value)}")
    for name, column in columns.items():
        metadata = {key: value for key, value in column._asdict().items() if value != {}}
        head.append(f"column {name}: {json.dumps(metadata, ensure_ascii=False)}")
    below = "".join(f"# {line}\n" for line in head) + _table(dataset, sizes, columns)
    return f"# {checksum.NAME}: {checksum.of(below.encode())}\n{below}"


def read(file: bytes, path: str) -> xr.Dataset:
    """Read a file of `text` into a Dataset, its numbers bit for bit."""
    # Mail and version control may change line endings, which is harmless.
    first, _, below = file.replace(b"\r\n", b"\n").partition(b"\n")
    if not first.startswith(f"# {checksum.NAME}: ".encode()):
        kind = "a table that save has written (pandas.read_csv reads others)"
        raise checksum.unreadable(kind).error(path)
    damage = checksum.compare(first.decode("latin-1").rpartition(" ")[2], checksum.of(below))
    if damage is not None:
        raise damage.error(path)
    try:
        return _dataset(below)
    except (
        csv.Error,
        LookupError,
        StopIteration,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as why:
        # The checksum is right, so the writer of the file made a head that does not describe its
        # rows.
        kind = "a table that save has written"
        raise checksum.unreadable(kind, _brief(why)).error(path) from None


def _brief(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())[:100]


def _check(dataset: xr.Dataset) -> None:
    """Check that variables are numbers and text, under names that fit in a line."""
    for name in [*dataset.variables, *dataset.attrs, *dataset.sizes]:
        if not isinstance(name, str) or ": " in name or "\n" in name:
            raise InputError(
                "dataset", f"the name {name!r}", 'names in a table have no line breaks and no ": "'
            )
    for name, variable in dataset.variables.items():
        if name in dataset.indexes and dataset.indexes[name].nlevels > 1:
            allowed = "a table has no index of several levels"
            raise InputError("dataset", repr(name), allowed, f"run.reset_index({name!r})")
        if not _type(variable.values):
            allowed = "a table holds real numbers, text, True and False"
            raise InputError("dataset", f"{name!r} of type {variable.dtype}", allowed)


def _column(dataset: xr.Dataset, name: object) -> Column:
    variable = dataset.variables[name]
    kind = "coordinate" if name in dataset.coords else "variable"
    attributes = {str(key): _plain(value) for key, value in variable.attrs.items()}
    return Column(kind, tuple(map(str, variable.dims)), _type(variable.values), attributes)


def _type(values: np.ndarray) -> str:
    """Return the type name of the entries; "" if a table cannot store it."""
    if values.dtype.kind in "fiub":
        return values.dtype.name
    if values.dtype.kind == "U":
        return values.dtype.str
    return "str" if all(isinstance(x, str) for x in values.ravel()) else ""


def _plain(value: object) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _written(attribute: object) -> str:
    """Write an attribute as JSON; an attribute that is JSON already stays unchanged."""
    if isinstance(attribute, str) and _is_structure(attribute) and "\n" not in attribute:
        return attribute
    return json.dumps(_plain(attribute))


def _attribute(written: str) -> Any:
    """Read an attribute: a number or text; lists, mappings, null, true and false stay JSON."""
    return written if written[:1] in "[{nft" else json.loads(written)


def _is_structure(text: str) -> bool:
    """Return whether a text is JSON of anything but a number or text.

    >>> [_is_structure(text) for text in ('[1, 2]', 'null', 'true', '1', '"1"', 'reached')]
    [True, True, True, False, False, False]
    """
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, bool) or not isinstance(value, str | int | float)


def _blocks(sizes: Sizes, columns: Mapping[str, Column]) -> list[Indices]:
    """Yield the indices of the rows in blocks, with few indices first."""
    blocks = list(dict.fromkeys(c.indices for c in columns.values() if c.kind == "variable"))
    for column in columns.values():
        if _home(column, blocks, sizes) is None:
            blocks.append(column.indices)
    return sorted(blocks, key=len)


def _home(column: Column, blocks: list[Indices], sizes: Sizes) -> Indices | None:
    """Return the block with all entries of a column; for a coordinate any block with
    its indices.
    """
    if column.kind == "variable":
        return column.indices
    for block in blocks:
        others = set(block) - set(column.indices)
        if set(column.indices) <= set(block) and all(sizes[name] for name in others):
            return block
    return None


def _table(dataset: xr.Dataset, sizes: Sizes, columns: Mapping[str, Column]) -> str:
    """Order the columns of a block: indices, their coordinates, variables."""
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
    """Return a column in the rows of a block, whose last index changes first."""
    shape = {index: dataset.sizes[index] for index in block}
    indices = (name,) if column is None else column.indices
    variable = column is not None and column.kind == "variable"
    if not (indices == block if variable else set(indices) <= set(block)):
        return [""] * math.prod(shape.values())
    # An index without values counts from 0, as in Python.
    values = np.arange(shape[name]) if column is None else dataset[name].values
    spread = xr.Variable(indices, values).set_dims(shape).transpose(*block)
    return ["" if x != x else x for x in spread.values.ravel().tolist()]


def _dataset(below: bytes) -> xr.Dataset:
    """Build the Dataset from the head and the rows of a table."""
    lines = io.TextIOWrapper(io.BytesIO(below), encoding="utf-8", newline="")
    sizes, columns, attrs, heading = _head(lines)
    _check_head(sizes, columns, len(below))
    rows = csv.reader(lines, strict=True)
    blocks = _blocks(sizes, columns)
    variables: dict[str, xr.Variable] = {}
    for block in blocks:
        shape = [sizes[index] for index in block]
        names = list(_stored_columns(block, blocks, sizes, columns))
        places = {name: heading.index(name) for name in names}
        kinds = {name: columns[name].type for name in names}
        for name, values in _read_block(rows, math.prod(shape), places, kinds).items():
            variables[name] = _variable(xr.Variable(block, values.reshape(shape)), columns[name])
    if next(rows, None) is not None:
        raise ValueError("there are more rows than the sizes announce")
    coordinates = {name: x for name, x in variables.items() if columns[name].kind == "coordinate"}
    variables = {name: variables[name] for name in columns if name not in coordinates}
    return xr.Dataset(variables, coordinates, attrs)


def _check_head(sizes: Mapping[str, Any], columns: Mapping[str, Column], table_bytes: int) -> None:
    """Compare the sizes in the head with the bytes below it, before memory is allocated."""
    if not all(_is_count(size) for size in sizes.values()):
        raise ValueError("sizes have to be whole numbers")
    if len(columns) > MAX_COLUMNS:
        raise ValueError(f"there are more than {MAX_COLUMNS} columns")
    for name, column in columns.items():
        if column.kind not in ("coordinate", "variable") or not TYPE.fullmatch(column.type):
            raise ValueError(f"column {name} is of an unknown kind or type")
        if len(set(column.indices)) < len(column.indices):
            raise ValueError(f"column {name} has an index twice")
    blocks = _blocks(sizes, columns)
    rows = sum(math.prod(sizes[index] for index in block) for block in blocks)
    empty = max((math.prod(max(sizes[i], 1) for i in block) for block in blocks), default=0)
    if max(rows, empty) > table_bytes:  # a row is at least as long as its line break
        raise ValueError("there are fewer rows than the sizes announce")


def _is_count(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 0


def _read_block(
    rows: Iterator[list[str]], count: int, places: dict[str, int], kinds: dict[str, str]
) -> dict[str, np.ndarray]:
    """Read the columns of a block in pieces: text of cells takes far more memory than numbers."""
    texts: dict[str, str] = {}
    pieces: dict[str, list[np.ndarray]] = {name: [] for name in places}
    for begin in range(0, max(count, 1), ROWS_AT_ONCE):
        cells = [next(rows) for _ in range(min(ROWS_AT_ONCE, count - begin))]
        for name, place in places.items():
            column = [row[place] for row in cells]
            pieces[name].append(_values(column, kinds[name], texts))
    return {name: _joined(parts, kinds[name]) for name, parts in pieces.items()}


def _joined(parts: list[np.ndarray], kind: str) -> np.ndarray:
    """Join the parts of a column; text of very different lengths stays an array of objects."""
    values = np.concatenate(parts)
    if not kind.startswith("<U"):
        return values
    longest = max(map(len, values.tolist()), default=0)
    total = sum(map(len, values.tolist()))
    return values if longest * len(values) > FEW_LETTERS + 4 * total else values.astype(str)


def _stored_columns(
    block: Indices, blocks: list[Indices], sizes: Sizes, columns: Mapping[str, Column]
) -> Iterator[str]:
    """Yield the names of the columns that are stored in the rows of a block."""
    for name, column in columns.items():
        if _home(column, blocks, sizes) == block:
            yield name


def _variable(spread: xr.Variable, column: Column) -> xr.Variable:
    """Drop the repeated index columns."""
    first = spread[{index: 0 for index in spread.dims if index not in column.indices}]
    return xr.Variable(
        column.indices, first.transpose(*column.indices).values, dict(column.attributes)
    )


def _head(
    lines: io.TextIOWrapper,
) -> tuple[dict[str, Any], dict[str, Column], dict[str, Any], list[str]]:
    """Return sizes, columns, attributes and the heading of the rows."""
    sizes: dict[str, int] = {}
    columns: dict[str, Column] = {}
    attrs: dict[str, Any] = {}
    for number, line in enumerate(lines):
        if not line.startswith("# "):
            return sizes, columns, attrs, next(csv.reader([line]))
        if number > MAX_HEAD_LINES:
            raise ValueError("the head is too long")
        key, _, value = line.removeprefix("# ").removesuffix("\n").partition(": ")
        what, _, name = key.partition(" ")
        if what != "attribute" and len(value) > MAX_JSON_LETTERS:
            raise ValueError("a line of the head is too long")
        if key == "sizes":
            sizes = dict(json.loads(value))
        elif what == "column":
            entries = json.loads(value)
            indices, attributes = tuple(entries["indices"]), dict(entries.get("attributes", {}))
            columns[name] = Column(entries["kind"], indices, str(entries["type"]), attributes)
        elif what == "attribute":
            attrs[name] = _attribute(value)
        elif what == "numbers":
            attrs[name] = np.array(json.loads(value))
    raise ValueError("there is no heading")


def _values(cells: list[str], kind: str, texts: dict[str, str]) -> np.ndarray:
    """Convert cells to entries; the shortest text of a number gives back the same number.

    texts: every text once, so that a text that is repeated takes memory once.
    """
    if kind.startswith("float"):
        return np.array([float(cell) if cell else math.nan for cell in cells], dtype=kind)
    if kind == "bool":
        return np.array([cell == "True" for cell in cells], dtype=bool)
    if kind.startswith(("int", "uint")):
        return np.array([int(cell) for cell in cells], dtype=kind)
    return np.array([texts.setdefault(cell, cell) for cell in cells], dtype=object)
