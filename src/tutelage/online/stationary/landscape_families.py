"""Symmetric starts: students in groups of equal units, one family of stationary points each.

With all teachers equivalent a state may be invariant under renaming the units of a group.  Its
weights in units of the teachers then depend on the group of the student, the group of the teacher,
and on whether the two are partners: six numbers for K = M with k anti-aligned units, eight if one
unit is added (docs/physics/online.md).  Gradient descent stays in a family, also where it is no
minimum, as long as rounding is averaged out.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage._jax import jnp
from tutelage.model import Scenario
from tutelage.online.stationary.landscape_gradient import Landscape, descend

# Weights along the teachers from which the descent of a family begins: anti-aligned units have
# overlaps with the aligned teachers in the coupled branch, and none in the separate one.
COUPLED = {"aligned": 1.0, "mixed": 0.05, "back": 0.2, "anti": -0.6}
SEPARATE = {"aligned": 1.05, "mixed": 0.0, "back": 0.0, "anti": -0.6}
# Teachers that are not equivalent: every subset may be anti-aligned, up to this number of teachers.
MAX_DISTINCT_TEACHERS = 6
# Descent of a family: blocks after which the weights of a group are averaged.
BLOCKS, STEPS_PER_BLOCK = 40, 100
# What additional units do: point to all teachers, or share one that has an anti-aligned or an
# aligned student.
EXTRA_KINDS = ("own", "anti", "aligned")


class Start(NamedTuple):
    """Weights in units of the teachers, and groups of equal entries.

    weights: shape (K, M).
    pattern: the number of the group of each entry, shape (K, M).
    """

    weights: Float[np.ndarray, "K M"]
    pattern: Int[np.ndarray, "K M"]


def family_starts(scenario: Scenario) -> list[Start]:
    """Return starts for every possible number of anti-aligned units and of surplus units."""
    K, M = scenario.K, scenario.M
    starts = []
    for anti in _anti_aligned_sets(scenario):
        for values in (COUPLED, SEPARATE):
            starts += list(_with_extra_units(K, M, anti, values))
    return starts


def family_count(scenario: Scenario) -> int:
    """Return the largest number of starts of families, without their weights."""
    K, M, most = scenario.K, scenario.M, min(scenario.K, scenario.M)
    if equivalent_teachers(scenario):
        sets = most + 1
    else:
        sets = 2**most if M <= MAX_DISTINCT_TEACHERS else 1
    return len((COUPLED, SEPARATE)) * sets * (len(EXTRA_KINDS) if K > M else 1)


def descended(landscape: Landscape, starts: list[Start], rate: float) -> list[np.ndarray]:
    """Return the end of gradient descent within each family, as weights in the span of the
    teachers.
    """
    if not starts:
        return []
    B = landscape.teachers
    W = np.array([start.weights for start in starts]) @ B
    inverse = np.linalg.pinv(B)
    rates = np.full(len(W), rate)
    for _ in range(BLOCKS):
        W = np.asarray(descend(landscape, jnp.asarray(W), rates, STEPS_PER_BLOCK)[0])
        components = W @ inverse
        means = [_group_means(x, s.pattern) for x, s in zip(components, starts, strict=True)]
        W = np.array(means) @ B
    return [w for w in W if np.all(np.isfinite(w))]


def equivalent_teachers(scenario: Scenario) -> bool:
    """Return whether any two teachers can be exchanged."""
    T, v = np.asarray(scenario.T), np.asarray(scenario.teacher.weights)
    M = len(T)
    off = T[~np.eye(M, dtype=bool)]
    spreads = (np.ptp(np.diag(T)), np.ptp(off) if off.size else 0.0, np.max(np.ptp(v, axis=-1)))
    return max(spreads) <= 1e-12 * np.max(np.abs(T))


def _anti_aligned_sets(scenario: Scenario) -> Iterator[tuple[int, ...]]:
    """List the teachers to which a student is anti-aligned: the last k, or every subset."""
    M, most = scenario.M, min(scenario.K, scenario.M)
    if equivalent_teachers(scenario):
        yield from (tuple(range(most - k, most)) for k in range(most + 1))
    elif M <= MAX_DISTINCT_TEACHERS:
        for k in range(most + 1):
            yield from combinations(range(most), k)
    else:
        yield ()


def _with_extra_units(
    K: int, M: int, anti: tuple[int, ...], values: dict[str, float]
) -> Iterator[Start]:
    """Return one student for each of the first teachers, and additional units of one kind."""
    most = min(K, M)
    is_anti = np.isin(np.arange(M), anti)
    unserved = np.arange(M) >= most
    W = np.zeros((most, M))
    for i in range(most):
        W[i, ~is_anti] = values["back"] if is_anti[i] else 0.0
        W[i, is_anti] = 0.0 if is_anti[i] else values["mixed"]
        W[i, unserved] = 0.3
        W[i, i] = values["anti"] if is_anti[i] else values["aligned"]
    groups = np.where(is_anti, 1, np.where(unserved, 2, 0))
    if K <= M:
        yield _start(W, groups[:most], groups, np.arange(most))
        return
    for kind in EXTRA_KINDS:
        rows, partner = [], []
        for _ in range(K - M):
            if kind == "own":
                row, mate = np.where(is_anti, 0.5, 0.1), -1
            elif kind == "anti" and len(anti) > 0:
                row, mate = 0.9 * W[anti[0]], anti[0]
            elif kind == "aligned" and len(anti) < M:
                mate = int(np.flatnonzero(~is_anti)[0])
                row = 0.5 * W[mate]
            else:
                break
            rows.append(row)
            partner.append(mate)
        else:
            students = np.concatenate([groups[:most], np.full(K - M, 3)])
            mates = np.concatenate([np.arange(most), partner])
            special = np.array(groups)
            for mate in partner:
                if mate >= 0:  # its teacher differs from all others
                    special[mate] = 4
            first = np.where(np.isin(np.arange(most), partner), 5, students[:most])
            yield _start(np.vstack([W, rows]), np.r_[first, students[most:]], special, mates)


def _start(W: np.ndarray, students: np.ndarray, teachers: np.ndarray, mates: np.ndarray) -> Start:
    partner = mates[:, None] == np.arange(len(teachers))
    labels = (students[:, None] * 8 + teachers) * 2 + partner
    return Start(W, np.unique(labels, return_inverse=True)[1].reshape(W.shape))


def _group_means(W: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    sums, counts = np.bincount(pattern.ravel(), W.ravel()), np.bincount(pattern.ravel())
    return (sums / counts)[pattern]
