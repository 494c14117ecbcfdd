"""Noisy recovery: agreement of filters where gradients are small but not zero (Theorem 5)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax
from tutelage.averages import Estimate
from tutelage.deep import Network
from tutelage.papers.tian2020.theorems.gradients import recursive_gradients


class Recovery(NamedTuple):
    """Gradient and angle at each of several students, and the law between them.

    gradient: ε = max over examples and nodes of |g_1(x)|, shape (students,).
    sine: sin θ between each teacher filter and the closest student filter, (students, m_1).
    exponent: of the root mean square of the sines over teachers against ε, least squares in
        logarithms; its error is the standard error.
    """

    gradient: np.ndarray
    sine: np.ndarray
    exponent: Estimate


def noisy_recovery(
    students: Network, teacher: Network, x: Float[Array | np.ndarray, "examples d"]
) -> Recovery:
    """Measure sin θ against the size of the gradient (tian2020, Theorem 5).

    The theorem has sin θ = O(ε^{1-δ}/|α_kj|) for every δ > 0: an exponent of at least about 1.

    Args:
        students: a batch of at least three, no layer narrower than the teacher's, as from
            `descent`.
        teacher: whose lowest layer is to be recovered.
        x: examples, of shape (examples, d).
    """
    each = [jax.tree.map(lambda x, i=i: x[i], students) for i in range(len(students.weights[0]))]
    ε = np.array([float(np.max(np.abs(recursive_gradients(one, teacher, x)[0]))) for one in each])
    sine = np.stack([_sines(one, teacher) for one in each])
    slope, error = _line(np.log(ε), 0.5 * np.log(np.mean(sine**2, axis=1)))
    return Recovery(ε, sine, Estimate(slope, error))


def _sines(student: Network, teacher: Network) -> np.ndarray:
    """Return sin θ of each teacher filter to the closest student filter on its side."""
    w, t = (np.asarray(net.weights[0]).T for net in (student, teacher))
    w, t = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (w, t))
    cos = w @ t.T
    closest = np.argmax(cos, axis=0)
    best = cos[closest, np.arange(len(t))]
    # The orthogonal component is accurate where √(1 - cos²) has lost its digits.
    sin = np.linalg.norm(w[closest] - best[:, None] * t, axis=1)
    return np.where(best > 0, sin, 1.0)


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Fit a straight line; return its slope and standard error."""
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    rest = y - slope * x
    return slope, float(np.sqrt(rest @ rest / max(len(x) - 2, 1) / (x @ x)))
