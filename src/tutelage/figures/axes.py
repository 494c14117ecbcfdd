"""What all pictures share: checks of their arguments, the style, curves with bands."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError
from tutelage.figures.style import default_style

Picture = TypeVar("Picture", bound=Callable[..., Any])

BAND = {"alpha": 0.2, "linewidth": 0.0}
SYMBOLS = 20  # symbols on a curve: enough to follow it, few enough to see it


def drawing(picture: Picture) -> Picture:
    """The `validated` form of a picture, which is drawn in the style "screen" if there is no other.

    What a Dataset lacks, or what matplotlib takes for no style, colour or scale, is refused with
    their words: pictures compute nothing, so that an error is one of what they were given.
    """
    enter, first = validated(picture), next(iter(inspect.signature(picture).parameters))

    @wraps(picture)
    def drawn(*args: Any, **options: Any) -> Any:
        try:
            with default_style():
                return enter(*args, **options)
        except InputError:
            raise
        except (KeyError, ValueError) as problem:
            words = " ".join(str(problem).strip("'\"").split())
            lacks = isinstance(problem, KeyError)
            name = first if lacks else ", ".join(sorted({*options} - {first})) or first
            allowed = f"it cannot be drawn: {words[:200].rstrip('.')}"
            raise InputError(name, "what does not fit", allowed) from problem

    return drawn  # type: ignore[return-value]


def banded(
    axes: Any,
    x: np.ndarray,
    mean: np.ndarray,
    width: np.ndarray,
    *,
    colour: Any,
    style: Any,
    label: str | None = None,
) -> None:
    """A line, or for "o" symbols at about equidistant places; a band as wide as the spread."""
    at: Any = slice(None)
    if style == "o":
        wanted = np.linspace(x[0], x[-1], SYMBOLS)
        at = np.unique(np.abs(x - wanted[:, None]).argmin(axis=1))
    looks = {"color": colour, "linestyle": style, "fillstyle": "none", "label": label}
    if style == "o":
        looks |= {"linestyle": "none", "marker": "o", "markeredgewidth": 0.9}
    (line,) = axes.plot(x[at], mean[at], **looks)
    if np.any(np.isfinite(width)):
        axes.fill_between(x, mean - width, mean + width, color=line.get_color(), **BAND)


def check_training(dataset: xr.Dataset, name: str, axes: set[str] | None) -> None:
    """Refuse a Dataset that is no result of training with this variable and these dimensions."""
    allowed = "it has to be a result of training"
    if name not in dataset:
        hint = "tl.deep.train(..., correlations=True)" if "correlation_" in name else ""
        raise InputError("dataset", f"no {name!r}", allowed, hint or "tl.deep.train(...)")
    extra = "polarity" in dataset.dims or (axes is not None and set(dataset[name].dims) - axes)
    if extra:
        received = f"dimensions {tuple(dataset[name].dims)}"
        hint = "dataset.sel(polarity=1), or dataset.sel(multiple=5)"
        raise InputError("dataset", received, "one polarity and one multiple can be drawn", hint)
