"""Students of finite width: who specializes on whom, when, and how strongly (tian2020)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.online import _axes

if TYPE_CHECKING:
    from tutelage.deep.network import Network


def specialization(
    dataset: xr.Dataset, layer: int = 1, epoch: int | None = None, axes: Any = None
) -> Any:
    """Draw every student node: fan-out strength against best correlation (tian2020, Figs. 3, 4).

    Args:
        dataset: from `tutelage.deep.train`, with one polarity.
        layer: 1 for the lowest hidden layer.
        epoch: a recorded one; the last by default.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Every run has its colour.
    """
    _check(dataset, f"strength_{layer}", {"run", "epoch", f"student_{layer}"})
    axes = _axes(axes)
    now = dataset.isel(epoch=-1) if epoch is None else dataset.sel(epoch=epoch)
    for run in range(now.sizes["run"]):
        one = now.isel(run=run)
        x, y = one[f"student_correlation_{layer}"].values, one[f"strength_{layer}"].values
        axes.plot(x, y, ".", color=f"C{run % 10}", markersize=4)
    strength = r"$\sqrt{E[\beta_{kk}]}$" if f"strength_{layer + 1}" in dataset else r"$\|v_k\|$"
    axes.set(xlabel="best correlation with a teacher node", ylabel=strength)
    axes.set_title(f"layer {layer}, epoch {int(now['epoch'])}", fontsize="small")
    axes.set_xlim(min(0.0, axes.get_xlim()[0]), 1.02)
    axes.grid(alpha=0.3)
    return axes


def specialization_of_layers(dataset: xr.Dataset, epochs: Sequence[int] | None = None) -> Any:
    """Draw `specialization` of all hidden layers at several epochs (tian2020, Figs. 4 and 12).

    Returns:
        An array of Axes, shape (layers, epochs), the lowest layer at the bottom.
    """
    import matplotlib.pyplot as plt

    L = sum(str(name).startswith("strength_") for name in dataset)
    _check(dataset, "strength_1", {"run", "epoch", "student_1"})
    shown = list(dataset["epoch"].values[[0, -1]] if epochs is None else epochs)
    size = (2.6 * len(shown) + 1, 2.2 * L + 0.6)
    _, grid = plt.subplots(
        L, len(shown), figsize=size, layout="constrained", squeeze=False, sharex=True, sharey="row"
    )
    for row, layer in zip(grid, range(L, 0, -1), strict=True):
        for ax, epoch in zip(row, shown, strict=True):
            specialization(dataset, layer, epoch, ax).set_title("")
            ax.label_outer()
        row[0].set_ylim(bottom=0.0)  # once all are drawn, as it stops the search for the top
        row[0].set_ylabel(f"layer {layer}\n{row[0].get_ylabel()}")
    for top, bottom, epoch in zip(grid[0], grid[-1], shown, strict=True):
        top.set_title(f"epoch {epoch}")
        bottom.set_xlabel("best correlation")
    return grid


def recovery(dataset: xr.Dataset, layer: int = 1, threshold: float = 0.95, axes: Any = None) -> Any:
    """Draw which fraction of runs has recovered each teacher node (tian2020, Fig. 5).

    Args:
        dataset: from `tutelage.deep.train` or `sweep`, with one polarity.
        layer: 1 for the lowest hidden layer.
        threshold: of the correlation.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Dotted lines are the first recorded epoch after 0, solid ones the last.
    """
    from tutelage.deep import recovery_rate

    _check(dataset, f"teacher_correlation_{layer}", None)
    axes = _axes(axes)
    rate = recovery_rate(dataset, threshold, layer)
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
    axes.grid(alpha=0.3)
    if "multiple" in dataset.dims:
        axes.legend(fontsize="small")
    return axes


def followers(
    dataset: xr.Dataset, teacher: int = 0, run: int = 0, layer: int = 1, axes: Any = None
) -> Any:
    """Draw the correlations of all student nodes with one teacher node (tian2020, Fig. 6).

    Args:
        dataset: from `tutelage.deep.train` with ``correlations=True`` and one polarity.
        teacher: number of the teacher node, from 0.
        run: number of the run.
        layer: 1 for the lowest hidden layer.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  A student node has the same colour for every teacher node.
    """
    name = f"correlation_{layer}"
    _check(dataset, name, {"run", "epoch", f"student_{layer}", f"teacher_{layer}"})
    axes = _axes(axes)
    ρ = dataset[name].isel({"run": run, f"teacher_{layer}": teacher})
    for k in range(ρ.sizes[f"student_{layer}"]):
        axes.plot(ρ["epoch"], ρ.isel({f"student_{layer}": k}), color=f"C{k % 10}", linewidth=1)
    axes.set(xlabel="epoch", ylabel="correlation", ylim=(-0.4, 1.02))
    axes.set_title(f"teacher-{teacher}", fontsize="small")
    axes.grid(alpha=0.3)
    return axes


def best_correlations(dataset: xr.Dataset, layer: int = 1, axes: Any = None) -> Any:
    """Draw the best correlation of each teacher node over epochs, mean over runs (Fig. 7).

    Args:
        dataset: from `tutelage.deep.train`, with one polarity.
        layer: 1 for the lowest hidden layer.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Colours go from blue, the strongest teacher node, to red.
    """
    import matplotlib

    _check(dataset, f"teacher_correlation_{layer}", {"run", "epoch", f"teacher_{layer}"})
    axes = _axes(axes)
    best = dataset[f"teacher_correlation_{layer}"].mean("run")
    colours = matplotlib.colormaps["rainbow"](np.linspace(0, 1, best.sizes[f"teacher_{layer}"]))
    for j, colour in enumerate(colours):
        axes.plot(best["epoch"], best.isel({f"teacher_{layer}": j}), color=colour, linewidth=1)
    loss = float(dataset["evaluation_loss"].isel(epoch=-1).mean())
    axes.set(xlabel="epoch", ylabel="best correlation", ylim=(0.0, 1.02))
    axes.set_title(f"layer {layer}, ln loss = {np.log(loss):.2f}", fontsize="small")
    axes.grid(alpha=0.3)
    return axes


def evaluation_loss(dataset: xr.Dataset, axes: Any = None) -> Any:
    """Draw the evaluation loss over epochs, mean over runs (tian2020, Fig. 11).

    Args:
        dataset: from `tutelage.deep.train` or `sweep`, with one polarity.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on, one curve for each multiple: the natural logarithm of the mean.
    """
    _check(dataset, "evaluation_loss", None)
    axes = _axes(axes)
    loss = dataset["evaluation_loss"].mean("run")
    loss = loss if "multiple" in loss.dims else loss.expand_dims(multiple=[0])
    for multiple in loss["multiple"].values:
        label = f"{multiple}x" if multiple else None
        axes.plot(loss["epoch"], np.log(loss.sel(multiple=multiple)), label=label)
    axes.set(xlabel="epoch", ylabel="ln of the evaluation loss")
    axes.grid(alpha=0.3)
    if "multiple" in dataset.dims:
        axes.legend(fontsize="small")
    return axes


def boundaries(student: "Network", teacher: "Network", width: float = 0.6, axes: Any = None) -> Any:
    """Draw where the nodes of two-dimensional networks begin to fire (tian2020, Fig. 2).

    Args:
        student, teacher: networks with two inputs; the lowest layer is drawn.
        width: half the side of the square that is shown.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on: teacher nodes solid, student nodes dashed with the norm of their fan-out.
    """
    if student.widths[0] != 2 or teacher.widths[0] != 2:
        raise InputError("student", f"{student.widths[0]} inputs", "there have to be two")
    axes = _axes(axes)
    for network, style in ((teacher, "k-"), (student, "--")):
        W, b = np.asarray(network.weights[0]), np.asarray(network.biases[0])
        strength = np.linalg.norm(network.weights[1], axis=1)
        for k in range(W.shape[1]):
            n = W[:, k] / np.linalg.norm(W[:, k])
            foot = -b[k] / np.linalg.norm(W[:, k]) * n
            ends = np.stack([foot + s * 4 * width * np.array([-n[1], n[0]]) for s in (-1, 1)])
            label = None if network is teacher else f"{strength[k]:.2f}"
            axes.plot(ends[:, 0], ends[:, 1], style, label=label)
    axes.set(xlim=(-width, width), ylim=(-width, width), aspect="equal")
    axes.legend(fontsize="x-small", loc="upper right")
    return axes


def _check(dataset: xr.Dataset, name: str, axes: set[str] | None) -> None:
    """A result of training that has this variable, without further dimensions."""
    allowed = "it has to be a result of training"
    if name not in dataset:
        hint = "tl.deep.train(..., correlations=True)" if "correlation_" in name else ""
        raise InputError("dataset", f"no {name!r}", allowed, hint or "tl.deep.train(...)")
    extra = "polarity" in dataset.dims or (axes is not None and set(dataset[name].dims) - axes)
    if extra:
        came = f"dimensions {tuple(dataset[name].dims)}"
        hint = "dataset.sel(polarity=1), or dataset.sel(multiple=5)"
        raise InputError("dataset", came, "one polarity and one multiple can be drawn", hint)
