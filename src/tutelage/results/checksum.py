"""Checksums: whether a file holds what was written to it."""

import hashlib
from collections.abc import Collection

from tutelage._checks import InputError

NAME = "checksum"
WRITER = "written_by"  # an attribute that every saved file has, and no Dataset in memory
OURS = frozenset(
    {WRITER, "computed_by", "tutelage_version"}
)  # each of them shows that this package wrote a file


def of(*parts: bytes) -> str:
    """SHA-256 in 64 letters.

    >>> of(b"ab", b"c") == of(b"abc")
    True
    """
    return hashlib.sha256(b"".join(parts)).hexdigest()


def check(wanted: str, found: str, path: str) -> None:
    """Refuse a file whose contents are not those that were saved."""
    if wanted != found:
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
    """True if a file says that this package wrote it."""
    return not OURS.isdisjoint(attributes)


def missing(path: str) -> InputError:
    """The refusal of a file of ours without its checksum."""
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
    """The refusal of a file that cannot be read at all."""
    because = f" ({why})" if why else ""
    allowed = f"this file is not {kind}, or it is damaged or incomplete{because}"
    return InputError("path", repr(path), allowed, "compute it again, or take another copy")
