"""Figures 1 and 2 of milletari2019: many runs where the paper shows one, medians and bands."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage import figures as draw
from tutelage.figures.eigenvalue_frames import animate_eigenvalues
from tutelage.figures.style import new_grid, size_in_style
from tutelage.figures.text import finish, share_legend
from tutelage.papers.milletari2019.digits import digits
from tutelage.papers.milletari2019.trainings import (
    AUTHORS,
    ONE,
    SETTINGS,
    TEXT,
    TWO,
    UNITS,
    Setting,
    small,
)
from tutelage.papers.section import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"linear": "linear", "curved": "non-linear"}
SHORT = {AUTHORS.name: "", TEXT.name: "text"}  # of figures
Runs = Mapping[str, xr.Dataset]


def figure_1(full: bool, setting: Setting) -> Figure:
    """Draw (a) losses, (b) α against the loss, (c) zero residuals, (d) γ, as in the paper."""
    import matplotlib.pyplot as plt

    groups = {
        (data, hidden): {unit: small(data, hidden, unit, full, setting) for unit in UNITS}
        for hidden in (ONE, TWO)
        for data in NAMES
    }
    figure = plt.figure(figsize=size_in_style(15.0, 11.5), layout="constrained")
    parts: Any = figure.subfigures(2, 2, wspace=0.03, hspace=0.03)
    (a, b), (c, d) = parts
    _grid(a, "(a) loss", groups, lambda runs, axes: draw.training(runs, axes))
    single = {key: runs for key, runs in groups.items() if key[1] == ONE}
    _grid(b, "(b) fraction of negative eigenvalues against loss", single, draw.index_against_loss)
    words = "(c) fraction of residuals below the tolerance"
    _grid(c, words, groups, lambda runs, axes: draw.training(runs, axes, which="zero_residuals"))
    words = "(d) fraction of zero eigenvalues"
    _grid(d, words, groups, lambda runs, axes: draw.training(runs, axes, which="zero_fraction"))
    figure.suptitle(setting.name)
    return Figure(figure, _named(groups), SHORT[setting.name])


def negative(full: bool) -> Figure:
    """Draw α at the end over the tolerance for zero, which decides the claim of Section 3."""

    figure, axes = new_grid(2, 2, (10.0, 7.0), sharex=True)
    data: dict[str, xr.Dataset] = {}
    for row, setting in zip(axes, SETTINGS, strict=True):
        for ax, name in zip(row, NAMES, strict=True):
            runs = {unit: small(name, ONE, unit, full, setting) for unit in UNITS}
            draw.index_against_tolerance(runs, ax, which="negative_fraction")
            ax.set_title(f"{NAMES[name]}, 2-10-1, {setting.name}")
            ax.set_xlabel(ax.get_xlabel() if setting is SETTINGS[-1] else "")
            data |= {f"{name}_{u.lower()}{_ending(setting)}": _spectrum(r) for u, r in runs.items()}
    figure.suptitle("fraction of negative eigenvalues at the end")
    share_legend(axes.ravel())
    return Figure(figure, data, "negative")


def _spectrum(run: xr.Dataset) -> xr.Dataset:
    return run[["eigenvalues"]].dropna("epoch", how="all").isel(epoch=[-1])


def _ending(setting: Setting) -> str:
    return f"_{SHORT[setting.name]}" if SHORT[setting.name] else ""


def _grid(
    part: Any, words: str, groups: Mapping[Any, Runs], panel: Callable[[Runs, Any], Any]
) -> None:
    """Make a grid of panels: linear left, non-linear right; one hidden layer above, two below."""
    rows = len(groups) // 2
    axes = np.atleast_2d(part.subplots(rows, 2))
    for ax, ((data, hidden), runs) in zip(axes.ravel(), groups.items(), strict=True):
        panel(runs, ax)
        count = next(iter(runs.values())).sizes["run"]
        title = f"{NAMES[data]}, 2-{'-'.join(map(str, hidden))}-1, {count} runs"
        ax.set_title(title)
        if ax is not axes[-1, -1]:
            ax.get_legend().remove()
    part.suptitle(words)


def _named(groups: Mapping[Any, Runs]) -> dict[str, xr.Dataset]:
    return {
        f"{data}_{'_'.join(map(str, hidden))}_{unit.lower()}": run
        for (data, hidden), runs in groups.items()
        for unit, run in runs.items()
    }


def eigenvalues(full: bool) -> Figure:
    """Draw the spectra behind Fig. 1 (b), non-linear: ridges, and an animation of all three
    activations.
    """
    import matplotlib.pyplot as plt

    runs = {unit: small("curved", ONE, unit, full) for unit in UNITS}
    figure, axes = new_grid(1, len(runs), (13.0, 5.0))
    for ax, (unit, run) in zip(axes, runs.items(), strict=True):
        draw.eigenvalue_ridges(run, ax)
        ax.set_title(f"{unit}, non-linear, 2-10-1")
    screen = plt.subplots(layout="constrained")[1]
    data = {unit.lower(): run[["eigenvalues"]] for unit, run in runs.items()}
    return Figure(figure, data, "eigenvalues", animate_eigenvalues(runs, screen))


def figure_2(full: bool, setting: Setting) -> Figure:
    """Draw (a) loss, α, γ and zero residuals of the digits; (b) the eigenvalues at the end."""
    import matplotlib.pyplot as plt

    runs = {unit: digits(unit, full, setting) for unit in UNITS}
    figure = plt.figure(figsize=size_in_style(14.0, 7.0), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1.7, 1.0))
    left, right = parts
    axes = left.subplots(2, 2)
    draw.training(runs, axes[0, 0])
    draw.training(runs, axes[0, 1], which="negative_fraction")
    draw.training(runs, axes[1, 0], which="zero_fraction")
    draw.training(runs, axes[1, 1], which="zero_residuals")
    for ax in (axes[0, 1], axes[1, 0]):
        if len(ax.lines[0].get_xdata()) == 1:  # of recorded networks only the end has spectra
            _by_unit(ax)
    for ax in axes.flat[:-1]:
        ax.get_legend().remove()
    left.suptitle(f"(a) digits, 64-25-10, {setting.name}, {_count(runs)} runs")
    _histogram(runs, right.subplots())
    right.suptitle("(b) eigenvalues at the end")
    data = {unit.lower(): run.drop_vars("eigenvalues") for unit, run in runs.items()}
    data |= {f"{unit.lower()}_end": _spectrum(run) for unit, run in runs.items()}
    return Figure(figure, data, SHORT[setting.name])


def tolerances(full: bool) -> Figure:
    """Draw α and γ of the digits at the end over the tolerance for zero."""

    figure, axes = new_grid(2, 2, (10.0, 7.0), sharex=True)
    data: dict[str, xr.Dataset] = {}
    for row, setting in zip(axes, SETTINGS, strict=True):
        runs = {unit: digits(unit, full, setting) for unit in UNITS}
        for ax, which in zip(row, ("negative_fraction", "zero_fraction"), strict=True):
            draw.index_against_tolerance(runs, ax, which=which)
            ax.set_title(f"digits, at the end, {setting.name}")
            ax.set_xlabel(ax.get_xlabel() if setting is SETTINGS[-1] else "")
        data |= {f"{u.lower()}{_ending(setting)}": _spectrum(r) for u, r in runs.items()}
    share_legend(axes.ravel())
    return Figure(figure, data, "tolerance")


def _by_unit(axes: "Axes") -> None:
    """Draw one point and bar for each unit, next to each other instead of all at the last epoch."""
    lines = list(axes.lines)
    for place, line in enumerate(lines):
        line.set_xdata([place])
    for place, band in enumerate(list(axes.collections)):
        heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
        axes.vlines(place, heights.min(), heights.max(), color=lines[place].get_color())
        band.remove()
    names = [line.get_label() for line in axes.lines]
    axes.set(xticks=range(len(names)), xticklabels=names, xlim=(-0.5, len(names) - 0.5))
    axes.set(xlabel="at the end")


def _count(runs: Runs) -> int:
    return next(iter(runs.values())).sizes["run"]


def _histogram(runs: Runs, axes: Any) -> None:
    """Draw the mean number of eigenvalues of a network in each of 60 bins at the end."""
    ends = {unit: run["eigenvalues"].values[:, -1] for unit, run in runs.items()}
    low, high = (f([f(end) for end in ends.values()]) for f in (np.min, np.max))
    for unit, end in ends.items():
        weights = np.full(end.size, 1 / len(end))
        axes.hist(
            end.ravel(), np.linspace(low, high, 61), weights=weights, histtype="step", label=unit
        )
    axes.set(xlabel=r"$\lambda$", ylabel="eigenvalues per bin", yscale="log")
    axes.grid(alpha=0.3)
    finish(axes)
