"""Names of stationary points, and the number of equivalent points.

Students are compared with teachers by their correlations R_in/√(Q_ii T_nn).  A student belongs to
the teacher with which its correlation is largest in size: aligned where it is positive,
anti-aligned where it is negative, silent if its norm vanishes, and spread over (or, with
negative overlaps, against) several teachers if the largest correlation is not unique.  The number k
of anti-aligned units does not name a point: the anti-aligned units are called separate if they have
nearly no overlap with the aligned teachers.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from tutelage.model import Scenario
from tutelage.online.stationary.landscape_gradient import Landscape

# Norms relative to the largest, and differences of correlations, that count as zero.
SILENT, SAME = 1e-6, 1e-6
# Summed correlation of an anti-aligned student with aligned teachers, below which it is separate.
SEPARATE = 0.25


def family(landscape: Landscape, W: Float[np.ndarray, "K r"], error: float) -> str:
    """Name a stationary point from its weights in the span of the teachers."""
    if error < 1e-10:
        return "solution"
    B = landscape.teachers
    norms = np.linalg.norm(W, axis=-1)
    silent = norms <= SILENT * np.max(norms)
    rho = W @ B.T / np.where(silent, 1.0, norms)[:, None] / np.linalg.norm(B, axis=-1)
    size = np.abs(rho)
    first = np.argmax(size, axis=1)
    best = size[np.arange(len(W)), first]
    equal = np.sum(size > best[:, None] - SAME, axis=1)
    spread = ~silent & (equal > 1)
    single = ~silent & ~spread
    anti = single & (rho[np.arange(len(W)), first] < 0)
    parts = []
    if count := int(np.sum(anti)):
        rest = np.setdiff1d(np.arange(len(B)), first[anti])
        coupling = np.max(np.sum(rho[np.ix_(anti, rest)], axis=1)) if len(rest) else 0.0
        words = f"{count} anti-aligned" + (", separate" if coupling < SEPARATE else "")
        parts.append(words + _groups(norms[anti]))
    shared = np.bincount(first[single], minlength=len(B))
    if pairs := int(np.sum(np.maximum(shared - 1, 0))):
        parts.append(f"{pairs} sharing a teacher")
    against = rho[np.arange(len(W)), first] < 0
    for word, group in (("over", spread & ~against), ("against", spread & against)):
        for teachers in np.unique(equal[group]):
            count = int(np.sum(equal[group] == teachers))
            parts.append(f"{count} spread {word} {teachers} teachers")
    if count := int(np.sum(silent)):
        parts.append(f"{count} silent")
    return ", ".join(parts) or "aligned, with an error"


def _groups(norms: Float[np.ndarray, " k"]) -> str:
    """List the sizes of groups of students with equal norms, the largest first; "" for
    one group.
    """
    ordered = np.sort(norms)
    edges = np.flatnonzero(np.diff(ordered) > SAME * ordered[-1]) + 1
    sizes = sorted((len(x) for x in np.split(ordered, edges)), reverse=True)
    return f" ({' + '.join(map(str, sizes))})" if len(sizes) > 1 else ""


def invariants(
    landscape: Landscape, W: Float[np.ndarray, "runs K n"], errors: Float[np.ndarray, " runs"]
) -> Float[np.ndarray, "runs m"]:
    """Return ε_g and sorted Q_ii and R_in, which renaming units does not change."""
    R = W[..., : landscape.teachers.shape[1]] @ landscape.teachers.T
    norms = np.sort(np.sum(W**2, axis=-1), axis=-1)
    return np.concatenate(
        [errors[:, None], norms, np.sort(R.reshape(len(W), -1), axis=-1)], axis=-1
    )


def multiplicity(scenario: Scenario, W: Float[np.ndarray, "K r"], teachers: np.ndarray) -> int:
    """Count the different states that arise from a state by renaming teachers.

    Students are renamed freely among those with equal readouts.  Teachers that can be exchanged
    without changing the state form classes of sizes m_c: M!/Π m_c! states, if all teachers are
    equivalent.
    """
    R = W @ teachers.T
    T = np.asarray(scenario.T)
    v, u = np.asarray(scenario.student.weights), np.asarray(scenario.teacher.weights)
    rows = np.hstack([R, v.T])
    of_scenario = _classes(len(T), lambda a, b: _leaves_scenario(T, u, a, b))
    of_state = _classes(
        len(T), lambda a, b: _leaves_scenario(T, u, a, b) and _leaves_state(rows, a, b)
    )
    ways = math.prod(math.factorial(x) for x in of_scenario)
    return ways // math.prod(math.factorial(x) for x in of_state)


def _classes(M: int, exchangeable) -> list[int]:
    """Return the sizes of the classes of exchangeable teachers."""
    representatives, sizes = list[int](), list[int]()
    for n in range(M):
        for j, m in enumerate(representatives):
            if exchangeable(m, n):
                sizes[j] += 1
                break
        else:
            representatives.append(n)
            sizes.append(1)
    return sizes


def _leaves_scenario(T: np.ndarray, u: np.ndarray, a: int, b: int) -> bool:
    order = np.arange(len(T))
    order[[a, b]] = b, a
    return bool(np.allclose(T[np.ix_(order, order)], T) and np.allclose(u[:, order], u))


def _leaves_state(rows: np.ndarray, a: int, b: int) -> bool:
    """Return whether the set of students is unchanged when two teachers are exchanged."""
    swapped = rows.copy()
    swapped[:, [a, b]] = rows[:, [b, a]]
    moved = np.flatnonzero(np.abs(rows[:, a] - rows[:, b]) > SAME)
    distance = np.max(np.abs(swapped[moved][:, None] - rows[moved][None]), axis=-1, initial=0.0)
    pairs = linear_sum_assignment(distance)
    return bool(np.all(distance[pairs] < SAME))
