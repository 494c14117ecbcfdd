"""What all pictures share: new Axes, a finish, colours, curves with bands."""

from typing import Any

import numpy as np

STYLES = ("-", "--", ":", "-.")
BAND = {"alpha": 0.2, "linewidth": 0.0}
SYMBOLS = 20  # symbols on a curve: enough to follow it, few enough to see it


def new_axes(axes: Any) -> Any:
    """The Axes that were given, or those of a new figure."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.0, 3.8), layout="constrained")[1] if axes is None else axes


def finished(axes: Any) -> Any:
    """A grid, and a legend if there is something to say."""
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    return axes


def shades(count: int) -> Any:
    """Colours in an order, for curves that have one."""
    import matplotlib

    return matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, count))


def banded(
    axes: Any,
    x: np.ndarray,
    mean: np.ndarray,
    width: np.ndarray,
    *,
    colour: Any,
    style: str,
    label: str | None = None,
) -> None:
    """A line, or for "o" symbols at about equidistant places; a band as wide as the spread."""
    at: Any = slice(None)
    if style == "o":
        wanted = np.linspace(x[0], x[-1], SYMBOLS)
        at = np.unique(np.abs(x - wanted[:, None]).argmin(axis=1))
    looks = {"color": colour, "markersize": 3.5, "fillstyle": "none", "label": label}
    (line,) = axes.plot(x[at], mean[at], style, **looks)
    if np.any(np.isfinite(width)):
        axes.fill_between(x, mean - width, mean + width, color=line.get_color(), **BAND)
