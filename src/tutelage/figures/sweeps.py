"""Studies: a curve over one swept argument, a map over two, panels over three."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes, Colour, Normalize
from tutelage.figures.line_styles import DASHES
from tutelage.figures.maps import (
    MISSING_COLOUR,
    add_colour_bar,
    colour_norm,
    draw_map,
    is_wide,
)
from tutelage.figures.style import colour, new_axes, new_panels, ordered_colours
from tutelage.figures.text import SYMBOLS as FIGURE_SYMBOLS, add_to_caption, finish
from tutelage.model.numbers import SYMBOLS as SYMBOLS_OF_NUMBERS
from tutelage.sweeps.points import POINT

MARKERS = "osD^v<>"
CROSS_ROW_FRACTION = 0.06  # of the height, for the crosses of one curve
DIVERGED_LABEL = "diverged or failed"
SYMBOLS = {
    **SYMBOLS_OF_NUMBERS,
    "learning_rate": r"$\eta$",
    "readout_rate": r"$\eta_v$",
    "load": FIGURE_SYMBOLS["load"],
    "beta": r"$\beta$",
    "units": "$K$",
    "generalization_error": FIGURE_SYMBOLS["generalization_error"],
    "coexists": r"$\alpha_c$",
    "length": r"length of the plateau ($\alpha$)",
    "height": "height of the plateau",
    "diverges": r"$\eta$ above which norms diverge",
}
# The main result of each swept function, in the order of preference; residuals and errors are not
# drawn.
MAIN_RESULTS = {
    "online.plateau": "length",
    "online.critical_learning_rates": "diverges",
    "equilibrium.transitions": "coexists",
    "equilibrium.transition_kind": "coefficient",
}
SECONDARY_ENDINGS = ("residual", "_error", "seed", "stable", "steps")


@figure_function
def sweep(
    dataset: xr.Dataset,
    axes: Axes | None = None,
    *,
    variable: str | None = None,
    figsize: ArrayLike | None = None,
) -> Any:
    """Draw a number of a study over the swept arguments.

    Args:
        dataset: from `tutelage.sweeps.run` or `tutelage.sweeps.load`, perhaps a part of it.
        axes: Axes to draw on, unless there are panels; a new figure when left out.
        variable: name of the number; the default is the generalization error or the main result of
            the swept function, such as the length of a plateau.
        figsize: width and height in inches of a new figure.

    Returns:
        The Axes; an array of them for three swept arguments.  One argument is drawn as a curve, two
        as a map with contours (as curves if one of them is not a number), and a third one as
        panels.  Contours have round values, which are marked on the colour bar.  Points that
        diverged or failed are grey in maps and crosses at the upper edge of curves; the caption
        counts them.
    """
    name = _chosen(dataset, variable)
    values = _values(dataset, name)
    if axes is None and figsize is not None and values.ndim < 3:
        axes = new_panels(1, figsize)[0]
    if POINT in values.dims:
        return _draw_table(dataset, values, new_axes(axes))
    if values.ndim == 3:
        return _draw_panels(values, figsize)
    if values.ndim not in (1, 2):
        allowed = f"{name} has to be swept over one, two or three arguments"
        raise InputError(
            "dataset", f"{values.ndim} swept arguments", allowed, "dataset.sel(...) of the rest"
        )
    return _draw_study(values, new_axes(axes), colour_norm(values))


def _draw_study(values: xr.DataArray, axes: Axes, norm: Normalize, bar: bool = True) -> Any:
    numeric = [dim for dim in values.dims if values[dim].dtype.kind in "iuf"]
    if values.ndim == 2 and len(numeric) == 2:
        return _draw_map(values, axes, norm, bar)
    return _draw_curves(values, axes)


def _swept(dataset: xr.Dataset) -> list[str]:
    """Return the names of the swept arguments, as recorded in the attribute ``over``."""
    try:
        return list(json.loads(str(dataset.attrs["over"]))["values"])
    except (KeyError, ValueError, TypeError):
        raise InputError(
            "dataset",
            "a Dataset without a record of the swept arguments",
            "it has to be a study",
            "the result of tl.sweeps.run, or tl.sweeps.load(store)",
        ) from None


def _chosen(dataset: xr.Dataset, variable: str | None) -> str:
    swept = {*_swept(dataset), POINT}
    numbers = [
        str(name)
        for name, x in dataset.data_vars.items()
        if x.dtype.kind in "iufb" and set(x.dims) <= swept and x.ndim
    ]
    if variable is None:
        if not numbers:
            allowed = "there has to be at least one variable with one number per point"
            hint = 'keep=tl.sweeps.last("generalization_error"), or dataset.isel(time=-1)'
            raise InputError("dataset", "curves or texts only", allowed, hint)
        return _main(str(dataset.attrs.get("function", "")), numbers)
    if variable not in numbers:
        allowed = f"variables with one number per point: {', '.join(numbers) or 'none'}"
        raise InputError("variable", repr(variable), allowed)
    return variable


def _main(function: str, numbers: list[str]) -> str:
    """Return the name of the main result of the swept function."""
    for name in (MAIN_RESULTS.get(function, ""), "generalization_error"):
        if name in numbers:
            return name
    candidates = [n for n in numbers if not any(n.endswith(end) for end in SECONDARY_ENDINGS)]
    return (candidates or numbers)[0]


def _values(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Return the numbers to be drawn, with NaN for runs that diverged."""
    values = dataset[name].astype(float)
    if "outcome" in dataset and dataset["outcome"].dims == values.dims:
        values = values.where(dataset["outcome"] != "diverged")
    return values.squeeze()


def _draw_curves(values: xr.DataArray, axes: Axes) -> Any:
    """Draw curves over the argument that is a number, one for each value of the other one."""
    dims = sorted(values.dims, key=lambda dim: values[dim].dtype.kind not in "iuf")
    along, others = dims[0], dims[1:]
    x = values[along].values
    words = x.dtype.kind not in "iuf"
    places = np.arange(len(x)) if words else x
    labels = values[others[0]].values if others else [None]
    ordered = bool(others) and values[others[0]].dtype.kind in "iuf"
    tints = ordered_colours(len(labels)) if ordered else [colour(k) for k in range(len(labels))]
    for number, (label, tint) in enumerate(zip(labels, tints, strict=True)):
        y = (values.isel({others[0]: number}) if others else values).values
        style = {"color": tint, "marker": MARKERS[number % len(MARKERS)], "fillstyle": "none"}
        dash = DASHES[number % len(DASHES)]
        named = None if label is None else _in_words(others[0], label)
        axes.plot(places, y, linestyle=dash, label=named, **style)
    if words:
        axes.set_xticks(places, [_in_words(along, name) for name in x])
    elif is_wide(x):
        axes.set_xscale("log")
    if is_wide(values.values):
        axes.set_yscale("log")
    axes.set(xlabel=_symbol(along), ylabel=_symbol(values.name))
    curves = list(axes.lines)
    _mark_missing(axes, places, values.transpose(*others, along), tints)
    _count_missing(axes, values)
    return finish(axes, handles=_with_one_cross(curves, axes.lines) if others else None)


def _with_one_cross(curves: list[Any], lines: Any) -> list[Any]:
    """Return the legend entries: the curves, and one black cross if there are crosses."""
    from matplotlib.lines import Line2D

    cross = Line2D([], [], color="0.25", marker="x", linestyle="none", label=DIVERGED_LABEL)
    return curves if len(lines) == len(curves) else [*curves, cross]


def _mark_missing(axes: Any, x: np.ndarray, values: xr.DataArray, tints: Sequence[Colour]) -> None:
    """Draw a cross above the curves for each missing number, in one row per curve."""
    rows = np.atleast_2d(values.values)
    incomplete = [number for number, y in enumerate(rows) if not np.all(np.isfinite(y))]
    step = min(CROSS_ROW_FRACTION, 0.4 / max(len(incomplete), 1))
    _extend_upwards(axes, step * len(incomplete))
    place = axes.get_xaxis_transform()
    for row, number in enumerate(incomplete):
        missing = x[~np.isfinite(rows[number])]
        height = np.full(len(missing), 1 - step * (row + 0.5))
        label = DIVERGED_LABEL if row == 0 else None
        style = {"color": tints[number], "linestyle": "none", "transform": place}
        axes.plot(missing, height, "x", label=label, **style)


def _extend_upwards(axes: Axes, fraction: float) -> None:
    """Extend the axis so that a fraction of the height at its upper end is free of curves."""
    to_axis = axes.yaxis.get_transform()
    low, high = to_axis.transform(np.array(axes.get_ylim()))
    top = low + (high - low) / (1 - fraction)
    axes.set_ylim(top=float(to_axis.inverted().transform(np.array([top]))[0]))


def _count_missing(axes: Axes, values: xr.DataArray) -> None:
    missing = int(np.sum(~np.isfinite(values.values)))
    if missing:
        add_to_caption(axes, f"{missing} of {values.size} points diverged or failed.")


def _draw_map(values: xr.DataArray, axes: Axes, norm: Normalize, bar: bool) -> Any:
    from matplotlib.patches import Patch

    x, y = values.dims
    z = values.values.T
    image, levels = draw_map(axes, values[x].values, values[y].values, z, norm)
    if bar:
        add_colour_bar(axes, image, _symbol(values.name), levels)
    axes.set(xlabel=_symbol(x), ylabel=_symbol(y))
    _count_missing(axes, values)
    grey = Patch(color=MISSING_COLOUR, label=DIVERGED_LABEL)
    finish(axes, handles=[] if np.all(np.isfinite(z)) else [grey], below=True)
    axes.grid(False)
    return axes


def _draw_panels(values: xr.DataArray, figsize: ArrayLike | None) -> Any:
    """Draw a panel for each value of the argument that is no number or has the fewest values."""
    panel_dim = min(
        values.dims, key=lambda dim: (values[dim].dtype.kind in "iuf", values.sizes[dim])
    )
    count = values.sizes[panel_dim]
    panels = new_panels(count, figsize, sharey=True)
    norm = colour_norm(values)
    for number, axes in enumerate(panels):
        one = values.isel({panel_dim: number})
        _draw_study(one, axes, norm, bar=number == count - 1)
        axes.set_title(_in_words(panel_dim, values[panel_dim].values[number]))
        axes.label_outer()
    return panels


def _draw_table(dataset: xr.Dataset, values: xr.DataArray, axes: Axes) -> Any:
    """Draw a table of points: a curve over one argument, coloured symbols over two."""
    names = [name for name in _swept(dataset) if dataset[name].dtype.kind in "iuf"][:2]
    if not names:
        raise InputError("dataset", "a table without numbers", "one argument has to be a number")
    if len(names) == 1:
        return _draw_curves(values.swap_dims({POINT: names[0]}).sortby(names[0]), axes)
    x, y = (dataset[name].values for name in names)
    image = axes.scatter(x, y, c=values.values, norm=colour_norm(values), s=18)
    add_colour_bar(axes, image, _symbol(values.name))
    axes.set(xlabel=_symbol(names[0]), ylabel=_symbol(names[1]))
    _count_missing(axes, values)
    return finish(axes)


def _symbol(name: object) -> str:
    return SYMBOLS.get(str(name), str(name).replace("_", " "))


def _in_words(argument: object, value: object) -> str:
    r"""Write a value of an argument: a number with its symbol, an activation by its name.

    >>> print(_in_words("weight_decay", 0.1), _in_words("activation", "Gate([0, 1])"), sep="; ")
    $\gamma$ = 0.1; Gate 0, 1
    """
    if isinstance(value, str | np.str_):
        return re.sub(r"[\[\](){}]+", " ", str(value)).strip().replace("  ", " ")
    return f"{_symbol(argument)} = {value:.4g}"
