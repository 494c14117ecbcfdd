"""Maps of a swept number over two arguments: colours, contours, colour bar."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.kinds import Axes, Axis, Normalize
from tutelage.figures.text import add_to_caption

MISSING_COLOUR = "0.85"
MIN_CONTOUR_POINTS = 5  # in each direction: contours between fewer points mean little
MAX_LEVELS = 6
# Positive numbers with a larger ratio of their largest to their smallest have a logarithmic axis.
LOG_AXIS_RATIO = 30.0


def is_wide(numbers: np.ndarray) -> bool:
    """Return whether numbers are better shown on a logarithmic axis."""
    x = numbers[np.isfinite(numbers)]
    return bool(len(x) > 2 and np.min(x) > 0 and np.max(x) > LOG_AXIS_RATIO * np.min(x))


def colour_norm(values: xr.DataArray) -> Any:
    """Return the scale of colours of all values, logarithmic if they are wide."""
    from matplotlib.colors import LogNorm, Normalize

    finite = values.values[np.isfinite(values.values)]
    if not len(finite):
        return Normalize(0, 1)
    kind = LogNorm if is_wide(finite) else Normalize
    return kind(float(np.min(finite)), float(np.max(finite)))


def draw_map(
    axes: Axes, x: np.ndarray, y: np.ndarray, z: np.ndarray, norm: Normalize
) -> tuple[Any, Any]:
    """Draw cells of colour around the points, and contours; return both."""
    axes.set_facecolor(MISSING_COLOUR)
    for values, set_scale in ((x, axes.set_xscale), (y, axes.set_yscale)):
        if is_wide(values):
            set_scale("log")
        elif np.min(values) == 0 and len(values) > 2 and is_wide(values[values > 0]):
            set_scale("symlog", linthresh=float(np.min(values[values > 0])))
    edges = cell_edges(axes.xaxis, x), cell_edges(axes.yaxis, y)
    image = axes.pcolormesh(*edges, z, norm=norm, rasterized=True)
    return image, _contours(axes, (x, y), edges, z, norm)


def cell_edges(axis: Axis, values: np.ndarray) -> np.ndarray:
    """Return the edges of cells around values, half way between them on the axis as it is drawn."""
    transform = axis.get_transform()
    u = transform.transform(np.asarray(values, dtype=float))
    if len(u) == 1:
        return transform.inverted().transform(u + np.array([-0.5, 0.5]))
    middle = (u[1:] + u[:-1]) / 2
    ends = [2 * u[0] - middle[0]], [2 * u[-1] - middle[-1]]
    return transform.inverted().transform(np.concatenate([ends[0], middle, ends[1]]))


def _contours(
    axes: Axes,
    points: tuple[np.ndarray, np.ndarray],
    edges: tuple[np.ndarray, np.ndarray],
    z: np.ndarray,
    norm: Normalize,
) -> Any:
    """Draw contours at round values up to the edges of the map; None for few points.

    In the outer halves of the outermost cells values are extrapolated linearly.
    """
    from matplotlib import patheffects
    from matplotlib.colors import LogNorm

    finite = z[np.isfinite(z)]
    if min(z.shape) < MIN_CONTOUR_POINTS or np.ptp(finite) == 0:
        return None
    levels = _round_levels(norm)
    # In coordinates of the axes as drawn, so that contours are straight between the points.
    u, v = (
        axis.get_transform().transform(np.concatenate([[edge[0]], values, [edge[-1]]]))
        for axis, values, edge in zip((axes.xaxis, axes.yaxis), points, edges, strict=True)
    )
    logarithmic = isinstance(norm, LogNorm)
    height = np.pad(np.log(z) if logarithmic else z, 1, mode="reflect", reflect_type="odd")
    # The reflected points are one cell away, and the edge is half a cell away.
    for edge, inner in ((0, 1), (-1, -2)):
        height[edge] = (height[edge] + height[inner]) / 2
        height[:, edge] = (height[:, edge] + height[:, inner]) / 2
    lines = axes.contour(
        u,
        v,
        height,
        levels=np.log(levels) if logarithmic else levels,
        colors="black",
        linestyles="solid",
        transform=axes.transLimits + axes.transAxes,
    )
    axes.set(xlim=edges[0][[0, -1]], ylim=edges[1][[0, -1]])
    lines.set(linewidths=0.6, path_effects=[patheffects.withStroke(linewidth=1.8, foreground="w")])
    return levels


def _round_levels(norm: Any) -> np.ndarray:
    """Return round values between the ends of the scale of colours."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    from tutelage.figures.ticks import PlainLogLocator

    ticks = PlainLogLocator() if isinstance(norm, LogNorm) else MaxNLocator(MAX_LEVELS)
    levels = np.asarray(ticks.tick_values(norm.vmin, norm.vmax))
    return levels[(levels > norm.vmin) & (levels < norm.vmax)]


def add_colour_bar(axes: Axes, image: Any, label: str, levels: np.ndarray | None = None) -> None:
    """Add the scale of colours, with a line at the level of each contour."""
    from matplotlib import patheffects

    from tutelage.figures.ticks import plain_log_ticks

    bar = axes.figure.colorbar(image, ax=axes, label=label)
    if bar.ax.get_yscale() == "log":
        plain_log_ticks(bar.ax.yaxis)
    bar.ax.yaxis.get_major_ticks(1), bar.ax.yaxis.get_minor_ticks(1)
    if levels is not None:
        halo = [patheffects.withStroke(linewidth=1.8, foreground="w")]
        for level in levels:
            bar.ax.axhline(level, color="black", linewidth=0.6, path_effects=halo)
        add_to_caption(axes, "Contours have the values of the lines on the colour bar.")
