"""Sampled weights: overlaps or error while the load increases and decreases."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import check_choice
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_axes
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, with_formulas

QUANTITIES = {
    "specialization": r"$R - S$",
    "generalization_error": SYMBOLS["generalization_error"],
}
DIRECTIONS = {"up": ("^", 0, "increasing"), "down": ("v", 1, "decreasing")}


@figure_function
def hysteresis(
    dataset: xr.Dataset,
    axes: Axes | None = None,
    *,
    which: str = "specialization",
    theory: Mapping[str, tuple[Any, Any]] | None = None,
) -> Any:
    """Draw sampled weights for increasing and decreasing loads: every run, and the means.

    Args:
        dataset: from `tutelage.equilibrium.hysteresis`.
        axes: Axes to draw on; a new figure when left out.
        which: "specialization" (R - S) or "generalization_error".
        theory: curves to be drawn behind the points, as {label: (loads, values)}.

    Returns:
        The Axes.  Open triangles are runs; they point up for increasing and down for decreasing
        loads.  Lines join the means over the runs.
    """
    check_choice("which", which, QUANTITIES)
    axes = new_axes(axes)
    for number, (label, (loads, values)) in enumerate((theory or {}).items()):
        style = DASHES[number % len(DASHES)]
        axes.plot(loads, values, color="0.5", linestyle=style, label=with_formulas(label), zorder=1)
    for direction in dataset["direction"].values:
        values = dataset[which].sel(direction=direction).transpose("load", "run")
        marker, number, words = DIRECTIONS[str(direction)]
        axes.plot(
            *np.broadcast_arrays(dataset["load"].values[:, None], values.values),
            linestyle="none",
            marker=marker,
            color=colour(number),
            fillstyle="none",
        )
        label = f"{words} load, mean"
        axes.plot(dataset["load"], values.mean("run"), color=colour(number), label=label)
    runs = dataset.sizes["run"]
    add_to_caption(axes, f"Triangles are the {runs} runs; they point up for increasing loads.")
    load = SYMBOLS["load_of_examples" if "temperature" in dataset.coords else "load"]
    axes.set(xlabel=load, ylabel=QUANTITIES[which])
    return finish(axes)
