"""Greedy control: at every moment the controls with which the error falls fastest.

dε_g/dα = ∇ε_g·dΩ/dα is quadratic in the learning rate and linear in the readout rate and in the
weight decay, and a sum of these terms: each control is minimised by itself,

    η = -∇ε_g·F₁ / (2 ∇ε_g·F₂) between its bounds, the others at one of their bounds.

This is feedback: controls follow from the state.  On a plateau F₁ vanishes, and so does the rate.
"""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import ComputationError
from tutelage._jax import jax, jnp
from tutelage.online.best.discretized import LARGEST_OVERLAP, Controlled, in_blocks
from tutelage.online.best.search import LONGEST_TIME, MOST_ENDS
from tutelage.online.flow import errors_of
from tutelage.runs.stored_jit import stored_jit
from tutelage.solve.stepping import LAST, STAGES


def greedy_run(
    system: Controlled, y0: Any, times: Any, bounds: Float[np.ndarray, "m 2"]
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n m"]]:
    """Compute states and controls at all times."""
    states, bounds = [np.asarray(y0, float)[None]], np.asarray(bounds, float)

    def block(h: Any) -> Any:
        states.append(np.asarray(_run(system, states[-1][-1], h, bounds)))
        return states[-1]

    in_blocks(block, np.diff(np.asarray(times, float)))
    every = np.concatenate(states)[: len(times)]
    return every, in_blocks(lambda y: _controls(system, y, bounds), every)


def greedy_end(
    system: Controlled,
    y0: Any,
    bounds: Float[np.ndarray, "m 2"],
    ends: np.ndarray,
    end: float,
    error: float,
) -> float:
    """Find the time at which greedy controls reach the error, on a grid that ends there."""
    for _ in range(MOST_ENDS):
        states, _ = greedy_run(system, y0, end * ends, bounds)
        errors = in_blocks(lambda y: errors_of(system.flow, y, system.flow.scenario.T), states)
        log = np.log(np.maximum(errors, 1e-300))
        below = np.flatnonzero(log <= np.log(error))
        if not len(below) and end > 0.5 * LONGEST_TIME:
            break
        if not len(below):
            end *= 2
            continue
        j = int(below[0])
        share = (np.log(error) - log[j - 1]) / (log[j] - log[j - 1])
        following = end * (ends[j - 1] + share * (ends[j] - ends[j - 1]))
        if abs(following - end) < 1e-9 * end:
            return float(end)
        end = float(following)
        # So that the last point is past the error by rounding only, and not before it.
        if j == len(ends) - 1 and abs(share - 1) < 1e-6:
            return end
        end *= 1 + 1e-9
    raise ComputationError(
        "error",
        f"greedy control does not reach {error:g} until α = {end:g}",
        "it stalls where the terms of first order vanish, as on a plateau",
        "greedy=False",
    )


def greedy_controls(
    system: Controlled, y: Float[Array, " d"], bounds: Float[Array, "m 2"]
) -> Float[Array, " m"]:
    """Return the controls with the least dε_g/dα."""
    slope = jax.grad(system.log_error)(y)
    low, high = bounds[:, 0], bounds[:, 1]
    middle = 0.5 * (low + high)

    def change(u: Array) -> Array:
        return jnp.sum(slope * system.rates(y, u))

    at_low = change(low)

    def best(i: int) -> Array:
        """Minimize the parabola through the ends and the middle of an interval."""
        here = jnp.eye(len(low))[i]
        half, full = (change(low + here * (x - low)) - at_low for x in (middle, high))
        # f(x) = a x + b x² with x from 0 to 1.
        b = 2 * (full - 2 * half)
        a = full - b
        vertex = jnp.clip(jnp.where(b > 0, -a / (2 * jnp.where(b > 0, b, 1.0)), 0.0), 0.0, 1.0)
        tried = jnp.stack([jnp.zeros(()), vertex, jnp.ones(())])
        x = tried[jnp.argmin(a * tried + b * tried**2)]
        return low[i] + x * (high[i] - low[i])

    return jnp.stack([best(i) for i in range(len(system.names))])


@stored_jit
def _run(system: Controlled, y0: Any, h: Any, bounds: Any) -> Any:
    """Return the states after each step of a block."""

    def rates(y: Array) -> Array:
        return system.rates(y, greedy_controls(system, y, bounds))

    def step(y: Array, h: Array) -> tuple[Array, Array]:
        def stage(i: Array, k: Array) -> Array:
            slope = rates(y + h * jnp.sum(jnp.asarray(STAGES)[i, :, None] * k, axis=0))
            updated: Array = jax.lax.dynamic_update_index_in_dim(k, slope, i, 0)
            return updated

        k = jax.lax.fori_loop(0, LAST, stage, jnp.zeros((LAST + 1, len(y))))
        after = y + h * jnp.sum(jnp.asarray(STAGES)[LAST, :, None] * k, axis=0)
        after = jnp.where(jnp.all(jnp.abs(y) <= LARGEST_OVERLAP), after, y)
        return after, after

    return jax.lax.scan(step, y0, h)[1]


@stored_jit
def _controls(system: Controlled, states: Any, bounds: Any) -> Any:
    return jax.lax.map(lambda y: greedy_controls(system, y, bounds), states)
