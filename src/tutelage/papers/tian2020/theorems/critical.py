"""Critical points of stochastic gradient descent: students that equal their teacher."""

from typing import Any, NamedTuple

import numpy as np

from tutelage import deep
from tutelage.deep import Network
from tutelage.papers.tian2020.theorems.gradients import recursive_gradients


def disguise(teacher: Network, multiple: int = 2, *, seed: int = 0) -> Network:
    """Make an over-realized student that computes the same function as the teacher.

    Every teacher node has one or more student nodes w_k = γ w*_j, γ > 0, which share its fan-out.
    The other nodes are unaligned: two co-linear ones in each layer, if there is room, have
    fan-outs that cancel, Σ v_k ‖w_k‖ = 0, and the rest have none (tian2020, Theorem 3).

    Args:
        teacher: any depth.
        multiple: n_l = multiple · m_l.
        seed: a whole number of at least 0.

    >>> import numpy as np, tutelage as tl
    >>> teacher = tl.deep.teacher("3-2", inputs=10, outputs=2)
    >>> x = np.random.default_rng(0).normal(size=(5, 10))
    >>> bool(np.allclose(disguise(teacher, 4)(x), teacher(x), rtol=1e-12))
    True
    """
    random = np.random.default_rng([seed, 1, 0])
    below = np.eye(teacher.widths[0])
    weights: list[Any] = []
    biases: list[Any] = []
    pair = None
    for W, b in zip(teacher.weights[:-1], teacher.biases[:-1], strict=True):
        columns, shifts, below, new = _layer(random, below @ np.asarray(W), np.asarray(b), multiple)
        weights.append(_cancelling(random, columns, pair))
        biases.append(shifts)
        pair = new
    weights.append(_cancelling(random, below @ np.asarray(teacher.weights[-1]), pair))
    biases.append(np.asarray(teacher.biases[-1]))
    return deep.network(weights, biases)


def _layer(
    random: np.random.Generator, W: np.ndarray, b: np.ndarray, multiple: int
) -> tuple[Any, Any, Any, Any]:
    """Return filters, biases, the coefficient of each node in each teacher node, and two nodes that
    cancel.
    """
    m = W.shape[1]
    spare = (multiple - 1) * m
    teacher_of = np.concatenate([np.arange(m), random.integers(m, size=spare // 2)])
    γ = random.uniform(0.5, 2.0, len(teacher_of))
    share = random.uniform(0.5, 1.5, len(teacher_of))
    share /= np.bincount(teacher_of, share, m)[teacher_of]
    free = spare - spare // 2
    extra = random.standard_normal((len(W), free)) * np.linalg.norm(W) / np.sqrt(W.size)
    shifts = random.standard_normal(free) * (np.std(b) + 0.1)
    if free >= 2:
        extra[:, 1], shifts[1] = 0.5 * extra[:, 0], 0.5 * shifts[0]
    P = np.zeros((len(teacher_of) + free, m))
    P[np.arange(len(teacher_of)), teacher_of] = share / γ
    pair = (len(teacher_of), len(teacher_of) + 1) if free >= 2 else None
    return (
        np.concatenate([W[:, teacher_of] * γ, extra], axis=1),
        np.concatenate([b[teacher_of] * γ, shifts]),
        P,
        pair,
    )


def _cancelling(
    random: np.random.Generator, W: np.ndarray, pair: tuple[int, int] | None
) -> np.ndarray:
    """Set fan-outs of the two co-linear nodes, the second of half length, that cancel."""
    if pair is not None:
        W = W.copy()
        W[pair[0]] = random.standard_normal(W.shape[1])
        W[pair[1]] = -2 * W[pair[0]]
    return W


class Interpolation(NamedTuple):
    """Distance of each layer of a student from a critical point of SGD.

    gradient: max over examples of ‖g_l(x_i)‖.
    update: max over examples of ‖g_l(x_i) f_{l-1}(x_i)ᵀ‖, the change that x_i alone asks for.
    """

    gradient: np.ndarray
    update: np.ndarray


def interpolation(student: Network, teacher: Network, x: np.ndarray) -> Interpolation:
    """Measure whether the gradients of every single example vanish (tian2020, Theorem 1).

    If no batch changes the weights, then g_l(x_i) = 0 or f_{l-1}(x_i) = 0 for every example;
    with biases f_{l-1} always has an entry 1, and all gradients vanish.

    Args:
        student, teacher: of the same depth, no layer of the student narrower.
        x: examples, of shape (examples, d).
    """
    g = [np.linalg.norm(one, axis=1) for one in recursive_gradients(student, teacher, x)]
    f = (x, *student.activations(x)[:-1])
    with_one = [np.sqrt(1 + np.sum(np.asarray(one) ** 2, axis=1)) for one in f]
    update = [float(np.max(a * b)) for a, b in zip(g, with_one, strict=True)]
    return Interpolation(np.array([float(one.max()) for one in g]), np.array(update))
