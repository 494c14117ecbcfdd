"""Drawing functions for tian2020 alone: all layers, followers, losses, and students in the
plane.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, positive_integer
from tutelage.figures import specialization
from tutelage.figures.axes import check_training
from tutelage.figures.style import new_axes, new_grid, ordered_colours
from tutelage.figures.text import finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

if TYPE_CHECKING:
    from tutelage.deep import Network


def specialization_of_layers(dataset: xr.Dataset, epochs: Sequence[int] | None = None) -> Any:
    """Draw `specialization` of all hidden layers at several epochs (tian2020, Figs. 4 and 12).

    Returns:
        An array of Axes, shape (layers, epochs), the lowest layer at the bottom.
    """

    L = sum(str(name).startswith("strength_") for name in dataset)
    check_training(dataset, "strength_1", {"run", "epoch", "student_1"})
    chosen = list(dataset["epoch"].values[[0, -1]] if epochs is None else epochs)
    size = (2.6 * len(chosen) + 1, 2.2 * L + 0.6)
    _, grid = new_grid(L, len(chosen), size, squeeze=False, sharex=True, sharey="row")
    for row, layer in zip(grid, range(L, 0, -1), strict=True):
        for ax, epoch in zip(row, chosen, strict=True):
            specialization(dataset, ax, layer=layer, epoch=epoch).set_title("")
            ax.label_outer()
        row[0].set_ylim(bottom=0.0)  # after all panels: this turns autoscaling off
        row[0].set_ylabel(f"layer {layer}\n{row[0].get_ylabel()}")
    for top, bottom, epoch in zip(grid[0], grid[-1], chosen, strict=True):
        top.set_title(f"epoch {epoch}")
        bottom.set_xlabel(r"$1-\rho$")
    return grid


def followers(
    dataset: xr.Dataset, teacher: int = 0, run: int = 0, layer: int = 1, axes: "Axes | None" = None
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
    check_training(dataset, name, {"run", "epoch", f"student_{layer}", f"teacher_{layer}"})
    axes = new_axes(axes)
    ρ = dataset[name].isel({"run": run, f"teacher_{layer}": teacher})
    for k in range(ρ.sizes[f"student_{layer}"]):
        axes.plot(ρ["epoch"], ρ.isel({f"student_{layer}": k}), color=f"C{k % 10}", linewidth=1)
    axes.set(xlabel="epoch", ylabel="correlation", ylim=(-0.4, 1.02))
    axes.set_title(f"teacher node {teacher + 1}")
    return finish(axes)


def best_of_nodes(best: xr.DataArray, axes: "Axes | None" = None) -> Any:
    """Draw best correlations over epochs, means over runs (tian2020, Fig. 7).

    Args:
        best: over ``epoch`` and ``teacher_1``.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Colours go from dark, the strongest teacher node, to light.
    """
    axes = new_axes(axes)
    for j, colour in enumerate(ordered_colours(best.sizes["teacher_1"])):
        axes.plot(best["epoch"], best.isel(teacher_1=j), color=colour, linewidth=1)
    axes.set(xlabel="epoch", ylabel="best correlation", ylim=(0.0, 1.02))
    return finish(axes)


def log_loss(curves: xr.DataArray, axes: "Axes | None" = None) -> Any:
    """Draw the logarithm to base 10 of the loss over epochs, mean over runs (tian2020, Fig. 11).

    Args:
        curves: over ``epoch`` and ``multiple``.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on, one curve for each multiple.
    """
    axes = new_axes(axes)
    multiples = curves["multiple"].values
    for multiple, tint in zip(multiples, ordered_colours(len(multiples)), strict=True):
        axes.plot(curves["epoch"], curves.sel(multiple=multiple), color=tint, label=f"{multiple}x")
    axes.set(xlabel="epoch", ylabel=r"mean $\log_{10}$ of the loss")
    return finish(axes)


def boundaries(
    student: "Network", teacher: "Network", width: float = 0.6, axes: "Axes | None" = None
) -> Any:
    """Draw the boundaries at which nodes of two-dimensional networks become active (tian2020, Fig.
    2).

    Args:
        student, teacher: networks with two inputs; the lowest layer is drawn.
        width: half the side of the square that is shown.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on: teacher nodes solid, student nodes dashed with the norm of their fan-out.
    """
    if student.widths[0] != 2 or teacher.widths[0] != 2:
        raise InputError("student", f"{student.widths[0]} inputs", "there have to be two")
    axes = new_axes(axes)
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
    axes.set(xlabel="$x_1$", ylabel="$x_2$")
    finish(axes, title=r"$\Vert v_k\Vert$")
    return axes


def boundary_animation(path: "Network", teacher: "Network", every: int = 1) -> Any:
    """Animate the boundaries of the nodes of a student in the plane while it learns.

    Args:
        path: a batch of students with two inputs, such as `theorems.descent` records.
        teacher: with two inputs.
        every: how many steps lie between two of them, for the title.

    Returns:
        A matplotlib Animation with a frame for each student; ``film.save("plane.gif",
        writer=PillowWriter(fps=8))`` writes it.
    """
    from matplotlib.animation import FuncAnimation

    if np.ndim(path.weights[0]) != 3 or path.widths[0] != 2:
        shape = f"weights of shape {np.shape(path.weights[0])}"
        raise InputError("path", shape, "it has to be a batch of networks with two inputs")
    positive_integer("every", every, "every=1")
    figure, axes = new_grid(1, 1, (4.6, 4.6))
    figure.growing_rows = 0  # all frames have one size

    def show(frame: int) -> Any:
        axes.clear()
        boundaries(at(path, frame), teacher, axes=axes)
        axes.set_title(f"step {every * frame}")
        return axes.lines

    return FuncAnimation(figure, show, frames=len(path.weights[0]), interval=125)


def at(path: "Network", record: int) -> "Network":
    """Return one network of a path."""
    return type(path)(tuple(W[record] for W in path.weights), tuple(b[record] for b in path.biases))
