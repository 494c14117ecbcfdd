"""Ensembles: many runs of a system learn, in batches, with the same result however they are cut.

A `System` says how the runs of a batch start and what examples do to them; `simulate` does the
rest.  The random numbers of run r at example s depend on (seed, r, s) alone, so that a run is
the same, bit for bit, in a batch of any size, for any recorded times, and after an interruption.
"""

import time
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int

from tutelage._checks import positive_integer
from tutelage._jax import jax, jnp
from tutelage.model import Scenario
from tutelage.runs.progress import Progress
from tutelage.simulation.checkpoint import Checkpoint
from tutelage.simulation.plan import Plan
from tutelage.simulation.record import Record, dataset

# Norms beyond this do not come back: the η² terms have outgrown all others by then.
TOO_LARGE = 1e6
# A compiled call of about this many seconds can be interrupted soon enough, and is so long that
# its dispatch costs nothing.
PATIENCE = 0.2


class System(Protocol):
    """What learns: an equinox module that ``jit`` takes as an argument."""

    def initial(self, keys: Any, runs: Int[Array, " runs"]) -> Any:
        """The state of a batch, any pytree of numbers; one JAX key and the number of each run."""

    def advance(self, state: Any, keys: Any, first: Any, count: Any) -> Any:
        """Learn the examples first, …, first + count - 1 in every run; traced int64, count > 0.

        To learn a then b examples has to give the same bits as to learn a + b.
        """

    def overlaps(self, state: Any) -> tuple[Float[Array, "runs K K"], Float[Array, "runs K M"]]:
        """Q and R of every run."""


class Batch(NamedTuple):
    """Runs under way: examples learned, state, and -1 or after how many examples a run ended."""

    learned: int
    state: Any
    ended: Int[Array, " runs"]


def simulate(
    system: System,
    scenario: Scenario,
    plan: Plan,
    attrs: dict[str, Any],
    *,
    checkpoint: Any = None,
    progress: bool = False,
    batch: int | None = None,
    padded: bool = False,
) -> xr.Dataset:
    """Let all runs of a system learn; return Q, R and ε_g at the recorded times.

    Args:
        system: what learns.
        scenario: who learns from whom; its exact error is recorded.
        plan: from `tutelage.simulation.plan.plan`, which checks its arguments.
        attrs: of the Dataset, from `provenance.parameters`; a checkpoint has to have the same.
        checkpoint: a file that the runs are written to now and then and continue from, or None.
        progress: whether to show a bar, if there is a terminal.
        batch: the largest number of runs at a time, all by default; the result is the same.
        padded: whether every batch is to have that many runs, some of which nobody sees.

    Returns:
        The Dataset, with ``outcome`` ("reached" or "diverged") and ``ended_at`` of every run: the
        last time, or the last of the times N/8 examples apart at which the norms were within
        10⁶; later states are missing.
    """
    file = Checkpoint(checkpoint, scenario, plan, attrs)
    record, under_way = file.load(Record.empty(plan, scenario.K, scenario.M))
    size = len(under_way.ended) if under_way else _batch_size(plan.runs, batch, padded)
    with Progress(progress, plan.runs * plan.examples) as bar:
        for first in range(record.finished, plan.runs, size):
            keys = run_keys(plan.seed, first, size)
            runs = jnp.arange(first, first + size)
            now = Batch(0, _initial(system, keys, runs), jnp.full(size, -1))
            if under_way:
                now, under_way = under_way.like(now), None
            course = _Course(system, plan, keys, slice(first, first + size), record)
            _learn_all(course, now, file, bar)
    file.save(record)
    return dataset(scenario, plan, record, attrs)


def _batch_size(runs: int, batch: int | None, padded: bool) -> int:
    """Equal batches: one compilation serves all; the last may have runs that nobody sees."""
    at_most = runs if batch is None else positive_integer("batch", batch)
    return at_most if padded else -(-runs // -(-runs // at_most))


def run_keys(seed: int, first: int, count: int) -> Any:
    """One JAX key for each of the runs first, …, first + count - 1."""
    root = jax.random.key(seed)
    return jax.vmap(lambda run: jax.random.fold_in(root, run))(jnp.arange(first, first + count))


class _Course(NamedTuple):
    """A batch: what learns, for how long, with which keys, which runs these are, where to note."""

    system: System
    plan: Plan
    keys: Any
    runs: slice
    record: Record


def _learn_all(course: _Course, now: Batch, file: Checkpoint, bar: Progress) -> None:
    """All examples of a batch, in calls that stop at recorded times and are never long."""
    examples, runs = course.plan.examples, course.runs
    looks = 1
    try:
        while True:
            _note(course, now)
            bar.show(runs.start * examples + (runs.stop - runs.start) * now.learned)
            if now.learned == examples or bool(jnp.all(now.ended >= 0)):
                break
            begun = time.perf_counter()
            now = _learn(course, now, looks)
            looks = _pace(looks, time.perf_counter() - begun)
            file.save_now_and_then(course.record, now)
    except KeyboardInterrupt:
        file.save(course.record, now)
        raise
    course.record.finish(runs, now.ended)


def _note(course: _Course, now: Batch) -> None:
    """Keep the overlaps, if this is a recorded time."""
    place = int(np.searchsorted(course.plan.recorded, now.learned))
    if place < len(course.plan.recorded) and course.plan.recorded[place] == now.learned:
        course.record.add(course.runs, place, *_overlaps(course.system, now.state))


def _learn(course: _Course, now: Batch, looks: int) -> Batch:
    """Go on to the next recorded time, or for so many looks at the norms, or to the end."""
    plan, stride = course.plan, _stride(course.plan.dimension)
    later = plan.recorded[plan.recorded > now.learned]
    stop = min((now.learned // stride + looks) * stride, plan.examples, *later[:1].tolist())
    args = (jnp.asarray(n) for n in (now.learned, stop, stride, plan.examples))
    state, ended = _advance(course.system, now.state, course.keys, now.ended, *args)
    return Batch(stop, state, jax.block_until_ready(ended))


def _stride(N: int) -> int:
    """Norms are looked at every so many examples, whatever is recorded: N/8, of 16 a multiple."""
    return 16 * (N // 128) if N >= 128 else max(1, N // 8)


def _pace(looks: int, seconds: float) -> int:
    """Twice as many looks in the next call if this one was short, half as many if it was long."""
    return (
        2 * looks if seconds < PATIENCE / 2 else max(1, looks // 2) if seconds > PATIENCE else looks
    )


@eqx.filter_jit
def _initial(system: System, keys: Any, runs: Any) -> Any:
    return system.initial(keys, runs)


@eqx.filter_jit
def _overlaps(system: System, state: Any) -> Any:
    return system.overlaps(state)


@eqx.filter_jit
def _advance(
    system: System, state: Any, keys: Any, ended: Any, first: Any, last: Any, stride: Any, end: Any
) -> Any:
    """Learn from example first to last, with a look at the norms at multiples of the stride."""

    def learn(carry: Any) -> Any:
        learned, state, ended = carry
        stop = jnp.minimum((learned // stride + 1) * stride, last)
        state = system.advance(state, keys, learned, stop - learned)
        Q, _ = system.overlaps(state)
        looked = (stop % stride == 0) | (stop == end)
        # NaN is not within bounds: the comparison is false.
        large = ~jnp.all(jnp.abs(Q) <= TOO_LARGE, axis=(-2, -1))
        in_bounds = (stop - 1) // stride * stride
        return stop, state, jnp.where(looked & large & (ended < 0), in_bounds, ended)

    _, state, ended = jax.lax.while_loop(
        lambda carry: carry[0] < last, learn, (first, state, ended)
    )
    return state, ended
