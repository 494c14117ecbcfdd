"""The Dataset of a training, with all that is needed to compute it again."""

import json
import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage import __version__
from tutelage._jax import jax
from tutelage.spectra.examples import Examples
from tutelage.spectra.indices import negative_fraction, zero_fraction

if TYPE_CHECKING:
    from tutelage.spectra.training import Records, System

TOLD = {
    "loss": "mean cross-entropy",
    "accuracy": "fraction of examples classified correctly",
    "gradient_norm": "length of the gradient of the loss",
    "zero_residuals": "fraction of residuals |e| <= residual_tolerance",
    "eigenvalues": "eigenvalues of the Hessian of the loss, ascending",
    "negative_fraction": "alpha, fraction of eigenvalues < -tolerance * max|eigenvalue|",
    "zero_fraction": "gamma, fraction of |eigenvalues| <= tolerance * max|eigenvalue|",
}


def dataset(
    system: "System",
    examples: Examples,
    records: "Records",
    times: np.ndarray,
    epochs: int,
    seed: int,
    tolerance: float,
) -> xr.Dataset:
    """Measurements as they were recorded, and the indices that follow from the eigenvalues."""
    spectra = np.swapaxes(records.eigenvalues, 0, 1)
    curves: dict[str, Any] = {
        name: (("run", "epoch"), values.T) for name, values in records.scalars.items()
    }
    curves["eigenvalues"] = (("run", "epoch", "eigenvalue"), spectra)
    for name, fraction in (
        ("negative_fraction", negative_fraction),
        ("zero_fraction", zero_fraction),
    ):
        curves[name] = (("run", "epoch"), fraction(spectra, tolerance))
    reached = np.isfinite(records.scalars["loss"][-1])
    made = xr.Dataset(
        {
            **curves,
            "final_parameters": (("run", "parameter"), records.final),
            "outcome": ("run", np.where(reached, "reached", "diverged")),
            "inputs": (("example", "feature"), examples.inputs),
            "labels": ("example", examples.labels),
        },
        coords={"epoch": times, "run": np.arange(len(reached))},
        attrs=_attributes(system, examples, epochs, seed, tolerance),
    )
    for name, words in TOLD.items():
        made[name].attrs["long_name"] = words
    return made


def _attributes(
    system: "System", examples: Examples, epochs: int, seed: int, tolerance: float
) -> dict[str, Any]:
    c, optimizer = system.classifier, system.optimizer
    kind, numbers = type(c.activation).__name__, jax.tree.leaves(c.activation)
    return {
        "computed_by": "spectra.train",
        "sizes": json.dumps(c.sizes),
        "activation": f"{kind}({float(numbers[0])!r})" if len(numbers) == 1 else c.activation.name,
        "beta": c.beta,
        "examples": examples.name,
        "optimizer": type(optimizer).__name__,
        "learning_rate": float(optimizer.learning_rate),
        "epochs": epochs,
        "seed": seed,
        "tolerance": tolerance,
        "residual_tolerance": float(system.residual_tolerance),
        "tutelage_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
    }
