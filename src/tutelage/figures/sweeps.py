"""Studies: a curve over one swept argument, a map over two, panels over three."""

import json
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.axes import drawing, finished, new_axes, shades
from tutelage.model.numbers import SYMBOLS as SYMBOLS_OF_NUMBERS
from tutelage.sweeps.points import POINT

# Numbers that are all positive and spread so widely have a logarithmic axis.
WIDE = 30.0
MISSING = "0.85"
# Labels of lines that are closer to a side, in units of the panel, are left out.
BORDER = 0.08
PANEL = (4.2, 3.4)
SYMBOLS = {
    **SYMBOLS_OF_NUMBERS,
    "learning_rate": r"$\eta$",
    "load": r"$\alpha$",
    "beta": r"$\beta$",
    "units": "$K$",
    "generalization_error": r"$\epsilon_g$",
}


@drawing
def sweep(dataset: xr.Dataset, axes: Any = None, *, variable: str | None = None) -> Any:
    """A number at all points of a study, over the swept arguments.

    Args:
        dataset: from `tutelage.sweeps.run` or `tutelage.sweeps.load`, perhaps a part of it.
        axes: Axes to draw on, unless there are panels; a new figure when left out.
        variable: which number; by default the generalization error, or the first there is.

    Returns:
        The Axes drawn on; an array of them for three swept arguments.  One is drawn as a curve, two
        as a map with contours, or as curves if one of them is no number; the third one makes
        panels.  Points without a number, as those that failed or diverged, are grey or left out.
    """
    name = _chosen(dataset, variable)
    values = _values(dataset, name)
    if POINT in values.dims:
        return _table(dataset, values, new_axes(axes))
    if values.ndim == 3:
        return _panels(values)
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
        return "generalization_error" if "generalization_error" in numbers else numbers[0]
    if variable not in numbers:
        allowed = f"one number at each point are {', '.join(numbers) or 'none'}"
        raise InputError("variable", repr(variable), allowed)
    return variable


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
    labels = values[others[0]].values if others else [None]
    colours = shades(len(labels)) if len(labels) > 1 else ["C0"]
    for number, (label, colour) in enumerate(zip(labels, colours, strict=True)):
        y = (values.isel({others[0]: number}) if others else values).values
        named = None if label is None else str(label)
        axes.plot(
            np.arange(len(x)) if words else x, y, "o-", color=colour, label=named, markersize=3
        )
    if words:
        axes.set_xticks(np.arange(len(x)), x)
    elif _is_wide(x):
        axes.set_xscale("log")
    if _is_wide(values.values):
        axes.set_yscale("log")
    axes.set(xlabel=_symbol(along), ylabel=_symbol(values.name))
    return finished(axes)


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
    if min(z.shape) > 2 and np.isfinite(z).sum() > 8 and np.ptp(z[np.isfinite(z)]) > 0:
        levels = _levels(z, norm)
        lines = axes.contour(x, y, z, levels=levels, colors="white", linewidths=0.7)
        _label(axes, lines)
    if bar:
        axes.figure.colorbar(image, ax=axes, label=_symbol(values.name))
    if not np.all(np.isfinite(z)):
        grey = Patch(color=MISSING, label="diverged, or failed")
        axes.legend(handles=[grey], fontsize="x-small", loc="lower right")
    axes.set(xlabel=_symbol(x_name), ylabel=_symbol(y_name))
    return axes


def _label(axes: Any, lines: Any) -> None:
    """Levels on their lines, but for those that the sides would cut."""
    written = axes.clabel(lines, fontsize="x-small", fmt=lambda level: f"{level:.2g}")
    to_axes = axes.transData + axes.transAxes.inverted()
    for text in list(written):
        at = to_axes.transform(text.get_position())
        if np.any(np.abs(at - 0.5) > 0.5 - BORDER):
            text.remove()


def _panels(values: xr.DataArray) -> Any:
    """One for each value of the argument that is no number, or has the fewest values."""
    import matplotlib.pyplot as plt

    apart = min(values.dims, key=lambda dim: (values[dim].dtype.kind in "iuf", values.sizes[dim]))
    count = values.sizes[apart]
    size = (PANEL[0] * count, PANEL[1])
    _, every = plt.subplots(
        1, count, figsize=size, squeeze=False, sharey=True, layout="constrained"
    )
    norm = _norm(values)
    for number, axes in enumerate(every[0]):
        one = values.isel({apart: number})
        _drawn(one, axes, norm, bar=number == count - 1)
        label = values[apart].values[number]
        shown = label if isinstance(label, str) else f"{_symbol(apart)} = {label:.4g}"
        axes.set_title(shown, fontsize="medium")
        axes.label_outer()
    return every[0]


def _table(dataset: xr.Dataset, values: xr.DataArray, axes: Any) -> Any:
    """Points of a table: a curve over one argument, coloured symbols over two."""
    names = [name for name in _swept(dataset) if dataset[name].dtype.kind in "iuf"][:2]
    if not names:
        raise InputError("dataset", "a table without numbers", "one argument has to be a number")
    if len(names) == 1:
        return _curves(values.swap_dims({POINT: names[0]}).sortby(names[0]), axes)
    x, y = (dataset[name].values for name in names)
    image = axes.scatter(x, y, c=values.values, norm=_norm(values), s=18)
    axes.figure.colorbar(image, ax=axes, label=_symbol(values.name))
    axes.set(xlabel=_symbol(names[0]), ylabel=_symbol(names[1]))
    return axes


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


def _levels(z: np.ndarray, norm: Any) -> np.ndarray:
    """Contours that are equidistant on the scale of the colours."""
    return np.asarray(norm.inverse(np.linspace(0.0, 1.0, 8)[1:-1]))


def _symbol(name: Any) -> str:
    return SYMBOLS.get(str(name), str(name).replace("_", " "))
