"""The density of eigenvalues during training as an animation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import positive_integer
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.eigenvalues import EigenvalueScale, recorded_spectra
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import DASHES
from tutelage.figures.spectra import datasets_by_name
from tutelage.figures.style import check_size, colour, default_style
from tutelage.figures.text import finish
from tutelage.runs import files

FRAME_MILLISECONDS = 250
LOWEST_FRACTION = 1e-3  # of the maximum, so that a peak at zero does not hide the rest


@figure_function
def eigenvalue_animation(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    path: str | Path,
    *,
    frames_per_second: int = 8,
    figsize: ArrayLike | None = None,
) -> Path:
    """Write the density of eigenvalues during training as an animated GIF, one frame per epoch.

    Args:
        datasets: from `tutelage.spectra.train`, or several by name, with spectra at the same
            epochs; the eigenvalues of all runs are pooled.
        path: a name that ends in ``.gif``.
        frames_per_second: a whole number of at least 1.
        figsize: width and height in inches; by default those of the style.

    Returns:
        The path.
    """
    import matplotlib.pyplot as plt

    path = files.check_writable("path", path, (".gif",), "spectra.gif")
    speed = positive_integer("frames_per_second", frames_per_second)
    size = None if figsize is None else check_size(figsize)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    try:
        with files.replacing(path) as file:
            animate_eigenvalues(datasets, axes).save(file, writer="pillow", fps=speed, dpi=90)
    finally:
        plt.close(figure)
    return path


def animate_eigenvalues(datasets: xr.Dataset | Mapping[str, xr.Dataset], axes: Any) -> Any:
    """Return the animation of `eigenvalue_animation` as a Matplotlib Animation.

    Args:
        datasets: as in `eigenvalue_animation`.
        axes: Axes to draw on; the only ones of their figure.
    """
    from matplotlib.animation import FuncAnimation

    spectra = {name: recorded_spectra(one) for name, one in datasets_by_name(datasets).items()}
    first = next(iter(spectra.values()))
    scale = EigenvalueScale(max(float(abs(one).max()) for one in spectra.values()))
    ends = [(float(one.min()), float(one.max())) for one in spectra.values()]
    grid = scale.grid(min(low for low, _ in ends), max(high for _, high in ends))

    def show(frame: int) -> list[Any]:
        with default_style():
            _frame(axes, scale, grid, spectra, frame)
        axes.set_title(f"epoch {first['epoch'].values[frame]}")
        return []

    animation: Any = FuncAnimation(
        axes.figure, show, frames=first.sizes["epoch"], interval=FRAME_MILLISECONDS
    )
    animation._draw_was_started = True  # no warning for an animation that is made and not shown
    return animation


def _frame(
    axes: Axes, scale: EigenvalueScale, grid: np.ndarray, spectra: Mapping[str, Any], frame: int
) -> None:
    axes.clear()
    for number, (name, one) in enumerate(spectra.items()):
        height = scale.density(one.values[:, frame], grid)
        tint = colour(number)
        axes.fill_between(grid, height, color=tint, alpha=0.2, linewidth=0)
        axes.plot(
            grid, height, color=tint, linestyle=DASHES[number % len(DASHES)], label=name or None
        )
    scale.ticks(axes, grid)
    axes.set(xlabel=r"$\lambda$", ylabel="density / maximum", xlim=(grid[0], grid[-1]))
    axes.set(yscale="log", ylim=(LOWEST_FRACTION, 2.0))
    if any(spectra):
        finish(axes, below=True)
