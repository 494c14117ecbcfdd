"""Overlaps and error side by side."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.error_curves import error
from tutelage.figures.overlap_curves import overlaps
from tutelage.figures.runs import is_mean, mean_over_runs, run_count, run_labels
from tutelage.figures.style import new_panels
from tutelage.model.layout import BLOCKS


@figure_function
def learning_curves(
    dataset: xr.Dataset, theory: xr.Dataset | None = None, *, figsize: ArrayLike | None = None
) -> Any:
    """Draw student overlaps, teacher overlaps and error side by side, as citton2025 Fig. 1.

    Args:
        dataset: as for `overlaps` and `error`.
        theory: a run of `tutelage.online.evolve`, drawn as lines below the simulated runs.
        figsize: width and height in inches.

    Returns:
        Three Axes: Q_ik, R_in and ε_g, and a fourth one with v_ci for readouts that learn; only
        ε_g, on one, for several learning rates.
    """
    if run_labels(dataset) is not None:
        return np.array([error(dataset, None if figsize is None else new_panels(1, figsize)[0])])
    dataset[["R", "Q", "generalization_error"]]  # what is missing is named before anything is drawn
    axes = new_panels(1 + len(state_letters(dataset)), figsize)
    draw_panels(axes, dataset, theory)
    return axes


def state_letters(dataset: xr.Dataset) -> list[str]:
    """Return the letters of the blocks in a Dataset: Q, R, and v for readouts that learn."""
    return [block.symbol for block in sorted(BLOCKS) if block.name in dataset]


def panel_of_letter(axes: Any, letters: list[str]) -> dict[str, Any]:
    """Return the Axes of each block; those of the error are the third ones."""
    return dict(zip(letters, np.delete(axes, 2), strict=True))


def draw_panels(axes: Any, dataset: xr.Dataset, theory: xr.Dataset | None) -> None:
    """Draw each block of the state on its own Axes, and the error on the third ones."""
    panels = panel_of_letter(axes, state_letters(dataset))
    if theory is not None:
        for letter, panel in panels.items():
            overlaps(theory, panel, which=letter)
        error(theory, axes[2], label="theory")
    runs = run_count(dataset)
    label = f"{runs} runs" if is_mean(dataset) or runs > 1 else None
    style = "o" if theory is not None else "-" if is_mean(mean_over_runs(dataset)) else None
    for letter, panel in panels.items():
        overlaps(dataset, panel, which=letter, style=style)
    error(dataset, axes[2], label=label if theory is None else label or "one run", style=style)
