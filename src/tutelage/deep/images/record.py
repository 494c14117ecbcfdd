"""The Dataset of a study of students on images, and the call that makes it."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage._checks import InputError, positive_integer
from tutelage.deep.images.study import ImageStudy
from tutelage.runs.progress import Progress

if TYPE_CHECKING:
    import xarray as xr

Told = Mapping[tuple[int, int], Mapping[str, np.ndarray]]


def train_on_images(
    images: Any,
    hidden: Any = "64-64-64-64",
    multiples: Sequence[int] = (1, 2, 5),
    *,
    runs: int = 1,
    progress: bool = False,
    **options: Any,
) -> "xr.Dataset":
    """Pre-train a ConvNet, prune it, and teach over-realized students (tian2020, Figure 8).

    Runs come one after the other: kernels of several networks at once are a convolution in
    groups, for which neither processors nor graphics processors have fast code.

    Args:
        images: from `cifar10`, or `Images`.
        hidden: channels of the teacher before pruning.
        multiples: student channels for each one of the pruned teacher.
        runs: students of each multiple, which differ in start and order of images.
        progress: whether to show a bar on a terminal.
        options: of `ImageStudy`.

    Returns:
        Dataset over ``multiple``, ``run`` and ``epoch`` with accuracy on the labels of the test
        images, evaluation_loss and training_loss, the mean of (f*_L - f_L)²; and for each hidden
        layer teacher_correlation_l and winner_l; attributes teacher_accuracy as pre-trained,
        pruned and tuned; ``outcome``, "reached", "diverged" or, in a study that has not come to
        its end, "interrupted".
    """
    wanted = [positive_integer("multiples", m, "(1, 2, 5)") for m in multiples]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError("multiples", repr(multiples), "they have to be different", "(1, 2, 5)")
    positive_integer("runs", runs, "runs=1")
    done, bars = itertools.count(1), list[Progress]()

    def watch(stage: str, epoch: int, told: dict[str, np.ndarray]) -> None:
        bars[0].show(next(done) * len(images.train))

    study = ImageStudy(images, hidden, watch=watch, **options)
    epochs = study.pretraining.epochs + study.tuning.epochs
    epochs += study.learning.epochs * runs * len(wanted)
    with Progress(progress, epochs * len(images.train)) as bar:
        bars.append(bar)
        teacher = study.teacher()
        told = {
            (m, run): study.student(teacher.network, m, run)[1]
            for run in range(runs)
            for m in wanted
        }
    return as_dataset(study.attributes(), teacher.accuracies, told)


def as_dataset(
    attributes: Mapping[str, Any], accuracies: Sequence[float], told: Told
) -> "xr.Dataset":
    """Recorded arrays of students, by multiple and run; those that are not there are NaN."""
    import xarray as xr

    multiples = sorted({m for m, _ in told})
    runs = 1 + max(run for _, run in told)
    epochs = max(len(one["accuracy"]) for one in told.values())
    first = next(iter(told.values()))
    made: dict[str, Any] = {}
    for name, array in first.items():
        kind, _, layer = name.rpartition("_")
        axes = (f"teacher_{layer}",) if kind in ("teacher_correlation", "winner") else ()
        empty = np.nan if array.dtype.kind == "f" else -1
        dtype = np.float64 if array.dtype.kind == "f" else np.int64
        whole = np.full((len(multiples), runs, epochs, *array.shape[1:]), empty, dtype)
        for (m, run), one in told.items():
            whole[multiples.index(m), run, : len(one[name])] = one[name]
        made[name] = (("multiple", "run", "epoch", *axes), whole)
    coords = {"multiple": multiples, "run": np.arange(runs), "epoch": np.arange(epochs)}
    attrs = {**attributes, "teacher_accuracy": np.asarray(accuracies)}
    outcomes = [[_outcome(told.get((m, run)), epochs) for run in range(runs)] for m in multiples]
    made["outcome"] = (("multiple", "run"), np.array(outcomes))
    return xr.Dataset(made, coords=coords, attrs=attrs)


def _outcome(one: Mapping[str, np.ndarray] | None, epochs: int) -> str:
    if one is None or len(one["accuracy"]) < epochs:
        return "interrupted"
    return "reached" if np.all(np.isfinite(one["accuracy"])) else "diverged"
