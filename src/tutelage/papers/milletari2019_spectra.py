"""Milletari, Chotibut and Trevisanutto (2019), Section 3 and Appendix B: each claim, measured.

A claim is a row: a statistic of every run, its mean and standard error, and the verdict of a t
test at the level 0.01.  Runs of different activations begin with the same weights, so that
differences are taken run by run.  Rows are quick: fewer epochs than the figures, as they say.
"""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from tutelage.papers.claim import claim, in_every_run
from tutelage.papers.milletari2019_trainings import UNITS, trained
from tutelage.papers.record import Record

PAPER = "milletari2019"
RUNS, EPOCHS = 20, 1000
AT = (0, 10, 20, 40, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 700, 1000)
SPECTRA_AT = (0, 20, 100, 300, 500, 1000)
# Stuck is decided early: units that are dead after some hundred epochs stay so.
STUCK_RUNS, STUCK_EPOCHS = {"linear": 400, "curved": 100}, 300
DIGIT_RUNS, DIGIT_EPOCHS, DIGIT_AT = 5, 300, (0, 25, 50, 75, 100, 150, 200, 250, 300)
# Zero eigenvalues of the digits that every activation has: see DIGITS_NOTE.
ALWAYS_ZERO = {"digits": 3 * 25 + 26}
OTHERS = ("ReLU", "Sigmoid")
NAMES = {"linear": "linear, 2-10-1", "curved": "non-linear, 2-10-1", "digits": "digits, 64-25-10"}

NEGATIVE_NOTE = (
    "milletari2019, Sec. 3: the fraction of negative eigenvalues of Swish at the end is not "
    "negligible beside that of ReLU once what counts as zero is said: about half of the "
    "eigenvalues of ReLU are zero, come out with either sign, and are no descent."
)
WIDTH_NOTE = (
    "milletari2019, Sec. 3: whether the spectrum of ReLU shrinks, and is narrower than that of "
    "Swish, depends on the task and on the time: it grows at first, shrinks only where the loss "
    "goes to zero, and is the wider one where the network of ReLU stays on a plateau."
)
STUCK_NOTE = (
    "milletari2019, Sec. 3: 10-2 is stuck about as often as 8-2, for it is the layer of two units "
    "that dies; 8-5 is stuck much less."
)
DIGITS_NOTE = (
    "milletari2019, Fig. 2: 101 zero eigenvalues are there for every activation and not counted: "
    "three pixels are blank in all images (75 weights), and the outputs of softmax can be shifted "
    "together (26 directions).  More come close to zero with every activation as the loss does."
)


def spectra_records() -> list[Record]:
    """Every claim about convergence, residuals and spectra, on three sets of examples."""
    rows = [*_accuracy()]
    for data in ("linear", "curved", "digits"):
        rows += [*_convergence(data), *_residuals(data), *_zeros(data), *_spectra(data)]
    return [*rows, *_stuck()]


def _runs(data: str, unit: str) -> xr.Dataset:
    if data == "digits":
        end = (DIGIT_EPOCHS,)
        return trained(data, (25,), unit, DIGIT_EPOCHS, DIGIT_RUNS, DIGIT_AT, end)
    return trained(data, (10,), unit, EPOCHS, RUNS, AT, SPECTRA_AT)


def _item(data: str, words: str) -> str:
    runs, epochs = (DIGIT_RUNS, DIGIT_EPOCHS) if data == "digits" else (RUNS, EPOCHS)
    place = "App. B" if data == "digits" else "Sec. 3"
    return f"{place}, {NAMES[data]}, {runs} runs to epoch {epochs}: {words}"


def _accuracy() -> Iterator[Record]:
    """Attained at some epoch: steps of Adam on a sharp landscape may lose it again for a while."""
    for unit in UNITS:
        best = _runs("linear", unit)["accuracy"].values.max(axis=1)
        yield in_every_run(PAPER, _item("linear", f"{unit} attains full accuracy"), best == 1)


def _convergence(data: str) -> Iterator[Record]:
    """Swish is the fastest on the linear task; on the others ReLU ends on a higher plateau."""
    swish = _runs(data, "Swish")
    for unit in OTHERS:
        other = _runs(data, unit)
        if data == "curved":
            ratio = np.log(_last(other, "loss") / _last(swish, "loss"))
            words = f"ln of the final loss of {unit} over that of Swish"
        else:
            ratio = np.log(_epochs_to(other, 0.1) / _epochs_to(swish, 0.1))
            words = f"ln of the epochs to a loss of 0.1, {unit} over Swish"
        yield claim(PAPER, _item(data, words), ratio)


def _residuals(data: str) -> Iterator[Record]:
    swish = _runs(data, "Swish")
    for unit in OTHERS:
        more = _last(swish, "zero_residuals") - _last(_runs(data, unit), "zero_residuals")
        yield claim(PAPER, _item(data, f"zero residuals at the end, Swish less {unit}"), more)


def _zeros(data: str) -> Iterator[Record]:
    """γ ≠ 0 for ReLU at every epoch watched, and typically not for the others."""
    digits = data == "digits"  # of which only the last epoch is watched
    note, when = (DIGITS_NOTE, "at the end") if digits else ("", "all along")
    for unit in UNITS:
        run = _runs(data, unit)
        γ = run["zero_fraction"].dropna("epoch", how="all").values
        γ = γ - ALWAYS_ZERO.get(data, 0) / run.sizes["eigenvalue"]
        if unit == "ReLU":
            words = f"ReLU has zero eigenvalues {when}"
            yield in_every_run(PAPER, _item(data, words), (γ > 1e-9).all(axis=1))
        else:
            words = f"part of the spectra of {unit}, {when}, with zero eigenvalues"
            yield claim(PAPER, _item(data, words), (γ > 1e-9).mean(axis=1), "<", 0.5, note)


def _spectra(data: str) -> Iterator[Record]:
    """Width, and α on the way and at the end."""
    swish, relu = _runs(data, "Swish"), _runs(data, "ReLU")
    if data != "digits":
        width = _width(relu)
        words = "ln of the width of the spectrum of ReLU, end over start"
        yield claim(PAPER, _item(data, words), width[:, -1] - width[:, 0], "<", 0.0, WIDTH_NOTE)
    wider = np.mean(_width(swish) - _width(relu), axis=1)
    words = "mean ln of the width of the spectrum, Swish over ReLU"
    yield claim(PAPER, _item(data, words), wider, note=WIDTH_NOTE)
    if data != "digits":
        more = (swish["negative_fraction"] - relu["negative_fraction"]).mean("epoch").values
        yield claim(PAPER, _item(data, "mean α on the way, Swish less ReLU"), more)
    for unit in OTHERS:
        less = _last(swish, "negative_fraction") - _last(_runs(data, unit), "negative_fraction")
        words = f"α at the end, Swish less {unit}"
        yield claim(PAPER, _item(data, words), less, "<", 0.0, NEGATIVE_NOTE)


def _stuck() -> Iterator[Record]:
    """Networks of two hidden layers whose output no longer depends on the input."""
    for data, name in (("linear", "linear"), ("curved", "non-linear")):
        shape = f"{STUCK_RUNS[data]} runs to epoch {STUCK_EPOCHS}"
        relu = _is_stuck(data, (8, 2), "ReLU")
        for hidden, unit in (((8, 2), "Swish"), ((10, 2), "ReLU"), ((8, 5), "ReLU")):
            sizes = "-".join(map(str, hidden))
            words = f"Sec. 3, {name}, {shape}: fraction stuck, ReLU 8-2 less {unit} {sizes}"
            yield claim(PAPER, words, relu - _is_stuck(data, hidden, unit), note=STUCK_NOTE)


def _is_stuck(data: str, hidden: tuple[int, ...], unit: str) -> np.ndarray:
    """Whether the loss is still within 1 % of that of the best constant output."""
    run = trained(data, hidden, unit, STUCK_EPOCHS, STUCK_RUNS[data], (0, STUCK_EPOCHS), ())
    p = float(run["labels"].mean())
    constant = -p * np.log(p) - (1 - p) * np.log(1 - p)
    return (run["loss"].values[:, -1] > 0.99 * constant).astype(float)


def _last(run: xr.Dataset, name: str) -> np.ndarray:
    return run[name].values[:, -1]


def _width(run: xr.Dataset) -> np.ndarray:
    """ln of the standard deviation of the eigenvalues, for each run and epoch."""
    return np.log(run["eigenvalues"].dropna("epoch", how="all").std("eigenvalue").values)


def _epochs_to(run: xr.Dataset, level: float) -> np.ndarray:
    """The epoch at which the loss falls below the level, between records along a straight line.

    NaN where it does not: then there is no mean, and the claim is not decided.
    """
    epochs = run["epoch"].values.astype(float)
    found = []
    for loss in run["loss"].values:
        below = np.flatnonzero(loss < level)
        if not len(below):
            found.append(np.nan)
            continue
        i = int(below[0])
        part = (loss[i - 1] - level) / (loss[i - 1] - loss[i]) if i else 0.0
        found.append(epochs[i - 1] + part * (epochs[i] - epochs[i - 1]) if i else epochs[0])
    return np.array(found)
