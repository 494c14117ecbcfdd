"""What is kept of the runs, and the Dataset made of it: the same as that of the theory."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from tutelage._jax import jnp
from tutelage.averages.generalization import generalization_error
from tutelage.model import Overlaps, Scenario
from tutelage.simulation.plan import Plan

# Errors are computed for this many states at a time, always: one compilation serves every
# simulation of a scenario, and no bit depends on how many runs there are.
AT_ONCE = 512


@dataclass
class Record:
    """Q and R at the recorded times; `ended`: -1, or the examples after which a run diverged."""

    Q: Float[np.ndarray, "runs times K K"]
    R: Float[np.ndarray, "runs times K M"]
    ended: Int[np.ndarray, " runs"]
    finished: int = 0

    @classmethod
    def empty(cls, plan: Plan, K: int, M: int) -> "Record":
        """Nothing recorded yet: everything is missing."""
        shape = (plan.runs, len(plan.recorded), K)
        return cls(
            np.full((*shape, K), np.nan), np.full((*shape, M), np.nan), np.full(plan.runs, -1)
        )

    def add(self, runs: slice, time: int, Q: Any, R: Any) -> None:
        """Overlaps of some runs at the recorded time of this index."""
        kept = len(self.ended[runs])  # a batch may have more runs than were asked for
        self.Q[runs, time], self.R[runs, time] = np.asarray(Q)[:kept], np.asarray(R)[:kept]

    def finish(self, runs: slice, ended: Any) -> None:
        """These runs are over."""
        self.ended[runs] = np.asarray(ended)[: len(self.ended[runs])]
        self.finished = min(runs.stop, len(self.ended))


def dataset(scenario: Scenario, plan: Plan, record: Record, attrs: dict[str, Any]) -> xr.Dataset:
    """Q, R and the exact ε_g over run and time; missing (NaN) after a run has diverged."""
    diverged = record.ended >= 0
    missing = diverged[:, None] & (plan.recorded > record.ended[:, None])
    Q = np.where(missing[..., None, None], np.nan, record.Q)
    R = np.where(missing[..., None, None], np.nan, record.R)
    ended = np.where(diverged, record.ended, plan.examples)
    return xr.Dataset(
        {
            "Q": (("run", "time", "student", "student_2"), Q),
            "R": (("run", "time", "student", "teacher"), R),
            "generalization_error": (("run", "time"), _errors(scenario, Q, R, ~missing)),
            "outcome": ("run", np.where(diverged, "diverged", "reached")),
            "ended_at": ("run", ended / plan.dimension),
        },
        coords={
            "time": ("time", plan.times, {"long_name": "examples per input", "symbol": "α"}),
            "student": np.arange(1, scenario.K + 1),
            "student_2": np.arange(1, scenario.K + 1),
            "teacher": np.arange(1, scenario.M + 1),
        },
        attrs=attrs,
    )


def _errors(scenario: Scenario, Q: Any, R: Any, present: np.ndarray) -> np.ndarray:
    """ε_g of every state that is there."""
    states_Q, states_R = Q[present], R[present]
    values = np.empty(len(states_Q))
    for begin in range(0, len(values), AT_ONCE):
        end = min(begin + AT_ONCE, len(values))
        index = np.minimum(np.arange(begin, begin + AT_ONCE), end - 1)
        values[begin:end] = _error(scenario, states_Q[index], states_R[index])[: end - begin]
    errors = np.full(present.shape, np.nan)
    errors[present] = values
    return errors


@eqx.filter_jit
def _error(scenario: Scenario, Q: Any, R: Any) -> Any:
    Q, R = jnp.asarray(Q), jnp.asarray(R)
    T = jnp.broadcast_to(scenario.T, (len(Q), *scenario.T.shape))
    return generalization_error(scenario, Overlaps(Q, R, T))
