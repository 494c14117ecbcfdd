"""Results on disk: save a Dataset, load it, print it as a table.

Every result is an ``xarray.Dataset`` whose attributes hold what has to be known to compute it
again: the function that has computed it, its arguments, and the versions
(`tutelage.runs.provenance`).  Files are NetCDF 3, which every language reads, or a long table
in CSV; both carry a checksum of their contents.
"""

from pathlib import Path

import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError
from tutelage._given import FileName
from tutelage.results import long_table, netcdf
from tutelage.results.printed_table import table
from tutelage.runs import files
from tutelage.runs.coordinates import indexed
from tutelage.runs.recompute import recompute

ENDINGS = (".nc", ".csv")

__all__ = ["load", "recompute", "save", "table"]


@validated
def save(dataset: xr.Dataset, path: FileName) -> None:
    """Write a result, with its attributes, as NetCDF or as a table.

    What was there before is replaced once the new file is whole and on the disk.

    Args:
        dataset: from `tutelage.online.evolve`, or any other whose entries are numbers or text.
        path: a name that ends in ``.nc``, or in ``.csv`` for a table as spreadsheets and pandas
            read it: a column for each variable and each index, a row for each entry, and
            everything else above it, in lines that begin with ``#``.

    >>> import pathlib, tempfile, xarray as xr
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.csv"
    >>> save(xr.Dataset({"error": ("time", [0.5, 0.25])}, {"time": [0.0, 1.0]}), file)
    >>> file.read_text().splitlines()[-3:]
    ['time,error', '0.0,0.5', '1.0,0.25']
    """
    path = check_path(path)
    write = long_table.text if path.suffix == ".csv" else netcdf.content
    files.write(path, write(dataset))


@validated
def load(path: FileName) -> xr.Dataset:
    """Read a file of `save`, and close it.

    Raises:
        InputError: if there is no such file, or if it is damaged, which its checksum reveals.
    """
    path = files.check_name("path", path, ENDINGS, '"run.nc", a file made by save', exists=True)
    try:
        content = path.read_bytes()
    except OSError as problem:
        allowed = f"it cannot be read ({files.reason(problem)})"
        raise InputError("path", repr(str(path)), allowed) from None
    return indexed((long_table.read if path.suffix == ".csv" else netcdf.read)(content, str(path)))


def check_path(path: FileName) -> Path:
    """Check a name that ends in .nc or .csv, for a file that can be written."""
    return files.check_writable("path", path, ENDINGS, "run.nc")
