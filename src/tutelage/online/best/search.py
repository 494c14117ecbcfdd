"""The search for optimal controls at a fixed end, and for the end at which an error is reached.

Values of the controls at the knots are the unknowns, scaled by the root of the time for which each
knot acts; gradients are exact (`tutelage.online.best.discretized`).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from tutelage._checks import ComputationError
from tutelage.online.best.discretized import Controlled, Path, path

# Knots are at the times T (k/n)^1.5: students move fastest in the beginning.
KNOT_EXPONENT = 1.5
# The longest end that is tried for the first guess.
LONGEST_TIME = 1e5
# Value of ln ε_g that the search sees for a run that diverges.
DIVERGED_VALUE = 100.0
SEARCH = {"maxiter": 1000, "maxfun": 2000, "maxcor": 30, "ftol": 1e-12, "gtol": 1e-8, "maxls": 40}
# Newton's method for the end: steps at most, relative accuracy, and the largest change by a step.
MOST_ENDS, END_ACCURACY, LARGEST_FACTOR = 12, 1e-7, 1.5


class Grid(NamedTuple):
    """Knots and ends of steps, as fractions of the end."""

    knots: Float[np.ndarray, " k"]
    ends: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, intervals: int, fewest: int) -> "Grid":
        """Make a grid whose steps are no longer than 1/fewest of the end."""
        knots = (np.arange(intervals + 1) / intervals) ** KNOT_EXPONENT
        counts = np.maximum(2, np.ceil(np.diff(knots) * fewest).astype(int))
        parts = [
            a + (b - a) * np.arange(n) / n
            for a, b, n in zip(knots[:-1], knots[1:], counts, strict=True)
        ]
        return cls(knots, np.append(np.concatenate(parts), 1.0))

    def hats(self) -> Float[np.ndarray, "n k"]:
        """Return the matrix that interpolates from the knots to the ends of steps."""
        rows = np.eye(len(self.knots))
        return np.stack([np.interp(self.ends, self.knots, row) for row in rows], axis=1)

    def weights(self) -> Float[np.ndarray, " k"]:
        """Return the fraction of the time for which each knot acts."""
        d = np.diff(self.knots)
        return 0.5 * (np.append(d, 0.0) + np.append(0.0, d))


class Optimum(NamedTuple):
    """An optimum at a fixed end: values at the knots, the run with them, the scaled gradient."""

    values: Float[np.ndarray, "k m"]
    path: Path
    gradient: Float[np.ndarray, "k m"]


class Search(NamedTuple):
    """A problem of optimal control: system, start, bounds of shape (m, 2), and the goal."""

    system: Controlled
    y0: Float[np.ndarray, " d"]
    bounds: Float[np.ndarray, "m 2"]
    until: float | None
    error: float | None

    def optimum(self, grid: Grid, end: float, values: np.ndarray) -> Optimum:
        """Minimize ln ε_g at a fixed end, beginning with these values at the knots."""
        hats, times, shape = grid.hats(), end * grid.ends, values.shape
        root = np.sqrt(end * grid.weights())[:, None]

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            run = path(self.system, self.y0, times, hats @ (z.reshape(shape) / root))
            if run is None:
                return DIVERGED_VALUE, np.zeros_like(z)
            return run.value, (hats.T @ run.by_control / root).ravel()

        low, high = (np.ones(shape) * self.bounds[:, k] * root for k in (0, 1))
        box = np.stack([low.ravel(), high.ravel()], axis=1)
        first = np.clip(values * root, low, high).ravel()
        z = minimize(
            objective, first, jac=True, method="L-BFGS-B", bounds=box, options=SEARCH
        ).x.reshape(shape)
        run = path(self.system, self.y0, times, hats @ (z / root))
        if run is None:
            received = f"the first schedule diverges before α = {end:g}"
            raise ComputationError(
                "controls", received, "no search can begin there", "lower bounds"
            )
        slope = hats.T @ run.by_control / root
        outwards = ((z <= low) & (slope > 0)) | ((z >= high) & (slope < 0))
        return Optimum(z / root, run, np.where(outwards, 0.0, slope))

    def soonest(self, grid: Grid, end: float, values: np.ndarray) -> tuple[float, Optimum]:
        """Find the end at which the least error is the goal, by Newton's method."""
        best = self.optimum(grid, end, values)
        if self.error is None:
            return end, best
        for _ in range(MOST_ENDS):
            excess = best.path.value - np.log(self.error)
            slope = float(np.sum(best.path.by_length * np.diff(grid.ends)))
            longest = LARGEST_FACTOR * end
            following = end - excess / slope if slope < 0 else longest
            following = float(np.clip(following, end / LARGEST_FACTOR, longest))
            if abs(following - end) < END_ACCURACY * end:
                return end, best
            if following > LONGEST_TIME or slope >= 0 > -excess:
                break
            end, best = following, self.optimum(grid, following, best.values)
        raise unreached(self.error, end)


def interpolated(old: np.ndarray, values: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Interpolate values at other knots."""
    return np.stack([np.interp(new, old, column) for column in values.T], axis=1)


def unreached(error: float, end: float) -> ComputationError:
    received = f"{error:g} is not reached until α = {end:g}"
    return ComputationError(
        "error", received, "no schedule that was tried reaches it", "a larger error"
    )
