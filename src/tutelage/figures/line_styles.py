"""Line styles of overlaps: colour by the first index, dashes by the second, assigned pairs thick.

Curves that coincide are drawn as one line that is labelled with all their symbols.  For networks
with more units than there are dash patterns, only the range of each group of overlaps is drawn.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from tutelage.figures.style import colour
from tutelage.figures.text import MAX_LABELS

DASHES: tuple[Any, ...] = (
    "-",
    (0, (4.5, 1.5)),
    (0, (1.0, 1.2)),
    (0, (6.0, 1.5, 1.0, 1.5)),
    (0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
)
MARKERS = ("o", "^", "s", "D", "v")  # by the second index, where all curves have one line style
FILLS = {"R": "none", "Q": "full", "v": "left"}
MAX_STYLED_UNITS = len(DASHES)
ASSIGNED_WIDTH_FACTOR = 1.8  # width of assigned pairs relative to other lines
EQUAL_FRACTION = 1e-6  # curves closer than this part of the largest value are called equal
HIDDEN_FRACTION = 2e-3  # curves closer than this part of the range hide each other
MAX_SYMBOLS = 3  # symbols of coinciding curves in a label, before they are abbreviated


class OverlapCurve(NamedTuple):
    """An overlap over time: R_in, Q_ik (i <= k) or v_ci.

    name: its symbol with its indices, as a formula.
    first, second: its indices, counted from 0.
    spread: standard deviation over runs; NaN for a single run.
    """

    name: str
    letter: str
    first: int
    second: int
    values: np.ndarray
    spread: np.ndarray

    @property
    def is_diagonal(self) -> bool:
        return self.first == self.second


class LineStyle(NamedTuple):
    """Colour, dash pattern, and a marker on a few points (empty: none)."""

    colour: Any
    dashes: Any
    marker: str = ""


def line_style(curve: OverlapCurve, mixed: bool = False) -> LineStyle:
    """Return the line style of an overlap, which depends on its symbol only.

    mixed: R and Q share the Axes; Q is then marked with small squares.
    """
    dashes = DASHES[curve.second % len(DASHES)]
    return LineStyle(colour(curve.first), dashes, "s" if mixed and curve.letter == "Q" else "")


def symbol_style(curve: OverlapCurve, mixed: bool) -> dict[str, Any]:
    """Return the marker of an overlap among many that have one line style.

    mixed: overlaps with several letters share the Axes; the fill then tells the letters apart.
    """
    return {
        "marker": MARKERS[curve.second % len(MARKERS)],
        "fillstyle": FILLS[curve.letter] if mixed else "none",
        "markeredgewidth": 0.7,
    }


def assigned_pairs(curves: Sequence[OverlapCurve]) -> set[str]:
    """Return the symbols R_in of the one-to-one assignment of students to teachers.

    It maximizes the sum of R_in at the last time; ties go to the diagonal.
    """
    overlaps = [c for c in curves if c.letter == "R"]
    if not overlaps:
        return set()
    shape = (1 + max(c.first for c in overlaps), 1 + max(c.second for c in overlaps))
    R, names = np.zeros(shape), np.empty(shape, dtype=object)
    for c in overlaps:
        finite = c.values[np.isfinite(c.values)]
        R[c.first, c.second] = finite[-1] if len(finite) else 0.0
        names[c.first, c.second] = c.name
    R = R + 1e-9 * np.max(np.abs(R)) * np.eye(*shape)
    return set(names[best_assignment(R)])


def best_assignment(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the one-to-one pairs with the largest sum of entries."""
    if max(R.shape) > MAX_STYLED_UNITS:
        from scipy.optimize import (
            linear_sum_assignment,
        )  # loading it takes 0.4 s, which a picture of few units saves

        return linear_sum_assignment(-R)
    if R.shape[0] > R.shape[1]:
        columns, rows = best_assignment(R.T)
        return rows, columns
    rows = np.arange(R.shape[0])
    choices = np.array(list(permutations(range(R.shape[1]), R.shape[0])))
    return rows, choices[np.argmax(R[rows, choices].sum(axis=1))]


class CoincidingCurves(NamedTuple):
    """Curves that hide each other; ``equal`` if their values are equal up to rounding."""

    curves: list[OverlapCurve]
    equal: bool


def group_coinciding(curves: Sequence[OverlapCurve]) -> list[CoincidingCurves]:
    """Group the curves that hide each other, in the order of their first members."""
    if not curves:
        return []
    values = np.concatenate([c.values for c in curves])
    values = values[np.isfinite(values)]
    scale = float(np.max(np.abs(values), initial=0.0))
    span = float(np.ptp(values)) if len(values) else 0.0
    groups: list[CoincidingCurves] = []
    for curve in curves:
        for number, (members, equal) in enumerate(groups):
            distance = _distance(members[0], curve)
            if distance <= max(HIDDEN_FRACTION * span, EQUAL_FRACTION * scale):
                equal = equal and distance <= EQUAL_FRACTION * scale
                groups[number] = CoincidingCurves([*members, curve], equal)
                break
        else:
            groups.append(CoincidingCurves([curve], True))
    return groups


def _distance(a: OverlapCurve, b: OverlapCurve) -> float:
    if not np.array_equal(np.isfinite(a.values), np.isfinite(b.values)):
        return np.inf
    gaps = np.abs(a.values - b.values)
    return float(np.max(gaps[np.isfinite(gaps)], initial=0.0))


def group_label(group: CoincidingCurves, curves: Sequence[OverlapCurve]) -> str:
    """Return a label such as R_11 = R_22, or R_in, i ≠ n, for coinciding curves."""
    members, equal = group
    sign = " = " if equal else r" $\approx$ "
    if len(members) <= MAX_SYMBOLS:
        return sign.join(c.name for c in members)
    letters = dict.fromkeys(c.letter for c in members)
    parts = [_collective_symbol(letter, members, curves) for letter in letters]
    if all(parts):
        return sign.join(str(part) for part in parts)
    symbols = sign.join(c.name for c in members[: MAX_SYMBOLS - 1])
    return f"{symbols}, {len(members) - MAX_SYMBOLS + 1} more"


def _collective_symbol(
    letter: str, members: Sequence[OverlapCurve], curves: Sequence[OverlapCurve]
) -> str | None:
    """Return the symbol of all overlaps of a letter, of its diagonal or of all others."""
    present = {c.name for c in members if c.letter == letter}
    if len(present) == 1:
        return present.pop()
    every = [c for c in curves if c.letter == letter]
    second = {"R": "n", "Q": "k", "v": "i"}[letter]
    first = "c" if letter == "v" else "i"
    symbol = f"{letter}_{{{first}{second}}}"
    sets = {
        f"${symbol}$": {c.name for c in every},
        f"${letter}_{{{first}{first}}}$": {c.name for c in every if c.is_diagonal},
        rf"${symbol}$, ${first} \neq {second}$": {c.name for c in every if not c.is_diagonal},
    }
    return next((name for name, names in sets.items() if names == present), None)


def style_legend(curves: Sequence[OverlapCurve], mixed: bool, assigned: bool) -> list[Any]:
    """Return legend entries that explain colours, dashes and widths instead of each curve."""
    first, second = _index_symbols(curves)
    entries = [_entry(f"${first} = {i + 1}$", color=colour(i)) for i in _numbers(curves, "first")]
    entries += [
        _entry(f"${second} = {n + 1}$", linestyle=DASHES[n]) for n in _numbers(curves, "second")
    ]
    if assigned:
        entries.append(_entry("assigned", linewidth=_line_width(True)))
    if mixed:
        entries.append(_entry("$Q_{ik}$", marker="s", markersize=_marker_size()))
    return entries


def symbol_legend(curves: Sequence[OverlapCurve], style: str) -> list[Any]:
    """Return legend entries that explain the colours and markers of curves in one line style."""
    first, second = _index_symbols(curves)
    line = "none" if style == "o" else style
    letters = dict.fromkeys(c.letter for c in curves)
    entries = [
        _entry(f"${first} = {i + 1}$", color=colour(i), linestyle="-" if style == "o" else line)
        for i in _numbers(curves, "first")
    ]
    entries += [
        _entry(f"${second} = {n + 1}$", linestyle="none", marker=MARKERS[n], fillstyle="none")
        for n in _numbers(curves, "second")
    ]
    if len(letters) > 1:
        names = {"R": "$R_{in}$", "Q": "$Q_{ik}$", "v": "$v_{ci}$"}
        entries += [
            _entry(names[x], linestyle="none", marker=MARKERS[0], fillstyle=FILLS[x])
            for x in letters
        ]
    return entries


def _entry(label: str, **options: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{"color": "0.25", **options})


def _index_symbols(curves: Sequence[OverlapCurve]) -> tuple[str, str]:
    """Return the letters of the first and the second index of all curves."""
    letters = set(c.letter for c in curves)
    if letters == {"v"}:
        return "c", "i"
    return "i", "n, k" if {"R", "Q"} <= letters else "n" if "R" in letters else "k"


def _numbers(curves: Sequence[OverlapCurve], index: str) -> list[int]:
    return sorted({getattr(c, index) for c in curves})


def is_too_long(label_count: int) -> bool:
    """Return whether a legend with an entry per curve would be too long to be read."""
    return label_count > MAX_LABELS


def draw_lines(
    axes: Any, x: np.ndarray, curves: Sequence[OverlapCurve], mixed: bool
) -> Iterator[Any]:
    """Draw one line per group of coinciding curves; yield each group with its line style."""
    pairs = assigned_pairs(curves)
    for group in group_coinciding(curves):
        curve = group.curves[0]
        style = line_style(curve, mixed)
        options = {"marker": style.marker, "markersize": _marker_size(), "markevery": 0.08}
        axes.plot(
            x,
            curve.values,
            color=style.colour,
            linestyle=style.dashes,
            linewidth=_line_width(bool(pairs & {c.name for c in group.curves})),
            label=group_label(group, curves),
            **options if style.marker else {},
        )
        yield group, style


def _line_width(assigned: bool) -> float:
    import matplotlib

    return matplotlib.rcParams["lines.linewidth"] * (ASSIGNED_WIDTH_FACTOR if assigned else 1.0)


def _marker_size() -> float:
    import matplotlib

    return 0.6 * matplotlib.rcParams["lines.markersize"]


def overlap_groups(curves: Sequence[OverlapCurve]) -> list[tuple[str, LineStyle, np.ndarray]]:
    """Return label, line style and all values of each group of overlaps of many units.

    The groups are R of assigned pairs, other R, Q on the diagonal, other Q, and v.
    """
    pairs = assigned_pairs(curves)
    groups: list[tuple[str, LineStyle, list[OverlapCurve]]] = [
        ("$R_{in}$, assigned", LineStyle(colour(0), "-"), [c for c in curves if c.name in pairs]),
        (
            "$R_{in}$, others",
            LineStyle(colour(1), DASHES[1]),
            [c for c in curves if c.letter == "R" and c.name not in pairs],
        ),
        (
            "$Q_{ii}$",
            LineStyle(colour(2), DASHES[3]),
            [c for c in curves if c.letter == "Q" and c.is_diagonal],
        ),
        (
            r"$Q_{ik}$, $i \neq k$",
            LineStyle(colour(4), DASHES[2]),
            [c for c in curves if c.letter == "Q" and not c.is_diagonal],
        ),
        ("$v_{ci}$", LineStyle(colour(5), "-"), [c for c in curves if c.letter == "v"]),
    ]
    return [(name, style, np.stack([c.values for c in cs])) for name, style, cs in groups if cs]
