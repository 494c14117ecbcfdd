"""Many results as one Dataset, with a dimension ``point``.

Results of equal shapes are stacked.  Where shapes differ, as Q does with the number of units, every
dimension gets the labels of all results; entries that a result lacks are NaN, or an empty text.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._findings import Finding
from tutelage.model import Overlaps
from tutelage.online import LinearSchedule
from tutelage.runs.coordinates import array_variable
from tutelage.sweeps.points import POINT
from tutelage.sweeps.selection import END_VARIABLES

# The variable that says why a point has no result; "" where it has one.
FAILURE = "failure"
# Names of the axes of overlaps.
AXES = {"Q": ("student", "student_2"), "R": ("student", "teacher")}
Variable = tuple[tuple[str, ...], np.ndarray]
Numbers = dict[str, Variable]  # a result without coordinates


def as_dataset(result: object) -> xr.Dataset:
    """Convert a result of a public function to a Dataset; a finding gets one variable per field.

    An `Estimate` becomes a number and its ``_error``; None becomes NaN and its ``_reason``.
    A curve has its variables with the name of the field in front, and a schedule its values and
    times.  Several findings are stacked along ``number``.

    >>> from tutelage.averages import Estimate
    >>> sorted(as_dataset(Estimate(2.0, 1e-9)).data_vars)
    ['value', 'value_error']
    """
    if isinstance(result, xr.Dataset):
        ends = {name: result.attrs[name] for name in END_VARIABLES if name in result.attrs}
        return result.assign(ends)
    if isinstance(result, list | tuple) and all(isinstance(x, Finding) for x in result):
        if not result:
            return xr.Dataset()
        every = stacked([as_dataset(one) for one in result])
        return every.drop_vars(FAILURE).rename({POINT: "number"})
    return xr.Dataset(variables(result))


def variables(result: object) -> Numbers:
    """Return names, dimensions and arrays of a finding, an `Estimate` or a number."""
    return dict(_fields("", result) if isinstance(result, Finding) else _field("value", result))


def _fields(prefix: str, finding: Finding) -> Iterator[tuple[str, Variable]]:
    reasons: Mapping[str, str] = getattr(finding, "reasons", {})
    names = [field.name for field in dataclasses.fields(finding)]  # type: ignore[arg-type]
    for name in (*names, *finding.also):
        if name == "reasons":
            continue
        yield from _field(prefix + name, getattr(finding, name))
        if name in reasons:
            yield f"{prefix}{name}_reason", ((), np.array(reasons[name]))


def _field(name: str, value: Any) -> Iterator[tuple[str, Variable]]:
    """Yield the variables of one field of a finding."""
    if isinstance(value, Finding):
        yield from _fields(f"{name}_", value)
    elif isinstance(value, xr.Dataset):
        yield from _curve(name, value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _field(f"{name}_{key}", part)
    elif isinstance(value, LinearSchedule):
        yield f"{name}_times", ((f"{name}_knot",), np.asarray(value.times))
        yield name, ((f"{name}_knot",), np.asarray(value.values))
    elif getattr(value, "_fields", ()) == ("value", "error"):  # an Estimate
        yield name, _array(name, value.value)
        yield f"{name}_error", _array(name, value.error)
    elif isinstance(value, tuple) and value and all(isinstance(x, int | float) for x in value):
        yield name, _array(name, value)
    elif isinstance(value, Overlaps):
        for matrix, axes in AXES.items():
            yield matrix, (axes, np.asarray(getattr(value, matrix)))
    elif value is None:
        yield name, ((), np.array(np.nan))
    elif isinstance(value, str | bool | int | float | np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        yield name, _array(name, array.real if array.dtype.kind == "c" else array)
        if array.dtype.kind == "c":
            yield f"{name}_imaginary", _array(name, array.imag)
    else:
        yield name, ((), np.array(repr(value)))


def _curve(name: str, curve: xr.Dataset) -> Iterator[tuple[str, Variable]]:
    """Yield the variables of a curve in a finding, by its name; results differ in their times,
    so that time is a variable over the points of the curve.
    """
    for key, variable in curve.variables.items():
        if key == "time" or key not in curve.coords:
            dims = tuple(f"{name}_point" if dim == "time" else str(dim) for dim in variable.dims)
            yield f"{name}_{key}", (dims, variable.values)


def _array(name: str, value: object) -> Variable:
    array = np.asarray(value)
    array = array if array.dtype.kind in "biufU" else array.astype(str)
    return tuple(f"{name}_{axis + 1}" for axis in range(array.ndim)), array


def stacked(results: Sequence[xr.Dataset | Numbers | str]) -> xr.Dataset:
    """Stack results along ``point``; a text instead of a result is the reason of a failure."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for number, result in enumerate(results):
        groups[_signature(result)].append(number)
    blocks = [_block([results[number] for number in members]) for members in groups.values()]
    return sorted_points(joined(blocks), [n for members in groups.values() for n in members])


def sorted_points(table: xr.Dataset, numbers: Sequence[int]) -> xr.Dataset:
    """Sort the points of a table by their numbers; sorted ones are not copied."""
    if numbers == sorted(numbers):
        return table
    return table.isel({POINT: np.argsort(numbers, kind="stable")})


def _signature(result: xr.Dataset | Numbers | str) -> Hashable:
    """Return a key that is equal for results that can be stacked."""
    if isinstance(result, str):
        return ""
    if isinstance(result, dict):
        return tuple((name, dims, x.shape, x.dtype.kind) for name, (dims, x) in result.items())
    kinds = ((name, x.dims, x.shape, x.dtype.kind) for name, x in result.variables.items())
    labels = (x.values.tobytes() for x in result.coords.values() if x.dtype.kind != "O")
    return (*kinds, *labels)


def _block(results: Sequence[Any]) -> xr.Dataset:
    """Stack results of equal shapes, or failures."""
    if isinstance(results[0], str):
        return xr.Dataset({FAILURE: array_variable((POINT,), np.array(results, dtype=str))})
    failure = {FAILURE: no_failures(len(results))}
    first = results[0]
    if isinstance(first, dict):
        every = {
            name: array_variable((POINT, *dims), np.stack([one[name][1] for one in results]))
            for name, (dims, _) in first.items()
        }
        return xr.Dataset({**every, **failure})
    variables = {
        name: xr.Variable(
            (POINT, *x.dims), np.stack([one.variables[name].values for one in results]), x.attrs
        )
        for name, x in first.variables.items()
        if name not in first.coords
    }
    coords = {name: x.variable for name, x in first.coords.items()}
    return xr.Dataset({**variables, **failure}, coords)


def no_failures(count: int) -> xr.Variable:
    """Return the variable `FAILURE` of points that have results."""
    return array_variable((POINT,), np.full(count, "", dtype="<U1"))


def joined(blocks: Sequence[xr.Dataset]) -> xr.Dataset:
    """Concatenate blocks along ``point``, with the union of their labels along other dimensions."""
    if len(blocks) == 1:
        return blocks[0]
    dims = list(dict.fromkeys(dim for block in blocks for dim in block.sizes if dim != POINT))
    labels = {dim: _labels(dim, [block for block in blocks if dim in block.sizes]) for dim in dims}
    names = list(dict.fromkeys(name for block in blocks for name in block.data_vars))
    coords: dict[Hashable, Any] = {}
    for block in blocks:
        coords |= {
            name: x.variable for name, x in block.coords.items() if not set(x.dims) & {*dims}
        }
        coords |= {dim: (dim, labels[dim], block[dim].attrs) for dim in dims if dim in block.coords}
    variables = {name: _joined(name, blocks, labels) for name in names}
    return xr.Dataset(variables, coords)


def _labels(dim: Hashable, blocks: Sequence[xr.Dataset]) -> np.ndarray:
    """Return the union of the labels of a dimension; positions, if it has no labels."""
    each = [block.get_index(dim).to_numpy() for block in blocks]
    if all(np.array_equal(each[0], one) for one in each):
        return each[0]
    return np.unique(np.concatenate(each))


def _joined(
    name: Hashable, blocks: Sequence[xr.Dataset], labels: Mapping[Hashable, np.ndarray]
) -> xr.Variable:
    present = [_text(block.variables[name]) for block in blocks if name in block.variables]
    dims = max((x.dims for x in present), key=len)
    count = sum(block.sizes[POINT] for block in blocks)
    shape = (count, *(len(labels[dim]) for dim in dims[1:]))
    full = sum(x.size for x in present) == np.prod(shape, dtype=int)
    filled = _missing(shape, [x.dtype for x in present], full)
    begin = 0
    for block in blocks:
        end = begin + block.sizes[POINT]
        if name in block.variables:
            variable = _text(block.variables[name])
            places = [
                np.searchsorted(labels[dim], block.get_index(dim).to_numpy())
                if not np.array_equal(labels[dim], block.get_index(dim).to_numpy())
                else np.arange(len(labels[dim]))
                for dim in variable.dims[1:]
            ]
            filled[np.ix_(np.arange(begin, end), *places)] = variable.values
        begin = end
    return array_variable(dims, filled, present[0].attrs)


def _text(variable: xr.Variable) -> xr.Variable:
    """Convert text that was read with the type object to text of a fixed length."""
    return variable.astype(str) if variable.dtype.kind == "O" else variable


def _missing(
    shape: tuple[int, ...], kinds: Sequence[np.dtype], full: bool | np.bool_
) -> np.ndarray:
    """Return an array for values of these types, filled with NaN, 0 or empty text."""
    kind = np.result_type(*kinds)
    if kind.kind in "US":
        return np.full(shape, "", dtype=kind)
    if kind.kind in "biu" and not full:
        kind = np.dtype(float)
    return np.full(shape, np.nan if kind.kind == "f" else 0, dtype=kind)
