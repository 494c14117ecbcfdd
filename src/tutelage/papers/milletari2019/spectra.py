"""Milletari, Chotibut and Trevisanutto (2019), Section 3 and Appendix B: a measurement for each
claim.

A claim is a row: a statistic of every run, its mean and standard error, and the verdict of a t
test at the level 0.01, in the setting of the authors and in that of the text (`trainings`).  Runs
of different activations begin with the same weights, so that differences are taken run by run.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal

import numpy as np
import xarray as xr

from tutelage.papers.claim import in_every_run
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.digits import digits
from tutelage.papers.milletari2019.trainings import (
    DIGITS,
    ONE,
    SETTINGS,
    TWO,
    UNITS,
    Setting,
    max_stages,
    runs_of,
    small,
)
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, with_note
from tutelage.papers.sequential import sequential_claim
from tutelage.spectra import negative_fraction

# Zero eigenvalues of the digits that occur for every activation: see DIGITS_NOTE.
BLANK = 3 * 25
ALWAYS_ZERO = {"softmax": BLANK + 26, "sigmoid": BLANK}
OTHER_UNITS = ("ReLU", "Sigmoid")
NAMES = {"linear": "linear", "curved": "non-linear"}
EVIDENCE = "docs/spectra.md, tests/papers/test_milletari2019.py"
UNPRINTED = "where β begins, a β of the output, the decay of the learning rate, the epochs"
COUNTED = f"what counts as negative, {UNPRINTED}"
# Thresholds for negative eigenvalues in units of the largest |λ|: above rounding, and above small.
ROUNDING_TOLERANCE, LOOSE_TOLERANCE = 1e-12, 1e-5
# Threshold for eigenvalues near zero where a distribution is said to shrink.
NEAR_ZERO = 1e-3

COUNTS = (
    "The order of the fractions depends on the threshold for zero; the authors count λ < 0, which "
    f"adds to the ReLU the zero eigenvalues that rounding makes negative ({EVIDENCE})."
)
NEGATIVE_NOTE = (
    "milletari2019, Sec. 3: at the end Swish has many negative eigenvalues, but small ones: on the "
    "linear task nearly all are below 10⁻⁵ of the largest, those of the others are not. "
    f"{COUNTS}"
)
WAY_NOTE = f"milletari2019, Sec. 3, speaks of α during the training. {COUNTS}"
WIDTH_NOTE = (
    "milletari2019, Sec. 3: Swish begins narrow where its β begin near zero, and outgrows the ReLU "
    "after some hundred epochs if the output has a β; without one after about two thousand "
    f"({EVIDENCE})."
)
SHRINK_NOTE = (
    "milletari2019, Sec. 3: a larger and larger part of the eigenvalues of the ReLU comes close to "
    "zero relative to the largest: the singular distribution that the paper speaks of; the "
    "standard deviation follows the largest, and grows while the loss is high "
    f"({EVIDENCE})."
)
DIGITS_NOTE = (
    "milletari2019, Fig. 2: zero eigenvalues that every activation has are not counted: three "
    "pixels are blank in all images (75 weights), and with softmax the outputs can be shifted "
    "together (26 directions more). Others come close to zero with every activation as the loss "
    f"does ({EVIDENCE})."
)


def fig_1(full: bool) -> Iterator[Row]:
    """Decide every claim about convergence, residuals and spectra on the two small sets."""
    yield from _accuracy(full)
    for data in ("linear", "curved"):
        yield from _convergence(data, full)
        for hidden in (ONE, TWO):
            yield from _residuals(data, hidden, full)
            yield from _zeros(data, hidden, full)
        yield from _spectra(data, full)


def fig_2(full: bool) -> Iterator[Row]:
    """Decide every claim about convergence, residuals and spectra on the digits."""
    yield from _convergence("digits", full)
    yield from _residuals("digits", DIGITS, full)
    yield from _zeros("digits", DIGITS, full)
    yield from _spectra("digits", full)


# One number for each network of a chunk of runs, from the setting and the seed.
Samples = Callable[[Setting, int], np.ndarray]


def _runs(
    setting: Setting,
    data: str,
    unit: str,
    full: bool,
    hidden: tuple[int, ...] = ONE,
    seed: int = 0,
) -> xr.Dataset:
    if data == "digits":
        return digits(unit, full, setting)
    return small(data, hidden, unit, full, setting, seed)


def _item(data: str, hidden: tuple[int, ...], words: str) -> str:
    if data == "digits":
        return f"App. B, digits, 64-25-10: {words}"
    return f"Sec. 3, {NAMES[data]}, 2-{'-'.join(map(str, hidden))}-1: {words}"


class Claims:
    """Claims about one kind of network, decided with runs that are drawn in stages."""

    def __init__(self, data: str, hidden: tuple[int, ...], full: bool):
        self.data, self.hidden, self.full = data, hidden, full
        self.runs = runs_of(data, hidden, full)

    def item(self, words: str) -> str:
        return _item(self.data, self.hidden, words)

    def one(self, setting: Setting, unit: str, seed: int = 0) -> xr.Dataset:
        return _runs(setting, self.data, unit, self.full, self.hidden, seed)

    def two(self, setting: Setting, seed: int, unit: str) -> tuple[xr.Dataset, xr.Dataset]:
        """Return the runs of Swish and of another activation."""
        return self.one(setting, "Swish", seed), self.one(setting, unit, seed)

    def decided(
        self,
        item: str,
        samples: Samples,
        setting: Setting,
        relation: Literal[">", "<"] = ">",
        limit: float = 0.0,
    ) -> Row:
        def draw(first: int, count: int) -> np.ndarray:
            seeds = range(first, first + count, self.runs)
            return np.concatenate([samples(setting, seed) for seed in seeds])

        stages = max_stages(self.data, self.full)
        return sequential_claim(KEY, item, draw, relation, limit, runs=self.runs, stages=stages)

    def both(
        self,
        words: str,
        samples: Samples,
        relation: Literal[">", "<"] = ">",
        limit: float = 0.0,
        note: str = "",
    ) -> Row:
        """Decide a statement in the setting of the authors and in that of the text."""
        item = self.item(words)
        rows = {s.name: self.decided(item, samples, s, relation, limit) for s in SETTINGS}
        return with_note(in_each_reading(item, UNPRINTED, rows), note)

    def each(
        self,
        words: str,
        on: str,
        measures: Mapping[str, Samples],
        relation: Literal[">", "<"],
        note: str,
        ours: Collection[str] = (),
    ) -> Row:
        """Decide a statement in both settings, by several measures in each, some of them ours."""
        item = self.item(words)
        rows = {
            f"{setting.name}, {name}": self.decided(item, samples, setting, relation)
            for setting in SETTINGS
            for name, samples in measures.items()
        }
        chosen = [f"{setting.name}, {name}" for setting in SETTINGS for name in ours]
        return with_note(in_each_reading(item, on, rows, ours=chosen), note)


def _accuracy(full: bool) -> Iterator[Row]:
    """Decide whether full accuracy is reached at some epoch; Adam may lose it again for a while."""
    claims = Claims("linear", ONE, full)
    for unit in UNITS:
        item = claims.item(f"{unit} attains full accuracy")
        best = {s.name: claims.one(s, unit)["accuracy"].values.max(axis=1) for s in SETTINGS}
        rows = {name: in_every_run(KEY, item, one == 1) for name, one in best.items()}
        yield in_each_reading(item, UNPRINTED, rows)


def _convergence(data: str, full: bool) -> Iterator[Row]:
    """Swish is the fastest on the linear task; on the others ReLU ends on a higher plateau."""
    claims = Claims(data, DIGITS if data == "digits" else ONE, full)
    for unit in OTHER_UNITS:
        if data == "curved":
            words = f"ln of the final loss of {unit} over that of Swish"
        else:
            words = f"ln of the epochs to a loss of 0.1, {unit} over Swish"

        def slower(setting: Setting, seed: int, unit: str = unit) -> np.ndarray:
            runs = claims.two(setting, seed, unit)
            size = [_last(r, "loss") if data == "curved" else _epochs_to(r, 0.1) for r in runs]
            return np.log(size[1] / size[0])

        yield claims.both(words, slower)
    if data == "curved":
        yield from _quick_plateau(claims)


def _quick_plateau(claims: Claims) -> Iterator[Row]:
    """Decide whether ReLU comes close to its final loss sooner than Swish, and then
    hardly changes.
    """

    def sooner(setting: Setting, seed: int) -> np.ndarray:
        swish, relu = (_epochs_to_the_end(run) for run in claims.two(setting, seed, "ReLU"))
        return np.log(swish / relu)

    def flatter(setting: Setting, seed: int) -> np.ndarray:
        swish, relu = (_late_fall(run) for run in claims.two(setting, seed, "ReLU"))
        return swish - relu

    yield claims.both("ln of the epochs to within 10 % of the final loss, Swish over ReLU", sooner)
    words = "fall of ln of the loss over the last half of the epochs, Swish less ReLU"
    yield claims.both(words, flatter)


def _epochs_to_the_end(run: xr.Dataset) -> np.ndarray:
    """Return the first recorded epoch after which the loss stays below 1.1 times the final one."""
    loss, epochs = run["loss"].values, run["epoch"].values.astype(float)
    above = loss > 1.1 * loss[:, -1:]
    first = np.where(above.any(axis=1), loss.shape[1] - np.argmax(above[:, ::-1], axis=1), 1)
    return epochs[np.minimum(first, len(epochs) - 1)]


def _late_fall(run: xr.Dataset) -> np.ndarray:
    """Return ln of the ratio of the loss at half of the epochs to the final loss."""
    epochs = run["epoch"].values.astype(float)
    half = int(np.argmin(np.abs(epochs - epochs[-1] / 2)))
    loss = run["loss"].values
    return np.log(loss[:, half] / loss[:, -1])


def _residuals(data: str, hidden: tuple[int, ...], full: bool) -> Iterator[Row]:
    claims = Claims(data, hidden, full)
    for unit in OTHER_UNITS:

        def more(setting: Setting, seed: int, unit: str = unit) -> np.ndarray:
            swish, other = claims.two(setting, seed, unit)
            return _last(swish, "zero_residuals") - _last(other, "zero_residuals")

        yield claims.both(f"zero residuals at the end, Swish less {unit}", more)


def _zeros(data: str, hidden: tuple[int, ...], full: bool) -> Iterator[Row]:
    """Check γ ≠ 0 for ReLU at every recorded epoch, and γ = 0 typically for the others.

    There are enough networks with two hidden layers to distinguish "in general" from "always".
    """
    note, when = (DIGITS_NOTE, "at the end") if data == "digits" else ("", "all along")
    claims = Claims(data, hidden, full)

    def there(setting: Setting, seed: int, unit: str) -> np.ndarray:
        return _has_zeros(claims.one(setting, unit, seed), setting, data)

    def part(unit: str) -> Samples:
        return lambda setting, seed: there(setting, seed, unit).mean(axis=1)

    if data == "digits":
        yield from (_more_zeros(claims, unit) for unit in ("Swish", "Sigmoid"))
    for unit in ("ReLU",) if data == "digits" else UNITS:
        if unit == "ReLU" and len(hidden) == 1:
            item = claims.item(f"ReLU has zero eigenvalues {when}")
            every = {s.name: there(s, 0, unit).all(axis=1) for s in SETTINGS}
            rows = {name: in_every_run(KEY, item, holds) for name, holds in every.items()}
            yield with_note(in_each_reading(item, UNPRINTED, rows), note)
            continue
        yield claims.both(
            f"part of the spectra of {unit}, {when}, with zero eigenvalues",
            part(unit),
            ">" if unit == "ReLU" else "<",
            0.5,
            note,
        )


def _more_zeros(claims: Claims, unit: str) -> Row:
    """Compare γ of the digits, where every network has some zero eigenvalues."""

    def less(setting: Setting, seed: int) -> np.ndarray:
        runs = (claims.one(setting, one, seed) for one in ("ReLU", unit))
        return np.subtract(*(_last(run, "zero_fraction") for run in runs))

    return claims.both(f"γ at the end, ReLU less {unit}", less, note=DIGITS_NOTE)


def _has_zeros(run: xr.Dataset, setting: Setting, data: str) -> np.ndarray:
    """Return whether a spectrum has more zero eigenvalues than the spectra of all
    activations have.
    """
    γ = run["zero_fraction"].dropna("epoch", how="all").values
    if data == "digits":
        γ = γ[:, -1:] - ALWAYS_ZERO[setting.output] / run.sizes["eigenvalue"]
    return γ > 1e-9


def _spectra(data: str, full: bool) -> Iterator[Row]:
    """Decide claims about the width of spectra, and about α during training and at its end."""
    claims = Claims(data, DIGITS if data == "digits" else ONE, full)
    if data != "digits":
        yield _shrinks(claims)
        yield _wider(claims)
        yield _more_descent(claims)
    for unit in OTHER_UNITS:
        yield _at_the_end(claims, unit)


def _shrinks(claims: Claims) -> Row:
    def far(λ: np.ndarray) -> np.ndarray:
        return np.mean(np.abs(λ) > NEAR_ZERO * np.abs(λ).max(axis=-1, keepdims=True), axis=-1)

    def change(measure: Callable[[np.ndarray], np.ndarray]) -> Samples:
        def end_less_start(setting: Setting, seed: int) -> np.ndarray:
            shrinkage = measure(_eigenvalues(claims.one(setting, "ReLU", seed)))
            return shrinkage[:, -1] - shrinkage[:, 0]

        return end_less_start

    measures = {
        "part of |λ| > 10⁻³ max|λ|": change(far),
        "ln of the standard deviation": change(lambda λ: np.log(λ.std(axis=-1))),
    }
    words = "the spectrum of ReLU shrinks, end less start"
    return claims.each(words, "what is meant by shrinking", measures, "<", SHRINK_NOTE)


def _wider(claims: Claims) -> Row:
    """Compare widths over all epochs; those of the digits are recorded, in `widths`."""

    def ratio(setting: Setting, seed: int) -> np.ndarray:
        swish, relu = claims.two(setting, seed, "ReLU")
        widths = (np.log(_eigenvalues(run).std(axis=-1)) for run in (swish, relu))
        return _mean_over_epochs(swish, np.subtract(*widths))

    words = "mean ln of the width of the spectrum, Swish over ReLU"
    return claims.both(words, ratio, note=WIDTH_NOTE)


def _more_descent(claims: Claims) -> Row:
    def more(α: Callable[[np.ndarray], np.ndarray]) -> Samples:
        def samples(setting: Setting, seed: int) -> np.ndarray:
            swish, relu = claims.two(setting, seed, "ReLU")
            difference = α(_eigenvalues(swish)) - α(_eigenvalues(relu))
            return _mean_over_epochs(swish, difference)

        return samples

    measures = {name: more(α) for name, α in NEGATIVE.items()}
    words = "mean α on the way, Swish less ReLU"
    return claims.each(words, COUNTED, measures, ">", WAY_NOTE, OUR_COUNTS)


def _at_the_end(claims: Claims, unit: str) -> Row:
    """Compare α at the end, counted in three ways; the first is that of the authors."""

    def less(α: Callable[[np.ndarray], np.ndarray]) -> Samples:
        def samples(setting: Setting, seed: int) -> np.ndarray:
            swish, other = (_eigenvalues(run) for run in claims.two(setting, seed, unit))
            return (α(swish) - α(other))[:, -1]

        return samples

    measures = {name: less(α) for name, α in NEGATIVE.items()}
    words = f"α at the end, Swish less {unit}"
    return claims.each(words, COUNTED, measures, "<", NEGATIVE_NOTE, OUR_COUNTS)


def _below_zero(λ: np.ndarray) -> np.ndarray:
    return np.mean(λ < 0, axis=-1)


NEGATIVE: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "λ < 0": _below_zero,
    "λ < −10⁻¹² max|λ|": lambda λ: negative_fraction(λ, ROUNDING_TOLERANCE),
    "λ < −10⁻⁵ max|λ|": lambda λ: negative_fraction(λ, LOOSE_TOLERANCE),
}


# The authors' code counts λ < 0.
OUR_COUNTS = [name for name, α in NEGATIVE.items() if α is not _below_zero]


def _eigenvalues(run: xr.Dataset) -> np.ndarray:
    """Return eigenvalues with the dimensions run, epoch and eigenvalue, without empty epochs."""
    return run["eigenvalues"].dropna("epoch", how="all").values


def _last(run: xr.Dataset, name: str) -> np.ndarray:
    return run[name].values[:, -1]


def _mean_over_epochs(run: xr.Dataset, values: np.ndarray) -> np.ndarray:
    """Average values of each run over epochs, linear between records."""
    epochs = run["eigenvalues"].dropna("epoch", how="all")["epoch"].values.astype(float)
    if len(epochs) == 1:
        return values[:, 0]
    return np.trapezoid(values, epochs, axis=1) / (epochs[-1] - epochs[0])


def _epochs_to(run: xr.Dataset, level: float) -> np.ndarray:
    """The epoch at which the loss falls below the level, interpolated linearly between records.

    NaN where it does not: then there is no mean, and the claim is not decided.
    """
    epochs = run["epoch"].values.astype(float)
    crossings = []
    for loss in run["loss"].values:
        below = np.flatnonzero(loss < level)
        if not len(below):
            crossings.append(np.nan)
            continue
        i = int(below[0])
        part = (loss[i - 1] - level) / (loss[i - 1] - loss[i]) if i else 0.0
        crossings.append(epochs[i - 1] + part * (epochs[i] - epochs[i - 1]) if i else epochs[0])
    return np.array(crossings)
