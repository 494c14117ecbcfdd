"""Batches of as many examples as there are inputs: a map from step to step.

A step takes the mean gradient of bN new examples, J_i ← (1 - γ) J_i + η (1/bN) Σ_μ δ_i ξ.  Its mean
is Σ_a A_ia w_a, with the mean Jacobian A of the signals (`tutelage.averages.pairs`), and what is
left is random, of variance D/b with D_ik = ⟨δ_i δ_k⟩: overlaps change by

    R ← (1 - γ) R + η (A C)_xy
    Q ← (1 - γ)² Q + (1 - γ) η (A C + C Aᵀ)_xx + η² (A C Aᵀ + D/b)_xx

and by no small amounts; nothing is inverted.  As b → ∞ this is gradient descent on ε_g itself.
"""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.model.timing import Rate, time_axis
from tutelage.online.flow import Flow, readout_gradient
from tutelage.online.moments.base import Moments
from tutelage.runs.provenance import recorded
from tutelage.runs.stored_jit import stored_jit

# Norms beyond this do not come back.
TOO_LARGE = 1e6


@recorded
def iterate(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    steps: int,
    batch: float = 1.0,
    readout_rate: float = 0.0,
) -> xr.Dataset:
    """Learn in steps, each with the mean gradient of bN new examples.

    Args:
        scenario: who learns from whom, with teachers that stay; weight decay acts once in a step.
        start: Q, R and T before the first step.
        learning_rate: η > 0 of a whole step.
        steps: how many.
        batch: b > 0, examples for each step in units of N.
        readout_rate: η_v of a whole step, for a second layer that learns; 0 keeps it fixed.

    Returns:
        A Dataset with Q, R and generalization_error before the first and after every step, and
        ``readout`` if it learns; ``time`` is α, the number of examples over N, which a step
        increases by b.  ``attrs["outcome"]`` is "reached", or "diverged" if norms go beyond 10⁶,
        which ends it.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Linear())
    >>> start = tl.Overlaps(Q=[[1.0]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.iterate(tl.Scenario(one, one), start, learning_rate=0.5, steps=2, batch=1)
    >>> run.R.values.ravel().tolist()  # 1 - R halves in every step
    [0.0, 0.5, 0.75]
    """
    check_fits("start", scenario, start, batches=((),))
    finite_number("learning_rate", learning_rate, above=0.0, hint="0.5")
    finite_number("batch", batch, above=0.0, hint="batch=1.0")
    finite_number("readout_rate", readout_rate, at_least=0.0, hint="readout_rate=0.5")
    count = positive_integer("steps", steps, "steps=100")
    if float(scenario.drift) > 0:
        allowed = "teachers of steps with whole batches have to stay"
        raise InputError("scenario", f"drift = {scenario.drift}", allowed, "drift=0")
    flow = Flow(scenario, readout_rate=float(bool(readout_rate)))
    size = flow.layout.size
    check_memory("steps", count, lambda n: 16 * n * size, "their records")
    eta, eta_v, b = (np.asarray(x, np.float64) for x in (learning_rate, readout_rate, batch))
    y = jnp.asarray(flow.vector(start))
    states, errors = _iterated(flow, y, eta, eta_v, b, count)
    return _dataset(flow, np.asarray(states), np.asarray(errors), float(batch))


@stored_jit
def _iterated(
    flow: Flow, y: Float[Array, " d"], eta: Any, eta_v: Any, batch: Any, steps: int
) -> tuple[Array, Array]:
    """All states, the first among them, and their errors."""
    T = flow.scenario.T

    def step(y: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
        after = flow.at_states(
            lambda moments, state: _next(flow, moments, state, Rate(eta, readout=eta_v), batch),
            y,
            T,
        )
        stays = jnp.all(jnp.abs(y) <= TOO_LARGE)  # which NaN does not
        return jnp.where(stays, after, y), (y, flow.errors(y, T))

    return jax.lax.scan(step, y, None, length=steps + 1)[1]


def _next(
    flow: Flow, moments: Moments, state: Overlaps, rate: Rate, batch: Any
) -> Float[Array, " d"]:
    """The state after one step."""
    K, eta, left = flow.scenario.K, rate.first, 1 - flow.scenario.weight_decay
    A, C = moments.jacobian(state), state.covariance
    AC = A @ C
    x, y = AC[:, :K], AC[:, K:]
    noise = AC @ A.T + moments.second_order(state) / batch
    Q = left**2 * state.Q + left * eta * (x + x.T) + eta**2 * noise
    after = {"Q": Q, "R": left * state.R + eta * y}
    if flow.trained:
        scenario = moments.scenario
        gradient = readout_gradient(scenario, moments.first_orders(state)[1])
        v = (1 - scenario.readout_decay) * scenario.student.weights
        after["readout"] = v + rate.readout * gradient
    return flow.layout.vector(after)


def _dataset(flow: Flow, y: np.ndarray, errors: np.ndarray, batch: float) -> xr.Dataset:
    finite = np.all(np.abs(y) <= TOO_LARGE, axis=-1) & np.isfinite(errors)
    count = len(y) if np.all(finite) else int(np.argmin(finite))
    y, errors = y[:count], errors[:count]
    return xr.Dataset(
        {**flow.layout.variables(y, ("time",)), "generalization_error": ("time", errors)},
        coords={"time": time_axis(batch * np.arange(count)), **flow.layout.coordinates},
        attrs={"outcome": "reached" if np.all(finite) else "diverged"},
    )
