"""Sampled order parameters against the load: symbols on curves, the way up and the way down."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError

SYMBOLS = {"specialization": r"$R - S$", "generalization_error": r"$\epsilon_g$"}
MARKERS = {"up": ("^", "C0"), "down": ("v", "C3")}
STYLES = ("-", "--", ":", "-.")
SYMBOLS_OF_STATES = {"R": "o", "S": "s", "C": "o", "generalization_error": "o"}


def hysteresis(
    dataset: xr.Dataset,
    axes: Any = None,
    which: str = "specialization",
    theory: Mapping[str, tuple[Any, Any]] | None = None,
) -> Any:
    """Draw what `tutelage.equilibrium.hysteresis` found: every run, and the mean of each way.

    Args:
        dataset: over ``direction``, ``load`` and ``run``.
        axes: Axes to draw on; a new figure when left out.
        which: "specialization" (R - S) or "generalization_error".
        theory: curves behind the points, as {label: (loads, values)}.

    Returns:
        The Axes drawn on.  Open triangles are runs, pointing the way the load went; lines join
        the means over the runs.
    """
    if which not in SYMBOLS:
        allowed = f"it has to be one of {', '.join(map(repr, SYMBOLS))}"
        raise InputError("which", repr(which), allowed, 'which="specialization"')
    axes = _axes(axes)
    for number, (label, (loads, values)) in enumerate((theory or {}).items()):
        style = STYLES[number % len(STYLES)]
        axes.plot(loads, values, color="0.6", linestyle=style, label=label, zorder=1)
    for direction in dataset["direction"].values:
        values = dataset[which].sel(direction=direction).transpose("load", "run")
        marker, colour = MARKERS[str(direction)]
        axes.plot(
            *np.broadcast_arrays(dataset["load"].values[:, None], values.values),
            linestyle="none",
            marker=marker,
            color=colour,
            fillstyle="none",
            markersize=5,
        )
        axes.plot(dataset["load"], values.mean("run"), color=colour, label=f"load {direction}")
    axes.set(xlabel=r"$\alpha$", ylabel=SYMBOLS[which])
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return axes


def sampled_states(
    dataset: xr.Dataset,
    axes: Any,
    which: tuple[str, ...] = ("R", "S"),
    label: str = "",
    marker: str = "",
) -> Any:
    """Lay the means over sampled weights on the curves of `tutelage.figures.order_parameters`.

    Args:
        dataset: means over ``load``, and their standard errors as NAME_error.
        axes: Axes to draw on.
        which: "R", "S", "C" or "generalization_error", in the order of the curves' colours.
        label: for the legend.
        marker: one for all, instead of circles and squares.

    Returns:
        The Axes drawn on: open symbols, circles for the first and squares for S; bars are two
        standard errors long to either side.
    """
    for number, name in enumerate(which):
        axes.errorbar(
            dataset["load"].values,
            dataset[name].values,
            2 * dataset[f"{name}_error"].values,
            fmt=marker or SYMBOLS_OF_STATES[name],
            color=f"C{number}",
            fillstyle="none",
            markersize=5,
            linewidth=0.8,
            label=label if number == 0 and label else None,
            zorder=3,
        )
    axes.legend(fontsize="small")
    return axes


def _axes(axes: Any) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.0, 3.8), layout="constrained")[1] if axes is None else axes
