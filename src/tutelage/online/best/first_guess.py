"""First guesses of optimal controls: constant ones, random ones, and those of the user."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from tutelage._checks import ComputationError, InputError, finite_number
from tutelage.model.timing import Rate
from tutelage.online.best.discretized import value_of
from tutelage.online.best.search import LONGEST_TIME, Grid, Search, unreached
from tutelage.online.steps import steps

SCAN_TOLERANCE = 1e-9
# Constant learning rates that are tried for the first guess, down to this share of the bound.
SCANNED_RATES, SMALLEST_SHARE = 16, 0.02
# The fixed steps of the search: at least this many, and no larger error in ln ε_g.
FEWEST_STEPS, MOST_STEPS, STEP_ERROR = 256, 8192, 1e-4
# Size of the random factors of a first guess, as the standard deviation of their logarithm.
RANDOM_SIZE = 0.3


def best_constant(search: Search) -> tuple[float, Float[np.ndarray, " m"]]:
    """Find the best of a few constant controls, and the end at which it reaches the error."""
    system, bounds = search.system, search.bounds
    first = dict(zip(system.names, bounds[:, 0], strict=True))
    if "learning_rate" not in first:
        tried = [np.array([*first.values()])]
    else:
        tried = []
        high = bounds[system.names.index("learning_rate"), 1]
        for rate in np.geomspace(SMALLEST_SHARE * high, high, SCANNED_RATES):
            guess = first | {"learning_rate": rate}
            if "readout_rate" in guess:
                guess["readout_rate"] = rate
            tried.append(np.clip([*guess.values()], bounds[:, 0], bounds[:, 1]))
    limit = LONGEST_TIME if search.until is None else float(search.until)
    best, least = None, np.inf
    for values in tried:
        value = _of_constant(search, values, limit)
        if value < least:
            best, least = values, value
            limit = min(limit, 2 * value) if search.until is None else limit
    if best is None:
        if search.error is not None:
            raise unreached(search.error, LONGEST_TIME)
        received = "every constant control that was tried diverges"
        raise ComputationError("controls", received, "no search can begin", "lower bounds")
    return (least if search.until is None else limit), best


def _of_constant(search: Search, values: np.ndarray, limit: float) -> float:
    """Return when constant controls reach the error, or their error at a fixed end."""
    named = search.system.fixed | dict(zip(search.system.names, values, strict=True))
    readout = named.get("readout_rate")
    decay = named.get("weight_decay")
    rate: Any = Rate(named["learning_rate"], readout=readout, decay=decay)
    solved = 0.0 if search.error is None else 0.99 * search.error
    run = steps(search.system.flow, search.y0, rate, limit, tolerance=SCAN_TOLERANCE, solved=solved)
    if search.error is None:
        return np.inf if run.outcome == "diverged" else float(run.error[-1])
    passed = run.crossings(search.error)
    return float(passed[0]) if len(passed) else np.inf


def step_count(search: Search, end: float, constant: np.ndarray, knots: int) -> int:
    """Return the number of steps with which ln ε_g of constant controls is exact enough."""
    count = FEWEST_STEPS
    while count < MOST_STEPS:
        few, more = (
            value_of(search.system, search.y0, end * g.ends, np.tile(constant, (len(g.ends), 1)))
            for g in (Grid.of(max(2, knots // 2), count), Grid.of(max(2, knots // 2), 2 * count))
        )
        if abs(few - more) < STEP_ERROR:
            return count
        count *= 2
    return count


def first_guesses(
    end: float,
    grid: Grid,
    constant: np.ndarray,
    start_from: Any,
    seed: int,
    search: Search,
) -> dict[str, Float[np.ndarray, "k m"]]:
    """Return first guesses by name, as values at the knots; the first one is constant."""
    times = end * grid.knots
    flat = np.tile(constant, (len(times), 1))
    guesses = {"constant": flat, "half of it": 0.5 * flat}
    factors = np.exp(RANDOM_SIZE * np.random.default_rng(seed).standard_normal(flat.shape))
    guesses["random"] = np.clip(flat * factors, search.bounds[:, 0], search.bounds[:, 1])
    if start_from is not None:
        given = _as_functions(start_from, search.system.names)
        columns = [
            np.array([float(given[name](t)) for t in times]) if name in given else flat[:, i]
            for i, name in enumerate(search.system.names)
        ]
        guesses["start_from"] = np.stack(columns, axis=1)
    return guesses


def _as_functions(start_from: Any, names: tuple[str, ...]) -> dict[str, Callable[[Any], Any]]:
    """Return functions of time by name, from a mapping or from one schedule or number."""
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
