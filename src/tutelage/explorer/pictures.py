"""Descriptions of pictures that the page draws: panels with axes, traces and marks, and numbers.

Everything is written as JSON.  Missing values are null, with a reason if there is one; NaN never
occurs.
"""

import json
import math
import re
from dataclasses import asdict, dataclass, field
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


def lowered(text: str) -> str:
    """Write numeric indices as subscripts.

    >>> lowered("c_3 = 0 and 2 c_4² > c_2²")
    'c₃ = 0 and 2 c₄² > c₂²'
    """
    return re.sub(r"_(\d+)", lambda match: match[1].translate(SUBSCRIPTS), text)


def trace_of(trace: Trace) -> dict[str, Any]:
    """Return a trace as a dictionary."""
    return asdict(trace)


def plain(value: object) -> Any:
    """Convert to types that JSON supports: lists, and null for NaN and infinity.

    >>> plain({"x": np.array([1.0, np.nan]), "y": (True, "a")})
    {'x': [1.0, None], 'y': [True, 'a']}
    """
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
            return plain(value.tolist())
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def as_json(picture: Picture | Any, **more: object) -> bytes:
    """Return a picture or another answer as JSON in UTF-8."""
    content = asdict(picture) if not isinstance(picture, dict) else picture
    text = json.dumps(plain({**content, **more}), ensure_ascii=False, allow_nan=False)
    return text.encode()
