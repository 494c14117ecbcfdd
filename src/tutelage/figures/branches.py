"""Branches of fixed points over the learning rate."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import DASHES, group_coinciding, group_label
from tutelage.figures.runs import BLOCK_OF_LETTER, axis_label, overlap_curves
from tutelage.figures.style import colour, new_axes
from tutelage.figures.text import add_to_caption, finish

# A fixed point is stable if all eigenvalues are below minus this, as in `tutelage.online`.
MARGINAL_EIGENVALUE = 1e-7
# An axis over more than this multiple of the median is linear near zero and logarithmic beyond.
UNBOUNDED_FACTOR = 50.0
MARKERS = ("", "o", "s", "^", "v", "D")


@figure_function
def branch(dataset: xr.Dataset, axes: Axes | None = None, *, which: str = "RQ") -> Any:
    """Draw R_in and Q_ik of a branch of fixed points over the learning rate.

    Args:
        dataset: from `tutelage.online.branch`.
        axes: Axes to draw on; a new figure when left out.
        which: "R", "Q" or both.

    Returns:
        The Axes.  Lines are solid where the fixed point is stable and dashed where it is unstable
        or marginal; diamonds are folds, open circles branch points.  Curves that coincide are one
        line with all their symbols.  If the branch goes to infinity, the axis is linear near zero
        and logarithmic beyond.
    """
    axes = new_axes(axes)
    curves = [c for name in which for c in overlap_curves(dataset, name, "point")]
    rates, stable = dataset["learning_rate"].values, _stability(dataset)
    groups = group_coinciding(curves)
    for number, group in enumerate(groups):
        options: dict[str, Any] = {
            "color": colour(number),
            "marker": MARKERS[number // 7 % len(MARKERS)],
        }
        options |= {"markevery": 0.1, "fillstyle": "none"}
        label: str | None = group_label(group, curves)
        values = group.curves[0].values
        for where, dash in ((stable, "-"), (~stable, DASHES[1])):
            if np.any(where):
                joined = np.where(_joined(where), values, np.nan)
                axes.plot(rates, joined, linestyle=dash, label=label, **options)
                label = None
    handles = [*axes.get_legend_handles_labels()[0], *_stability_entries(stable)]
    handles += _mark_specials(axes, dataset, groups)
    largest = np.max(np.abs([c.values for c in curves]), axis=0)
    if np.max(largest) > UNBOUNDED_FACTOR * np.median(largest):
        axes.set_yscale("symlog", linthresh=float(2 * np.median(largest)))
        add_to_caption(axes, "The axis is linear near zero and logarithmic beyond.")
    add_to_caption(axes, "Fixed points over the learning rate.", *_stability_words(dataset, stable))
    axes.set(xlabel=r"$\eta$", ylabel=axis_label(which))
    return finish(axes, handles=handles)


def _stability(dataset: xr.Dataset) -> np.ndarray:
    """Return a mask of the stable points: all of them for a Dataset without eigenvalues."""
    if "eigenvalue" not in dataset:
        return np.ones(dataset.sizes["point"], dtype=bool)
    return dataset["eigenvalue"].max("direction").values < -MARGINAL_EIGENVALUE


def _stability_entries(stable: np.ndarray) -> list[Any]:
    """Return legend entries of solid and dashed lines, if there are both."""
    from matplotlib.lines import Line2D

    if np.all(stable):
        return []
    looks: list[tuple[str, Any]] = [("unstable", DASHES[1])]
    looks = [("stable", "-"), *looks] if np.any(stable) else looks
    return [Line2D([], [], color="0.25", linestyle=dash, label=name) for name, dash in looks]


def _stability_words(dataset: xr.Dataset, stable: np.ndarray) -> list[str]:
    """Return the sentence of the caption on solid and dashed lines."""
    if "eigenvalue" not in dataset:
        return []
    stable_states = "stable"
    K, M = dataset.sizes["student"], dataset.sizes["teacher"]
    outputs = dataset.sizes.get("output", 0)
    if dataset.sizes["direction"] < K * (K + 1) // 2 + K * M + K * outputs:
        stable_states = "stable among states of identical students"
    dashed = "" if np.all(stable) else "; dashed: unstable or marginal"
    return [f"Solid: {stable_states}{dashed}."]


def _joined(where: np.ndarray) -> np.ndarray:
    """Extend a mask by one point, so that solid and dashed lines meet."""
    return where | np.append(where[1:], False)


def _mark_specials(axes: Axes, dataset: xr.Dataset, groups: Any) -> list[Any]:
    """Mark folds and branch points on the curves; return a legend entry for each."""
    from matplotlib.lines import Line2D

    if "special_kind" not in dataset:
        return []
    markers = {"fold": ("D", "black"), "branch point": ("o", "white")}
    handles = []
    for number, kind in enumerate(dataset["special_kind"].values):
        eta = float(dataset["special_learning_rate"][number])
        marker, face = markers.get(str(kind), ("s", "white"))
        options: dict[str, Any] = {"marker": marker, "linestyle": "none", "color": "black"}
        options |= {"markerfacecolor": face, "zorder": 4}
        for group in groups:
            c = group.curves[0]
            name = f"special_{BLOCK_OF_LETTER[c.letter].name}"
            if name in dataset:
                values = dataset[name].isel(special=number).values
                axes.plot([eta], [values[c.first, c.second]], **options)
        axes.axvline(eta, color="0.5", linewidth=0.7, linestyle=":", zorder=0)
        handles.append(Line2D([], [], label=rf"{kind}, $\eta = {eta:.5g}$", **options))
    return handles
