"""Plateaus: their heights and durations.

A plateau is the time a run spends next to a fixed point that it leaves again: an unspecialized
saddle (straat2019 section 4, citton2025 section 3).  Its height is the error of that saddle.
Its length is the time between the first and the last moment at which the error of the run is
within a tenth of the height.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import ComputationError, finite_number
from tutelage._findings import Finding
from tutelage._jax import jnp
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.stationary.points import FixedPoint, describe, polished, relative
from tutelage.online.steps import Steps, steps

# A run is on the plateau while its error is within this fraction of the height.
PLATEAU_WIDTH = 0.1
# Tolerances of the integration; the ends of a plateau shift in proportion to them.
FINE, COARSE = 1e-10, 1e-9
# Longest run, in units of 1/η.
LONGEST = 1e5
# Newton's method is not started this close to a stable fixed point that it has found, or to a state
# from which it has failed: a run that has converged has thousands of such states.
CLOSE = 1e-6


@dataclass(frozen=True, repr=False)
class Plateau(Finding):
    """A plateau of one run; all fields but ``reasons`` are None if there is none.

    point: the saddle at which the run lingers, with its eigenvalues and unstable directions.
    height: ε_g of that saddle.
    length: the time within a tenth of the height.
    begins, ends: the first and the last such time.
    reasons: by the name of a field, why it is None.
    """

    point: FixedPoint | None
    height: Estimate | None
    length: Estimate | None
    begins: float | None
    ends: float | None
    reasons: Mapping[str, str]


@validated
def plateau(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
) -> Plateau:
    """Find the plateau on which a run lingers longest, or the reason why there is none.

    length = t_last - t_first with |ε_g(t) - height| <= height/10 at both, a definition of ours:
    straat2019 and citton2025 show plateaus and give no number.  The estimated error of the
    length is how far a tolerance ten times wider moves its two ends.

    Args:
        scenario: student and teacher.
        start: Q, R and T at time 0.
        learning_rate: η >= 0; the number 0 is the limit η → 0, with time in units of 1/η.
        readout_rate: η_v of the second layer, as in `evolve`.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.Erf())
    >>> scenario = tl.Scenario(two, two)
    >>> start = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 0]], T=scenario.T)
    >>> plateau = tl.online.plateau(scenario, start, learning_rate=0.1)
    >>> print(f"{plateau.height.value:.6f}", plateau.point.brief)
    0.012085 fixed point with ε_g = 0.0120852, 1 direction leads away
    """
    finite_number("learning_rate", learning_rate, at_least=0.0, hint="1.0")
    check_fits("start", scenario, start, batches=((),))
    eta, ratio = float(learning_rate), relative(readout_rate, learning_rate)
    flow = Flow(scenario, method, batch=batch, readout_rate=ratio)
    y0 = flow.vector(start)
    until = LONGEST / float(rate_of(eta).unit)
    run = steps(flow, y0, eta, until, tolerance=FINE)
    point = saddle(flow, run, eta)
    if point is None:
        return _no_plateau(run)
    at_saddle = scenario.with_readout(jnp.asarray(point.readout))
    height = generalization_error(at_saddle, point.overlaps, method=method, return_error=True)
    begins, ends = _ends_of_plateau(run, point.generalization_error)
    coarse = _ends_of_plateau(
        steps(flow, y0, eta, until, tolerance=COARSE), point.generalization_error
    )
    # Both ends may shift together: then the difference has a smaller error than each end.
    error = abs(coarse[0] - begins) + abs(coarse[1] - ends) + 1e-9 * ends
    return Plateau(point, number(*height), number(ends - begins, error), begins, ends, {})


def _no_plateau(run: Steps) -> Plateau:
    """Return a plateau of which every field is None, with the reason."""
    where = "diverges" if run.outcome == "diverged" else f"goes to ε_g = {run.error[-1]:.3g}"
    why = f"the run {where} without lingering at a saddle"
    names = ("point", "height", "length", "begins", "ends")
    return Plateau(None, None, None, None, None, dict.fromkeys(names, why))


def saddle(flow: Flow, run: Steps, learning_rate: float) -> FixedPoint | None:
    """Return the unstable fixed point next to which the error of a run changes most slowly."""
    pace, rate = np.abs(run.slope / run.error), rate_of(float(learning_rate))
    slow = np.flatnonzero((pace[1:-1] <= pace[:-2]) & (pace[1:-1] <= pace[2:])) + 1
    excluded: list[np.ndarray] = []
    for j in slow[np.argsort(pace[slow])]:
        if any(np.max(np.abs(run.states[j] - y)) < CLOSE for y in excluded):
            continue
        try:
            near = polished("start", flow, rate, run.states[j])
        except ComputationError:  # the error changed slowly there, the overlaps did not
            excluded.append(run.states[j])
            continue
        point = describe(flow, rate, *near)
        is_near = abs(point.generalization_error - run.error[j]) < PLATEAU_WIDTH * run.error[j]
        if point.unstable_directions.shape[1] == 0:
            excluded.append(near[0])
        elif is_near:
            return point
    return None


def _ends_of_plateau(run: Steps, height: float) -> tuple[float, float]:
    """Return the first and last time at which the error is within a tenth of the height."""
    edges = np.sort(
        np.concatenate([run.crossings(height * (1 + s * PLATEAU_WIDTH)) for s in (-1, 1)])
    )
    first = 0.0 if abs(run.error[0] - height) <= PLATEAU_WIDTH * height else edges[0]
    last = run.times[-1] if abs(run.error[-1] - height) <= PLATEAU_WIDTH * height else edges[-1]
    return float(first), float(last)
