"""Gradient descent from random weights, and the rule by which a run counts as ended.

Runs take steps of the length 1/h_max, h_max the largest curvature.  A run has ended in a minimum if
it shares the invariants of the minimum within CLOSE, and its largest force is below CLOSE times the
smallest curvature of the minimum: a run that passes a saddle, or creeps along a direction with a
curvature of 10⁻⁴, does not count yet.  Minima are known by Newton's method: from every slow run
that is not near a known stationary point a new one is computed, and its curvatures decide whether
it is a minimum or a saddle.  Errors alone decide nothing.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage._jax import jnp
from tutelage.model import Scenario
from tutelage.online.stationary.landscape_families import descended, family_starts
from tutelage.online.stationary.landscape_gradient import Landscape, descend, errors
from tutelage.online.stationary.landscape_hessian import (
    NEWTON_STEPS,
    Spectrum,
    hessian,
    polished,
    spectrum,
)
from tutelage.online.stationary.landscape_names import invariants

CLOSE = 1e-2
# Stationary points are equal if their invariants agree to this.
EQUAL_TOLERANCE = 1e-6
# Forces below which Newton's method is tried, relative to the norm of the teachers; if it leads
# elsewhere it is tried again when the force has become ten times smaller.
SLOW_FORCE = 1e-3
RETRY = 0.1
# Newton steps from a run, which take a hundred gradients each.
STEPS_FROM_RUN = 6
# How far Newton's method may lead, relative to the norm of the teachers.
NEWTON_REACH = 0.2
# Errors below this belong to a solution, also where solutions form a family.
SOLVED_ERROR = 1e-7
STEPS_PER_BLOCK, MAX_BLOCKS = 250, 400
# Runs that are descended together: their arrays fit in a cache.
RUNS_PER_BATCH = 64
# Curvatures below this belong to a family of stationary points: runs end next to a member, where
# the remaining error gives flat directions a small curvature.
FLAT = 1e-5
UNSETTLED, ESCAPED = -1, -2
# Weights beyond this, relative to the norm of the teachers, go to infinity.
TOO_LARGE = 1e3


class StationaryPoint(NamedTuple):
    """A stationary point of ε_g in the span of the teachers.

    weights: shape (K, r).
    error: ε_g.
    force: the largest |F| that is left.
    spectrum: curvatures.
    key: invariants.
    """

    weights: Float[np.ndarray, "K r"]
    error: float
    force: float
    spectrum: Spectrum
    key: Float[np.ndarray, " m"]

    @property
    def is_minimum(self) -> bool:
        """Return whether no curvature is negative."""
        return self.spectrum.negative == 0

    @property
    def smallest_curvature(self) -> float:
        """Return the smallest curvature in any direction."""
        return float(min(self.spectrum.hessian[0], self.spectrum.transverse[0]))

    @property
    def is_isolated(self) -> bool:
        """Return whether no curvature vanishes, as along a family of solutions."""
        every = np.concatenate([self.spectrum.hessian, self.spectrum.transverse])
        return bool(np.all(np.abs(every) > FLAT))

    @property
    def solves(self) -> bool:
        """Return whether the error vanishes."""
        return self.error < SOLVED_ERROR


class Atlas:
    """Known stationary points, minima and saddles.

    rate: the length of a gradient step, 1/h_max.
    """

    def __init__(self, scenario: Scenario):
        self.landscape = Landscape(scenario)
        self.size = float(np.sqrt(np.max(np.diag(np.asarray(scenario.T)))))
        self.rate = 1.0 / _largest_curvature(self.landscape, self.size)
        self.points: list[StationaryPoint] = []

    def add_families(self) -> None:
        """Add the stationary points of symmetric families."""
        starts = family_starts(self.landscape.scenario)
        for W in descended(self.landscape, starts, self.rate):
            self.add(W)

    def add(self, W: Float[np.ndarray, "K r"], steps: int = NEWTON_STEPS) -> int | None:
        """Add the stationary point next to given weights; return its index, or None."""
        root = polished(self.landscape, W, steps)
        moved = np.max(np.abs(root.x - W))
        if not root.converged or moved > NEWTON_REACH * self.size or self._has_no_slope(root.x):
            return None
        error = float(errors(self.landscape, jnp.asarray(root.x[None]))[0])
        key = invariants(self.landscape, root.x[None], np.array([error]))[0]
        for number, point in enumerate(self.points):
            both_solve = point.solves and error < SOLVED_ERROR
            if both_solve or np.max(np.abs(point.key - key)) < EQUAL_TOLERANCE * (
                1 + np.max(np.abs(key))
            ):
                return number
        eigenvalues = spectrum(self.landscape, root.x)
        self.points.append(
            StationaryPoint(root.x, abs(error), float(root.residual), eigenvalues, key)
        )
        return len(self.points) - 1

    def _has_no_slope(self, W: Float[np.ndarray, "K r"]) -> bool:
        """Return whether a student has zero weights, at which units with a kink have no slope."""
        norms = np.linalg.norm(W, axis=-1)
        silent = np.min(norms) <= 1e-9 * np.max(norms)
        return bool(silent and self.landscape.kind not in ("erf", "gelu"))

    def settled(
        self,
        W: Float[np.ndarray, "runs K n"],
        force: np.ndarray,
        error: np.ndarray,
        tried: np.ndarray,
    ) -> Int[np.ndarray, " runs"]:
        """Return the index of the minimum in which each run has ended, or UNSETTLED.

        tried: the forces at which Newton's method was tried last; changed in place.
        """
        numbers = np.full(len(W), UNSETTLED)
        keys = invariants(self.landscape, W, error)
        r = self.landscape.teachers.shape[1]
        for run in np.flatnonzero(force < SLOW_FORCE * self.size):
            near = self._nearest(keys[run], error[run])
            if near is None and force[run] < RETRY * tried[run]:
                tried[run] = force[run]
                near = self.add(W[run, :, :r], STEPS_FROM_RUN)
            if near is not None and self._has_ended(near, keys[run], force[run], error[run]):
                numbers[run] = near
        return numbers

    def _nearest(self, key: np.ndarray, error: float) -> int | None:
        """Return the known stationary point whose invariants equal those of a run, if
        there is one.
        """
        if not self.points:
            return None
        distances = [np.max(np.abs(point.key - key)) for point in self.points]
        best = int(np.argmin(distances))
        if distances[best] < CLOSE * self.size:
            return best
        solving = [n for n, point in enumerate(self.points) if point.solves]
        return solving[0] if solving and error < SOLVED_ERROR else None

    def _has_ended(self, number: int, key: np.ndarray, force: float, error: float) -> bool:
        point = self.points[number]
        if not point.is_minimum:
            return False
        if point.solves and error < SOLVED_ERROR:
            return True
        close = np.max(np.abs(point.key - key)) < CLOSE * self.size
        return bool(close and force < CLOSE * self.size * point.smallest_curvature)


def settle(atlas: Atlas, W: Float[np.ndarray, "runs K n"]) -> tuple[Int[np.ndarray, " runs"], int]:
    """Descend one batch until all runs have ended; return their minima and the gradients taken."""
    ended = np.full(len(W), UNSETTLED)
    active, rates, gradients = np.arange(len(W)), np.full(len(W), atlas.rate), 0
    before, tried = np.full(len(W), np.inf), np.full(len(W), np.inf)
    for _ in range(MAX_BLOCKS):
        gradients += len(active) * STEPS_PER_BLOCK
        new, force, error = _descended(atlas.landscape, W[active], rates[active])
        # A step beyond 2/h_max makes the error grow: the block is repeated with half the step.
        worse = ~(error <= before[active] + 1e-12)
        rates[active[worse]] /= 2
        good = ~worse
        W[active[good]], before[active[good]] = new[good], error[good]
        force = np.where(worse, np.inf, force)
        last = tried[active]
        numbers = atlas.settled(W[active], force, before[active], last)
        tried[active] = last
        largest = np.max(np.abs(W[active]), axis=(-2, -1))
        ended[active] = np.where(largest > TOO_LARGE * atlas.size, ESCAPED, numbers)
        active = active[ended[active] == UNSETTLED]
        if not len(active):
            break
    return ended, gradients


def _descended(
    landscape: Landscape, W: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take a block of steps; batches are padded to a power of two so that few shapes
    are compiled.
    """
    count, size = len(W), 1
    while size < count:
        size *= 2
    fill = np.arange(size) % count
    result = descend(landscape, jnp.asarray(W[fill]), rates[fill], STEPS_PER_BLOCK)
    return tuple(np.asarray(x)[:count] for x in result)  # type: ignore[return-value]


def random_starts(
    rng: np.random.Generator, runs: int, K: int, r: int, dimension: int, scale: float
) -> Float[np.ndarray, "runs K n"]:
    """Draw weights w_i ~ N(0, scale²/d) in at most r + K coordinates.

    In the d - r dimensions orthogonal to the teachers only their mutual overlaps matter: a lower
    triangular factor with χ-distributed diagonal (Bartlett), whatever d is.
    """
    W = np.zeros((runs, K, r + min(K, dimension - r)))
    W[..., :r] = rng.standard_normal((runs, K, r))
    free = dimension - r
    for j in range(min(K, free)):
        W[:, j, r + j] = np.sqrt(rng.chisquare(free - j, runs))
        W[:, j + 1 :, r + j] = rng.standard_normal((runs, K - j - 1))
    return scale / np.sqrt(dimension) * W


def _largest_curvature(landscape: Landscape, size: float) -> float:
    """Estimate the largest curvature from students at the teachers and from random students."""
    K, (M, r) = landscape.scenario.K, landscape.teachers.shape
    rng = np.random.default_rng(0)
    states = [
        landscape.teachers[np.arange(K) % M] + 1e-3 * size * rng.standard_normal((K, r)),
        *(size * rng.standard_normal((2, K, r)) / np.sqrt(r)),
    ]
    return max(float(np.linalg.eigvalsh(hessian(landscape, W))[-1]) for W in states)
