"""What an activation contributes to the free energy: its kernel κ(ρ) and three derivatives.

    κ(ρ) = ⟨g(u) g(w)⟩ = Σ_n c_n² ρⁿ        for unit norms and correlation ρ,

with c_n the Hermite coefficients of g.  A sum over K units of κ at correlations of order 1/K
cancels but for its curvature, so that kernels are stored without their linear part,

    κ̃(ρ) = κ(ρ) − κ(0) − κ'(0) ρ,

which every kernel computes without taking that difference.
"""

import abc
import functools
import math
from typing import Any

import numpy as np

from tutelage._checks import InputError, finite_array
from tutelage.activations import GELU, Activation, Erf, PiecewiseLinear
from tutelage.equilibrium.kernel.series import SeriesData, gelu_data, hermite_data
from tutelage.equilibrium.kernel.table import Table, panels

# asin x = Σ_k a_k x^(2k+1): at |x| ≤ ½ the terms beyond this k are below 4⁻²⁸.
ARCSINE_TERMS = 28
# A series with more terms than this is tabulated.
MANY = 100
# SMALL^FEW FEW³ is below rounding.
SMALL, FEW = 0.3, 42


class Kernel(abc.ABC):
    """κ of one activation; arguments are arrays of correlations in [−1, 1].

    level: κ(0) = c_0².
    slope: κ'(0) = c_1².
    """

    level: float
    slope: float

    def value(self, rho: Any) -> Any:
        """κ(ρ)."""
        rho = check_correlation("rho", rho)
        return self.level + self.slope * rho + self.tilde(rho)

    def first(self, rho: Any) -> Any:
        """κ'(ρ) = ⟨g'(u) g'(w)⟩."""
        return self.slope + self.tilde_first(rho)

    @abc.abstractmethod
    def tilde(self, rho: Any) -> Any:
        """κ̃(ρ), to full relative accuracy at small ρ."""

    @abc.abstractmethod
    def tilde_first(self, rho: Any) -> Any:
        """κ̃'(ρ) = κ'(ρ) − κ'(0), to full relative accuracy at small ρ."""

    @abc.abstractmethod
    def second(self, rho: Any) -> Any:
        """κ''(ρ) = ⟨g''(u) g''(w)⟩; infinite at ρ = ±1 if g has a kink."""

    @abc.abstractmethod
    def third(self, rho: Any) -> Any:
        """κ'''(ρ)."""

    @abc.abstractmethod
    def squares(self, order: int) -> np.ndarray:
        """c_0², c_1², …, the squares of the Hermite coefficients up to an order."""


class PiecewiseLinearKernel(Kernel):
    """g(x) = m x + d |x|, m = (1+a)/2, d = (1−a)/2 for the slope a on the left:

    κ(ρ) = m² ρ + (2d²/π) [√(1−ρ²) + ρ asin ρ]        (``oostwal2019`` eq. (27): a = 0)
    """

    def __init__(self, slope: float):
        self.level = 0.5 * (1 - slope) ** 2 / math.pi
        self.slope = 0.25 * (1 + slope) ** 2
        self._scale = self.level  # 2d²/π

    def tilde(self, rho):
        # √(1−ρ²) − 1 = −ρ²/(1 + √(1−ρ²)): half of ρ asin ρ at small ρ, and nothing cancels.
        rho = np.asarray(rho)
        return self._scale * rho * (np.arcsin(rho) - rho / (1 + np.sqrt((1 - rho) * (1 + rho))))

    def tilde_first(self, rho):
        return self._scale * np.arcsin(rho)

    def second(self, rho):
        rho = np.asarray(rho)
        with np.errstate(divide="ignore"):
            return self._scale / np.sqrt((1 - rho) * (1 + rho)) if self._scale else 0.0 * rho

    def third(self, rho):
        rho = np.asarray(rho)
        with np.errstate(divide="ignore"):
            return self._scale * rho / ((1 - rho) * (1 + rho)) ** 1.5 if self._scale else 0.0 * rho

    def squares(self, order):
        from tutelage.activations.piecewise import relu_at_unit_variance

        c2 = 2 * math.pi * self._scale * relu_at_unit_variance(order) ** 2
        c2[1:2] = self.slope
        return c2


class ErfKernel(Kernel):
    """g(x) = b + erf(x/√2): κ(ρ) = b² + (2/π) asin(ρ/2)   (``oostwal2019`` eq. (26))."""

    def __init__(self, offset: float):
        self.level = offset**2
        self.slope = 1 / math.pi
        k = np.arange(1, ARCSINE_TERMS)
        # a_k = (2k−1)!!/(2k)!!/(2k+1)
        self._series = np.cumprod((2 * k - 1) / (2 * k)) / (2 * k + 1)

    def tilde(self, rho):
        x = np.asarray(rho) / 2
        powers = x[..., None] ** (2 * np.arange(1, ARCSINE_TERMS) + 1)
        return 2 / math.pi * (powers @ self._series)

    def tilde_first(self, rho):
        # 1/w − 1/2 = (4 − w²)/(2w(2 + w)) with w = √(4−ρ²).
        rho = np.asarray(rho)
        w = np.sqrt(4 - rho**2)
        return rho**2 / (math.pi * w * (2 + w))

    def second(self, rho):
        rho = np.asarray(rho)
        return 2 / math.pi * rho / (4 - rho**2) ** 1.5

    def third(self, rho):
        rho = np.asarray(rho)
        return 4 / math.pi * (2 + rho**2) / (4 - rho**2) ** 2.5

    def squares(self, order):
        c2 = np.zeros(order + 1)
        c2[0] = self.level
        a = np.concatenate([[1.0], self._series])
        n = np.arange(1, min(order, 2 * ARCSINE_TERMS - 1) + 1, 2)
        c2[n] = 2 / math.pi * a[(n - 1) // 2] * 0.5**n
        return c2


class SeriesKernel(Kernel):
    """κ(ρ) = Σ c_n² ρⁿ, for every other activation; see `kernel_series` for its accuracy.

    reach: the largest |ρ| at which the series holds to rounding.  Beyond it the kernel comes
        from quadrature (`kernel_ends`), tabulated at the first use.
    """

    def __init__(self, activation: Activation, data: SeriesData):
        self.activation, self.reach, self._all = activation, data.reach, data.squares
        self.level, self.slope = float(data.squares[0]), float(data.squares[1])
        self._n = np.flatnonzero(data.squares[2:]) + 2
        self._terms = _derivatives(self._n.astype(float), data.squares[self._n])
        self._table: Table | None = None
        if len(self._n) > MANY:
            theta = math.acos(data.reach)
            kinked = data.reach < 1
            edges = panels(theta, math.pi - theta)
            self._table = Table(edges, kinked, self._all_sums)
        self._ends: Any = None

    def tilde(self, rho):
        return self._evaluate(rho, 0)

    def tilde_first(self, rho):
        return self._evaluate(rho, 1)

    def second(self, rho):
        return self._evaluate(rho, 2)

    def third(self, rho):
        return self._evaluate(rho, 3)

    def squares(self, order):
        c2 = np.zeros(order + 1)
        n = min(order + 1, len(self._all))
        c2[:n] = self._all[:n]
        return c2

    def _evaluate(self, rho, derivative: int):
        rho = np.asarray(rho, dtype=np.float64)
        if self.reach == 1 or np.all(np.abs(rho) <= self.reach):
            return self._inside(rho, derivative)
        near = np.abs(rho) > self.reach
        inside = self._inside(np.where(near, 0.0, rho), derivative)
        return np.where(near, self._outside(rho, derivative), inside)

    def _inside(self, rho: np.ndarray, derivative: int):
        if self._table is None:
            return _powers(rho, self._n - derivative) @ self._terms[derivative]
        small = np.abs(rho) < SMALL  # few terms, and full relative accuracy
        few = int(np.searchsorted(self._n, FEW))
        n, terms = self._n[:few] - derivative, self._terms[derivative][:few]
        if np.all(small):
            return _powers(rho, n) @ terms
        value = self._table(rho, derivative)
        if np.any(small):
            value[small] = _powers(rho[small], n) @ terms
        return value

    def _all_sums(self, theta: np.ndarray) -> np.ndarray:
        rho = np.cos(theta)
        powers = _powers(rho, self._n)
        return np.stack([powers @ self._terms[k] / rho**k for k in range(4)])

    def _outside(self, rho: np.ndarray, derivative: int):
        from tutelage.equilibrium.kernel.ends import Ends

        if self._ends is None:
            self._ends = Ends(self.activation, self.reach)
        return self._ends(rho, derivative)


def _powers(rho: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.power(rho[..., None], np.maximum(n, 0))


def _derivatives(n: np.ndarray, squares: np.ndarray) -> list[np.ndarray]:
    """Coefficients of Σ c_n² ρⁿ and of its first three derivatives."""
    return [squares, n * squares, n * (n - 1) * squares, n * (n - 1) * (n - 2) * squares]


def kernel_of(activation: Activation) -> Kernel:
    """The kernel κ of an activation, in closed form where there is one.

    Raises:
        InputError: if ⟨g²⟩ is infinite, or no activation came.

    >>> import tutelage as tl
    >>> print(f"{kernel_of(tl.ReLU()).value(1.0):.12f}")  # ⟨x² θ(x)⟩
    0.500000000000
    """
    if not isinstance(activation, Activation):
        raise InputError("activation", repr(activation), "it has to be an Activation", "tl.ReLU()")
    if isinstance(activation, PiecewiseLinear):
        return PiecewiseLinearKernel(float(activation.slope))
    if isinstance(activation, Erf):
        return ErfKernel(float(activation.offset))
    try:
        return _series(activation)
    except TypeError:  # parameters that are arrays cannot be hashed
        return _series.__wrapped__(activation)


@functools.lru_cache(maxsize=64)
def _series(activation: Activation) -> SeriesKernel:
    """Kept, because tables of steep activations take a second to make."""
    data = gelu_data() if isinstance(activation, GELU) else hermite_data(activation)
    return SeriesKernel(activation, data)


def check_correlation(argument: str, value: Any) -> np.ndarray:
    """Correlations between −1 and 1."""
    array = finite_array(argument, value)
    if np.any(np.abs(array) > 1):
        worst = array.flat[int(np.argmax(np.abs(array)))]
        raise InputError(
            argument, f"{worst:g}", "a correlation lies between -1 and 1", "divide by the norms"
        )
    return array
