"""Students of finite width: who specializes on whom, when, and how strongly (tian2020)."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import check_training, drawing, finished, new_axes


@drawing
def specialization(
    dataset: xr.Dataset, axes: Any = None, *, layer: int = 1, epoch: int | None = None
) -> Any:
    """Draw every student node: fan-out strength against best correlation (tian2020, Figs. 3, 4).

    Args:
        dataset: from `tutelage.deep.train`, with one polarity.
        axes: Axes to draw on; a new figure when left out.
        layer: 1 for the lowest hidden layer.
        epoch: a recorded one; the last by default.

    Returns:
        The Axes drawn on.  Every run has its colour.
    """
    check_training(dataset, f"strength_{layer}", {"run", "epoch", f"student_{layer}"})
    axes = new_axes(axes)
    now = dataset.isel(epoch=-1) if epoch is None else dataset.sel(epoch=epoch)
    for run in range(now.sizes["run"]):
        one = now.isel(run=run)
        x, y = one[f"student_correlation_{layer}"].values, one[f"strength_{layer}"].values
        axes.plot(x, y, ".", color=f"C{run % 10}", markersize=4)
    strength = r"$\sqrt{E[\beta_{kk}]}$" if f"strength_{layer + 1}" in dataset else r"$\|v_k\|$"
    axes.set(xlabel="best correlation with a teacher node", ylabel=strength)
    axes.set_title(f"layer {layer}, epoch {int(now['epoch'])}", fontsize="small")
    axes.set_xlim(min(0.0, axes.get_xlim()[0]), 1.02)
    return finished(axes)


@drawing
def recovery(
    dataset: xr.Dataset, axes: Any = None, *, layer: int = 1, threshold: float = 0.95
) -> Any:
    """Draw which fraction of runs has recovered each teacher node (tian2020, Fig. 5).

    Args:
        dataset: from `tutelage.deep.train`, or a sweep of it over multiples, with one polarity.
        axes: Axes to draw on; a new figure when left out.
        layer: 1 for the lowest hidden layer.
        threshold: of the correlation.

    Returns:
        The Axes drawn on.  Dotted lines are the first recorded epoch after 0, solid ones the last.
    """
    from tutelage.deep import recovery_rate

    check_training(dataset, f"teacher_correlation_{layer}", None)
    axes = new_axes(axes)
    rate = recovery_rate(dataset, threshold=threshold, layer=layer)
    rate = rate if "multiple" in rate.dims else rate.expand_dims(multiple=[0])
    early = next((e for e in rate["epoch"].values if e > 0), rate["epoch"].values[0])
    for number, multiple in enumerate(rate["multiple"].values):
        one, colour = rate.sel(multiple=multiple), f"C{number}"
        nodes = np.arange(one.sizes[f"teacher_{layer}"])
        axes.plot(nodes, one.sel(epoch=early), ":", color=colour)
        label = f"{multiple}x" if multiple else None
        axes.plot(nodes, one.isel(epoch=-1), "-", color=colour, label=label)
    axes.set(xlabel="teacher node", ylabel=f"runs with correlation > {threshold:g}")
    axes.set(xticks=nodes[::4], ylim=(-0.02, 1.02))
    return finished(axes)


@drawing
def best_correlations(dataset: xr.Dataset, axes: Any = None, *, layer: int = 1) -> Any:
    """Draw the best correlation of each teacher node over epochs, mean over runs (Fig. 7).

    Args:
        dataset: from `tutelage.deep.train`, with one polarity.
        axes: Axes to draw on; a new figure when left out.
        layer: 1 for the lowest hidden layer.

    Returns:
        The Axes drawn on.  Colours go from blue, the strongest teacher node, to red.
    """
    import matplotlib

    check_training(dataset, f"teacher_correlation_{layer}", {"run", "epoch", f"teacher_{layer}"})
    axes = new_axes(axes)
    best = dataset[f"teacher_correlation_{layer}"].mean("run")
    colours = matplotlib.colormaps["rainbow"](np.linspace(0, 1, best.sizes[f"teacher_{layer}"]))
    for j, colour in enumerate(colours):
        axes.plot(best["epoch"], best.isel({f"teacher_{layer}": j}), color=colour, linewidth=1)
    loss = float(dataset["evaluation_loss"].isel(epoch=-1).mean())
    axes.set(xlabel="epoch", ylabel="best correlation", ylim=(0.0, 1.02))
    axes.set_title(f"layer {layer}, log₁₀ loss = {np.log10(loss):.2f}", fontsize="small")
    return finished(axes)
