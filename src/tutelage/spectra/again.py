"""A training computed again, from its Dataset alone."""

import json

import xarray as xr

from tutelage import activations
from tutelage._checks import InputError
from tutelage.spectra import optimizers
from tutelage.spectra.classifier import Classifier
from tutelage.spectra.examples import examples
from tutelage.spectra.training import train

NEEDED = ("sizes", "activation", "beta", "optimizer", "learning_rate", "epochs", "seed")


def recompute(dataset: xr.Dataset) -> xr.Dataset:
    """Train the networks of a Dataset again, with the same starts and the same records.

    Args:
        dataset: from `train`, perhaps saved and loaded.

    Raises:
        InputError: a Dataset of something else, or an activation that has no name.
    """
    attrs = dataset.attrs
    missing = [name for name in NEEDED if name not in attrs]
    if attrs.get("computed_by") != "spectra.train" or missing:
        came = f"no attribute {missing[0]!r}" if missing else repr(attrs.get("computed_by"))
        raise InputError("dataset", came, "it has to be a result of spectra.train")
    network = Classifier(
        json.loads(attrs["sizes"]), _activation(attrs["activation"]), attrs["beta"]
    )
    watched = dataset["eigenvalues"].notnull().any(("run", "eigenvalue")).values
    return train(
        network,
        examples(dataset["inputs"].values, dataset["labels"].values, attrs["examples"]),
        int(attrs["epochs"]),
        dataset.sizes["run"],
        int(attrs["seed"]),
        optimizer=getattr(optimizers, attrs["optimizer"])(float(attrs["learning_rate"])),
        at=dataset["epoch"].values,
        spectra_at=dataset["epoch"].values[watched],
        tolerance=float(attrs["tolerance"]),
        residual_tolerance=float(attrs["residual_tolerance"]),
    )


def _activation(name: str) -> activations.Activation:
    kind, _, parameter = name.rstrip(")").partition("(")
    home = getattr(activations, kind, None) if kind in activations.__all__ else None
    if not isinstance(home, type) or not issubclass(home, activations.Activation):
        allowed = "it has to be one that tutelage.activations has by name"
        raise InputError("activation", repr(name), allowed)
    return home(float(parameter)) if parameter else home()
