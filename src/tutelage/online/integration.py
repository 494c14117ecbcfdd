"""Adaptive integration of the equations, with a reason to stop."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.averages.generalization import generalization_error
from tutelage.model.layout import to_overlaps, to_vector
from tutelage.online.flow import Flow
from tutelage.solve.stepping import walk

# An error below this is rounding: averages of order one are right to 1e-16.
SOLVED = 1e-13
# Norms beyond this do not come back: the η² terms have outgrown all others by then.
TOO_LARGE = 1e6
# Rates of a few tolerances, in units of the learning rate, are errors of the integration: it
# cannot tell any more where the run would go.  A plateau that is left in earnest is left with
# larger ones; for a start closer to a saddle than that, choose a smaller tolerance.
AT_REST = 10.0
# With an error of less than this many tolerances a run at rest is on its way to a solution, and
# goes on with a tolerance at which rounding is all that disturbs it.
STILL_LEARNING = 1000.0
FINEST = 1e-14

OUTCOMES = ("reached", "converged", "diverged", "plateau")
REACHED, CONVERGED, DIVERGED, PLATEAU = range(4)


class Course(NamedTuple):
    """States at the recorded times, the last state, its time, an index into OUTCOMES."""

    states: Float[np.ndarray, "... times d"]
    last: Float[np.ndarray, "... d"]
    ended_at: Float[np.ndarray, "..."]
    outcome: Int[np.ndarray, "..."]


def integrate(
    flow: Flow,
    y0: Float[np.ndarray, "... d"],
    T: Float[np.ndarray, "... M M"],
    eta: Any,
    times: Float[np.ndarray, " times"],
    until: float,
    tolerance: float,
) -> Course:
    """One run, or one for each entry of a leading axis of y0 and T (and of eta, if an array)."""
    span = (times, np.asarray(until))
    course = _stage(flow, y0, T, eta, span, np.zeros(y0.shape[:-1]), np.asarray(tolerance))
    unfinished = course.outcome == PLATEAU
    if np.any(unfinished):
        error = np.asarray(_errors(flow, course.last, T))
        unfinished = unfinished & (error < STILL_LEARNING * tolerance)
    if not np.any(unfinished):
        return course
    resumed = np.where(unfinished, course.ended_at, until)
    rest = _stage(flow, course.last, T, eta, span, resumed, np.asarray(FINEST))
    settled = np.where(rest.outcome == PLATEAU, CONVERGED, rest.outcome)
    late = unfinished[..., None] & (times > course.ended_at[..., None])
    return Course(
        np.where(late[..., None], rest.states, course.states),
        np.where(unfinished[..., None], rest.last, course.last),
        np.where(unfinished, rest.ended_at, course.ended_at),
        np.where(unfinished, settled, course.outcome),
    )


def _stage(flow: Flow, y0: Any, T: Any, eta: Any, span: tuple, t0: Any, tolerance: Any) -> Course:
    """One stage of integration; a single run is a batch of one."""
    several, (times, until) = y0.ndim > 1, span
    y0, T, t0 = (y0, T, t0) if several else (y0[None], T[None], t0[None])
    course = _compiled(flow, y0, T, t0, eta, times, until, tolerance)
    return Course(*(np.asarray(x) if several else np.asarray(x)[0] for x in course))


@eqx.filter_jit
def _errors(flow: Flow, y: Any, T: Any) -> Array:
    return generalization_error(flow.scenario, to_overlaps(y, T, flow.scenario.K))


@eqx.filter_jit
def _compiled(
    flow: Flow, y0: Any, T: Any, t0: Any, eta: Any, times: Any, until: Any, tolerance: Any
) -> tuple[Array, Array, Array, Array]:
    def learning_rate(t: Array) -> Any:
        return jax.vmap(eta)(t) if callable(eta) else eta

    def rates(t: Array, y: Array) -> Array:
        rate = learning_rate(t)
        rate = rate[:, None, None] if eqx.is_array(rate) and rate.ndim else rate
        return to_vector(flow(to_overlaps(y, T, flow.scenario.K), rate))

    # Noise and decay drive a run away from the solution: there the error says nothing.
    stays = (flow.scenario.label_noise == 0) & (flow.scenario.weight_decay == 0)

    def ends(t: Array, y: Array, slope: Array) -> Array:
        unit = 1.0 if isinstance(eta, int) else learning_rate(t)
        reasons = [
            (CONVERGED, (jnp.abs(_errors(flow, y, T)) < SOLVED) & stays),
            (DIVERGED, jnp.max(jnp.abs(y), axis=-1) > TOO_LARGE),
            (PLATEAU, jnp.max(jnp.abs(slope), axis=-1) < AT_REST * tolerance * unit),
        ]
        return jnp.select([given for _, given in reasons], [why for why, _ in reasons], REACHED)

    # Steps that shrink to nothing are a divergence faster than the bound on the norms.
    end = walk(rates, ends, DIVERGED, y0, t0, times, until, tolerance)
    return end.records, end.y, end.t, end.reason
