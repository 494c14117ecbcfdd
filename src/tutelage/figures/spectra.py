"""Training of networks: loss and indices of the Hessian over epochs, loss and tolerance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, check_choice
from tutelage.figures.axes import figure_function
from tutelage.figures.eigenvalues import recorded_spectra
from tutelage.figures.kinds import Axes, Colour
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_axes
from tutelage.figures.text import add_to_caption, finish
from tutelage.figures.ticks import integer_ticks
from tutelage.spectra.indices import negative_fraction, zero_fraction

BAND = (0.1, 0.9)  # quantiles over runs
SYMBOLS = {
    "loss": r"loss $\varepsilon$",
    "accuracy": "accuracy",
    "gradient_norm": r"$|\nabla\varepsilon|$",
    "zero_residuals": r"fraction of $|\,e\,| \leq$ tolerance",
    "negative_fraction": r"negative fraction $\alpha$",
    "zero_fraction": r"zero fraction $\gamma$",
}
INDICES = {"negative_fraction": negative_fraction, "zero_fraction": zero_fraction}
MAX_MARKED_EPOCHS = 12  # with more epochs, curves have no markers
MARKERS = "osD^v"


@figure_function
def training(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    axes: Axes | None = None,
    *,
    which: str = "loss",
    scale: str = "linear",
) -> Any:
    """Draw a quantity over epochs: median over runs, and a band from 10 % to 90 % of them.

    Args:
        datasets: from `tutelage.spectra.train`, or several by name.
        axes: Axes to draw on; a new figure when left out.
        which: "loss", "accuracy", "gradient_norm", "zero_residuals", "negative_fraction" (α) or
            "zero_fraction" (γ).
        scale: of the quantity, "linear" or "log".

    Returns:
        The Axes.
    """
    check_choice("which", which, SYMBOLS)
    axes = new_axes(axes)
    for number, (name, one) in enumerate(datasets_by_name(datasets).items()):
        style = {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}
        low, middle, high = _quantiles(one[which].dropna("epoch", how="all"))
        marker = "o" if middle.size <= MAX_MARKED_EPOCHS else None
        axes.plot(middle["epoch"], middle, label=name or None, marker=marker, markersize=3, **style)
        if one.sizes["run"] > 1:
            axes.fill_between(
                middle["epoch"], low, high, color=colour(number), alpha=0.2, linewidth=0
            )
            add_to_caption(axes, "Medians over the runs, with bands from 10 % to 90 % of them.")
    axes.set(xlabel="epoch", ylabel=SYMBOLS[which], yscale=scale)
    integer_ticks(axes.xaxis)
    return finish(axes)


@figure_function
def index_against_loss(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    axes: Axes | None = None,
    *,
    which: str = "negative_fraction",
) -> Any:
    """Draw α against the loss: runs as dots, and medians (milletari2019, Fig. 1 (b)).

    Args:
        datasets: from `tutelage.spectra.train`, or several by name.
        axes: Axes to draw on; a new figure when left out.
        which: "negative_fraction" (α) or "zero_fraction" (γ).

    Returns:
        The Axes.
    """
    from matplotlib import rcParams

    axes = new_axes(axes)
    for number, (name, one) in enumerate(datasets_by_name(datasets).items()):
        style = {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}
        index, loss = one[which].dropna("epoch", how="all"), one["loss"]
        loss = loss.sel(epoch=index["epoch"])
        dots: dict[str, Any] = {"marker": "o", "linestyle": "none", "markeredgewidth": 0}
        dots |= {"markersize": 0.6 * rcParams["lines.markersize"], "alpha": 0.5}
        axes.plot(loss.values.ravel(), index.values.ravel(), color=colour(number), **dots)
        middle = loss.median("run"), index.median("run")
        few = middle[0].size <= MAX_MARKED_EPOCHS
        marker = MARKERS[number % len(MARKERS)] if few else None
        axes.plot(*middle, marker=marker, markersize=3, label=name or None, **style)
        _arrow(axes, middle[0].values, middle[1].values, style["color"])
    add_to_caption(
        axes, "Dots are runs, lines medians over them; arrows show the direction of training."
    )
    axes.set(xlabel=SYMBOLS["loss"], ylabel=SYMBOLS[which])
    return finish(axes)


@figure_function
def index_against_tolerance(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    axes: Axes | None = None,
    *,
    which: str = "zero_fraction",
    epoch: int | None = None,
) -> Any:
    """Draw α or γ of one epoch against the tolerance, relative to the largest |λ|.

    Args:
        datasets: from `tutelage.spectra.train`, or several by name.
        axes: Axes to draw on; a new figure when left out.
        which: "negative_fraction" (α) or "zero_fraction" (γ).
        epoch: one with spectra; the last one when left out.

    Returns:
        The Axes.  A dotted line marks the tolerance used for the index in the Dataset.
    """
    check_choice("which", which, INDICES)
    axes = new_axes(axes)
    tolerances = np.logspace(-16, 0, 65)
    marked = set()
    for number, (name, one) in enumerate(datasets_by_name(datasets).items()):
        style = {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}
        spectra = recorded_spectra(one)
        spectra = spectra.isel(epoch=-1) if epoch is None else spectra.sel(epoch=epoch)
        index = INDICES[which](spectra.values, tolerances)
        low, middle, high = np.quantile(index, [BAND[0], 0.5, BAND[1]], axis=0)
        axes.plot(tolerances, middle, label=name or None, **style)
        axes.fill_between(tolerances, low, high, color=colour(number), alpha=0.2, linewidth=0)
        marked.add(float(one.attrs["tolerance"]))
    for tolerance in marked:
        label = "tolerance used"
        axes.axvline(tolerance, color="0.4", linestyle=":", linewidth=1.2, label=label)
    add_to_caption(axes, "Medians over the runs, with bands from 10 % to 90 % of them.")
    axes.set(xscale="log", xlabel=r"tolerance $/\ \max\,|\,\lambda\,|$", ylabel=SYMBOLS[which])
    return finish(axes)


def _arrow(axes: Any, x: np.ndarray, y: np.ndarray, tint: Colour) -> None:
    """Draw an arrow in the direction of training, at the longest segment of a curve."""
    if len(x) < 2:
        return
    scale = [max(float(np.ptp(v)), 1e-300) for v in (x, y)]
    k = int(np.argmax(np.hypot(np.diff(x) / scale[0], np.diff(y) / scale[1])))
    ends = {"xy": ((x[k] + x[k + 1]) / 2, (y[k] + y[k + 1]) / 2), "xytext": (x[k], y[k])}
    axes.annotate("", **ends, zorder=5, arrowprops={"arrowstyle": "-|>", "color": tint})


def datasets_by_name(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
) -> Mapping[str, xr.Dataset]:
    """Return the Datasets by name; a single one has an empty name."""
    if isinstance(datasets, xr.Dataset):
        return {"": datasets}
    if not datasets:
        raise InputError(
            "datasets", "none", "there has to be at least one dataset", "tl.spectra.train(...)"
        )
    return datasets


def _quantiles(values: xr.DataArray) -> Any:
    """Return the lower edge, the median and the upper edge of the band over runs."""
    quantiles = values.quantile([BAND[0], 0.5, BAND[1]], "run")
    return (quantiles.isel(quantile=i) for i in range(3))
