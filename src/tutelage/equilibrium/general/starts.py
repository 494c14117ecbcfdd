"""Starts of the search for minima: students near teachers, opposite to them, or at random."""

import numpy as np

from tutelage._jax import jnp
from tutelage.equilibrium.general.landscape import FreeEnergyLandscape


def starts(landscape: FreeEnergyLandscape, count: int, seed: int) -> jnp.ndarray:
    """Coordinates z of ``count`` states, shape (count, d).

    In turn: every student near a different teacher, with 0, 1, … K of them opposite to it; students
    near randomly chosen teachers, or opposite, or near none; and random states at
    scales of z from 0.1 to 10.  No state is symmetric: at a symmetric one the gradient never
    leaves the symmetry, and a descent would end on its saddle.
    """
    rng = np.random.default_rng(seed)
    K = landscape.error.scenario.K
    kinds = (lambda n: _matched(landscape, rng, n % (K + 1)),
             lambda n: _chosen(landscape, rng),
             lambda n: _anywhere(landscape, rng))  # fmt: skip
    rows = [kinds[number % 3](number // 3) for number in range(count)]
    return jnp.asarray(np.array(rows).reshape(count, landscape.size))


def _anywhere(landscape: FreeEnergyLandscape, rng: np.random.Generator) -> np.ndarray:
    return 10 ** rng.uniform(-1, 1) * rng.standard_normal(landscape.size)


def _matched(landscape: FreeEnergyLandscape, rng: np.random.Generator, negative: int) -> np.ndarray:
    """Start students near different teachers, some of them opposite to theirs."""
    K, M = landscape.error.scenario.K, landscape.error.scenario.M
    signs = np.where(np.arange(K) < negative, -1.0, 1.0)
    return _near(landscape, rng, np.resize(rng.permutation(M), K), signs * rng.uniform(0.5, 0.9))


def _chosen(landscape: FreeEnergyLandscape, rng: np.random.Generator) -> np.ndarray:
    """Start each student at a random distance from a random teacher."""
    K, M = landscape.error.scenario.K, landscape.error.scenario.M
    signs = rng.choice([1.0, -1.0, 0.0], size=K, p=[0.6, 0.15, 0.25])
    return _near(landscape, rng, rng.integers(M, size=K), signs * rng.uniform(0.2, 0.98, size=K))


def _near(
    landscape: FreeEnergyLandscape,
    rng: np.random.Generator,
    choice: np.ndarray,
    overlap: np.ndarray,
) -> np.ndarray:
    """Return z of students from their overlaps with the directions of selected teachers."""
    K, B = len(choice), np.asarray(landscape.basis)
    directions = B / np.maximum(np.linalg.norm(B, axis=1, keepdims=True), 1e-300)
    A = overlap[:, None] * directions[choice] + 0.02 * rng.standard_normal((K, landscape.rank))
    for i in np.flatnonzero(
        overlap < 0
    ):  # the other overlaps compensate for it (oostwal2019, Appendix D)
        others = np.arange(K) != i
        A[others] += (1 - overlap[i]) / max(K - 1, 1) * directions[choice[i]]
    L = np.tril(0.02 * rng.standard_normal((K, K)), -1)
    L += np.diag(np.sqrt(np.maximum(1 - np.sum(A**2, axis=1), 0.02)))
    return np.asarray(landscape.coordinates(jnp.asarray(np.hstack([A, L]))))
