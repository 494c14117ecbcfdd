"""Which points are worked on together, and how many at a time.

Points whose values have the same shapes (`shapes`) are in the same groups, because a worker
compiles once for all of them.  A group is as large as to take some seconds, by the time that the
last ones have taken.  What a point gives does not depend on its group: see `compute`.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Hashable
from typing import NamedTuple

from tutelage.runs.programs import program_of
from tutelage.sweeps.points import Points

# A group takes about so many seconds: its overhead of milliseconds is nothing then, and not much is
# lost by a kill.  The first one of a shape compiles, and the next is at most so many times larger.
SECONDS, GROWS = 5.0, 8


class Group(NamedTuple):
    """Numbers of points, all of one shape.

    alone: True after a worker was killed that had the group: the next worker has nothing else, so
        that a second kill is due to this group and not to one that the worker was busy with.
    """

    shape: Hashable
    numbers: list[int]
    alone: bool = False


def shapes(points: Points) -> list[str]:
    """A text for each point that is equal for those which share what is compiled."""
    return points.texts(lambda name, place: program_of({name: points.values[name][place]}))


class Queue:
    """Points that wait, by their shapes; groups are taken from it one after the other.

    numbers: of the points.
    shapes: of all points.
    least: points of a first group, and what the others are multiples of.

    Those who `share` the work are told apart by their names.
    """

    def __init__(self, numbers: list[int], shapes: list[str], least: int):
        self._waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for number in numbers:
            self._waiting[shapes[number]].append(number)
        self._again: deque[Group] = deque()
        self._size: dict[Hashable, int] = {}
        self._least, self._workers = least, 1
        self._last: dict[Hashable, Hashable] = {}  # shape of each worker
        self._first: dict[Hashable, tuple[int, float]] = {}  # points of a first group, its seconds
        self._each: dict[Hashable, float] = {}  # seconds of a point in the last group

    def __len__(self) -> int:
        again = sum(len(group.numbers) for group in self._again)
        return sum(map(len, self._waiting.values())) + again

    @property
    def compilations(self) -> int:
        """Shapes of which points wait."""
        return sum(map(bool, self._waiting.values()))

    def share(self, workers: Collection[Hashable]) -> None:
        """Who works now: what only others knew is known to nobody."""
        self._workers = max(len(workers), 1)
        self._last = {worker: x for worker, x in self._last.items() if worker in workers}

    def take(self, worker: Hashable = None, *, idle: bool = True) -> Group | None:
        """The next group; of the shape that the worker knows, or of one that nobody works on.

        Or of one that another works on, if compiling it once more takes less time than is left.
        Groups whose workers were killed come first, and wait for an idle worker.
        """
        if self._again:
            return self._again.popleft() if idle else None
        there = [shape for shape, waiting in self._waiting.items() if waiting]
        if not there:
            return None
        known = self._last.get(worker)
        busy = set(self._last.values())
        rest = [shape for shape in there if shape not in busy]
        most = max(there, key=self._left)
        shape = known if known in there else rest[0] if rest else most
        if shape in busy and shape != known and self._left(shape) < self._compiles(shape):
            return None
        self._last[worker] = shape
        waiting = self._waiting[shape]
        return Group(shape, [waiting.popleft() for _ in range(self._count(shape))])

    def _left(self, shape: Hashable) -> float:
        """Seconds that the waiting points will take; a second each before one has been computed."""
        return len(self._waiting[shape]) * self._each.get(shape, 1.0)

    def _compiles(self, shape: Hashable) -> float:
        """Seconds that a first group has taken longer than a later one."""
        count, seconds = self._first.get(shape, (0, 0.0))
        return seconds - count * self._each.get(shape, 0.0)

    def _count(self, shape: Hashable) -> int:
        """As many as are known to take a few seconds; at the end less, so that all end together."""
        waiting = len(self._waiting[shape])
        share = -(-waiting // (2 * self._workers))
        size = min(self._size.get(shape, self._least), max(share, self._least))
        return min(-(-size // self._least) * self._least, waiting)

    def took(self, group: Group, seconds: float) -> None:
        """How long a group has taken, by which the next ones are sized."""
        count = len(group.numbers)
        self._first.setdefault(group.shape, (count, seconds))
        self._each[group.shape] = seconds / count
        fitting = int(count * SECONDS / max(seconds, 1e-6))
        before = self._size.get(group.shape, self._least)
        self._size[group.shape] = max(1, min(fitting, GROWS * before))

    def again(self, group: Group) -> None:
        """Put back a group that was taken and whose worker was killed."""
        self._again.append(group._replace(alone=True))

    def split(self, group: Group) -> None:
        """Put back each point of a group as a group."""
        self._again.extend(Group(group.shape, [number], alone=True) for number in group.numbers)
