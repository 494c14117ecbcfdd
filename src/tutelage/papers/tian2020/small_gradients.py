"""Theorems 2 to 5 of tian2020 in the direction in which they are stated: small gradients align.

At small gradients the sum Σ α_kj f*_j - Σ β_kk' f_k' is small wherever node k is active.  How small
it can be if no student node is aligned with the teacher node j is a linear programme in β
(`theorems.independence`), which knows nothing of the proofs.
"""

import numpy as np

from tutelage import deep
from tutelage.papers.row import Row, closed_form, compare, method
from tutelage.papers.simulated import statement
from tutelage.papers.tian2020 import KEY, theorems
from tutelage.papers.tian2020.critical import zero
from tutelage.papers.tian2020.theorems.independence import (
    disc,
    group_sums,
    nodes,
    smallest_sum,
    turned,
)

SEED = 44
W, B = np.array([1.0, 0.0]), 0.3  # the teacher node to be recovered
DISTANCES = (0.2, 0.1, 0.05, 0.025)  # angles, and distances of biases, of the nearest student nodes
FREE = 6  # student nodes anywhere else
POINTS, CASES = 200, 12  # examples of a region, and regions


def lemmas() -> list[Row]:
    """Check Lemmas 2, 5 and 6."""
    random = np.random.default_rng(SEED)
    x, w = 3 * random.normal(size=(4000, 5)), random.normal(size=(12, 5))
    b = random.normal(size=12)
    return [
        compare(
            KEY,
            "Lemma 2, rank of 12 ReLU nodes on all of space, no two co-linear",
            closed_form("12: independent", 12.0),
            float(np.linalg.matrix_rank(nodes(x, w, b))),
        ),
        _lemma_5(),
        _lemma_6(),
    ]


def _lemma_5(ε: float = 1e-3) -> Row:
    """Check Lemma 5 on 200 random sets of nodes: (1) a close node, or (2) a point far from all."""
    random = np.random.default_rng(SEED)
    holds = []
    for _ in range(200):
        w, b = random.normal(size=(8, 2)), random.normal(size=8)
        b, w = b / np.linalg.norm(w, axis=1), w / np.linalg.norm(w, axis=1)[:, None]
        b[0] = random.uniform(-1, 1)  # the boundary of node 0 then meets the disc of radius 2
        along = np.array([-w[0, 1], w[0, 0]])
        reach = np.sqrt(4 - b[0] ** 2)
        x = -b[0] * w[0] + np.linspace(-reach, reach, 2001)[1:-1, None] * along
        farthest = np.min(np.abs(x @ w[1:].T + b[1:]), axis=1).max()
        cosine = w[1:] @ w[0]
        sine = np.abs(w[1:] @ along)
        near = (sine < ε**0.9) & (np.abs(b[1:] - np.sign(cosine) * b[0]) < ε**0.8)
        holds.append(farthest > 5 * ε or near.any())
    item = "Lemma 5, a node nearby or a point of ∂E_j farther than 5ε from all others, ε = 0.001"
    return statement(KEY, item, "either of the conditions holds", holds)


def _lemma_6(q: float = 0.05) -> Row:
    """Check eq. (43): the second difference across ∂E_j depends on node j alone."""
    random = np.random.default_rng(SEED)
    w, b, c = random.normal(size=(8, 2)), random.normal(size=8), random.normal(size=8)
    b, w = b / np.linalg.norm(w, axis=1), w / np.linalg.norm(w, axis=1)[:, None]
    b[0] = 0.3
    along = np.array([-w[0, 1], w[0, 0]])
    x = -b[0] * w[0] + np.linspace(-2, 2, 2001)[:, None] * along
    x = x[np.min(np.abs(x @ w[1:].T + b[1:]), axis=1) > q]

    def h(x: np.ndarray) -> np.ndarray:
        return nodes(x, w, b) @ c + x @ w[1]

    second = h(x + q * w[0]) + h(x - q * w[0]) - 2 * h(x)
    # Differences of sums of ten numbers of order 1, divided by q.
    printed = closed_form("1", 1.0, scale=10 / (q * abs(c[0])))
    item = "Lemma 6, eq. (43), |h(x⁺) + h(x⁻) - 2h(x_j)| over |c_j| q_j"
    ratio = np.abs(second) / (abs(c[0]) * q)
    return compare(KEY, item, printed, float(ratio[np.argmax(np.abs(ratio - 1))]))


def recovery() -> list[Row]:
    """Check Theorem 5, for angles and biases: the least gradient if no student node is within a
    distance.
    """
    δ = "1 - δ", "1 - 2δ"
    rows = []
    for power, what in zip(δ, ("sin θ", "|b* - b|"), strict=True):
        smallest = np.array([_least_gradient(d, biases=what != "sin θ") for d in DISTANCES])
        distance = np.sin(DISTANCES) if what == "sin θ" else np.array(DISTANCES)
        slopes = np.diff(np.log(distance)) / np.diff(np.log(smallest))
        item = f"Theorem 5, exponent of {what} against the least gradient without a node nearer"
        # Twice the change of the slope between the wider and the narrower distances.
        error = 2 * abs(float(slopes[-1] - slopes[-2]))
        # The simplex method has 1e-7 as its tolerance, and ε is 0.006 or more.
        limit = method(f"{power}, δ → 0", 1.0, 1e-3)
        rows.append(compare(KEY, item, limit, slopes[-1], error))
    return rows


def _least_gradient(distance: float, *, biases: bool) -> float:
    """Return the least gradient with a student node on either side of the teacher node."""
    random = np.random.default_rng(SEED)
    if biases:
        near, shifts = np.stack([W, W]), np.array([B - distance, B + distance])
    else:
        near, shifts = np.stack([turned(W, -distance), turned(W, distance)]), np.array([B, B])
    w = np.concatenate([near, random.normal(size=(FREE, 2))])
    b = np.concatenate([shifts, random.normal(size=FREE)])
    x = disc(np.concatenate([W[None], near]), np.append(B, shifts))
    others = np.hstack([nodes(x, w, b), x, np.ones((len(x), 1))])
    return smallest_sum(nodes(x, W[None], [B])[:, 0], others)


def alignment() -> list[Row]:
    """Check Theorems 2 and 3 and Corollary 2: coefficients of co-linear nodes where the sum
    vanishes.
    """
    random = np.random.default_rng(SEED)
    w, b = random.normal(size=(7, 2)), random.normal(size=7)
    # Three teacher nodes, of which two have student nodes; two student nodes co-linear, two alone.
    origin = np.array([0, 1, 2, 0, 0, 1, 3, 3, 4, 5])
    γ = random.uniform(0.5, 2.0, len(origin))
    x = disc(w, b, radius=3.0)
    sums = group_sums(x, w[origin] * γ[:, None], b[origin] * γ, origin)
    item = "Theorem 3, Σ c_k ‖w_k‖ of co-linear nodes where the gradient is 0, largest of 6 sums"
    # Rounding of sums over three thousand examples.
    return [zero(item, float(sums.max()), 1e-9)]


def regions() -> Row:
    """Check Theorem 4: gradients do not vanish in a region that contains the boundary of an
    unaligned node.
    """
    teacher = deep.teacher("4-3", inputs=2, outputs=3, data="gaussian:1")
    student = deep.student(teacher, 2, seed=1)
    x = 2 * np.random.default_rng(SEED).normal(size=(10_000, 2))
    A = np.asarray(theorems.mixtures(student, teacher, x)[0].A)
    h, h_star = np.asarray(student.fields(x)[0]), np.asarray(teacher.fields(x)[0])
    gates = [np.asarray(net.fields(x)[1]) > 0 for net in (student, teacher)]
    _, region = np.unique(np.hstack(gates), axis=0, return_inverse=True)
    holds: list[bool] = []
    for one in np.unique(region):
        for k in range(h.shape[1]):
            inside = np.flatnonzero((region == one) & (h[:, k] > 0))[:POINTS]
            for j in range(h_star.shape[1]):
                share = np.mean(h_star[inside, j] > 0) if len(inside) == POINTS else 0.0
                α = A[inside[0], k, j] if len(inside) else 0.0
                if not 0.1 < share < 0.9 or abs(α) < 1e-3 or len(holds) == CASES:
                    continue
                f_star, f = np.maximum(h_star[inside], 0), np.maximum(h[inside], 0)
                linear = np.hstack([x[inside], np.ones((len(inside), 1))])
                others = np.hstack([np.delete(f_star, j, axis=1), f, linear])
                # The simplex method has 1e-7 as its tolerance.
                holds.append(smallest_sum(α * f_star[:, j], others) > 1e-6)
    item = "Theorem 4, gradient in a region where ∂E*_j is observed, α_kj ≠ 0, and none is aligned"
    return statement(KEY, item, "cannot vanish: j aligns with a student node", holds)
