"""Nodes for the fields on which an average is conditioned, and for one field given these.

Smooth units: equidistant nodes y of standard normal coordinates within a disc, and equidistant z.
Units with kinks: Gauss-Legendre panels that end at the kinks, crowded there.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array

from tutelage._jax import jax, jnp
from tutelage.averages.quadrature.rules import FARTHEST, panels

# Positions of kinks.
Kinks = tuple[Any, ...]
# exp(-REACH²/2) = 1e-13; Hermite polynomials times their weight fall off as exp(-z²/4) only.
REACH, REACH_GIVEN = 7.7, 9.8


class Lattice(NamedTuple):
    """Equidistant nodes: the error falls exponentially with 1/step for units without kinks.

    step: of the nodes, in standard deviations.
    terms: of Mehler's series.
    """

    step: float
    terms: int

    def outer(self, B: Array, kinks: Kinks, layer: Array) -> tuple[Array, Array]:
        """Coordinates y of the given fields, shape (nodes, given), and weights."""
        y, w = _disc(self.step, B.shape[1])
        return jnp.asarray(y), jnp.asarray(w)

    def inner(self, centre: Array, s: Array, kinks: Kinks, layer: Array) -> tuple[Array, Array]:
        """z and weights for fields centre + s z, that depend on neither."""
        z, w, _ = line(self.step, 0)
        return jnp.asarray(z), jnp.asarray(w)

    def hermite(self, weighted: Array, z: Array) -> Array:
        """Σ_z He_n(z)/√n! for n up to ``terms``, as the last axis."""
        return weighted @ line(self.step, self.terms)[2]


class Panels(NamedTuple):
    """Gauss-Legendre panels that end at the kinks and resolve layers there.

    nodes: per axis and kink.
    terms: of Mehler's series.
    narrowest: layer that is resolved, in standard deviations.
    """

    nodes: int
    terms: int
    narrowest: float

    def outer(self, B: Array, kinks: Kinks, layer: Array) -> tuple[Array, Array]:
        """Coordinates y of the given fields, shape (nodes, given), and weights."""
        y1, w1 = self._panels(jnp.zeros(()), B[0, 0], kinks, layer)
        if B.shape[1] == 1:
            return y1[:, None], w1
        second = jax.vmap(lambda centre: self._panels(centre, B[1, 1], kinks, layer))
        y2, w2 = second(B[1, 0] * y1)
        first = jnp.broadcast_to(y1[:, None], y2.shape)
        return jnp.stack([first.ravel(), y2.ravel()], axis=-1), (w1[:, None] * w2).ravel()

    def inner(self, centre: Array, s: Array, kinks: Kinks, layer: Array) -> tuple[Array, Array]:
        """z and weights for fields centre + s z, shape (*centre.shape, nodes)."""
        centre, s = jnp.broadcast_arrays(centre, s)
        # Another end at z = 0: the polynomials need nodes everywhere, wherever the kinks are.
        given = jax.vmap(lambda c, s: self._panels(c, s, kinks, layer / s, middle=True))
        z, w = given(centre.ravel(), s.ravel())
        return z.reshape(*centre.shape, -1), w.reshape(*centre.shape, -1)

    def hermite(self, weighted: Array, z: Array) -> Array:
        """Σ_z He_n(z)/√n! for n up to ``terms``, as the last axis."""

        def following(carry: tuple[Array, Array], n: Array) -> tuple[tuple[Array, Array], Array]:
            before, now = carry
            after = (z * now - jnp.sqrt(n) * before) / jnp.sqrt(n + 1)
            return (now, after), jnp.sum(now, axis=-1)

        orders = jnp.arange(self.terms + 1.0)
        sums = jax.lax.scan(following, (jnp.zeros_like(weighted), weighted), orders)[1]
        return jnp.moveaxis(sums, 0, -1)

    def _panels(
        self, centre: Array, s: Array, kinks: Kinks, layer: Array, middle: bool = False
    ) -> tuple[Array, Array]:
        breaks = [(kink - centre) / s for kink in kinks]
        # Nodes crowd at a kink that is within reach, and nowhere else.
        near = jnp.any(jnp.abs(jnp.stack(breaks)) < REACH)
        layer = jnp.where(near, jnp.clip(layer, self.narrowest, FARTHEST), FARTHEST)
        if middle:
            return panels([*breaks, jnp.zeros(())], layer, self.nodes * (2 * len(kinks) + 1) // 2)
        return panels(breaks, layer, self.nodes * len(kinks))


@lru_cache
def _disc(step: float, fields: int) -> tuple[np.ndarray, np.ndarray]:
    n = int(REACH / step)
    axis = step * np.arange(-n, n + 1)
    y = np.stack(np.meshgrid(*[axis] * fields, indexing="ij"), axis=-1).reshape(-1, fields)
    y = y[np.sum(y**2, axis=-1) <= REACH**2]
    w = np.exp(-0.5 * np.sum(y**2, axis=-1))
    return y, w / np.sum(w)


@lru_cache
def line(step: float, terms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z, weights, and He_n(z)/√n! for n up to ``terms``."""
    n = int(REACH_GIVEN / step)
    z = step * np.arange(-n, n + 1)
    w = np.exp(-0.5 * z**2)
    H = [np.ones_like(z), z]
    for k in range(1, terms):
        H.append((z * H[k] - np.sqrt(k) * H[k - 1]) / np.sqrt(k + 1))
    return z, w / np.sum(w), np.stack(H[: terms + 1], axis=-1)
