"""Sampled order parameters against the load, on the way up and on the way down."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage.checks import InputError

SYMBOLS = {"specialization": r"$R - S$", "generalization_error": r"$\epsilon_g$"}
MARKERS = {"up": ("^", "C0"), "down": ("v", "C3")}
STYLES = ("-", "--", ":", "-.")


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


def _axes(axes: Any) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.0, 3.8), layout="constrained")[1] if axes is None else axes
