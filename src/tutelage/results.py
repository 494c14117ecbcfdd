"""Results: a Dataset on disk, and the same Dataset computed again.

Every result is an ``xarray.Dataset`` whose attributes hold what has to be known to compute it
again: the function that has computed it, its arguments, and the versions
(`tutelage.runs.provenance`).  Files are NetCDF 3, which every language reads.
"""

from numbers import Integral
from pathlib import Path
from typing import Any

import xarray as xr

from tutelage._checks import InputError
from tutelage.runs.recompute import recompute

# SciPy keeps the attributes of a file among its own: these would be lost or destroy it.
TAKEN = ("dimensions", "variables", "mode", "filename", "fp", "version_byte", "use_mmap")

__all__ = ["check_path", "load", "recompute", "save"]


def save(dataset: xr.Dataset, path: str | Path) -> None:
    """Write a result, with its attributes, to a NetCDF file.

    Args:
        dataset: from `tutelage.online.evolve`, or any other whose entries are numbers or text.
        path: a name that ends in ``.nc``; an existing file is replaced.
    """
    path = Path(path)
    check_path("path", path)
    # SciPy comes with JAX: no further library is needed to write or read the file.
    reserved = sorted(set(dataset.attrs) & set(TAKEN))
    if reserved:
        came = f"an attribute {reserved[0]!r}"
        raise InputError("dataset", came, "SciPy's NetCDF files have taken this name", "another")
    attrs = {name: _storable(value) for name, value in dataset.attrs.items()}
    dataset.assign_attrs(attrs).to_netcdf(path, engine="scipy")


def _storable(value: Any) -> Any:
    """NetCDF 3 has 32 bits for a whole number; a larger one, as of a seed, becomes text."""
    large = isinstance(value, Integral) and not -(2**31) <= int(value) < 2**31
    return str(int(value)) if large else value


def load(path: str | Path) -> xr.Dataset:
    """Read what `save` has written; the file is closed again at once."""
    path = Path(path)
    if not path.is_file():
        raise InputError("path", repr(str(path)), "there is no such file", "a file made by save")
    return xr.load_dataset(path, engine="scipy")


def check_path(argument: str, path: Path) -> None:
    """A name that ends in .nc, in a folder that exists."""
    if path.suffix != ".nc":
        raise InputError(argument, repr(str(path)), "the name has to end in .nc", "run.nc")
    if not path.absolute().parent.is_dir():
        raise InputError(argument, repr(str(path)), f"there is no folder {str(path.parent)!r}")
