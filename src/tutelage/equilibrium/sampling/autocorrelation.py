"""Statistics of a correlated series: autocorrelation time and standard error."""

import numpy as np

from tutelage._given import ArrayLike

# Sokal's window: the sum of correlations ends at the first lag above five times its own value.
WINDOW_FACTOR = 5.0


def autocorrelation_time(series: ArrayLike) -> np.ndarray:
    """τ = 1 + 2 Σ_t ρ(t), in steps, over the last axis; 1 for independent numbers.

    The sum is cut at the first lag t >= 5τ (Sokal 1989).  A constant series has τ = 1 by
    definition.

    >>> x = np.random.default_rng(0).standard_normal(10000)
    >>> bool(abs(autocorrelation_time(x) - 1) < 0.1)
    True
    """
    x = np.asarray(series, dtype=np.float64)
    x = x - np.mean(x, axis=-1, keepdims=True)
    n = x.shape[-1]
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    power = np.abs(np.fft.rfft(x, size, axis=-1)) ** 2
    covariance = np.fft.irfft(power, size, axis=-1)[..., :n]
    variance = covariance[..., :1]
    rho = np.divide(covariance, variance, out=np.zeros_like(covariance), where=variance > 0)
    tau = np.maximum(2 * np.cumsum(rho, axis=-1) - 1, 1.0)
    long_enough = np.arange(n) >= WINDOW_FACTOR * tau
    cut = np.where(np.any(long_enough, axis=-1), np.argmax(long_enough, axis=-1), n - 1)
    return np.take_along_axis(tau, cut[..., None], axis=-1)[..., 0]


def standard_error(series: ArrayLike) -> np.ndarray:
    """Return √(variance τ/n), the standard error of the mean over the last axis."""
    x = np.asarray(series, dtype=np.float64)
    return np.sqrt(np.var(x, axis=-1) * autocorrelation_time(x) / x.shape[-1])
