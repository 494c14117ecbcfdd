"""Schedules that a training can use: linear between knots, or constant between switches."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_array, is_traced, positive_integer
from tutelage._given import ArrayLike
from tutelage._jax import jnp
from tutelage._names import with_checked_arguments
from tutelage._types import FloatOrArray, Scalar


class StepSchedule(eqx.Module):
    """A function of the time α, with a form for frameworks that count steps."""

    def __call__(self, time: FloatOrArray) -> Any:
        """Return the value at a time α."""
        raise NotImplementedError

    def per_step(self, dimension: int) -> Callable[[Any], Any]:
        """Return the learning rate η(k/N)/N as a function of the step k, for N inputs.

        dimension: N.

        Optax and PyTorch take the result: ``optax.sgd(schedule.per_step(N))``, and for
        ``torch.optim.SGD(..., lr=1.0)`` ``LambdaLR(optimizer, schedule.per_step(N))``.  Steps with
        the mean gradient of a batch count as one each.
        """
        N = positive_integer("dimension", dimension, "1000")

        def rate(step: Scalar) -> Any:
            if is_traced(step):
                return self(jnp.asarray(step, float) / N) / N
            return float(self(step / N)) / N

        return rate


@with_checked_arguments
class LinearSchedule(StepSchedule):
    """A control that is linear in time between knots, and constant after the last one.

    times: increasing, shape (n,);  values: shape (n,), not negative.

    >>> import tutelage as tl
    >>> schedule = tl.online.LinearSchedule(times=[0.0, 10.0], values=[1.0, 0.5])
    >>> float(schedule(5.0)), float(schedule(30.0)), schedule.per_step(100)(500)
    (0.75, 0.5, 0.0075)
    """

    times: Float[Array, " n"]
    values: Float[Array, " n"]

    def __init__(self, times: ArrayLike, values: ArrayLike):
        self.times, self.values = as_row("times", times), as_row("values", values)
        if self.times.shape != self.values.shape:
            received = f"{len(self.values)} values for {len(self.times)} times"
            raise InputError("values", received, "there is one value for each time")
        if not is_traced(self.times) and np.any(np.diff(np.asarray(self.times)) <= 0):
            raise InputError("times", "times that do not increase", "they have to increase")

    def __repr__(self) -> str:
        if len(self.times) > 8:
            ends = f"{float(self.times[0]):g} to {float(self.times[-1]):g}"
            return f"LinearSchedule({len(self.times)} knots from {ends})"
        times, values = (np.round(np.asarray(x), 6).tolist() for x in (self.times, self.values))
        return f"LinearSchedule(times={times}, values={values})"

    def __call__(self, time: FloatOrArray) -> Any:
        """Return the value at a time."""
        return jnp.interp(jnp.asarray(time, float), self.times, self.values)


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

    def __init__(self, rates: ArrayLike, switches: ArrayLike):
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

    def __call__(self, time: FloatOrArray) -> Any:
        """Return η at a time."""
        return self.rates[jnp.searchsorted(self.switches, time, side="right")]


def _switches(value: ArrayLike) -> Float[Array, " n"]:
    """Check a list of times, which may be empty."""
    empty = (isinstance(value, list | tuple) and not value) or getattr(value, "shape", None) == (0,)
    return jnp.zeros(0) if empty else as_row("switches", value)


def as_row(argument: str, value: ArrayLike) -> Float[Array, " n"]:
    """Check a list of numbers and return it as an array; traced values pass."""
    row = jnp.asarray(value if is_traced(value) else finite_array(argument, value), float)
    if row.ndim != 1 or not len(row):
        raise InputError(argument, f"shape {row.shape}", "it has to be a list of numbers")
    return row
