"""Plateaus: how high, how long, and how both depend on the learning rate.

A plateau is the time a run spends beside a fixed point that it cannot stay at: an unspecialized
saddle (straat2019 section 4, citton2025 section 3).  Its height is the error of that saddle.
Its length is the time between the first and the last moment at which the error of the run is
within a tenth of the height.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_array, finite_number
from tutelage._jax import jnp
from tutelage.averages import Estimate
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import to_overlaps, to_vector
from tutelage.model.scenario import check_fits
from tutelage.online.flow import Flow
from tutelage.online.stationary import FixedPoint, fixed_point
from tutelage.online.steps import Steps, steps
from tutelage.runs.provenance import recorded

# "Beside the plateau": an error within a tenth of the height.
BESIDE = 0.1
# Longest run, in units of 1/η.
LONGEST = 1e5


@dataclass(frozen=True)
class Plateau:
    """A plateau of one run.

    point: the saddle beside which the run lingers, with its eigenvalues and the way out.
    height: ε_g of that saddle.
    length: `Estimate` of the time within a tenth of the height.
    begins, ends: the first and the last such time.
    """

    point: FixedPoint
    height: float
    length: Estimate
    begins: float
    ends: float


def plateau(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    method: Method | str | None = None,
) -> Plateau | None:
    """The plateau on which a run lingers longest, or None if it passes no saddle.

    length = t_last - t_first with |ε_g(t) - height| <= height/10 at both, a definition of ours:
    straat2019 and citton2025 show plateaus and give no number.  The estimated error of the
    length is what a tolerance a hundred times wider changes.

    Args:
        scenario: who learns from whom.
        start: Q, R and T at time 0.
        learning_rate: η > 0.
        method: how averages are computed; the best exact one by default.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.Erf())
    >>> scenario = tl.Scenario(two, two)
    >>> start = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 0]], T=scenario.T)
    >>> found = tl.online.plateau(scenario, start, learning_rate=0.1)
    >>> len(found.point.unstable_directions.T)
    1
    """
    finite_number("learning_rate", learning_rate, above=0.0, hint="1.0")
    check_fits("start", scenario, start, batches=((),))
    flow, y0, eta = Flow(scenario, method), np.asarray(to_vector(start)), float(learning_rate)
    run = steps(flow, y0, eta, LONGEST / eta)
    point = saddle(flow, run, eta)
    if point is None:
        return None
    begins, ends = _beside(run, point.generalization_error)
    coarse = _beside(
        steps(flow, y0, eta, LONGEST / eta, tolerance=1e-8), point.generalization_error
    )
    error = abs(coarse[1] - coarse[0] - (ends - begins)) + 1e-9 * ends
    length = number(ends - begins, error)
    return Plateau(point, point.generalization_error, length, begins, ends)


@recorded
def plateau_over_learning_rates(
    scenario: Scenario,
    start: Overlaps,
    learning_rates: Any,
    *,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Height, length and estimated error of the length over ``learning_rate``; NaN without one.

    citton2025 Figure 2 shows them become higher until the saddle is lost.  In that scenario the
    length falls from η = 0.1 to 0.9 and is longer again at 1.1 and above; the eigenvalue of the
    escape is 0.021, 0.128 and 0.119 there.
    """
    rates = finite_array("learning_rates", learning_rates)
    if rates.ndim != 1 or not rates.size or np.any(rates <= 0):
        raise InputError(
            "learning_rates",
            f"{learning_rates!r}",
            "it has to be a list of numbers greater than 0",
            "np.linspace(0.1, 1.2, 12)",
        )
    found = [plateau(scenario, start, eta, method=method) for eta in rates]
    rows = [
        (p.height, p.length.value, p.length.error) if p else (np.nan, np.nan, np.nan) for p in found
    ]
    height, length, error = np.array(rows).T
    return xr.Dataset(
        {
            "height": ("learning_rate", height, {"long_name": "error of the saddle"}),
            "length": ("learning_rate", length, {"long_name": "time within a tenth of the height"}),
            "length_error": ("learning_rate", error),
        },
        coords={"learning_rate": ("learning_rate", rates, {"symbol": "η"})},
    )


def number(value: Any, error: Any) -> Estimate:
    """An `Estimate` of plain numbers."""
    return Estimate(float(value), float(error))


def saddle(flow: Flow, run: Steps, learning_rate: float) -> FixedPoint | None:
    """The unstable fixed point beside which the error of a run changes most slowly."""
    pace = np.abs(run.slope / run.error)
    slow = np.flatnonzero((pace[1:-1] <= pace[:-2]) & (pace[1:-1] <= pace[2:])) + 1
    for j in slow[np.argsort(pace[slow])]:
        near = to_overlaps(jnp.asarray(run.states[j]), flow.scenario.T, flow.scenario.K)
        try:
            point = fixed_point(flow.scenario, near, learning_rate, method=flow.method)
        except InputError:
            continue  # the error was slow there, the overlaps were not
        beside = abs(point.generalization_error - run.error[j]) < BESIDE * run.error[j]
        if beside and point.unstable_directions.shape[1] > 0:
            return point
    return None


def _beside(run: Steps, height: float) -> tuple[float, float]:
    """First and last time at which the error is within a tenth of the height."""
    edges = np.sort(np.concatenate([run.crossings(height * (1 + s * BESIDE)) for s in (-1, 1)]))
    first = 0.0 if abs(run.error[0] - height) <= BESIDE * height else edges[0]
    last = run.times[-1] if abs(run.error[-1] - height) <= BESIDE * height else edges[-1]
    return float(first), float(last)
