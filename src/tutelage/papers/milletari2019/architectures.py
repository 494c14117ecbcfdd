"""Milletari, Chotibut and Trevisanutto (2019), Section 3: sizes of data and of networks."""

from collections.abc import Iterator

import numpy as np

from tutelage import spectra
from tutelage.papers.claim import claim
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.trainings import (
    ONE,
    STUCK,
    TWO,
    UNITS,
    fresh_accuracy,
    many,
    small,
)
from tutelage.papers.row import Row, compare, digits, missing, not_comparable, noted

DRAWN = (
    "the paper's points are not printed in it; ours are drawn with their number, their range and "
    "their share of classes (docs/spectra.md), so that the number is not found but given"
)
FRESH = (
    "the paper does not say how many of the 51 points are kept for testing; ours are 1000 fresh "
    "points on both sides of the same line, none closer to it than 0.1 (docs/spectra.md)"
)
STUCK_NOTE = (
    "milletari2019, Sec. 3: 10-2 is stuck about as often as 8-2, for it is the layer of two units "
    "that dies; 8-5 is stuck much less (tests/papers/test_milletari2019.py)."
)


def sizes() -> Iterator[Row]:
    """Appendix B: how many examples there are."""
    for name, printed, found in (
        ("linearly separable", "51", spectra.linear_examples()),
        ("non-linear", "863", spectra.curved_examples()),
    ):
        item = f"App. B, number of examples, {name}"
        yield not_comparable(KEY, item, printed, len(found.labels), DRAWN)
    item = "App. B, number of digits of 8 × 8 pixels (there MNIST)"
    yield compare(KEY, item, digits("1797"), len(spectra.digits().labels))
    item = "Sec. 1 and 3, Swish performs best on CIFAR and ImageNet"
    cited = (
        "a result of another paper (Ramachandran et al. 2017), on data that are not part of this"
    )
    yield missing(KEY, item, "best", cited)


def unseen(full: bool) -> Iterator[Row]:
    """Section 3: full test accuracy on the linear task."""
    for unit in UNITS:
        run = small("linear", ONE, unit, full)
        found = fresh_accuracy(run, unit)
        error = float(np.std(found, ddof=1) / np.sqrt(len(found)))
        item = f"Sec. 3, linear, 2-10-1: test accuracy of {unit}"
        yield not_comparable(KEY, item, "full", float(np.mean(found)), FRESH, error)


def stuck(full: bool) -> Iterator[Row]:
    """Networks of two hidden layers whose output no longer depends on the input."""
    wider = (((8, 2), "Swish"), ((10, 2), "ReLU"), ((8, 5), "ReLU"))
    for data, name in (("linear", "linear"), ("curved", "non-linear")):
        relu = _is_stuck(data, TWO, "ReLU", full)
        shape = f"{len(relu)} runs to epoch {STUCK}"
        for hidden, unit in wider:
            layers = "-".join(map(str, hidden))
            item = f"Sec. 3, {name}, {shape}: fraction stuck, ReLU 8-2 less {unit} {layers}"
            less = relu - _is_stuck(data, hidden, unit, full)
            yield noted(claim(KEY, item, less), STUCK_NOTE)
    for hidden in ((10, 2), (8, 5)):
        swish, relu = (_is_stuck("linear", hidden, unit, full) for unit in ("Swish", "ReLU"))
        layers = "-".join(map(str, hidden))
        shape = f"{len(relu)} runs to epoch {STUCK}"
        item = f"Sec. 3, linear, {shape}: fraction stuck, ReLU {layers} less Swish {layers}"
        yield noted(claim(KEY, item, relu - swish), STUCK_NOTE)


def _is_stuck(data: str, hidden: tuple[int, ...], unit: str, full: bool) -> np.ndarray:
    """Whether the loss is still within 1 % of that of the best constant output."""
    run = many(data, hidden, unit, full)
    p = float(run["labels"].mean())
    constant = -p * np.log(p) - (1 - p) * np.log(1 - p)
    return (run["loss"].sel(epoch=STUCK).values > 0.99 * constant).astype(float)
