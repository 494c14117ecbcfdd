"""Learning rates that reach a given error soonest: constant, and piecewise constant in time.

On a plateau a run escapes fastest at another learning rate than the one at which it converges
fastest afterwards; the outlook of straat2019 (section 4) asks for schedules that know this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize, minimize_scalar

from tutelage._arguments import validated
from tutelage._checks import (
    ComputationError,
    InputError,
    finite_number,
    positive_integer,
    short_repr,
)
from tutelage._findings import Finding
from tutelage._jax import jnp
from tutelage._names import with_checked_arguments
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.online.best.knots import StepSchedule, as_row
from tutelage.online.flow import Flow
from tutelage.online.stationary.plateaus import LONGEST
from tutelage.online.steps import steps

FINE_TOLERANCE, COARSE_TOLERANCE = 1e-10, 1e-8
# Smallest error that can be asked for: below it ε_g is the error of the integration.
SMALLEST_ERROR = 1e-7
# Constant learning rates that are tried first.
SCANNED_RATES = 25


@dataclass(frozen=True, repr=False)
class BestLearningRate(Finding):
    """The result of `best_learning_rate`.

    learning_rate: η.
    time: when the error is reached with it.
    """

    learning_rate: Estimate
    time: Estimate

    @property
    def brief(self) -> str:
        return f"η = {self.learning_rate.value:.6g}, at time {self.time.value:.6g}"


@with_checked_arguments
class Schedule(StepSchedule):
    """A learning rate that is constant between switches.

    rates: shape (n,);  switches: times in increasing order, shape (n - 1,).

    >>> import tutelage as tl
    >>> schedule = tl.online.Schedule(rates=[1.0, 0.5], switches=[10.0])
    >>> float(schedule(3.0)), float(schedule(30.0))
    (1.0, 0.5)
    """

    rates: Float[Array, " n"]
    switches: Float[Array, " n-1"]

    def __init__(self, rates: Any, switches: Any):
        self.rates, self.switches = as_row("rates", rates), _switches(switches)
        if len(self.rates) != len(self.switches) + 1:
            raise InputError(
                "switches",
                f"{len(self.switches)} times for {len(self.rates)} rates",
                "there is one switch fewer than there are rates",
            )

    def __repr__(self) -> str:
        rates, switches = (np.round(np.asarray(x), 6).tolist() for x in (self.rates, self.switches))
        return f"Schedule(rates={rates}, switches={switches})"

    def __call__(self, time: Any) -> Any:
        """Return η at a time."""
        return self.rates[jnp.searchsorted(self.switches, time, side="right")]


def _switches(value: Any) -> Float[Array, " n"]:
    """Check a list of times, which may be empty."""
    return jnp.zeros(0) if np.shape(value) == (0,) else as_row("switches", value)


@dataclass(frozen=True, repr=False)
class BestSchedule(Finding):
    """The result of `best_schedule`.

    schedule: η over time, for `evolve`.
    time: when the error is reached with it.
    constant: the result with a constant learning rate.
    """

    schedule: Schedule
    time: Estimate
    constant: BestLearningRate


@validated
def best_learning_rate(
    scenario: Scenario,
    start: Overlaps,
    error: float,
    *,
    bounds: tuple[float, float] = (0.05, 4.0),
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
) -> BestLearningRate:
    """Find the constant learning rate with which the error falls below a value soonest.

    η* = argmin t(η) with ε_g(t(η)) = error for the first time.  t has several minima in general:
    25 learning rates in geometric order are tried first, then the best valley is searched.

    Args:
        scenario: who learns from whom.
        start: Q, R and T at time 0.
        error: ε_g to be reached, between 1e-7 and that of the start.
        bounds: the lowest and the highest learning rate that is tried.
        readout_rate: η_v of the second layer in units of η: the two rates change together.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.

    Raises:
        InputError: if the error is reached at no learning rate that was tried.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> best = tl.online.best_learning_rate(tl.Scenario(one, one), start, error=1e-6)
    >>> bool(0.9 < best.learning_rate.value < 1.1)  # both eigenvalues are -1/2 at η = 1
    True
    """
    low, high = _checked(scenario, start, error, bounds)
    flow = Flow(scenario, method, batch=batch, readout_rate=readout_rate)
    y0 = flow.vector(start)
    etas, times = np.geomspace(low, high, SCANNED_RATES), np.full(SCANNED_RATES, np.inf)
    for j in range(SCANNED_RATES):
        limit = min(2 * np.min(times), LONGEST)
        times[j] = _passage(flow, y0, [etas[j]], [], error, limit)
    if not np.any(np.isfinite(times)):
        raise ComputationError(
            "error", f"{error:g} is not reached", f"no learning rate from {low:g} to {high:g} does"
        )
    best = int(np.argmin(times))
    valley = etas[max(best - 1, 0)], etas[min(best + 1, SCANNED_RATES - 1)]
    limit = 10 * times[best]

    def time(eta: float, tolerance: float = FINE_TOLERANCE) -> float:
        # The search subtracts values: a run that does not reach the error has a finite time, too.
        return min(_passage(flow, y0, [eta], [], error, limit, tolerance), limit)

    minimum = minimize_scalar(time, bounds=valley, method="bounded", options={"xatol": 1e-7})
    return _with_errors(time, float(minimum.x))


@validated
def best_schedule(
    scenario: Scenario,
    start: Overlaps,
    error: float,
    *,
    pieces: int = 2,
    bounds: tuple[float, float] = (0.05, 4.0),
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
) -> BestSchedule:
    """Find a piecewise constant learning rate with which the error falls below a value soonest.

    Begins with the best constant rate; then, until there are enough pieces, the longest one is
    halved and all rates and switches are optimised together (Nelder and Mead 1965).  Each stage
    is at least as good as the one before; the result is a local optimum.

    Args:
        pieces: the number of learning rates.
        scenario, start, error, bounds, readout_rate, batch, method: as in `best_learning_rate`; a
            second layer that learns does so at ``readout_rate`` times what the schedule says.
    """
    pieces = positive_integer("pieces", pieces, hint="2")
    steps_of: dict[str, Any] = {"method": method, "batch": batch, "readout_rate": readout_rate}
    constant = best_learning_rate(scenario, start, error, bounds=bounds, **steps_of)
    flow = Flow(scenario, **steps_of)
    y0 = flow.vector(start)
    limit = 2 * float(constant.time.value)

    def time(x: np.ndarray, tolerance: float = FINE_TOLERANCE) -> float:
        rates, switches = _unpacked(x)
        if np.any(rates < bounds[0]) or np.any(rates > bounds[1]):
            return limit
        return min(_passage(flow, y0, rates, switches, error, limit, tolerance), limit)

    x = np.log([constant.learning_rate.value])
    for _ in range(pieces - 1):
        x = _halved(x, time(x))
        shifts = np.vstack([np.zeros_like(x), -0.1 * np.eye(len(x))])
        options = {"initial_simplex": x + shifts, "xatol": 1e-4, "fatol": 1e-5 * limit}
        x = minimize(time, x, method="Nelder-Mead", options=options).x
    value = time(x)
    rates, switches = _unpacked(x)
    reached = number(value, abs(time(x, COARSE_TOLERANCE) - value) + 1e-9 * value)
    return BestSchedule(Schedule(rates, switches), reached, constant)


def _checked(scenario: Scenario, start: Overlaps, error: Any, bounds: Any) -> tuple[float, float]:
    check_fits("start", scenario, start, batches=((),))
    first = float(generalization_error(scenario, start))
    finite_number("error", error, at_least=SMALLEST_ERROR, hint="1e-4")
    if error >= first:
        raise InputError(
            "error",
            short_repr(error),
            f"it has to be below the error at the start, {first:g}",
            "a smaller error",
        )
    low, high = (finite_number("bounds", bound, above=0.0, hint="(0.05, 4.0)") for bound in bounds)
    if low >= high:
        raise InputError("bounds", f"({low:g}, {high:g})", "the first has to be the lower one")
    return float(low), float(high)


def _passage(
    flow: Flow,
    y: np.ndarray,
    rates: Any,
    switches: Any,
    error: float,
    limit: float,
    tolerance: float = FINE_TOLERANCE,
) -> float:
    """Return the time at which the error is first reached; infinite if not before the limit."""
    begin = 0.0
    for eta, end in zip(rates, [*switches, limit], strict=True):
        duration = max(min(end, limit) - begin, 1e-9)
        run = steps(flow, y, eta, duration, tolerance=tolerance, solved=0.99 * error)
        passed = run.crossings(error)
        if len(passed):
            return begin + float(passed[0])
        if run.outcome == "diverged" or end >= limit:
            return np.inf
        begin, y = end, run.states[-1]
    return np.inf


def _unpacked(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rates and switches from x = (ln η_1, …, ln η_n, ln of the first n - 1 durations)."""
    n = (len(x) + 1) // 2
    return np.exp(x[:n]), np.cumsum(np.exp(x[n:]))


def _halved(x: np.ndarray, total: float) -> np.ndarray:
    """Split the longest piece of a schedule into two equal ones."""
    rates, switches = _unpacked(x)
    edges = np.concatenate([[0.0], switches, [total]])
    j = int(np.argmax(np.diff(edges)))
    edges = np.insert(edges, j + 1, 0.5 * (edges[j] + edges[j + 1]))
    return np.log(np.concatenate([np.insert(rates, j, rates[j]), np.diff(edges)[:-1]]))


def _with_errors(time: Callable[..., float], eta: float) -> BestLearningRate:
    """Estimate errors: at a minimum η is known to √(2 δt/t''), δt the error of a passage time."""
    value = time(eta)
    inaccuracy = abs(time(eta, COARSE_TOLERANCE) - value) + 1e-9 * value
    h = 1e-3 * eta
    curvature = (time(eta + h) - 2 * value + time(eta - h)) / h**2
    uncertain = np.sqrt(2 * inaccuracy / curvature) if curvature > 0 else h
    return BestLearningRate(number(eta, float(uncertain)), number(value, inaccuracy))
