"""Trajectories: overlaps and error over the time of on-line learning."""

import math
from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method
from tutelage.checks import ROUNDING, InputError, finite_array, finite_number
from tutelage.generalization import generalization_error
from tutelage.networks import Scenario
from tutelage.online.equations import Flow
from tutelage.online.state import to_overlaps, to_vector
from tutelage.overlaps import Overlaps

LearningRate = float | Callable[[Any], Any]

# An error below this is rounding: averages of order one are right to 1e-16.
SOLVED = 1e-13
# Norms beyond this do not come back: every η² term has outgrown the others by then.
TOO_LARGE = 1e6
# Rates below this move nothing visible within any time that is asked for.
AT_REST = 1e-12

OUTCOMES = ("reached", "converged", "diverged", "at rest")


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
        start: Q, R and T at time 0.
        learning_rate: η >= 0, or a schedule η(time) written with ``jax.numpy``; the number 0 is
            the limit η → 0, with time in units of 1/η.
        until: the last time α, greater than 0.
        times: when to record; by default 401 equidistant times from 0 to ``until``.
        tolerance: of the integration, relative and absolute for each step.
        method: how averages are computed; the best exact one by default.

    Returns:
        A Dataset with Q, R and generalization_error over ``time``; ``attrs["outcome"]`` is
        "converged" (the error has vanished), "diverged" (norms beyond 10⁶), "at rest" (a fixed
        point with an error that is not zero: a plateau that the start does not leave, or all
        that an unrealizable rule allows) or "reached" (the last time). Times after the end of a
        run that ended earlier are left out; ``attrs["ended_at"]`` says when that was.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.1, until=1000)
    >>> run.attrs["outcome"]
    'converged'
    """
    _check_start(scenario, start)
    finite_number("until", until, above=0.0, hint="until=100")
    finite_number("tolerance", tolerance, above=0.0, hint="tolerance=1e-9")
    times = _check_times(times, float(until))
    eta = _check_learning_rate(learning_rate, times)
    flow = Flow(scenario, method)
    vectors, ended_at, outcome = _integrate(flow, start, eta, jnp.asarray(times), tolerance)
    kept = int(np.sum(np.asarray(times) <= float(ended_at) * (1 + ROUNDING)))
    states = to_overlaps(vectors[:kept], scenario.T, scenario.K)
    return _dataset(scenario, states, times[:kept], OUTCOMES[int(outcome)], float(ended_at), method)


@eqx.filter_jit
def _integrate(flow: Flow, start: Overlaps, eta, times: Float[Array, " t"], tolerance: float):
    """States at the times, when the integration ended, and why (an index into OUTCOMES)."""
    K, T = flow.scenario.K, flow.scenario.T

    def rates(t, y, _):
        return to_vector(flow(to_overlaps(y, T, K), eta(t) if callable(eta) else eta))

    def error(t, y, args, **_):
        return generalization_error(flow.scenario, to_overlaps(y, T, K), flow.method) < SOLVED

    def large(t, y, args, **_):
        return jnp.max(jnp.abs(y)) > TOO_LARGE

    def resting(t, y, args, **_):
        return jnp.max(jnp.abs(rates(t, y, None))) < AT_REST

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rates),
        diffrax.Dopri5(),
        t0=times[0],
        t1=times[-1],
        dt0=None,
        y0=to_vector(start),
        saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        event=diffrax.Event([error, large, resting]),
        max_steps=None,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    ended_by = jnp.stack([jnp.asarray(mask) for mask in solution.event_mask])
    outcome = jnp.where(jnp.any(ended_by), 1 + jnp.argmax(ended_by), 0)
    failed = (solution.result != diffrax.RESULTS.successful) & (
        solution.result != diffrax.RESULTS.event_occurred
    )
    return solution.ys[0], solution.ts[1][0], jnp.where(failed, 2, outcome)


def _check_start(scenario: Any, start: Any) -> None:
    """The start fits the scenario; done by computing its error."""
    if getattr(getattr(start, "R", None), "ndim", 2) != 2:
        raise InputError("start", f"R of shape {start.R.shape}", "it has to be one state")
    generalization_error(scenario, start)


def _check_times(times: Any, until: float) -> np.ndarray:
    if times is None:
        return np.linspace(0.0, until, 401)
    array = finite_array("times", times)
    increasing = array.ndim == 1 and len(array) > 1 and np.all(np.diff(array) > 0)
    if not increasing or array[0] < 0 or array[-1] > until:
        raise InputError(
            "times",
            f"an array of shape {array.shape} from {array.flat[0]:g} to {array.flat[-1]:g}"
            if array.size
            else "nothing",
            f"times have to increase from 0 or later to at most until = {until:g}",
            "np.linspace(0, until, 201)",
        )
    return array if array[0] == 0 else np.concatenate([[0.0], array])


def _check_learning_rate(learning_rate: Any, times: np.ndarray) -> Any:
    if not callable(learning_rate):
        rate = finite_number("learning_rate", learning_rate, at_least=0.0, hint="1.0")
        return 0 if rate == 0 else jnp.asarray(rate, dtype=jnp.float64)
    values = np.array([float(learning_rate(t)) for t in times])
    bad = ~np.isfinite(values) | (values < 0)
    if np.any(bad):
        where = int(np.argmax(bad))
        raise InputError(
            "learning_rate",
            f"a schedule that is {values[where]} at time {times[where]:g}",
            "a learning rate has to be finite and not negative at all times",
        )
    return learning_rate


def _dataset(
    scenario: Scenario,
    states: Overlaps,
    times: np.ndarray,
    outcome: str,
    ended_at: float,
    method: Method | str | None,
) -> xr.Dataset:
    T = jnp.broadcast_to(scenario.T, (len(times), *scenario.T.shape))
    error = generalization_error(scenario, to_overlaps(to_vector(states), T, scenario.K), method)
    return xr.Dataset(
        {
            "Q": (("time", "student", "student_2"), np.asarray(states.Q)),
            "R": (("time", "student", "teacher"), np.asarray(states.R)),
            "generalization_error": ("time", np.asarray(error)),
        },
        coords={
            "time": ("time", times, {"long_name": "examples per input dimension", "symbol": "α"}),
            "student": np.arange(1, scenario.K + 1),
            "student_2": np.arange(1, scenario.K + 1),
            "teacher": np.arange(1, scenario.M + 1),
        },
        attrs={"outcome": outcome, "ended_at": ended_at},
    )
