"""Checksums: whether a file holds what was written to it."""

import hashlib

from tutelage._checks import InputError

NAME = "checksum"


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
            "its contents are not those that were saved, as its checksum says: it was damaged, "
            "cut off, or edited by another program",
            "compute it again, or take another copy; xarray and pandas read it unchecked",
        )


def unreadable(path: str, kind: str) -> InputError:
    """A file that cannot be read at all."""
    allowed = f"this file is not {kind}, or it is damaged or cut off"
    return InputError("path", repr(path), allowed, "compute it again, or take another copy")
