"""Weights on the sphere at equilibrium: Hamiltonian moves along great circles."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import Scalar
from tutelage.equilibrium.kernel.pair_error import PairError

TARGET_ACCEPTANCE = 0.8  # acceptance to which the step is tuned while warming up
STEP_JITTER = 0.3  # steps vary by this much, so that no trajectory is a full period of any mode

Weights = Float[Array, "run K N"]
# One time for all runs, or one per run.
Time = Scalar | Float[Array, "run 1 1"]


class Samples(NamedTuple):
    """Records after each move, one row per run."""

    Q: Float[Array, "... run K K"]
    R: Float[Array, "... run K M"]
    generalization_error: Float[Array, "... run"]
    acceptance: Float[Array, "... run"]


@runtime_checkable
class Density(Protocol):
    """A density exp(−N u(J)) on the product of K spheres, for several chains at a time."""

    def potential(self, J: Weights, strength: Scalar) -> Float[Array, " run"]:
        """u of every chain; `strength` is the load, or β."""

    def force(self, J: Weights, strength: Scalar) -> Weights:
        """−∂u/∂J."""

    def sample(self, J: Weights, acceptance: Float[Array, " run"]) -> Any:
        """Return the records after a move."""


class Gibbs(eqx.Module):
    """The density exp(-α K N ε_g(J)) of K unit vectors J_i in N dimensions.

    oostwal2019 eq. (15) with α = βP/(KN); their weights are √N J.  Only the energy is used: no
    entropy, no large N.

    teachers: B, shape (M, N).
    """

    error: PairError
    teachers: Float[Array, "M N"]

    def overlaps(self, J: Weights) -> tuple[Float[Array, "run K K"], Float[Array, "run K M"]]:
        """Q = J Jᵀ and R = J Bᵀ."""
        return jnp.einsum("rin,rkn->rik", J, J), jnp.einsum("rin,mn->rim", J, self.teachers)

    def generalization_error(self, J: Weights) -> Float[Array, " run"]:
        """ε_g."""
        return self.error(self.error.pairs(*self.overlaps(J)))

    def potential(self, J: Weights, load: Scalar) -> Float[Array, " run"]:
        """α K ε_g."""
        return load * self.error.scenario.K * self.generalization_error(J)

    def sample(self, J: Weights, acceptance: Float[Array, " run"]) -> Samples:
        """Return the recorded quantities."""
        return Samples(*self.overlaps(J), self.generalization_error(J), acceptance)

    def force(self, J: Weights, load: Scalar) -> Weights:
        """-α K ∂ε_g/∂J_i = -α K [Σ_k (∂ε_g/∂Q_ik) J_k + Σ_n (∂ε_g/∂R_in) B_n]."""
        K = self.error.scenario.K
        q, r = self.error.split(self.error.first(self.error.pairs(*self.overlaps(J))))
        upper = jnp.zeros((len(J), K, K)).at[:, *np.triu_indices(K, 1)].set(q)
        among = jnp.einsum("rik,rkn->rin", upper + jnp.swapaxes(upper, 1, 2), J)
        return -load * K * (among + jnp.einsum("rim,mn->rin", r, self.teachers))


@eqx.filter_jit
def chain(
    density: Density,
    strength: Float[Array, ""],
    J: Weights,
    step: Float[Array, ""],
    gains: Float[Array, " sweep"],
    key: Array,
    moves: int,
) -> tuple[Weights, Float[Array, ""], Any]:
    """Run one trajectory per gain; all runs share one step size.

    gains: by how much the logarithm of the step follows the acceptance; zero once samples count.
    moves: great-circle steps in one trajectory.
    """

    def sweep(state: tuple[Weights, Array], inputs: tuple[Array, Array]):
        (J, log_step), (key, gain) = state, inputs
        J, probability = _trajectory(density, strength, J, jnp.exp(log_step), key, moves)
        log_step = log_step + gain * (jnp.mean(probability) - TARGET_ACCEPTANCE)
        return (J, log_step), density.sample(J, probability)

    keys = jax.random.split(key, len(gains))
    (J, log_step), samples = jax.lax.scan(sweep, (J, jnp.log(step)), (keys, gains))
    return J, jnp.exp(log_step), samples


def _trajectory(
    density: Density, strength: Scalar, J: Weights, step: Scalar, key: Array, moves: int
) -> tuple[Weights, Float[Array, " run"]]:
    """Geodesic Monte Carlo (Byrne and Girolami 2013), accepted or rejected separately for each run.

    H = N u + (N/2)|v|² with velocities v tangent to the spheres: free motion is a rotation by |v|
    per unit of time, whatever N is.
    """
    runs, _, N = J.shape
    to_velocity, to_step, to_accept = jax.random.split(key, 3)
    v = _tangent(J, jax.random.normal(to_velocity, J.shape) / jnp.sqrt(N))
    h = step * jax.random.uniform(
        to_step, (runs, 1, 1), minval=1 - STEP_JITTER, maxval=1 + STEP_JITTER
    )

    def energy(J: Weights, v: Weights) -> Float[Array, " run"]:
        return N * (density.potential(J, strength) + 0.5 * jnp.sum(v**2, axis=(1, 2)))

    def kick(J: Weights, v: Weights, h: Time) -> Weights:
        return v + h * _tangent(J, density.force(J, strength))

    def one(_: Array, state: tuple[Weights, Weights]) -> tuple[Weights, Weights]:
        J, v = rotate(*state, h)
        return J, kick(J, v, h)

    # Half a kick, then pairs of rotation and kick; the last kick is too long by a half.
    K_, v_ = jax.lax.fori_loop(0, moves, one, (J, kick(J, v, h / 2)))
    v_ = kick(K_, v_, -h / 2)
    gain = energy(J, v) - energy(K_, v_)
    probability = jnp.where(jnp.isfinite(gain), jnp.exp(jnp.minimum(gain, 0.0)), 0.0)
    accepted = jax.random.uniform(to_accept, (runs,)) < probability
    return jnp.where(accepted[:, None, None], K_, J), probability


def rotate(J: Weights, v: Weights, time: Time) -> tuple[Weights, Weights]:
    """Move along the great circle through J in the direction of v, for a time."""
    speed = jnp.sqrt(jnp.sum(v**2, axis=-1, keepdims=True))
    cos, sin = jnp.cos(speed * time), jnp.sin(speed * time)
    moved = J * cos + v / jnp.maximum(speed, 1e-300) * sin
    J_, v_ = moved, v * cos - J * speed * sin
    # Rounding errors would accumulate over many sweeps.
    J_ = J_ / jnp.sqrt(jnp.sum(J_**2, axis=-1, keepdims=True))
    return J_, _tangent(J_, v_)


def _tangent(J: Weights, v: Weights) -> Weights:
    """v without its component along J."""
    return v - jnp.sum(J * v, axis=-1, keepdims=True) * J
