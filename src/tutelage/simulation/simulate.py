"""Simulations of many runs in batches, with results that do not depend on the batches.

A `System` defines the start of runs, the change by examples and the observables; `simulate` does
the rest.  The random numbers of run r at example s depend on (seed, r, s) alone,
so that a run is the same, bit for bit, in a batch of any size, for any recorded times, and after
an interruption.
"""

import dataclasses
import functools
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int, Key, PyTree

from tutelage._given import FileName
from tutelage._jax import jax, jnp
from tutelage._types import FloatOrArray
from tutelage.model.layout import BLOCKS
from tutelage.runs.checkpoint import Checkpoint, digest, flat, restored
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import described
from tutelage.runs.stored_jit import stored_jit
from tutelage.simulation.ensemble import Ensemble, run_keys
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.observables import Observations, dataset

# Overlaps that exceed this have diverged: the η² terms dominate all others by then.
LARGEST_OVERLAP = 1e6
# Compiled calls take about this time: short enough for Ctrl-C, long enough for their overhead.
MAX_CALL_SECONDS = 0.2


@runtime_checkable
class System(Protocol):
    """A learning system: an equinox module that ``jit`` takes as an argument.

    All its fields are compared before a run continues from a checkpoint.
    """

    rule: GradientDescent

    def batch_size(self, runs: int) -> int:
        """Return how many of the runs are computed in one batch; results do not depend on it."""

    def initial(self, keys: Key[Array, " runs"], runs: Int[Array, " runs"]) -> Any:
        """Return the state of a batch, a pytree, from the key and the number of each run."""

    def advance(
        self, state: PyTree, keys: Key[Array, " runs"], first: Int[Array, ""], count: Int[Array, ""]
    ) -> Any:
        """Learn the examples first, …, first + count - 1 in every run; traced int64, count > 0.

        To learn a then b examples has to give the same bits as to learn a + b.
        """

    def observe(self, state: PyTree) -> dict[str, Float[Array, "runs ..."]]:
        """Return Q, R and other observables of every run, with axes as in `OBSERVABLES`."""


class BatchState(NamedTuple):
    """A batch of runs: its state, the number of examples learned, and the examples at which runs
    ended, or -1.
    """

    learned: int
    state: Any
    ended: Int[Array, " runs"]


def simulate(
    system: System,
    ensemble: Ensemble,
    *,
    checkpoint: FileName | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Simulate all runs of a system; return observables at the recorded times, and ε_g.

    Args:
        system: what learns.
        ensemble: how many runs, and when they are recorded.
        checkpoint: a file that the runs are written to now and then and continue from, or None.
        progress: whether to show a bar, if there is a terminal.

    Returns:
        A Dataset with ``outcome`` ("reached" or "diverged") and ``ended_at`` of every run: the
        last time, or the last of the times N/8 examples apart at which the norms were within
        10⁶; later states are missing.
    """
    identity = _identity(system, ensemble) if checkpoint is not None else {}
    with (
        Checkpoint(checkpoint, identity) as file,
        Progress(progress, ensemble.runs * ensemble.examples) as bar,
    ):
        stored = file.load() or {}
        learned = int(stored.get("learned", 0)) * len(stored.get("batch_ended", ()))
        bar.start_from(int(stored.get("finished", 0)) * ensemble.examples + learned)
        observations = _observations(system, ensemble, stored)
        size = len(stored.get("batch_ended", ())) or system.batch_size(ensemble.runs)
        for first in range(int(stored.get("finished", 0)), ensemble.runs, size):
            runs, keys = slice(first, first + size), run_keys(ensemble.seed, first, size)
            begin, stored = _begun(system, keys, first, stored), {}
            for now in _states(system, ensemble, keys, begin):
                file.update(functools.partial(_content, observations, first, now))
                _note(system, ensemble, observations, runs, now)
                bar.show(first * ensemble.examples + size * now.learned)
            observations.end(runs, now.ended)
        file.save(_content(observations, ensemble.runs))
    return dataset(system.rule.scenario, ensemble, observations)


def _observations(
    system: System, ensemble: Ensemble, stored: dict[str, np.ndarray]
) -> Observations:
    """Return the observations of a checkpoint, or empty ones."""
    one = run_keys(ensemble.seed, 0, 1), jnp.arange(1)
    like = eqx.filter_eval_shape(lambda: system.observe(system.initial(*one)))
    if not stored:
        return Observations.empty(like, ensemble)
    return Observations({name: stored[f"observed_{name}"] for name in like}, stored["ended"])


def _content(
    observations: Observations, finished: int, now: BatchState | None = None
) -> dict[str, Any]:
    """Return the content of a checkpoint: all observations, and the current batch."""
    under_way = {} if now is None else {"learned": now.learned, "batch_ended": now.ended}
    return {
        "finished": finished,
        "ended": observations.ended,
        **{f"observed_{name}": x for name, x in observations.values.items()},
        **under_way,
        **({} if now is None else flat("state", now.state)),
    }


def _begun(
    system: System, keys: Key[Array, " runs"], first: int, stored: dict[str, np.ndarray]
) -> BatchState:
    """Return a batch at its start, or as it was stored in a checkpoint."""
    state = _initial(system, keys, jnp.arange(first, first + len(keys)))
    if "learned" not in stored:
        return BatchState(0, state, jnp.full(len(keys), -1))
    ended = jnp.asarray(stored["batch_ended"])
    return BatchState(int(stored["learned"]), restored("state", state, stored), ended)


def _states(
    system: System, ensemble: Ensemble, keys: Key[Array, " runs"], now: BatchState
) -> Iterator[BatchState]:
    """Yield the state of a batch after each compiled call, until its end."""
    checks = 1
    yield now
    while now.learned < ensemble.examples and not bool(jnp.all(now.ended >= 0)):
        begun = time.perf_counter()
        now = _learn(system, ensemble, keys, now, checks)
        checks = _next_checks(checks, time.perf_counter() - begun)
        yield now


def _note(
    system: System, ensemble: Ensemble, observations: Observations, runs: slice, now: BatchState
) -> None:
    """Store the observables if this is a recorded time."""
    place = int(np.searchsorted(ensemble.recorded, now.learned))
    if place < len(ensemble.recorded) and ensemble.recorded[place] == now.learned:
        observations.add(runs, place, _observe(system, now.state))


def _learn(
    system: System, ensemble: Ensemble, keys: Key[Array, " runs"], now: BatchState, checks: int
) -> BatchState:
    """Learn until the next recorded time, the given number of norm checks, or the end."""
    stride = _stride(ensemble.dimension)
    later = ensemble.recorded[ensemble.recorded > now.learned]
    stop = min((now.learned // stride + checks) * stride, ensemble.examples, *later[:1].tolist())
    args = (jnp.asarray(n) for n in (now.learned, stop, stride, ensemble.examples))
    state, ended = _advance(system, now.state, keys, now.ended, *args)
    return BatchState(stop, state, jax.block_until_ready(ended))


def _stride(N: int) -> int:
    """Return the number of examples between checks of the norms: N/8, as a multiple of 16."""
    return 16 * (N // 128) if N >= 128 else max(1, N // 8)


def _next_checks(checks: int, seconds: float) -> int:
    """Return twice as many checks for the next call if this one was short, half if it was long."""
    if seconds < MAX_CALL_SECONDS / 2:
        return 2 * checks
    return max(1, checks // 2) if seconds > MAX_CALL_SECONDS else checks


@stored_jit
def _initial(system: System, keys: Key[Array, " runs"], runs: Int[Array, " runs"]) -> Any:
    return system.initial(keys, runs)


@stored_jit
def _observe(system: System, state: PyTree) -> Any:
    return system.observe(state)


@stored_jit
def _advance(
    system: System,
    state: PyTree,
    keys: Key[Array, " runs"],
    ended: Int[Array, " runs"],
    first: Int[Array, ""],
    last: Int[Array, ""],
    stride: Int[Array, ""],
    end: Int[Array, ""],
) -> Any:
    """Learn the examples first to last, checking the norms at multiples of the stride."""

    def learn(carry: tuple[Int[Array, ""], PyTree, Int[Array, " runs"]]) -> Any:
        learned, state, ended = carry
        stop = jnp.minimum((learned // stride + 1) * stride, last)
        state = system.advance(state, keys, learned, stop - learned)
        is_check = (stop % stride == 0) | (stop == end)
        large = _too_large(system.observe(state))
        in_bounds = (stop - 1) // stride * stride
        return stop, state, jnp.where(is_check & large & (ended < 0), in_bounds, ended)

    _, state, ended = jax.lax.while_loop(
        lambda carry: carry[0] < last, learn, (first, state, ended)
    )
    return state, ended


def _too_large(observed: dict[str, Float[Array, "runs ..."]]) -> Any:
    """Return which runs have diverged, in the first layer or in the second."""
    students = [b.name for b in BLOCKS if "teacher" not in b.dimensions and b.name in observed]
    # The comparison is false for NaN.
    within = [
        jnp.all(jnp.abs(observed[name]) <= LARGEST_OVERLAP, axis=(-2, -1)) for name in students
    ]
    return ~functools.reduce(jnp.logical_and, within)


def _identity(system: System, ensemble: Ensemble) -> dict[str, Any]:
    """Return what identifies a simulation in its checkpoint: fields, and values of functions."""
    fields = {
        field.name: described(getattr(owner, field.name))
        for owner in (system.rule, system, ensemble)
        for field in dataclasses.fields(owner)  # type: ignore[arg-type]
    }
    x = np.linspace(-3.0, 3.0, 61)
    g, h = (c.activation for c in (system.rule.scenario.student, system.rule.scenario.teacher))
    rate = system.rule.learning_rate.at(ensemble.times)
    return {
        **fields,
        "rule": type(system.rule).__name__,
        "system": type(system).__name__,
        "recorded": digest(ensemble.recorded),
        "activations": digest(g(x), g.derivative(x), h(x)),
        "learning_rate": _values(rate.first),
        "readout_rate": 0.0 if rate.readout is None else _values(rate.readout),
        "weight_decay": 0.0 if rate.decay is None else _values(rate.decay),
    }


def _values(rate: FloatOrArray) -> Any:
    """Return a number, or a digest of the values of a schedule at the recorded times."""
    return digest(rate) if np.ndim(rate) else float(rate)
