"""The Dataset of a training, and the networks stored in it."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError
from tutelage._jax import jnp
from tutelage.deep.epochs import Measured, missing
from tutelage.deep.measures import node_axes
from tutelage.deep.network import Network
from tutelage.deep.training.settings import Settings


def as_dataset(
    setup: Settings, teachers: Network, students: Network, measured: Measured
) -> xr.Dataset:
    """Make the Dataset of measured arrays, of shape (epoch, polarities · runs, …), and weights."""
    variables: dict[str, Any] = {}
    for name, array in _while_finite(measured).items():
        axes = ("polarity", "run", "epoch", *node_axes(name))
        variables[name] = axes, _unflattened(np.swapaxes(array, 0, 1), setup)
    for owner, network in (("student", students), ("teacher", teachers)):
        variables |= _weights(owner, network, setup)
    dataset = xr.Dataset(
        variables,
        coords={
            "polarity": list(setup.polarity),
            "run": np.arange(setup.runs),
            "epoch": list(setup.recorded),
        },
        attrs={who: "-".join(map(str, getattr(setup, who))) for who in ("teacher", "student")},
    )
    finite = np.isfinite(measured["evaluation_loss"]).all(axis=0)
    for W in students.weights:  # after the last epoch, which may not be a recorded one
        finite &= np.isfinite(W).all(axis=(1, 2))
    outcome = _unflattened(np.where(finite, "reached", "diverged"), setup)
    dataset["outcome"] = ("polarity", "run"), outcome
    return dataset


def _while_finite(measured: Measured) -> Measured:
    """Replace correlations of diverged runs by NaN, and the nodes that they follow by -1."""
    finite = np.isfinite(measured["evaluation_loss"])
    replaced = dict(measured)
    for name, array in measured.items():
        if name.rpartition("_")[0] in FOLLOWING:
            mask = finite.reshape(*finite.shape, *[1] * (np.ndim(array) - finite.ndim))
            replaced[name] = np.where(mask, array, missing(array))
    return replaced


FOLLOWING = ("teacher_correlation", "student_correlation", "correlation", "winner", "follows")


def _weights(owner: str, network: Network, setup: Settings) -> dict[str, Any]:
    L = network.depth
    nodes = ["input", *(f"{owner}_{layer}" for layer in range(1, L)), "output"]
    variables: dict[str, Any] = {}
    for layer in range(1, L + 1):
        W, b = np.asarray(network.weights[layer - 1]), np.asarray(network.biases[layer - 1])
        axes = ("polarity", "run")
        variables[f"{owner}_weights_{layer}"] = (
            (*axes, nodes[layer - 1], nodes[layer]),
            _unflattened(W, setup),
        )
        variables[f"{owner}_biases_{layer}"] = ((*axes, nodes[layer]), _unflattened(b, setup))
    return variables


def _unflattened(array: np.ndarray, setup: Settings) -> np.ndarray:
    return array.reshape(len(setup.polarity), setup.runs, *array.shape[1:])


@validated
def networks(dataset: xr.Dataset, run: int = 0) -> tuple[Network, Network]:
    """Return the student of a run at the end of training, and its teacher.

    Args:
        dataset: from `train`, with one polarity.
        run: its number.

    >>> import tutelage as tl
    >>> ds = tl.deep.train(2, 2, inputs=4, outputs=3, epochs=2, examples=64, evaluation=50, runs=3)
    >>> [network.widths for network in tl.deep.networks(ds, run=1)]
    [(4, 4, 3), (4, 2, 3)]
    """
    if "student_weights_1" not in dataset or "polarity" in dataset.dims:
        allowed = "it has to be a result of training with one polarity"
        hint = "tl.deep.train(...), or dataset.sel(polarity=1)"
        raise InputError("dataset", f"dimensions {tuple(dataset.dims)}", allowed, hint)
    if run not in range(dataset.sizes["run"]):
        allowed = f"there are {dataset.sizes['run']} runs"
        raise InputError("run", repr(run), allowed, "run=0")
    one = dataset.isel(run=int(run))
    L = sum(str(name).startswith("student_weights_") for name in dataset)

    def read(owner: str) -> Network:
        W, b = (
            tuple(jnp.asarray(one[f"{owner}_{what}_{layer}"].values) for layer in range(1, L + 1))
            for what in ("weights", "biases")
        )
        return Network(W, b)

    return read("student"), read("teacher")
