"""The user's folder of compiled programs.

Compilation takes most of the time of a first curve, so programs are stored for later processes.  A
compiled program is code: whoever can write to the folder can run anything as the user.  Folder and
files are therefore private to the user, and both are checked through open descriptors before
anything is read, so that no other user can exchange them in between.  Files that are not private
are not used; damaged files are removed.  In both cases the program is compiled again, without a
message.

What is stored, and under which name, is decided by `tutelage.runs.stored_jit`.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tutelage._checks import InputError, short_repr

# The environment variable that turns storing off, or names another folder.
SWITCH, OFF = "TUTELAGE_PROGRAMS", "off"

MAX_FOLDER_BYTES = 512 * 2**20
MAX_PROGRAM_BYTES = 64 * 2**20
# A file that is still incomplete after this time was left by a killed process.
UNFINISHED_SECONDS = 3600.0
UNFINISHED_SUFFIX = ".unfinished"
# How long a process waits for another one that compiles the same program, and how often it looks.
MAX_WAIT_SECONDS, POLL_SECONDS = 120.0, 0.02

OTHERS_ACCESS = stat.S_IRWXG | stat.S_IRWXO
CHECKSUM_BYTES = hashlib.sha256().digest_size
# Windows has neither of these flags, nor owners that Python can compare: nothing is stored there.
READ_ONLY = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | READ_ONLY
FOLDER = READ_ONLY | getattr(os, "O_DIRECTORY", 0)


def is_on() -> bool:
    """Return whether programs are stored; `SWITCH` turns it off."""
    return os.environ.get(SWITCH) != OFF and hasattr(os, "geteuid")


def folder_path() -> Path:
    """Return where programs are stored: ``tutelage/programs`` in the user's cache folder."""
    chosen = os.environ.get(SWITCH)
    if chosen is not None and not os.path.isabs(chosen):
        allowed = f"it has to be {OFF!r} or an absolute path"
        raise InputError(SWITCH, short_repr(chosen), allowed, f"{SWITCH}={OFF}")
    if chosen is not None:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()
    return cache / "tutelage" / "programs"


def read(name: str) -> bytes | None:
    """Return a stored program; None if no complete and trusted one exists."""
    try:
        with _private_folder() as folder:
            return _content(folder, name)
    except (OSError, RuntimeError):  # no folder, no file, or no home
        return None


def write(name: str, content: bytes) -> None:
    """Store a program, if the folder is private and there is space; remove the oldest ones."""
    if len(content) > MAX_PROGRAM_BYTES:
        return
    with suppress(OSError, RuntimeError):  # a home that cannot be written to, a full disk
        _create_folder()
        with _private_folder() as folder:
            _make_space(folder, MAX_FOLDER_BYTES - CHECKSUM_BYTES - len(content))
            _write_file(folder, name, _checksum(name, content) + content)


@contextmanager
def compiling(name: str) -> Iterator[bool]:
    """Lock a program while this process compiles it; or wait until another one has compiled it.

    Yields whether this process has waited, without a lock then: the program may be stored now.
    Without a folder, and after `MAX_WAIT_SECONDS`, nothing is locked.
    """
    lock, begun, waited = f"{name}-lock{UNFINISHED_SUFFIX}", time.monotonic(), False
    with ExitStack() as stack:
        with suppress(OSError, RuntimeError, ImportError):
            import fcntl

            _create_folder()
            folder = stack.enter_context(_private_folder())
            file = os.open(lock, os.O_RDWR | os.O_CREAT | READ_ONLY, 0o600, dir_fd=folder)
            stack.callback(os.close, file)
            while time.monotonic() - begun < MAX_WAIT_SECONDS:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_NB | (fcntl.LOCK_SH if waited else fcntl.LOCK_EX))
                    stack.callback(_unlink, lock, folder)
                    break
                waited = True
                time.sleep(POLL_SECONDS)
            if waited:
                stack.close()
        yield waited


def _unlink(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def remove(name: str) -> None:
    """Remove a program that cannot be used."""
    with suppress(OSError, RuntimeError), _private_folder() as folder:
        os.unlink(name, dir_fd=folder)


def _create_folder() -> None:
    path = folder_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)


@contextmanager
def _private_folder() -> Iterator[int]:
    """Open the folder; raise `PermissionError` if anybody but the user can reach it."""
    folder = os.open(folder_path(), FOLDER)
    try:
        _check_private(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _check_private(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid() or status.st_mode & OTHERS_ACCESS:
        raise PermissionError("another user owns it or can access it")


def _content(folder: int, name: str) -> bytes | None:
    """Return the content of a private file; remove the file if its checksum is wrong."""
    file = os.open(name, READ_ONLY | getattr(os, "O_NONBLOCK", 0), dir_fd=folder)
    with open(file, "rb") as stream:
        status = os.fstat(file)
        _check_private(status)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PROGRAM_BYTES + CHECKSUM_BYTES:
            return None
        checksum, content = stream.read(CHECKSUM_BYTES), stream.read()
        if checksum == _checksum(name, content):
            os.utime(file)  # the least recently used program is removed first
            return content
    os.unlink(name, dir_fd=folder)
    return None


def _checksum(name: str, content: bytes) -> bytes:
    """Return the checksum of a file, which depends on its name."""
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


def _write_file(folder: int, name: str, content: bytes) -> None:
    """Write a file atomically: other processes see it complete or not at all."""
    unfinished = f"{name}-{os.getpid()}{UNFINISHED_SUFFIX}"
    try:
        with open(os.open(unfinished, NEW_FILE, 0o600, dir_fd=folder), "wb") as stream:
            stream.write(content)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def _make_space(folder: int, most: int) -> None:
    """Remove the least recently used files until the rest has at most this many bytes."""
    files = []
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # another process has just removed it
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                files.append((status.st_mtime, status.st_size, name))
    total = sum(size for _, size, _ in files)
    for modified, size, name in sorted(files):
        abandoned = modified < time.time() - UNFINISHED_SECONDS
        if total > most or (name.endswith(UNFINISHED_SUFFIX) and abandoned):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            total -= size
