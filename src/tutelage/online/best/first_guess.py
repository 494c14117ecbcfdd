"""First guesses of optimal controls: constant, random, or given by the user."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tutelage._checks import ComputationError, InputError, finite_number, short_repr
from tutelage.model.timing import Rate
from tutelage.online.best.grids import Form, KnotGrid
from tutelage.online.best.search import LONGEST_TIME, Search
from tutelage.online.steps import Steps, steps

FINE_TOLERANCE, COARSE_TOLERANCE = 1e-10, 1e-8
# Number of constant learning rates to scan first, and the smallest of them relative to the bound.
SCANNED_RATES, SMALLEST_SHARE = 25, 0.0125
# Number of smaller rates to try if none of these reaches the error, and the factor of the smallest.
SMALLER_RATES, SMALLEST_FACTOR = 12, 0.003
# The fixed steps of the search: at least this many, and no larger error in ln ε_g.
FEWEST_STEPS, MOST_STEPS, STEP_ERROR = 256, 8192, 1e-4
# Size of the random factors of a first guess, as the standard deviation of their logarithm.
RANDOM_SIZE = 0.3


class Constant(NamedTuple):
    """The best of some constant controls.

    values: by control, shape (m,).
    end: the fixed end, or the time at which they reach the error.
    valley: the neighbours of the learning rate among those that were tried.
    """

    values: Float[np.ndarray, " m"]
    end: float
    valley: tuple[float, float]


def best_constant(search: Search) -> Constant:
    """Find the best of a few constant controls.

    With ``until`` the best control has the least error of its run; with ``error`` it reaches this
    error first.
    """
    tried = _constant_controls(search)
    marks, errors = _tried(search, tried)
    if search.error is not None and not np.any(np.isfinite(marks)):
        smaller = _smaller_rates(search, tried)
        if len(smaller):
            of_smaller = _tried(search, smaller)
            tried = np.concatenate([smaller, tried])
            marks, errors = (
                np.concatenate([x, y]) for x, y in zip(of_smaller, (marks, errors), strict=True)
            )
    best = int(np.argmin(marks))
    if not np.isfinite(marks[best]):
        raise _unreached(search, tried, errors)
    end = float(marks[best]) if search.until is None else float(search.until)
    rates = tried[:, search.system.names.index("learning_rate")] if len(tried) > 1 else np.zeros(1)
    valley = float(rates[max(best - 1, 0)]), float(rates[min(best + 1, len(tried) - 1)])
    return Constant(tried[best], end, valley)


def _tried(search: Search, tried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return when each of some constant controls reaches the error, or the least error with it if
    the end is fixed; and the least errors.
    """
    limit = LONGEST_TIME if search.until is None else float(search.until)
    marks, errors = np.full(len(tried), np.inf), np.full(len(tried), np.inf)
    for j, values in enumerate(tried):
        run = constant_run(search, values, limit)
        errors[j] = np.inf if run.outcome == "diverged" else np.min(run.error)
        marks[j] = errors[j] if search.error is None else first_passage(run, search.error)
        if search.error is not None:
            limit = min(limit, 2 * marks[j])
    return marks, errors


def _smaller_rates(search: Search, tried: np.ndarray) -> Float[np.ndarray, "n m"]:
    """Return constant controls with smaller learning rates, as far as the bounds allow: with label
    noise the error that a constant rate reaches is proportional to this rate.
    """
    names = search.system.names
    if "learning_rate" not in names:
        return tried[:0]
    i = names.index("learning_rate")
    low, largest = float(search.bounds[i, 0]), float(tried[0, i])
    rates = np.geomspace(max(low, SMALLEST_FACTOR * largest), largest, SMALLER_RATES + 1)[:-1]
    smaller = np.tile(tried[0], (len(rates), 1))
    smaller[:, i] = rates
    return smaller if low < largest else tried[:0]


def _constant_controls(search: Search) -> Float[np.ndarray, "n m"]:
    """Return constant controls: rates in geometric order, the other controls at their lower
    bounds.
    """
    names, (low, high) = search.system.names, search.bounds.T
    if "learning_rate" not in names:
        return low[None]
    i = names.index("learning_rate")
    rates = np.geomspace(max(low[i], SMALLEST_SHARE * high[i]), high[i], SCANNED_RATES)
    rates[-1] = high[i]
    tried = np.tile(low, (len(rates), 1))
    for j, name in enumerate(names):
        if name in ("learning_rate", "readout_rate"):
            tried[:, j] = np.clip(rates, low[j], high[j])
    return tried


def constant_run(
    search: Search, values: np.ndarray, limit: float, tolerance: float = FINE_TOLERANCE
) -> Steps:
    """Integrate with constant controls, in adaptive steps, until the error or the longest time is
    reached.
    """
    named = search.system.fixed | dict(zip(search.system.names, values, strict=True))
    readout, decay = named.get("readout_rate"), named.get("weight_decay")
    rate: Any = Rate(named["learning_rate"], readout=readout, decay=decay)
    solved = 0.0 if search.error is None else 0.99 * search.error
    return steps(search.system.flow, search.y0, rate, limit, tolerance=tolerance, solved=solved)


def first_passage(run: Steps, error: float) -> float:
    """Return the time at which an error is first reached; infinite if it is not."""
    passed = run.crossings(error)
    return float(passed[0]) if len(passed) else np.inf


def _unreached(search: Search, tried: np.ndarray, errors: np.ndarray) -> ComputationError:
    """Return the error for a goal that no constant control reaches; it names the lowest error."""
    least, names = int(np.argmin(errors)), search.system.names
    which, where = "the controls at their lower bounds", ""
    if "learning_rate" in names:
        rates = tried[:, names.index("learning_rate")]
        which, where = f"learning rates from {rates[0]:g} to {rates[-1]:g}", f"{rates[least]:.3g}"
    if search.error is None:
        why = "no search can begin where every run diverges"
        return ComputationError("controls", f"{which} diverge", why, "lower bounds")
    if not np.isfinite(errors[least]):
        why = f"with {which} every run diverges"
        return ComputationError("error", f"{search.error:g} is not reached", why, "lower bounds")
    lowest = f"the lowest error is {errors[least]:.3g}" + (f", with {where}" if where else "")
    return ComputationError(
        "error",
        f"{search.error:g} is not reached with {which}",
        lowest,
        f"error={1.1 * errors[least]:.2g}, or other bounds",
    )


def step_count(
    search: Search, form_of: Callable[[int], Form], end: float, values: np.ndarray
) -> int:
    """Return the number of steps with which ln ε_g is accurate enough."""
    count = FEWEST_STEPS
    few = search.value(form_of(count), end, values)
    while count < MOST_STEPS:
        more = search.value(form_of(2 * count), end, values)
        if abs(few - more) < STEP_ERROR:
            break
        count, few = 2 * count, more
    return count


def first_guesses(
    end: float,
    grid: KnotGrid,
    constant: np.ndarray,
    start_from: Mapping[str, Callable[[Any], Any]],
    seed: int,
    search: Search,
) -> dict[str, Float[np.ndarray, "k m"]]:
    """Return first guesses by name, as values at the knots; the first one is constant."""
    times = end * grid.knots
    flat = np.tile(constant, (len(times), 1))
    guesses = {"constant": flat, "half the constant": 0.5 * flat}
    factors = np.exp(RANDOM_SIZE * np.random.default_rng(seed).standard_normal(flat.shape))
    guesses["random"] = np.clip(flat * factors, search.bounds[:, 0], search.bounds[:, 1])
    if start_from:
        columns = [
            _checked_values(name, start_from[name], times, search.bounds[i])
            if name in start_from
            else flat[:, i]
            for i, name in enumerate(search.system.names)
        ]
        guesses["start_from"] = np.stack(columns, axis=1)
    return guesses


def _checked_values(
    name: str, function: Callable[[Any], Any], times: np.ndarray, bounds: np.ndarray
) -> Float[np.ndarray, " k"]:
    """Return the values of a given schedule; refuse values outside of the bounds."""
    low, high = (float(x) for x in bounds)
    number, hint = f"a schedule of {name} returns one number", "lambda time: 1 / (1 + time)"
    values = []
    for time in times:
        try:
            value = np.asarray(function(float(time)))
        except Exception as problem:
            received = f"{type(problem).__name__}: {problem}"[:200] + f" at α = {time:.3g}"
            raise InputError("start_from", received, number, hint) from problem
        if value.shape != () or value.dtype.kind not in "iuf":
            received = f"{short_repr(value.tolist())} at α = {time:.3g}"
            raise InputError("start_from", received, number, hint)
        if not low <= value <= high:
            received = f"{name} = {float(value):.6g} at α = {time:.3g}"
            allowed = f"the bounds of {name} are {low:g} and {high:g}"
            raise InputError("start_from", received, allowed, "other bounds in controls")
        values.append(float(value))
    return np.array(values)


def as_functions(start_from: object, names: tuple[str, ...]) -> dict[str, Callable[[Any], Any]]:
    """Return functions of time by name, from a mapping or from one schedule or number."""
    if start_from is None:
        return {}
    given = start_from if isinstance(start_from, Mapping) else {names[0]: start_from}
    functions = {}
    for name, value in given.items():
        if name not in names:
            received, allowed = f"a schedule of {name!r}", f"the controls are {', '.join(names)}"
            raise InputError("start_from", received, allowed)
        if not callable(value):
            finite_number("start_from", value, at_least=0.0, hint="1.0, or a schedule")
        functions[name] = value if callable(value) else lambda time, value=value: value
    return functions
