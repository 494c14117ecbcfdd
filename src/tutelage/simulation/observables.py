"""Observables of the runs, and their Dataset, with the same variables as the theory.

A system gives arrays by name; `OBSERVABLES` has their axes and symbols.  Recording, checkpoints,
statistics and comparisons take every name of this table that is there.  To observe something
more of the overlaps, add it here: to `OBSERVABLES`, and to what `of_overlaps` returns.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.averages.generalization import generalization_error, is_exact
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import BLOCKS, Block
from tutelage.model.teachers import decorrelates, scale_off_diagonal
from tutelage.runs.stored_jit import stored_jit
from tutelage.simulation.ensemble import Ensemble

# Observables in the order in which components are listed: blocks of a state, then ε_g.
OBSERVABLES = {b.name: b for b in (*BLOCKS, Block("generalization_error", "ε_g"))}
# The inputs over which ε_g is averaged.
GAUSSIAN = "Gaussian, from the overlaps"
ON_ROWS = "the rows given as inputs"

# Errors are always computed for this many states at a time: one compilation serves every simulation
# of a scenario, and no bit depends on the number of runs. On a GPU a formula takes as long for a
# hundred times as many; numerical integration does not.
AT_ONCE = 512
# On a processor numerical integration takes up to a tenth of a second per state.
AT_ONCE_INTEGRATED = 16
AT_ONCE_ON_GPU = 2**16


def of_overlaps(
    Q: Float[Array, "runs K K"],
    R: Float[Array, "runs K M"],
    v: Float[Array, "runs outputs K"] | None = None,
) -> dict[str, Float[Array, "runs ..."]]:
    """Return the observables that follow from the overlaps, and v if it learns."""
    return {"Q": Q, "R": R} | ({} if v is None else {"readout": v})


@dataclass
class Observations:
    """Observables of the runs at the recorded times, by name; NaN until they are observed.

    ended: -1, or the examples after which a run diverged.
    """

    values: dict[str, Float[np.ndarray, "runs times ..."]]
    ended: Int[np.ndarray, " runs"]

    @classmethod
    def empty(cls, like: dict[str, jax.ShapeDtypeStruct], ensemble: Ensemble) -> "Observations":
        """Return records without observations; ``like`` has the shapes of the observables."""
        # The time axis comes first in memory, because all runs are observed at the same time.
        shape = (len(ensemble.recorded), ensemble.runs)
        values = {
            name: np.full((*shape, *x.shape[1:]), np.nan).swapaxes(0, 1) for name, x in like.items()
        }
        return cls(values, np.full(ensemble.runs, -1))

    def add(self, runs: slice, time: int, observed: dict[str, Float[Array, "runs ..."]]) -> None:
        """Store the observables of some runs at the recorded time of this index."""
        count = len(self.ended[runs])  # a padded batch has more runs than requested
        for name, x in observed.items():
            self.values[name][runs, time] = np.asarray(x)[:count]

    def end(self, runs: slice, ended: Int[Array, " runs"]) -> None:
        """Store when these runs have ended."""
        self.ended[runs] = np.asarray(ended)[: len(self.ended[runs])]


def dataset(scenario: Scenario, ensemble: Ensemble, observations: Observations) -> xr.Dataset:
    """Return a Dataset of the observables, with ε_g of Gaussian inputs unless it was measured.

    Missing (NaN) after a run has diverged.
    """
    diverged = observations.ended >= 0
    missing = diverged[:, None] & (ensemble.recorded > observations.ended[:, None])
    values = {name: np.array(x) for name, x in observations.values.items()}
    for x in values.values():
        x[missing] = np.nan
    measured = "generalization_error" in values
    if not measured:
        T = np.broadcast_to(_teachers(scenario, ensemble), (*missing.shape, *scenario.T.shape))
        values["generalization_error"] = errors(scenario, values, T, ~missing)
    result = xr.Dataset(
        {name: (("run", "time", *OBSERVABLES[name].dimensions), x) for name, x in values.items()},
        {"time": ("time", ensemble.times, {"long_name": "examples per input", "symbol": "α"})},
    )
    result["generalization_error"].attrs["inputs"] = ON_ROWS if measured else GAUSSIAN
    if decorrelates(scenario.drift, scenario.T):
        over_time = (("time", "teacher", "teacher_2"), _teachers(scenario, ensemble))
        result = result.assign_coords(
            teacher_2=np.arange(1, scenario.M + 1), teacher_overlaps=over_time
        )
    units = [d for name in values for d in OBSERVABLES[name].dimensions]
    ended = np.where(diverged, observations.ended, ensemble.examples) / ensemble.dimension
    return result.assign_coords({d: np.arange(1, result.sizes[d] + 1) for d in units}).assign(
        outcome=("run", np.where(diverged, "diverged", "reached")), ended_at=("run", ended)
    )


def _teachers(scenario: Scenario, ensemble: Ensemble) -> Float[np.ndarray, "times M M"]:
    """Return T at the recorded times: a step multiplies T_nm by (1 - δ/N)² for n ≠ m."""
    share = (1 - float(scenario.drift) / ensemble.dimension) ** (2 * ensemble.recorded)
    return scale_off_diagonal(np.asarray(scenario.T), share)


def errors(
    scenario: Scenario, observed: dict[str, np.ndarray], T: np.ndarray, present: np.ndarray
) -> np.ndarray:
    """Return ε_g of every state that is present, from its blocks and its T."""
    states = {b.name: observed[b.name][present] for b in BLOCKS if b.name in observed}
    inputs, values = (states, T[present]), np.empty(np.sum(present))
    size = _at_once(scenario)
    for begin in range(0, len(values), size):
        end = min(begin + size, len(values))
        index = np.minimum(np.arange(begin, begin + size), end - 1)
        blocks, teachers = jax.tree.map(lambda x, index=index: x[index], inputs)
        values[begin:end] = _error(scenario, blocks, teachers)[: end - begin]
    errors = np.full(present.shape, np.nan)
    errors[present] = values
    return errors


def _at_once(scenario: Scenario) -> int:
    exact, on_gpu = is_exact(scenario), jax.default_backend() == "gpu"
    if on_gpu:
        return AT_ONCE_ON_GPU if exact else AT_ONCE
    return AT_ONCE if exact else AT_ONCE_INTEGRATED


@stored_jit
def _error(
    scenario: Scenario, blocks: dict[str, Float[Array, "states ..."]], T: Float[Array, "states M M"]
) -> Any:
    states = jax.tree.map(jnp.asarray, (blocks, T))
    if "readout" not in blocks:
        return _error_of_state(scenario, states)
    of_state = partial(_error_of_state, scenario)
    if is_exact(scenario):
        return jax.vmap(of_state)(states)
    # Each state chooses its integration rule.  Under `vmap` every state would compute all of them.
    return jax.lax.map(of_state, states)


def _error_of_state(
    scenario: Scenario, state: tuple[dict[str, Array], Float[Array, "*states M M"]]
) -> Any:
    blocks, T = state
    if "readout" in blocks:
        scenario = scenario.with_readout(blocks["readout"])
    return generalization_error(scenario, Overlaps(blocks["Q"], blocks["R"], T))
