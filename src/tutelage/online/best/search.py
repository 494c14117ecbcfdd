"""The search for optimal controls at a fixed final time, and for the time at which an error is
reached.

The unknowns of a form of controls (`tutelage.online.best.grids`) are scaled by the root of the time
for which each acts; gradients are exact (`tutelage.online.best.discretized`).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from tutelage._checks import ComputationError
from tutelage.online.best.discretized import Controlled, Path, path, value_of
from tutelage.online.best.grids import Form

# The longest final time that is tried for the first guess.
LONGEST_TIME = 1e5
# Unknowns closer to a bound than this part of its range are on it.
BOUND_ROUNDING = 1e-12
# Value of ln ε_g that the search uses for a diverging run.
DIVERGED_VALUE = 100.0
SEARCH = {"maxiter": 1000, "maxfun": 2000, "maxcor": 30, "ftol": 1e-12, "gtol": 1e-8, "maxls": 40}
# Newton's method for the final time: largest number of steps, relative accuracy, largest change per
# step.
MOST_ENDS, END_ACCURACY, LARGEST_FACTOR = 12, 1e-7, 1.5


class Optimum(NamedTuple):
    """An optimum at a fixed final time: unknowns, the run with them, the scaled gradient."""

    values: np.ndarray
    path: Path
    gradient: np.ndarray


class Search(NamedTuple):
    """A problem of optimal control: system, start, bounds of shape (m, 2), and the goal."""

    system: Controlled
    y0: Float[np.ndarray, " d"]
    bounds: Float[np.ndarray, "m 2"]
    until: float | None
    error: float | None

    def value(self, form: Form, end: float, values: np.ndarray) -> float:
        """Return ln ε_g at the end; infinite for a run that diverges."""
        return value_of(self.system, self.y0, *form.discretized(values, end))

    def optimum(self, form: Form, end: float, values: np.ndarray) -> Optimum:
        """Minimize ln ε_g at a fixed final time, beginning with these unknowns."""
        scales, shape = form.scales(values, end), values.shape

        def run_of(z: np.ndarray) -> Path | None:
            return path(self.system, self.y0, *form.discretized(z.reshape(shape) / scales, end))

        def gradient(run: Path, z: np.ndarray) -> np.ndarray:
            return form.gradient(run, z.reshape(shape) / scales, end) / scales

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            run = run_of(z)
            if run is None:
                return DIVERGED_VALUE, np.zeros_like(z)
            return run.value, gradient(run, z).ravel()

        low, high = (limit * scales for limit in form.limits(self.bounds, values))
        box = np.stack([low.ravel(), high.ravel()], axis=1)
        first = np.clip(values * scales, low, high).ravel()
        z = minimize(
            objective, first, jac=True, method="L-BFGS-B", bounds=box, options=SEARCH
        ).x.reshape(shape)
        return self.evaluated(form, end, z / scales)

    def evaluated(self, form: Form, end: float, values: np.ndarray) -> Optimum:
        """Return the run with the unknowns of an optimum, and its scaled gradient."""
        scales = form.scales(values, end)
        low, high = form.limits(self.bounds, values)
        run = path(self.system, self.y0, *form.discretized(values, end))
        if run is None:
            received = f"the first schedule diverges before α = {end:g}"
            raise ComputationError(
                "controls", received, "no search can begin there", "lower bounds"
            )
        slope = form.gradient(run, values, end) / scales
        margin = BOUND_ROUNDING * (high - low)
        outwards = ((values <= low + margin) & (slope > 0)) | (
            (values >= high - margin) & (slope < 0)
        )
        return Optimum(values, run, np.where(outwards, 0.0, slope))

    def soonest(self, form: Form, end: float, values: np.ndarray) -> tuple[float, Optimum]:
        """Find the final time at which the least error equals the goal, by Newton's method."""
        best = self.optimum(form, end, values)
        if self.error is None:
            return end, best
        for _ in range(MOST_ENDS):
            excess, slope = best.path.value - np.log(self.error), best.path.by_end
            longest = LARGEST_FACTOR * end
            following = end - excess / slope if slope < 0 else longest
            following = float(np.clip(following, end / LARGEST_FACTOR, longest))
            if abs(following - end) < END_ACCURACY * end:
                return end, best
            if following > LONGEST_TIME or slope >= 0 > -excess:
                break
            end, best = following, self.optimum(form, following, best.values)
        raise ComputationError(
            "error",
            f"{self.error:g} is not reached until α = {end:g}",
            "none of the schedules tried reaches this error",
            "a larger error, or wider bounds",
        )
