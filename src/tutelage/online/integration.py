"""Adaptive integration of the equations until a run ends, with the reason."""

import time
from collections.abc import Callable
from functools import partial, reduce
from operator import and_
from types import SimpleNamespace
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from tutelage._checks import ComputationError
from tutelage._jax import (
    OLDER_GENERATOR,
    ONE_KERNEL,
    ROUNDED_ALONE,
    WIDE_VECTORS,
    jax,
    jnp,
    ordered_sums,
)
from tutelage._types import AnyArray
from tutelage.model.layout import realizable
from tutelage.model.numbers import NUMBERS
from tutelage.model.teachers import Teachers
from tutelage.model.timing import Rate, Scheduled
from tutelage.online.flow import Flow, Flows
from tutelage.runs.progress import Progress
from tutelage.runs.stored_jit import on_one_processor, stored_jit
from tutelage.solve import stepping
from tutelage.solve.stepping import LARGEST_STEP_FACTOR, IntegratorState, initial_state

# A generalization error below this is rounding.
SOLVED = 1e-13
# Only where overlaps change more slowly than this, relatively, may the generalization error be
# below SOLVED.
SLOW = 1e-4
# Larger norms grow without bound: the η² terms have outgrown all others.
TOO_LARGE = 1e6
# Rates below this many tolerances, in units of the learning rate, are errors of the integration.
# Runs that leave a plateau have larger rates; a start closer to a saddle needs a smaller tolerance.
AT_REST = 10.0
# Generalization errors below this many tolerances are errors of the integration: with two erf units
# integration errors reach ε_g at 2.9 tolerances, with other units later.
NOISE = 10.0
# A run at rest with an error below this many tolerances is close to a solution, and is continued
# with the tolerance FINEST, where only rounding disturbs it: by the same compiled call, or, with
# kinks, by another call, after the state has been moved into the set of covariances.
STILL_LEARNING = 1000.0
FINEST = 1e-14
# With smooth units the tolerance decreases to FINEST as the square of the rates does, to which the
# generalization error is proportional: at once, the fast modes need 48 short steps to decay.
SHARE_OF_SQUARED_PACE = 0.03
# A run at rest is on a plateau if a disturbance grows faster than this.
GROWS = 1e-9

# Steps of the first compiled call, and of the first call with finer averages, whose steps may take
# seconds. Each later call has up to GROWTH times as many steps while it takes less than
# MAX_CALL_SECONDS, so that progress is printed and Ctrl-C handled.
FIRST_STEPS, FIRST_FINE_STEPS, GROWTH, MAX_CALL_SECONDS = 64, 1, 16, 0.5
# More runs are integrated in blocks: 4096 runs of two ReLUs take 0.67 ms each in one program, and
# 64 runs 0.52.
MAX_RUNS_OF_A_BLOCK = 512
# The number of recorded times is a constant of a program: smaller numbers are padded to this one,
# if the records of all runs then take at most MAX_PADDED_BYTES.
MIN_RECORDED_TIMES, MAX_PADDED_BYTES = 512, 2**24
# Terms (`Moments.terms`) of the steps of a first call of at most a few tenths of a second.
FIRST_TERMS = 10**6
# Calls by a program that is not optimized; the first curve then comes twice as soon.  A curve takes
# one or two calls.
UNOPTIMIZED_CALLS = 4
# For large networks an unoptimized call takes a sixth of the time of optimization.
UNOPTIMIZED_LARGE_CALLS = 1
# More steps take a quarter of an hour with the fastest equations, and hours with most others.
MAX_STEPS = 1e8
# A run that would grow by this factor in the remaining time diverges.
DIVERGING_GROWTH = 1e3
TINY = float(np.finfo(float).tiny)

OUTCOMES = ("reached", "converged", "diverged", "plateau")
REACHED, CONVERGED, DIVERGED, PLATEAU = range(4)
# Reasons to pause: a run needs finer averages, or is at rest close to a solution and has kinks.
UNRESOLVED, NEARLY_SOLVED = 4, 5


class Trajectory(NamedTuple):
    """States at the recorded times, the last state, its time, and an index into OUTCOMES."""

    states: Float[np.ndarray, "... times d"]
    last: Float[np.ndarray, "... d"]
    ended_at: Float[np.ndarray, "..."]
    outcome: Int[np.ndarray, "..."]

    def of(self, runs: int) -> "Trajectory":
        """Return the first runs of a batch; return a single run unchanged."""
        return Trajectory(*(x[:runs] for x in self)) if self.outcome.ndim else self

    def at_every_time(self, times: Float[np.ndarray, " times"]) -> Float[np.ndarray, "n times d"]:
        """Return states of several runs at all times.

        After its end a run has its last state; a diverged run is missing (NaN).
        """
        stays = (self.outcome != DIVERGED)[:, None]
        afterwards = np.where(stays, self.last, np.nan)[:, None]
        return np.where(self._late(times)[..., None], afterwards, self.states)

    def until_the_end(self, times: Float[np.ndarray, " times"]) -> tuple[np.ndarray, np.ndarray]:
        """Return times and states of one run, with its last state if it ended early."""
        early = ~self._late(times)
        times, states = times[early], self.states[early]
        if self.outcome != REACHED and (not len(times) or times[-1] < self.ended_at):
            times, states = np.append(times, self.ended_at), np.vstack([states, self.last])
        return times, states

    def _late(self, times: Float[np.ndarray, " times"]) -> Bool[np.ndarray, "... times"]:
        return times > self.ended_at[..., None] * (1 + 1e-12)


def integrate(
    flow: Flow | Flows,
    y0: Float[np.ndarray, "... d"],
    teachers: Teachers,
    rate: Rate | Scheduled,
    times: Float[np.ndarray, " times"],
    until: float,
    tolerance: float,
    progress: bool = False,
) -> Trajectory:
    """Integrate one run, or one per entry of a leading axis of y0, T and optionally the rate."""
    runs = y0.shape[0] if y0.ndim > 1 else 1
    begin = np.zeros(y0.shape[:-1])
    if isinstance(flow, Flows) and flow.uses_lanes:
        # Padded with runs that are at their end: one program serves any number of runs, and the
        # digits of a run do not depend on the other runs.
        more = flow.lanes - runs
        flow, y0, teachers, rate = _padded_runs((flow, y0, teachers, rate), more)
        begin = np.pad(begin, (0, more), constant_values=until)
    with Progress(
        progress, float(until) * runs, "of time α, summed over runs" if runs > 1 else "time α"
    ) as bar:
        span = (times, np.asarray(until), bar, runs)
        stage = _stage if runs <= MAX_RUNS_OF_A_BLOCK else _stage_in_blocks
        first = stage(flow, y0, teachers, rate, span, begin, np.asarray(tolerance, float))
        unfinished = first.outcome == NEARLY_SOLVED
        if not np.any(unfinished):
            return first.of(runs)
        resumed = np.where(unfinished, first.ended_at, until)
        # Outside the set of covariances averages of units with kinks are not smooth, and steps
        # would become tiny.
        nearby = realizable(first.last, teachers.at(first.ended_at), flow.layout)
        rest = stage(flow, nearby, teachers, rate, span, resumed, np.asarray(FINEST))
    return _joined(first, rest, unfinished, times).of(runs)


def _padded_runs(parts: tuple[PyTree, ...], more: int) -> tuple[Any, ...]:
    """Pad the run axis by repeating the last run."""

    def filled(x: AnyArray) -> Any:
        return np.concatenate([x, *[x[-1:]] * more]) if np.ndim(x) else x

    return jax.tree.map(filled, parts)


def _joined(
    first: Trajectory,
    rest: Trajectory,
    unfinished: np.ndarray,
    times: Float[np.ndarray, " times"],
) -> Trajectory:
    """Join both stages of the runs that were unfinished after the first one."""
    at_rest = (rest.outcome == PLATEAU) | (rest.outcome == NEARLY_SOLVED)
    settled = np.where(at_rest, CONVERGED, rest.outcome)
    late = unfinished[..., None] & (times > first.ended_at[..., None])
    return Trajectory(
        np.where(late[..., None], rest.states, first.states),
        np.where(unfinished[..., None], rest.last, first.last),
        np.where(unfinished, rest.ended_at, first.ended_at),
        np.where(unfinished, settled, first.outcome),
    )


def _stage(
    flow: Flow | Flows,
    y0: Float[np.ndarray, "... d"],
    teachers: Teachers,
    rate: Rate | Scheduled,
    span: tuple,
    t0: Float[np.ndarray, "..."],
    tolerance: Float[np.ndarray, ""],
) -> Trajectory:
    """Integrate with one tolerance; a single run is a batch of one."""
    is_batch, (times, until, bar, runs) = y0.ndim > 1, span
    if not is_batch:
        y0, t0, teachers = y0[None], t0[None], _batch_of_one(teachers)
    count, times = len(times), _padded_times(times, np.size(y0))
    now = initial_state(np.asarray(y0), np.asarray(t0), len(times))
    now, averages = now._replace(running=now.t < until), flow.coarse()
    advance, steps = _advance(flow, len(now.t), rate), _first_steps(flow, len(now.t))
    while now.running.any():
        begun, before = time.perf_counter(), now
        now = advance(averages, now, teachers, rate, times, until, tolerance, np.asarray(steps))
        # NumPy arrays, as in the first call: JAX arrays would need another compiled program.
        now = IntegratorState._make(map(np.asarray, now))
        unresolved = bool((now.reason == UNRESOLVED).any())
        if unresolved:
            now, averages, steps = _resumed(now), flow, FIRST_FINE_STEPS
        bar.show(float(np.sum(np.where(now.running, now.t, until)[:runs])))
        _check_pace(before, now, float(until))
        if not unresolved and GROWTH * (time.perf_counter() - begun) < MAX_CALL_SECONDS:
            steps = GROWTH * steps
    trajectory = (now.records[:, :count], now.y, now.t, now.reason)
    return Trajectory._make(trajectory if is_batch else (x[0] for x in trajectory))


def rates_of_states(
    flow: Flow,
    end: Trajectory,
    teachers: Teachers,
    rate: Rate | Scheduled,
    states: Float[np.ndarray, "n d"],
) -> Float[np.ndarray, "n d"]:
    """Return dy/dα of states at the end of a single run, by the compiled program of the run.

    A first step has length zero, so that all of its slopes are the rates of its state.
    """
    times = np.full_like(_padded_times(end.states[:, 0], states.shape[1]), np.inf)
    advance: Any = _advance(flow, 1, rate)
    averages, teachers = flow.coarse(), _batch_of_one(teachers)
    numbers = (times, np.asarray(np.inf), np.asarray(FINEST), np.asarray(1))
    rates = np.empty_like(states)
    for i, y in enumerate(states):
        now = initial_state(y[None], end.ended_at[None], len(times))
        now = advance.uncounted(averages, now, teachers, rate, *numbers)
        rates[i] = np.asarray(now.slopes)[stepping.LAST, 0]
    return rates


def _stage_in_blocks(
    flow: Flow | Flows,
    y0: Float[np.ndarray, "runs d"],
    teachers: Teachers,
    rate: Rate | Scheduled,
    span: tuple,
    t0: Float[np.ndarray, " runs"],
    tolerance: Float[np.ndarray, ""],
) -> Trajectory:
    """Integrate many runs in blocks of equal size, one after the other.

    The arrays of a block fit into the cache, and a block ends with its own last run.
    """
    times, until, bar, runs = span
    size = -(-runs // -(-runs // MAX_RUNS_OF_A_BLOCK))
    blocks = []
    for first in range(0, runs, size):
        count = min(size, runs - first)

        def block(x: Any, first: int = first, count: int = count) -> Any:
            return x[first : first + count] if np.ndim(x) else x

        # A flow of all runs has no axis of runs.
        per_run = (flow if isinstance(flow, Flows) else None, y0, teachers, rate, t0)
        # Padded with runs that are at their end: one program serves all blocks.
        own, y, T, eta, begin = _padded_runs(jax.tree.map(block, per_run), size - count)
        begin[count:] = until
        own_bar = SimpleNamespace(show=lambda done, first=first: bar.show(first * until + done))
        own_span = (times, until, own_bar, count)
        own_flow = own if isinstance(flow, Flows) else flow
        blocks.append(_stage(own_flow, y, T, eta, own_span, begin, tolerance).of(count))
    return Trajectory(*map(np.concatenate, zip(*blocks, strict=True)))


def _advance(
    flow: Flow | Flows, runs: int, rate: Rate | Scheduled
) -> Callable[..., IntegratorState]:
    """Return the compiled function for these averages, this number of runs and this rate."""
    moments = flow.moments if isinstance(flow, Flow) else flow.batched.moments
    # A schedule is a user's function, with any operations.
    fits = isinstance(rate, Rate) and moments.fits_one_kernel
    may_be_serial = runs > 1 and fits and bool(ONE_KERNEL) and on_one_processor()
    if may_be_serial and moments.is_faster_serially:
        return _compiled_serially
    if isinstance(flow, Flows) and flow.uses_lanes:
        return _compiled_lanes_one_kernel if fits else _compiled_lanes
    constant = isinstance(rate, Rate) and rate.readout is None
    if runs == 1 and constant and moments.fits_large_kernel:
        return _compiled_large_kernel
    if moments.has_long_loops:
        return _compiled_long_loops
    is_small = runs == 1 and fits
    if is_small and moments.uses_wide_vectors:
        return _compiled_wide
    return _compiled_one_kernel if is_small else _compiled


def _padded_times(times: Float[np.ndarray, " times"], size: int) -> Float[np.ndarray, " more"]:
    """Append times beyond the end, so that one program serves many numbers of times.

    size: the number of entries of the states of all runs.
    """
    room = max(MIN_RECORDED_TIMES, 2 ** (len(times) - 1).bit_length())
    if 8 * size * room > MAX_PADDED_BYTES:
        return times
    return np.concatenate([times, np.full(room - len(times), np.inf)])


def _first_steps(flow: Flow | Flows, runs: int) -> int:
    """Return the number of steps of the first call; with few units one call is enough."""
    moments = flow.moments if isinstance(flow, Flow) else flow.batched.moments
    if moments.one_by_one:
        return FIRST_STEPS
    terms = runs * moments.terms
    return max(FIRST_STEPS, min(GROWTH * FIRST_STEPS, FIRST_TERMS // terms))


def _resumed(now: IntegratorState) -> IntegratorState:
    """Resume runs that were paused for finer averages."""
    reason = np.asarray(now.reason)
    waits = reason == UNRESOLVED
    running: Any = np.asarray(now.running) | waits
    rest: Any = np.where(waits, REACHED, reason)
    return now._replace(running=running, reason=rest)


def _check_pace(before: IntegratorState, now: IntegratorState, until: float) -> None:
    """Refuse runs that would not end because stability keeps the steps too short.

    An explicit method is stable for steps of about 3/|λ|, λ the largest rate of decay, however
    little the solution changes.
    """
    running = now.running
    if not running.any():
        return
    then, shortest = (float(np.min(x.h[running])) for x in (before, now))
    left = until - float(np.min(now.t[running]))
    grow = shortest > LARGEST_STEP_FACTOR * then  # as steps do after a small first step
    if left > MAX_STEPS * shortest and not grow and not _escapes(before, now, until):
        raise ComputationError(
            "until",
            f"the run cannot reach {until:g}",
            (
                f"stability limits the steps to {shortest:.1g}, and "
                f"{left / shortest:.1g} steps are left: a term of the equations decays at that rate"
            ),
            f"until={1e6 * shortest:.1g}, or smaller rates, weight_decay or drift",
        )


def _escapes(before: IntegratorState, now: IntegratorState, until: float) -> bool:
    """Return whether a run grows so fast that it diverges within the remaining time.

    Its steps then shrink because it diverges, and not for stability.
    """
    t, y, then = np.asarray(now.t), np.asarray(now.y), np.asarray(before.y)
    speed = np.max(np.abs(y - then), axis=-1) / np.maximum(t - np.asarray(before.t), TINY)
    grown = speed * (until - t) / (1.0 + np.max(np.abs(y), axis=-1))
    return bool(np.any(np.asarray(now.running) & (grown > DIVERGING_GROWTH)))


def _integrated_lanes(
    flow: Flows,
    begin: IntegratorState,
    teachers: Teachers,
    rate: Rate | Scheduled,
    times: Float[Array, " times"],
    until: Float[Array, ""],
    tolerance: Float[Array, ""],
    most: Int[Array, ""],
) -> IntegratorState:
    """Integrate runs so that the digits of each do not depend on its position."""
    rest = (times, until, tolerance, most)
    integrated = _integrated_serially if flow.serial else _integrated
    return integrated(flow, begin, teachers, rate, *rest)


def _integrated_serially(
    flow: Flow | Flows,
    begin: IntegratorState,
    teachers: Teachers,
    rate: Rate | Scheduled,
    *rest: Array,
) -> IntegratorState:
    """Integrate runs one after the other, each by the program of a single run."""
    of_runs = flow.batched if isinstance(flow, Flows) else None
    parts = (of_runs, _swap_stages_and_runs(begin), teachers, rate)
    every, same = eqx.partition(parts, lambda x: eqx.is_array(x) and x.ndim > 0)

    def one(parts: PyTree) -> IntegratorState:
        of_run, begin, teachers, rate = eqx.combine(parts, same)
        begin = _swap_stages_and_runs(jax.tree.map(lambda x: x[None], begin))
        own = flow if isinstance(flow, Flow) else of_run
        final = _integrated(own, begin, _batch_of_one(teachers), rate, *rest)
        return jax.tree.map(lambda x: x[0], _swap_stages_and_runs(final))

    return _swap_stages_and_runs(jax.lax.map(one, every))


# A run of erf units is one loop of vector instructions already, and ends without the other runs: 64
# runs of eight units take two fifths of the time that they take in parallel.
@partial(stored_jit, options=OLDER_GENERATOR | WIDE_VECTORS, as_one_kernel=True)
def _compiled_serially(*arguments: PyTree) -> IntegratorState:
    return _integrated_serially(*arguments)


@partial(stored_jit, options=ROUNDED_ALONE)
def _compiled_lanes(*arguments: PyTree) -> IntegratorState:
    return _integrated_lanes(*arguments)


# Sixteen runs of two ReLUs take 1.7 instead of 4.6 ms each, of two erf units 0.7 instead of 0.8.
@partial(stored_jit, options=ROUNDED_ALONE, as_one_kernel=True)
def _compiled_lanes_one_kernel(*arguments: PyTree) -> IntegratorState:
    with ordered_sums():
        return _integrated_lanes(*arguments)


@stored_jit
def _compiled(*arguments: PyTree) -> IntegratorState:
    return _integrated(*arguments)


# With few units most of the time of a step is spent on kernel calls: a curve of two erf units takes
# 0.6 instead of 2.5 ms, one of two ReLUs 2.5 instead of 11.7.
@partial(stored_jit, as_one_kernel=True, optimize_after=UNOPTIMIZED_CALLS)
def _compiled_one_kernel(*arguments: PyTree) -> IntegratorState:
    return _integrated(*arguments)


@partial(
    stored_jit,
    options=OLDER_GENERATOR | WIDE_VECTORS,
    as_one_kernel=True,
    optimize_after=UNOPTIMIZED_CALLS,
)
def _compiled_wide(*arguments: Any) -> IntegratorState:
    return _integrated(*arguments)


# A right-hand side of eight ReLUs takes two thirds of the time of the newer code generator.
@partial(
    stored_jit,
    options=OLDER_GENERATOR | WIDE_VECTORS,
    as_one_kernel=True,
    optimize_after=UNOPTIMIZED_LARGE_CALLS,
)
def _compiled_large_kernel(*arguments: PyTree) -> IntegratorState:
    return _integrated(*arguments)


# For many units the newer code generator is faster: a curve of sixteen erf units takes two fifths
# of the time, and two more seconds of compilation; vector instructions of 512 bits save another
# quarter.
@partial(stored_jit, options=WIDE_VECTORS)
def _compiled_long_loops(*arguments: PyTree) -> IntegratorState:
    return _integrated(*arguments)


def _swap_stages_and_runs(now: IntegratorState) -> IntegratorState:
    """Exchange the axes of stages and runs of the slopes."""
    return now._replace(slopes=jnp.swapaxes(now.slopes, 0, 1))


def _batch_of_one(teachers: Teachers) -> Teachers:
    """Return the teachers of one run as a batch of one."""
    batched = object.__new__(Teachers)
    object.__setattr__(batched, "T", teachers.T[None])
    object.__setattr__(batched, "drift", teachers.drift)
    return batched


def _integrated(
    flow: Flow | Flows,
    begin: IntegratorState,
    teachers: Teachers,
    rate: Rate | Scheduled,
    times: Float[Array, " times"],
    until: Float[Array, ""],
    tolerance: Float[Array, ""],
    most: Int[Array, ""],
) -> IntegratorState:
    def rates(t: Array, y: Array) -> Array:
        return flow.rates(y, teachers.at(t), rate.at(t))

    # Noise, decay and drift drive a run away from the solution, so that a vanishing error does not
    # end the run.
    scenario = flow.scenario
    driven = [getattr(scenario, number.name) for number in NUMBERS if number.drives]
    stays = reduce(and_, (jnp.asarray(x) == 0 for x in driven)) & (rate.decay is None)
    has_kinks = any(c.activation.kinks for c in (scenario.student, scenario.teacher))

    def pace_of(t: Array, slope: Array) -> Array:
        fastest = jnp.max(jnp.abs(slope), axis=-1)
        return jnp.maximum(fastest, teachers.max_rate(t)) / rate.at(t).unit

    def tolerance_of(now: IntegratorState) -> Array:
        """Return a finer tolerance for runs at rest; before the first step the pace is unknown."""
        pace = pace_of(now.t, now.slopes[stepping.LAST])
        finer = jnp.clip(SHARE_OF_SQUARED_PACE * pace**2, FINEST, tolerance)
        return jnp.where((pace < AT_REST * tolerance) & (now.h > 0), finer, tolerance)

    def ends(t: Array, y: Array, slope: Array) -> Array:
        T, pace = teachers.at(t), pace_of(t, slope)
        size = jnp.max(jnp.abs(y), axis=-1)
        # The error is computed only where it may have vanished.
        slow, at_rest = pace < SLOW * (1 + size), pace < AT_REST * tolerance
        error = jax.lax.cond(
            jnp.any(slow | at_rest),
            lambda: jnp.abs(flow.plain_errors(y, T)),
            lambda: jnp.ones_like(pace),
        )
        close = error < STILL_LEARNING * tolerance
        reasons = [
            (UNRESOLVED, ~flow.resolves(y, T)),
            (CONVERGED, slow & (error < SOLVED) & stays),
            (DIVERGED, size > TOO_LARGE),
            (PLATEAU, at_rest & ~close),
            (NEARLY_SOLVED, at_rest & has_kinks),
            (CONVERGED, pace < AT_REST * FINEST),
        ]
        return jnp.select([given for _, given in reasons], [why for why, _ in reasons], REACHED)

    # Steps that shrink to zero are a divergence that is faster than the bound on the norms.
    step_tolerance = tolerance if has_kinks else tolerance_of
    return stepping.integrate(rates, ends, DIVERGED, begin, times, until, step_tolerance, most)
