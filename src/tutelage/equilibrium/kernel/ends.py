"""Kernels next to ρ = ±1, where the Hermite series of steep and kinked activations is too long.

With r = √|ρ| and σ = √(1 − |ρ|) the two fields share a part z,

    κ^(k)(±r²) = ⟨G_k(z) G_k(±z)⟩,        G_k(z) = ⟨g^(k)(rz + σy)⟩_y,

and each average is an integral on panels that shrink towards the places where g bends.  Kinks
contribute to G_2 and G_3 as delta functions, G_3 = ⟨g''(rz + σy) y⟩/σ.
"""

import math

import numpy as np
from jaxtyping import Array, Float

from tutelage._types import AnyArray
from tutelage.activations import Activation
from tutelage.activations.panels import graded_edges, on_panels
from tutelage.equilibrium.kernel.table import Table
from tutelage.runs.stored_jit import stored_jit

LIMIT = 9.5  # φ(9.5) is below 1e-20
HALVINGS, POINTS = 8, 12
POINTS_PER_BLOCK = 2**17
# Edges in units of the last one: steep functions change within 1/β of θ = 0.
EDGES = np.array([0.0, 1 / 32, 1 / 8, 1 / 2, 1.0])


class Ends:
    """κ̃ and its derivatives for |ρ| beyond the reach of a series, on both sides."""

    def __init__(self, activation: Activation, reach: float):
        self._g = activation
        self._kinks = [(float(p), float(jump)) for p, jump in activation.kinks]
        c = np.asarray(activation.hermite(1).values)
        self._level, self._slope = float(c[0]) ** 2, float(c[1]) ** 2
        self._reach = reach
        edges = EDGES * math.acos(reach) * (1 + 1e-12)
        self._cache: dict[float, np.ndarray] = {}  # the same angles serve both ends
        self._right = Table(edges, True, self._values)
        self._left = Table(np.pi - edges[::-1], True, self._values)
        self._cache.clear()

    def __call__(self, rho: np.ndarray, derivative: int) -> np.ndarray:
        # Entries within the range of the series are not used; any finite value serves.
        right = self._right(np.where(rho > 0, rho, self._reach), derivative)
        left = self._left(np.where(rho < 0, rho, -self._reach), derivative)
        return np.where(rho > 0, right, left)

    def _values(self, theta: np.ndarray) -> np.ndarray:
        """κ̃ and its three derivatives at each angle, shape (4, n)."""
        near = theta < math.pi / 2
        angle = np.where(near, theta, math.pi - theta)
        kappa = np.array(
            [self._at_both_ends(a)[0 if n else 1] for a, n in zip(angle, near, strict=True)]
        ).T
        kappa[0] -= self._level + self._slope * np.cos(theta)
        kappa[1] -= self._slope
        return kappa

    def _at_both_ends(self, angle: float) -> np.ndarray:
        """κ and its derivatives at ρ = cos(angle) and at −ρ, shape (2, 4)."""
        key = round(float(angle), 12)
        if key not in self._cache:
            r, sigma = math.sqrt(math.cos(angle)), math.sqrt(2) * math.sin(angle / 2)
            positions = {abs(p) / r for p, _ in self._kinks}
            bends = [0.0, *(sign * p for p in positions for sign in (-1, 1))]
            z, w = on_panels(graded_edges(LIMIT, bends), POINTS)
            weight = w * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            G = self._smoothed(r * z, sigma)
            self._cache[key] = np.array([(G * G) @ weight, (G * G[:, ::-1]) @ weight])
        return self._cache[key]

    def _smoothed(self, x: np.ndarray, sigma: float) -> np.ndarray:
        """G_0, G_1, G_2, G_3 at rz = x, shape (4, n)."""
        bends = sorted({0.0, *(p for p, _ in self._kinks)})
        centres = [((p - x) / sigma)[:, None] for p in bends]
        y, w = on_panels(graded_edges(LIMIT, centres, halvings=HALVINGS), POINTS)
        w = w * np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
        zeroth, first, second = (w * f for f in _in_chunks(self._g, x[:, None] + sigma * y))
        values = np.array([
            np.sum(zeroth, axis=1),
            np.sum(first, axis=1),
            np.sum(second, axis=1),
            np.sum(second * y, axis=1) / sigma,
        ])  # fmt: skip
        for position, jump in self._kinks:
            t = (position - x) / sigma
            bell = jump * np.exp(-(t**2) / 2) / (math.sqrt(2 * math.pi) * sigma)
            values[2:] += np.array([bell, bell * t / sigma])
        return values


@stored_jit
def _with_derivatives(g: Activation, x: Float[AnyArray, " x"]) -> tuple[Array, Array, Array]:
    return g(x), g.derivative(x), g.second_derivative(x)


def _in_chunks(g: Activation, x: np.ndarray) -> list[np.ndarray]:
    """Evaluate g and two derivatives at x in blocks of one size, which are compiled once."""
    flat = np.zeros(-(-x.size // POINTS_PER_BLOCK) * POINTS_PER_BLOCK)
    flat[: x.size] = x.ravel()
    parts = [_with_derivatives(g, block) for block in flat.reshape(-1, POINTS_PER_BLOCK)]
    whole = (np.concatenate([np.asarray(p[k]) for p in parts]) for k in range(3))
    return [f[: x.size].reshape(x.shape) for f in whole]
