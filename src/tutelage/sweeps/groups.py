"""Group points that are computed together, and choose the size of the groups.

Points whose values have the same shapes (`shapes`) are in the same groups, because a worker
compiles once for all of them.  The size of a group is chosen so that it takes a few seconds, judged
by earlier groups.  The result of a point does not depend on its group: see `compute`.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Hashable
from typing import NamedTuple

from tutelage.runs.programs import program_of
from tutelage.runs.worker_pool import CompiledPrograms
from tutelage.sweeps.points import Points

# Target duration of a group: long against its overhead of milliseconds, short enough to lose little
# by a kill.  The first group of a shape compiles; the next ones grow by at most MAX_GROWTH.
GROUP_SECONDS, MAX_GROWTH = 5.0, 8
# Duration of the last groups of several workers, which finish together up to this time.
LAST_GROUP_SECONDS = 0.1
# Time in which a worker loads a program that another one has stored.
LOAD_SECONDS = 0.3


class Group(NamedTuple):
    """A group: the indices of its points, which have one shape.

    alone: True after a worker with this group was killed: the next worker gets no other group, so
        that a second kill is due to this group.
    """

    shape: Hashable
    numbers: list[int]
    alone: bool = False


def shapes(points: Points) -> list[str]:
    """Return a text for each point, equal for points that share compiled programs."""
    return points.texts(lambda name, place: program_of({name: points.values[name][place]}))


class Queue:
    """Waiting points by shape, from which groups are taken.

    numbers: the waiting points.
    shapes: the shape of every point.
    least: the size of a first group; sizes of later groups are multiples of it.
    stored: whether a worker loads the programs that another one has compiled.
    """

    def __init__(self, numbers: list[int], shapes: list[str], least: int, *, stored: bool = False):
        self._waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for number in numbers:
            self._waiting[shapes[number]].append(number)
        self._again: deque[Group] = deque()
        self._size: dict[Hashable, int] = {}
        self._least, self._workers, self._stored = least, 1, stored
        self._compiled = CompiledPrograms()  # shapes that each worker has compiled
        self._first: dict[Hashable, tuple[int, float]] = {}  # size and seconds of a first group
        self._each: dict[Hashable, float] = {}  # seconds per point of the last group

    def __len__(self) -> int:
        requeued = sum(len(group.numbers) for group in self._again)
        return sum(map(len, self._waiting.values())) + requeued

    @property
    def compilations(self) -> int:
        """The number of shapes with waiting points."""
        return sum(map(bool, self._waiting.values()))

    def share(self, workers: Collection[Hashable]) -> None:
        """Set the names of the present workers; compiled programs of others are lost."""
        self._workers = max(len(workers), 1)
        self._compiled.keep(workers)

    def take(self, worker: Hashable = None, *, idle: bool = True) -> Group | None:
        """Take the next group, preferably of a shape whose program the worker has compiled, else of
        a shape that no worker has compiled.

        A shape of another worker is taken if compiling or loading it takes less time than its rest.
        Groups whose workers were killed come first, and wait for an idle worker.
        """
        if self._again:
            return self._again.popleft() if idle else None
        shapes = [shape for shape, waiting in self._waiting.items() if waiting]
        if not shapes:
            return None
        ranks = {shape: self._compiled.rank(worker, shape) for shape in shapes}
        shape = min(shapes, key=lambda x: (ranks[x], -self._left(x) if ranks[x] == 2 else 0.0))
        if ranks[shape] == 2 and self._left(shape) < self._start_seconds(shape):
            return None
        self._compiled.add(worker, shape)
        waiting = self._waiting[shape]
        return Group(shape, [waiting.popleft() for _ in range(self._count(shape))])

    def _left(self, shape: Hashable) -> float:
        """Estimate the seconds of the waiting points; before any is computed, with the time per
        point of the slowest known shape, or one second.
        """
        each = self._each.get(shape) or max(self._each.values(), default=1.0)
        return len(self._waiting[shape]) * each

    def _start_seconds(self, shape: Hashable) -> float:
        """Estimate the time until another worker has the program: if it compiles, the time of the
        first group without that of its points.
        """
        count, seconds = self._first.get(shape, (0, 0.0))
        compilation = seconds - count * self._each.get(shape, 0.0)
        return min(compilation, LOAD_SECONDS) if self._stored else compilation

    def _count(self, shape: Hashable) -> int:
        """Return the size of the next group; with several workers it takes at most half of a
        worker's share of the remaining time, so that they finish together.
        """
        size, each = self._size.get(shape, self._least), self._each.get(shape, 0.0)
        if self._workers > 1 and each > 0:
            share = sum(map(self._left, self._waiting)) / (2 * self._workers)
            size = min(size, int(max(share, LAST_GROUP_SECONDS) / each))
        multiple = -(-max(size, 1) // self._least) * self._least
        return min(multiple, len(self._waiting[shape]))

    def took(self, group: Group, seconds: float) -> None:
        """Record the duration of a group, which sets the size of the next ones."""
        count = len(group.numbers)
        self._first.setdefault(group.shape, (count, seconds))
        self._each[group.shape] = seconds / count
        fitting = int(count * GROUP_SECONDS / max(seconds, 1e-6))
        before = self._size.get(group.shape, self._least)
        self._size[group.shape] = max(1, min(fitting, MAX_GROWTH * before))

    def again(self, group: Group) -> None:
        """Requeue a group whose worker was killed."""
        self._again.append(group._replace(alone=True))

    def split(self, group: Group) -> None:
        """Requeue the points of a group as groups of one point."""
        self._again.extend(Group(group.shape, [number], alone=True) for number in group.numbers)
