"""Alignment of student nodes with teacher nodes, and the contribution of unaligned nodes (two
layers).
"""

from typing import NamedTuple

import numpy as np

from tutelage.deep import Network


class Alignment(NamedTuple):
    """The quantities of Theorems 2 and 3 of tian2020, for a two-layer student.

    observed: (m,) whether the teacher node is observed by a student node with α_kj ≠ 0.
    sine: (m,) the least sin θ of a student node to the teacher node, of those with cos θ > 0.
    aligned: (n, m) which student nodes are aligned with which teacher nodes.
    unaligned: indices of student nodes that are aligned with no teacher node.
    fan_out: for those, ‖Σ v_k' ‖w_k'‖‖ over the student nodes co-linear with them.
    observers: for those, the rank of the fan-outs of their observers; C is enough for Theorem 3.
    """

    observed: np.ndarray
    sine: np.ndarray
    aligned: np.ndarray
    unaligned: np.ndarray
    fan_out: np.ndarray
    observers: np.ndarray


def alignment(
    student: Network, teacher: Network, x: np.ndarray, *, tolerance: float = 1e-2
) -> Alignment:
    """Check the statements of Theorems 2 and 3 at the weights of a two-layer student.

    A node k observes j if its active side meets the boundary of j where the data are (Definition
    2): somewhere in the ball of the radius r of the examples.  Two nodes are aligned if
    cos θ > 0, sin θ <= tolerance and |b_k/‖w_k‖ - b_j/‖w_j‖| <= tolerance · r.

    Args:
        student, teacher: two-layer networks, the student not narrower.
        x: examples, of shape (examples, d); only their largest norm r is used.
        tolerance: what counts as aligned; a trained student never is so exactly.
    """
    r = float(np.max(np.linalg.norm(x, axis=1)))
    S, T = _nodes(student), _nodes(teacher)
    same, sine = _same(S, T, tolerance, r)
    observed = np.any(_observes(S, T, r) & (np.abs(S.v @ T.v.T) > 0), axis=0)
    unaligned = np.flatnonzero(~same.any(axis=1))
    groups = _same(S, S, tolerance, r)[0][unaligned]
    sums = groups @ (S.v * S.length[:, None])
    sees = _observes(S, S, r)[:, unaligned]
    scale = tolerance * np.linalg.norm(T.v, axis=1).max()
    ranks = [np.linalg.matrix_rank(S.v[sees[:, i]], tol=scale) for i in range(len(unaligned))]
    return Alignment(
        observed, sine, same, unaligned, np.linalg.norm(sums, axis=1), np.array(ranks, int)
    )


class _HiddenNodes(NamedTuple):
    direction: np.ndarray  # (n, d), of length 1
    bias: np.ndarray  # (n,), over the length of the filter
    length: np.ndarray  # (n,)
    v: np.ndarray  # (n, C)


def _nodes(network: Network) -> _HiddenNodes:
    W, b = np.asarray(network.weights[0]), np.asarray(network.biases[0])
    length = np.linalg.norm(W, axis=0)
    return _HiddenNodes((W / length).T, b / length, length, np.asarray(network.weights[1]))


def _angles(a: _HiddenNodes, b: _HiddenNodes) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of the angles between the filters of all pairs of nodes."""
    cos = a.direction @ b.direction.T
    # ‖w̄_k - (w̄_k·w̄_j) w̄_j‖ is accurate where √(1 - cos²) has lost its digits.
    return cos, np.linalg.norm(a.direction[:, None] - cos[..., None] * b.direction[None], axis=2)


def _same(
    a: _HiddenNodes, b: _HiddenNodes, tolerance: float, r: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether node k of a is aligned with node j of b, and the least sine for each j."""
    cos, sin = _angles(a, b)
    near = np.abs(a.bias[:, None] - b.bias) <= tolerance * r
    least = np.where(cos > 0, sin, 1.0).min(axis=0)
    return (cos > 0) & (sin <= tolerance) & near, least


def _observes(a: _HiddenNodes, b: _HiddenNodes, r: float) -> np.ndarray:
    """Return whether max of w_k·x + b_k > 0 over the part of the boundary of j with ‖x‖ <= r.

    The boundary is x = -b_j w̄_j + y, y ⟂ w̄_j, and the largest field there
    -b_j cos θ + b_k + √(r² - b_j²) sin θ.
    """
    cos, sin = _angles(a, b)
    inside = r**2 - b.bias**2
    largest = -b.bias * cos + a.bias[:, None] + np.sqrt(np.maximum(inside, 0.0)) * sin
    # Rounding would make a node observe its own boundary, where its field is 0.
    return (inside > 0) & (largest > 1e-9 * r)
