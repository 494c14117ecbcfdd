"""Which averages the equations need, sorted so that equal shapes share one batch.

An average takes several of the K + M fields, some of them more than once.  Two index tuples
have the same shape if the same arguments coincide and the same activations stand there.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    """Index tuples of one shape.

    same: for every argument the first one that is the same field.
    teachers: for every argument whether the field is a teacher's.
    fields: shape (count, arguments).
    weights: shape (targets, count); what each average contributes to each target.
    """

    same: tuple[int, ...]
    teachers: tuple[bool, ...]
    fields: np.ndarray
    weights: np.ndarray


def batches(
    tuples: Iterable[tuple[tuple[int, ...], int, float]], targets: int, students: int
) -> list[Batch]:
    """Sort (fields, target, weight) into batches; equal tuples are computed once."""
    groups: dict[tuple, dict[tuple[int, ...], dict[int, float]]] = defaultdict(dict)
    for fields, target, weight in tuples:
        same = tuple(fields.index(field) for field in fields)
        teachers = tuple(field >= students for field in fields)
        by_target = groups[same, teachers].setdefault(fields, defaultdict(float))
        by_target[target] += weight
    return [
        Batch(same, teachers, np.array(list(members)), _matrix(list(members.values()), targets))
        for (same, teachers), members in groups.items()
    ]


def _matrix(columns: list[dict[int, float]], targets: int) -> np.ndarray:
    matrix = np.zeros((targets, len(columns)))
    for j, column in enumerate(columns):
        for target, weight in column.items():
            matrix[target, j] = weight
    return matrix
