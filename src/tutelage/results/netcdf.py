"""A Dataset as NetCDF 3: bytes that every language reads, with a checksum among its attributes."""

import io
import re
from numbers import Integral
from typing import Any

import xarray as xr

from tutelage import __version__
from tutelage._checks import InputError
from tutelage.results import checksum, header

# An attribute in NetCDF 3: length of its name, name, type (2, letters), number of letters.
PLACE = re.compile(rb"\0\0\0\x08checksum\0\0\0\x02\0\0\0\x40(.{64})", re.DOTALL)
EMPTY = b"0" * 64
KIND = "NetCDF 3, which save writes"


def content(dataset: xr.Dataset) -> bytes:
    """Return the bytes of the file; its checksum covers all bytes, with zeros in the place of the
    checksum.
    """
    _check_attributes(dataset)
    attrs = {name: _storable(value) for name, value in dataset.attrs.items()}
    # The first attribute, so that no text before it can be mistaken for it.
    copy = dataset.copy()
    copy.attrs = {
        **{checksum.NAME: EMPTY.decode(), checksum.WRITER: f"tutelage {__version__}"},
        **{name: x for name, x in attrs.items() if name not in (checksum.NAME, checksum.WRITER)},
    }
    try:
        # SciPy comes with JAX: no further library is needed to write or read the file.
        file = bytes(copy.to_netcdf(engine="scipy"))
    except (TypeError, ValueError, NotImplementedError, AttributeError) as problem:
        allowed = f"NetCDF 3 holds numbers of 32 or 64 bits and text ({problem})"
        raise InputError("dataset", "a value that NetCDF files cannot hold", allowed) from None
    place = _place(file)
    assert place is not None  # the attribute was written with the others
    start, end = place
    return file[:start] + checksum.of(file).encode() + file[end:]


def _check_attributes(dataset: xr.Dataset) -> None:
    """Refuse attributes that SciPy would take for its own."""
    reserved = sorted(header.reserved() & set(dataset.attrs))
    for variable in dataset.variables.values():
        reserved += sorted(header.reserved_of_variables() & set(variable.attrs))
    if reserved:
        received = f"an attribute {reserved[0]!r}"
        raise InputError("dataset", received, "SciPy's NetCDF files use this name", "another name")


def read(file: bytes, path: str) -> xr.Dataset:
    """Read a Dataset; files of other programs have no checksum and are read without the check."""
    dataset = read_undamaged(file)
    if isinstance(dataset, checksum.Damage):
        raise dataset.error(path)
    return dataset


def read_undamaged(file: bytes) -> xr.Dataset | checksum.Damage:
    """Read a Dataset, or return why it cannot be used."""
    try:
        attributes = header.check(file).attributes
    except header.HeaderError as problem:
        return checksum.unreadable(KIND, str(problem))
    place = _place(file)
    damage = None
    if checksum.NAME in attributes and place:
        start, end = place
        digest = checksum.of(file[:start], EMPTY, file[end:])
        damage = checksum.compare(file[start:end].decode("latin-1"), digest)
    elif checksum.is_ours(attributes):
        damage = checksum.MISSING
    if damage is not None:
        return damage
    try:
        dataset = xr.load_dataset(io.BytesIO(file), engine="scipy")
    except Exception:  # SciPy may fail in any way on bytes that are not NetCDF
        return checksum.unreadable(KIND)
    for name in (checksum.NAME, checksum.WRITER):
        dataset.attrs.pop(name, None)
    return dataset


def _place(file: bytes) -> tuple[int, int] | None:
    """Return start and end of the checksum in the file; None if it has none."""
    match = PLACE.search(file)
    return match.span(1) if match else None


def _storable(value: Any) -> Any:
    """Convert whole numbers beyond 32 bits, such as seeds, to text, because NetCDF 3 cannot store
    them.
    """
    large = isinstance(value, Integral) and not -(2**31) <= int(value) < 2**31
    return str(int(value)) if large else value
