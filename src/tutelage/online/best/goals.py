"""Validation of goals and of the bounds of controls."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tutelage._checks import ComputationError, InputError, finite_number, short_repr
from tutelage.averages.generalization import generalization_error
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.online.best.discretized import CONTROLS
from tutelage.online.best.first_guess import Constant, best_constant, constant_run
from tutelage.online.best.search import LONGEST_TIME, Search
from tutelage.online.stationary.plateaus import saddle

DEFAULT_CONTROLS = {"learning_rate": (0.0, 3.0)}
# Errors ε_g below a hundred tolerances are errors of the adaptive integration.
SMALLEST_ERROR = 1e-7
# A plateau is left when the error is below this fraction of its height.
LEFT_FRACTION = 0.5


def checked_bounds(
    scenario: Scenario, controls: Any, learning_rate: Any, readout_rate: Any
) -> dict[str, tuple[float, float]]:
    """Return the checked bounds of all controls, in the order of `CONTROLS`."""
    controls = DEFAULT_CONTROLS if controls is None else controls
    example = '{"learning_rate": (0, 3)}'
    if not isinstance(controls, Mapping):
        allowed = "it has to be a dictionary from the name of a control to its bounds"
        raise InputError("controls", short_repr(controls), allowed, example)
    for name in controls:
        if name not in CONTROLS:
            allowed = f"the controls are {', '.join(CONTROLS)}"
            raise InputError("controls", short_repr(name), allowed, example)
    if not controls:
        raise InputError("controls", "none", "there has to be at least one control", example)
    given = {"learning_rate": learning_rate, "readout_rate": readout_rate}
    for name, value in given.items():
        if value is not None and name in controls:
            raise InputError(name, short_repr(value), "it is a control already", f"without {name}=")
        if value is not None:
            finite_number(name, value, at_least=0.0, hint="1.0")
    if "learning_rate" not in controls and not learning_rate:
        received, allowed = short_repr(learning_rate), "it is not a control, so it needs a value"
        raise InputError("learning_rate", received, allowed, "learning_rate=1.0")
    return {name: _pair(name, controls[name]) for name in CONTROLS if name in controls}


def _pair(name: str, bounds: Any) -> tuple[float, float]:
    example = f'controls={{"{name}": (0, 3)}}'
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        allowed = f"{name} needs two bounds, the lower one first"
        raise InputError("controls", short_repr(bounds), allowed, example)
    low, high = (float(finite_number("controls", x, at_least=0.0, hint=example)) for x in bounds)
    if low >= high:
        allowed = f"the first bound of {name} has to be the lower one"
        raise InputError("controls", f"({low:g}, {high:g})", allowed, example)
    return low, high


def check_goal(scenario: Scenario, start: Overlaps, until: Any, error: Any) -> None:
    """Refuse final times and errors that cannot be a goal, and teachers that drift."""
    check_fits("start", scenario, start, batches=((),))
    if (until is None) == (error is None):
        received = "neither" if until is None else "both"
        allowed = "exactly one of the two is needed"
        raise InputError("until and error", received, allowed, "until=60, or error=1e-4")
    if float(scenario.drift) > 0:
        allowed = "with drifting teachers learning does not end, and the best rates are constant"
        raise InputError(
            "scenario", f"drift = {scenario.drift}", allowed, "tl.online.best_tracking"
        )
    if until is not None:
        finite_number("until", until, above=0.0, hint="until=60")
        return
    check_error(scenario, start, error)


def check_error(scenario: Scenario, start: Overlaps, error: Any) -> None:
    """Refuse an error that is too small, or not below the error of the start."""
    finite_number("error", error, at_least=SMALLEST_ERROR, hint="error=1e-4")
    first = float(generalization_error(scenario, start))
    if error >= first:
        raise InputError(
            "error",
            short_repr(error),
            f"it has to be below the error at the start, {first:g}",
            f"error={0.1 * first:.1g}",
        )


def check_plateau_is_left(search: Search, constant: Constant, error: float) -> None:
    """Refuse a final time at which even the best schedule is still on the plateau.

    constant: the best constant controls for this end.
    error: ε_g at the end with the best schedule.

    Before the escape hardly anything depends on the schedule: the optimum is that of the plateau.
    """
    names, end = search.system.names, constant.end
    named = search.system.fixed | dict(zip(names, constant.values, strict=True))
    rate = float(named["learning_rate"])
    point = saddle(search.system.flow, constant_run(search, constant.values, LONGEST_TIME), rate)
    if point is None or error < LEFT_FRACTION * point.generalization_error:
        return
    height = point.generalization_error
    try:
        first = best_constant(search._replace(until=None, error=LEFT_FRACTION * height))
    except ComputationError:  # with label noise this error may be below every reachable one
        return
    if first.end > end:
        raise InputError(
            "until",
            f"{end:g}",
            f"this is on the plateau at ε_g = {height:.3g}, which constant rates leave at α = "
            f"{first.end:.3g} or later",
            f"until={math.ceil(1.2 * first.end)}",
        )
