"""Atomic files: complete or absent, however the process ends.

A file is written under a temporary name in the same folder, flushed to the disk and then renamed;
a previous file stays until then.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tutelage._checks import InputError
from tutelage._given import FileName

# Name of the lock file of a folder.
LOCK = "lock"
# Temporary names of `_temporary_path`: a dot, random digits, the suffix of the file.
RANDOM_BYTES = 6
TEMPORARY_NAME = re.compile(rf"\.[0-9a-f]{{{2 * RANDOM_BYTES}}}(\.\w+)?")


class NotWritten(OSError):
    """A result could not be written; the message says why, and where it was saved instead.

    result: the result, so that callers can still show it.
    """

    def __init__(self, words: str, result: Any = None):
        super().__init__(words)
        self.result = result


@contextmanager
def replacing(path: str | Path, *, follow_link: bool = True) -> Iterator[Path]:
    """Yield a temporary name; the file replaces ``path`` when the block ends without an error.

    The name has the suffix of the file, by which libraries choose the format.

    Args:
        path: the file.
        follow_link: whether to replace the target of a link, as for a name typed by a user.  In a
            folder that may come from another user, the link itself is replaced.
    """
    path = Path(os.path.realpath(path)) if follow_link else Path(path)
    temporary = _temporary_path(path)
    try:
        yield temporary
        _flush(temporary)
        if path.exists() and not path.is_symlink():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except OSError as problem:  # the original error names the temporary file, or no file
        raise OSError(problem.errno, reason(problem), str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def write(path: Path, content: bytes | str, *, follow_link: bool = True) -> Path:
    """Write bytes, or a text in UTF-8, to a file."""
    with replacing(path, follow_link=follow_link) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def save_elsewhere(writing: Callable[[Path], Any], name: str) -> str:
    """Write to a new temporary folder instead; return a phrase with its path."""
    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix="tutelage-")
        writing(Path(folder) / name)
        return f"saved in {Path(folder) / name}"
    except OSError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        return f"not saved, because writing to a temporary folder fails too ({reason(problem)})"


def check_name(
    argument: str, path: FileName, endings: Sequence[str], hint: str, *, exists: bool = False
) -> Path:
    """Validate a file name: its ending, and whether the file exists, if it has to."""
    ending = f" that ends in {' or '.join(endings)}" if endings else ""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(argument, f"{path!r:.80}", f"it has to be a file name{ending}", hint)
    checked = Path(path)
    if endings and checked.suffix not in endings:
        allowed = f"the name has to end in {' or '.join(endings)}"
        raise InputError(argument, f"{str(checked)!r:.120}", allowed, hint)
    if not checked.name or "\0" in str(checked):
        raise InputError(argument, f"{str(checked)!r:.120}", "it has to be a file name", hint)
    if exists and not _is_file(checked):
        raise InputError(argument, f"{str(checked)!r:.120}", "there is no such file", hint)
    return checked


def check_writable(argument: str, path: FileName, endings: Sequence[str], hint: str) -> Path:
    """Validate before any work that a file of this name can be written."""
    checked = check_name(argument, path, endings, hint)
    problem = _problem(checked)
    if problem:
        raise InputError(argument, f"{str(checked)!r:.120}", problem, hint)
    return checked


def check_folder(argument: str, folder: FileName, hint: str) -> Path:
    """Return a folder, created if missing; refuse one that cannot be written to."""
    if not isinstance(folder, str | os.PathLike) or not str(folder):
        raise InputError(argument, f"{folder!r:.80}", "it has to be the name of a folder", hint)
    checked = Path(folder)
    try:
        checked.mkdir(parents=True, exist_ok=True)
        _try(checked)
    except (OSError, ValueError) as problem:
        allowed = f"it has to be a folder that can be written to ({reason(problem)})"
        raise InputError(argument, f"{str(checked)!r:.120}", allowed, hint) from None
    return checked


@contextmanager
def locked(argument: str, folder: Path) -> Iterator[None]:
    """Lock a folder for this process; refuse if another process has locked it.

    The system releases the lock of a process that is killed.
    """
    import fcntl

    with _opened_lock(argument, folder / LOCK) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            allowed = f"{file.read().strip() or 'another process'} is using it"
            hint = "another folder, or wait until the other process ends"
            raise InputError(argument, repr(str(folder)), allowed, hint) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {os.uname().nodename}")
        file.flush()
        yield


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed writers.

    Only for a folder that is `locked`: every writer holds the lock, so the writer of a temporary
    file has ended.  Links and folders stay.
    """
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # the probe of a process that waits for the lock
            if TEMPORARY_NAME.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
                path.unlink()


def _opened_lock(argument: str, path: Path) -> IO[str]:
    """Open a lock file, created if missing; refuse links."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o644)
    except OSError as problem:
        allowed = f"the file {path.name!r} in it cannot be opened, or it is a link"
        received = f"{str(path.parent)!r} ({reason(problem)})"
        raise InputError(argument, received, allowed, "remove it, or use another folder") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(handle)
        allowed = f"the file {path.name!r} in it is not a regular file, or has another hard link"
        raise InputError(
            argument, repr(str(path.parent)), allowed, "remove it, or use another folder"
        )
    return os.fdopen(handle, "r+", encoding="utf-8")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def reason(problem: Exception) -> str:
    """Return the message of a system error, without number and file name."""
    return (isinstance(problem, OSError) and problem.strerror) or str(problem)


def _problem(path: Path) -> str:
    """Return the reason why no file can be written here, or ""."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            return "it is a folder"
        if not target.parent.is_dir():
            link = f"it is a link to {str(target)!r}, and " if path.is_symlink() else ""
            return f"{link}there is no folder {str(target.parent if link else path.parent)!r}"
        if not _is_free(target):
            if not target.is_file():
                return "it is not a regular file"
            if not os.access(target, os.W_OK):
                return "the file is write-protected"
        _try(target.parent)
        return ""
    except OSError as problem:
        return f"it cannot be written ({reason(problem)})"


def _is_free(path: Path) -> bool:
    """Whether no file has this name; a name that is too long is an error."""
    try:
        os.stat(path)
        return False
    except FileNotFoundError:
        return True


def _try(folder: Path) -> None:
    """Write a byte into a folder, because a full disk accepts empty files."""
    probe = _temporary_path(folder / "probe")
    try:
        probe.write_bytes(b"0")
    finally:
        probe.unlink(missing_ok=True)


def _temporary_path(path: Path) -> Path:
    """Return a temporary name in the same folder, short enough for any file system."""
    return path.with_name(f".{secrets.token_hex(RANDOM_BYTES)}{path.suffix}")


def _flush(path: Path) -> None:
    with path.open("r+b") as file:
        try:
            os.fsync(file.fileno())
        except OSError as problem:
            if problem.errno not in (
                errno.EINVAL,
                errno.ENOTSUP,
            ):  # a system that does not support it
                raise
