"""Learning rates that reach a given error soonest: constant, and piecewise constant in time.

On a plateau a run escapes fastest at another learning rate than the one at which it converges
fastest afterwards; the outlook of straat2019 (section 4) asks for schedules that know this.  Both
are optimal control (`tutelage.online.best.control`) with another form of the schedule: its first
guess, refined, and its search with exact gradients, whose unknowns are rates and switches.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._findings import Finding
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.online.best.discretized import Controlled
from tutelage.online.best.first_guess import (
    COARSE_TOLERANCE,
    FINE_TOLERANCE,
    best_constant,
    constant_run,
    first_passage,
    step_count,
)
from tutelage.online.best.goals import check_error
from tutelage.online.best.grids import ConstantPieces
from tutelage.online.best.knots import Schedule
from tutelage.online.best.search import END_ACCURACY, Search
from tutelage.online.flow import Flow


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
        scenario: student and teacher.
        start: Q, R and T at time 0.
        error: ε_g to be reached, between 1e-7 and that of the start.
        bounds: the lowest and the highest learning rate that is tried.
        readout_rate: η_v of the second layer in units of η: the two rates change together.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.

    Raises:
        InputError: if an argument cannot be used.
        ComputationError: if the error is reached at no learning rate that was tried.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> best = tl.online.best_learning_rate(tl.Scenario(one, one), start, error=1e-6)
    >>> bool(0.9 < best.learning_rate.value < 1.1)  # both eigenvalues are -1/2 at η = 1
    True
    """
    options: dict[str, Any] = {"method": method, "batch": batch, "readout_rate": readout_rate}
    return _best_rate(_search(scenario, start, error, bounds, **options))


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
    halved and all rates and switches are optimised together with exact gradients, as in
    `best_control`.  Each stage is at least as good as the one before; the result is a local
    optimum.

    Args:
        pieces: the number of learning rates.
        scenario, start, error, bounds, readout_rate, batch, method: as in `best_learning_rate`; a
            second layer that learns does so at ``readout_rate`` times the value of the schedule.
    """
    pieces = positive_integer("pieces", pieces, hint="2")
    options: dict[str, Any] = {"method": method, "batch": batch, "readout_rate": readout_rate}
    search = _search(scenario, start, error, bounds, **options)
    constant = _best_rate(search)
    x, end = np.array([constant.learning_rate.value]), float(constant.time.value)
    if pieces == 1:
        return BestSchedule(Schedule(x, []), constant.time, constant)
    form = ConstantPieces((step_count(search, lambda n: ConstantPieces((n,)), end, x),))
    for _ in range(pieces - 1):
        form, x = form.with_longest_halved(x)
        end, best = search.soonest(form, end, x)
        x = best.values
    inexact = abs(search.value(form.with_half_steps(), end, x) - best.path.value)
    reached = number(end, inexact / abs(best.path.by_end) + END_ACCURACY * end)
    switches = end * np.cumsum(form.fractions(x))[:-1]
    return BestSchedule(Schedule(x[:pieces], switches), reached, constant)


def _search(scenario: Scenario, start: Overlaps, error: Any, bounds: Any, **options: Any) -> Search:
    """Return the problem of optimal control, with the learning rate as the only control."""
    check_fits("start", scenario, start, batches=((),))
    check_error(scenario, start, error)
    low, high = (finite_number("bounds", bound, above=0.0, hint="(0.05, 4.0)") for bound in bounds)
    if low >= high:
        raise InputError("bounds", f"({low:g}, {high:g})", "the first has to be the lower one")
    flow = Flow(scenario, **options)
    system = Controlled(flow, {}, ("learning_rate",))
    return Search(system, flow.vector(start), np.array([[low, high]]), None, float(error))


def _best_rate(search: Search) -> BestLearningRate:
    """Refine the best of the scanned rates.

    With one unknown, passage times in adaptive steps cost less than gradients: 0.02 s of CPU time
    against 0.14 s for one ReLU unit, and no Jacobians to compile, which takes 3 to 8 s.
    """
    scanned = best_constant(search)
    limit = 10 * scanned.end

    def time(eta: float, tolerance: float = FINE_TOLERANCE) -> float:
        run = constant_run(search, np.array([eta]), limit, tolerance)
        # The search subtracts values, so a run that does not reach the error needs a finite time,
        # too.
        return min(first_passage(run, float(search.error or 0.0)), limit)

    options = {"xatol": 1e-7}
    eta = float(minimize_scalar(time, bounds=scanned.valley, method="bounded", options=options).x)
    value = time(eta)
    inaccuracy = abs(time(eta, COARSE_TOLERANCE) - value) + 1e-9 * value
    # At a minimum η is known to √(2 δt/t''), δt the error of a passage time.
    h = 1e-3 * eta
    curvature = (time(eta + h) - 2 * value + time(eta - h)) / h**2
    uncertain = np.sqrt(2 * inaccuracy / curvature) if curvature > 0 else h
    return BestLearningRate(number(eta, float(uncertain)), number(value, inaccuracy))
