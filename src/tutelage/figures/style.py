"""The two styles of all figures: a screen or slide, and one column of a journal."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array, short_repr
from tutelage._given import ArrayLike
from tutelage.figures.kinds import Axes

STYLES = ("screen", "paper")
FOLDER = Path(__file__).parents[1]  # here Matplotlib finds the style "tutelage.paper"
# Width of a row of panels relative to a single picture; three panels are 17.8 cm wide on paper.
ROW_WIDTHS = {1: 1.0, 2: 1.7, 3: 2.08}
SCREEN_LETTERS, PAGE_INCHES = 11.0, 7.05  # letters of "screen" in points; the width of a page
SMALL_LETTERS = 0.8  # relative to those of "screen": of a style for paper


@contextmanager
@validated
def style(name: Literal["screen", "paper"] = "screen") -> Iterator[None]:
    """Draw and save all figures of a ``with`` block in one of the two styles.

    Args:
        name: "screen", 6 in wide with letters of 11 pt, or "paper", one column of a journal:
            3.39 in wide with letters of 8 pt and thin lines.

    Outside of such a block figures have the style "screen", except for those settings of
    Matplotlib that you have changed.  Both are also styles of Matplotlib, "tutelage.screen" and
    "tutelage.paper".

    >>> import matplotlib, tutelage as tl
    >>> with tl.figures.style("paper"):
    ...     matplotlib.rcParams["figure.figsize"]
    [3.39, 2.3]
    """
    import matplotlib

    _load_backend()
    with matplotlib.rc_context(_settings(name)):
        yield


@contextmanager
def default_style() -> Iterator[None]:
    """Apply the style "screen" to all settings of Matplotlib that still have their defaults."""
    import matplotlib

    _load_backend()
    now: Any = matplotlib.rcParams
    defaults: Any = matplotlib.rcParamsDefault
    changed = {key: x for key, x in _settings("screen").items() if now[key] == defaults[key]}
    with matplotlib.rc_context(changed):
        yield


@cache
def _load_backend() -> None:
    """Let Matplotlib load its backend, whose settings would else end with the first style.

    That of notebooks switches the interactive mode on, without which later figures are not shown.
    """
    import matplotlib
    import matplotlib.pyplot as plt

    if getattr(plt, "_backend_mod", None) is None:
        with suppress(ImportError):  # a figure without pyplot needs none
            plt.switch_backend(matplotlib.get_backend())


@cache
def _settings(name: str) -> Any:
    import matplotlib

    path = FOLDER / f"{name}.mplstyle"
    parameters: Any = matplotlib.rc_params_from_file(path, use_default_template=False)
    return dict(parameters)


def new_axes(axes: Axes | None) -> Axes:
    """Return the given Axes, or those of a new figure."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if axes is None:
        new: Any = plt.subplots(layout="constrained")[1]
        new.figure.growing_rows = 1  # by the height of a legend below the Axes
        return new
    if not isinstance(axes, Axes):
        raise InputError(
            "axes", short_repr(axes), "it has to be Axes of matplotlib", "plt.subplots()[1]"
        )
    return axes


def new_panels(count: int, figsize: ArrayLike | None = None, **options: Any) -> Any:
    """Return Axes of a new figure side by side, four or more in two rows; ``figsize`` in inches."""
    import matplotlib.pyplot as plt

    rows = 2 if count > 3 else 1
    columns = -(-count // rows)
    grows = figsize is None
    if figsize is None:
        width, height = plt.rcParams["figure.figsize"]
        figsize = (width * ROW_WIDTHS.get(columns, 2.08), rows * height)
    size: dict[str, Any] = {"figsize": check_size(figsize), "layout": "constrained"}
    grid: Any = plt.subplots(rows, columns, squeeze=False, **size, **options)[1]
    grid[0, 0].figure.growing_rows = rows if grows else 0
    for spare in grid.flat[count:]:
        spare.remove()
    return grid.flatten()[:count]


def size_in_style(width: float, height: float) -> tuple[float, float]:
    """Return the size of a picture in the active style, given its size in the style "screen".

    On paper it shrinks with its letters, and is at most as wide as a page.
    """
    import matplotlib

    ratio = matplotlib.rcParams["font.size"] / SCREEN_LETTERS
    if ratio > SMALL_LETTERS:
        return width, height
    return min(ratio * width, PAGE_INCHES), ratio * height


def new_grid(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """Return a new figure and its grid of Axes, as `plt.subplots` does.

    size: width and height in the style "screen", in inches; the figure also grows by the height
        of legends below its Axes.
    """
    import matplotlib.pyplot as plt

    size = size_in_style(*size)
    made: Any = plt.subplots(rows, columns, figsize=size, layout="constrained", **options)
    figure, grid = made
    figure.growing_rows = rows
    return figure, grid


def check_size(figsize: ArrayLike) -> tuple[float, float]:
    """Validate a width and height in inches."""
    size = finite_array("figsize", figsize)
    if size.shape != (2,) or not np.all(size > 0):
        allowed = "it has to be width and height in inches"
        raise InputError("figsize", short_repr(figsize), allowed, "figsize=(7.0, 2.4)")
    return float(size[0]), float(size[1])


def palette() -> list[str]:
    """Return the colours of the active style, for curves without an order."""
    import matplotlib
    from matplotlib.colors import to_hex

    # Matplotlib's own style has triples of numbers.
    return [
        to_hex(one) for one in matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", "k")
    ]


def colour(number: int | np.integer) -> str:
    """Return a colour of the palette, which repeats after its last one."""
    colours = palette()
    return colours[number % len(colours)]


def ordered_colours(count: int) -> Any:
    """Return colours from dark to light, for curves with an order."""
    import matplotlib

    # Beyond 0.66 the contrast with white is less than 3.
    return matplotlib.colormaps["inferno"](np.linspace(0.1, 0.66, count))
