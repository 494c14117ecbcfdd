"""The points of a study: the values of the swept arguments.

A grid is a mapping of lists: every combination is a point.  A table is a pandas DataFrame: every
row is a point.  The *key* of a point is a text in JSON with its values; it does not depend on the
position of the point in a study.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage._memory import check_memory
from tutelage.activations import Activation
from tutelage.results import checksum, netcdf
from tutelage.runs.coordinates import array_variable, index_variable
from tutelage.runs.provenance import UNWRITTEN, described
from tutelage.runs.recompute import from_json

HINT = 'over={"learning_rate": [0.1, 0.2], "weight_decay": [0.0, 0.01]}'
POINT = "point"  # the dimension of a table


@dataclass(frozen=True)
class Points:
    """The points of a study.

    values: the list of values of each swept argument.
    places: for each argument, the index of the value of every point.
    shape: of the grid; () for a table.
    """

    values: dict[str, list]
    places: dict[str, np.ndarray]
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return len(next(iter(self.places.values())))

    def at(self, number: int) -> dict[str, Any]:
        """Return the values of a point by argument."""
        return {name: self.values[name][at[number]] for name, at in self.places.items()}

    def texts(self, text: Any) -> list[str]:
        """Return a text for each point, joined from ``text(name, place)`` of its values."""
        each = {
            name: [f"{json.dumps(name)}: {text(name, i)}" for i in range(len(values))]
            for name, values in self.values.items()
        }
        columns = ([each[name][i] for i in self.places[name]] for name in sorted(each))
        return ["{" + ", ".join(parts) + "}" for parts in zip(*columns, strict=True)]

    def keys(self) -> list[str]:
        """Return the keys of all points; a function is identified by its index."""

        def text(name: str, place: int) -> str:
            plain = identity(self.values[name][place])
            return json.dumps(plain if is_known(plain) else [plain, place])

        return self.texts(text)

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.values) if self.shape else (POINT,)

    def coordinates(self) -> dict[str, Any]:
        """Return the swept arguments as coordinates; values other than numbers and text by index.

        Parameters of activations of one class are coordinates too, as ``activation_slope``.
        """
        coordinates = {}
        for name, values in self.values.items():
            dim = name if self.shape else POINT
            labels = _labels(values, bool(self.shape))
            is_index = dim == name
            coordinates[name] = (
                index_variable(name, labels) if is_index else array_variable((dim,), labels)
            )
            for parameter, numbers in _parameters(values).items():
                coordinates[f"{name}_{parameter}"] = array_variable((dim,), numbers)
        return coordinates

    def written(self) -> dict[str, Any]:
        """Return the points as numbers, text, lists and mappings, for `read`."""
        return {
            "table": not self.shape,
            "values": {name: [identity(x) for x in values] for name, values in self.values.items()},
        }


def count_of(plain: Mapping[str, object]) -> int:
    """Count the points of `written`, without making them."""
    lengths = [len(values) for values in _lists(plain).values()]
    return max(lengths) if plain["table"] else math.prod(lengths)


def _lists(plain: Mapping[str, object]) -> dict[str, list]:
    """Return the lists of values of written points, validated: a file may hold anything."""
    lists = plain.get("values")
    usable = isinstance(lists, dict) and isinstance(plain.get("table"), bool)
    lists = lists if isinstance(lists, dict) else {}
    if not usable or not lists or not all(isinstance(x, list) and x for x in lists.values()):
        raise InputError("over", short_repr(plain), "it has to be the points of a study", HINT)
    return lists


def read(plain: Mapping[str, object]) -> Points:
    """Make points from the return value of `written`."""
    lists = _lists(plain)
    values = {name: from_json(x, name, "sweeps.run") for name, x in lists.items()}
    if plain["table"] and len(set(map(len, values.values()))) != 1:
        raise InputError("over", short_repr(plain), "all columns need the same number of values")
    return _table(values) if plain["table"] else _grid(values)


def over_of(plain: Mapping[str, object]) -> Any:
    """Make the argument ``over`` from the return value of `Points.written`."""
    points = read(plain)
    return dict(points.values) if points.shape else zipped(points.values)


@validated
def zipped(lists: Mapping[str, object]) -> pd.DataFrame:
    """Pair lists of equal length: the first values are one point, the second values the next one.

    Args:
        lists: values by the names of the arguments.

    >>> len(zipped({"learning_rate": [0.1, 0.2], "until": [200.0, 100.0]}))
    2
    """
    columns = {name: _listed(name, values) for name, values in lists.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) != 1:
        received = ", ".join(f"{count} of {name}" for name, count in lengths.items()) or "no lists"
        raise InputError("lists", received, "all lists need the same number of values")
    return pd.DataFrame({name: pd.Series(x, dtype=object) for name, x in columns.items()})


def points_of(over: object) -> Points:
    """Make points from the argument ``over``, validated."""
    if isinstance(over, pd.DataFrame):
        columns = {name: [_plain(x) for x in over[name]] for name in over.columns}
        _check_names("over", columns)
        return _table(columns)
    if not isinstance(over, Mapping):
        raise InputError(
            "over", short_repr(over), "it has to be a mapping of lists or a table", HINT
        )
    _check_names("over", over)
    return _grid({name: _listed(name, values) for name, values in over.items()})


def _check_names(argument: str, named: Mapping[Any, object]) -> None:
    if not named or not all(isinstance(name, str) for name in named):
        allowed = "it has to have the names of arguments, and their values"
        raise InputError(argument, short_repr(named), allowed, HINT)


def _grid(values: dict[str, list]) -> Points:
    shape = tuple(map(len, values.values()))
    check_memory("the points of the grid", math.prod(shape), lambda n: 1000 * n, "their keys")
    for name, given in values.items():
        plain = [identity(x) for x in given]
        texts = [json.dumps(x) for x in plain if is_known(x)]
        if len(set(texts)) < len(texts):
            twice = next(x for place, x in enumerate(texts) if x in texts[:place])
            raise InputError(name, f"{twice:.60} twice", "each value of a grid may occur once")
    places = np.indices(shape).reshape(len(shape), -1)
    return Points(values, dict(zip(values, places, strict=True)), shape)


def _table(columns: dict[str, list]) -> Points:
    rows = len(next(iter(columns.values())))
    if not rows:
        raise InputError("over", "a table without rows", "there has to be at least one row", HINT)
    return Points(columns, dict.fromkeys(columns, np.arange(rows)), ())


def _listed(name: str, values: Any) -> list:
    """Return values as a list: a list, or the entries of an array along its first axis."""
    array = hasattr(values, "__array__") and np.ndim(values) > 0
    plain = isinstance(values, Sequence | range | pd.Series) and not isinstance(values, str | bytes)
    if not (array or plain) or not len(values):
        allowed = "it has to be a list of at least one value"
        raise InputError(name, short_repr(values), allowed, f"{name}=[...] in over")
    return [_plain(x) for x in (np.asarray(values) if array else values)]


def _plain(value: object) -> Any:
    """Convert a number of NumPy to one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def identity(value: object) -> Any:
    """Describe a value by numbers, text, lists and mappings; a Dataset also by its checksum."""
    if isinstance(value, xr.Dataset):
        return {**described(value), "sha256": checksum.of(netcdf.content(value))}
    if isinstance(value, list | tuple):
        return [identity(x) for x in value]
    return described(value)


def is_known(plain: object) -> bool:
    """Whether a description identifies a value; that of a function does not."""
    if isinstance(plain, dict):
        unknown = UNWRITTEN in plain and "sha256" not in plain
        return not unknown and all(map(is_known, plain.values()))
    return all(map(is_known, plain)) if isinstance(plain, list) else True


def _parameters(values: list) -> dict[str, np.ndarray]:
    """Return the parameters that differ between activations of one class."""
    first = values[0]
    if not isinstance(first, Activation) or any(type(x) is not type(first) for x in values):
        return {}
    every = {f.name: [getattr(x, f.name) for x in values] for f in fields(first)}
    return {
        name: np.array(numbers)
        for name, numbers in every.items()
        if all(isinstance(x, int | float) for x in numbers) and len(set(numbers)) > 1
    }


def _labels(values: list, distinct: bool) -> np.ndarray:
    """Return numbers, texts or names of activations as labels; indices if these are equal."""
    numbers = all(isinstance(x, int | float) for x in values)
    words = [x if isinstance(x, str) else getattr(x, "name", "") for x in values]
    labels = np.array(values if numbers else words)
    usable = labels.dtype.kind in "biuf" or all(map(bool, words))
    if not usable or (distinct and len(set(labels.tolist())) < len(values)):
        return np.arange(len(values))
    return labels
