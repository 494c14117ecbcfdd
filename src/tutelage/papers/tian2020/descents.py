"""Figure 2 of tian2020: students with two inputs, which train in seconds."""

from functools import cache
from itertools import count, islice

import numpy as np

from tutelage import deep
from tutelage.papers.tian2020 import theorems

SEED = 2020
STARTS = 12  # of the first stage; the paper does not state the number of starts


@cache
def plane(
    first: int = 0, starts: int = STARTS
) -> tuple[list[deep.Network], list[deep.Network], int]:
    """Return the data of Figure 2: teachers with two nodes, paths of students with six, steps per
    record.

    Fan-outs start small, as in the legends of the paper.  Filters do not: ‖w_k‖² + b_k² - ‖v_k‖²
    does not change in gradient descent with small steps, so that ‖v_k‖ could not vanish.
    """
    x = np.random.default_rng(SEED).normal(size=(1000, 2))
    teachers, paths = [], []
    for seed in islice(filter(_are_distinct, count(SEED)), first, first + starts):
        teachers.append(_in_the_plane(seed))
        one = deep.student(teachers[-1], 3, seed=seed)
        weights = one.weights[0], 0.05 * one.weights[1]
        student = deep.network(weights, [0.1 * b for b in one.biases])
        paths.append(theorems.descent(student, teachers[-1], x, 0.1, steps=29 * 200, every=200))
    return teachers, paths, 200


def _in_the_plane(seed: int) -> deep.Network:
    return deep.teacher(2, inputs=2, outputs=10, data="gaussian:1", seed=seed)


def _are_distinct(seed: int) -> bool:
    """Return whether the two filters of a teacher are at least 26 degrees from parallel."""
    W = np.asarray(_in_the_plane(seed).weights[0])
    return abs(W[:, 0] @ W[:, 1]) < 0.9 * np.prod(np.linalg.norm(W, axis=0))
