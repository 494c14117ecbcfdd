"""The block structure of a state: groups of units with equal overlaps, and their names."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number
from tutelage._given import ArrayLike
from tutelage.model import Overlaps

Group = tuple[int, ...]


@dataclass(frozen=True)
class Blocks:
    """Groups of units with equal overlaps, and the role of each group of students.

    students, teachers: groups of units, numbered from 1, that overlap equally with all others.
    assigned: for every group of students the group of teachers (its place in ``teachers``) that
        it is closest to, or farthest from; -1 if its overlaps with all teachers are equal.
    signs: +1 where that overlap is larger than with the other teachers, -1 where it is smaller,
        0 where there is nothing to choose.
    name: the state in words.
    """

    students: tuple[Group, ...]
    teachers: tuple[Group, ...]
    assigned: tuple[int, ...]
    signs: tuple[int, ...]
    name: str


@validated
def blocks(overlaps: Overlaps, *, tolerance: float = 1e-6) -> Blocks:
    """Group the units of a state: equal rows and columns of R, and equal entries of Q.

    Args:
        overlaps: one state.
        tolerance: overlaps that differ by less count as equal; for means over samples a few of
            their standard errors.

    >>> import tutelage as tl
    >>> import numpy as np
    >>> R = [[0.9, 0.1, 0.1], [0.1, 0.4, 0.4], [0.1, 0.4, 0.4]]
    >>> blocks(tl.Overlaps(Q=np.eye(3), R=R, T=np.eye(3))).name
    '1 of 3 students specialized, students {2, 3} share teachers {2, 3}'
    """
    finite_number("tolerance", tolerance, above=0.0, hint="1e-6")
    if overlaps.R.ndim != 2:
        raise InputError("overlaps", f"R of shape {overlaps.R.shape}", "it has to be one state")
    Q, R, T = (np.asarray(x) for x in (overlaps.Q, overlaps.R, overlaps.T))
    students = _groups(Q, R, tolerance)
    teachers = _groups(T, R.T, tolerance)
    mean = np.array([[np.mean(R[np.ix_(s, t)]) for t in teachers] for s in students])
    assigned, signs = _parts(mean, students, teachers, tolerance)
    name = _name(students, teachers, assigned, signs, len(R))
    return Blocks(
        students=tuple(tuple(i + 1 for i in group) for group in students),
        teachers=tuple(tuple(n + 1 for n in group) for group in teachers),
        assigned=tuple(assigned),
        signs=tuple(signs),
        name=name,
    )


def exchangeable(T: ArrayLike) -> list[list[int]]:
    """Groups of teachers, any two of which may be swapped without changing T."""
    T = np.asarray(T)
    return _groups(T, np.zeros((len(T), 0)), 1e-12 * max(1.0, float(np.max(np.abs(T)))))


def canonical_order(overlaps: Overlaps) -> Overlaps:
    """Renumber the students and exchangeable teachers of a state, matching units first.

    Students have the order of the teachers they are assigned to, one each as far as they
    go: R > S and R < S states have their special overlaps on the diagonal.
    """
    Q, R, T = (np.asarray(x) for x in (overlaps.Q, overlaps.R, overlaps.T))
    teachers = np.arange(len(T))
    matched = dict(zip(*_matching(R)[::-1], strict=True))  # teacher -> student
    for group in exchangeable(T):
        # Among exchangeable teachers, those with the larger overlap come first.
        key = [(-R[matched[n], n] if n in matched else np.inf) for n in group]
        teachers[group] = np.array(group)[np.argsort(np.round(key, 6), kind="stable")]
    own = [matched[n] for n in teachers if n in matched]
    left = [i for i in range(len(R)) if i not in own]
    order = np.array(own + sorted(left, key=lambda i: tuple(-np.round(R[i][teachers], 6))))
    return Overlaps(Q[np.ix_(order, order)], R[np.ix_(order, teachers)], T)


def matched_overlaps(R: ArrayLike) -> tuple[float, float]:
    """R, the mean overlap of students with their matched teachers, and S, with all other teachers.

    >>> matched_overlaps([[0.1, 0.8], [0.9, 0.2]])  # student 1 belongs to teacher 2
    (0.8500000000000001, 0.15000000000000002)
    """
    R = np.asarray(R, dtype=np.float64)
    own = np.zeros(R.shape, dtype=bool)
    own[_matching(R)] = True
    others = R[~own]
    return float(np.mean(R[own])), float(np.mean(others)) if others.size else 0.0


def _groups(own: np.ndarray, other: np.ndarray, tolerance: float) -> list[list[int]]:
    """Group units that can be swapped: equal overlaps with the other network and with
    each other.
    """
    groups: list[list[int]] = []
    for i in range(len(own)):
        for group in groups:
            if all(_swappable(own, other, i, j, tolerance) for j in group):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def _swappable(own: np.ndarray, other: np.ndarray, i: int, j: int, tolerance: float) -> bool:
    swap = np.arange(len(own))
    swap[[i, j]] = j, i
    among = np.max(np.abs(own[np.ix_(swap, swap)] - own))
    return bool(max(among, np.max(np.abs(other[i] - other[j]), initial=0.0)) <= tolerance)


def _special(R: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the distance of each overlap from the mean of its row; +d ranks above −d."""
    deviation = R - (R @ weights)[:, None] / np.sum(weights)
    return deviation**2 * (1 + 1e-3 * np.sign(deviation))


def _matching(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Match each student to one teacher, as far as there are teachers."""
    return linear_sum_assignment(-_special(R, np.ones(R.shape[1])))


def _parts(
    mean: np.ndarray, students: list[list[int]], teachers: list[list[int]], tolerance: float
) -> tuple[list[int], list[int]]:
    """Return the group of teachers assigned to each group of students, and the sign."""
    sizes = np.array([len(group) for group in teachers])
    if sorted(map(len, students)) == sorted(sizes):
        # The remaining groups share the remaining teachers.
        unlike = np.array([[len(s) != len(t) for t in teachers] for s in students])
        score = _special(mean, sizes)
        assigned = linear_sum_assignment(np.where(unlike, 1e3, -score))[1]
    else:
        assigned = np.argmax(mean, axis=1)
    assigned = np.where(np.ptp(mean, axis=1) <= tolerance, -1, assigned)
    signs = []
    for row, t in zip(mean, assigned, strict=True):
        if t < 0:
            signs.append(0)
            continue
        others = np.delete(np.arange(len(teachers)), t)
        rest = np.average(row[others], weights=sizes[others])
        signs.append(1 if row[t] >= rest else -1)
    return [int(t) for t in assigned], signs


def _name(
    students: list[list[int]], teachers: list[list[int]], assigned: list, signs: list, K: int
) -> str:
    if len(students) == len(teachers) == 1:
        return "single unit" if K == len(teachers[0]) == 1 else "unspecialized"
    alone: dict[int, int] = {1: 0, -1: 0}
    shared = []
    for t, group in enumerate(teachers):
        members = sorted(i for s, a in zip(students, assigned, strict=True) if a == t for i in s)
        sign = [x for x, a in zip(signs, assigned, strict=True) if a == t]
        if len(members) == len(group) == 1:
            alone[sign[0]] += 1
        elif members:
            verb = "share" if len(members) > 1 else "is on"
            shared.append(f"{_units('student', members)} {verb} {_units('teacher', group)}")
    if K in alone.values():
        return "specialized" if alone[1] == K else "negatively specialized"
    counts = [
        f"{count} of {K} students {word}"
        for count, word in ((alone[1], "specialized"), (alone[-1], "negatively specialized"))
        if count
    ]
    without = sorted(i for s, a in zip(students, assigned, strict=True) if a < 0 for i in s)
    rest = [f"{_units('student', without)} unspecialized"] if without else []
    return ", ".join(counts + shared + rest)


def _units(word: str, members: list[int]) -> str:
    if len(members) == 1:
        return f"{word} {members[0] + 1}"
    return f"{word}s {{{', '.join(str(i + 1) for i in members)}}}"
