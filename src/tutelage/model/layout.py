"""Overlaps as a vector: what integrators and root finders work on."""

from typing import Any

import numpy as np

from tutelage.model.overlaps import Overlaps


def unchecked(Q: Any, R: Any, T: Any) -> Overlaps:
    """Overlaps that are not checked: rates of change, or states on the way."""
    overlaps = object.__new__(Overlaps)
    for name, value in (("Q", Q), ("R", R), ("T", T)):
        object.__setattr__(overlaps, name, value)
    return overlaps


def to_vector(overlaps: Overlaps) -> Any:
    """R row by row, then Q_ik for i <= k: shape (..., d), d = K M + K (K + 1)/2.

    Arrays of NumPy stay such: outside a compiled function nothing has to be compiled for them.
    """
    R, Q = overlaps.R, overlaps.Q
    i, k = np.triu_indices(overlaps.K)
    parts = [R.reshape(*R.shape[:-2], -1), Q[..., i, k]]
    return R.__array_namespace__().concat(parts, axis=-1)


def to_overlaps(vector: Any, T: Any, K: int) -> Overlaps:
    """Undo `to_vector`: from shape (..., d) and T of shape (..., M, M)."""
    M = T.shape[-1]
    R = vector[..., : K * M].reshape(*vector.shape[:-1], K, M)
    return unchecked(vector[..., K * M + upper_triangle(K)], R, T)


def upper_triangle(K: int) -> np.ndarray:
    """Where (i, k) and (k, i) stand among the pairs i <= k."""
    place = np.zeros((K, K), dtype=int)
    place[np.triu_indices(K)] = np.arange(K * (K + 1) // 2)
    return np.maximum(place, place.T)


def labels(K: int, M: int) -> list[str]:
    """Names of the entries of the vector, such as R_11 and Q_12."""
    R = [f"R_{i + 1}{n + 1}" for i in range(K) for n in range(M)]
    return R + [f"Q_{i + 1}{k + 1}" for i, k in zip(*np.triu_indices(K), strict=True)]
