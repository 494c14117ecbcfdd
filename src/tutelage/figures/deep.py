"""Students of finite width: correlations of their nodes with those of the teacher (tian2020)."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import check_training, figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_axes, ordered_colours
from tutelage.figures.text import MAX_LABELS, add_to_caption, finish, root_figure
from tutelage.figures.ticks import integer_ticks

MARKERS = "osD^v<>ph*"
MIN_DISTANCE = 1e-4  # smallest 1 - ρ on the axis; nodes that are closer are drawn there
SHIFT = 0.12  # offset between students of different width; teacher nodes are 1 apart
MAX_TICKS, TICKS_PER_INCH = 8, 5  # of teacher nodes that are numbered


@figure_function
def specialization(
    dataset: xr.Dataset, axes: Any = None, *, layer: int = 1, epoch: int | None = None
) -> Any:
    """Draw the fan-out of student nodes over their best correlation (tian2020, Figs. 3, 4).

    Args:
        dataset: from `tutelage.deep.train`, with one polarity.
        axes: Axes to draw on; a new figure when left out.
        layer: 1 for the lowest hidden layer.
        epoch: a recorded one; the last by default.

    Returns:
        The Axes.  The horizontal axis is 1 - ρ, logarithmic, with recovered nodes on the right.
        All runs look the same.
    """
    check_training(dataset, f"strength_{layer}", {"run", "epoch", f"student_{layer}"})
    axes = new_axes(axes)
    now = dataset.isel(epoch=-1) if epoch is None else dataset.sel(epoch=epoch)
    style = {"color": colour(0), "alpha": 0.6, "fillstyle": "none"}
    for run in range(now.sizes["run"]):
        one = now.isel(run=run)
        ρ, y = one[f"student_correlation_{layer}"].values, one[f"strength_{layer}"].values
        axes.plot(np.maximum(1 - ρ, MIN_DISTANCE), y, "o", markeredgewidth=0.8, **style)
    strength = r"$\sqrt{E[\beta_{kk}]}$" if f"strength_{layer + 1}" in dataset else r"$\|v_k\|$"
    axes.set(xlabel=r"$1-\rho$, $\rho$ the best correlation", ylabel=strength, xscale="log")
    axes.set(title=f"layer {layer}, epoch {int(now['epoch'])}", xlim=(2.0, 0.7 * MIN_DISTANCE))
    add_to_caption(
        axes,
        (
            "Every student node: strength of its fan-out against its best correlation with a "
            f"teacher node, in {now.sizes['run']} runs; nodes beyond 1 - {MIN_DISTANCE:g} are "
            "drawn at this value."
        ),
    )
    return finish(axes)


@figure_function
def recovery(
    dataset: xr.Dataset, axes: Axes | None = None, *, layer: int = 1, threshold: float = 0.95
) -> Any:
    """Draw the fraction of runs that recover each teacher node (tian2020, Fig. 5).

    Args:
        dataset: from `tutelage.deep.train`, or a sweep of it over multiples, with one polarity.
        axes: Axes to draw on; a new figure when left out.
        layer: 1 for the lowest hidden layer.
        threshold: of the correlation.

    Returns:
        The Axes.  Dotted lines are the first recorded epoch after 0, solid lines the last one.
        Students of different width have different symbols, and are shifted sideways.
    """
    from matplotlib.lines import Line2D

    from tutelage.deep import recovery_rate

    check_training(dataset, f"teacher_correlation_{layer}", None)
    axes = new_axes(axes)
    rate = recovery_rate(dataset, threshold=threshold, layer=layer)
    rate = rate if "multiple" in rate.dims else rate.expand_dims(multiple=[0])
    early = next((e for e in rate["epoch"].values if e > 0), rate["epoch"].values[0])
    last = rate["epoch"].values[-1]
    widths = rate["multiple"].values
    nodes = np.arange(rate.sizes[f"teacher_{layer}"]) + 1
    for number, (width, tint) in enumerate(zip(widths, ordered_colours(len(widths)), strict=True)):
        one = rate.sel(multiple=width)
        style = {"color": tint, "marker": MARKERS[number % len(MARKERS)], "fillstyle": "none"}
        x = nodes + SHIFT * (number - (len(widths) - 1) / 2)
        axes.plot(x, one.sel(epoch=early), linestyle=":", **style)
        label = f"{width} per teacher node" if width else None
        axes.plot(x, one.isel(epoch=-1), "-", label=label, **style)
    shifted = "; students of different width are shifted sideways" if len(widths) > 1 else ""
    add_to_caption(
        axes,
        f"Fraction of the runs in which a teacher node is recovered (correlation > {threshold:g}): "
        f"dotted at epoch {early}, solid at epoch {last}{shifted}.",
    )
    axes.set(
        xlabel=f"teacher node $j$ of layer {layer}", ylabel=rf"runs with $\rho_j > {threshold:g}$"
    )
    inches = axes.get_window_extent().width / root_figure(axes).dpi
    ticks = min(MAX_TICKS, max(2, int(TICKS_PER_INCH * inches)))
    axes.set(xticks=nodes[:: max(1, len(nodes) // ticks)], ylim=(-0.02, 1.02))
    handles = axes.get_legend_handles_labels()[0]
    dashes: dict[Any, Any] = {early: ":", last: "-"}
    for epoch, dash in dashes.items():
        handles.append(Line2D([], [], color="0.25", linestyle=dash, label=f"epoch {epoch}"))
    return finish(axes, handles=handles)


@figure_function
def best_correlations(dataset: xr.Dataset, axes: Axes | None = None, *, layer: int = 1) -> Any:
    """Draw the best correlation of each teacher node over epochs (tian2020, Fig. 7).

    Args:
        dataset: from `tutelage.deep.train`, with one polarity.
        axes: Axes to draw on; a new figure when left out.
        layer: 1 for the lowest hidden layer.

    Returns:
        The Axes, with means over runs.  Colours go from dark (the strongest teacher node) to
        light; if there are many nodes, six of them have legend entries.
    """
    check_training(dataset, f"teacher_correlation_{layer}", {"run", "epoch", f"teacher_{layer}"})
    axes = new_axes(axes)
    best = dataset[f"teacher_correlation_{layer}"].mean("run")
    count = best.sizes[f"teacher_{layer}"]
    for j, tint in enumerate(ordered_colours(count)):
        y = best.isel({f"teacher_{layer}": j})
        label = f"$j = {j + 1}$" if count <= MAX_LABELS or j in _labelled_nodes(count) else None
        dash = DASHES[j % len(DASHES)]
        axes.plot(best["epoch"], y, color=tint, linestyle=dash, label=label)
    loss = float(dataset["evaluation_loss"].isel(epoch=-1).mean())
    low = float(best.min())
    axes.set(xlabel="epoch", ylabel=r"best correlation $\rho_j$", ylim=(0.9 * min(low, 1), 1.01))
    integer_ticks(axes.xaxis)
    axes.set_title(rf"layer {layer}, final loss {loss:.2g}")
    add_to_caption(
        axes, f"Mean over {dataset.sizes['run']} runs of the best correlation of teacher node j."
    )
    return finish(axes)


def _labelled_nodes(count: int) -> set[int]:
    """Return the numbers of six nodes, the first and the last among them."""
    return {int(k) for k in np.linspace(0, count - 1, 6).round()}
