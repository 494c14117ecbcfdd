"""Smallest sums of ReLU nodes on a region (tian2020, Lemmas 2, 3, 5 and 6).

The theorems need one direction: a small gradient everywhere implies that nodes are aligned.  On
given examples that is a linear programme in the coefficients.
"""

import math
from typing import Any

import numpy as np


def nodes(x: Any, w: Any, b: Any) -> np.ndarray:
    """σ(w_j·x + b_j) of every example and node, shape (examples, nodes)."""
    return np.maximum(np.asarray(x) @ np.asarray(w).T + np.asarray(b), 0.0)


def smallest_sum(fixed: Any, others: Any) -> float:
    """ε = min over c of max over x of |f(x) + Σ_j c_j f_j(x)|.

    Args:
        fixed: f(x), shape (examples,).
        others: f_j(x), shape (examples, nodes); linear terms are columns of it, too.

    >>> x = np.linspace(-1, 1, 201)
    >>> f = np.maximum(x, 0.0)
    >>> abs(smallest_sum(f, np.column_stack([x, np.ones(201)])) - 0.25) < 1e-9
    True
    """
    from scipy.optimize import linprog

    f, F = np.asarray(fixed), np.asarray(others)
    one = np.ones((len(f), 1))
    above, below = np.hstack([F, -one]), np.hstack([-F, -one])
    cost = np.append(np.zeros(F.shape[1]), 1.0)
    limits = np.concatenate([-f, f])
    programme = linprog(cost, np.vstack([above, below]), limits, bounds=(None, None))
    return float(programme.fun)


def disc(w: Any, b: Any, radius: float = 2.0) -> np.ndarray:
    """Points of a disc, and more on the boundaries w_j·x + b_j = 0 inside it."""
    side = np.linspace(-radius, radius, 41)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    lines = []
    for direction, shift in zip(np.asarray(w), np.asarray(b), strict=True):
        length = np.linalg.norm(direction)
        along = np.array([-direction[1], direction[0]]) / length
        lines.append(-shift * direction / length**2 + 2 * side[:, None] * along)
    points = np.concatenate([points, *lines])
    return points[np.linalg.norm(points, axis=1) <= radius]


def group_sums(x: Any, w: Any, b: Any, group: Any) -> np.ndarray:
    """Sums Σ_{k in group} c_k ‖w_k‖ of all c with Σ_k c_k σ(w_k·x + b_k) + linear terms = 0.

    Theorem 3 of tian2020 has them zero.  For each group of co-linear nodes the largest one over a
    basis of these c, with ‖c‖ = 1.

    Args:
        group: the number of the group of each node.
    """
    F = np.hstack([nodes(x, w, b), np.asarray(x), np.ones((len(x), 1))])
    scale = np.linalg.norm(F, axis=0)
    _, s, Vt = np.linalg.svd(F / scale, full_matrices=False)
    null = Vt[s < 1e-10 * s[0]] / scale
    null /= np.linalg.norm(null, axis=1, keepdims=True)
    lengths = np.linalg.norm(np.column_stack([w, b]), axis=1)
    weighted = null[:, : len(lengths)] * lengths
    sums = [weighted[:, np.asarray(group) == one].sum(axis=1) for one in np.unique(group)]
    return np.array([np.abs(one).max(initial=0.0) for one in sums])


def turned(w: Any, angle: float) -> np.ndarray:
    """Rotate w by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return np.asarray(w) @ np.array([[c, s], [-s, c]])
