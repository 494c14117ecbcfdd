"""The step of an optimizer in all weights of a network, from the gradient.

The independent route to `tutelage.online.iterate`: velocities by Optax, and the orthogonalization
of `tutelage.model.optimizers.Muon` by singular values of the K × N matrix of velocities.
"""

from typing import Any, NamedTuple

from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.model.optimizers import RELATIVE_EPSILON, Muon, Normalized, Optimizer


class Memory(NamedTuple):
    """The part of a network's state that belongs to its optimizer.

    velocity: the state of ``optax.trace``; None without momentum.
    epsilon: ε; None for an optimizer without ε.
    """

    velocity: Any = None
    epsilon: Any = None


def initial_memory(optimizer: Optimizer, J: Float[Array, "K N"]) -> Memory:
    """The memory before the first step."""
    epsilon = jnp.asarray(optimizer.epsilon or 0.0) if optimizer.normalizes else None
    return Memory(_trace(optimizer).init(J) if optimizer.momentum else None, epsilon)


def direction(
    optimizer: Optimizer, gradient: Float[Array, "K N"], memory: Memory
) -> tuple[Float[Array, "K N"], Memory]:
    """Return H V, by which the optimizer moves the weights, and its memory after the step."""
    velocity, state = gradient, memory.velocity
    if state is not None:
        velocity, state = _trace(optimizer).update(gradient, state)
    if not optimizer.normalizes:
        return velocity, Memory(state)
    # The default of ε, 0 before the first step, comes from the first gradient.
    default = RELATIVE_EPSILON * jnp.sum(gradient**2)
    epsilon = jnp.where(memory.epsilon > 0, memory.epsilon, default)
    return _normalized(optimizer, velocity, epsilon), Memory(state, epsilon)


def _normalized(
    optimizer: Optimizer, V: Float[Array, "K N"], epsilon: Float[Array, ""]
) -> Float[Array, "K N"]:
    if isinstance(optimizer, Normalized):
        return V / jnp.sqrt(jnp.sum(V**2, axis=1, keepdims=True) + epsilon)
    assert isinstance(optimizer, Muon)
    U, values, directions = jnp.linalg.svd(V, full_matrices=False)
    return (U * (values / jnp.sqrt(values**2 + epsilon))[None]) @ directions


def _trace(optimizer: Optimizer) -> Any:
    """Update V ← μ V + G by Optax."""
    import optax

    return optax.trace(decay=optimizer.momentum)
