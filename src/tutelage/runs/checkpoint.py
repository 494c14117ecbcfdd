"""A file that long work is written to now and then, and goes on from.

It says whose it is: work with other arguments refuses it, and leaves it as it is.
"""

import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tutelage._checks import InputError

SECONDS = 30.0  # between two writings: one costs little, and little is lost since the last


def checked_path(path: Any) -> Path | None:
    """The path, if its folder exists; None if nothing is to be kept."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InputError("checkpoint", repr(path), "it has to be a file name", '"run.npz"')
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError("checkpoint", repr(str(path)), "its folder has to exist, and no folder it")
    return path


def read(path: Path) -> dict[str, np.ndarray]:
    """What `write` has written."""
    try:
        with np.load(path, allow_pickle=False) as file:
            content = dict(file)
        content["identity"], content["finished"]
        return content
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise InputError(
            "checkpoint",
            repr(str(path)),
            "this file is no checkpoint of a simulation, and is left as it is",
            "another file name",
        ) from None


def write(path: Path, content: dict[str, Any]) -> None:
    """Write to a temporary file, then rename: there is a whole checkpoint at any time."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            np.savez(stream, **content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def digest(*arrays: Any) -> str:
    """A short name of the contents of arrays."""
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()[:16]


def check_same(theirs: dict[str, str], ours: dict[str, str], path: Path) -> None:
    """Refuse a file of other work, and name what differs."""
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    if names:
        name = names[0]
        others = f" (and {', '.join(names[1:])})" if names[1:] else ""
        raise InputError(
            "checkpoint",
            f"{str(path)!r}, a simulation with {name} = {theirs.get(name)}{others}",
            f"this one has {name} = {ours.get(name)}; the file is left as it is",
            "another file name, or the same arguments",
        )
