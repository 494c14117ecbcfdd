"""The cost of a study, estimated by computing one group of it."""

import resource
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tutelage.sweeps.compute import Task, timed
from tutelage.sweeps.groups import GROUP_SECONDS, shapes
from tutelage.sweeps.points import Points


class Plan(NamedTuple):
    """The estimated cost of a study.

    points: number of points;  compilations: the largest number of programs;  groups: of groups.
    seconds: of all work on one worker;  compile_seconds: the part of it that compiles.
    result_bytes: size of all results.
    worker_bytes: peak memory of the process that computed the first points.
    """

    points: int
    compilations: int
    groups: int
    seconds: float
    compile_seconds: float
    result_bytes: int
    worker_bytes: int


def planned(task: Task, points: Points, numbers: Sequence[int], least: int) -> Plan:
    """Estimate the cost of some points.

    The first points are computed twice: the first time compiles, the second does not.
    """
    if not numbers:
        return Plan(0, 0, 0, 0.0, 0.0, 0, _memory())
    every, keys = shapes(points), points.keys()
    first = [n for n in numbers if every[n] == every[numbers[0]]][:least]
    values: list[tuple[str, Any]] = [(keys[n], points.at(n)) for n in first]
    _, compiled = timed(task, values)
    result, once = timed(task, values)
    programs = len({every[n] for n in numbers})
    each, compiling = once / len(first), max(compiled - once, 0.0) * programs
    seconds = each * len(numbers) + compiling
    size = result.nbytes // len(first) * len(numbers)
    groups = max(programs, -(-int(each * len(numbers)) // int(GROUP_SECONDS)))
    return Plan(len(numbers), programs, groups, seconds, compiling, size, _memory())


def _memory() -> int:
    """Return the peak memory of this process in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
