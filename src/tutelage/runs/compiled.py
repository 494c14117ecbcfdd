"""Compiled code is kept on disk: most of the time of a first curve is compilation."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

OTHERS_ACCESS = stat.S_IRWXG | stat.S_IRWXO
UNREADABLE = re.compile("Error reading persistent compilation cache entry for '(.+?)'")


def keep_compiled_code() -> None:
    """Have JAX keep what it compiles for the next process; before JAX is imported.

    A compiled program is code.  So the folder is private to the user, and one that somebody else
    owns or may write to is not used: every process compiles again.
    """
    folder = _private_folder()
    if folder is None:  # also a home that cannot be written to
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    # Code that calls back into Python is not kept. The solver would call back only to raise
    # errors, and `evolve` has it report them as outcomes instead.
    os.environ.setdefault("EQX_ON_ERROR", "nan")


def _private_folder() -> Path | None:
    """The user's folder for compiled programs, made with access for nobody else; None if unsafe."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()
    folder = cache / "tutelage" / "programs"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        return folder if _is_private(folder) else None
    except (OSError, RuntimeError):  # no home
        return None


def _is_private(folder: Path) -> bool:
    """True if nobody but the user can reach a folder, and all files in it are the user's.

    The mode of a file is of no interest where nobody else can enter its folder.
    """
    status = os.lstat(folder)
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & OTHERS_ACCESS
    return private and status.st_uid == os.geteuid() and all(map(_is_own_file, folder.iterdir()))


def _is_own_file(path: Path) -> bool:
    try:
        status = os.lstat(path)
    except FileNotFoundError:  # another process has just removed it
        return True
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def forgotten(message: str) -> bool:
    """Whether a warning is of kept code that somebody has not written to its end, now removed.

    A process that is ended while it writes leaves such a file, which JAX would complain of at
    every call and never write again; so it is compiled and kept once more at the next one.
    """
    kept, unreadable = os.environ.get("JAX_COMPILATION_CACHE_DIR"), UNREADABLE.match(message)
    if not kept or not unreadable:
        return False
    for file in Path(kept).glob(f"{unreadable[1]}-*-cache"):
        file.unlink(missing_ok=True)
    return True
