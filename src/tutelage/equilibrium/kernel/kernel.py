"""The kernel κ(ρ) of an activation and its first three derivatives.

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

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array
from tutelage._given import ArrayLike
from tutelage.activations import Activation
from tutelage.activations.base import check_one
from tutelage.activations.closed import ClosedForm
from tutelage.averages.two_point import erf_kernel, modulus_kernel
from tutelage.equilibrium.kernel.series import SeriesData, hermite_data
from tutelage.equilibrium.kernel.table import Table, panels

# asin x = Σ_k a_k x^(2k+1): at |x| ≤ ½ the terms beyond this k are below 4⁻²⁸.
ARCSINE_TERMS = 28
_K = np.arange(1, ARCSINE_TERMS)
# a_k = (2k−1)!!/(2k)!!/(2k+1)
ARCSINE = np.cumprod((2 * _K - 1) / (2 * _K)) / (2 * _K + 1)
# A series with more terms than this is tabulated.
MOST_TERMS = 100
# At |ρ| below 0.3 terms from n = 42 on are rounding, those of the third derivative included.
SHORT_SERIES, SHORT_ORDER = 0.3, 42


class Kernel(abc.ABC):
    """κ of one activation; arguments are arrays of correlations in [−1, 1].

    level: κ(0) = c_0².
    slope: κ'(0) = c_1².
    """

    level: float
    slope: float

    def value(self, rho: ArrayLike) -> Any:
        """κ(ρ)."""
        rho = check_correlation(rho)
        return self.level + self.slope * rho + self.tilde(rho)

    def first(self, rho: ArrayLike) -> Any:
        """κ'(ρ) = ⟨g'(u) g'(w)⟩."""
        return self.slope + self.tilde_first(rho)

    def tilde(self, rho: ArrayLike) -> Any:
        """κ̃(ρ), to full relative accuracy at small ρ."""
        return self._evaluate(np.asarray(rho, dtype=np.float64), 0)

    def tilde_first(self, rho: ArrayLike) -> Any:
        """κ̃'(ρ) = κ'(ρ) − κ'(0), to full relative accuracy at small ρ."""
        return self._evaluate(np.asarray(rho, dtype=np.float64), 1)

    def second(self, rho: ArrayLike) -> Any:
        """κ''(ρ) = ⟨g''(u) g''(w)⟩; infinite at ρ = ±1 if g has a kink."""
        return self._evaluate(np.asarray(rho, dtype=np.float64), 2)

    def third(self, rho: ArrayLike) -> Any:
        """κ'''(ρ)."""
        return self._evaluate(np.asarray(rho, dtype=np.float64), 3)

    @abc.abstractmethod
    def _evaluate(self, rho: np.ndarray, derivative: int) -> Any:
        """κ̃, differentiated up to three times."""

    @abc.abstractmethod
    def squares(self, order: int) -> np.ndarray:
        """c_0², c_1², …, the squares of the Hermite coefficients up to an order."""


class ClosedKernel(Kernel):
    """The kernel of g(x) = o + m x + d |x| + e erf(x/√2): κ̃ = d² κ̃[|x|] + e² κ̃[erf].

    For n ≥ 2 only |x| contributes to c_n of even n, and only erf to c_n of odd n.
    """

    def __init__(self, form: ClosedForm):
        m, d, e, o = (0.0 if x is None else float(x) for x in form)
        self._form, self._bend, self._erf = form, d**2, e**2
        self.level = o**2 + 2 * o * d * math.sqrt(2 / math.pi) + 2 * self._bend / math.pi
        self.slope = m**2 + 2 * m * e / math.sqrt(math.pi) + self._erf / math.pi

    def _evaluate(self, rho, derivative):
        value = 0.0 * rho
        if self._bend:  # with d = 0 the infinite derivatives at ±1 would give 0 · inf = NaN
            value = value + self._bend * _modulus_tilde(rho, derivative)
        if self._erf:
            value = value + self._erf * _erf_tilde(rho, derivative)
        return value

    def squares(self, order):
        return self._form.at_unit_variance(order) ** 2


def _modulus_tilde(rho: np.ndarray, derivative: int) -> Any:
    """κ̃ of |x|, differentiated."""
    if derivative == 0:
        # √(1−ρ²) − 1 = −ρ²/(1 + √(1−ρ²)): half of ρ asin ρ at small ρ, and nothing cancels.
        rest = rho / (1 + np.sqrt((1 - rho) * (1 + rho)))
        return 2 / math.pi * rho * (np.arcsin(rho) - rest)
    return modulus_kernel(rho, derivative)


def _erf_tilde(rho: np.ndarray, derivative: int) -> Any:
    """κ̃ of erf(x/√2), differentiated."""
    if derivative == 0:
        powers = (rho / 2)[..., None] ** (2 * np.arange(1, ARCSINE_TERMS) + 1)
        return 2 / math.pi * (powers @ ARCSINE)
    if derivative == 1:
        # 1/w − 1/2 = (4 − w²)/(2w(2 + w)) with w = √(4−ρ²).
        w = np.sqrt(4 - rho**2)
        return rho**2 / (math.pi * w * (2 + w))
    return erf_kernel(rho, derivative)


class SeriesKernel(Kernel):
    """κ(ρ) = Σ c_n² ρⁿ, for every other activation; see `series` for its accuracy.

    reach: the largest |ρ| at which the series holds to rounding.  Beyond it the kernel comes
        from quadrature (`ends`), tabulated at the first use.
    """

    def __init__(self, activation: Activation, data: SeriesData):
        self.activation, self.reach, self._all = activation, data.reach, data.squares
        self.level, self.slope = float(data.squares[0]), float(data.squares[1])
        self._n = np.flatnonzero(data.squares[2:]) + 2
        self._terms = _derivatives(self._n.astype(float), data.squares[self._n])
        last = int(max([3, *self._n]))
        self._series = [np.zeros(last - k + 1) for k in range(4)]
        for k, (series, terms) in enumerate(zip(self._series, self._terms, strict=True)):
            series[np.maximum(self._n - k, 0)] += terms
        self._table: Table | None = None
        if len(self._n) > MOST_TERMS:
            theta = math.acos(data.reach)
            kinked = data.reach < 1
            edges = panels(theta, math.pi - theta)
            self._table = Table(edges, kinked, self._all_sums)
        self._ends: Any = None

    def squares(self, order):
        c2 = np.zeros(order + 1)
        n = min(order + 1, len(self._all))
        c2[:n] = self._all[:n]
        return c2

    def _evaluate(self, rho, derivative):
        near = np.abs(rho) > self.reach
        if not np.any(near):
            return self._inside(rho, derivative)
        inside = self._inside(np.where(near, 0.0, rho), derivative)
        return np.where(near, self._outside(rho, derivative), inside)

    def _inside(self, rho: np.ndarray, derivative: int):
        series = self._series[derivative]
        small = np.abs(rho) < SHORT_SERIES  # with full relative accuracy
        if np.all(small):
            return _sum(series[:SHORT_ORDER], rho)
        if self._table is None:
            return _sum(series, rho)
        value = self._table(rho, derivative)
        if np.any(small):
            value[small] = _sum(series[:SHORT_ORDER], rho[small])
        return value

    def _all_sums(self, theta: np.ndarray) -> np.ndarray:
        rho = np.cos(theta)
        powers = np.power(rho[..., None], self._n)
        return np.stack([powers @ self._terms[k] / rho**k for k in range(4)])

    def _outside(self, rho: np.ndarray, derivative: int):
        from tutelage.equilibrium.kernel.ends import Ends

        if self._ends is None:
            self._ends = Ends(self.activation, self.reach)
        return self._ends(rho, derivative)


def _sum(series: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Return Σ a_n ρⁿ by products of ρ, twenty times faster than powers."""
    powers = np.cumprod(np.broadcast_to(rho[..., None], (*rho.shape, len(series) - 1)), axis=-1)
    return series[0] + powers @ series[1:]


def _derivatives(n: np.ndarray, squares: np.ndarray) -> list[np.ndarray]:
    """Coefficients of Σ c_n² ρⁿ and of its first three derivatives."""
    return [squares, n * squares, n * (n - 1) * squares, n * (n - 1) * (n - 2) * squares]


@validated
def kernel_of(activation: Activation) -> Kernel:
    """The kernel κ of an activation, in closed form where there is one.

    Raises:
        InputError: if ⟨g²⟩ is infinite, or the argument is not an activation.

    >>> import tutelage as tl
    >>> print(f"{kernel_of(tl.ReLU()).value(1.0):.12f}")  # ⟨x² θ(x)⟩
    0.500000000000
    """
    check_one(activation)
    if activation.closed_form is not None:
        return ClosedKernel(activation.closed_form)
    compute = _series if is_hashable(activation) else _series.__wrapped__
    return compute(activation)


def is_hashable(activation: Activation) -> bool:
    """Return whether results can be cached for an activation: not if parameters are arrays."""
    try:
        hash(activation)
    except TypeError:
        return False
    return True


@functools.lru_cache(maxsize=64)
def _series(activation: Activation) -> SeriesKernel:
    """Return a cached series kernel: a table of a steep activation takes a second."""
    return SeriesKernel(activation, hermite_data(activation))


def check_correlation(value: ArrayLike) -> np.ndarray:
    """Check that correlations lie between −1 and 1."""
    array = finite_array("rho", value)
    if np.any(np.abs(array) > 1):
        worst = array.flat[int(np.argmax(np.abs(array)))]
        raise InputError(
            "rho", f"{worst:g}", "a correlation lies between -1 and 1", "divide by the norms"
        )
    return array
