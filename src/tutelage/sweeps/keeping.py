"""What of each result is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr

# How a run ended is always kept: a number or a word for each point.
ENDS = ("outcome", "ended_at")
HINT = 'keep=tl.sweeps.last("generalization_error"), or the names of variables'


@dataclass(frozen=True)
class Last:
    """The last recorded value of some variables: see `last`."""

    names: tuple[str, ...]


@validated
def last(names: str | Sequence[str]) -> Last:
    """Of each run the last value of some variables, instead of the whole curves.

    Args:
        names: one variable, or several.  Of a run that has diverged it is the last value that was
            recorded; its ``outcome`` is kept beside it.

    >>> last("generalization_error")
    Last(names=('generalization_error',))
    """
    return Last(_names("names", names))


def check_keep(keep: Any) -> None:
    """None for everything, names of variables, or `last`."""
    if keep is None or isinstance(keep, Last):
        return
    if isinstance(keep, str | list | tuple):
        _names("keep", keep)
        return
    allowed = "it has to be None for everything, names of variables, or tl.sweeps.last(...)"
    raise InputError("keep", short_repr(keep), allowed, HINT)


def kept(result: xr.Dataset, keep: Any) -> xr.Dataset:
    """The part of a result that is asked for, and how it ended.

    >>> run = xr.Dataset({"error": ("time", [0.5, 0.25, np.nan]), "Q": 1.0, "outcome": "diverged"})
    >>> found = kept(run, last("error"))
    >>> sorted(found.data_vars), float(found.error)
    (['error', 'outcome'], 0.25)
    """
    if keep is None:
        return result
    names = keep.names if isinstance(keep, Last) else _names("keep", keep)
    for name in names:
        if name not in result.variables:
            there = f"the result has {', '.join(map(str, result.data_vars))}"
            raise InputError("keep", repr(name), there, HINT)
    ends = [name for name in ENDS if name in result.data_vars and name not in names]
    part = result[[*names, *ends]]
    return _at_the_end(part, names) if isinstance(keep, Last) else part


def _at_the_end(part: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    for name in names:
        if "time" not in part[name].dims:
            allowed = "a last value is that of a curve over time"
            raise InputError("keep", repr(name), allowed, f'keep="{name}"')
        curve = part[name].transpose("time", ...)
        there = np.isfinite(curve.values).reshape(len(curve), -1).all(axis=1)
        place = int(np.flatnonzero(there)[-1]) if there.any() else len(curve) - 1
        part = part.assign({name: curve.isel(time=place, drop=True)})
    return part.drop_dims("time", errors="ignore")


def _names(argument: str, names: Any) -> tuple[str, ...]:
    every = (names,) if isinstance(names, str) else tuple(names)
    if not every or not all(isinstance(name, str) and name for name in every):
        raise InputError(argument, short_repr(names), "it has to be names of variables", HINT)
    return every
