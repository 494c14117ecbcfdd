"""Figure 8 of tian2020: students of a pruned ConvNet on CIFAR-10, from recorded runs.

The paper says: a teacher of 64-64-64-64 channels, L = 5, pre-trained on the training set, pruned
"in a structured manner to keep strong teacher nodes"; students over-realized 1x, 2x and 5x,
100 epochs.  It does not say kernels, strides, how the teacher was trained, how many channels were
left, how the students learned nor over what average and maximum were taken.  So no accuracy can be
compared number by number; that students with more channels follow the teacher better can, with
rates that are divided by the multiple and with one for all.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.claim import claim
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, not_comparable
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import KEY

PRINTED = {1: ("79.67", "80.15"), 2: ("83.09", "83.48"), 5: ("83.85", "84.18")}
READINGS = {"same": "one rate for all", "divided": "rates divided by the multiple"}
RATE = 0.0008  # that of the widest students if rates are divided
UNSAID = (
    "The paper does not state the kernels, strides and training of its teacher, nor how much was "
    "pruned; docs/cifar10.md has our choices."
)
SHARED = (
    "The three runs have one teacher in common, and say nothing about other teachers, and the 5x "
    f"students are the same in both readings. {UNSAID}"
)

Parts = Iterator[Row | Figure]


def which() -> str:
    """Say whether the images of CIFAR-10 are available; full runs depend on it."""
    from tutelage.deep.images.cifar import is_available

    return "with images" if is_available() else ""


def outside() -> str:
    """Return what the results depend on in addition to code."""
    return f"{recorded.digest(KEY)} {which()}"


def fig_8(full: bool) -> Parts:
    """Draw ρ_mean of every layer over epochs for 1x, 2x, 5x; return rows of ρ_mean and
    accuracies.
    """
    before = {name: _with_nodes(recorded.load_recorded(KEY, f"images_{name}")) for name in READINGS}
    return recorded.show_recorded(
        before,
        lambda: {name: study() for name, study in STUDIES.items()},
        _shown,
        full and bool(which()),
    )


def _with_nodes(dataset: xr.Dataset) -> xr.Dataset:
    """Replace values of nodes by their means, for the drawing functions."""
    means = {
        f"teacher_correlation_{i}": dataset[f"rho_mean_{i}"].expand_dims(f"teacher_{i}")
        for i in range(1, 5)
    }
    return dataset.assign(means)


def _divided() -> xr.Dataset:
    from tutelage.deep.images import cifar10, train_on_images

    return train_on_images(cifar10(), runs=3)


def _same() -> xr.Dataset:
    """Run the study with the same rate for all widths; the study divides rates by the multiple."""
    from tutelage.deep.images import cifar10, train_on_images
    from tutelage.deep.images.study import LEARNING

    images = cifar10()
    studies = [
        train_on_images(
            images, multiples=(m,), learning=LEARNING._replace(learning_rate=RATE * m), runs=3
        )
        for m in PRINTED
    ]
    return xr.concat(studies, "multiple", join="outer", combine_attrs="drop_conflicts")


STUDIES: dict[str, Callable[[], xr.Dataset]] = {"same": _same, "divided": _divided}


def _shown(studies: Mapping[str, xr.Dataset]) -> Parts:
    from tutelage.papers.tian2020 import drawing_images as draw

    for name, study in studies.items():
        picture = draw.specialization_on_images(study)[0].figure
        picture.suptitle(READINGS[name])
        yield Figure(picture, {"": study}, f"layers_{name}")
        axes = draw.accuracy_over_epochs(study)
        axes.set_title(READINGS[name])
        yield Figure(axes.figure, {"": study[["accuracy"]]}, f"accuracy_{name}")
    yield from _accuracies(studies["same"])
    yield from _wider(studies)


def _accuracies(study: Any) -> Iterator[Row]:
    from tutelage.papers.tian2020.drawing_images import accuracies

    for multiple, printed in PRINTED.items():
        computed = accuracies(study, multiple)
        for what, text, one in zip(("mean", "greatest"), printed, computed, strict=True):
            item = f"Figure 8, {what} accuracy of {multiple}x students in percent"
            yield not_comparable(KEY, item, text, 100 * one, UNSAID)


def _wider(studies: Mapping[str, xr.Dataset]) -> Iterator[Row]:
    """Compare wide students with 1x at the last epoch, run by run, in three runs."""
    for layer in range(4):
        for multiple in (2, 5):
            item = f"Figure 8, layer-{layer}: ρ_mean of {multiple}x students is greater than of 1x"
            means = {
                name: study[f"teacher_correlation_{layer + 1}"].mean(f"teacher_{layer + 1}")
                for name, study in studies.items()
            }
            yield _in_each(item, means, multiple)
    for multiple in (2, 5):
        item = f"Figure 8: accuracy of {multiple}x students is greater than of 1x"
        yield _in_each(item, {name: study["accuracy"] for name, study in studies.items()}, multiple)


def _in_each(item: str, values: dict[str, xr.DataArray], multiple: int) -> Row:
    readings = {}
    for name, one in values.items():
        last = one.isel(epoch=-1)
        more = last.sel(multiple=multiple) - last.sel(multiple=1)
        readings[READINGS[name]] = claim(KEY, item, more.values)
    return in_each_reading(item, "the learning rates of wide students", readings, SHARED)
