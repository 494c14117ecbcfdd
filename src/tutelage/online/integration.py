"""Adaptive integration of the equations, with a reason to stop."""

import copy
import time
from collections.abc import Callable
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tutelage._checks import ComputationError
from tutelage._jax import ROUNDED_ALONE, jax, jnp
from tutelage.model.layout import realizable
from tutelage.model.numbers import NUMBERS
from tutelage.model.teachers import Teachers
from tutelage.model.timing import Rate, Scheduled
from tutelage.online.flow import LANES, Flow, Flows
from tutelage.runs.progress import Progress
from tutelage.runs.stored_jit import stored_jit
from tutelage.solve import stepping
from tutelage.solve.stepping import LARGEST_STEP_FACTOR, IntegratorState, initial_state

# An error below this is rounding: averages of order one are right to 1e-16.
SOLVED = 1e-13
# Where it is, overlaps are off by its root, and change by less than this share in a unit of time.
SLOW = 1e-4
# Norms beyond this do not come back: the η² terms have outgrown all others by then.
TOO_LARGE = 1e6
# Rates of a few tolerances, in units of the learning rate, are errors of the integration: it
# cannot tell any more where the run would go.  A plateau that is left in earnest is left with
# larger ones; for a start closer to a saddle than that, choose a smaller tolerance.
AT_REST = 10.0
# A generalization error of less than so many tolerances is that of the integration: with two erf
# units noise is as large as ε_g at 2.9 tolerances, with other units it is smaller.
NOISE = 10.0
# With an error of less than this many tolerances a run at rest is on its way to a solution, and
# goes on with a tolerance at which rounding is all that disturbs it.
STILL_LEARNING = 1000.0
FINEST = 1e-14
# A run at rest is on a plateau if a disturbance would grow faster than this.
GROWS = 1e-9

# Steps of the first compiled call, and of the first one with finer averages, which may take seconds
# each; GROWTH times as many in the next one while a call takes so much less than PATIENCE seconds,
# so that progress is seen and Ctrl-C heard.
FIRST_STEPS, FIRST_FINE_STEPS, GROWTH, PATIENCE = 64, 1, 16, 0.5
# Programs belong to the number of recorded times: smaller numbers are filled up to this one, if the
# records of all runs then take no more than MOST_BYTES.
ROOM, MOST_BYTES = 512, 2**24
# Averages of four fields in the steps of a first call that takes a few tenths of a second at most.
FIRST_QUADRUPLES = 10**6
# More steps than these take a quarter of an hour with the fastest equations, hours with most.
MOST_STEPS = 1e8
# A run that would grow so many times over in the time that is left is on its way to infinity.
MANY_TIMES = 1e3
TINY = float(np.finfo(float).tiny)

OUTCOMES = ("reached", "converged", "diverged", "plateau")
REACHED, CONVERGED, DIVERGED, PLATEAU = range(4)
# Reasons to pause: a run needs finer averages, or is at rest on its way to a solution.
UNRESOLVED, NEARLY_SOLVED = 4, 5


class Trajectory(NamedTuple):
    """States at the recorded times, the last state, its time, an index into OUTCOMES."""

    states: Float[np.ndarray, "... times d"]
    last: Float[np.ndarray, "... d"]
    ended_at: Float[np.ndarray, "..."]
    outcome: Int[np.ndarray, "..."]

    def of(self, runs: int) -> "Trajectory":
        """The first so many runs, if there are several."""
        return Trajectory(*(x[:runs] for x in self)) if self.outcome.ndim else self

    def at_every_time(self, times: Float[np.ndarray, " times"]) -> Float[np.ndarray, "n times d"]:
        """States of several runs; after its end one stays, or is missing if it has diverged."""
        stays = (self.outcome != DIVERGED)[:, None]
        afterwards = np.where(stays, self.last, np.nan)[:, None]
        return np.where(self._late(times)[..., None], afterwards, self.states)

    def until_the_end(self, times: Float[np.ndarray, " times"]) -> tuple[np.ndarray, np.ndarray]:
        """Times and states of one run, with its end if it has ended by itself."""
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
    """One run, or one for each entry of a leading axis of y0, of T and perhaps of the rate."""
    runs = y0.shape[0] if y0.ndim > 1 else 1
    begin = np.zeros(y0.shape[:-1])
    if isinstance(flow, Flows) and flow.few:
        # Filled up with runs of no length: one program, and the same digits in any company.
        flow, y0, teachers, rate = _filled((flow, y0, teachers, rate), LANES - runs)
        begin = np.pad(begin, (0, LANES - runs), constant_values=until)
    with Progress(progress, float(until) * runs, "of all time" if runs > 1 else "time α") as bar:
        span = (times, np.asarray(until), bar, runs)
        first = _stage(flow, y0, teachers, rate, span, begin, np.asarray(tolerance, float))
        unfinished = first.outcome == NEARLY_SOLVED
        if not np.any(unfinished):
            return first.of(runs)
        resumed = np.where(unfinished, first.ended_at, until)
        # Outside of the covariances, where averages are not smooth, so fine a tolerance crawls.
        nearby = realizable(first.last, teachers.at(first.ended_at), flow.layout)
        rest = _stage(flow, nearby, teachers, rate, span, resumed, np.asarray(FINEST))
    return _joined(first, rest, unfinished, times).of(runs)


def _filled(parts: tuple[Any, ...], more: int) -> tuple[Any, ...]:
    """With the last run so many times more, wherever there is an axis of runs."""

    def filled(x: Any) -> Any:
        return np.concatenate([x, *[x[-1:]] * more]) if np.ndim(x) else x

    return jax.tree.map(filled, parts)


def _joined(
    first: Trajectory,
    rest: Trajectory,
    unfinished: np.ndarray,
    times: Float[np.ndarray, " times"],
) -> Trajectory:
    """Both stages of those runs that were unfinished after the first one."""
    at_rest = np.isin(rest.outcome, (PLATEAU, NEARLY_SOLVED))
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
    y0: Any,
    teachers: Teachers,
    rate: Rate | Scheduled,
    span: tuple,
    t0: Any,
    tolerance: Any,
) -> Trajectory:
    """One stage, of runs that begin before its end; a single one is a batch of one."""
    several, (times, until, bar, runs) = y0.ndim > 1, span
    if not several:
        y0, t0, teachers = y0[None], t0[None], _alone(teachers)
    count, times = len(times), _with_room(times, np.size(y0))
    now = initial_state(np.asarray(y0), np.asarray(t0), len(times))
    now, averages = now._replace(running=now.t < until), flow.coarse()
    advance, steps = _advance(flow, len(now.t), rate), _first_steps(flow, len(now.t))
    while np.any(np.asarray(now.running)):
        begun, before = time.perf_counter(), now
        now = advance(averages, now, teachers, rate, times, until, tolerance, np.asarray(steps))
        unresolved = bool(np.any(np.asarray(now.reason) == UNRESOLVED))
        if unresolved:
            now, averages, steps = _resumed(now), flow, FIRST_FINE_STEPS
        bar.show(float(np.sum(np.where(np.asarray(now.running), now.t, until)[:runs])))
        _check_pace(before, now, float(until))
        if not unresolved and GROWTH * (time.perf_counter() - begun) < PATIENCE:
            steps = GROWTH * steps
    trajectory = (np.asarray(now.records)[:, :count], now.y, now.t, now.reason)
    return Trajectory(*(np.asarray(x) if several else np.asarray(x)[0] for x in trajectory))


def _advance(
    flow: Flow | Flows, runs: int, rate: Rate | Scheduled
) -> Callable[..., IntegratorState]:
    """Return the compiled function that suits the moments, for runs that are computed at once."""
    if isinstance(flow, Flows):
        if flow.few:
            return _compiled_lanes
        flow = flow.batched
    if flow.moments.has_long_loops:
        return _compiled_long_loops
    # A schedule is a function of the user, with any operations.
    is_small = runs == 1 and isinstance(rate, Rate) and flow.moments.fits_one_kernel
    return _compiled_one_kernel if is_small else _compiled


def _with_room(times: Float[np.ndarray, " times"], size: int) -> Float[np.ndarray, " more"]:
    """Append times that no run reaches, so that one program serves every number of times.

    size: the number of entries of the states of all runs.
    """
    room = max(ROOM, 2 ** (len(times) - 1).bit_length())
    if 8 * size * room > MOST_BYTES:
        return times
    return np.append(times, np.full(room - len(times), np.inf))


def _first_steps(flow: Flow | Flows, runs: int) -> int:
    """Steps of the first call: with few units they take so little time that one call is enough."""
    moments = flow.moments if isinstance(flow, Flow) else flow.batched.moments
    if moments.one_by_one:
        return FIRST_STEPS
    quadruples = runs * (flow.scenario.K + flow.scenario.M) ** 4
    return max(FIRST_STEPS, min(GROWTH * FIRST_STEPS, FIRST_QUADRUPLES // quadruples))


def _resumed(now: IntegratorState) -> IntegratorState:
    """On the way again, with finer averages."""
    reason = np.asarray(now.reason)
    waits = reason == UNRESOLVED
    running: Any = np.asarray(now.running) | waits
    rest: Any = np.where(waits, REACHED, reason)
    return now._replace(running=running, reason=rest)


def _check_pace(before: IntegratorState, now: IntegratorState, until: float) -> None:
    """Refuse what would not end: the fastest change keeps the steps too short for so long a time.

    An explicit method is stable for steps of about 3/|λ|, λ the largest rate of decay, however
    little the solution changes.
    """
    running = np.asarray(now.running)
    if not np.any(running):
        return
    then, shortest = (float(np.min(np.asarray(x.h)[running])) for x in (before, now))
    left = until - float(np.min(np.asarray(now.t)[running]))
    grow = shortest > LARGEST_STEP_FACTOR * then  # as they do from a careful first one
    if left > MOST_STEPS * shortest and not grow and not _escapes(before, now, until):
        raise ComputationError(
            "until",
            f"the run cannot reach {until:g}",
            f"stability limits the steps to {shortest:.1g}, and {left / shortest:.1g} of them are "
            "left: something in these equations decays as fast as that",
            f"until={1e6 * shortest:.1g}, or smaller rates, weight_decay or drift",
        )


def _escapes(before: IntegratorState, now: IntegratorState, until: float) -> bool:
    """Whether a run moves so fast that in the time that is left it would grow many times over.

    Steps then become short because it diverges, in the end to nothing; and not for stability.
    """
    t, y, then = np.asarray(now.t), np.asarray(now.y), np.asarray(before.y)
    speed = np.max(np.abs(y - then), axis=-1) / np.maximum(t - np.asarray(before.t), TINY)
    grown = speed * (until - t) / (1.0 + np.max(np.abs(y), axis=-1))
    return bool(np.any(np.asarray(now.running) & (grown > MANY_TIMES)))


@partial(stored_jit, options=ROUNDED_ALONE)
def _compiled_lanes(
    flow: Flows,
    begin: IntegratorState,
    teachers: Teachers,
    rate: Rate | Scheduled,
    times: Any,
    until: Any,
    tolerance: Any,
    most: Any,
) -> IntegratorState:
    """Compile runs so that the digits of each do not depend on its place."""
    rest = (times, until, tolerance, most)
    if not flow.serial:
        return _walked(flow, begin, teachers, rate, *rest)
    parts = (flow.batched, _exchanged(begin), teachers, rate)
    every, same = eqx.partition(parts, lambda x: eqx.is_array(x) and x.ndim > 0)

    def one(parts: Any) -> IntegratorState:
        flow, begin, teachers, rate = eqx.combine(parts, same)
        begin = _exchanged(jax.tree.map(lambda x: x[None], begin))
        found = _walked(flow, begin, _alone(teachers), rate, *rest)
        return jax.tree.map(lambda x: x[0], _exchanged(found))

    return _exchanged(jax.lax.map(one, every))


@stored_jit
def _compiled(*arguments: Any) -> IntegratorState:
    return _walked(*arguments)


# Where a step takes little time the calls of its kernels are most of it: a curve of two erf units
# takes 0.6 instead of 2.5 ms, one of two ReLUs 2.5 instead of 11.7.
@partial(stored_jit, as_one_kernel=True)
def _compiled_one_kernel(*arguments: Any) -> IntegratorState:
    return _walked(*arguments)


# Vector instructions of the newer code generator: a curve of sixteen erf units in two fifths of
# the time, for two more seconds of compilation.
@partial(stored_jit, options={})
def _compiled_long_loops(*arguments: Any) -> IntegratorState:
    return _walked(*arguments)


def _exchanged(now: IntegratorState) -> IntegratorState:
    """With the axes of stages and of runs of the slopes exchanged."""
    return now._replace(slopes=jnp.swapaxes(now.slopes, 0, 1))


def _alone(teachers: Teachers) -> Teachers:
    """Those of one run, as a batch of one."""
    batched = copy.copy(teachers)
    object.__setattr__(batched, "T", teachers.T[None])
    return batched


def _walked(
    flow: Flow | Flows,
    begin: IntegratorState,
    teachers: Teachers,
    rate: Rate | Scheduled,
    times: Any,
    until: Any,
    tolerance: Any,
    most: Any,
) -> IntegratorState:
    def rates(t: Array, y: Array) -> Array:
        return flow.rates(y, teachers.at(t), rate.at(t))

    # Noise, decay and drift drive a run away from the solution: there the error says nothing.
    scenario = flow.scenario
    driven = [getattr(scenario, number.name) for number in NUMBERS if number.drives]
    stays = reduce(and_, (jnp.asarray(x) == 0 for x in driven)) & (rate.decay is None)

    def ends(t: Array, y: Array, slope: Array) -> Array:
        T, fastest = teachers.at(t), jnp.max(jnp.abs(slope), axis=-1)
        pace = jnp.maximum(fastest, teachers.max_rate(t)) / rate.at(t).unit
        size = jnp.max(jnp.abs(y), axis=-1)
        # The error is computed where it may have vanished; of each run, whatever others do.
        slow, at_rest = pace < SLOW * (1 + size), pace < AT_REST * tolerance
        error = jax.lax.cond(
            jnp.any(slow | at_rest),
            lambda: jnp.abs(flow.errors(y, T)),
            lambda: jnp.ones_like(pace),
        )
        reasons = [
            (UNRESOLVED, ~flow.resolves(y, T)),
            (CONVERGED, slow & (error < SOLVED) & stays),
            (DIVERGED, size > TOO_LARGE),
            (NEARLY_SOLVED, at_rest & (error < STILL_LEARNING * tolerance)),
            (PLATEAU, at_rest),
        ]
        return jnp.select([given for _, given in reasons], [why for why, _ in reasons], REACHED)

    # Steps that shrink to nothing are a divergence faster than the bound on the norms.
    return stepping.integrate(rates, ends, DIVERGED, begin, times, until, tolerance, most)
