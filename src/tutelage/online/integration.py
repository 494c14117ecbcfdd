"""Adaptive integration of the equations, with a reason to stop."""

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
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

OUTCOMES = ("reached", "converged", "diverged", "plateau")


class Course(NamedTuple):
    """States at the recorded times, the last state, when it was, and an index into OUTCOMES."""

    states: Float[Array, "... times d"]
    last: Float[Array, "... d"]
    ended_at: Float[Array, "..."]
    outcome: Int[Array, "..."]


@eqx.filter_jit
def integrate(
    flow: Flow,
    y0: Float[Array, "... d"],
    T: Float[Array, "... M M"],
    eta: Any,
    times: Float[Array, " times"],
    tolerance: float,
) -> Course:
    """One run, or one for each entry of a leading axis of y0 and T (and of eta, if an array)."""

    def one(y0: Array, T: Array, eta: Any) -> Course:
        return _integrate(flow, y0, T, eta, times, tolerance)

    if y0.ndim == 1:
        return one(y0, T, eta)
    return eqx.filter_vmap(one, in_axes=(0, 0, 0 if eqx.is_array(eta) and eta.ndim else None))(
        y0, T, eta
    )


def _integrate(flow: Flow, y0: Array, T: Array, eta: Any, times: Array, tolerance: float) -> Course:
    K = flow.scenario.K

    def rate_of_learning(t: Any) -> Any:
        return eta(t) if callable(eta) else eta

    def rates(t: Any, y: Array, _: Any) -> Array:
        return to_vector(flow(to_overlaps(y, T, K), rate_of_learning(t)))

    def solved(t: Any, y: Array, args: Any, **_: Any) -> Any:
        return generalization_error(flow.scenario, to_overlaps(y, T, K)) < SOLVED

    def large(t: Any, y: Array, args: Any, **_: Any) -> Any:
        return jnp.max(jnp.abs(y)) > TOO_LARGE

    def resting(t: Any, y: Array, args: Any, **_: Any) -> Any:
        unit = 1.0 if isinstance(eta, int) else rate_of_learning(t)
        return jnp.max(jnp.abs(rates(t, y, None))) < AT_REST * tolerance * unit

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rates),
        diffrax.Dopri5(),
        t0=0.0,
        t1=times[-1],
        dt0=None,
        y0=y0,
        saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        event=diffrax.Event([solved, large, resting]),
        max_steps=None,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    ended_by = jnp.stack([jnp.asarray(mask) for mask in solution.event_mask])
    outcome = jnp.where(jnp.any(ended_by), 1 + jnp.argmax(ended_by), 0)
    ended_well = (solution.result == diffrax.RESULTS.successful) | (
        solution.result == diffrax.RESULTS.event_occurred
    )
    # A step size that shrinks to nothing is a divergence faster than the bound on the norms.
    outcome = jnp.where(ended_well, outcome, OUTCOMES.index("diverged"))
    return Course(solution.ys[0], solution.ys[1][0], solution.ts[1][0], outcome)
