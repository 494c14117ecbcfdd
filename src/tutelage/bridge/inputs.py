"""Test whether inputs have mean 0, variance 1 and no correlations, as the theory assumes."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tutelage._checks import InputError, finite_array
from tutelage._findings import Finding
from tutelage._given import ArrayLike
from tutelage._memory import check_memory
from tutelage.bridge.frameworks.arrays import as_array

# A mean of squares this many standard errors above its expectation is not due to chance.
DEVIATIONS = 5.0


@dataclass(frozen=True, repr=False)
class Structure(Finding):
    """Deviations of the mean and covariance of inputs from 0 and 1, in standard errors.

    mean, covariance: mean squares of their entries' deviations, each in standard errors; 1 for
        inputs without structure, within ``mean_error`` and ``covariance_error``.
    """

    mean: float
    mean_error: float
    covariance: float
    covariance_error: float

    @property
    def words(self) -> str:
        """Describe violations of the assumptions of the theory; empty if there are none."""
        odd = []
        if self.mean > 1 + DEVIATIONS * self.mean_error:
            odd.append("a mean that is not 0")
        if self.covariance > 1 + DEVIATIONS * self.covariance_error:
            odd.append("a covariance that is not the identity")
        return " and ".join(odd)


def check_inputs(inputs: ArrayLike, dimension: int) -> Float[np.ndarray, "n N"]:
    """Check that the data have at least two rows."""
    ξ = finite_array("inputs", as_array("inputs", inputs))
    if ξ.ndim != 2 or ξ.shape[1] != dimension or len(ξ) < 2:
        allowed = f"it has to be a matrix with {dimension} columns and at least two rows"
        raise InputError("inputs", f"shape {ξ.shape}", allowed, f"shape (1000, {dimension})")
    return ξ


def structure(ξ: Float[np.ndarray, "n N"]) -> Structure:
    """The mean of (C_ij - δ_ij)²/s_ij² with C_ij = ⟨ξ_i ξ_j⟩ and its standard error s_ij.

    Entries of the covariance of independent components are uncorrelated, so that the mean over
    N(N+1)/2 of them deviates from 1 by √(4/(N(N+1))).
    """
    n, N = ξ.shape
    check_memory("inputs", N, lambda N: 32 * N**2, "their covariance")
    C = ξ.T @ ξ / n
    spread = (ξ**2).T @ (ξ**2) / n - C**2
    upper = np.triu_indices(N)
    covariance = _mean_square((C - np.eye(N))[upper], spread[upper] / n)
    mean = _mean_square(ξ.mean(axis=0), ξ.var(axis=0) / n)
    # With few rows the standard errors are uncertain themselves, by √(2/n).
    rough = math.sqrt(2 / n)
    return Structure(
        mean=mean,
        mean_error=math.hypot(math.sqrt(2 / N), rough),
        covariance=covariance,
        covariance_error=math.hypot(math.sqrt(4 / (N * (N + 1))), rough),
    )


def _mean_square(deviation: np.ndarray, variance: np.ndarray) -> float:
    """Mean of deviation²/variance; a constant (such as the square of a sign) must match exactly."""
    certain = variance <= 1e-12
    exact = np.where(np.abs(deviation) <= 1e-6, 0.0, np.inf)
    ratio = np.divide(deviation**2, variance, out=exact, where=~certain)
    return float(np.mean(np.minimum(ratio, 1e12)))
