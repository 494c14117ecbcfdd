"""Nodes for the conditioning fields, and for one more field given them.

Smooth units: equidistant nodes y of standard normal coordinates within a disc, and equidistant z.
Units with kinks: Gauss-Legendre panels that end at the kinks, crowded there.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Int

from tutelage._jax import jax, jnp
from tutelage.averages.quadrature.rules import FARTHEST, panels

# Positions of kinks.
Kinks = tuple[Any, ...]


class Nodes(NamedTuple):
    """Coordinates y of the given fields, shape (nodes, given), their weights, and the count of
    those used.

    Without weights they are those of a lattice, in units of its step; half of it has one of y and
    -y, and half of the origin.
    """

    y: Array
    w: Array | None
    count: Any
    step: Any = 1.0
    half: bool = False

    def coordinates(self, y: Array, w: Array | None) -> tuple[Array, Array]:
        """Return coordinates and weights of a slice of the nodes."""
        if w is not None:
            return y, w
        y = self.step * y
        square = jnp.sum(y**2, axis=-1)
        density = jnp.exp(-0.5 * square) / (2 * np.pi) ** (y.shape[1] / 2)
        if self.half:
            density = jnp.where(square > 0, density, 0.5 * density)
        return y, density * self.step ** y.shape[1]


# Range of the nodes of one and of two given fields in standard deviations, and of the rules that
# estimate their errors: exp(-REACH²/2) = 2e-16 and 2e-11 of the weight is omitted.
REACH, FARTHER = {1: 8.5, 2: 7.0}, {1: 9.3, 2: 8.0}
# Hermite polynomials of order n times their weight fall off as exp(-z²/4) up to 2√n.
FEW_TERMS, REACH_FEW, REACH_MANY = 12, 7.7, 9.8
# A rule that estimates an error reaches farther by this distance, and has steps smaller by these
# factors.
INNER_FARTHER = 0.8
CLOSER, CLOSER_GIVEN = 0.75, 0.9
# Finest step of a lattice, except for estimates of errors.
FINEST = 0.14


# Whether a rule estimates the error of another one: 1 or 0, which may be traced.
Judge = int | Int[Array, ""]


class Lattice(NamedTuple):
    """Equidistant nodes: the error falls exponentially with 1/step for units without kinks.

    given: step of the nodes of the given fields, in standard deviations; may be traced.
    step: the same for the other fields.
    terms: of Mehler's series.
    judge: whether (0 or 1, may be traced) all nodes are somewhat closer, to show the error.
    """

    given: Any
    step: float
    terms: int
    judge: Judge = 0

    @property
    def symmetric(self) -> bool:
        """Return True: nodes of the given fields come in opposite pairs."""
        return True

    def outer(self, B: Array | np.ndarray, kinks: Kinks, layer: Array, half: bool = False) -> Nodes:
        """Coordinates of the given fields, or half of them by symmetry; nodes within reach come
        first.
        """
        step = self.given * jnp.where(self.judge, CLOSER, 1.0)
        whole, square = _by_distance(B.shape[1], half)
        reach = jnp.where(self.judge, FARTHER[B.shape[1]], REACH[B.shape[1]])
        count = jnp.searchsorted(square, (reach / step) ** 2).astype(int)
        return Nodes(jnp.asarray(whole), None, count, step, half)

    def inner(self, centre: Array, s: Array, kinks: Kinks, layer: Array) -> tuple[Array, Array]:
        """Nodes z and weights, on the first axis, for fields centre + s z; equal for all centres
        and s.
        """
        z, w, _ = self._line
        return z[:, None, None], w[:, None, None]

    def hermite(self, values: Array, z: Array, w: Array) -> Array:
        """Σ_z w He_n(z)/√n! of values for n up to ``terms``, as the first axis."""
        sums = (w[:, 0] * self._line[2]).T @ values.reshape(len(z), -1)
        return sums.reshape(-1, *values.shape[1:])

    @property
    def _line(self) -> tuple[Array, ...]:
        if isinstance(self.judge, int):
            return tuple(jnp.asarray(x) for x in line(self.step, self.terms, bool(self.judge)))
        judging = line(self.step, self.terms, judging=True)
        used = line(self.step, self.terms)
        more = (len(judging[0]) - len(used[0])) // 2  # at both ends, of weight 0
        ends = [(more, more)]
        padded = (
            np.pad(used[0], ends, mode="edge"),
            np.pad(used[1], ends),
            np.pad(used[2], [*ends, (0, 0)], mode="edge"),
        )
        pairs = zip(padded, judging, strict=True)
        return tuple(jnp.asarray(np.stack(pair))[self.judge] for pair in pairs)


class Panels(NamedTuple):
    """Gauss-Legendre panels that end at the kinks and resolve narrow transitions there.

    nodes: per axis and kink.
    terms: of Mehler's series.
    narrowest: layer that is resolved, in standard deviations.
    """

    nodes: int
    terms: int
    narrowest: float

    @property
    def symmetric(self) -> bool:
        """Return False: nodes follow the kinks, and do not come in opposite pairs."""
        return False

    def outer(self, B: Array | np.ndarray, kinks: Kinks, layer: Array, half: bool = False) -> Nodes:
        """Coordinates of all given fields."""
        y1, w1 = self._panels(jnp.zeros(()), B[0, 0], kinks, layer)
        if B.shape[1] == 1:
            return Nodes(y1[:, None], w1, len(w1))
        second: Callable[..., tuple[Array, Array]] = jax.vmap(
            lambda centre: self._panels(centre, B[1, 1], kinks, layer)
        )
        y2, w2 = second(B[1, 0] * y1)
        first = jnp.broadcast_to(y1[:, None], y2.shape)
        y = jnp.stack([first.ravel(), y2.ravel()], axis=-1)
        return Nodes(y, (w1[:, None] * w2).ravel(), len(y))

    def inner(self, centre: Array, s: Array, kinks: Kinks, layer: Array) -> tuple[Array, Array]:
        """Nodes z and weights for fields centre + s z, shape (nodes, *centre.shape)."""
        centre, s = jnp.broadcast_arrays(centre, s)
        # One more edge at z = 0: the polynomials need nodes everywhere, wherever the kinks are.
        given: Callable[..., tuple[Array, Array]] = jax.vmap(
            lambda c, s: self._panels(c, s, kinks, layer / s, middle=True)
        )
        z, w = given(centre.ravel(), s.ravel())
        return z.T.reshape(-1, *centre.shape), w.T.reshape(-1, *centre.shape)

    def hermite(self, values: Array, z: Array, w: Array) -> Array:
        """Σ_z w He_n(z)/√n! of values for n up to ``terms``, as the first axis."""

        def following(carry: tuple[Array, Array], n: Array) -> tuple[tuple[Array, Array], Array]:
            before, now = carry
            after = (z * now - jnp.sqrt(n) * before) / jnp.sqrt(n + 1)
            return (now, after), jnp.sum(now, axis=0)

        orders = jnp.arange(self.terms + 1.0)
        return jax.lax.scan(following, (jnp.zeros_like(values), w * values), orders)[1]

    def _panels(
        self, centre: Array, s: Array, kinks: Kinks, layer: Array, middle: bool = False
    ) -> tuple[Array, Array]:
        breaks = [(kink - centre) / s for kink in kinks]
        # Nodes are dense only at kinks within reach.
        near = jnp.any(jnp.abs(jnp.stack(breaks)) < REACH[2])
        layer = jnp.where(near, jnp.clip(layer, self.narrowest, FARTHEST), FARTHEST)
        if middle:
            return panels([*breaks, jnp.zeros(())], layer, self.nodes * (2 * len(kinks) + 1) // 2)
        return panels(breaks, layer, self.nodes * len(kinks))


@lru_cache
def _by_distance(fields: int, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return all integer points that may be within reach, nearest first, and |y|².

    half: only one of y and -y.
    """
    n = int(FARTHER[fields] / (CLOSER * FINEST))
    axis = np.arange(-n, n + 1.0)
    y = np.stack(np.meshgrid(*[axis] * fields, indexing="ij"), axis=-1).reshape(-1, fields)
    if half:
        y = y[len(y) // 2 :]  # one of each opposite pair: nodes are sorted by coordinates
    square = np.sum(y**2, axis=-1)
    order = np.argsort(square, kind="stable")
    order = order[square[order] <= (n + 1) ** 2]
    return y[order], square[order]


@lru_cache
def line(
    step: float, terms: int, judging: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z, weights, and He_n(z)/√n! for n up to ``terms``.

    judging: with nodes that are closer and reach farther, as those that judge others do.
    """
    reach = REACH_FEW if terms <= FEW_TERMS else REACH_MANY
    if judging:
        step, reach = CLOSER_GIVEN * step, reach + INNER_FARTHER
    n = int(reach / step)
    z = step * np.arange(-n, n + 1)
    w = np.exp(-0.5 * z**2)
    H = [np.ones_like(z), z]
    for k in range(1, terms):
        H.append((z * H[k] - np.sqrt(k) * H[k - 1]) / np.sqrt(k + 1))
    return z, w / np.sum(w), np.stack(H[: terms + 1], axis=-1)


Rule = Lattice | Panels
