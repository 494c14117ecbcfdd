"""Refuse sizes that do not fit in memory before computing, and suggest one that does."""

import os
from collections.abc import Callable
from pathlib import Path

from tutelage._checks import InputError

# Files with the memory limit of a container: versions 2 and 1 of control groups in Linux.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
GIB = 2**30
# Every machine has this much, so the system is not asked.
ANY_MACHINE_BYTES = 2**25


def available_memory() -> int:
    """Return the bytes of memory of the machine, or the limit of its container if that is less."""
    try:
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):  # this system does not report it
        limits = []
    for limit in map(Path, LIMITS):
        try:
            limits.append(int(limit.read_text()))
        except (OSError, ValueError):  # no container, or no limit ("max")
            continue
    return min(limits, default=2**63)


def check_memory(argument: str, value: int, bytes_of: Callable[[int], float], what: str) -> None:
    """Refuse a size whose arrays do not fit in memory, and suggest the largest that does.

    Args:
        argument: name of the argument.
        value: the size.
        bytes_of: bytes that a size takes, an increasing function.
        what: what takes them, in words, such as "the weights of one run".

    >>> check_memory("runs", 10**15, lambda runs: 8 * runs, "the records")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tutelage._checks.InputError: runs: got 1000000000000000, but the records would take \
7.45e+06 GiB; ... is available. Try: runs=... or less.
    """
    needed = bytes_of(value)
    if needed <= ANY_MACHINE_BYTES:
        return
    available = available_memory()
    if needed <= available:
        return
    largest = _largest(lambda size: bytes_of(size) <= available, value)
    allowed = f"{what} would take {in_gib(needed)}; {in_gib(available)} is available"
    # `argument` is an option of a command, an argument in Python, or a description.
    named = f"{argument} " if argument.startswith("--") else f"{argument}="
    smaller = f"{'' if ' ' in argument else named}{largest} or less"
    raise InputError(argument, str(value), allowed, smaller if largest else "")


def _largest(fits: Callable[[int], bool], above: int) -> int:
    """Return the largest whole number that fits, by bisection; 0 if none does."""
    low, high = 0, above
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def in_gib(size: float) -> str:
    """Format bytes in GiB.

    >>> in_gib(3 * 2**30)
    '3 GiB'
    """
    return f"{size / GIB:.3g} GiB"
