"""Times and learning rates, checked once at the door.

A learning rate is the number 0 (the limit η → 0), a number, an array of numbers for as many runs,
or a schedule η(time).  `learning_rate` makes a `Rate` or a `Scheduled` of it; ``.at(t)`` is the
`Rate` at a time, which holds all that the equations need to know,

    d(overlaps)/dα = first · (terms in ⟨δ v⟩) + second · (terms in ⟨δ δ⟩) - decay.

In the limit time is measured in units of 1/η, ``first`` is 1 and ``second`` is None: the terms in
⟨δ δ⟩ are not computed.  `rate_of` makes a `Rate` of a number that needs no check.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tutelage._checks import InputError, finite_array, finite_number, shape_of
from tutelage._jax import jax, jnp

RECORDED_TIMES = 401
# A schedule is looked at so often between the recorded times.
LOOKED_AT = 101


class Rate(eqx.Module):
    """A learning rate at one time, or one that does not change; () or one entry for each run.

    first: η, the factor of the terms of first order; 1 in the limit η → 0.
    limit: whether this is the limit.
    """

    first: Any
    limit: bool = eqx.field(static=True, default=False)

    @property
    def second(self) -> Any | None:
        """η², the factor of the terms of second order; None in the limit."""
        return None if self.limit else self.first**2

    @property
    def unit(self) -> Any:
        """The size of rates of change: 1/unit is the time in which a run moves."""
        return self.first

    def at(self, time: Any) -> "Rate":
        """The same at all times."""
        return self

    def of_run(self, run: tuple[int, ...]) -> "Rate":
        """The rate of one of several runs."""
        return jax.tree.map(lambda x: x[run], self) if np.ndim(self.first) else self


LIMIT = Rate(1.0, limit=True)


class Scheduled(eqx.Module):
    """A learning rate that changes, η(time), the same for all runs."""

    function: Callable[[Any], Any]

    def at(self, time: Any) -> Rate:
        """η and η² at a time, or at one time for each run."""
        return rate_of(jnp.vectorize(self.function)(time))

    def of_run(self, run: tuple[int, ...]) -> "Scheduled":
        """The same for all runs."""
        return self


def rate_of(learning_rate: Any) -> Rate:
    """The number 0 as the limit, another number or an array as it is, a `Rate` as it is.

    >>> rate_of(0.5).second, rate_of(0).second
    (0.25, None)
    """
    if isinstance(learning_rate, Rate):
        return learning_rate
    if isinstance(learning_rate, int | float) and learning_rate == 0:
        return LIMIT
    return Rate(learning_rate)


def learning_rate(
    value: Any,
    times: Float[np.ndarray, " times"],
    until: float,
    *,
    limit: bool = True,
    runs: bool = True,
) -> Rate | Scheduled:
    """What a user gave as a learning rate, refused if it cannot be used.

    times, until: when a run is recorded and when it ends: a schedule has to be finite until then.
    limit, runs: whether 0 is allowed, for the limit η → 0, and an array, for several runs.
    """
    if callable(value):
        _check_schedule(value, np.union1d(times, np.linspace(0.0, until, LOOKED_AT)))
        return Scheduled(value)
    shape = shape_of("learning_rate", value)
    if shape == ():
        finite_number("learning_rate", value, at_least=0.0, hint="learning_rate=1.0")
        if value == 0 and not limit:
            raise InputError(
                "learning_rate",
                "0",
                "a simulation has no limit η → 0",
                "a small one, such as 0.01, and times in units of 1/η",
            )
        # As an array the number is data: another one needs no other program.
        return LIMIT if value == 0 else rate_of(np.asarray(value, dtype=np.float64))
    if not runs:
        raise InputError("learning_rate", f"shape {shape}", "it has to be one number")
    return rate_of(_several(value))


def _several(value: Any) -> Float[np.ndarray, " runs"]:
    values = finite_array("learning_rate", value)
    if not values.size:
        raise InputError("learning_rate", "an empty array", "there has to be a run", "[0.5, 1.0]")
    if np.any(values == 0):
        raise InputError("learning_rate", "0 in an array", "the limit η → 0 is a run of its own")
    if np.any(values < 0):
        where = int(np.argmax(values < 0))
        came = f"{values.flat[where]} at index {where}"
        raise InputError("learning_rate", came, "a learning rate has to be positive")
    return values


def _check_schedule(function: Any, times: Float[np.ndarray, " times"]) -> None:
    """A function that can be compiled, with a finite η >= 0 at all times."""
    try:
        traced = jax.eval_shape(function, jax.ShapeDtypeStruct((), np.float64))
    except Exception as problem:
        raise InputError(
            "learning_rate",
            f"a function that fails when compiled ({type(problem).__name__})",
            "a schedule is a function of one number, written with jax.numpy",
            "jnp.exp(-t) for math.exp(-t), jnp.where(t < 5, 1.0, 0.5) for a choice",
        ) from None
    if getattr(traced, "shape", ()) != ():
        came = f"a function with values of shape {traced.shape}"
        raise InputError("learning_rate", came, "it has to return one number")
    with np.errstate(all="ignore"):  # what is not finite is refused below
        values = np.array([float(function(np.float64(t))) for t in times])
    bad = ~np.isfinite(values) | (values < 0)
    if np.any(bad):
        where = int(np.argmax(bad))
        raise InputError(
            "learning_rate",
            f"{values[where]} at time {times[where]:g}",
            "a learning rate has to be finite and not negative",
        )


def recorded_times(times: Any, until: Any) -> Float[np.ndarray, " times"]:
    """When to record: increasing times from 0 or later to ``until``; by default 401 of them."""
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
            f"times have to increase, from 0 or later to at most until = {until:g}",
            "np.linspace(0, until, 201), or np.geomspace(0.1, until, 201)",
        )
    return array


def time_axis(times: Float[np.ndarray, " times"]) -> tuple[str, np.ndarray, dict[str, str]]:
    """The coordinate ``time`` of a Dataset."""
    return ("time", times, {"long_name": "examples per input", "symbol": "α"})
