"""Beyond citton2025: the atlas of minima of committees, shown from recorded runs.

`tutelage.papers.beyond.families` computes the files: stationary points of all symmetric families of
ReLU committees by two routes, what becomes of their minima as scenarios change, and the minima of
other units.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.style import ordered_colours
from tutelage.figures.text import SYMBOLS, finish
from tutelage.papers import recorded
from tutelage.papers.beyond.families import (
    FOLLOWED,
    LARGEST_CORRELATION,
    MOST_TEACHERS,
    RECORDED,
    SOLVED,
    UNIT_STARTS,
    coupled,
    of_family,
    onsets,
)
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

# Committees whose paths are rows of the report; the others are in its data.
SHOWN = (6, 8, 10)
# Rounding of sums of 4 M² terms; the difference of the two routes is added.
ROUNDING = 1e-14
NOTE = (
    "ReLU, T = 1, η → 0: gradient descent within each symmetric family, then Newton's method in "
    "the weights. The overlaps' route: rates of change and Jacobian of the equations for Q and R."
)
NOTE_PATHS = (
    "Every minimum of K = M is followed by its arclength; T_nm = c for all pairs of teachers, or "
    "leaky units of slope s on both sides. The branch stays in its symmetric family: all these "
    "minima open in directions that break the symmetry."
)

TICKS = range(4, MOST_TEACHERS + 1, 4)  # of K = M
NOTE_RATE = (
    "Exact in η, K(K + 1)/2 + K² equations: the first learning rate at which an eigenvalue of the "
    "branch from η = 0.02 passes through zero."
)
NOTE_UNITS = (
    f"T = 1, η → 0, {UNIT_STARTS} starts w_i ~ N(0, 1/d) in d = 2K, and all symmetric families. A "
    "run counts if its force is below 0.01 of the smallest curvature. A search from starts proves "
    "no completeness."
)
RowBuilder = Callable[[xr.Dataset], Iterator[Row]]
Drawing = Callable[[xr.Dataset, Any], None]


def show(
    name: str, drawings: tuple[Drawing, ...], rows: RowBuilder, full: bool
) -> Iterator[Row | Figure]:
    """Show one recorded file of the atlas; a full run computes it again."""
    before = recorded.load_recorded("beyond", name)
    return recorded.show_recorded(
        before, RECORDED[name], lambda data: chain([_figure(data, drawings)], rows(data)), full
    )


def _figure(data: xr.Dataset, drawings: tuple[Drawing, ...]) -> Figure:
    from tutelage.figures.style import new_panels

    panels = new_panels(len(drawings))
    for draw, axes in zip(drawings, np.atleast_1d(panels), strict=True):
        draw(data, axes)
    return Figure(np.atleast_1d(panels)[0].figure, {"": data})


def draw_levels(data: xr.Dataset, axes: Any) -> None:
    """Draw the errors of all minima of K = M over M, and join those of one family."""
    minima = data.isel(state=np.flatnonzero(data["index"].values == 0))
    for names, tint in (("coupled", "C0"), ("separate", "C1")):
        for name in dict.fromkeys(minima.family.values.tolist()):
            one = of_family(minima, name)
            if name == "solution" or ("separate" in name) != (names == "separate"):
                continue
            axes.plot(one.teachers, one.generalization_error, ".-", color=tint, linewidth=0.7)
    for label, tint in (("$k$ anti-aligned, coupled", "C0"), ("separate", "C1")):
        axes.plot([], [], ".-", color=tint, label=label)
    axes.set(xlabel="$K = M$", ylabel=SYMBOLS["generalization_error"], xticks=TICKS)
    finish(axes)


def draw_curvatures(data: xr.Dataset, axes: Any) -> None:
    """Draw the smallest curvature of the coupled families over K = M."""
    most = MOST_TEACHERS // 2
    for k, tint in zip(range(1, most + 1), ordered_colours(most), strict=True):
        one = of_family(data, coupled(k))
        axes.plot(one.teachers, one.smallest_curvature, ".-", color=tint, label=f"$k = {k}$")
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set(xlabel="$K = M$", ylabel="smallest curvature", xticks=TICKS)
    finish(axes)


def draw_paths(data: xr.Dataset, axes: Any) -> None:
    """Draw the correlation of teachers at which each minimum of K = M turns into a saddle."""
    for name in dict.fromkeys(data.family.values.tolist()):
        one = of_family(data, name)
        tint = "C1" if "separate" in name else "C0"
        axes.plot(one.teachers, one["at"].sel(path="correlation"), ".-", color=tint, linewidth=0.7)
    for label, tint in (("coupled", "C0"), ("separate", "C1")):
        axes.plot([], [], ".-", color=tint, label=label)
    axes.set(xlabel="$K = M$", ylabel=r"$T_{nm}$ of the saddle", xticks=np.unique(data.teachers))
    finish(axes)


def draw_rates(data: xr.Dataset, axes: Any) -> None:
    """Draw the learning rate up to which each minimum is stable, over its anti-aligned units."""
    anti = np.array([int(name.partition(" ")[0]) for name in data.family.values])
    separate = np.array(["separate" in name for name in data.family.values])
    extra = (data.units != data.teachers).values
    kinds = {"coupled": ("o-", ~separate & ~extra), "separate": ("s-", separate)}
    kinds["$K = M + 1$"] = ("^", extra)
    for place, teachers in enumerate(np.unique(data.teachers)):
        axes.plot([], [], "-", color=f"C{place}", label=f"$M = {teachers}$")
        for style, chosen in kinds.values():
            states = np.flatnonzero(chosen & (data.teachers.values == teachers))
            rates = data["at"].values[states]
            axes.plot(anti[states], rates, style, color=f"C{place}", markersize=4)
    for name, (style, _) in kinds.items():
        axes.plot([], [], style[0], color="0.4", markersize=4, label=name)
    axes.set(xlabel="anti-aligned units", ylabel=r"$\eta$ up to which the minimum is stable")
    axes.set_xticks(np.unique(anti))
    finish(axes)


def draw_solved(data: xr.Dataset, axes: Any) -> None:
    """Draw the share of starts that reach the solution over the number of units."""
    for name in dict.fromkeys(data.unit.values.tolist()):
        one = data.isel(state=np.flatnonzero(data.unit.values == name)).sortby("units")
        share, width = one.share.isel(level=0), one.share_error.isel(level=0)
        axes.errorbar(one.units, share, yerr=width, fmt="o-", markersize=3, capsize=2, label=name)
    axes.set(xlabel="$K = M$", ylabel="share of starts at the solution")
    axes.set_xticks(np.unique(data.units))
    axes.set_ylim(0.0, 1.05)
    finish(axes)


def draw_ladders(data: xr.Dataset, axes: Any) -> None:
    """Draw the minima of the largest committee of each unit as a ladder with shares."""
    most = int(data.units.max())
    largest = data.isel(state=np.flatnonzero(data.units.values == most))
    for place in range(largest.sizes["state"]):
        one, tint = largest.isel(state=place), f"C{place}"
        error, share, width = (
            one[x].values[: int(one.minima)]
            for x in ("generalization_error", "share", "share_error")
        )
        axes.hlines(error, place, place + 0.85, color="0.8", linewidth=0.8, zorder=1)
        axes.hlines(error, place, place + 0.85 * share, color=tint, linewidth=2.0, zorder=2)
        axes.errorbar(
            place + 0.85 * share, error, xerr=0.85 * width, fmt="none", ecolor=tint, capsize=2,
        )  # fmt: skip
    axes.set(ylabel=SYMBOLS["generalization_error"], xlim=(-0.15, largest.sizes["state"]))
    names = [str(name).partition("(")[0] for name in largest.unit.values]
    axes.set_xticks(np.arange(len(names)) + 0.425, names)
    axes.set_xlabel(f"$K = M = {most}$")
    finish(axes)


def _order(item: tuple[str, Any]) -> tuple[bool, int, str]:
    """Sort families by their number of anti-aligned units, coupled ones first."""
    name = item[0]
    return "separate" in name, int(name.partition(" ")[0]), name


def level_rows(data: xr.Dataset) -> Iterator[Row]:
    """Say from which size on each family is a minimum, and the errors of the largest size."""
    for extra, sizes in ((0, "K = M"), (1, "K = M + 1")):
        most = int(data.teachers.values[data.units - data.teachers == extra].max())
        for name, (first, last) in sorted(onsets(data, extra).items(), key=_order):
            if extra and "separate" in name:
                continue  # in the data; the names of their groups change with their size
            yield unpublished(f"{sizes}, {name}: a minimum from M", float(first), 0.0, NOTE)
            if last < most:
                yield unpublished(f"{sizes}, {name}: a minimum up to M", float(last), 0.0, NOTE)
        largest = (data.teachers == most) & (data.units == most + extra)
        has_error = data.generalization_error > SOLVED
        for number in np.flatnonzero(largest & has_error & (data["index"] == 0)):
            one = data.isel(state=int(number))
            item = f"{sizes}, M = {most}, {one.family.item()}: ε_g"
            error = float(one.error_difference) + ROUNDING
            note = (
                f"{NOTE} Curvatures by both routes differ by {float(one.curvature_difference):.1g}."
            )
            yield unpublished(item, float(one.generalization_error), error, note)


def path_rows(data: xr.Dataset) -> Iterator[Row]:
    """Say where minima turn into saddles as the scenario changes."""
    for number in np.flatnonzero(np.isin(data.teachers.values, SHOWN)):
        one = data.isel(state=int(number))
        name = f"K = M = {int(one.teachers)}, {one.family.item()}"
        yield unpublished(f"{name}: gain of an added unit", float(one.gain), 1e-9, NOTE_PATHS)
        for path, symbol in (("correlation", "T_nm"), ("slope", "leaky slope")):
            place = one.sel(path=path)
            if np.isfinite(place["at"]):
                words = f"{name}: becomes a saddle at {symbol}"
                note = f"{NOTE_PATHS} It opens in {int(place.opens)} equivalent directions."
                yield unpublished(words, float(place["at"]), 1e-8, note)
    for path in data.path.values:
        lost = int(np.sum(np.isfinite(data["at"].sel(path=path).values)))
        sizes = ", ".join(map(str, FOLLOWED))
        words = f"Of {data.sizes['state']} minima, K = M = {sizes}, saddles along: {path}"
        yield unpublished(words, float(lost), 0.0, NOTE_PATHS)


def rate_rows(data: xr.Dataset) -> Iterator[Row]:
    """Say up to which learning rate minima are stable."""
    for place in range(data.sizes["state"]):
        one = data.isel(state=place)
        if not np.isfinite(one["at"]):
            continue
        units, teachers = int(one.units), int(one.teachers)
        sizes = f"K = M = {units}" if units == teachers else f"K = {units}, M = {teachers}"
        words = f"{sizes}, {one.family.item()}: stable up to η"
        note = f"{NOTE_RATE} There: {one.ended.item()}, {int(one.opens)} directions."
        yield unpublished(words, float(one["at"]), float(one.at_error), note)


def unit_rows(data: xr.Dataset) -> Iterator[Row]:
    """Give shares of the solution and numbers of minima; levels of the largest committees."""
    for place in range(data.sizes["state"]):
        one = data.isel(state=place)
        name = f"{one.unit.item()}, K = M = {int(one.units)}"
        note = f"{NOTE_UNITS} {int(one.unsettled)} of {int(one.starts)} runs have not ended."
        share = float(one.share[0]), float(one.share_error[0])
        yield unpublished(f"{name}: share of starts that reach the solution", *share, note)
        yield unpublished(f"{name}: minima besides the solution", float(one.minima) - 1, 0.0, note)
        if int(one.units) == int(data.units.max()):
            yield from _reached_levels(name, one, note)


def _reached_levels(name: str, one: xr.Dataset, note: str) -> Iterator[Row]:
    """Give error and share of the minima with an error in which random starts end."""
    for level in np.flatnonzero(one.share.values[1:] > 0) + 1:
        minimum = one.isel(level=int(level))
        words = f"{name}, {minimum.family.item()}"
        error = float(minimum.error_difference) + ROUNDING
        yield unpublished(f"{words}: ε_g", float(minimum.generalization_error), error, note)
        share = float(minimum.share), float(minimum.share_error)
        yield unpublished(f"{words}: share of starts", *share, note)


def _section(
    name: str,
    title: str,
    caption: str,
    file: str,
    drawings: tuple[Drawing, ...],
    rows: RowBuilder,
) -> Section:
    compute = partial(show, file, drawings, rows)
    digest = partial(recorded.digest, "beyond")
    return Section(name, title, caption, compute, "all data computed again, minutes", digest)


SECTIONS = (
    _section(
        "families",
        "The atlas of minima of ReLU committees",
        "Left: errors of all minima of the symmetric families with K = M; lines join minima with "
        "the same number of anti-aligned units. Right: the smallest curvature of the coupled "
        "families; above zero they are minima.",
        "families",
        (draw_levels, draw_curvatures),
        level_rows,
    ),
    _section(
        "paths",
        "Minima as teachers become correlated",
        "The correlation of the teachers at which each minimum of K = M turns into a saddle; blue: "
        "coupled, red: separate families. Minima that are not drawn persist up to "
        f"T_nm = {LARGEST_CORRELATION}.",
        "family_paths",
        (draw_paths,),
        path_rows,
    ),
    _section(
        "rates_of_minima",
        "Minima at finite learning rates",
        "The learning rate up to which each minimum of ReLU units with six, eight and ten teachers "
        "is stable. Circles: coupled, squares: separate families of K = M; triangles: K = M + 1.",
        "family_rates",
        (draw_rates,),
        rate_rows,
    ),
    _section(
        "minima_of_units",
        "Minima of other units",
        "Left: the share of random starts that end in the solution, with standard errors. Right: "
        "the minima of the largest committees of each kind of unit; the length of a bar is the "
        "share of starts that end there, the thin line is the share 1.",
        "units",
        (draw_solved, draw_ladders),
        unit_rows,
    ),
)
