"""Annotations with types of Matplotlib for static checkers; nothing is imported at run time."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.typing import ColorType as Colour
else:
    Artist = Axes = Axis = Colour = Figure = Legend = Normalize = Any

__all__ = ["Artist", "Axes", "Axis", "Colour", "Figure", "Legend", "Normalize"]
