"""Descents from many starts in one batch, by a Newton method that avoids saddles."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float

from tutelage._jax import jax, jnp
from tutelage.equilibrium.general.landscape import FreeEnergyLandscape
from tutelage.runs.stored_jit import stored_jit

MAX_STEPS = 300
# LONGEST_STEP is relative to 1 + |z|: longer steps would jump out of narrow valleys.
FIRST_STEP, LONGEST_STEP = 0.1, 0.3
# A step of this size, relative to z, is rounding.
SMALLEST_STEP = 1e-14
ROUNDING = 8 * float(np.finfo(np.float64).eps)


class DescentPoint(NamedTuple):
    """A point of a descent: coordinates, and the free energy with its derivatives."""

    z: Float[Array, "... d"]
    value: Float[Array, "..."]
    gradient: Float[Array, "... d"]
    hessian: Float[Array, "... d d"]


class Descent(NamedTuple):
    """State of a descent: its point, the bound on its next step, and the last full step.

    step: relative to z; at a minimum the accuracy.
    """

    place: DescentPoint
    radius: Float[Array, "..."]
    step: Float[Array, "..."]
    done: Bool[Array, "..."]


def descend(landscape: FreeEnergyLandscape, load: float, starts: Float[Array, "n d"]) -> Descent:
    """Return the minimum below each start.

    Steps are -|H|⁻¹ ∇βf, with the absolute values of the eigenvalues of H (Dauphin et al. 2014):
    Newton's near a minimum, away from saddles everywhere else.  They are cut to a radius that
    grows while βf falls and shrinks when it does not.
    """
    alpha = jnp.asarray(load, dtype=jnp.float64)
    now = _begun(landscape, alpha, starts)
    for _ in range(MAX_STEPS):
        now = _advance(landscape, alpha, now)
        if bool(jnp.all(now.done)):
            break
    return now


@stored_jit
def _begun(landscape: FreeEnergyLandscape, load: Array, starts: Float[Array, "n d"]) -> Descent:
    def one(z: Array) -> Descent:
        place = DescentPoint(z, *landscape.derivatives(z, load))
        return Descent(place, jnp.asarray(FIRST_STEP), jnp.asarray(jnp.inf), jnp.asarray(False))

    return jax.vmap(one)(starts)


@stored_jit
def _advance(landscape: FreeEnergyLandscape, load: Array, now: Descent) -> Descent:
    return jax.vmap(lambda one: _stepped(landscape, load, one))(now)


def _stepped(landscape: FreeEnergyLandscape, load: Array, now: Descent) -> Descent:
    """Take one step of a descent, rejected where βf grows."""
    full = _saddle_free(now.place.gradient, now.place.hessian)
    length = jnp.sqrt(jnp.sum(full**2))
    z = now.place.z + full * jnp.minimum(1.0, now.radius / jnp.maximum(length, 1e-300))
    new = DescentPoint(z, *landscape.derivatives(z, load))
    # Near the minimum rounding hides the change of βf, whose terms are of size α K.
    noise = ROUNDING * (1 + jnp.abs(new.value) + load * landscape.error.scenario.K)
    better = new.value <= now.place.value + noise
    size = 1 + jnp.max(jnp.abs(now.place.z))
    step = length / size
    # Newton's steps shrink until they are rounding.
    settled = (step < SMALLEST_STEP) | ((step < 1e-10) & (step >= now.step))
    longer = jnp.minimum(2 * now.radius, LONGEST_STEP * size)
    taken = jnp.where(length > now.radius, longer, now.radius)
    moves = better & ~now.done
    return Descent(
        jax.tree.map(lambda a, b: jnp.where(moves, a, b), new, now.place),
        jnp.where(better, taken, 0.25 * jnp.minimum(now.radius, length)),
        jnp.where(now.done, now.step, step),
        now.done | settled | (now.radius < SMALLEST_STEP),
    )


def _saddle_free(gradient: Float[Array, " d"], H: Float[Array, "d d"]) -> Float[Array, " d"]:
    """-|H|⁻¹ gradient."""
    eigenvalues, E = jnp.linalg.eigh(H)
    size = jnp.abs(eigenvalues)
    return -E @ ((E.T @ gradient) / jnp.maximum(size, 1e-12 * jnp.max(size) + 1e-300))
