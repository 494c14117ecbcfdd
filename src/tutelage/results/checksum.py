"""Checksums: detect files whose contents changed after writing."""

import hashlib
from collections.abc import Collection

from tutelage._checks import InputError

NAME = "checksum"
WRITER = "written_by"  # an attribute that every saved file has, and no Dataset in memory
OWN_ATTRIBUTES = frozenset(
    {WRITER, "computed_by", "tutelage_version"}
)  # each of them shows that this package wrote a file


def of(*parts: bytes) -> str:
    """Return the SHA-256 checksum as 64 hexadecimal digits.

    >>> of(b"ab", b"c") == of(b"abc")
    True
    """
    return hashlib.sha256(b"".join(parts)).hexdigest()


def check(wanted: str, computed: str, path: str) -> None:
    """Refuse a file whose contents differ from what was saved."""
    if wanted != computed:
        raise InputError(
            "path",
            repr(path),
            (
                "its contents differ from those that were saved (wrong checksum): it "
                "was damaged, cut off, or edited"
            ),
            ("compute it again, or take another copy; xarray and pandas read it without the check"),
        )


def is_ours(attributes: Collection[str]) -> bool:
    """Return whether a file says that this package wrote it."""
    return not OWN_ATTRIBUTES.isdisjoint(attributes)


def missing(path: str) -> InputError:
    """Return the error for a file of this package without its checksum."""
    return InputError(
        "path",
        repr(path),
        "this package wrote the file, but its checksum is missing: it was damaged, or changed by "
        "another program",
        (
            "compute it again, or take another copy; xarray.load_dataset(path) "
            "reads it without the check"
        ),
    )


def unreadable(path: str, kind: str, why: str = "") -> InputError:
    """Return the error for a file that cannot be read at all."""
    because = f" ({why})" if why else ""
    allowed = f"this file is not {kind}, or it is damaged or incomplete{because}"
    return InputError("path", repr(path), allowed, "compute it again, or take another copy")
