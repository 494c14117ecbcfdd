"""Fields on data: their covariance, their excess kurtosis, and the measured error."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from tutelage.model import Scenario

# Number of rows on which fields are evaluated.
MOST_ROWS = 10_000


def covariances(
    ξ: Float[np.ndarray, "n N"], J: Float[np.ndarray, "K N"], B: Float[np.ndarray, "M N"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute Q, R and T as covariances of the fields over the rows ξ."""
    x, y = ξ @ J.T, ξ @ B.T
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    n = len(ξ)
    return x.T @ x / n, x.T @ y / n, y.T @ y / n


def measured(
    scenario: Scenario,
    ξ: Float[np.ndarray, "n N"],
    students: Sequence[tuple[np.ndarray, np.ndarray | None]],
    B: Float[np.ndarray, "M N"],
) -> dict[str, Any]:
    """Measure the error and the kurtosis of fields on data, for students (J, v) at several times.

    κ = ⟨z⁴⟩ - 3 of fields z with mean 0 and variance 1; its standard error is √(24/n) where they
    are Gaussian.
    """
    ξ = ξ[:MOST_ROWS]
    n, y = len(ξ), ξ @ B.T
    τ = np.asarray(scenario.teacher.activation(y)) @ np.asarray(scenario.readouts[1]).T
    errors, kurtosis = [], []
    for J, v in students:
        x = ξ @ J.T
        v = np.asarray(scenario.readouts[0]) if v is None else v
        σ = np.asarray(scenario.student.activation(x)) @ v.T
        errors.append(0.5 * np.sum((σ - τ) ** 2, axis=1))
        z = (x - x.mean(axis=0)) / (x.std(axis=0) + np.finfo(float).tiny)
        kurtosis.append(np.mean(z**4, axis=0) - 3)
    return {
        "moment": ("moment", ["start", "end"]),
        "measured_error": (("run", "moment"), [[e.mean() for e in errors]]),
        "measured_error_standard_error": (
            ("run", "moment"),
            [[e.std() / np.sqrt(n) for e in errors]],
        ),
        "field_kurtosis": (("run", "moment", "student"), [kurtosis]),
        "field_kurtosis_standard_error": ((), np.sqrt(24 / n)),
    }
