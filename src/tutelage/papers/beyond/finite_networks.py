"""Finite networks that learn in large batches, for the map of optimizers.

`networks` trains all weights with `tutelage.simulation.network`.  `chain` draws only the overlaps
of such networks, in NumPy, and so reaches larger N: a step depends on its bN inputs through

- their components z in the space of the weights and velocities, which are normal, and
- the rest of Σ_μ δ_μ ξ_μ, orthogonal to this space.  It is Gaussian with the covariance
  Σ_μ δ_μ δ_μᵀ in N - n dimensions, and its scalar products have a Wishart distribution.

Both have the same law for every N, and neither contains an average of the theory.
"""

from typing import Any, NamedTuple

import numpy as np

from tutelage import generalization_error, optimizers, simulation
from tutelage.model import Overlaps, Scenario

# Default of ε, relative to the square of the first gradient.
RELATIVE_EPSILON = 1e-12
# Numbers that are drawn in one call.
DRAWS_PER_BLOCK = 2**20
# Coordinates of runs that have diverged; overlaps above the square have no error.
LARGEST_WEIGHT = 1e4
# Steps of the chain after which its errors are computed.
STEPS_PER_BLOCK = 25


class Task(NamedTuple):
    """A scenario and its start, and how it learns."""

    scenario: Scenario
    start: Overlaps
    optimizer: Any
    batch: float
    rate: float


def passage(errors: np.ndarray, goal: float) -> float:
    """Return the number of steps after which ln ε_g, linear between steps, is that of a goal;
    infinite if it stays above.
    """
    below = np.flatnonzero(errors < goal)
    if not len(below):
        return np.inf
    after = int(below[0])
    if after == 0:
        return 0.0
    first, last = np.log(errors[after - 1 : after + 1])
    return float(after - 1 + (first - np.log(goal)) / (first - last))


def networks(
    task: Task, dimension: int, steps: int, goal: float, runs: int, seed: int
) -> np.ndarray:
    """Return the passage of every run of a network with all its weights."""
    N = dimension
    simulated = simulation.network(
        task.scenario,
        task.start,
        task.rate * N,
        dimension=N,
        until=steps / N,
        times=np.arange(steps + 1) / N,
        batch=round(task.batch * N),
        optimizer=task.optimizer,
        runs=runs,
        seed=seed,
    )
    errors = simulated["generalization_error"].values
    return np.array([passage(error, goal) for error in errors])


def chain(
    task: Task, dimension: int, steps: int, goal: float, runs: int, seed: int | list[int]
) -> np.ndarray:
    """Return the passage of every run of a network, drawn through its overlaps."""
    generator = np.random.default_rng(seed)
    state, errors = _ChainState.first(task, runs), np.empty((runs, 0))
    overlaps = [state.overlaps()]
    while errors.shape[1] <= steps and not np.all(np.any(errors < goal, axis=1)):
        # The same shape in every block, so that the error is compiled once.
        while len(overlaps) < STEPS_PER_BLOCK:
            state = _after_step(task, state, dimension, generator)
            overlaps.append(state.overlaps())
        errors, overlaps = np.concatenate([errors, _errors(task.scenario, overlaps)], axis=1), []
    return np.array([passage(error, goal) for error in errors[:, : steps + 1]])


class _ChainState(NamedTuple):
    """Coordinates of the students J, teachers B and velocities V of all runs, in a common frame of
    as many dimensions as there are vectors; V is empty without momentum.
    """

    J: np.ndarray
    B: np.ndarray
    V: np.ndarray
    epsilon: np.ndarray

    @classmethod
    def first(cls, task: Task, runs: int) -> "_ChainState":
        K, M = task.start.K, task.start.M
        count = K + M + (K if task.optimizer.momentum else 0)
        values, vectors = np.linalg.eigh(np.asarray(task.start.covariance))
        W = np.zeros((runs, count, count))
        W[:, : K + M, : K + M] = vectors * np.sqrt(np.maximum(values, 0.0))
        return cls(W[:, :K], W[:, K : K + M], W[:, K + M :], np.zeros(runs))

    def overlaps(self) -> tuple[np.ndarray, np.ndarray]:
        return self.J @ self.J.swapaxes(1, 2), self.J @ self.B.swapaxes(1, 2)


def _after_step(
    task: Task, state: _ChainState, N: int, generator: np.random.Generator
) -> _ChainState:
    K, count = state.J.shape[1], state.J.shape[2]
    examples = round(task.batch * N)
    inside, squares = _sums(task, state, examples, generator)
    outside = _outside(squares, N - count, generator)
    G = np.concatenate([inside, outside], axis=2) / examples
    J, B, V = (_padded(x, K) for x in (state.J, state.B, state.V))
    V = task.optimizer.momentum * V + G if V.shape[1] else G
    epsilon = state.epsilon
    if task.optimizer.normalizes and not np.any(epsilon):
        default = RELATIVE_EPSILON * np.sum(V**2, axis=(1, 2))
        epsilon = (
            default if task.optimizer.epsilon is None else default * 0 + task.optimizer.epsilon
        )
    J = (1 - task.scenario.weight_decay) * J + task.rate * _direction(task.optimizer, V, epsilon)
    vectors = np.concatenate([J, B, V] if state.V.shape[1] else [J, B], axis=1)
    # W = (Q R)ᵀ: the triangular factor has the same scalar products, in fewer dimensions.
    W = np.asarray(np.linalg.qr(vectors.swapaxes(1, 2), mode="r")).swapaxes(1, 2)
    bounded = np.max(np.abs(W), axis=(1, 2), keepdims=True) < LARGEST_WEIGHT
    W = np.where(bounded, W, LARGEST_WEIGHT)
    M = B.shape[1]
    return _ChainState(W[:, :K], W[:, K : K + M], W[:, K + M :], epsilon)


def _sums(
    task: Task, state: _ChainState, examples: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ_μ δ_μ zᵀ_μ and Σ_μ δ_μ δᵀ_μ over the examples of a step, for every run."""
    runs, K, count = state.J.shape
    s_K, s_M = (float(s) for s in task.scenario.output_scale)
    student, teacher = task.scenario.student.activation, task.scenario.teacher.activation
    inside, squares = np.zeros((runs, K, count)), np.zeros((runs, K, K))
    block = min(examples, max(1, DRAWS_PER_BLOCK // (runs * count)))
    for begin in range(0, examples, block):
        # The same shape in every block, so that activations are compiled once.
        z = generator.standard_normal((runs, count, block))
        x, y = state.J @ z, state.B @ z
        error = s_M * np.sum(np.asarray(teacher(y)), axis=1, keepdims=True)
        error -= s_K * np.sum(np.asarray(student(x)), axis=1, keepdims=True)
        delta = s_K * np.asarray(student.derivative(x)) * error
        delta[:, :, examples - begin :] = 0.0
        inside += delta @ z.swapaxes(1, 2)
        squares += delta @ delta.swapaxes(1, 2)
    return inside, squares


def _outside(squares: np.ndarray, dimensions: int, generator: np.random.Generator) -> np.ndarray:
    """Draw coordinates of K vectors whose scalar products have the Wishart distribution of
    Gaussian vectors with these covariances (Bartlett decomposition).
    """
    runs, K, _ = squares.shape
    A = np.tril(generator.standard_normal((runs, K, K)), -1)
    for i in range(K):
        A[:, i, i] = np.sqrt(generator.chisquare(dimensions - i, runs))
    # Any root will do; Cholesky's needs more examples than units with a signal.
    values, vectors = np.linalg.eigh(squares)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None]) @ A


def _direction(optimizer: Any, V: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return the vectors by which an optimizer moves the weights, for every run."""
    if isinstance(optimizer, optimizers.Normalized):
        return V / np.sqrt(np.sum(V**2, axis=2, keepdims=True) + epsilon[:, None, None])
    if isinstance(optimizer, optimizers.Muon):
        U, values, directions = np.linalg.svd(V, full_matrices=False)
        return (U * (values / np.sqrt(values**2 + epsilon[:, None]))[:, None]) @ directions
    return V


def _padded(vectors: np.ndarray, more: int) -> np.ndarray:
    """Add coordinates that are 0."""
    return np.concatenate([vectors, np.zeros((*vectors.shape[:2], more))], axis=2)


def _errors(scenario: Scenario, overlaps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return ε_g over runs and steps; infinite for runs that have diverged."""
    Q, R = (np.stack(values, axis=1) for values in zip(*overlaps, strict=True))
    bounded = np.all(np.abs(Q) < LARGEST_WEIGHT**2, axis=(2, 3))
    Q = np.where(bounded[..., None, None], Q, np.eye(Q.shape[-1]))
    R = np.where(bounded[..., None, None], R, 0.0)
    M = R.shape[-1]
    states = Overlaps(Q=Q, R=R, T=np.broadcast_to(scenario.T, (*R.shape[:2], M, M)))
    return np.where(bounded, np.asarray(generalization_error(scenario, states)), np.inf)
