"""What all simulations share: sizes, seed and recorded times, checked at the door."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage._checks import (
    InputError,
    finite_array,
    finite_number,
    positive_integer,
    schedule,
)
from tutelage._jax import jnp
from tutelage.model import Scenario


class Plan(NamedTuple):
    """N, numbers of examples at which to record, η there, number of all examples, runs, seed."""

    dimension: int
    recorded: Int[np.ndarray, " times"]
    rates: Float[np.ndarray, " times"]
    examples: int
    runs: int
    seed: int

    @property
    def times(self) -> Float[np.ndarray, " times"]:
        """α = examples/N."""
        return self.recorded / self.dimension


def plan(
    scenario: Scenario,
    learning_rate: Any,
    dimension: Any,
    until: Any,
    runs: Any = 1,
    seed: Any = 0,
    times: Any = None,
) -> Plan:
    """Check the arguments that all simulations share; times are rounded to whole examples.

    Args:
        scenario: who learns from whom.
        learning_rate: η > 0, or a schedule η(α) written with ``jax.numpy``.
        dimension: N >= K + M.
        until: the last time α > 0.
        runs: at least 1.
        seed: from 0 to 2⁶³ - 1.
        times: when to record, increasing; by default 401 equidistant times from 0 to ``until``.

    >>> import tutelage as tl
    >>> from tutelage.simulation.plan import plan
    >>> one = tl.Committee(1, tl.ReLU())
    >>> plan(tl.Scenario(one, one), 1.0, dimension=100, until=2, times=[0, 0.501, 2]).times
    array([0. , 0.5, 2. ])
    """
    if not isinstance(scenario, Scenario):
        raise InputError("scenario", repr(scenario), "it has to be a Scenario", "tl.Scenario(...)")
    N = positive_integer("dimension", dimension, hint="dimension=1000")
    n = scenario.K + scenario.M
    if n > N:
        raise InputError("dimension", repr(N), f"{n} vectors need at least {n} dimensions")
    finite_number("until", until, above=0.0, hint="until=100")
    last = max(1, round(float(until) * N))
    recorded = _recorded(times, float(until), N, last)
    rates = _rates(learning_rate, recorded / N)
    runs = positive_integer("runs", runs, hint="runs=10")
    return Plan(N, recorded, rates, last, runs, check_seed(seed))


def check_seed(seed: Any) -> int:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) < 2**63:
        raise InputError(
            "seed", repr(seed), "it has to be a whole number from 0 to 2⁶³ - 1", "seed=0"
        )
    return int(seed)


def _recorded(times: Any, until: float, N: int, last: int) -> Int[np.ndarray, " times"]:
    """Numbers of examples at the recorded times; times that round to the same are merged."""
    array = np.linspace(0.0, until, 401) if times is None else finite_array("times", times)
    increasing = array.ndim == 1 and len(array) > 0 and np.all(np.diff(array) > 0)
    if not increasing or array[0] < 0 or array[-1] > until:
        ends = f" from {array.flat[0]:g} to {array.flat[-1]:g}" if array.size else ""
        raise InputError(
            "times",
            f"an array of shape {array.shape}{ends}",
            f"times have to increase, from 0 or later to at most until = {until:g}",
            "np.linspace(0, until, 201), or np.geomspace(0.1, until, 201)",
        )
    return np.unique(np.minimum(np.rint(array * N).astype(np.int64), last))


def _rates(learning_rate: Any, times: Float[np.ndarray, " times"]) -> Float[np.ndarray, " times"]:
    """η at the recorded times."""
    if not callable(learning_rate):
        finite_number("learning_rate", learning_rate, at_least=0.0, hint="learning_rate=1.0")
        if learning_rate == 0:
            raise InputError(
                "learning_rate",
                "0",
                "a simulation has no limit η → 0",
                "a small one, such as 0.01, and times in units of 1/η",
            )
        return np.full(len(times), float(learning_rate))
    schedule("learning_rate", learning_rate, np.linspace(0.0, times[-1], 101))
    return schedule("learning_rate", learning_rate, times)


def as_rate(learning_rate: Any) -> Any:
    """The schedule, or the number as an array, so that another number needs no compilation."""
    return learning_rate if callable(learning_rate) else jnp.asarray(learning_rate, float)


def rate_at(learning_rate: Any, time: Any) -> Any:
    """η(α) of a schedule or a number."""
    return learning_rate(time) if callable(learning_rate) else learning_rate
