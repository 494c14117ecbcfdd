"""Read arrays from files of NumPy, after comparing headers with file sizes.

A header of a few bytes can announce an array of any size, and a compressed archive can expand to a
thousand times its size.  NumPy allocates first and fails later; `load_npy` and `load_npz` refuse
before anything is allocated.  Pickled objects are refused: reading them can run code.
"""

import io
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

# An unpacked archive may have this many bytes, or this many times the size of the file.
UNPACKED_BYTES = 32 * 2**20
UNPACKED_FACTOR = 10
MAX_MEMBERS = 10_000
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ArrayFileError(ValueError):
    """A file without an array of plain numbers or text, or with another size than its header."""


def load_npy(path: Path) -> np.ndarray:
    """Read a ``.npy`` file; raise `ArrayFileError` for any other file."""
    with path.open("rb") as stream:
        return _array(stream, path.stat().st_size)


def load_npz(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a ``.npz`` file; raise `ArrayFileError` for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_unpacked(members, path.stat().st_size)
            return {
                member.filename.removesuffix(".npy"): _member(archive, member) for member in members
            }
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as problem:
        raise ArrayFileError(str(problem)) from None
    except (EOFError, RuntimeError, KeyError, OSError, struct.error, zlib.error) as problem:
        raise ArrayFileError(f"{type(problem).__name__}: {problem}") from None


def _check_unpacked(members: list[zipfile.ZipInfo], file_bytes: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(UNPACKED_BYTES, UNPACKED_FACTOR * file_bytes):
        times = f"{unpacked / max(file_bytes, 1):.0f} times its own size"
        raise ArrayFileError(f"it would unpack to {times}; numpy.savez does not compress")
    if len(members) > MAX_MEMBERS:
        raise ArrayFileError(f"it has more than {MAX_MEMBERS} arrays")
    if len({member.filename for member in members}) < len(members):
        raise ArrayFileError("two arrays have the same name")
    if any(member.compress_type not in COMPRESSIONS for member in members):
        raise ArrayFileError("it is compressed by a method that NumPy does not use")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        # One byte more than announced reveals a member that is longer than its header says.
        content = stream.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise ArrayFileError(f"{member.filename!r} differs in length from what the archive says")
    return _array(io.BytesIO(content), len(content))


def _array(stream: IO[bytes] | io.BufferedIOBase, file_bytes: int) -> np.ndarray:
    """Read the array of a stream whose header announces exactly the bytes that follow it."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"version {version}")
        shape, by_columns, dtype = read(stream)
    except Exception as problem:  # a damaged header may raise any exception
        raise ArrayFileError(f"its header cannot be read ({problem})") from None
    if dtype.hasobject or dtype.fields is not None or dtype.kind not in "biufcSU":
        raise ArrayFileError(f"it contains {dtype}, which is neither numbers nor text")
    if math.prod(shape) * dtype.itemsize != file_bytes - stream.tell() or math.prod(shape) < 0:
        raise ArrayFileError(f"its header says {shape} of {dtype}, which does not match its size")
    if dtype.itemsize == 0 and math.prod(shape) > file_bytes:
        raise ArrayFileError("it has more empty texts than bytes")
    array = np.frombuffer(stream.read(), dtype=dtype, count=math.prod(shape)).copy()
    return array.reshape(shape, order="F" if by_columns else "C")
