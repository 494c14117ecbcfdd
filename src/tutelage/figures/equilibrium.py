"""Equilibrium: order parameters and error over the load, phase diagrams, sampled weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, shown
from tutelage.equilibrium.symmetric.phases import PHASES
from tutelage.figures.axes import STYLES as LINES, drawing, finished, new_axes

PARAMETERS = {"beta": r"$\beta$"}
HINT = 'tl.sweeps.run(tl.equilibrium.phases, {"activation": [tl.Swish(1), tl.Swish(2)]}, ...)'
# As in oostwal2019, Figs. 2 to 5: solid for R > S, dashed for R = S, dotted for R < S.
STYLES = {"R > S": "-", "unspecialized": "--", "R < S": ":", "R > 0": "-", "R < 0": ":"}
MARKS = {
    "appears": (r"$\alpha_s$", "0.65"),
    "coexists": (r"$\alpha_c$", "0.25"),
    "unstable": (r"$\alpha_d$", "0.65"),
}
# The same three as lines of a phase diagram, on colours.
DIAGRAM_LINES: Mapping[str, Mapping[str, Any]] = {
    "appears": {"linestyle": ":", "color": "C3", "linewidth": 1.6},
    "coexists": {"linestyle": "-", "color": "0.1", "linewidth": 1.2},
    "unstable": {"linestyle": "--", "color": "C1", "linewidth": 1.6},
}
# As in Fig. 2: dotted where a state appears, dashed where it wins, a short line where R = S ends.
MARK_STYLES: Mapping[str, Mapping[str, Any]] = {
    "appears": {"linestyle": ":"},
    "coexists": {"linestyle": "--"},
    "unstable": {"linestyle": "-", "ymax": 0.15},
}
SYMBOLS = {"specialization": r"$R - S$", "generalization_error": r"$\epsilon_g$"}
DIRECTIONS = {"up": ("^", "C0"), "down": ("v", "C3")}
PHASE_COLOURS = ("#f4f1ea", "#d5dfe6", "#8fb3cc", "#4a7ba6")


@drawing
def order_parameters(
    dataset: xr.Dataset,
    axes: Any = None,
    *,
    which: Sequence[str] = ("R", "S"),
    transitions: Any = None,
    styles: Mapping[tuple[str, str], str] | None = None,
) -> Any:
    """R, S, C or ε_g of every minimum over the load α (oostwal2019, Figs. 2 to 5).

    Args:
        dataset: from `tutelage.equilibrium.learning_curve`.
        axes: Axes to draw on; a new figure when left out.
        which: one or several of "R", "S", "C" and "generalization_error".
        transitions: from `tutelage.equilibrium.transitions`; its loads are marked.
        styles: line styles by name and kind of the state, such as ``{("S", "R > S"): "--"}``,
            where they are not those of the kind alone.

    Returns:
        The Axes drawn on.  A thin line is a minimum among site-symmetric states only: a
        disturbance that treats units differently would grow.
    """
    axes = new_axes(axes)
    for number, name in enumerate(which):
        own = {kind: style for (of, kind), style in (styles or {}).items() if of == name}
        _branches(axes, dataset, name, f"C{number}", SYMBOLS.get(name, f"${name}$"), own)
    _mark(axes, transitions, dataset)
    axes.set(xlabel=r"$\alpha$", ylabel=", ".join(SYMBOLS.get(n, f"${n}$") for n in which))
    if "generalization_error" in which:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.legend(fontsize="small")
    return axes


@drawing
def equilibrium_curves(dataset: xr.Dataset, transitions: Any = None) -> Any:
    """`order_parameters` R and S, and ε_g, side by side; returns both Axes."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    order_parameters(dataset, axes[0], transitions=transitions)
    order_parameters(dataset, axes[1], which=["generalization_error"], transitions=transitions)
    return axes


@drawing
def phase_diagram(dataset: xr.Dataset, axes: Any = None) -> Any:
    """Which state wins, over a parameter of the activation and the load α.

    Args:
        dataset: a sweep of `tutelage.equilibrium.phases` over activations of one kind.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Loads in a geometric series have a logarithmic axis.
    """
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch
    from matplotlib.ticker import LogFormatter

    axes = new_axes(axes)
    along = _parameter(dataset)
    dataset = dataset.sortby(along)
    x, y = dataset[along].values, dataset["load"].values
    colours, norm = ListedColormap(PHASE_COLOURS), BoundaryNorm(np.arange(-0.5, 4), 4)
    words = dataset["phase"].transpose("load", ...).values
    phase = np.select([words == name for name in PHASES], range(len(PHASES)), np.nan)
    axes.pcolormesh(x, y, phase, cmap=colours, norm=norm, shading="nearest", rasterized=True)
    for name, (symbol, _) in MARKS.items():
        same = np.allclose(dataset[name], dataset["coexists"], rtol=1e-6, equal_nan=True)
        inside = dataset[name].where((dataset[name] >= y[0]) & (dataset[name] <= y[-1]))
        if np.any(np.isfinite(inside)) and (name == "coexists" or not same):
            axes.plot(x, inside, label=symbol, **DIAGRAM_LINES[name])
    present = [
        Patch(color=PHASE_COLOURS[k], label=name) for k, name in enumerate(PHASES) if name in words
    ]
    lines, _ = axes.get_legend_handles_labels()
    axes.legend(handles=[*present, *lines], fontsize="x-small", loc="best")
    name = along.removeprefix("activation_")
    axes.set(
        xlabel=PARAMETERS.get(name, name),
        ylabel=r"$\alpha$",
        xlim=(x[0], x[-1]),
        ylim=(y[0], y[-1]),
    )
    if y[0] > 0 and len(y) > 2 and np.ptp(np.diff(np.log(y))) < 1e-6:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(LogFormatter())
        axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    return axes


def _parameter(dataset: xr.Dataset) -> str:
    """The one coordinate with a number for each activation."""
    if dataset["phase"].ndim != 2 or "load" not in dataset["phase"].dims:
        allowed = "it has to be a sweep over activations"
        raise InputError("dataset", f"dimensions {dataset['phase'].dims}", allowed, HINT)
    (dim,) = {*dataset["phase"].dims} - {"load"}
    numbers = [
        str(name)
        for name, x in dataset.coords.items()
        if x.dims == (dim,) and x.dtype.kind in "iuf"
    ]
    if len(numbers) != 1:
        allowed = "activations have to be of one kind and differ in one number"
        raise InputError("dataset", f"{len(numbers)} parameters of {dim}", allowed, HINT)
    return numbers[0]


@drawing
def hysteresis(
    dataset: xr.Dataset,
    axes: Any = None,
    *,
    which: str = "specialization",
    theory: Mapping[str, tuple[Any, Any]] | None = None,
) -> Any:
    """Draw what `tutelage.equilibrium.hysteresis` found: every run, and the mean of each way.

    Args:
        dataset: over ``direction``, ``load`` and ``run``.
        axes: Axes to draw on; a new figure when left out.
        which: "specialization" (R - S) or "generalization_error".
        theory: curves behind the points, as {label: (loads, values)}.

    Returns:
        The Axes drawn on.  Open triangles are runs, pointing the way the load went; lines join
        the means over the runs.
    """
    if which not in SYMBOLS:
        allowed = f"it has to be one of {', '.join(map(repr, SYMBOLS))}"
        raise InputError("which", repr(which), allowed, 'which="specialization"')
    axes = new_axes(axes)
    for number, (label, (loads, values)) in enumerate((theory or {}).items()):
        style = LINES[number % len(LINES)]
        axes.plot(loads, values, color="0.6", linestyle=style, label=label, zorder=1)
    for direction in dataset["direction"].values:
        values = dataset[which].sel(direction=direction).transpose("load", "run")
        marker, colour = DIRECTIONS[str(direction)]
        axes.plot(
            *np.broadcast_arrays(dataset["load"].values[:, None], values.values),
            linestyle="none",
            marker=marker,
            color=colour,
            fillstyle="none",
            markersize=5,
        )
        axes.plot(dataset["load"], values.mean("run"), color=colour, label=f"load {direction}")
    axes.set(xlabel=r"$\alpha$", ylabel=SYMBOLS[which])
    return finished(axes)


def _branches(
    axes: Any, dataset: xr.Dataset, name: str, colour: str, symbol: str, styles: Mapping[str, str]
) -> None:
    """Thick where a state is stable in all overlaps, thin where only if units stay alike."""
    drawn: set[str] = set()
    for number in range(dataset.sizes["branch"]):
        branch = dataset.isel(branch=number)
        kind = str(branch["kind"].item())
        for flag, width in (("stable", 1.6), ("site_stable", 0.7)):
            values = branch[name].where(branch[flag])
            if not np.any(np.isfinite(values)):
                continue
            new = kind not in drawn
            drawn.add(kind)
            label = f"{symbol}, {_name(kind)}" if new else None
            style = styles.get(kind, STYLES[kind])
            axes.plot(dataset["load"], values, style, color=colour, linewidth=width, label=label)


def _name(kind: str) -> str:
    return "$R = S$" if kind == "unspecialized" else f"${kind}$"


def _mark(axes: Any, transitions: Any, dataset: xr.Dataset) -> None:
    """Vertical lines at the transitions that lie in the picture; one line for equal loads."""
    if transitions is None:
        return
    if not all(hasattr(transitions, name) for name in MARKS):
        allowed = "they have to be Transitions"
        raise InputError("transitions", shown(transitions), allowed, "tl.equilibrium.transitions")
    found: dict[float, list[str]] = {}
    last = float(dataset["load"].max())
    for name in MARKS:
        estimate = getattr(transitions, name)
        if estimate is not None and float(estimate.value) <= last:
            found.setdefault(float(estimate.value), []).append(name)
    for load, names in found.items():
        name = "coexists" if "coexists" in names else names[0]
        symbol, colour = MARKS[name]
        label = rf"{symbol} $= {load:.6g}$"
        axes.axvline(load, color=colour, linewidth=0.8, label=label, **MARK_STYLES[name])
