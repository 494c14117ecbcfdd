"""An ensemble of runs: sizes, random keys and recorded times, validated."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from tutelage._checks import InputError, positive_integer
from tutelage._given import ArrayLike, RateLike, TimeFunction
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage.model import Scenario, timing
from tutelage.model.scenario import check_scenario
from tutelage.runs.seed import check_seed

# Copies of the records that exist at a time: observations, the Dataset, and its error.
RECORD_COPIES = 3


@dataclass(frozen=True)
class Ensemble:
    """The number, size and length of runs.

    dimension: N.
    recorded: numbers of examples after which to record.
    examples: the number of all examples.
    """

    dimension: int
    recorded: Int[np.ndarray, " times"]
    examples: int
    runs: int
    seed: int

    @classmethod
    def checked(
        cls,
        scenario: Scenario,
        dimension: int,
        until: float,
        runs: int,
        seed: int,
        times: ArrayLike | None,
    ) -> "Ensemble":
        """Check the arguments that all simulations share; times are rounded to whole examples.

        >>> import tutelage as tl
        >>> one = tl.Committee(1, tl.ReLU())
        >>> Ensemble.checked(tl.Scenario(one, one), 100, 2.0, 1, 0, [0, 0.501, 2]).times
        array([0. , 0.5, 2. ])
        """
        N = check_dimension(scenario, dimension)
        at = timing.recorded_times(times, until)
        if not float(until) * N < 2**53:  # beyond 2⁵³ examples are not counted exactly
            received, allowed = (
                f"{float(until):g} with N = {N}",
                "there are too many examples to count",
            )
            raise InputError("until", received, allowed, f"until={2**50 / N:.3g}")
        last = max(1, round(float(until) * N))
        recorded = np.unique(np.minimum(np.rint(at * N).astype(np.int64), last))
        runs = positive_integer("runs", runs, hint="runs=10")
        size = len(recorded) * (scenario.K * (scenario.K + scenario.M + scenario.outputs) + 1)
        check_memory(
            "runs", runs, lambda runs: 8 * RECORD_COPIES * runs * size, "the records of all runs"
        )
        return cls(N, recorded, last, runs, check_seed(seed))

    @property
    def times(self) -> Float[np.ndarray, " times"]:
        """α = examples/N."""
        return self.recorded / self.dimension

    def rate(
        self,
        learning_rate: RateLike,
        readout_rate: RateLike = 0.0,
        weight_decay: TimeFunction | None = None,
    ) -> timing.Rate | timing.Scheduled:
        """Check rates and decay at all times of the runs; return them as one object."""
        until = self.examples / self.dimension
        rate = timing.learning_rate(learning_rate, self.times, until, limit=False, runs=False)
        rate = timing.with_readout_rate(
            rate, timing.readout_rate(readout_rate, self.times, until, runs=False)
        )
        return timing.with_weight_decay(rate, weight_decay, self.times, until)


def check_dimension(scenario: Scenario, dimension: int) -> int:
    """Check that N inputs suffice for the K + M weight vectors of a scenario."""
    check_scenario(scenario, time_dependent_T=True)
    N, n = positive_integer("dimension", dimension, "dimension=1000"), scenario.K + scenario.M
    if n > N:
        raise InputError("dimension", repr(N), f"{n} vectors need at least {n} dimensions")
    if scenario.drift > 0:
        _check_walk(scenario, N)
    return N


def _check_walk(scenario: Scenario, N: int) -> None:
    """Check that drifting teachers have free directions, and rotate by at most a right angle."""
    least = scenario.K + 2 * scenario.M + 1
    if least > N:
        allowed = f"{scenario.M} teachers that drift need at least {least} dimensions"
        raise InputError("dimension", repr(N), allowed, "dimension=1000")
    if scenario.drift > N:
        allowed = f"with N = {N} inputs it has to be at most N"
        raise InputError("drift", f"{scenario.drift:g}", allowed, "drift=0.1")


def run_keys(seed: int, first: int, count: int) -> Any:
    """Return one JAX key for each of the runs first, …, first + count - 1."""
    root = jax.random.key(seed)
    return jax.vmap(lambda run: jax.random.fold_in(root, run))(jnp.arange(first, first + count))


def equal_batches(runs: int, at_most: int) -> int:
    """Return the size of equal batches, so that one compiled program serves all.

    >>> equal_batches(10, at_most=4)
    4
    >>> equal_batches(9, at_most=6)
    5
    """
    return -(-runs // -(-runs // at_most))
