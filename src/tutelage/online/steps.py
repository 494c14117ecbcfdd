"""A run with all steps of its integration, and the exact slope of its error."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.model.timing import Rate, rate_of
from tutelage.online.flow import Flow, errors_of
from tutelage.runs.stored_jit import stored_jit
from tutelage.solve.stepping import IntegratorState, every_step

# Distance relative to the start: a stable solution attracts every run that is this close, and
# errors below a hundred tolerances (at most 1e-8) are integration errors.
NEARLY_SOLVED = 1e-6
# Norms relative to T: at larger norms the terms in η² exceed the others.
TOO_LARGE = 1e6
MAX_STEPS = 2**14
OUTCOMES = ("reached", "converged", "diverged")
CONVERGED, DIVERGED = 1, 2
# Arrays of all steps, the number of steps taken, and the number of the outcome.
RawSteps = tuple[tuple[Array, ...], Array, Array]


class Steps(NamedTuple):
    """A run after each step that the integration takes, in NumPy.

    times, error, slope: ε_g and dε_g/dα, exact along the flow, shape (t,).
    states: as vectors, shape (t, d).
    outcome: "converged", "diverged" or "reached".
    """

    times: Float[np.ndarray, " t"]
    states: Float[np.ndarray, "t d"]
    error: Float[np.ndarray, " t"]
    slope: Float[np.ndarray, " t"]
    outcome: str

    @classmethod
    def of(cls, raw: RawSteps) -> "Steps":
        """Leave out the steps that were not taken."""
        recorded, count, reason = raw
        t, y, error, slope = (np.asarray(x)[: int(count)] for x in recorded)
        return cls(t, y, error, slope, OUTCOMES[int(reason)])

    def crossings(self, level: float) -> np.ndarray:
        """Return times at which the error crosses a level, from cubics with the exact slopes."""
        above = self.error > level
        return np.array([self._crossing(j, level) for j in np.flatnonzero(above[1:] != above[:-1])])

    def _crossing(self, j: int | np.integer, level: float) -> float:
        h = self.times[j + 1] - self.times[j]
        (e0, e1), (s0, s1) = self.error[j : j + 2], h * self.slope[j : j + 2]
        cubic = [2 * (e0 - e1) + s0 + s1, 3 * (e1 - e0) - 2 * s0 - s1, s0, e0 - level]
        roots = np.roots(cubic)
        real = roots.real[np.abs(roots.imag) < 1e-9]
        inside = real[(real > -1e-9) & (real < 1 + 1e-9)]
        share = inside[0] if len(inside) else (level - e0) / (e1 - e0)
        return float(self.times[j] + h * share)


def steps(
    flow: Flow,
    start: Float[np.ndarray, " d"],
    learning_rate: float | Rate,
    until: float,
    *,
    tolerance: float = 1e-10,
    longest: float = np.inf,
    solved: float | None = None,
) -> Steps:
    """Integrate and record every step; one program serves all learning rates and tolerances.

    learning_rate: η; the number 0 is the limit η → 0, with time in units of 1/η.
    longest: the longest step.
    solved: the error at which the run counts as converged; a millionth of the first by default.
    """
    y0 = jnp.asarray(start)
    if solved is None:
        solved = NEARLY_SOLVED * float(errors_of(flow, y0, flow.scenario.T))
    numbers = jax.tree.map(
        lambda x: jnp.asarray(x, dtype=jnp.float64),
        (rate_of(learning_rate), until, tolerance, longest, solved),
    )
    return Steps.of(_compiled(flow, y0, *numbers))


@stored_jit
def _compiled(
    flow: Flow,
    y0: Array,
    rate: Rate,
    until: Float[Array, ""],
    tolerance: Float[Array, ""],
    longest: Float[Array, ""],
    solved: Float[Array, ""],
) -> RawSteps:
    T = flow.scenario.T

    def rates(t: Array, y: Array) -> Array:
        return flow.rates(y, T, rate)

    span = {"until": until, "tolerance": tolerance, "longest": longest}
    return record_steps(flow, rates, y0, TOO_LARGE * jnp.max(T), solved, **span)


def record_steps(
    flow: Flow,
    rates: Callable[[Array, Array], Array],
    y0: Array,
    largest: float | Array,
    solved: Array,
    **span: Array,
) -> RawSteps:
    """Integrate inside a compiled function, and record time, state, error and slope at every step.

    largest: an overlap above which a run diverges.
    solved: the error below which a run has converged.
    span: until, tolerance and longest of `every_step`.
    """

    def error(y: Array) -> Array:
        return flow.errors(y, flow.scenario.T)

    def ends(t: Array, y: Array, slope: Array) -> Array:
        large = jnp.max(jnp.abs(y), axis=-1) > largest
        return jnp.where(error(y[0]) < solved, CONVERGED, jnp.where(large, DIVERGED, 0))

    def observe(now: IntegratorState) -> tuple[Array, ...]:
        y = now.y[0]
        return now.t[0], y, *jax.jvp(error, (y,), (now.slopes[-1, 0],))

    # Steps that shrink to zero are a divergence that is faster than the bound on the norms.
    recorded, count, end = every_step(rates, ends, DIVERGED, observe, y0, most=MAX_STEPS, **span)
    return recorded, count, end.reason[0]
