"""The part of each result that a sweep stores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr

# Variables that are always stored: how a run, or the runs of a landscape, ended.
END_VARIABLES = ("outcome", "ended_at", "unsettled", "escaped")
HINT = 'keep=tl.sweeps.last("generalization_error"), or the names of variables'


@dataclass(frozen=True)
class Last:
    """The last recorded value of some variables: see `last`."""

    names: tuple[str, ...]


@validated
def last(names: str | Sequence[str]) -> Last:
    """Store the last value of some variables of each run, instead of whole curves.

    Args:
        names: one variable, or several.  For a run that has diverged, the last recorded value is
            stored; its ``outcome`` is stored as well.

    >>> last("generalization_error")
    Last(names=('generalization_error',))
    """
    return Last(_names("names", names))


def check_keep(keep: object) -> None:
    """Refuse a selection other than None (everything), names of variables, or `last`."""
    if keep is None or isinstance(keep, Last):
        return
    if isinstance(keep, str | list | tuple):
        _names("keep", keep)
        return
    allowed = "it has to be None for everything, names of variables, or tl.sweeps.last(...)"
    raise InputError("keep", short_repr(keep), allowed, HINT)


def selected(result: xr.Dataset, keep: object) -> xr.Dataset:
    """Return the selected part of a result, and how the run ended.

    >>> run = xr.Dataset({"error": ("time", [0.5, 0.25, np.nan]), "Q": 1.0, "outcome": "diverged"})
    >>> last_values = selected(run, last("error"))
    >>> sorted(last_values.data_vars), float(last_values.error)
    (['error', 'outcome'], 0.25)
    """
    if keep is None:
        return result
    names = keep.names if isinstance(keep, Last) else _names("keep", keep)
    for name in names:
        if name not in result.variables:
            available = f"the result has {', '.join(map(str, result.data_vars))}"
            raise InputError("keep", repr(name), available, HINT)
    ends = [name for name in END_VARIABLES if name in result.data_vars and name not in names]
    part = result[[*names, *ends]]
    return _at_the_end(part, names) if isinstance(keep, Last) else part


def selected_runs(runs: xr.Dataset, keep: object) -> xr.Dataset:
    """Return `selected` of every run of a Dataset along ``run``.

    If the Dataset has no times, its variables are the last values already.
    """
    without_times = isinstance(keep, Last) and "time" not in runs.dims
    return selected(runs, keep.names if without_times and isinstance(keep, Last) else keep)


def _at_the_end(part: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Replace curves by their last finite values; with a dimension ``run``, those of each run."""
    values = {}
    for name in names:
        curve = part.variables[name]
        if "time" not in curve.dims:
            allowed = "only a curve over time has a last value"
            raise InputError("keep", repr(name), allowed, f'keep="{name}"')
        leading = tuple(dim for dim in curve.dims if dim == "run")
        curve = curve.transpose(*leading, "time", ...)
        axis, times = len(leading), curve.sizes["time"]
        finite = np.isfinite(curve.values).reshape(*curve.shape[: axis + 1], -1).all(axis=-1)
        place = times - 1 - np.argmax(np.flip(finite, axis), axis=axis)  # the last one if none is
        index = np.expand_dims(place, tuple(range(axis, curve.ndim)))
        last_values = np.take_along_axis(curve.values, index, axis).squeeze(axis)
        dims = tuple(dim for dim in curve.dims if dim != "time")
        values[name] = xr.Variable(dims, last_values, curve.attrs)
    rest = part.drop_vars(names).drop_dims("time", errors="ignore")
    return rest.assign_coords(part.drop_dims("time").coords).assign(values)


def _names(argument: str, names: Any) -> tuple[str, ...]:
    every = (names,) if isinstance(names, str) else tuple(names)
    if not every or not all(isinstance(name, str) and name for name in every):
        raise InputError(argument, short_repr(names), "it has to be names of variables", HINT)
    return every
