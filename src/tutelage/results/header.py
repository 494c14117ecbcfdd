"""The header of a NetCDF 3 file, checked against the bytes of the file.

A header states sizes, and a reader allocates memory of these sizes.  `check` reads a header as the
classic format defines it

    header = magic numrecs dimensions attributes variables
    list   = tag count entry...,    name = count letters padding

and refuses one whose variables are larger than the file, overlap, or are too many.  So the memory
that a reader needs is bounded by the size of the file.
"""

import math
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, TypeVar

Entry = TypeVar("Entry")

DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12  # tags of the lists
BYTES_OF_TYPE = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8}  # byte, char, short, int, float, double
CHAR = 2
# SciPy sets the attributes of a file on its own objects: these names, and those of the methods,
# would overwrite SciPy's.
FIELDS = (
    *("dimensions", "variables", "mode", "filename", "fp", "version_byte", "use_mmap"),
    *("maskandscale", "_mm", "_mm_buf", "_attributes", "_dims", "_recs", "_recsize"),
)
FIELDS_OF_VARIABLES = (
    *("data", "dimensions", "maskandscale"),
    *("_attributes", "_shape", "_size", "_typecode"),
)
MAX_ENTRIES = 10_000  # of one list: every entry becomes Python objects of about a kilobyte
MAX_EMPTY = 1_000_000  # cells that a variable without bytes may have along its other dimensions


@cache
def reserved() -> frozenset[str]:
    """Return the names that attributes of a file cannot have."""
    from scipy.io import netcdf_file  # imports a tenth of a second of modules

    return frozenset((*FIELDS, *dir(netcdf_file)))


@cache
def reserved_of_variables() -> frozenset[str]:
    """Return the names that attributes of a variable cannot have."""
    from scipy.io import netcdf_variable

    return frozenset((*FIELDS_OF_VARIABLES, *dir(netcdf_variable)))


class HeaderError(ValueError):
    """A header that contradicts itself or the size of its file."""


class Header(NamedTuple):
    """The global attributes (text as bytes, other types as None) and the names of a file."""

    attributes: dict[str, bytes | None]
    dimensions: tuple[str, ...]
    variables: tuple[str, ...]


class _Variable(NamedTuple):
    name: str
    shape: tuple[int, ...]  # without the record dimension
    is_record: bool
    item_bytes: int
    begin: int

    @property
    def data_bytes(self) -> int:
        return math.prod(self.shape) * self.item_bytes


def check(file: bytes) -> Header:
    """Read a header; raise `HeaderError` unless the bytes that it announces are in the file."""
    reader = _Reader(file)
    version = reader.magic()
    records = reader.number()
    dimensions = list(reader.entries(DIMENSIONS, reader.dimension))
    attributes = dict(reader.entries(ATTRIBUTES, reader.attribute))
    used_by_scipy = reserved() & set(attributes)
    if used_by_scipy:
        raise HeaderError(f"SciPy uses the attribute {min(used_by_scipy)!r} itself")
    variables = list(reader.entries(VARIABLES, lambda: reader.variable(dimensions, version)))
    _check_sizes(variables, records, len(file))
    names = [name for name, _ in dimensions], [variable.name for variable in variables]
    for kind in names:
        if len(set(kind)) < len(kind):
            raise HeaderError("two entries have the same name")
    return Header(attributes, *map(tuple, names))


def _check_sizes(variables: list[_Variable], records: int, file_bytes: int) -> None:
    fixed = [variable for variable in variables if not variable.is_record]
    repeated = [variable for variable in variables if variable.is_record]
    record_bytes = sum(_padded(variable.data_bytes) for variable in repeated)
    if len(repeated) == 1:  # a single record variable is stored without padding
        record_bytes = repeated[0].data_bytes
    ends = [variable.begin + variable.data_bytes for variable in fixed]
    ends += [variable.begin + variable.data_bytes * bool(records) for variable in repeated]
    total = sum(variable.data_bytes for variable in fixed) + records * record_bytes
    if total > file_bytes or max(ends, default=0) > file_bytes:
        raise HeaderError("variables are larger than the file")
    for variable in variables:
        cells = math.prod(max(size, 1) for size in (*variable.shape, records * variable.is_record))
        if variable.data_bytes == 0 and cells > MAX_EMPTY:
            raise HeaderError("a variable without data has too large dimensions")
    if repeated and not record_bytes and records > MAX_EMPTY:
        raise HeaderError("there are too many empty records")


class _Reader:
    """Reads one value after another, never beyond the end of the file."""

    def __init__(self, file: bytes):
        self.file, self.place = file, 0

    def bytes_of(self, count: int) -> bytes:
        if count > len(self.file) - self.place:
            raise HeaderError("the header is incomplete")
        self.place += count
        return self.file[self.place - count : self.place]

    def number(self, code: str = ">i") -> int:
        (number,) = struct.unpack(code, self.bytes_of(struct.calcsize(code)))
        if number < 0:
            raise HeaderError("a size is negative")
        return number

    def magic(self) -> int:
        magic = self.bytes_of(4)
        if magic not in (b"CDF\x01", b"CDF\x02"):
            raise HeaderError("it does not begin as NetCDF 3")
        return magic[3]

    def padded(self, count: int) -> bytes:
        content = self.bytes_of(count)
        self.bytes_of(_padded(count) - count)
        return content

    def name(self) -> str:
        return self.padded(self.number()).decode("latin-1")

    def entries(self, tag: int, read: Callable[[], Entry]) -> Iterator[Entry]:
        received, count = self.number(), self.number()
        if received != tag and (received, count) != (0, 0):
            raise HeaderError("a list has a wrong tag")
        if count > MAX_ENTRIES:
            raise HeaderError(f"a list has more than {MAX_ENTRIES} entries")
        return (read() for _ in range(count))

    def dimension(self) -> tuple[str, int]:
        return self.name(), self.number()

    def item_bytes(self) -> int:
        kind = self.number()
        if kind not in BYTES_OF_TYPE:
            raise HeaderError("an unknown type")
        return kind

    def attribute(self) -> tuple[str, bytes | None]:
        name, kind = self.name(), self.item_bytes()
        content = self.padded(self.number() * BYTES_OF_TYPE[kind])
        return name, content if kind == CHAR else None

    def variable(self, dimensions: list[tuple[str, int]], version: int) -> _Variable:
        name = self.name()
        axes = [self.number() for _ in range(self.count())]
        if any(axis >= len(dimensions) for axis in axes):
            raise HeaderError("a variable has an unknown dimension")
        shape = [dimensions[axis][1] for axis in axes]
        if 0 in shape[1:]:
            raise HeaderError("only the first axis may grow")
        for attribute, _ in self.entries(ATTRIBUTES, self.attribute):
            if attribute in reserved_of_variables():
                raise HeaderError(f"SciPy uses the attribute {attribute!r} itself")
        kind = self.item_bytes()
        self.number(">I")  # the size of the data is repeated; readers ignore it for large variables
        begin = self.number(">i" if version == 1 else ">q")
        is_record = bool(shape) and shape[0] == 0
        return _Variable(name, tuple(shape[is_record:]), is_record, BYTES_OF_TYPE[kind], begin)

    def count(self) -> int:
        count = self.number()
        if count > MAX_ENTRIES:
            raise HeaderError(f"a variable has more than {MAX_ENTRIES} dimensions")
        return count


def _padded(count: int) -> int:
    return -(-count // 4) * 4
