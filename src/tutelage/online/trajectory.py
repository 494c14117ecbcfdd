"""Trajectories: overlaps and error over the time of on-line learning."""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_number
from tutelage._given import ArrayLike, TimeFunction
from tutelage._jax import jax
from tutelage._memory import check_memory
from tutelage._types import AnyArray
from tutelage.averages.methods import Conditional, Method, chosen
from tutelage.averages.recorded_errors import errors_of_states
from tutelage.model import Overlaps, Scenario, timing
from tutelage.model.layout import unchecked
from tutelage.model.numbers import labelled, numbers_of
from tutelage.model.scenario import check_fits
from tutelage.model.teachers import Teachers
from tutelage.model.timing import Rate, Scheduled, recorded_times, time_axis
from tutelage.online.disturbances import grows
from tutelage.online.flow import LANES, SWEEP_LANES, Flow, Flows
from tutelage.online.integration import (
    FINEST,
    NOISE,
    OUTCOMES,
    PLATEAU,
    UNOPTIMIZED_CALLS,
    Trajectory,
    integrate,
)
from tutelage.runs.coordinates import dataset, with_numbers
from tutelage.runs.provenance import recorded
from tutelage.runs.stored_jit import stored_jit

# The attribute that explains averages_error.
AVERAGES_ERROR_MEANING = (
    "the error of <delta_i v> and <delta_i delta_k>, the right-hand sides, at the start; for "
    "several runs the largest"
)

OUTCOME_NAMES = np.array(OUTCOMES)

# Averages are of order one: a larger error leaves hardly a digit.
MAX_AVERAGES_ERROR = 0.05

# Memory of a run: copies of its records (as vectors, as overlaps and in the Dataset), and arrays of
# the size of a covariance, in the stages of a step.
RECORD_COPIES, COVARIANCES_PER_STEP = 4, 100
# Bytes that XLA allocates for each of the (K + M)⁴ quadruples of fields in exact averages: 29 to 38
# for ReLU and 3 to 10 for erf, at K + M = 2 to 6.
BYTES_PER_QUADRUPLE = 40

LearningRate = float | Callable[[Any], Any] | ArrayLike


@recorded
def evolve(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: LearningRate,
    *,
    until: float,
    times: ArrayLike | None = None,
    readout_rate: LearningRate = 0.0,
    weight_decay: TimeFunction | None = None,
    batch: int = 1,
    tolerance: float = 1e-9,
    method: Method | str | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Integrate the order-parameter equations from a start.

    Args:
        scenario: student and teacher; any of its numbers, including the parameters of units, may be
            an array with one value for each run, by which runs are selected:
            ``run.sel(weight_decay=0.1)``, ``run.sel(slope=0.2)``.
        start: Q, R and T at time 0; with a leading axis, one start (and teacher) for each run.
        learning_rate: η >= 0, an array of rates for as many runs, or a schedule η(time) written
            with ``jax.numpy``.  The number 0 is the limit η → 0, with time in units of 1/η.
        until: the last time α, greater than 0.
        times: when to record; by default 401 equidistant times from 0 to ``until``.
        readout_rate: η_v >= 0 of the second layer, in the forms of ``learning_rate``; with 0 the
            student's readout is fixed, otherwise it is the start of the readout.  In the limit η →
            0 it is measured in units of η.
        weight_decay: a schedule γ(time) >= 0 written with ``jax.numpy``, instead of the number of
            the scenario, which None selects.
        batch: b = O(1) examples for each step, which takes the mean of their gradients: α is
            steps/N, and the terms in η² are divided by b.
        tolerance: of the integration, relative and absolute for each step.
        method: how averages are computed; the best exact one by default.
        progress: whether to print progress and remaining time.

    Returns:
        A Dataset with Q, R and generalization_error over ``time`` (and ``run``), with ``readout``
        over ``output`` and ``student`` if it learns, with ``teacher_overlaps`` over ``time`` if
        drift changes them, and

        - ``outcome``: "converged" (the error has vanished, or nothing moves any more and every
          disturbance decays), "plateau" (nothing moves, but a disturbance would grow),
          "diverged" (norms beyond 10⁶) or "reached" (the last time);
        - ``ended_at``: the time at which the run ended.

        The attribute ``averages_error`` bounds, at the start, the error of the averages ⟨δ_i v⟩ and
        ⟨δ_i δ_k⟩ in the right-hand sides: 1e-10 where they are exact, that of the quadrature or
        series else; for several runs the largest.  Its effect on a curve grows with the length of
        the curve.  A generalization error below ``integration_error``, ten tolerances, is that of
        the integration.

        For one run these are attributes; a run that ends early has its end as the last time, and no
        later times.  After their end, converged runs have their last state, and diverged runs are
        missing (NaN).

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.1, until=1000)
    >>> run.attrs["outcome"]
    'converged'
    """
    span = Span(recorded_times(times, until), float(until), tolerance, progress)
    rate = _rates(learning_rate, readout_rate, span)
    rate = timing.with_weight_decay(rate, weight_decay, span.times, span.until)
    runs = _runs(scenario, start, rate)
    scenarios = scenario.split_runs() if runs and scenario.leading else scenario
    states = _evolved(scenarios, start, rate, runs, span, batch, method)
    return with_numbers(_with_teachers(states, start), _numbers(scenario, rate)) if runs else states


class Run(NamedTuple):
    """One run: the first arguments of `evolve`, with one value of each number."""

    scenario: Scenario
    start: Overlaps
    learning_rate: float | Callable[[Any], Any]
    readout_rate: float | Callable[[Any], Any] = 0.0


def evolve_each(
    runs: Sequence[Run],
    *,
    until: float,
    times: ArrayLike | None = None,
    batch: int = 1,
    tolerance: float = 1e-9,
    method: Method | str | None = None,
    last: bool = False,
    flows: dict[Hashable, Flow] | None = None,
) -> xr.Dataset:
    """Integrate runs that share a compiled program (`tutelage.runs.programs`) in one call.

    The other arguments are those of `evolve`.  A schedule is the same function in all runs.
    Outcomes are variables, and runs that have diverged are missing afterwards, as in a call of
    `evolve` for several runs.  A run gives the same bits whichever other runs are in the call.

    last: whether to return only the last recorded state that is finite, without times, if its error
        is finite, too.
    flows: a cache for calls with the same scenarios and methods, which have to exist as long as the
        cache.
    """
    span = Span(recorded_times(times, until), float(until), tolerance)
    rates = [_rates(run.learning_rate, run.readout_rate, span) for run in runs]
    for run, rate in zip(runs, rates, strict=True):
        if _runs(run.scenario, run.start, rate):
            raise InputError(
                "runs",
                "a run with arrays of parameters",
                "each run has one value of each parameter",
            )
    rate = jax.tree.map(lambda *x: x[0] if callable(x[0]) else np.stack(x), *rates)
    start = unchecked(*(np.stack([getattr(run.start, name) for run in runs]) for name in "QRT"))
    scenarios = [run.scenario for run in runs]
    more = (last, flows, SWEEP_LANES)
    return _evolved(scenarios, start, rate, (len(runs),), span, batch, method, *more)


class Span(NamedTuple):
    """The recorded times, the end, the tolerance, and whether to print progress."""

    times: Float[np.ndarray, " times"]
    until: float
    tolerance: float
    progress: bool = False


def _rates(learning_rate: LearningRate, readout_rate: LearningRate, span: Span) -> Rate | Scheduled:
    """Validate the rates of both layers."""
    readout = timing.readout_rate(readout_rate, span.times, span.until)
    return timing.with_readout_rate(
        timing.learning_rate(learning_rate, span.times, span.until), readout
    )


def _evolved(
    scenarios: Scenario | list[Scenario],
    start: Overlaps,
    rate: Rate | Scheduled,
    runs: tuple[int, ...],
    span: Span,
    batch: int,
    method: Method | str | None,
    last: bool = False,
    known: dict[Hashable, Flow] | None = None,
    lanes: int = LANES,
) -> xr.Dataset:
    """Integrate one run, or a batch of runs of the shape ``runs``.

    scenarios: one for all runs, or one per run.
    start, rate: one for all runs, or a leading axis of runs.
    last: as in `evolve_each`.
    known: the cache ``flows`` of `evolve_each`.
    lanes: as in `Flows`.
    """
    finite_number("tolerance", span.tolerance, at_least=FINEST, hint="tolerance=1e-9")
    listed = scenarios if isinstance(scenarios, list) else [scenarios]
    size = bytes_of_a_run(listed[0], method, len(span.times))
    what = "their records, slopes and averages"
    check_memory("the number of runs", math.prod(runs), lambda count: count * size, what)
    limit = isinstance(rate, Rate) and rate.limit
    learns = 0.0 if rate.readout is None else 1.0
    flow_of = {} if known is None else known
    keys = [(id(each), id(method), limit, batch, learns) for each in listed]
    for key, each in zip(keys, listed, strict=True):
        if key not in flow_of:  # equal scenarios of a sweep are one object
            flow_of[key] = Flow(each, method, limit=limit, batch=batch, readout_rate=learns)
    flows = [flow_of[key] for key in keys]
    flow = Flows(flows, lanes) if isinstance(scenarios, list) else flows[0]
    Q, R, T = map(np.asarray, (start.Q, start.R, start.T))
    if runs:
        Q, R, T = (np.broadcast_to(x, (*runs, *x.shape[-2:])) for x in (Q, R, T))
    begin = unchecked(Q, R, T)
    error = _averages_error(flows, begin)
    _check_averages(error, method)
    y0 = flow.vector(begin)
    drift = np.asarray([each.drift for each in listed])
    teachers = Teachers(T, drift if isinstance(scenarios, list) else drift[0])
    times, until, tolerance, progress = span
    trajectory = integrate(flow, y0, teachers, rate, times, until, tolerance, progress)
    _check_start_is_finite(flows, y0, T, trajectory)
    outcomes = _outcomes(flows, trajectory, teachers, rate)
    attrs = {
        "averages_error": error,
        "averages_error_bounds": AVERAGES_ERROR_MEANING,
        "integration_error": NOISE * float(tolerance),
    }
    same_error = flows[:1] if _have_same_outputs(listed) else flows
    states = None
    if last:
        states = _dataset_of_last(same_error, trajectory, teachers, times, outcomes, attrs)
    if states is not None:
        return states
    states = _dataset(same_error, trajectory, teachers, times, outcomes, attrs)
    if teachers.drift is not None:
        over = (*(("run",) if runs else ()), "time", "teacher", "teacher_2")
        T = teachers.over(states.time.values)
        states = states.assign_coords(_teachers_coordinates(over, T))
    return states


def bytes_of_a_run(scenario: Scenario, method: Method | str | None, times: int) -> float:
    """Estimate the memory of a run; averages by conditioning are computed one by one."""
    K, n = scenario.K, scenario.K + scenario.M
    units = (scenario.student.activation, scenario.teacher.activation)
    together = 0 if isinstance(chosen(method, units), Conditional) else BYTES_PER_QUADRUPLE * n**4
    return 8 * (RECORD_COPIES * times * K * n + COVARIANCES_PER_STEP * n**2) + together


def _check_start_is_finite(
    flows: list[Flow], y: np.ndarray, T: np.ndarray, trajectory: Trajectory
) -> None:
    """Refuse a start whose error is not finite, where a run ends before its first step."""
    if np.all(trajectory.ended_at > 0) or np.all(np.isfinite(_errors(flows, y, T))):
        return
    raise InputError(
        "scenario and start",
        "numbers so large that the error of the start is not finite",
        "their products have to stay below 1e308",
        "slopes, scales, norms and noise of order one",
    )


def _check_averages(error: float, method: Method | str | None) -> None:
    """Refuse averages without a correct digit, unless a method was requested."""
    if method is None and not error < MAX_AVERAGES_ERROR:  # false for NaN
        raise InputError(
            "scenario and start",
            f"units whose averages have an error of {error:.2g}",
            f"at most {MAX_AVERAGES_ERROR:g} is allowed: units change faster than nodes resolve",
            (
                "kinks=[0.5] at the places of fast change, a smoother unit, or method='quadrature' "
                "for any error"
            ),
        )


def _averages_error(flows: list[Flow], begin: Overlaps) -> float:
    """Return the largest error of the averages of all runs at their starts."""
    # exact averages have the same error for all runs
    if begin.Q.ndim == 2 or flows[0].method.exact:
        return flows[0].moments.error(begin)
    runs = len(begin.Q)
    return max(
        flow.moments.error(jax.tree.map(lambda x, run=run: x[run], begin))
        for run, flow in zip(range(runs), flows if len(flows) > 1 else flows * runs, strict=True)
    )


def _runs(scenario: Scenario, start: Overlaps, rate: Rate | Scheduled) -> tuple[int, ...]:
    """Return () for one run or (n,) for several; validate that the start fits the scenario."""
    leading = start.leading if isinstance(start, Overlaps) else ()
    # Teachers may differ between runs, also if the scenario does not say so.
    any_teacher = bool(leading) and isinstance(scenario, Scenario) and scenario.T.ndim == 2
    check_fits(
        "start", scenario, start, any_teacher=any_teacher, batched=True, time_dependent_T=True
    )
    values = (rate.first if isinstance(rate, Rate) else rate.function, rate.readout)
    every = [np.shape(x) for x in values if not callable(x)]
    rates = next(filter(None, every), ())
    shapes = {shape for shape in (leading, *every, scenario.leading) if shape}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        raise InputError(
            "start, learning_rate and numbers of the scenario",
            f"leading axes {leading}, {rates} and {scenario.leading}",
            "they have to share one axis of runs",
            "one learning rate per start; all pairs of two numbers by np.meshgrid and ravel, "
            "as docs/online.md does",
        )
    return next(iter(shapes), ())


def _with_teachers(states: xr.Dataset, start: Overlaps) -> xr.Dataset:
    """Add the coordinate T if it differs between runs and drift does not change it."""
    if start.T.ndim == 2 or "teacher_overlaps" in states.coords:
        return states
    return states.assign_coords(
        _teachers_coordinates(("run", "teacher", "teacher_2"), np.asarray(start.T))
    )


def _teachers_coordinates(dims: tuple[str, ...], T: np.ndarray) -> dict[str, Any]:
    return {"teacher_2": np.arange(1, T.shape[-1] + 1), "teacher_overlaps": (dims, T)}


def _numbers(scenario: Scenario, rate: Rate | Scheduled) -> dict[str, Any]:
    """Return the numbers that may differ between runs, by name."""
    return {
        "learning_rate": rate.first if isinstance(rate, Rate) else rate.function,
        "readout_rate": rate.readout,
        **labelled(numbers_of(scenario)),
        **_parameters(scenario),
    }


def _parameters(scenario: Scenario) -> dict[str, Any]:
    """Return parameters of the students' units, and of the teachers' units where they differ."""
    students, teachers = (c.activation.per_run for c in (scenario.student, scenario.teacher))
    others = {n: x for n, x in teachers.items() if not np.array_equal(x, students.get(n, 0.0))}
    return {**students, **{f"teacher_{name}": x for name, x in others.items()}}


def _outcomes(
    flows: list[Flow], trajectory: Trajectory, teachers: Teachers, rate: Rate | Scheduled
) -> np.ndarray:
    """Return names of outcomes; a run at rest has converged unless a disturbance grows."""
    names = np.asarray(OUTCOME_NAMES[trajectory.outcome], dtype=OUTCOME_NAMES.dtype)
    resting = trajectory.outcome == PLATEAU
    if not np.any(resting):
        return names
    for run in map(tuple, np.argwhere(resting)):
        flow = flows[run[0] if len(flows) > 1 else 0]
        if not grows(flow, trajectory, teachers, rate, run):
            names[run] = "converged"
    return names


def _dataset(
    flows: list[Flow],
    trajectory: Trajectory,
    teachers: Teachers,
    times: Float[np.ndarray, " times"],
    outcomes: np.ndarray,
    attrs: dict[str, object],
) -> xr.Dataset:
    axes, count = ("run",) if outcomes.ndim else (), len(times) + 1
    if axes:
        vectors = trajectory.at_every_time(times)
    else:
        times, vectors = trajectory.until_the_end(times)
    layout = flows[0].layout
    error = ((*axes, "time"), _errors_of_times(flows, vectors, teachers.over(times), count))
    variables = {**layout.variables(vectors, (*axes, "time")), "generalization_error": error}
    ends = {"outcome": outcomes, "ended_at": trajectory.ended_at}
    if axes:
        variables |= {name: (axes, value) for name, value in ends.items()}
    else:
        attrs |= {name: value.item() for name, value in ends.items()}
    return dataset(variables, {"time": time_axis(times), **layout.coordinates}, attrs)


def _dataset_of_last(
    flows: list[Flow],
    trajectory: Trajectory,
    teachers: Teachers,
    times: Float[np.ndarray, " times"],
    outcomes: np.ndarray,
    attrs: dict[str, object],
) -> xr.Dataset | None:
    """Return the last finite recorded state of every run; None if an error is not finite."""
    vectors = trajectory.at_every_time(times)
    finite = np.all(np.isfinite(vectors), axis=-1)
    place = len(times) - 1 - np.argmax(finite[:, ::-1], axis=1)  # the last one if none is finite
    runs = np.arange(len(vectors))
    y, layout = vectors[runs, place], flows[0].layout
    error = _errors(flows, y, teachers.over(times)[runs, place])
    if not np.all(np.isfinite(error)):
        return None
    ends = {"outcome": outcomes, "ended_at": trajectory.ended_at}
    variables = {**layout.variables(y, ("run",)), "generalization_error": (("run",), error)}
    variables |= {name: (("run",), value) for name, value in ends.items()}
    return dataset(variables, layout.coordinates, attrs)


def _have_same_outputs(scenarios: list[Scenario]) -> bool:
    """Return whether all scenarios have the same networks and scales, and thus the same ε_g."""
    first = scenarios[0]
    return all(
        one.student is first.student
        and one.teacher is first.teacher
        and one.output_scale == first.output_scale
        for one in scenarios
    )


def _errors_of_times(
    flows: list[Flow], y: np.ndarray, T: np.ndarray, count: int
) -> Float[np.ndarray, "..."]:
    """Return ε_g of every state; for a single run one program serves every final time.

    count: the largest number of times of a run, including its end.
    """
    if y.ndim > 2 or not len(y) or _in_closed_form(flows[0]):
        return _errors(flows, y, T)
    # One program for all numbers of times up to the next power of two.
    rows = np.minimum(np.arange(2 ** (count - 1).bit_length()), len(y) - 1)
    return _errors(flows, y[rows], np.broadcast_to(T, (len(y), *T.shape[-2:]))[rows])[: len(y)]


def _errors(flows: list[Flow], y: np.ndarray, T: np.ndarray) -> Float[np.ndarray, "..."]:
    """Return ε_g of every state; NaN for missing states."""
    if len(flows) > 1:
        return np.stack([_errors([flow], *state) for flow, *state in zip(flows, y, T, strict=True)])
    flow = flows[0]
    if _in_closed_form(flow):
        with np.errstate(invalid="ignore", over="ignore"):
            return errors_of_states(flow.scenario, flow.layout, y, T)
    present = np.all(np.isfinite(y), axis=-1)
    if not np.any(present):
        return np.full(present.shape, np.nan)
    # Missing states are filled with a present one, so that their number is not a static shape.
    filled = np.where(present[..., None], y, y[tuple(np.argwhere(present)[0])])
    return np.where(present, _error(flow, filled, T), np.nan)


def _in_closed_form(flow: Flow) -> bool:
    """Return whether NumPy computes ε_g, so that a new process has nothing to compile."""
    return flow.method.exact and jax.default_backend() == "cpu"


def _error(flow: Flow, y: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return ε_g of states, by the fewest quadrature rules that are accurate."""
    error, resolved = _compiled_error(flow.coarse(), y, T)
    return np.asarray(error if np.all(np.asarray(resolved)) else _compiled_error(flow, y, T)[0])


@partial(stored_jit, optimize_after=UNOPTIMIZED_CALLS)
def _compiled_error(
    flow: Flow, y: Float[AnyArray, "states ..."], T: Float[AnyArray, "states ..."]
) -> tuple[Any, Any]:
    return flow.errors(y, T), flow.resolves(y, T)
