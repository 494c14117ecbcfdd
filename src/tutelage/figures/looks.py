"""Looks of overlaps: colour by the first index, line style by the second, assigned pairs thick.

Curves that coincide are one line with all their names.  Of networks with more units than there are
looks, the ranges of groups of overlaps are drawn.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from tutelage.figures.style import colour
from tutelage.figures.text import MOST_LABELS

DASHES: tuple[Any, ...] = (
    "-",
    (0, (4.5, 1.5)),
    (0, (1.0, 1.2)),
    (0, (6.0, 1.5, 1.0, 1.5)),
    (0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
)
MOST_UNITS = len(DASHES)
THICK = 1.8  # times the width of other lines
EQUAL = 1e-6  # of the largest value: equal, as symmetry makes them
HIDDEN = 2e-3  # of the range of all curves: a line on another one
NAMES_IN_FULL = 3


class Curve(NamedTuple):
    """An overlap over time: R_in, Q_ik (i <= k) or v_ci.

    name: its symbol with its indices, as a formula.
    first, second: its indices from 0; a curve has the colour of the first one.
    spread: over runs; missing for one run.
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


class Look(NamedTuple):
    """Colour and line style; ``marker`` on a few points."""

    colour: Any
    style: Any
    marker: str = ""


def look_of(curve: Curve, mixed: bool = False) -> Look:
    """The look of an overlap, which depends on its name alone.

    mixed: whether R and Q are in one picture; Q has small squares there.
    """
    dash = DASHES[curve.second % len(DASHES)]
    return Look(colour(curve.first), dash, "s" if mixed and curve.letter == "Q" else "")


def assigned(curves: Sequence[Curve]) -> set[str]:
    """Names of R_in whose teacher n is the one of student i, each teacher of one student.

    The sum of R_in over the pairs is the largest at the last time; of equal ones the diagonal.
    """
    overlaps = [c for c in curves if c.letter == "R"]
    if not overlaps:
        return set()
    shape = (1 + max(c.first for c in overlaps), 1 + max(c.second for c in overlaps))
    R, names = np.zeros(shape), np.empty(shape, dtype=object)
    for c in overlaps:
        there = c.values[np.isfinite(c.values)]
        R[c.first, c.second] = there[-1] if len(there) else 0.0
        names[c.first, c.second] = c.name
    R = R + 1e-9 * np.max(np.abs(R)) * np.eye(*shape)
    pairs = linear_sum_assignment(-R)
    return set(names[pairs])


class Group(NamedTuple):
    """Curves that are one line on paper; ``equal`` if they are equal, and not only nearly."""

    curves: list[Curve]
    equal: bool


def grouped(curves: Sequence[Curve]) -> list[Group]:
    """Put curves that cannot be told apart into groups, each beside its first one."""
    if not curves:
        return []
    every = np.concatenate([c.values for c in curves])
    every = every[np.isfinite(every)]
    scale = float(np.max(np.abs(every), initial=0.0))
    span = float(np.ptp(every)) if len(every) else 0.0
    groups: list[Group] = []
    for curve in curves:
        for number, (members, equal) in enumerate(groups):
            if _distance(members[0], curve) <= max(HIDDEN * span, EQUAL * scale):
                exact = equal and _distance(members[0], curve) <= EQUAL * scale
                groups[number] = Group([*members, curve], exact)
                break
        else:
            groups.append(Group([curve], True))
    return groups


def _distance(a: Curve, b: Curve) -> float:
    gaps = np.abs(a.values - b.values)
    if not np.array_equal(np.isfinite(a.values), np.isfinite(b.values)):
        return np.inf
    return float(np.max(gaps[np.isfinite(gaps)], initial=0.0))


def name_of(group: Group, curves: Sequence[Curve]) -> str:
    """All names of a line: R_11 = R_22, or R_in, i ≠ n, for as many as there are."""
    members, equal = group
    sign = " = " if equal else r" $\approx$ "
    if len(members) <= NAMES_IN_FULL:
        return sign.join(c.name for c in members)
    letters = dict.fromkeys(c.letter for c in members)
    parts = [_collective(a, members, curves) for a in letters]
    if all(parts):
        return sign.join(str(part) for part in parts)
    named = sign.join(c.name for c in members[: NAMES_IN_FULL - 1])
    return f"{named}, {len(members) - NAMES_IN_FULL + 1} more"


def _collective(letter: str, members: Sequence[Curve], curves: Sequence[Curve]) -> str | None:
    """The name of all overlaps of a letter, of its diagonal or of all others."""
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


def key(curves: Sequence[Curve], mixed: bool, thick: bool) -> list[Any]:
    """Entries of a legend for too many curves: what colour, style and width mean."""
    from matplotlib.lines import Line2D

    letters = "".join(dict.fromkeys(c.letter for c in curves))
    first, second = {"v": ("c", "i")}.get(letters, ("i", "n" if letters == "R" else "k"))
    second = "n, k" if {"R", "Q"} <= set(letters) else second

    def entry(label: str, **options: Any) -> Any:
        return Line2D([], [], label=label, **{"color": "0.25", **options})

    firsts = sorted({c.first for c in curves})
    seconds = sorted({c.second for c in curves})
    entries = [entry(f"${first} = {i + 1}$", color=colour(i)) for i in firsts]
    entries += [entry(f"${second} = {n + 1}$", linestyle=DASHES[n]) for n in seconds]
    if thick:
        entries.append(entry("assigned", linewidth=_width(True)))
    if mixed:
        entries.append(entry("$Q_{ik}$", marker="s", markersize=_marker_size()))
    return entries


def draw_lines(axes: Any, x: np.ndarray, curves: Sequence[Curve], mixed: bool) -> Iterator[Any]:
    """Draw one line for each group; yield its group, look and line."""
    thick = assigned(curves)
    for group in grouped(curves):
        curve = group.curves[0]
        look = look_of(curve, mixed)
        options = {"marker": look.marker, "markersize": _marker_size(), "markevery": 0.08}
        (line,) = axes.plot(
            x,
            curve.values,
            color=look.colour,
            linestyle=look.style,
            linewidth=_width(bool(thick & {c.name for c in group.curves})),
            label=name_of(group, curves),
            **options if look.marker else {},
        )
        yield group, look, line


def has_key(count: int) -> bool:
    return count > MOST_LABELS


def _width(thick: bool) -> float:
    import matplotlib

    return matplotlib.rcParams["lines.linewidth"] * (THICK if thick else 1.0)


def _marker_size() -> float:
    import matplotlib

    return 0.6 * matplotlib.rcParams["lines.markersize"]


def ranges(curves: Sequence[Curve]) -> list[tuple[str, Look, np.ndarray]]:
    """Groups of overlaps of many units: name, look, and all their values.

    R of assigned pairs and of others, Q of the diagonal and of others, v as a whole.
    """
    own = assigned(curves)
    groups: list[tuple[str, Look, list[Curve]]] = [
        ("$R_{in}$, assigned", Look(colour(0), "-"), [c for c in curves if c.name in own]),
        (
            "$R_{in}$, others",
            Look(colour(1), DASHES[1]),
            [c for c in curves if c.letter == "R" and c.name not in own],
        ),
        (
            "$Q_{ii}$",
            Look(colour(2), DASHES[3]),
            [c for c in curves if c.letter == "Q" and c.is_diagonal],
        ),
        (
            r"$Q_{ik}$, $i \neq k$",
            Look(colour(4), DASHES[2]),
            [c for c in curves if c.letter == "Q" and not c.is_diagonal],
        ),
        ("$v_{ci}$", Look(colour(5), "-"), [c for c in curves if c.letter == "v"]),
    ]
    return [(n, look, np.stack([c.values for c in cs])) for n, look, cs in groups if cs]
