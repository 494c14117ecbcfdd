"""The Dataset of a training: curves, spectra and the indices that follow from them."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage.spectra.examples import Examples
from tutelage.spectra.indices import negative_fraction, zero_fraction


class Measured(NamedTuple):
    """Measurements with the dimensions epoch, run and, for the last two, parameter."""

    scalars: dict[str, np.ndarray]
    eigenvalues: np.ndarray
    final: np.ndarray


LONG_NAMES = {
    "loss": "mean cross-entropy",
    "accuracy": "fraction of examples classified correctly",
    "gradient_norm": "length of the gradient of the loss",
    "zero_residuals": "fraction of residuals |e| <= residual_tolerance",
    "eigenvalues": "eigenvalues of the Hessian of the loss, ascending",
    "negative_fraction": "alpha, fraction of eigenvalues < -tolerance * max|eigenvalue|",
    "zero_fraction": "gamma, fraction of |eigenvalues| <= tolerance * max|eigenvalue|",
}


def as_dataset(
    examples: Examples, measured: Measured, epochs: np.ndarray, tolerance: float
) -> xr.Dataset:
    """Make the Dataset of measurements, and of the indices of the spectra."""
    spectra = np.swapaxes(measured.eigenvalues, 0, 1)
    curves: dict[str, Any] = {
        name: (("run", "epoch"), values.T) for name, values in measured.scalars.items()
    }
    curves["eigenvalues"] = (("run", "epoch", "eigenvalue"), spectra)
    for name, fraction in (
        ("negative_fraction", negative_fraction),
        ("zero_fraction", zero_fraction),
    ):
        curves[name] = (("run", "epoch"), fraction(spectra, tolerance))
    reached = np.isfinite(measured.scalars["loss"][-1]) & np.isfinite(measured.final).all(axis=1)
    dataset = xr.Dataset(
        {
            **curves,
            "final_parameters": (("run", "parameter"), measured.final),
            "outcome": ("run", np.where(reached, "reached", "diverged")),
            "inputs": (("example", "feature"), examples.inputs),
            "labels": ("example", examples.labels),
        },
        coords={"epoch": epochs, "run": np.arange(len(reached))},
        attrs={"examples": examples.name},
    )
    for name, words in LONG_NAMES.items():
        dataset[name].attrs["long_name"] = words
    return dataset
