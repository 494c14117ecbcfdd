"""Schedules of optimal control, and what optimizers need to leave a plateau."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.error_curves import error
from tutelage.figures.kinds import Axes
from tutelage.figures.overlap_curves import overlaps
from tutelage.figures.style import colour, new_axes, new_panels
from tutelage.figures.text import add_to_caption, finish

CONTROL_TEX = {
    "learning_rate": r"$\eta$",
    "readout_rate": r"$\eta_v$",
    "weight_decay": r"$\gamma$",
}
KINDS_OF_STEPS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("scheduled_steps", "schedule", {"linestyle": "--"}),
    ("network_steps", "networks", {"marker": "s", "linestyle": "none"}),
)


@figure_function
def control(dataset: xr.Dataset, *, figsize: ArrayLike | None = None) -> Any:
    """Draw the schedules of `tutelage.online.best_control`, the error and the overlaps over time.

    Args:
        dataset: ``curve`` of the result.
        figsize: width and height in inches.

    Returns:
        Three Axes: the controls, ε_g and R_in.
    """
    axes = new_panels(3, figsize)
    add_to_caption(axes[0], "Controls over time.")
    for number, (name, symbol) in enumerate(CONTROL_TEX.items()):
        if name in dataset:
            axes[0].plot(dataset["time"], dataset[name], color=colour(number), label=symbol)
    axes[0].set(xlabel=r"$\alpha$", ylabel="control", ylim=(0.0, None))
    finish(axes[0])
    error(dataset, axes[1])
    overlaps(dataset, axes[2], which="R")
    return axes


@figure_function
def optimizer_map(dataset: xr.Dataset, axes: Axes | None = None) -> Any:
    """Draw the steps that optimizers need to leave a plateau over the size of their batches.

    Args:
        dataset: ``steps`` over ``optimizer`` and ``batch``, infinite where no step leaves the
            plateau; perhaps ``scheduled_steps``, with the best of some schedules, and
            ``network_steps`` with ``network_error``, means and standard errors of simulated
            networks at the batch ``network_batch``, or at several batches along a dimension of
            this name.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes: solid lines for constant learning rates, dashed ones for schedules, symbols with
        bars for networks.
    """
    from matplotlib.lines import Line2D

    axes = new_axes(axes)
    add_to_caption(axes, "Steps to leave the plateau.")
    for number, name in enumerate(dataset["optimizer"].values):
        one, tint = dataset.sel(optimizer=name), colour(number)
        axes.plot(one["batch"], _finite(one["steps"]), "o-", color=tint, label=str(name))
        if "scheduled_steps" in one:
            axes.plot(one["batch"], _finite(one["scheduled_steps"]), "--", color=tint)
        if "network_steps" in one:
            axes.errorbar(
                np.atleast_1d(one["network_batch"]),
                np.atleast_1d(one["network_steps"]),
                np.atleast_1d(one["network_error"]),
                fmt="s",
                color=tint,
                fillstyle="none",
                capsize=3,
            )
    axes.set(xscale="log", yscale="log", xlabel="examples per input $b$", ylabel="steps")
    handles = axes.get_legend_handles_labels()[0]
    for name, label, look in KINDS_OF_STEPS:
        if name in dataset:
            handles.append(Line2D([], [], color="0.25", fillstyle="none", label=label, **look))
    return finish(axes, handles=handles)


def _finite(values: xr.DataArray) -> np.ndarray:
    """Replace infinity by NaN, which is not drawn."""
    return np.where(np.isfinite(values), values, np.nan)
