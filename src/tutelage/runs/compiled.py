"""Compiled code is kept on disk: most of the time of a first curve is compilation."""

import os
import re
from pathlib import Path

UNREADABLE = re.compile("Error reading persistent compilation cache entry for '(.+?)'")


def keep_compiled_code() -> None:
    """Have JAX keep what it compiles for the next process; before JAX is imported."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tutelage"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written to: compile every time
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    # Code that calls back into Python is not kept. The solver would call back only to raise
    # errors, and `evolve` has it report them as outcomes instead.
    os.environ.setdefault("EQX_ON_ERROR", "nan")


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
