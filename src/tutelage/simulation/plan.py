"""What all simulations share: sizes, seed and recorded times, checked at the door."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage._checks import InputError, positive_integer
from tutelage._jax import jnp
from tutelage.model import Scenario, timing
from tutelage.model.scenario import check_scenario
from tutelage.model.timing import recorded_times


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
    check_scenario(scenario)
    N = positive_integer("dimension", dimension, hint="dimension=1000")
    n = scenario.K + scenario.M
    if n > N:
        raise InputError("dimension", repr(N), f"{n} vectors need at least {n} dimensions")
    array = recorded_times(times, until)
    last = max(1, round(float(until) * N))
    # Times that round to the same number of examples are merged.
    recorded = np.unique(np.minimum(np.rint(array * N).astype(np.int64), last))
    rate = timing.learning_rate(learning_rate, recorded / N, float(until), limit=False, runs=False)
    rates = np.broadcast_to(rate.at(recorded / N).first, recorded.shape)
    runs = positive_integer("runs", runs, hint="runs=10")
    return Plan(N, recorded, rates, last, runs, check_seed(seed))


def check_seed(seed: Any) -> int:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) < 2**63:
        raise InputError(
            "seed", repr(seed), "it has to be a whole number from 0 to 2⁶³ - 1", "seed=0"
        )
    return int(seed)


def as_rate(learning_rate: Any) -> Any:
    """The schedule, or the number as an array, so that another number needs no compilation."""
    return learning_rate if callable(learning_rate) else jnp.asarray(learning_rate, float)


def rate_at(learning_rate: Any, time: Any) -> Any:
    """η(α) of a schedule or a number."""
    return learning_rate(time) if callable(learning_rate) else learning_rate
