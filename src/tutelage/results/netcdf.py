"""A Dataset as NetCDF 3: bytes that every language reads, with a checksum among its attributes."""

import io
import re
from numbers import Integral
from typing import Any

import xarray as xr

from tutelage._checks import InputError
from tutelage.results import checksum

# SciPy keeps the attributes of a file among its own: these would be lost or destroy it.
TAKEN = ("dimensions", "variables", "mode", "filename", "fp", "version_byte", "use_mmap")
# An attribute in NetCDF 3: the length of its name, the name, the type (2, letters), how many.
PLACE = re.compile(rb"\0\0\0\x08checksum\0\0\0\x02\0\0\0\x40(.{64})", re.DOTALL)
EMPTY = b"0" * 64


def content(dataset: xr.Dataset) -> bytes:
    """The file; the checksum is that of all bytes with zeros in its own place."""
    reserved = sorted(set(dataset.attrs) & set(TAKEN))
    if reserved:
        came = f"an attribute {reserved[0]!r}"
        raise InputError("dataset", came, "SciPy's NetCDF files have taken this name", "another")
    attrs = {name: _storable(value) for name, value in dataset.attrs.items()}
    # First, so that nothing in front of it can be taken for it.
    made = dataset.copy()
    made.attrs = {checksum.NAME: EMPTY.decode(), **attrs, checksum.NAME: EMPTY.decode()}
    try:
        # SciPy comes with JAX: no further library is needed to write or read the file.
        file = bytes(made.to_netcdf(engine="scipy"))
    except (TypeError, ValueError, NotImplementedError, AttributeError) as problem:
        allowed = f"NetCDF 3 holds numbers of 32 or 64 bits and text ({problem})"
        raise InputError("dataset", "something a file does not hold", allowed) from None
    start, end = _place(file)
    return file[:start] + checksum.of(file).encode() + file[end:]


def read(file: bytes, path: str) -> xr.Dataset:
    """The Dataset; what has no checksum, as a file of another program, is read as it is."""
    place = _place(file)
    if place:
        start, end = place
        found = checksum.of(file[:start], EMPTY, file[end:])
        checksum.check(file[start:end].decode("latin-1"), found, path)
    try:
        dataset = xr.load_dataset(io.BytesIO(file), engine="scipy")
    except Exception:  # whatever SciPy's arithmetic meets in bytes that are no NetCDF
        raise checksum.unreadable(path, "NetCDF 3, which save writes") from None
    dataset.attrs.pop(checksum.NAME, None)
    return dataset


def _place(file: bytes) -> tuple[int, int]:
    """From where to where the checksum stands; () if nowhere."""
    found = PLACE.search(file)
    return found.span(1) if found else ()  # type: ignore[return-value]


def _storable(value: Any) -> Any:
    """NetCDF 3 has 32 bits for a whole number; a larger one, as of a seed, becomes text."""
    large = isinstance(value, Integral) and not -(2**31) <= int(value) < 2**31
    return str(int(value)) if large else value
