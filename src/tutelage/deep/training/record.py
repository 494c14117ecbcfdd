"""The Dataset of a training, and the networks that are in it."""

import platform
from typing import Any

import numpy as np
import xarray as xr

from tutelage import __version__
from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.deep.network import Network
from tutelage.deep.training.examples import written
from tutelage.deep.training.plan import Plan


def as_dataset(
    what: Plan, attrs: dict[str, Any], teachers: Network, students: Network, told: dict[str, Any]
) -> xr.Dataset:
    """Recorded arrays, which begin with (epoch, polarities · runs), and the last weights."""
    variables = {}
    for name, array in _while_finite(told).items():
        kind, _, layer = name.rpartition("_")
        axes = _AXES.get(kind, ())
        variables[name] = (
            ("polarity", "run", "epoch", *(f"{axis}_{layer}" for axis in axes)),
            _unflattened(np.swapaxes(array, 0, 1), what),
        )
    for owner, network in (("student", students), ("teacher", teachers)):
        variables |= _weights(owner, network, what)
    made = xr.Dataset(
        variables,
        coords={
            "polarity": list(what.polarities),
            "run": np.arange(what.runs),
            "epoch": list(what.recorded),
        },
        attrs=attrs,
    )
    reached = xr.apply_ufunc(np.isfinite, made["evaluation_loss"]).all("epoch")
    made["outcome"] = xr.where(reached, "reached", "diverged")
    return made if what.several else made.isel(polarity=0, drop=True)


_AXES = {
    "teacher_correlation": ("teacher",),
    "student_correlation": ("student",),
    "winner": ("teacher",),
    "follows": ("student",),
    "strength": ("student",),
    "correlation": ("student", "teacher"),
}


def _while_finite(told: dict[str, Any]) -> dict[str, Any]:
    """Without correlations, and with the node -1, where a run has diverged: it follows nobody."""
    finite = np.isfinite(told["evaluation_loss"])
    kept = dict(told)
    for name, array in told.items():
        kind = name.rpartition("_")[0]
        if kind in _NOBODY:
            here = finite.reshape(*finite.shape, *[1] * (np.ndim(array) - finite.ndim))
            kept[name] = np.where(here, array, _NOBODY[kind])
    return kept


_NOBODY = {
    "teacher_correlation": np.nan,
    "student_correlation": np.nan,
    "correlation": np.nan,
    "winner": -1,
    "follows": -1,
}


def _weights(owner: str, network: Network, what: Plan) -> dict[str, Any]:
    L = network.depth
    nodes = ["input", *(f"{owner}_{layer}" for layer in range(1, L)), "output"]
    told: dict[str, Any] = {}
    for layer in range(1, L + 1):
        W, b = np.asarray(network.weights[layer - 1]), np.asarray(network.biases[layer - 1])
        axes = ("polarity", "run")
        told[f"{owner}_weights_{layer}"] = (
            (*axes, nodes[layer - 1], nodes[layer]),
            _unflattened(W, what),
        )
        told[f"{owner}_biases_{layer}"] = ((*axes, nodes[layer]), _unflattened(b, what))
    return told


def _unflattened(array: np.ndarray, what: Plan) -> np.ndarray:
    return array.reshape(len(what.polarities), what.runs, *array.shape[1:])


def attributes(what: Plan, whole: bool) -> dict[str, Any]:
    """What has to be known to compute it again."""
    return {
        "computed_by": "deep.train",
        "teacher": "-".join(map(str, what.teacher)),
        "student": "-".join(map(str, what.student)),
        "polarity": ", ".join(map(written, what.polarities)),
        "runs": what.runs,
        "epochs": ", ".join(map(str, what.recorded)),
        "examples": what.examples,
        "evaluation": what.evaluation,
        "batch": what.batch,
        "learning_rate": what.learning_rate,
        "data": what.data.name,
        "fresh": int(what.fresh),
        "seed": what.seed,
        "correlations": int(whole),
        "tutelage_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
    }


def networks(dataset: xr.Dataset, run: int = 0) -> tuple[Network, Network]:
    """The student of a run as it was at the end of training, and its teacher.

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


def run_of(networks: Network, run: int) -> Network:
    """One of a batch of networks."""
    return jax.tree.map(lambda x: x[run], networks)
