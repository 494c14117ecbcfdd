"""The map of the overlaps in one step of an optimizer, with the gradient of a large batch.

The gradient G = A·(w, w*) + noise of bN fresh examples has the overlaps

    G·W = (A C)_xx,   G·w* = (A C)_xy,   G·G = S = A C Aᵀ + D/b,   G·V = A (W·V, w*·V)

with weights W, teachers w* and velocities V from before the step.  With momentum μ and the matrix
H of the optimizer (`tutelage.model.optimizers`), the velocity and the weights become

    V ← μ V + G:                 V·V ← μ² V·V + μ (V·G + G·V) + S
                                 V·W ← μ V·W + G·W,      V·w* ← μ V·w* + G·w*
    W ← (1 - γ) W + η H V:       Q ← (1 - γ)² Q + (1 - γ) η [H V·W + transpose] + η² H V·V Hᵀ
                                 R ← (1 - γ) R + η H V·w*
                                 V·W ← (1 - γ) V·W + η V·V Hᵀ

in this order.  Without momentum V = G, and the state is Q and R alone.
"""

from typing import Any

from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage._types import Scalar
from tutelage.model import Overlaps
from tutelage.model.optimizers import Muon, Normalized, Optimizer
from tutelage.online.moments.base import Moments


def gradient_norm(moments: Moments, state: Overlaps, batch: Scalar) -> Float[Array, "K K"]:
    """S = G·Gᵀ = A C Aᵀ + D/b, for steps with the mean gradient of bN examples."""
    A = moments.jacobian(state)
    return A @ state.covariance @ A.T + moments.second_order(state) / batch


def multiplier(optimizer: Optimizer, norm: Float[Array, "K K"]) -> Float[Array, "K K"]:
    """Return H for a velocity with V·V = ``norm``."""
    epsilon: Any = optimizer.epsilon
    if isinstance(optimizer, Normalized):
        return jnp.diag((jnp.maximum(jnp.diag(norm), 0.0) + epsilon) ** -0.5)
    if isinstance(optimizer, Muon):
        values, vectors = jnp.linalg.eigh(norm)
        # Rounding makes the eigenvalue of a singular matrix negative.
        return (vectors * (jnp.maximum(values, 0.0) + epsilon)[None] ** -0.5) @ vectors.T
    return jnp.eye(len(norm))


def step(
    optimizer: Optimizer,
    moments: Moments,
    state: Overlaps,
    velocity: dict[str, Array],
    rate: Scalar,
    batch: Scalar,
) -> dict[str, Array]:
    """Return the blocks of the state after one step.

    velocity: the blocks V·V, V·W and V·w* before the step; empty without momentum.
    """
    K, left = state.K, 1 - moments.scenario.weight_decay
    A, C = moments.jacobian(state), state.covariance
    AC = A @ C
    VW, VT, VV = AC[:, :K], AC[:, K:], AC @ A.T + moments.second_order(state) / batch
    if velocity:
        mu, old = optimizer.momentum, velocity
        VG = jnp.concatenate([old["velocity_student"], old["velocity_teacher"]], axis=1) @ A.T
        VV = mu**2 * old["velocity_norm"] + mu * (VG + VG.T) + VV
        VW, VT = mu * old["velocity_student"] + VW, mu * old["velocity_teacher"] + VT
    H = multiplier(optimizer, VV)
    change = H @ VW
    after = {
        "Q": left**2 * state.Q + left * rate * (change + change.T) + rate**2 * H @ VV @ H.T,
        "R": left * state.R + rate * H @ VT,
    }
    if not velocity:
        return after
    VW = left * VW + rate * VV @ H.T
    return after | {"velocity_norm": VV, "velocity_student": VW, "velocity_teacher": VT}
