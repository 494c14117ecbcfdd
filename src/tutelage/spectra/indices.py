"""Indices of a spectrum: fractions of negative and of zero eigenvalues."""

from collections.abc import Callable

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array, finite_number, real_array
from tutelage._given import ArrayLike


@validated
def negative_fraction(eigenvalues: ArrayLike, tolerance: ArrayLike) -> np.ndarray:
    """Compute α, the part of eigenvalues below −tolerance · max|λ|   (milletari2019, Section 3).

    NaN for a spectrum that is missing (NaN).

    Args:
        eigenvalues: shape (..., n).
        tolerance: greater than 0; one number, or several, then in a last axis of the result.

    >>> negative_fraction([-1.0, -1e-12, 0.0, 2.0], 1e-10)
    array(0.25)
    """
    λ, limit = _scaled(eigenvalues, tolerance)
    return _share(λ, limit, lambda λ, limit: λ < -limit)


@validated
def zero_fraction(eigenvalues: ArrayLike, tolerance: ArrayLike) -> np.ndarray:
    """Compute γ, the part with |λ| ≤ tolerance · max|λ|   (milletari2019, Section 3).

    NaN for a spectrum that is missing (NaN).

    >>> zero_fraction([-1.0, -1e-12, 0.0, 2.0], [1e-14, 1e-10])
    array([0.25, 0.5 ])
    """
    λ, limit = _scaled(eigenvalues, tolerance)
    return _share(λ, limit, lambda λ, limit: np.abs(λ) <= limit)


def check_tolerance(argument: str, tolerance: ArrayLike) -> np.ndarray:
    """Check that all tolerances are greater than zero."""
    values = finite_array(argument, tolerance)
    for value in np.atleast_1d(values).ravel():
        finite_number(argument, float(value), above=0.0, hint=f"{argument}=1e-12")
    return values


def _scaled(eigenvalues: ArrayLike, tolerance: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Divide eigenvalues by the largest modulus of their spectrum; missing spectra stay missing."""
    limit = check_tolerance("tolerance", tolerance)
    λ = real_array("eigenvalues", eigenvalues)
    if λ.ndim == 0 or λ.shape[-1] == 0:
        received = f"an array of shape {λ.shape}"
        raise InputError("eigenvalues", received, "the last axis must not be empty", "[-1, 2.0]")
    if np.isinf(λ).any():
        raise InputError("eigenvalues", "infinity", "they have to be finite, or NaN for a gap")
    scale = np.max(np.abs(λ), axis=-1, keepdims=True)
    return λ / np.where(scale == 0, 1.0, scale), limit


def _share(
    λ: np.ndarray, limit: np.ndarray, counted: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    if limit.ndim:
        λ, limit = λ[..., None, :], limit[..., None]
    missing = np.isnan(λ).any(axis=-1)
    return np.where(missing, np.nan, np.mean(counted(λ, limit), axis=-1))
