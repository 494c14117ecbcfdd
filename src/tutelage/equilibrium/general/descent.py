"""Downhill from many starts at once: Newton's method that saddles do not attract."""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float

from tutelage._jax import jax, jnp
from tutelage.equilibrium.general.landscape import Landscape

MOST_STEPS = 300
# The second is relative to 1 + |z|: longer steps would jump out of narrow valleys.
FIRST_STEP, LONGEST_STEP = 0.1, 0.3
# A step of this size, relative to z, changes nothing that float64 can hold.
SMALLEST_STEP = 1e-14
ROUNDING = 8 * float(np.finfo(np.float64).eps)


class Walkers(NamedTuple):
    """Where the descents are, what the free energy does there, and how far the next may go.

    step: the length of the last full Newton step, relative to z; at a minimum the accuracy.
    """

    z: Float[Array, "n d"]
    value: Float[Array, " n"]
    gradient: Float[Array, "n d"]
    hessian: Float[Array, "n d d"]
    radius: Float[Array, " n"]
    step: Float[Array, " n"]
    done: Bool[Array, " n"]


def descend(landscape: Landscape, load: float, starts: Float[Array, "n d"]) -> Walkers:
    """The bottom below each start.

    Steps are -|H|⁻¹ ∇βf, with the absolute values of the eigenvalues of H (Dauphin et al. 2014):
    Newton's near a minimum, away from saddles everywhere else.  They are cut to a radius that
    grows while βf falls and shrinks when it does not.
    """
    n, d = starts.shape
    infinite = jnp.full(n, jnp.inf, dtype=jnp.float64)
    # Without a gradient the first step goes nowhere, and finds the gradient of the start.
    nowhere = jnp.zeros_like(starts), jnp.broadcast_to(jnp.eye(d, dtype=jnp.float64), (n, d, d))
    walkers = Walkers(
        starts,
        infinite,
        *nowhere,
        jnp.full(n, FIRST_STEP, dtype=jnp.float64),
        infinite,
        infinite < 0,
    )
    for number in range(MOST_STEPS):
        walkers = _advance(landscape, jnp.asarray(load, dtype=jnp.float64), walkers)
        if number > 0 and bool(jnp.all(walkers.done)):
            break
    return walkers


@eqx.filter_jit
def _advance(landscape: Landscape, load: Array, walkers: Walkers) -> Walkers:
    w = walkers
    full = jax.vmap(_saddle_free)(w.gradient, w.hessian)
    length = jnp.sqrt(jnp.sum(full**2, axis=1))
    cut = full * jnp.minimum(1.0, w.radius / jnp.maximum(length, 1e-300))[:, None]
    value, gradient, hessian = jax.vmap(lambda z: landscape.derivatives(z, load))(w.z + cut)
    # Near the bottom βf no longer tells a good step from a bad one; its terms are of size α K.
    noise = ROUNDING * (1 + jnp.abs(value) + load * landscape.error.scenario.K)
    better = value <= w.value + noise
    size = 1 + jnp.max(jnp.abs(w.z), axis=1)
    smaller = length / size
    # Newton's steps shrink until they are rounding, and then no more.
    settled = (smaller < SMALLEST_STEP) | ((smaller < 1e-10) & (smaller >= w.step))
    arrived = settled & jnp.isfinite(w.value)
    cutting, shorter = length > w.radius, 0.25 * jnp.minimum(w.radius, length)
    longer = jnp.minimum(2 * w.radius, LONGEST_STEP * size)
    move = better & ~w.done

    def moved(new: Array, old: Array) -> Array:
        return jnp.where(move.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return Walkers(
        moved(w.z + cut, w.z),
        moved(value, w.value),
        moved(gradient, w.gradient),
        moved(hessian, w.hessian),
        jnp.where(better, jnp.where(cutting, longer, w.radius), shorter),
        jnp.where(w.done, w.step, smaller),
        w.done | arrived | (w.radius < SMALLEST_STEP),
    )


def _saddle_free(gradient: Float[Array, " d"], H: Float[Array, "d d"]) -> Float[Array, " d"]:
    """-|H|⁻¹ gradient."""
    eigenvalues, E = jnp.linalg.eigh(H)
    size = jnp.abs(eigenvalues)
    return -E @ ((E.T @ gradient) / jnp.maximum(size, 1e-12 * jnp.max(size) + 1e-300))
