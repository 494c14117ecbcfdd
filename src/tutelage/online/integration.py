"""Adaptive integration of the equations, with a reason to stop."""

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jnp
from tutelage.generalization import generalization_error
from tutelage.online.equations import Flow
from tutelage.online.state import to_overlaps, to_vector

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
    """States at the recorded times, the last state, its time and error, an index into OUTCOMES."""

    states: Float[Array, "... times d"]
    last: Float[Array, "... d"]
    ended_at: Float[Array, "..."]
    error: Float[Array, "..."]
    outcome: Int[Array, "..."]


def integrate(
    flow: Flow,
    y0: Float[Array, "... d"],
    T: Float[Array, "... M M"],
    eta: Any,
    times: Float[Array, " times"],
    tolerance: float,
) -> Course:
    """One run, or one for each entry of a leading axis of y0 and T (and of eta, if an array)."""
    zero = jnp.zeros(y0.shape[:-1])
    course = _stage(flow, y0, T, eta, times, zero, jnp.asarray(tolerance))
    learning = course.error < STILL_LEARNING * tolerance
    unfinished = np.asarray((course.outcome == PLATEAU) & learning)
    if not np.any(unfinished):
        return course
    resumed = jnp.where(unfinished, course.ended_at, times[-1])
    rest = _stage(flow, course.last, T, eta, times, resumed, jnp.asarray(FINEST))
    settled = jnp.where(rest.outcome == PLATEAU, CONVERGED, rest.outcome)
    late = unfinished[..., None] & (np.asarray(times) > np.asarray(course.ended_at)[..., None])
    return Course(
        jnp.where(late[..., None], rest.states, course.states),
        jnp.where(unfinished[..., None], rest.last, course.last),
        jnp.where(unfinished, rest.ended_at, course.ended_at),
        jnp.where(unfinished, rest.error, course.error),
        jnp.where(unfinished, settled, course.outcome),
    )


@eqx.filter_jit
def _stage(
    flow: Flow, y0: Array, T: Array, eta: Any, times: Array, t0: Array, tolerance: Array
) -> Course:
    def one(y0: Array, T: Array, t0: Array, eta: Any) -> Course:
        return _integrate(flow, y0, T, eta, times, t0, tolerance)

    if y0.ndim == 1:
        return one(y0, T, t0, eta)
    axes = (0, 0, 0, 0 if eqx.is_array(eta) and eta.ndim else None)
    return eqx.filter_vmap(one, in_axes=axes)(y0, T, t0, eta)


def _integrate(
    flow: Flow, y0: Array, T: Array, eta: Any, times: Array, t0: Array, tolerance: Array
) -> Course:
    K = flow.scenario.K

    def rate_of_learning(t: Any) -> Any:
        return eta(t) if callable(eta) else eta

    def rates(t: Any, y: Array, _: Any) -> Array:
        return to_vector(flow(to_overlaps(y, T, K), rate_of_learning(t)))

    def error(y: Array) -> Array:
        return generalization_error(flow.scenario, to_overlaps(y, T, K))

    def solved(t: Any, y: Array, args: Any, **_: Any) -> Any:
        return jnp.abs(error(y)) < SOLVED

    def large(t: Any, y: Array, args: Any, **_: Any) -> Any:
        return jnp.max(jnp.abs(y)) > TOO_LARGE

    def resting(t: Any, y: Array, args: Any, **_: Any) -> Any:
        unit = 1.0 if isinstance(eta, int) else rate_of_learning(t)
        return jnp.max(jnp.abs(rates(t, y, None))) < AT_REST * tolerance * unit

    recorded = diffrax.SubSaveAt(ts=jnp.maximum(times, t0))  # a stage records from its own start
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rates),
        diffrax.Dopri5(),
        t0=t0,
        t1=times[-1],
        dt0=None,
        y0=y0,
        saveat=diffrax.SaveAt(subs=[recorded, diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        event=diffrax.Event([solved, large, resting]),
        max_steps=None,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    ended_by = jnp.stack([jnp.asarray(mask) for mask in solution.event_mask])
    outcome = jnp.where(jnp.any(ended_by), 1 + jnp.argmax(ended_by), REACHED)
    ended_well = (solution.result == diffrax.RESULTS.successful) | (
        solution.result == diffrax.RESULTS.event_occurred
    )
    # A step size that shrinks to nothing is a divergence faster than the bound on the norms.
    outcome = jnp.where(ended_well, outcome, DIVERGED)
    last = solution.ys[1][0]
    return Course(solution.ys[0], last, solution.ts[1][0], error(last), outcome)
