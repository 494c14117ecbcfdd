"""Students on images: the public function and its Dataset."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, positive_integer
from tutelage._given import CheckedInside, FileName
from tutelage._jax import jax
from tutelage.deep.epochs import Measured, missing
from tutelage.deep.images.study import LEARNING, PRETRAINING, TUNING, ImageStudy
from tutelage.deep.images.training import Recipe
from tutelage.deep.measures import node_axes
from tutelage.runs import provenance
from tutelage.runs.progress import Progress


def _no_images(dataset: xr.Dataset) -> Any:
    allowed = "a result of training on images does not contain the images"
    raise InputError("images", "images", allowed, "tl.deep.images.train_on_images with the images")


@provenance.recorded(name="deep.images.train_on_images", from_variables={"images": _no_images})
def train_on_images(
    images: Any,
    hidden: CheckedInside[str | Sequence[int]] = "64-64-64-64",
    multiples: Sequence[int] = (1, 2, 5),
    *,
    keep: float = 0.75,
    pretraining: Recipe = PRETRAINING,
    tuning: Recipe = TUNING,
    learning: Recipe = LEARNING,
    runs: int = 1,
    seed: int = 0,
    checkpoint: FileName | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Pre-train a ConvNet, prune it, and teach over-realized students (tian2020, Figure 8).

    Runs come one after the other: kernels of several networks at once are a convolution in
    groups, for which neither processors nor graphics processors have fast code.

    Args:
        images: from `cifar10`, or `Images`.
        hidden: channels of the teacher before pruning.
        multiples: student channels for each one of the pruned teacher.
        keep: the fraction of the teacher's channels that remains after pruning.
        pretraining, tuning: of the teacher before and after it.
        learning: of the students; its rate is divided by the multiple.
        runs: students of each multiple, which differ in start and order of images.
        seed: a whole number of at least 0.
        checkpoint: a folder, for a file of each stage; the same call continues from it.
        progress: whether to show a bar on a terminal.

    Returns:
        Dataset over ``multiple``, ``run`` and ``epoch`` with accuracy on the labels of the test
        images, evaluation_loss and training_loss, the mean of (f*_L - f_L)², which is missing at
        the start and after a divergence; and for each hidden layer teacher_correlation_l and
        winner_l; attributes teacher_accuracy as pre-trained, pruned and tuned; ``outcome``,
        "reached", "diverged" or, in an unfinished study, "interrupted".
    """
    checked = [positive_integer("multiples", m, "(1, 2, 5)") for m in multiples]
    if not checked or len(set(checked)) < len(checked):
        raise InputError("multiples", repr(multiples), "they have to be different", "(1, 2, 5)")
    positive_integer("runs", runs, "runs=1")
    epochs = pretraining.epochs + tuning.epochs + learning.epochs * runs * len(checked)
    bar, finished = Progress(progress, epochs, "epochs"), itertools.count(1)
    study = ImageStudy(
        images,
        hidden,
        keep=keep,
        pretraining=pretraining,
        tuning=tuning,
        learning=learning,
        seed=seed,
        checkpoint=checkpoint,
        watch=lambda *_: bar.show(next(finished)),
    )
    with bar:
        teacher = study.teacher()
        measured = {
            (m, run): study.student(teacher.network, m, run)[1]
            for run in range(runs)
            for m in checked
        }
    device = {"device": jax.devices()[0].device_kind}
    return as_dataset(device, teacher.accuracies, measured)


def as_dataset(
    attributes: Mapping[str, object],
    accuracies: Sequence[float],
    measured: Mapping[tuple[int, int], Measured],
) -> xr.Dataset:
    """Make the Dataset of students by multiple and run; missing ones are NaN."""
    multiples = sorted({m for m, _ in measured})
    runs = 1 + max(run for _, run in measured)
    epochs = max(len(one["accuracy"]) for one in measured.values())
    variables: dict[str, Any] = {}
    for name, array in next(iter(measured.values())).items():
        dtype = np.float64 if array.dtype.kind == "f" else np.int64
        whole = np.full((len(multiples), runs, epochs, *array.shape[1:]), missing(array), dtype)
        for (m, run), one in measured.items():
            whole[multiples.index(m), run, : len(one[name])] = one[name]
        variables[name] = (("multiple", "run", "epoch", *node_axes(name)), whole)
    outcomes = [
        [_outcome(measured.get((m, run)), epochs) for run in range(runs)] for m in multiples
    ]
    variables["outcome"] = (("multiple", "run"), np.array(outcomes))
    coords = {"multiple": multiples, "run": np.arange(runs), "epoch": np.arange(epochs)}
    attrs = {**attributes, "teacher_accuracy": np.asarray(accuracies)}
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def _outcome(one: Measured | None, epochs: int) -> str:
    if one is None or len(one["accuracy"]) < epochs:
        return "interrupted"
    return "reached" if np.all(np.isfinite(one["accuracy"])) else "diverged"
