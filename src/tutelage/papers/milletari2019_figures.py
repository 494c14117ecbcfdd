"""Figures 1 and 2 of milletari2019, with 20 runs where the paper shows one, and bands.

Both take minutes: twelve trainings of 2300 epochs, and 180 dense spectra of 1885 parameters.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage import figures as draw
from tutelage.papers.milletari2019_trainings import UNITS, trained
from tutelage.papers.record import Figure

RUNS, EPOCHS = 20, 2300
AT = tuple(int(e) for e in np.unique(np.round(EPOCHS * np.linspace(0, 1, 24) ** 2)))
PANELS = (("linear", (10,)), ("curved", (10,)), ("linear", (8, 2)), ("curved", (8, 2)))
DIGIT_EPOCHS = 1000
DIGIT_AT = (0, 10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 600, 800, 1000)
DIGIT_SPECTRA = (0, 100, 1000)
NAMES = {"linear": "linear", "curved": "non-linear"}


def spectra_figures() -> Iterator[Figure]:
    """Figure 1; the same eigenvalues as ridges; Figure 2."""
    groups = {panel: _panel(*panel) for panel in PANELS}
    data = {
        f"{panel[0]}_{'_'.join(map(str, panel[1]))}_{unit}": run
        for panel, runs in groups.items()
        for unit, run in runs.items()
    }
    yield Figure("fig_1", _figure_1(groups), data)
    yield Figure("eigenvalues", _ridges(groups[PANELS[1]]), {})
    digits = {
        unit: trained("digits", (25,), unit, DIGIT_EPOCHS, RUNS, DIGIT_AT, DIGIT_SPECTRA)
        for unit in UNITS
    }
    yield Figure("fig_2", _figure_2(digits), digits)


def _panel(data: str, hidden: tuple[int, ...]) -> Mapping[str, xr.Dataset]:
    return {unit: trained(data, hidden, unit, EPOCHS, RUNS, AT) for unit in UNITS}


def _figure_1(groups: Mapping[Any, Mapping[str, xr.Dataset]]) -> Any:
    """Rows (a) loss, (b) α against loss, (c) zero residuals, (d) γ; a column for each network."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(4, 4, figsize=(14.0, 12.0), layout="constrained")
    for column, ((data, hidden), runs) in zip(axes.T, groups.items(), strict=True):
        draw.training(runs, "loss", column[0])
        draw.index_against_loss(runs, column[1])
        draw.training(runs, "zero_residuals", column[2])
        draw.training(runs, "zero_fraction", column[3])
        column[0].set_title(f"{NAMES[data]}, {'-'.join(map(str, hidden))}")
    figure.suptitle(f"milletari2019, Fig. 1: medians of {RUNS} runs, bands from 10 % to 90 %")
    return figure


def _figure_2(runs: Mapping[str, xr.Dataset]) -> Any:
    """(a) loss, α, γ and zero residuals; (b) the eigenvalues at the end; γ over the tolerance."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(13.0, 7.0), layout="constrained")
    draw.training(runs, "loss", axes[0, 0], scale="log")
    draw.training(runs, "negative_fraction", axes[0, 1])
    draw.training(runs, "zero_fraction", axes[1, 0])
    draw.training(runs, "zero_residuals", axes[1, 1])
    _histogram(runs, axes[0, 2])
    draw.zeros_against_tolerance(runs, axes[1, 2])
    figure.suptitle(f"milletari2019, Fig. 2: digits, 64-25-10, {RUNS} runs")
    return figure


def _histogram(runs: Mapping[str, xr.Dataset], axes: Any) -> None:
    """How many eigenvalues a network has in each of 60 bins at the end, on average."""
    ends = {unit: run["eigenvalues"].values[:, -1] for unit, run in runs.items()}
    low, high = (f([f(end) for end in ends.values()]) for f in (np.min, np.max))
    for unit, end in ends.items():
        weights = np.full(end.size, 1 / len(end))
        axes.hist(
            end.ravel(), np.linspace(low, high, 61), weights=weights, histtype="step", label=unit
        )
    axes.set(xlabel=r"$\lambda$", ylabel="eigenvalues per bin", yscale="log")
    axes.legend(fontsize="small")


def _ridges(runs: Mapping[str, xr.Dataset]) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(runs), figsize=(13.0, 5.0), layout="constrained")
    for ax, (unit, run) in zip(axes, runs.items(), strict=True):
        draw.eigenvalue_ridges(run, ax)
        ax.set_title(f"{unit}, non-linear, 2-10-1")
    return figure
