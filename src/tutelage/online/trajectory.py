"""Trajectories: overlaps and error over the time of on-line learning."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_number
from tutelage._jax import jax, jnp
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario, timing
from tutelage.model.layout import to_overlaps, to_vector, unchecked
from tutelage.model.scenario import check_fits
from tutelage.model.timing import Rate, Scheduled, recorded_times
from tutelage.online.flow import Flow
from tutelage.online.integration import FINEST, OUTCOMES, Trajectory, integrate
from tutelage.runs.provenance import parameters

LearningRate = float | Callable[[Any], Any] | np.ndarray


def evolve(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: LearningRate,
    until: float,
    times: Any = None,
    tolerance: float = 1e-9,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Integrate the order-parameter equations from a start.

    Args:
        scenario: who learns from whom.
        start: Q, R and T at time 0; with a leading axis, one start (and teacher) for each run.
        learning_rate: η >= 0, an array of rates for as many runs, or a schedule η(time) written
            with ``jax.numpy``.  The number 0 is the limit η → 0, with time in units of 1/η.
        until: the last time α, greater than 0.
        times: when to record; by default 401 equidistant times from 0 to ``until``.
        tolerance: of the integration, relative and absolute for each step.
        method: how averages are computed; the best exact one by default.

    Returns:
        A Dataset with Q, R and generalization_error over ``time`` (and ``run``), and

        - ``outcome``: "converged" (the error has vanished, or nothing moves any more and every
          disturbance decays), "plateau" (nothing moves, but a disturbance would grow),
          "diverged" (norms beyond 10⁶) or "reached" (the last time);
        - ``ended_at``: the time at which the run ended.

        The attribute ``averages_error`` bounds the error of the averages at the start.

        For one run these are attributes; a run that has ended by itself has its end as the last
        time, instead of those that come later.  Of several runs those that have converged keep
        their last state, and those that have diverged are missing (NaN) afterwards.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.1, until=1000)
    >>> run.attrs["outcome"]
    'converged'
    """
    finite_number("tolerance", tolerance, at_least=FINEST, hint="tolerance=1e-9")
    times = recorded_times(times, until)
    rate = timing.learning_rate(learning_rate, times, float(until))
    runs = _runs(scenario, start, rate)
    flow = Flow(scenario, method)
    begin = unchecked(
        *(np.broadcast_to(x, (*start.batch, *x.shape[-2:])) for x in (start.Q, start.R, start.T))
    )
    T = np.broadcast_to(begin.T, (*runs, scenario.M, scenario.M))
    y0 = np.broadcast_to(to_vector(begin), (*runs, to_vector(begin).shape[-1]))
    trajectory = integrate(flow, y0, T, rate, times, float(until), tolerance)
    outcomes = _outcomes(flow, trajectory, T, rate)
    options: dict[str, Any] = {"until": float(until), "tolerance": tolerance}
    options["method"] = method and str(method)
    attrs = parameters("online.evolve", scenario, start, learning_rate, **options)
    attrs["averages_error"] = flow.error(jax.tree.map(_first, begin))
    return _dataset(scenario, trajectory, T, times, outcomes, method, attrs)


def _first(x: Any) -> Any:
    """The first run's."""
    return x[(0,) * (x.ndim - 2)]


def _outcomes(flow: Flow, trajectory: Trajectory, T: Any, rate: Rate | Scheduled) -> np.ndarray:
    """Names of the outcomes; a run at rest has converged unless a disturbance would grow."""
    names = np.asarray(np.array(OUTCOMES)[np.asarray(trajectory.outcome)], dtype="<U9")
    for run in np.argwhere(np.asarray(trajectory.outcome) == OUTCOMES.index("plateau")):
        where = tuple(run)
        now = rate.of_run(where).at(trajectory.ended_at[where])
        growth = _largest_eigenvalue(flow, trajectory.last[where], T[where], now)
        if float(growth) < 1e-9:
            names[where] = "converged"
    return names


@eqx.filter_jit
def _largest_eigenvalue(flow: Flow, y: Any, T: Any, rate: Rate) -> Any:
    jacobian = jax.jacfwd(lambda y: to_vector(flow(to_overlaps(y, T, flow.scenario.K), rate)))(y)
    return jnp.max(jnp.linalg.eigvals(jacobian).real)


def _runs(scenario: Any, start: Any, rate: Rate | Scheduled) -> tuple[int, ...]:
    """() for one run, (n,) for several; the start has to fit the scenario."""
    batch = start.batch if isinstance(start, Overlaps) else ()
    check_fits("start", scenario, start, any_teacher=bool(batch))  # they may differ between runs
    rates = np.shape(rate.first) if isinstance(rate, Rate) else ()
    if len(batch) > 1 or len(rates) > 1 or (batch and rates and batch != rates):
        raise InputError(
            "start and learning_rate",
            f"batches of shape {batch} and {rates}",
            "there has to be one axis of runs, the same for both",
            "one learning rate for each start",
        )
    return batch or rates


def _dataset(
    scenario: Scenario,
    trajectory: Trajectory,
    T: Any,
    times: np.ndarray,
    outcomes: np.ndarray,
    method: Method | str | None,
    attrs: dict[str, Any],
) -> xr.Dataset:
    several = outcomes.ndim == 1
    vectors, ended_at = np.asarray(trajectory.states), np.asarray(trajectory.ended_at)
    late = times > ended_at[..., None] * (1 + 1e-12)
    if several:
        settled = np.isin(outcomes, ("converged", "plateau"))[:, None] & late
        vectors = np.where(settled[..., None], np.asarray(trajectory.last)[:, None], vectors)
        vectors = np.where((late & ~settled)[..., None], np.nan, vectors)
    else:
        vectors, times = vectors[~late], times[~late]
        if outcomes != "reached" and (not len(times) or times[-1] < ended_at):
            vectors = np.concatenate([vectors, trajectory.last[None]])
            times = np.append(times, ended_at)
    states = to_overlaps(vectors, T[..., None, :, :], scenario.K)
    run = ("run",) if several else ()
    dataset = xr.Dataset(
        {
            "Q": ((*run, "time", "student", "student_2"), np.asarray(states.Q)),
            "R": ((*run, "time", "student", "teacher"), np.asarray(states.R)),
            "generalization_error": ((*run, "time"), _errors(scenario, states, vectors, method)),
        },
        coords={
            "time": ("time", times, {"long_name": "examples per input", "symbol": "α"}),
            "student": np.arange(1, scenario.K + 1),
            "student_2": np.arange(1, scenario.K + 1),
            "teacher": np.arange(1, scenario.M + 1),
        },
        attrs=attrs,
    )
    ends = {"outcome": outcomes, "ended_at": ended_at}
    if several:
        return dataset.assign({name: ("run", value) for name, value in ends.items()})
    return dataset.assign_attrs({name: value.item() for name, value in ends.items()})


def _errors(scenario: Scenario, states: Overlaps, vectors: np.ndarray, method: Any) -> np.ndarray:
    """ε_g of every state; missing where the state is."""
    T = np.broadcast_to(states.T, (*states.R.shape[:-2], *states.T.shape[-2:]))
    present = np.all(np.isfinite(vectors), axis=-1)
    flat = vectors[present]
    if not len(flat):
        return np.full(present.shape, np.nan)
    value = _error(scenario, to_overlaps(flat, T[present], scenario.K), method)
    errors = np.full(present.shape, np.nan)
    errors[present] = np.asarray(value)
    return errors


@eqx.filter_jit
def _error(scenario: Scenario, states: Overlaps, method: Any) -> Any:
    return generalization_error(scenario, states, method)
