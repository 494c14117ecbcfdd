"""Validation of times and learning rates.

A learning rate is the number 0 (the limit η → 0), a number, an array of numbers for as many runs,
or a schedule η(time).  `learning_rate` makes a `Rate` or a `Scheduled` of it; ``.at(t)`` is the
`Rate` at a time, which holds all that the equations need to know,

    d(overlaps)/dα = first · (terms in ⟨δ v⟩) + second · (terms in ⟨δ δ⟩) - decay.

In the limit time is measured in units of 1/η, ``first`` is 1 and ``second`` is None: the terms in
⟨δ δ⟩ are not computed.  `rate_of` makes a `Rate` of a number that needs no check.

A second layer that learns has its own rate η_v: `readout_rate` and `with_readout_rate`.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tutelage._checks import InputError, finite_array, finite_number, shape_of, short_repr
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage._module import Module, PlainModule
from tutelage._types import FloatOrArray

RECORDED_TIMES = 401
# Additional times between 0 and the end at which a schedule is checked.
SCHEDULE_CHECKS = 101
READOUT, DECAY = "readout_rate", "weight_decay"


class Rate(PlainModule):
    """A constant learning rate, or a learning rate at one time; shape () or one entry per run.

    first: η, the factor of the terms of first order; 1 in the limit η → 0.
    limit: whether this is the limit η → 0.
    readout: η_v of the second layer, in units of η in the limit; None if it does not learn.
    decay: γ, where a schedule takes the place of the scenario's weight decay; None otherwise.
    """

    first: Any
    limit: bool = eqx.field(static=True, default=False)
    readout: Any = None
    decay: Any = None

    def __init__(self, first: Any, limit: bool = False, readout: Any = None, decay: Any = None):
        self._set_fields(first=first, limit=limit, readout=readout, decay=decay)

    @property
    def second(self) -> Any | None:
        """η², the factor of the terms of second order; None in the limit η → 0."""
        return None if self.limit else self.first**2

    @property
    def unit(self) -> Any:
        """Scale of the rates of change: 1/unit is the time scale of a run."""
        return self.first

    def at(self, time: FloatOrArray) -> "Rate":
        """Return the rate itself, which is constant."""
        return self

    def of_run(self, run: tuple[int, ...]) -> "Rate":
        """Return the rate of one run."""
        rate: Rate = jax.tree.map(lambda x: x[run] if np.ndim(x) else x, self)
        return rate


LIMIT = Rate(1.0, limit=True)


class Scheduled(Module):
    """Schedules η(time) of both layers, the same for all runs.

    function, readout: a function of time or a number; ``readout`` may be None.
    decay: γ(time), instead of the scenario's weight decay; None to keep that.
    """

    function: Any
    readout: Any = None
    decay: Any = None

    def at(self, time: FloatOrArray) -> Rate:
        """Return the rates at a time, or at one time per run."""

        def now(rate: FloatOrArray | Callable[..., Any] | None) -> Any:
            return jnp.vectorize(rate)(time) if callable(rate) else rate

        return Rate(now(self.function), readout=now(self.readout), decay=now(self.decay))

    def of_run(self, run: tuple[int, ...]) -> "Scheduled":
        """Return the schedules of one run: functions are the same for all, numbers may differ."""
        rates = (self.function, self.readout)
        first, readout = (x if callable(x) or not np.ndim(x) else x[run] for x in rates)
        return Scheduled(first, readout, self.decay)


def rate_of(learning_rate: "FloatOrArray | Rate") -> Rate:
    """Convert a number or an array to a `Rate`; the number 0 is the limit η → 0.

    >>> rate_of(0.5).second, rate_of(0).second
    (0.25, None)
    """
    if isinstance(learning_rate, Rate):
        return learning_rate
    if isinstance(learning_rate, int | float) and learning_rate == 0:
        return LIMIT
    return Rate(learning_rate)


def learning_rate(
    value: ArrayLike | Callable[..., Any],
    times: Float[np.ndarray, " times"],
    until: float,
    *,
    limit: bool = True,
    runs: bool = True,
) -> Rate | Scheduled:
    """Check a learning rate and convert it to a `Rate` or a `Scheduled`.

    times, until: recorded times and end of a run, until which a schedule has to be finite.
    limit, runs: whether 0 is allowed, for the limit η → 0, and an array, one rate per run.
    """
    if callable(value):
        _check_schedule(value, np.union1d(times, np.linspace(0.0, until, SCHEDULE_CHECKS)))
        return Scheduled(value)
    shape = shape_of("learning_rate", value)
    if shape == ():
        finite_number("learning_rate", value, at_least=0.0, hint="learning_rate=1.0")
        if value == 0 and not limit:
            raise InputError(
                "learning_rate",
                "0",
                "learning in single steps has no limit η → 0",
                "learning_rate=0.01, with times in units of 1/η",
            )
        # An array is an input of a compiled program, so other values use the same program.
        return LIMIT if value == 0 else rate_of(np.asarray(value, dtype=np.float64))
    if not runs:
        raise InputError("learning_rate", f"shape {shape}", "it has to be one number")
    return rate_of(_per_run_rates(value))


def readout_rate(
    value: ArrayLike | Callable[..., Any],
    times: Float[np.ndarray, " times"],
    until: float,
    *,
    runs: bool = True,
) -> Any:
    """Check the learning rate of the second layer; None for 0, with which it is fixed."""
    if callable(value):
        _check_schedule(value, np.union1d(times, np.linspace(0.0, until, SCHEDULE_CHECKS)), READOUT)
        return value
    shape = shape_of(READOUT, value)
    if shape == ():
        finite_number(READOUT, value, at_least=0.0, hint="readout_rate=0.5, or 0 to keep it fixed")
        return None if value == 0 else np.asarray(value, dtype=np.float64)
    if not runs:
        raise InputError(READOUT, f"shape {shape}", "it has to be one number")
    return _per_run_rates(value, READOUT)


def with_readout_rate(
    rate: Rate | Scheduled, readout: FloatOrArray | Callable[..., Any] | None
) -> Rate | Scheduled:
    """Add the learning rate of the second layer, as `readout_rate` returns it."""
    if isinstance(rate, Scheduled):
        return Scheduled(rate.function, readout)
    if readout is None:
        return rate
    if not callable(readout):
        return Rate(rate.first, rate.limit, readout)
    if rate.limit:
        raise InputError(
            READOUT, "a schedule", "in the limit η → 0 it has to be a number, in units of η", "1.0"
        )
    return Scheduled(rate.first, readout)


def with_weight_decay(
    rate: Rate | Scheduled, value: object, times: Float[np.ndarray, " times"], until: float
) -> Rate | Scheduled:
    """Add a schedule of the weight decay, γ(time), to the rates; with None, the scenario's value
    is used.
    """
    if value is None:
        return rate
    hint = "tl.Scenario(..., weight_decay=0.1) for a constant one"
    if not callable(value):
        raise InputError(DECAY, short_repr(value), "here it has to be a schedule, γ(time)", hint)
    if isinstance(rate, Rate) and rate.limit:
        raise InputError(DECAY, "a schedule", "in the limit η → 0 it has to be a number", hint)
    _check_schedule(value, np.union1d(times, np.linspace(0.0, until, SCHEDULE_CHECKS)), DECAY)
    first = rate.function if isinstance(rate, Scheduled) else rate.first
    return Scheduled(first, rate.readout, value)


def _per_run_rates(value: ArrayLike, argument: str = "learning_rate") -> Float[np.ndarray, "..."]:
    values = finite_array(argument, value)
    if not values.size:
        raise InputError(argument, "an empty array", "it needs at least one entry", "[0.5, 1.0]")
    if argument != READOUT and np.any(values == 0):
        raise InputError(argument, "0 in an array", "the limit η → 0 needs a separate run")
    if np.any(values < 0):
        where = int(np.argmax(values < 0))
        received = f"{values.flat[where]} at index {where}"
        raise InputError(argument, received, "a learning rate has to be positive")
    return values


def _check_schedule(
    function: Callable[..., Any],
    times: Float[np.ndarray, " times"],
    argument: str = "learning_rate",
) -> None:
    """Check a schedule: a function that JAX can compile, with a finite η >= 0 at all times."""
    try:
        traced = jax.eval_shape(function, jax.core.ShapedArray((), np.dtype(np.float64)))
    except Exception as problem:
        raise InputError(
            argument,
            f"a function that fails when compiled ({type(problem).__name__})",
            "a schedule is a function of one number, written with jax.numpy",
            "jnp.exp(-t) for math.exp(-t), jnp.where(t < 5, 1.0, 0.5) for a choice",
        ) from None
    if getattr(traced, "shape", ()) != ():
        received = f"a function with values of shape {traced.shape}"
        raise InputError(argument, received, "it has to return one number")
    with np.errstate(all="ignore"):  # values that are not finite are refused below
        values = np.array([float(function(np.float64(t))) for t in times])
    bad = ~np.isfinite(values) | (values < 0)
    if np.any(bad):
        where = int(np.argmax(bad))
        raise InputError(
            argument,
            f"{values[where]} at time {times[where]:g}",
            "it has to be finite and not negative at all times",
        )


def recorded_times(times: ArrayLike | None, until: Any) -> Float[np.ndarray, " times"]:
    """Check the times to record: increasing from 0 or later to ``until``; by default 401 times."""
    finite_number("until", until, above=0.0, hint="until=100")
    if times is None:
        return np.linspace(0.0, float(until), RECORDED_TIMES)
    array = finite_array("times", times)
    increasing = array.ndim == 1 and len(array) > 0 and np.all(np.diff(array) > 0)
    if not increasing or array[0] < 0 or array[-1] > until:
        ends = f" from {array.flat[0]:g} to {array.flat[-1]:g}" if array.size else ""
        raise InputError(
            "times",
            f"an array of shape {array.shape}{ends}",
            f"times have to increase, and to be between 0 and until = {until:g}",
            "np.linspace(0, until, 201), or np.geomspace(0.1, until, 201)",
        )
    return array


def time_axis(times: Float[np.ndarray, " times"]) -> tuple[str, np.ndarray, dict[str, str]]:
    """Return the coordinate ``time`` of a Dataset."""
    return ("time", times, {"long_name": "examples per input", "symbol": "α"})
