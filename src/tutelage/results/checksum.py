"""Checksums: detect files whose contents changed after writing."""

import hashlib
from collections.abc import Collection
from typing import NamedTuple

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


class Damage(NamedTuple):
    """Why a file cannot be used, and what to do instead: the words of an `InputError`."""

    why: str
    hint: str

    def error(self, path: str) -> InputError:
        return InputError("path", repr(path), self.why, self.hint)


def compare(wanted: str, computed: str) -> Damage | None:
    """Return the damage of a file whose contents differ from what was saved."""
    if wanted == computed:
        return None
    return Damage(
        "its contents differ from those that were saved (wrong checksum): it was damaged, cut off, "
        "or edited",
        "compute it again, or take another copy; xarray and pandas read it without the check",
    )


def is_ours(attributes: Collection[str]) -> bool:
    """Return whether a file says that this package wrote it."""
    return not OWN_ATTRIBUTES.isdisjoint(attributes)


MISSING = Damage(
    "this package wrote the file, but its checksum is missing: it was damaged, or changed by "
    "another program",
    "compute it again, or take another copy; xarray.load_dataset(path) reads it without the check",
)


def unreadable(kind: str, why: str = "") -> Damage:
    """Return the damage of a file that cannot be read at all."""
    because = f" ({why})" if why else ""
    allowed = f"this file is not {kind}, or it is damaged or incomplete{because}"
    return Damage(allowed, "compute it again, or take another copy")
