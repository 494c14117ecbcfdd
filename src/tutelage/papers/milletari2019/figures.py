"""Figures 1 and 2 of milletari2019: many runs where the paper shows one, medians and bands."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage import figures as draw
from tutelage.figures.film import eigenvalue_film
from tutelage.papers.milletari2019.trainings import ONE, TWO, UNITS, digits, small
from tutelage.papers.section import Figure

NAMES = {"linear": "linear", "curved": "non-linear"}
Runs = Mapping[str, xr.Dataset]


def figure_1(full: bool) -> Figure:
    """(a) losses, (b) α against the loss, (c) zero residuals, (d) γ, as the paper has them."""
    import matplotlib.pyplot as plt

    groups = {
        (data, hidden): {unit: small(data, hidden, unit, full) for unit in UNITS}
        for hidden in (ONE, TWO)
        for data in NAMES
    }
    figure = plt.figure(figsize=(15.0, 11.5), layout="constrained")
    parts: Any = figure.subfigures(2, 2, wspace=0.03, hspace=0.03)
    (a, b), (c, d) = parts
    _grid(a, "(a) loss", groups, lambda runs, axes: draw.training(runs, axes))
    single = {key: runs for key, runs in groups.items() if key[1] == ONE}
    _grid(b, "(b) fraction of negative eigenvalues against loss", single, draw.index_against_loss)
    words = "(c) fraction of residuals below the tolerance"
    _grid(c, words, groups, lambda runs, axes: draw.training(runs, axes, which="zero_residuals"))
    words = "(d) fraction of zero eigenvalues"
    _grid(d, words, groups, lambda runs, axes: draw.training(runs, axes, which="zero_fraction"))
    return Figure(figure, _named(groups))


def _grid(
    part: Any, words: str, groups: Mapping[Any, Runs], panel: Callable[[Runs, Any], Any]
) -> None:
    """Linear left, non-linear right; one hidden layer above, two below."""
    rows = len(groups) // 2
    axes = np.atleast_2d(part.subplots(rows, 2))
    for ax, ((data, hidden), runs) in zip(axes.ravel(), groups.items(), strict=True):
        panel(runs, ax)
        count = next(iter(runs.values())).sizes["run"]
        title = f"{NAMES[data]}, {'-'.join(map(str, hidden))}, {count} runs"
        ax.set_title(title, fontsize="medium")
    part.suptitle(words)


def _named(groups: Mapping[Any, Runs]) -> dict[str, xr.Dataset]:
    return {
        f"{data}_{'_'.join(map(str, hidden))}_{unit.lower()}": run
        for (data, hidden), runs in groups.items()
        for unit, run in runs.items()
    }


def eigenvalues(full: bool) -> Figure:
    """The spectra behind Fig. 1 (b), non-linear: ridges, and a film of all three activations."""
    import matplotlib.pyplot as plt

    runs = {unit: small("curved", ONE, unit, full) for unit in UNITS}
    figure, axes = plt.subplots(1, len(runs), figsize=(13.0, 5.0), layout="constrained")
    for ax, (unit, run) in zip(axes, runs.items(), strict=True):
        draw.eigenvalue_ridges(run, ax)
        ax.set_title(f"{unit}, non-linear, 2-10-1")
    screen = plt.subplots(figsize=(6.0, 3.8), layout="constrained")[1]
    data = {unit.lower(): run[["eigenvalues"]] for unit, run in runs.items()}
    return Figure(figure, data, "eigenvalues", eigenvalue_film(runs, screen))


def figure_2(full: bool) -> Figure:
    """(a) loss, α, γ and zero residuals of the digits; (b) the eigenvalues at the end."""
    import matplotlib.pyplot as plt

    curves = {unit: digits(unit, full, watched=False) for unit in UNITS}
    spectra = {unit: digits(unit, full, watched=True) for unit in UNITS}
    figure = plt.figure(figsize=(14.0, 7.0), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1.7, 1.0))
    left, right = parts
    axes = left.subplots(2, 2)
    draw.training(curves, axes[0, 0])
    draw.training(spectra, axes[0, 1], which="negative_fraction")
    draw.training(spectra, axes[1, 0], which="zero_fraction")
    draw.training(curves, axes[1, 1], which="zero_residuals")
    left.suptitle(f"(a) digits, 64-25-10, {_count(curves)} runs, spectra of {_count(spectra)}")
    _histogram(spectra, right.subplots())
    right.suptitle("(b) eigenvalues at the end")
    data = {f"{unit.lower()}_curves": run for unit, run in curves.items()}
    data |= {f"{unit.lower()}_spectra": run for unit, run in spectra.items()}
    return Figure(figure, data)


def tolerances(full: bool) -> Figure:
    """γ of the digits at the end over what counts as zero."""
    runs = {unit: digits(unit, full, watched=True) for unit in UNITS}
    axes = draw.zeros_against_tolerance(runs)
    axes.set_title("digits, at the end")
    data = {unit.lower(): run[["eigenvalues"]] for unit, run in runs.items()}
    return Figure(axes.figure, data, "tolerance")


def _count(runs: Runs) -> int:
    return next(iter(runs.values())).sizes["run"]


def _histogram(runs: Runs, axes: Any) -> None:
    """How many eigenvalues a network has in each of 60 bins at the end, on average."""
    ends = {unit: run["eigenvalues"].values[:, -1] for unit, run in runs.items()}
    low, high = (f([f(end) for end in ends.values()]) for f in (np.min, np.max))
    for unit, end in ends.items():
        weights = np.full(end.size, 1 / len(end))
        axes.hist(
            end.ravel(), np.linspace(low, high, 61), weights=weights, histtype="step", label=unit
        )
    axes.set(xlabel=r"$\lambda$", ylabel="eigenvalues per bin", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
