"""Minima of the error: levels with shares, curvatures, escape after adding a unit, all branches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, check_variables
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.style import colour, new_axes, ordered_colours
from tutelage.figures.text import SYMBOLS, add_to_caption, finish

# Curvatures between minus this and this are on the linear part of the axis.
LINEAR_CURVATURE = 1e-3
ZERO = 1e-7  # a fixed point is stable if all eigenvalues are below minus this (tutelage.online)
MAX_LABELLED = 24
MIN_LABEL_DISTANCE = 0.08  # of two labels, relative to the range of errors
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
    axes.hlines(error[stable], 0.0, 1.0, color="0.75", linewidth=0.8, zorder=1)
    axes.hlines(error[reached], 0.0, share[reached], color=colour(0), linewidth=2.5, zorder=2)
    axes.errorbar(
        share[reached], error[reached], xerr=width[reached], fmt="o", color=colour(0),
        markersize=4, capsize=2, zorder=3,
    )  # fmt: skip
    if saddles:
        axes.hlines(
            error[~stable], 0.0, 1.0, color=colour(1), linewidth=0.8, linestyle="--", zorder=1
        )
    right = 1.15 * max(float(np.max(share + width)), 0.05)
    axes.set(xlim=(0.0, right), xlabel="share of starts", ylabel=SYMBOLS["generalization_error"])
    _name_levels(axes, error[stable], dataset["family"].values[stable])
    d, scale = (dataset.attrs.get(name, "?") for name in ("start_dimension", "scale"))
    more = " Dashed: saddles." if saddles else ""
    add_to_caption(
        axes,
        f"Errors of {int(np.sum(stable))} minima, and the share of {int(dataset.attrs['starts'])} "
        f"starts that end in each, with standard errors. Starts: d = {d}, norm {scale:g}.{more}",
    )
    return finish(axes)


def _name_levels(axes: Axes, errors: np.ndarray, names: np.ndarray) -> None:
    """Write the families to the right of their levels, without overlap."""
    from matplotlib import rcParams

    span = max(float(np.ptp(errors)), 1e-12)
    last = -np.inf
    for error, name in zip(errors[:MAX_LABELLED], names[:MAX_LABELLED], strict=True):
        if error - last < MIN_LABEL_DISTANCE * span:
            continue
        axes.annotate(
            str(name), (1.0, error), xycoords=("axes fraction", "data"), xytext=(4, 0),
            textcoords="offset points", va="center", annotation_clip=False,
            fontsize=rcParams["legend.fontsize"],
        )  # fmt: skip
        last = error


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
    axes.plot(
        np.repeat(places - 0.12, h.shape[1]), h.ravel(), "_", color=colour(0), alpha=0.7,
        label="in the span of the teachers",
    )  # fmt: skip
    axes.plot(
        np.repeat(places + 0.12, outward.shape[1]), outward.ravel(), "_", color=colour(1),
        label="orthogonal to the teachers",
    )  # fmt: skip
    if min(np.min(h), np.min(outward)) > 0:
        axes.set_yscale("log")
    else:
        axes.axhline(0.0, color="0.6", linewidth=0.8)
        axes.set_yscale("symlog", linthresh=LINEAR_CURVATURE)
    axes.set_ylim(top=2 * max(np.max(h), np.max(outward)))
    axes.set_xticks(places, [str(x) for x in levels["family"].values])
    axes.tick_params(axis="x", labelrotation=90)
    axes.set_ylabel("curvature")
    add_to_caption(axes, "Curvatures at stationary points of the error, sorted by error.")
    return finish(axes)


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
