"""Students of a ConvNet: correlations of each layer with the teacher (tian2020, Figure 8)."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.style import new_axes, new_grid, ordered_colours
from tutelage.figures.text import finish, share_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def layer_correlations(
    dataset: xr.Dataset, multiple: int | None = None, axes: "Axes | None" = None
) -> Any:
    """Draw ρ_mean of every hidden layer over epochs (one panel of tian2020, Fig. 8).

    Args:
        dataset: from `tutelage.deep.images.train_on_images`.
        multiple: which of its students; the first by default.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on: a line for the mean over runs, a band from the lowest to the highest;
        the accuracy in the title.  Layers count from 0, as in the paper.
    """
    from matplotlib import rcParams

    L = _layers(dataset)
    multiple = int(dataset["multiple"].values[0]) if multiple is None else multiple
    if multiple not in dataset["multiple"].values:
        available = ", ".join(map(str, dataset["multiple"].values))
        raise InputError("multiple", repr(multiple), f"there are {available}")
    axes = new_axes(axes)
    one = dataset.sel(multiple=multiple)
    for layer in range(1, L + 1):
        mean = one[f"teacher_correlation_{layer}"].mean(f"teacher_{layer}", skipna=False)
        x, colour = one["epoch"].values, f"C{layer - 1}"
        axes.plot(x, mean.mean("run"), "-", color=colour, label=f"layer-{layer - 1}")
        if mean.sizes["run"] > 1:
            axes.fill_between(x, mean.min("run"), mean.max("run"), color=colour, alpha=0.25, lw=0)
    average, best = accuracies(dataset, multiple)
    axes.set_title(
        f"{multiple}x, Avg/Max eval accuracy: {100 * average:.2f}% / {100 * best:.2f}%",
        fontsize=rcParams["legend.fontsize"],
    )
    axes.set(xlabel="Epoch", ylim=(0.1, 1.02))
    axes.grid(alpha=0.3)
    return axes


def accuracies(dataset: xr.Dataset, multiple: int) -> tuple[float, float]:
    """Return mean and largest accuracy at the last epoch, over the runs that reached it."""
    last = dataset["accuracy"].sel(multiple=multiple).isel(epoch=-1).values
    last = last[np.isfinite(last)]
    return (float(last.mean()), float(last.max())) if len(last) else (np.nan, np.nan)


def specialization_on_images(dataset: xr.Dataset) -> Any:
    """Draw `layer_correlations` of all multiples side by side (tian2020, Fig. 8).

    Returns:
        An array of Axes, one for each multiple.
    """

    _layers(dataset)
    multiples = [int(m) for m in dataset["multiple"].values]
    size = (4.2 * len(multiples), 3.2)
    _, row = new_grid(1, len(multiples), size, squeeze=False)
    for ax, multiple in zip(row[0], multiples, strict=True):
        finish(layer_correlations(dataset, multiple, ax))
    row[0, 0].set_ylabel(r"$\rho_{\mathrm{mean}}$")
    share_legend(row[0])
    return row[0]


def accuracy_over_epochs(dataset: xr.Dataset, axes: "Axes | None" = None) -> Any:
    """Draw the accuracy of all students over epochs, with that of their teacher.

    Args:
        dataset: from `tutelage.deep.images.train_on_images`.
        axes: Axes to draw on; a new figure when left out.
    """
    _layers(dataset)
    axes = new_axes(axes)
    x = dataset["epoch"].values
    multiples = dataset["multiple"].values
    for multiple, colour in zip(multiples, ordered_colours(len(multiples)), strict=True):
        one = 100 * dataset["accuracy"].sel(multiple=multiple)
        axes.plot(x, one.mean("run"), "-", color=colour, label=f"{multiple}x")
        if one.sizes["run"] > 1:
            axes.fill_between(x, one.min("run"), one.max("run"), color=colour, alpha=0.25, lw=0)
    tuned = 100 * float(np.asarray(dataset.attrs["teacher_accuracy"])[-1])
    axes.axhline(tuned, color="black", ls="--", lw=1, label="pruned teacher")
    axes.set(xlabel="Epoch", ylabel="accuracy on the test images [%]")
    finish(axes)
    return axes


def _layers(dataset: xr.Dataset) -> int:
    L = sum(str(name).startswith("teacher_correlation_") for name in dataset)
    if not L or "accuracy" not in dataset or "multiple" not in dataset.dims:
        allowed = "it has to be a result of training on images"
        raise InputError(
            "dataset", f"{list(dataset)}", allowed, "tl.deep.images.train_on_images(...)"
        )
    return L
