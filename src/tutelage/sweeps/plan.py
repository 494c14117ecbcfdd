"""What a study will take, found by computing one group of it."""

import resource
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tutelage.sweeps.compute import Task, timed
from tutelage.sweeps.groups import SECONDS, shapes
from tutelage.sweeps.points import Points


class Plan(NamedTuple):
    """points: how many there are; compilations: how many programs they need, at most.

    groups: in how many pieces they are computed.
    seconds: what all of it takes a worker; with several it is shared.
    compile_seconds: of it for the first points of a program.
    result_bytes: of all results.
    worker_bytes: of the process that has computed the first points.
    """

    points: int
    compilations: int
    groups: int
    seconds: float
    compile_seconds: float
    result_bytes: int
    worker_bytes: int


def planned(task: Task, points: Points, numbers: Sequence[int], least: int) -> Plan:
    """Of so many points that are to be computed; the first of them are, twice.

    The first time compiles, the second one does not.
    """
    if not numbers:
        return Plan(0, 0, 0, 0.0, 0.0, 0, _memory())
    every, keys = shapes(points), points.keys()
    first = [n for n in numbers if every[n] == every[numbers[0]]][:least]
    values: list[tuple[str, Any]] = [(keys[n], points.at(n)) for n in first]
    _, compiled = timed(task, values)
    found, once = timed(task, values)
    programs = len({every[n] for n in numbers})
    each, compiling = once / len(first), max(compiled - once, 0.0) * programs
    seconds = each * len(numbers) + compiling
    size = found.nbytes // len(first) * len(numbers)
    groups = max(programs, -(-int(each * len(numbers)) // int(SECONDS)))
    return Plan(len(numbers), programs, groups, seconds, compiling, size, _memory())


def _memory() -> int:
    """Bytes that this process has needed at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
