"""Greedy control: at every moment the controls that decrease the error fastest.

dε_g/dα = ∇ε_g·dΩ/dα is quadratic in the learning rate and linear in the readout rate and in the
weight decay, and a sum of these terms: each control is minimised by itself,

    η = -∇ε_g·F₁ / (2 ∇ε_g·F₂) between its bounds, the others at one of their bounds.

This is feedback: controls follow from the state.  On a plateau F₁ vanishes, and so does the rate.
"""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray
from tutelage.online.best.discretized import LARGEST_OVERLAP, Controlled, in_blocks
from tutelage.online.steps import RawSteps, Steps, record_steps
from tutelage.runs.stored_jit import stored_jit


def greedy_run(
    system: Controlled,
    y0: Float[np.ndarray, " d"],
    until: float,
    bounds: Float[np.ndarray, "m 2"],
    *,
    tolerance: float,
    solved: float = 0.0,
) -> tuple[Steps, Float[np.ndarray, "n m"]]:
    """Integrate with greedy controls, in adaptive steps, because feedback is fast near the start.

    solved: the error at which the run ends.

    Returns:
        The run after every step, and the controls at these times.
    """
    numbers = (np.asarray(x, float) for x in (y0, bounds, until, tolerance, solved))
    run = Steps.of(_run(system, *numbers))
    box = np.asarray(bounds, float)
    return run, in_blocks(lambda y: _controls(system, y, box), run.states)


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
        direction = jnp.eye(len(low))[i]
        half, full = (change(low + direction * (x - low)) - at_low for x in (middle, high))
        # f(x) = a x + b x² with x from 0 to 1.
        b = 2 * (full - 2 * half)
        a = full - b
        vertex = jnp.clip(jnp.where(b > 0, -a / (2 * jnp.where(b > 0, b, 1.0)), 0.0), 0.0, 1.0)
        tried = jnp.stack([jnp.zeros(()), vertex, jnp.ones(())])
        x = tried[jnp.argmin(a * tried + b * tried**2)]
        return low[i] + x * (high[i] - low[i])

    return jnp.stack([best(i) for i in range(len(system.names))])


@stored_jit
def _run(
    system: Controlled,
    y0: Float[AnyArray, " d"],
    bounds: Float[AnyArray, "m 2"],
    until: Float[AnyArray, ""],
    tolerance: Float[AnyArray, ""],
    solved: Float[AnyArray, ""],
) -> RawSteps:
    def rates(t: Array, y: Array) -> Array:
        return system.rates(y[0], greedy_controls(system, y[0], bounds))[None]

    span = {"until": until, "tolerance": tolerance, "longest": jnp.asarray(jnp.inf)}
    return record_steps(system.flow, rates, y0, LARGEST_OVERLAP, solved, **span)


@stored_jit
def _controls(
    system: Controlled, states: Float[AnyArray, "block d"], bounds: Float[AnyArray, "m 2"]
) -> Any:
    return jax.lax.map(lambda y: greedy_controls(system, y, bounds), states)
