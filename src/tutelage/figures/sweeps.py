"""Studies: a curve over one swept argument, a map over two, panels over three."""

import json
import re
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.axes import drawing
from tutelage.figures.looks import DASHES
from tutelage.figures.style import colour, new_axes, new_panels, shades
from tutelage.figures.text import SYMBOLS as TEX, finished, note
from tutelage.model.numbers import SYMBOLS as SYMBOLS_OF_NUMBERS
from tutelage.sweeps.points import POINT

# Numbers that are all positive and spread so widely have a logarithmic axis.
WIDE = 30.0
MISSING = "0.85"
FEWEST_FOR_CONTOURS = 5  # points in each direction: lines between fewer mean little
LEVELS = 6
MARKERS = "osD^v<>"
ROW = 0.06  # of the height, for the crosses of one curve
DIVERGED = "diverged or failed"
SYMBOLS = {
    **SYMBOLS_OF_NUMBERS,
    "learning_rate": r"$\eta$",
    "readout_rate": r"$\eta_v$",
    "load": TEX["load"],
    "beta": r"$\beta$",
    "units": "$K$",
    "generalization_error": TEX["generalization_error"],
    "coexists": r"$\alpha_c$",
    "length": r"length of the plateau ($\alpha$)",
    "height": "height of the plateau",
    "diverges": r"$\eta$ above which norms diverge",
}
# What a swept function is about, by its name; a residual or an error is about how well it is known.
MAIN = {
    "online.plateau": "length",
    "online.critical_learning_rates": "diverges",
    "equilibrium.transitions": "coexists",
    "equilibrium.transition_kind": "coefficient",
}
NOT_MAIN = ("residual", "_error", "seed", "stable", "steps")


@drawing
def sweep(
    dataset: xr.Dataset, axes: Any = None, *, variable: str | None = None, figsize: Any = None
) -> Any:
    """A number at all points of a study, over the swept arguments.

    Args:
        dataset: from `tutelage.sweeps.run` or `tutelage.sweeps.load`, perhaps a part of it.
        axes: Axes to draw on, unless there are panels; a new figure when left out.
        variable: which number; by default the generalization error, or what the swept function is
            about, such as the length of a plateau.
        figsize: width and height in inches of a new figure.

    Returns:
        The Axes drawn on; an array of them for three swept arguments.  One is drawn as a curve, two
        as a map with contours, or as curves if one of them is no number; the third one makes
        panels.  Contours have round values, which are marked on the colour bar.  Points without a
        number, as those that failed or diverged, are grey in maps and crosses at the upper edge of
        curves; the caption counts them.
    """
    name = _chosen(dataset, variable)
    values = _values(dataset, name)
    if axes is None and figsize is not None and values.ndim < 3:
        axes = new_panels(1, figsize)[0]
    if POINT in values.dims:
        return _table(dataset, values, new_axes(axes))
    if values.ndim == 3:
        return _panels(values, figsize)
    if values.ndim not in (1, 2):
        allowed = f"{name} has to be swept over one, two or three arguments"
        raise InputError(
            "dataset", f"{values.ndim} of them", allowed, "dataset.sel(...) of the rest"
        )
    return _drawn(values, new_axes(axes), _norm(values))


def _drawn(values: xr.DataArray, axes: Any, norm: Any, bar: bool = True) -> Any:
    numeric = [dim for dim in values.dims if values[dim].dtype.kind in "iuf"]
    if values.ndim == 2 and len(numeric) == 2:
        return _map(values, axes, norm, bar)
    return _curves(values, axes)


def _swept(dataset: xr.Dataset) -> list[str]:
    """The swept arguments, by the attribute that says so."""
    try:
        return list(json.loads(str(dataset.attrs["over"]))["values"])
    except (KeyError, ValueError, TypeError):
        raise InputError(
            "dataset",
            "one that does not say what was swept",
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
            allowed = "there has to be one number at each point"
            hint = 'keep=tl.sweeps.last("generalization_error"), or dataset.isel(time=-1)'
            raise InputError("dataset", "curves or texts only", allowed, hint)
        return _main(str(dataset.attrs.get("verb", "")), numbers)
    if variable not in numbers:
        allowed = f"one number at each point are {', '.join(numbers) or 'none'}"
        raise InputError("variable", repr(variable), allowed)
    return variable


def _main(verb: str, numbers: list[str]) -> str:
    """The number that the swept function is about."""
    for name in (MAIN.get(verb, ""), "generalization_error"):
        if name in numbers:
            return name
    about = [n for n in numbers if not any(n.endswith(end) for end in NOT_MAIN)]
    return (about or numbers)[0]


def _values(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Without those of runs that have diverged: their last number says nothing."""
    values = dataset[name].astype(float)
    if "outcome" in dataset and dataset["outcome"].dims == values.dims:
        values = values.where(dataset["outcome"] != "diverged")
    return values.squeeze()


def _curves(values: xr.DataArray, axes: Any) -> Any:
    """Over the argument that is a number, one for each value of the other one."""
    dims = sorted(values.dims, key=lambda dim: values[dim].dtype.kind not in "iuf")
    along, others = dims[0], dims[1:]
    x = values[along].values
    words = x.dtype.kind not in "iuf"
    places = np.arange(len(x)) if words else x
    labels = values[others[0]].values if others else [None]
    ordered = bool(others) and values[others[0]].dtype.kind in "iuf"
    tints = shades(len(labels)) if ordered else [colour(k) for k in range(len(labels))]
    for number, (label, tint) in enumerate(zip(labels, tints, strict=True)):
        y = (values.isel({others[0]: number}) if others else values).values
        look = {"color": tint, "marker": MARKERS[number % len(MARKERS)], "fillstyle": "none"}
        dash = DASHES[number % len(DASHES)]
        named = None if label is None else _in_words(others[0], label)
        axes.plot(places, y, linestyle=dash, label=named, **look)
    if words:
        axes.set_xticks(places, [_in_words(along, name) for name in x])
    elif _is_wide(x):
        axes.set_xscale("log")
    if _is_wide(values.values):
        axes.set_yscale("log")
    axes.set(xlabel=_symbol(along), ylabel=_symbol(values.name))
    _mark_missing(axes, places, values.transpose(*others, along), tints)
    _count_missing(axes, values)
    return finished(axes)


def _mark_missing(axes: Any, x: np.ndarray, values: xr.DataArray, tints: Any) -> None:
    """Crosses above all curves where there is no number, a row for each curve that lacks some."""
    rows = np.atleast_2d(values.values)
    lacking = [number for number, y in enumerate(rows) if not np.all(np.isfinite(y))]
    step = min(ROW, 0.4 / max(len(lacking), 1))
    _leave_room(axes, step * len(lacking))
    place = axes.get_xaxis_transform()
    for row, number in enumerate(lacking):
        gone = x[~np.isfinite(rows[number])]
        height = np.full(len(gone), 1 - step * (row + 0.5))
        label = DIVERGED if row == 0 else None
        look = {"color": tints[number], "linestyle": "none", "transform": place}
        axes.plot(gone, height, "x", label=label, **look)


def _leave_room(axes: Any, part: float) -> None:
    """Keep a part of the height free of curves, at the upper end."""
    to_axis = axes.yaxis.get_transform()
    low, high = to_axis.transform(np.array(axes.get_ylim()))
    top = low + (high - low) / (1 - part)
    axes.set_ylim(top=float(to_axis.inverted().transform(np.array([top]))[0]))


def _count_missing(axes: Any, values: xr.DataArray) -> None:
    gone = int(np.sum(~np.isfinite(values.values)))
    if gone:
        note(axes, f"{gone} of {values.size} points have no number: they diverged or failed.")


def _map(values: xr.DataArray, axes: Any, norm: Any, bar: bool) -> Any:
    from matplotlib.patches import Patch

    x_name, y_name = values.dims
    x, y, z = values[x_name].values, values[y_name].values, values.values.T
    axes.set_facecolor(MISSING)
    image = axes.pcolormesh(x, y, z, norm=norm, shading="nearest", rasterized=True)
    for ticks, scale in ((x, axes.set_xscale), (y, axes.set_yscale)):
        if _is_wide(ticks):
            scale("log")
        elif np.min(ticks) == 0 and len(ticks) > 2 and _is_wide(ticks[ticks > 0]):
            scale("symlog", linthresh=float(np.min(ticks[ticks > 0])))
    lines = _contours(axes, x, y, z, norm)
    if bar:
        _colour_bar(axes, image, _symbol(values.name), lines)
    axes.set(xlabel=_symbol(x_name), ylabel=_symbol(y_name))
    _count_missing(axes, values)
    grey = Patch(color=MISSING, label=DIVERGED)
    finished(axes, handles=[] if np.all(np.isfinite(z)) else [grey], below=True)
    axes.grid(False)
    return axes


def _contours(axes: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, norm: Any) -> Any:
    """Lines at round values, up to the edges of the map; none between few points."""
    from matplotlib import patheffects

    finite = z[np.isfinite(z)]
    if min(z.shape) < FEWEST_FOR_CONTOURS or np.ptp(finite) == 0:
        return None
    levels = _round_levels(norm)
    edges = [_with_edges(values, *limits) for values, limits in _limits(axes, x, y)]
    lines = axes.contour(*edges, np.pad(z, 1, mode="edge"), levels=levels, colors="black")
    lines.set(linewidths=0.6, path_effects=[patheffects.withStroke(linewidth=1.8, foreground="w")])
    return lines


def _limits(axes: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return (x, axes.get_xlim()), (y, axes.get_ylim())


def _with_edges(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """The points and the ends of the axis."""
    ends = (low, high) if values[0] < values[-1] else (high, low)
    return np.concatenate([[ends[0]], values, [ends[1]]])


def _round_levels(norm: Any) -> np.ndarray:
    """Round values between the ends of the colours."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    from tutelage.figures.ticks import PlainLogLocator

    ticks = PlainLogLocator() if isinstance(norm, LogNorm) else MaxNLocator(LEVELS)
    levels = np.asarray(ticks.tick_values(norm.vmin, norm.vmax))
    return levels[(levels > norm.vmin) & (levels < norm.vmax)]


def _colour_bar(axes: Any, image: Any, label: str, lines: Any) -> None:
    """A scale of the colours, with a line for each contour."""
    from tutelage.figures.ticks import plain_log_ticks

    bar = axes.figure.colorbar(image, ax=axes, label=label)
    if bar.ax.get_yscale() == "log":
        plain_log_ticks(bar.ax.yaxis)
    bar.ax.yaxis.get_major_ticks(1), bar.ax.yaxis.get_minor_ticks(1)
    if lines is not None:
        bar.add_lines(lines)
        note(axes, "Contours have the values of the lines on the colour bar.")


def _panels(values: xr.DataArray, figsize: Any) -> Any:
    """One for each value of the argument that is no number, or has the fewest values."""
    apart = min(values.dims, key=lambda dim: (values[dim].dtype.kind in "iuf", values.sizes[dim]))
    count = values.sizes[apart]
    panels = new_panels(count, figsize, sharey=True)
    norm = _norm(values)
    for number, axes in enumerate(panels):
        one = values.isel({apart: number})
        _drawn(one, axes, norm, bar=number == count - 1)
        axes.set_title(_in_words(apart, values[apart].values[number]))
        axes.label_outer()
    return panels


def _table(dataset: xr.Dataset, values: xr.DataArray, axes: Any) -> Any:
    """Points of a table: a curve over one argument, coloured symbols over two."""
    names = [name for name in _swept(dataset) if dataset[name].dtype.kind in "iuf"][:2]
    if not names:
        raise InputError("dataset", "a table without numbers", "one argument has to be a number")
    if len(names) == 1:
        return _curves(values.swap_dims({POINT: names[0]}).sortby(names[0]), axes)
    x, y = (dataset[name].values for name in names)
    image = axes.scatter(x, y, c=values.values, norm=_norm(values), s=18)
    _colour_bar(axes, image, _symbol(values.name), None)
    axes.set(xlabel=_symbol(names[0]), ylabel=_symbol(names[1]))
    _count_missing(axes, values)
    return finished(axes)


def _is_wide(numbers: np.ndarray) -> bool:
    there = numbers[np.isfinite(numbers)]
    return bool(len(there) > 2 and np.min(there) > 0 and np.max(there) > WIDE * np.min(there))


def _norm(values: xr.DataArray) -> Any:
    """One scale of colours for all panels."""
    from matplotlib.colors import LogNorm, Normalize

    there = values.values[np.isfinite(values.values)]
    if not len(there):
        return Normalize(0, 1)
    kind = LogNorm if _is_wide(there) else Normalize
    return kind(float(np.min(there)), float(np.max(there)))


def _symbol(name: Any) -> str:
    return SYMBOLS.get(str(name), str(name).replace("_", " "))


def _in_words(argument: Any, value: Any) -> str:
    r"""A value of an argument: a number with its symbol, a unit by its name.

    >>> print(_in_words("weight_decay", 0.1), _in_words("activation", "Gate([0, 1])"), sep="; ")
    $\gamma$ = 0.1; Gate 0, 1
    """
    if isinstance(value, str | np.str_):
        return re.sub(r"[\[\](){}]+", " ", str(value)).strip().replace("  ", " ")
    return f"{_symbol(argument)} = {value:.4g}"
