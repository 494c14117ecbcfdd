"""Shared by all figure functions: checks of arguments, the style, curves with bands."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError
from tutelage.figures.style import default_style

Figure = TypeVar("Figure", bound=Callable[..., Any])

BAND = {"alpha": 0.2, "linewidth": 0.0}
SYMBOLS_PER_CURVE = 20
MARKED_FRACTION = 0.08  # distance of the symbols on a line, relative to the diagonal of the Axes


def figure_function(function: Figure) -> Figure:
    """Decorate a public figure function: check its arguments, and draw in the style "screen".

    Another style that is active is not replaced.  A variable missing from a Dataset, or a colour,
    style or scale that Matplotlib refuses, is reported as an `InputError`: figure functions
    compute nothing, so that errors come from their arguments.
    """
    checked, first = validated(function), next(iter(inspect.signature(function).parameters))

    @wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        try:
            with default_style():
                return checked(*args, **options)
        except InputError:
            raise
        except (KeyError, ValueError) as problem:
            words = " ".join(str(problem).strip("'\"").split())
            lacks = isinstance(problem, KeyError)
            name = first if lacks else ", ".join(sorted({*options} - {first})) or first
            allowed = f"it cannot be drawn: {words[:200].rstrip('.')}"
            raise InputError(name, "values that do not fit", allowed) from problem

    return wrapper  # type: ignore[return-value]


def plot_with_band(
    axes: Any,
    x: np.ndarray,
    mean: np.ndarray,
    width: np.ndarray,
    *,
    colour: Any,
    style: str | tuple[int, tuple[float, ...]] | None,
    label: str | None = None,
    symbols: Mapping[str, Any] | None = None,
) -> None:
    """Plot a line, or symbols at about equidistant points for "o", and a band around it.

    symbols: options of the markers, which lines then have too.
    """
    points: Any = slice(None)
    if style == "o":
        positions = np.linspace(x[0], x[-1], SYMBOLS_PER_CURVE)
        points = np.unique(np.abs(x - positions[:, None]).argmin(axis=1))
    options = {"color": colour, "linestyle": style, "fillstyle": "none", "label": label}
    if style == "o":
        options |= {"linestyle": "none", "marker": "o", "markeredgewidth": 0.9}
    elif symbols:
        options |= {"markevery": MARKED_FRACTION}
    options |= symbols or {}
    (line,) = axes.plot(x[points], mean[points], **options)
    if np.any(np.isfinite(width)):
        axes.fill_between(x, mean - width, mean + width, color=line.get_color(), **BAND)


def check_training(dataset: xr.Dataset, name: str, axes: set[str] | None) -> None:
    """Check that a Dataset comes from training, and has a variable with these dimensions."""
    allowed = "it has to be a result of training"
    if name not in dataset:
        hint = "tl.deep.train(..., correlations=True)" if "correlation_" in name else ""
        raise InputError("dataset", f"no {name!r}", allowed, hint or "tl.deep.train(...)")
    extra = "polarity" in dataset.dims or (axes is not None and set(dataset[name].dims) - axes)
    if extra:
        received = f"dimensions {tuple(dataset[name].dims)}"
        hint = "dataset.sel(polarity=1), or dataset.sel(multiple=5)"
        raise InputError("dataset", received, "one polarity and one multiple can be drawn", hint)
