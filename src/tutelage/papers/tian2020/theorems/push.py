"""The pull of a teacher node on a student node, and the time that a reversal takes."""

import math
from typing import Any

import numpy as np


def mean_push(student: Any, teacher: Any, second_moment: float = 1.0) -> np.ndarray:
    """E[x z_k f*_j] for inputs with a spherically symmetric law (tian2020, Theorem 6).

        E[x I[w_k·x > 0] (w*_j·x)₊] = ‖w*_j‖ (E‖x‖²/d)/(2π) · [(π - θ) w̄*_j + sin θ w̄_k]

    with unit vectors w̄ and the angle θ between them.  The length of w_k does not matter, since
    it does not move the gate z_k.

    Args:
        student: w_k, shape (..., d).
        teacher: w*_j, shape (..., d).
        second_moment: E‖x‖²/d, which is σ² for N(0, σ²) and a²/3 for no uniform law, as that
            one is not spherically symmetric.

    >>> mean_push([3.0, 0.0], [1.0, 0.0]).tolist()  # half of E[x x₁]
    [0.5, 0.0]
    """
    w, t = np.asarray(student), np.asarray(teacher)
    lengths = [np.linalg.norm(x, axis=-1, keepdims=True) for x in (w, t)]
    w, t = w / lengths[0], t / lengths[1]
    cos = np.sum(w * t, axis=-1, keepdims=True)
    sin = np.linalg.norm(w - cos * t, axis=-1, keepdims=True)
    θ = np.arctan2(sin, cos)
    return lengths[1] * second_moment / (2 * math.pi) * ((math.pi - θ) * t + sin * w)


def escape_time(distance: Any, angle: float = math.pi / 2) -> np.ndarray:
    """Compute the time from θ = π - ε to θ₀ under dθ/dt = -(π - θ) sin θ (tian2020, Section 5.3).

    t₀ = ∫_ε^{π-θ₀} du/(u sin u) = 1/ε - 1/(π - θ₀) + (π - θ₀ - ε)/6 + …

    of which the paper has the first two terms.

    Args:
        distance: ε, greater than 0 and at most π - θ₀; any shape.
        angle: θ₀, greater than 0 and less than π.

    >>> bool(abs(1e-4 * escape_time(1e-4) - 1) < 1e-3)
    True
    """
    from scipy.integrate import quad

    ε, u = np.asarray(distance, float), math.pi - angle

    def rest(u: float) -> float:
        """1/(u sin u) - 1/u², without the cancellation at 0."""
        return 1 / 6 + 7 * u**2 / 360 if u < 1e-3 else 1 / (u * math.sin(u)) - u**-2

    smooth = [quad(rest, one, u, epsabs=1e-13, epsrel=1e-12)[0] for one in ε.ravel()]
    return 1 / ε - 1 / u + np.reshape(smooth, ε.shape)
