"""Descriptions of pictures that the page draws: panels with axes, traces and marks, and numbers.

Everything is written as JSON.  Missing values are null, with a reason if there is one; NaN never
occurs.
"""

import json
import math
import re
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal

import numpy as np

TraceKind = Literal["line", "dashed", "dotted", "points", "faint", "heat"]


@dataclass(frozen=True)
class Axis:
    """An axis: its label (symbol and meaning), the scales to choose from, and its range, None
    for all data.
    """

    label: str
    symbol: str
    scale: Literal["linear", "log"] = "linear"
    scales: tuple[str, ...] = ("linear",)
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Trace:
    """A curve or map: its family determines the colour, its member the dashes; error bars have
    half length `error`.
    """

    name: str
    family: str
    x: Any
    y: Any
    member: int = 0
    kind: TraceKind = "line"
    z: Any = None
    error: Any = None


@dataclass(frozen=True)
class Mark:
    """A labelled line across a panel."""

    axis: Literal["x", "y"]
    at: float
    label: str


@dataclass(frozen=True)
class Panel:
    """A panel with axes, traces and marks; ``description`` is one sentence for screen readers."""

    name: str
    title: str
    description: str
    x: Axis
    y: Axis
    traces: list[Trace]
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class LabelledNumber:
    """A number next to the picture; a missing value is None with a reason."""

    label: str
    symbol: str
    value: float | str | None
    error: float | None = None
    reason: str | None = None


@dataclass
class Picture:
    """The answer of a view.

    panel_marks, slider_marks: marks for panels that are already drawn, and for sliders.
    frames: frames of an animation, each with a label and traces by the name of the panel.
    next: parameters changed by the view itself, such as the branch that is followed.
    """

    panels: list[Panel] = field(default_factory=list)
    numbers: list[LabelledNumber] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    panel_marks: dict[str, list[Mark]] = field(default_factory=dict)
    slider_marks: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    next: dict[str, Any] = field(default_factory=dict)


def estimate(label: str, symbol: str, value: Any, reason: str | None = None) -> LabelledNumber:
    """Return an `Estimate` or None as a number next to the picture."""
    if value is None:
        return LabelledNumber(label, symbol, None, None, reason or "there is none")
    return LabelledNumber(label, symbol, float(value.value), float(value.error))


SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def lowered(text: str) -> str:
    """Write numeric indices as subscripts.

    >>> lowered("c_3 = 0 and 2 c_4² > c_2²")
    'c₃ = 0 and 2 c₄² > c₂²'
    """
    return re.sub(r"_(\d+)", lambda match: match[1].translate(SUBSCRIPTS), text)


def as_json(picture: Picture | dict[str, Any], **more: object) -> bytes:
    """Return a picture or another answer as JSON in UTF-8.

    >>> as_json({"x": np.array([1.0, np.nan]), "y": (True, "a")})
    b'{"x": [1.0, null], "y": [true, "a"]}'
    """
    content = picture if isinstance(picture, dict) else vars(picture)
    return _json({**content, **more}, {}).encode()


def _json(value: object, texts: dict[object, str]) -> str:
    """Return a value as JSON, with null for NaN and infinity.

    Writing the digits of numbers takes most of the time.  Those of equal arrays are written once:
    all traces of a panel have the same times.

    texts: the JSON of each array so far.
    """
    if isinstance(value, np.ndarray):
        key = (value.dtype, value.shape, value.tobytes())
        if key not in texts:
            texts[key] = _json_of_array(value)
        return texts[key]
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        parts = (f"{_encode(str(name))}: {_json(part, texts)}" for name, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join([_json(part, texts) for part in value])}]"
    if isinstance(value, np.generic):
        value = value.item()
    return _encode(None if isinstance(value, float) and not math.isfinite(value) else value)


def _json_of_array(values: np.ndarray) -> str:
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        values = np.where(np.isfinite(values), values, None)  # type: ignore[call-overload]
    return _encode(values.tolist())
