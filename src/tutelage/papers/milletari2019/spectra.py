"""Milletari, Chotibut and Trevisanutto (2019), Section 3 and Appendix B: each claim, measured.

A claim is a row: a statistic of every run, its mean and standard error, and the verdict of a t
test at the level 0.01.  Runs of different activations begin with the same weights, so that
differences are taken run by run.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import xarray as xr

from tutelage.papers.claim import claim, in_every_run
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.trainings import ONE, UNITS, digits, small
from tutelage.papers.row import Row, noted

# Zero eigenvalues of the digits that every activation has: see DIGITS_NOTE.
ALWAYS_ZERO = {"digits": 3 * 25 + 26}
OTHERS = ("ReLU", "Sigmoid")
NAMES = {"linear": "linear", "curved": "non-linear"}
EVIDENCE = "docs/spectra.md, tests/papers/test_milletari2019.py"

NEGATIVE_NOTE = (
    "milletari2019, Sec. 3: the fraction of negative eigenvalues of Swish at the end is not "
    "negligible beside that of ReLU once what counts as zero is said: about half of the "
    "eigenvalues of ReLU are zero, come out with either sign, and are no descent "
    f"({EVIDENCE})."
)
WIDTH_NOTE = (
    "milletari2019, Sec. 3: whether the spectrum of ReLU shrinks, and is narrower than that of "
    "Swish, depends on the task and on the time: it grows at first, shrinks only where the loss "
    "goes to zero, and is the wider one where the network of ReLU stays on a plateau "
    f"({EVIDENCE})."
)
DIGITS_NOTE = (
    "milletari2019, Fig. 2: 101 zero eigenvalues are there for every activation and not counted: "
    "three pixels are blank in all images (75 weights), and the outputs of softmax can be shifted "
    "together (26 directions). More come close to zero with every activation as the loss does "
    f"({EVIDENCE})."
)
UNDECIDED_NOTE = (
    "milletari2019, Sec. 3: at these sizes the runs do not say so at the level 0.01; the mean and "
    f"its standard error are beside it ({EVIDENCE})."
)


def fig_1(full: bool) -> Iterator[Row]:
    """Every claim about convergence, residuals and spectra on the two small sets."""
    yield from _accuracy(full)
    for data in ("linear", "curved"):
        yield from _convergence(data, full)
        for hidden in (ONE, (8, 2)):
            yield from _residuals(data, hidden, full)
            yield from _zeros(data, hidden, full)
        yield from _spectra(data, full)


def fig_2(full: bool) -> Iterator[Row]:
    """The same for the digits."""
    yield from _convergence("digits", full)
    yield from _residuals("digits", (25,), full)
    yield from _zeros("digits", (25,), full)
    yield from _spectra("digits", full)


def _runs(
    data: str, unit: str, full: bool, hidden: tuple[int, ...] = ONE, spectra: bool = False
) -> xr.Dataset:
    return digits(unit, full, spectra) if data == "digits" else small(data, hidden, unit, full)


def _item(run: xr.Dataset, data: str, hidden: tuple[int, ...], words: str) -> str:
    runs, epochs = run.sizes["run"], int(run["epoch"][-1])
    sizes = "-".join(map(str, hidden))
    if data == "digits":
        return f"App. B, digits, 64-25-10, {runs} runs to epoch {epochs}: {words}"
    return f"Sec. 3, {NAMES[data]}, 2-{sizes}-1, {runs} runs to epoch {epochs}: {words}"


def _accuracy(full: bool) -> Iterator[Row]:
    """Attained at some epoch: steps of Adam on a sharp landscape may lose it again for a while."""
    for unit in UNITS:
        run = _runs("linear", unit, full)
        best = run["accuracy"].values.max(axis=1)
        item = _item(run, "linear", ONE, f"{unit} attains full accuracy")
        yield in_every_run(KEY, item, best == 1)


def _convergence(data: str, full: bool) -> Iterator[Row]:
    """Swish is the fastest on the linear task; on the others ReLU ends on a higher plateau."""
    swish = _runs(data, "Swish", full)
    for unit in OTHERS:
        other = _runs(data, unit, full)
        if data == "curved":
            ratio = np.log(_last(other, "loss") / _last(swish, "loss"))
            words = f"ln of the final loss of {unit} over that of Swish"
        else:
            ratio = np.log(_epochs_to(other, 0.1) / _epochs_to(swish, 0.1))
            words = f"ln of the epochs to a loss of 0.1, {unit} over Swish"
        yield noted(claim(KEY, _item(swish, data, ONE, words), ratio), UNDECIDED_NOTE)


def _residuals(data: str, hidden: tuple[int, ...], full: bool) -> Iterator[Row]:
    swish = _runs(data, "Swish", full, hidden)
    for unit in OTHERS:
        other = _runs(data, unit, full, hidden)
        more = _last(swish, "zero_residuals") - _last(other, "zero_residuals")
        item = _item(swish, data, hidden, f"zero residuals at the end, Swish less {unit}")
        yield noted(claim(KEY, item, more), UNDECIDED_NOTE)


def _zeros(data: str, hidden: tuple[int, ...], full: bool) -> Iterator[Row]:
    """γ ≠ 0 for ReLU at every epoch watched, and typically not for the others.

    Of networks with two hidden layers so many are watched that "in general" is not "always".
    """
    note, when = (DIGITS_NOTE, "at the end") if data == "digits" else (UNDECIDED_NOTE, "all along")
    for unit in UNITS:
        run = _runs(data, unit, full, hidden, spectra=True)
        γ = run["zero_fraction"].dropna("epoch", how="all").values
        γ = γ[:, -1:] if data == "digits" else γ
        γ = γ - ALWAYS_ZERO.get(data, 0) / run.sizes["eigenvalue"]
        if unit == "ReLU" and len(hidden) == 1:
            item = _item(run, data, hidden, f"ReLU has zero eigenvalues {when}")
            yield noted(in_every_run(KEY, item, (γ > 1e-9).all(axis=1)), note)
            continue
        item = _item(
            run, data, hidden, f"part of the spectra of {unit}, {when}, with zero eigenvalues"
        )
        relation: Literal[">", "<"] = ">" if unit == "ReLU" else "<"
        yield noted(claim(KEY, item, (γ > 1e-9).mean(axis=1), relation, 0.5), note)


def _spectra(data: str, full: bool) -> Iterator[Row]:
    """Width, and α on the way and at the end."""
    swish, relu = (_runs(data, unit, full, spectra=True) for unit in ("Swish", "ReLU"))
    width = {"Swish": _width(swish), "ReLU": _width(relu)}
    if data == "digits":
        width = {unit: one[:, -1:] for unit, one in width.items()}
    else:
        item = _item(relu, data, ONE, "ln of the width of the spectrum of ReLU, end over start")
        narrower = width["ReLU"][:, -1] - width["ReLU"][:, 0]
        yield noted(claim(KEY, item, narrower, "<", 0.0), WIDTH_NOTE)
    wider = np.mean(width["Swish"] - width["ReLU"], axis=1)
    item = _item(swish, data, ONE, "mean ln of the width of the spectrum, Swish over ReLU")
    yield noted(claim(KEY, item, wider), WIDTH_NOTE)
    if data != "digits":
        more = (swish["negative_fraction"] - relu["negative_fraction"]).mean("epoch").values
        item = _item(swish, data, ONE, "mean α on the way, Swish less ReLU")
        yield noted(claim(KEY, item, more), UNDECIDED_NOTE)
    for unit in OTHERS:
        other = _runs(data, unit, full, spectra=True)
        less = _last(swish, "negative_fraction") - _last(other, "negative_fraction")
        item = _item(swish, data, ONE, f"α at the end, Swish less {unit}")
        yield noted(claim(KEY, item, less, "<", 0.0), NEGATIVE_NOTE)


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
