"""Milletari, Chotibut and Trevisanutto (2019), Section 3: sizes of data and of networks."""

from collections.abc import Iterator

import numpy as np

from tutelage import spectra
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.spectra import NAMES, UNPRINTED
from tutelage.papers.milletari2019.trainings import (
    AUTHORS,
    ONE,
    SETTINGS,
    STUCK,
    TWO,
    UNITS,
    Setting,
    fresh_accuracy,
    small,
    trained,
)
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, compare, digits, missing, not_comparable, noted
from tutelage.papers.sequential import sequential_claim

DRAWN = (
    "the paper's points are not printed in it; ours are drawn with their number, their range and "
    "their share of classes (docs/spectra.md), so that the number is not found but given"
)
HELD_OUT = (
    "38 of the 51 points are for training and 13 for testing, as in the public code of the "
    "authors, but the points are drawn here: how close to the line they come is not that of the "
    "paper's (docs/spectra.md)"
)
STUCK_NOTE = (
    "milletari2019, Sec. 3: it is the layer of two units that dies, so that 10-2 is stuck nearly "
    "as often as 8-2, and 8-5 much less (tests/papers/test_milletari2019.py). The paper has one "
    "start of each: with that, 8-2 is stuck and 10-2 is not in about a quarter of all cases."
)
# So many runs are drawn at once, and there are at most twice as many; at full size, eight times.
CHUNK, STUCK_LOOKS, FULL_STUCK_LOOKS = {"linear": 100, "curved": 50}, 2, 4
Network = tuple[tuple[int, ...], str]
PAIRS: tuple[tuple[Network, Network], ...] = (
    ((TWO, "ReLU"), (TWO, "Swish")),
    ((TWO, "ReLU"), ((10, 2), "ReLU")),
    ((TWO, "ReLU"), ((8, 5), "ReLU")),
    (((10, 2), "ReLU"), ((10, 2), "Swish")),
    (((8, 5), "ReLU"), ((8, 5), "Swish")),
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
        found = fresh_accuracy(small("linear", ONE, unit, full, AUTHORS), unit)
        error = float(np.std(found, ddof=1) / np.sqrt(len(found)))
        item = f"Sec. 3, linear, 2-10-1: test accuracy of {unit}"
        yield not_comparable(KEY, item, "full", float(np.mean(found)), HELD_OUT, error)


def stuck(full: bool) -> Iterator[Row]:
    """Networks of two hidden layers whose output no longer depends on the input."""
    for data in NAMES:
        for more, less in PAIRS if data == "linear" else PAIRS[:3]:
            words = " less ".join(
                f"{unit} {'-'.join(map(str, hidden))}" for hidden, unit in (more, less)
            )
            item = f"Sec. 3, {NAMES[data]}: fraction stuck, {words}"
            rows = {s.name: _more_often(s, data, item, (more, less), full) for s in SETTINGS}
            yield noted(in_each_reading(item, UNPRINTED, rows), STUCK_NOTE)


def _more_often(
    setting: Setting, data: str, item: str, pair: tuple[Network, Network], full: bool
) -> Row:
    """With as many runs as it takes, up to a number that is stated."""

    def draw(first: int, count: int) -> np.ndarray:
        seeds = range(first, first + count, CHUNK[data])
        both = [[_are_stuck(setting, data, one, seed) for one in pair] for seed in seeds]
        return np.concatenate([more - less for more, less in both])

    looks = FULL_STUCK_LOOKS if full else STUCK_LOOKS
    return sequential_claim(KEY, item, draw, runs=CHUNK[data], looks=looks)


def _are_stuck(setting: Setting, data: str, network: Network, seed: int) -> np.ndarray:
    """Whether the loss is still within 1 % of that of the best constant output."""
    hidden, unit = network
    run = trained(setting, data, hidden, unit, STUCK, CHUNK[data], (STUCK,), (), seed)
    p = float(run["labels"].mean())
    constant = -p * np.log(p) - (1 - p) * np.log(1 - p)
    return (run["loss"].sel(epoch=STUCK).values > 0.99 * constant).astype(float)
