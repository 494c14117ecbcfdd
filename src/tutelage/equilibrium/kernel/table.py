"""A kernel with thousands of terms as a table: Chebyshev polynomials in θ = arccos ρ.

A kink makes κ singular in ρ at ±1, like (1−ρ)^{3/2}, but not in θ.  What is stored is smooth on
[0, π]:

    κ̃/ρ²,   κ̃'/ρ,   κ'' sin θ,   κ''' sin³ θ        (without the sines if g has no kink).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct

POINTS = 20
WIDTH = math.pi / 16


def chebyshev_points(count: int) -> np.ndarray:
    """Chebyshev points cos π(k + ½)/n."""
    return np.cos(math.pi * (np.arange(count) + 0.5) / count)


def chebyshev_coefficients(values: np.ndarray) -> np.ndarray:
    """a_n of Σ a_n T_n from values at the points, both on the first axis."""
    a = dct(values, axis=0) / len(values)
    a[0] /= 2
    return a


class Table:
    """The four functions on panels of θ between two edges."""

    def __init__(
        self,
        edges: np.ndarray,
        kinked: bool,
        values: Callable[[np.ndarray], np.ndarray],
    ):
        """Tabulate κ̃ and its derivatives, shape (4, n), over θ, because 1 − cos θ would cancel."""
        self.edges, self.kinked = edges, kinked
        middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        theta = middle[:, None] + half[:, None] * chebyshev_points(POINTS)
        rho = np.cos(theta)
        sampled = values(theta.ravel()).reshape(4, *theta.shape)
        scaled = np.stack([f / self._factor(k, rho, np.sin(theta)) for k, f in enumerate(sampled)])
        self._coefficients = chebyshev_coefficients(np.moveaxis(scaled, -1, 0))

    def __call__(self, rho: np.ndarray, derivative: int) -> np.ndarray:
        """The derivative of κ̃ of this order at ρ; θ has to lie between the edges."""
        theta = np.arccos(rho)
        panel = np.clip(np.searchsorted(self.edges, theta) - 1, 0, len(self.edges) - 2)
        left, right = self.edges[panel], self.edges[panel + 1]
        x = np.clip((2 * theta - left - right) / (right - left), -1, 1)
        value = chebval(x, self._coefficients[:, derivative, panel], tensor=False)
        with np.errstate(divide="ignore"):
            return value * self._factor(derivative, rho, np.sqrt((1 - rho) * (1 + rho)))

    def _factor(self, derivative: int, rho: np.ndarray, sine: np.ndarray) -> np.ndarray:
        """Return the factor between κ̃ or its derivative and the stored function."""
        if derivative < 2:
            return rho ** (2 - derivative)
        return sine ** (3.0 - 2 * derivative) if self.kinked else np.ones_like(sine)


def panels(low: float, high: float) -> np.ndarray:
    """Edges of equal panels, an even number, so that no node is θ = π/2."""
    count = 2 * math.ceil((high - low) / (2 * WIDTH))
    return np.linspace(low, high, count + 1)
