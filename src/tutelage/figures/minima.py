"""Minima of the error: levels with shares, curvatures, escape after adding a unit, all branches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, check_variables
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.style import colour, new_axes, ordered_colours
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, root_figure

# Curvatures between minus this and this are on the linear part of the axis.
LINEAR_CURVATURE = 1e-3
ZERO = 1e-7  # a fixed point is stable if all eigenvalues are below minus this (tutelage.online)
LABEL_HEIGHT = 1.3  # of the name of a level, in multiples of the size of its letters
LABEL_OFFSET_POINTS = 12.0  # between the Axes and the names of levels
# Curvatures in the span of the teachers are strokes in the left half of a level's column, the
# others in the right half.
LEFT_STROKE, RIGHT_STROKE = (-0.4, -0.05), (0.05, 0.4)
MAX_NAMES_PER_INCH = 6.0  # below columns; of more levels only some are named
MIN_LABEL_DISTANCE = 0.5  # of the levels that are named, in heights of their names
MIN_COLUMN_POINTS = 10.0  # in narrower columns only the smallest curvatures are dark
IDENTICAL = -1  # replaces the index


@figure_function
def landscape(dataset: xr.Dataset, axes: Axes | None = None, *, saddles: bool = False) -> Any:
    """Draw the errors of all minima as a ladder, and the share of starts that end in each.

    Args:
        dataset: from `tutelage.online.landscape`.
        axes: Axes to draw on; a new figure when left out.
        saddles: whether to draw the levels of saddles too, as dashed lines.

    Returns:
        The Axes drawn on.  The height of a bar's end is a share, with its standard error; the
        position is the error of the minimum.
    """
    check_variables("dataset", dataset, "share", "family", made_by="tl.online.landscape")
    axes = new_axes(axes)
    stable = dataset["index"].values == 0
    error, share = dataset["generalization_error"].values, dataset["share"].values
    width = dataset["share_error"].values
    reached = stable & (share > 0)
    right = 1.15 * max(float(np.max(share + width)), 0.05)
    axes.set(xlim=(0.0, right), xlabel="share of starts", ylabel=SYMBOLS["generalization_error"])
    size, step = _label_step(axes)
    named = np.zeros_like(stable)
    named[stable] = _named_levels(error[stable], share[stable], step)
    crowded = np.any(stable & ~named)
    thin = 0.5 if crowded else 1.0
    levels: dict[str, Any] = {"linewidth": 0.8 * thin, "zorder": 1}
    minima = "minima, and their shares" if saddles else None
    axes.hlines(error[stable], 0.0, 1.0, color="0.85" if crowded else "0.75", **levels)
    axes.hlines(
        error[reached], 0.0, share[reached], color=colour(0), linewidth=1.5 * thin, zorder=2
    )
    few = reached & ~named
    axes.plot(share[few], error[few], "o", color=colour(0), markersize=1.5, zorder=3)
    few = reached & named
    axes.errorbar(
        share[few], error[few], xerr=width[few], fmt="o", color=colour(0),
        markersize=3, elinewidth=0.8, capsize=2, zorder=3, label=minima,
    )  # fmt: skip
    if saddles and np.any(~stable):
        axes.hlines(
            error[~stable], 0.0, 1.0, color=colour(1), linestyle="--", label="saddles", **levels
        )
    axes.set_xlim(0.0, right)
    _name_levels(axes, error[named], dataset["family"].values[named], size, step)
    d, scale = (dataset.attrs.get(name, "?") for name in ("start_dimension", "scale"))
    more = " Dashed: saddles." if saddles else ""
    if crowded:
        more += (
            f" {np.sum(named)} minima have names and standard errors: those with the largest "
            "shares, without others at nearly the same error."
        )
    add_to_caption(
        axes,
        f"Errors of {int(np.sum(stable))} minima, and the share of {int(dataset.attrs['starts'])} "
        f"starts that end in each, with standard errors. Starts: d = {d}, norm {scale:g}.{more}",
    )
    return finish(axes)


def _label_step(axes: Axes) -> tuple[float, float]:
    """Return the size of the letters of a name in points, and its height relative to the Axes.

    The layout is computed, because it decides on the height of the Axes.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    size = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
    figure = root_figure(axes)
    if figure.get_layout_engine() is not None:
        figure.get_layout_engine().execute(figure)
    points = axes.get_window_extent().height / root_figure(axes).dpi * 72
    return size, LABEL_HEIGHT * size / points


def _named_levels(errors: np.ndarray, shares: np.ndarray, step: float) -> np.ndarray:
    """Return which minima there is room to name, those with the largest shares first.

    If not all have room, those at nearly the same error as another one are not named.
    """
    named = np.ones(len(errors), dtype=bool)
    if len(errors) <= int(1 / step):
        return named
    named[:] = False
    closest = MIN_LABEL_DISTANCE * step * np.ptp(errors)
    for k in np.argsort(-shares, kind="stable"):
        if np.sum(named) < int(1 / step):
            named[k] = np.all(np.abs(errors[named] - errors[k]) >= closest)
    return named


def _name_levels(
    axes: Axes, errors: np.ndarray, names: np.ndarray, size: float, step: float
) -> None:
    """Write families to the right of their levels, one below another, joined to them by lines."""
    from matplotlib.transforms import ScaledTranslation

    axes.margins(y=0.05)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)  # places of names hold for this range
    inches = root_figure(axes).dpi_scale_trans
    right = axes.transAxes + ScaledTranslation(LABEL_OFFSET_POINTS / 72, 0.0, inches)
    heights = _spread_out((errors - low) / (high - low), step)
    for name, error, height in zip(names, errors, heights, strict=True):
        axes.annotate(
            str(name), (1.0, error), xycoords=("axes fraction", "data"),
            xytext=(1.0, height), textcoords=right, va="center",
            annotation_clip=False, fontsize=size,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 1,
                        "shrinkB": 0, "relpos": (0.0, 0.5)},
        )  # fmt: skip


def _spread_out(heights: np.ndarray, step: float) -> np.ndarray:
    """Move sorted heights between 0 and 1 apart to a distance of `step`, as little as possible.

    The least squares under this constraint: the means of runs that have been pushed together.
    """
    blocks: list[list[float]] = []  # sum of heights without their steps, and their number
    for number, height in enumerate(heights):
        blocks.append([height - number * step, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    starts = np.concatenate([np.full(int(n), total / n) for total, n in blocks])
    room = 1.0 - step * (len(heights) - 0.5)
    return np.clip(starts, 0.25 * step, room) + step * np.arange(len(heights))


@figure_function
def curvatures(dataset: xr.Dataset, axes: Axes | None = None, *, saddles: bool = False) -> Any:
    """Draw all curvatures of every minimum: in the span of the teachers, and orthogonal to it.

    Args:
        dataset: from `tutelage.online.landscape`.
        axes: Axes to draw on; a new figure when left out.
        saddles: whether to draw saddles too.

    Returns:
        The Axes drawn on, logarithmic; if there are negative curvatures the axis is linear between
        -10⁻³ and 10⁻³.
    """
    names = ("hessian_eigenvalue", "transverse_eigenvalue", "family")
    check_variables("dataset", dataset, *names, made_by="tl.online.landscape")
    axes = new_axes(axes)
    levels = dataset if saddles else dataset.isel(level=dataset["index"].values == 0)
    if not levels.sizes["level"]:
        raise InputError("dataset", "no minimum", "there is nothing to draw", "saddles=True")
    places = np.arange(levels.sizes["level"], dtype=float)
    h, outward = (levels[name].values for name in names[:2])
    inches = axes.get_window_extent().width / root_figure(axes).dpi
    narrow = 72 * inches / len(places) < MIN_COLUMN_POINTS
    for values, (left, right), number, label in (
        (h, LEFT_STROKE, 0, "in the span of the teachers"),
        (outward, RIGHT_STROKE, 1, "orthogonal to the teachers"),
    ):
        x = np.repeat(places, values.shape[1])
        look: Any = {"color": colour(number)}
        pale: Any = {"linewidth": 0.7, "alpha": 0.45} if narrow else {"linewidth": 1.0}
        axes.hlines(values.ravel(), x + left, x + right, **look, **pale)
        if narrow:
            smallest = np.min(values, axis=1)
            axes.hlines(smallest, places + 1.2 * left, places + 1.2 * right, linewidth=1.6, **look)
        axes.plot([], [], label=label, **look)
    if min(np.min(h), np.min(outward)) > 0:
        axes.set_yscale("log")
    else:
        axes.axhline(0.0, color="0.6", linewidth=0.8)
        axes.set_yscale("symlog", linthresh=LINEAR_CURVATURE)
    axes.set_ylim(top=1.3 * max(np.max(h), np.max(outward)))
    if narrow:
        add_to_caption(axes, "Dark: the smallest curvatures of each level.")
    else:
        for edge in places[1:] - 0.5:
            axes.axvline(edge, color="0.9", linewidth=0.6, zorder=0)
    every = -(-len(places) // max(1, int(MAX_NAMES_PER_INCH * inches)))
    axes.set_xticks(places[::every], [str(x) for x in levels["family"].values[::every]])
    axes.tick_params(axis="x", labelrotation=90)
    axes.set(xlim=(places[0] - 0.6, places[-1] + 0.6), ylabel="curvature")
    add_to_caption(axes, "Curvatures at stationary points of the error, sorted by error.")
    if every > 1:
        add_to_caption(axes, f"One of {every} levels is named.")
    finish(axes)
    axes.grid(False, axis="x")
    return axes


@figure_function
def opening(dataset: xr.Dataset, axes: Axes | None = None) -> Any:
    """Draw how a minimum opens after a unit has been added: error and overlaps of that unit.

    Args:
        dataset: from `tutelage.online.added_unit`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  The error is relative to that of the minimum; the overlaps are those of
        the added unit with the teachers, equal ones drawn once.
    """
    check_variables("dataset", dataset, "R", "direction", made_by="tl.online.added_unit")
    axes = new_axes(axes)
    time, error = dataset["time"].values, dataset["generalization_error"].values
    axes.plot(time, error / error[0], color="black", label=r"$\varepsilon_g(t)/\varepsilon_g(0)$")
    R = dataset["R"].values[:, -1]
    # Teachers whose overlaps agree at all times share a curve.
    ends = np.round(R[[len(R) // 4, len(R) // 2, -1]].T, 4)
    groups = [np.flatnonzero(np.all(ends == row, axis=1)) for row in np.unique(ends, axis=0)]
    for number, members in enumerate(sorted(groups, key=lambda x: -R[-1, x[0]])):
        count = f" ({len(members)} teachers)" if len(members) > 1 else ""
        name = rf"$R_{{{dataset.sizes['student']},{members[0] + 1}}}${count}"
        axes.plot(time, R[:, members[0]], color=colour(number), label=name)
    axes.set(xlabel=r"$\alpha\eta$", ylabel="error, overlaps of the added unit")
    gain = float(dataset.attrs["gain"])
    add_to_caption(
        axes,
        "Gradient flow after a unit has been added to a minimum, along the direction in which "
        f"the error falls fastest: by {gain:.4g} for each unit of its norm.",
    )
    return finish(axes)


def _index(branch: xr.Dataset) -> np.ndarray:
    """Number of unstable directions of each point; IDENTICAL for identical students.

    Branches of identical students have no eigenvalues for directions in which students part, some
    of which are always unstable (`tutelage.online.stationary.identical`).
    """
    values = branch["eigenvalue"].values
    K, M = (branch.sizes.get(name, 0) for name in ("student", "teacher"))
    if np.sum(np.isfinite(values[0])) < K * (K + 1) // 2 + K * M:
        return np.full(len(values), IDENTICAL)
    return np.sum(values > ZERO, axis=1)


def _index_name(index: int) -> str:
    return {0: "stable", IDENTICAL: "identical students"}.get(index, f"index {index}")


@figure_function
def all_branches(branches: Sequence[xr.Dataset], axes: Axes | None = None) -> Any:
    """Draw the errors of branches of fixed points over the learning rate, coloured by their index.

    Args:
        branches: from `tutelage.online.branch`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  The index is the number of eigenvalues with a positive real part: 0 is
        stable and thick.  Diamonds are folds, open circles branch points.
    """
    axes = new_axes(axes)
    if not branches or any("eigenvalue" not in one for one in branches):
        allowed = "there has to be at least one branch, with eigenvalues"
        raise InputError("branches", f"{len(branches)} Datasets", allowed, "tl.online.branch")
    counts = [_index(one) for one in branches]
    most = max(int(np.max(index)) for index in counts)
    tints = dict(enumerate(ordered_colours(most + 1))) | {IDENTICAL: "0.5"}
    labelled = set[int]()
    for one, index in zip(branches, counts, strict=True):
        x, y = one["learning_rate"].values, one["generalization_error"].values
        for piece in np.split(np.arange(len(x)), np.flatnonzero(np.diff(index)) + 1):
            i = int(index[piece[0]])
            joined = np.arange(piece[0], min(piece[-1] + 2, len(x)))
            name = None if i in labelled else _index_name(i)
            labelled.add(i)
            axes.plot(
                x[joined], np.maximum(y[joined], 0.0), color=tints[i], label=name,
                linewidth=2.2 if i == 0 else 1.0, linestyle="-" if i == 0 else "--",
            )  # fmt: skip
        for kind, marker in (("fold", "D"), ("branch point", "o")):
            for number in np.flatnonzero(one["special_kind"].values == kind):
                eta = float(one["special_learning_rate"].values[number])
                near = int(np.argmin(np.abs(x - eta) + 1e-3 * (y - np.min(y))))
                axes.plot(eta, y[near], marker, color="black", fillstyle="none", markersize=4)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: (labels[k] != "stable", labels[k]))
    axes.set(xlabel=r"$\eta$", ylabel=SYMBOLS["generalization_error"])
    add_to_caption(
        axes,
        "Errors of fixed points over the learning rate. Thick: stable; dashed: unstable, with "
        "the number of unstable directions (identical students: unstable too). Diamonds: "
        "folds; circles: branch points.",
    )
    return finish(axes, handles=[handles[k] for k in order])
