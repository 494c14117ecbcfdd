"""Equilibrium: order parameters and error over the load, phase diagrams, sampled weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, short_repr
from tutelage.equilibrium.symmetric.phases import PHASES
from tutelage.figures.axes import drawing
from tutelage.figures.looks import DASHES
from tutelage.figures.style import colour, new_axes, new_panels
from tutelage.figures.text import SYMBOLS as TEX, finished, note

PARAMETERS = {"beta": r"$\beta$", "slope": "slope $a$"}
HINT = 'tl.sweeps.run(tl.equilibrium.phases, {"activation": [tl.Swish(1), tl.Swish(2)]}, ...)'
# As in oostwal2019, Figs. 2 to 5: solid for R > S, dashed for R = S, dotted for R < S.
STYLES = {"R > S": "-", "unspecialized": "--", "R < S": ":", "R > 0": "-", "R < 0": ":"}
# As in Fig. 2: dotted where a state appears, dashed where it wins, a short line where R = S ends.
MARKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "appears": (r"$\alpha_s$", {"color": "0.65", "linestyle": ":"}),
    "coexists": (r"$\alpha_c$", {"color": "0.25", "linestyle": "--"}),
    "unstable": (r"$\alpha_d$", {"color": "0.65", "linestyle": "-", "ymax": 0.15}),
}
# The same three as lines of a phase diagram, on colours.
DIAGRAM_LINES: Mapping[str, Mapping[str, Any]] = {
    "appears": {"linestyle": ":", "color": "black"},
    "coexists": {"linestyle": "-", "color": "black"},
    "unstable": {"linestyle": "--", "color": "black"},
}
SYMBOLS = {"specialization": r"$R - S$", "generalization_error": TEX["generalization_error"]}
DIRECTIONS = {"up": ("^", 0, "increasing"), "down": ("v", 1, "decreasing")}
PHASE_COLOURS = ("#f4f1ea", "#d5dfe6", "#8fb3cc", "#4a7ba6")
SAME_LINE = 0.005  # of the axis: transitions that are one line on paper
HIDDEN = 0.01  # relative: lines of a phase diagram that lie on each other


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
        The Axes drawn on.  Colours are order parameters, line styles kinds of states, and R = S is
        drawn once, in black.  A thin line is a minimum among site-symmetric states only: a
        disturbance that treats units differently would grow.  The loads of the transitions are
        in the caption.
    """
    axes = new_axes(axes)
    merged = {"R", "S"} <= set(which)
    symbols, kinds = [], []
    for number, name in enumerate(which):
        own = {kind: style for (of, kind), style in (styles or {}).items() if of == name}
        looks: dict[str, Any] = {
            "name": name,
            "colour": colour(number),
            "styles": own,
            "merged": merged,
        }
        symbol, drawn = _branches(axes, dataset, **looks)
        symbols.append(symbol)
        kinds += drawn
    marks = _mark(axes, transitions, dataset)
    note(
        axes,
        "Minima of the free energy over the load; thin: minima among site-symmetric states only.",
    )
    axes.set(xlabel=TEX["load"], ylabel=", ".join(_symbol(n) for n in which))
    if "generalization_error" in which:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    unique = {entry.get_label(): entry for entry in [*symbols, *kinds, *marks]}
    # With styles of its own each curve is named: a style alone does not say the kind.
    return finished(axes, handles=None if styles else list(unique.values()))


@drawing
def equilibrium_curves(dataset: xr.Dataset, transitions: Any = None, *, figsize: Any = None) -> Any:
    """`order_parameters` R and S, and ε_g, side by side; returns both Axes."""
    axes = new_panels(2, figsize)
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
        The Axes drawn on.  Phases are the areas between the exact lines; where a parameter has no
        transition, the area has the phase at its loads.  Lines that lie on each other are drawn
        once, with all their symbols.  Loads in a geometric series have a logarithmic axis.
    """
    axes = new_axes(axes)
    along = _parameter(dataset)
    dataset = dataset.sortby(along)
    x, y = dataset[along].values, dataset["load"].values
    present = _fill_phases(axes, dataset, x, y)
    lines = _diagram_lines(axes, dataset, x, y)
    name = along.removeprefix("activation_")
    axes.set(
        xlabel=PARAMETERS.get(name, name),
        ylabel=TEX["load"],
        xlim=(x[0], x[-1]),
        ylim=(y[0], y[-1]),
    )
    if y[0] > 0 and len(y) > 2 and np.ptp(np.diff(np.log(y))) < 1e-6:
        axes.set_yscale("log")
    note(axes, "State of lowest free energy; areas end at the exact loads of the transitions.")
    note(axes, f"Transitions are exact at {len(x)} values, and joined by straight lines.")
    finished(axes, handles=[*present, *lines])
    axes.grid(False)
    return axes


def _fill_phases(axes: Any, dataset: xr.Dataset, x: np.ndarray, y: np.ndarray) -> list[Any]:
    """Areas between the ends of the axis and the lines; entries of the legend."""
    from matplotlib.patches import Patch

    edges = [np.full(len(x), y[0])]
    for name in MARKS:
        line = dataset[name].values.astype(float)
        edges.append(np.clip(np.where(np.isfinite(line), line, y[-1]), edges[-1], y[-1]))
    edges.append(np.full(len(x), y[-1]))
    present = []
    for phase, tint, low, high in zip(PHASES, PHASE_COLOURS, edges, edges[1:], strict=False):
        axes.fill_between(x, low, high, color=tint, linewidth=0)
        if np.any(high - low > HIDDEN * high):
            present.append(Patch(facecolor=tint, edgecolor="0.6", linewidth=0.5, label=phase))
    return present


def _diagram_lines(axes: Any, dataset: xr.Dataset, x: np.ndarray, y: np.ndarray) -> list[Any]:
    """One line for those that cannot be told apart; the critical one in the middle of them."""
    visible = {
        name: dataset[name].where((dataset[name] >= y[0]) & (dataset[name] <= y[-1]))
        for name in MARKS
    }
    drawn: list[Any] = []
    for name in ("coexists", "appears", "unstable"):
        if not np.any(np.isfinite(visible[name])):
            continue
        critical = dataset["coexists"]
        hidden = np.allclose(dataset[name], critical, rtol=HIDDEN, equal_nan=True)
        if name != "coexists" and hidden:
            drawn[0].set_label(f"{drawn[0].get_label()} $\\approx$ {MARKS[name][0]}")
            continue
        # Up to the edge of the picture, and a point beyond it.
        (line,) = axes.plot(x, dataset[name], label=MARKS[name][0], **DIAGRAM_LINES[name])
        drawn.append(line)
    return drawn


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
        style = DASHES[number % len(DASHES)]
        axes.plot(loads, values, color="0.5", linestyle=style, label=label, zorder=1)
    for direction in dataset["direction"].values:
        values = dataset[which].sel(direction=direction).transpose("load", "run")
        marker, number, words = DIRECTIONS[str(direction)]
        axes.plot(
            *np.broadcast_arrays(dataset["load"].values[:, None], values.values),
            linestyle="none",
            marker=marker,
            color=colour(number),
            fillstyle="none",
        )
        label = f"{words} load, mean"
        axes.plot(dataset["load"], values.mean("run"), color=colour(number), label=label)
    note(axes, f"Triangles are the {dataset.sizes['run']} runs, pointing the way the load went.")
    axes.set(xlabel=TEX["load"], ylabel=SYMBOLS[which])
    return finished(axes)


def _symbol(name: str) -> str:
    return SYMBOLS.get(name, f"${name}$")


def _branches(
    axes: Any,
    dataset: xr.Dataset,
    name: str,
    colour: str,
    styles: Mapping[str, str],
    merged: bool,
) -> tuple[Any, list[Any]]:
    """Draw thick lines for states stable in all overlaps, thin ones for site-stable states.

    merged: whether R and S are drawn, which are equal in the unspecialized state.

    Returns the entry of the symbol in the legend, and those of the kinds of states.
    """
    import matplotlib
    from matplotlib.lines import Line2D

    wide = matplotlib.rcParams["lines.linewidth"]
    kinds: dict[str, Any] = {}
    for number in range(dataset.sizes["branch"]):
        branch = dataset.isel(branch=number)
        kind = str(branch["kind"].item())
        both = merged and kind == "unspecialized" and name in "RS"
        if both and name == "S":
            continue
        dash = styles.get(kind, STYLES[kind])
        look: dict[str, Any] = {"color": "black" if both else colour, "linestyle": dash}
        for flag, width in (("stable", wide), ("site_stable", 0.45 * wide)):
            values = branch[name].where(branch[flag])
            if not np.any(np.isfinite(values)):
                continue
            words = _name(kind) if both else f"{_symbol(name)}, {_name(kind)}"
            label = None if kind in kinds else words
            axes.plot(dataset["load"], values, linewidth=width, label=label, **look)
            shade = look if both else {**look, "color": "0.25"}
            kinds.setdefault(kind, Line2D([], [], label=_name(kind), **shade))
    return Line2D([], [], color=colour, label=_symbol(name)), [*kinds.values()]


def _name(kind: str) -> str:
    return "$R = S$" if kind == "unspecialized" else f"${kind}$"


def _mark(axes: Any, transitions: Any, dataset: xr.Dataset) -> list[Any]:
    if transitions is None:
        return []
    if not all(hasattr(transitions, name) for name in MARKS):
        allowed = "they have to be Transitions"
        raise InputError(
            "transitions", short_repr(transitions), allowed, "tl.equilibrium.transitions"
        )
    return mark_transitions(axes, transitions, dataset["load"].values, MARKS)


def mark_transitions(
    axes: Any,
    transitions: Any,
    loads: np.ndarray,
    marks: Mapping[str, tuple[str, Mapping[str, Any]]],
) -> list[Any]:
    """Draw vertical lines at the transitions that lie in the picture; return their entries.

    Loads that are one line on paper have one entry; the caption has the numbers.
    """
    estimates = {name: getattr(transitions, name, None) for name in marks}
    values = {name: float(e.value) for name, e in estimates.items() if e is not None}
    groups: list[list[tuple[str, float]]] = []
    for name, load in sorted(values.items(), key=lambda item: item[1]):
        if not loads[0] <= load <= loads[-1]:
            continue
        if groups and load - groups[-1][-1][1] < SAME_LINE * (loads[-1] - loads[0]):
            groups[-1].append((name, load))
        else:
            groups.append([(name, load)])
    if groups:
        every = (f"{marks[name][0]} = {load:.6g}" for group in groups for name, load in group)
        note(axes, f"Transitions at {', '.join(every)}.")
    # Equal loads differ by rounding: their names have the order of the table.
    in_order = [{name: dict(g)[name] for name in marks if name in dict(g)} for g in groups]
    return [_mark_line(axes, loads, marks) for loads in in_order]


def _mark_line(axes: Any, loads: Mapping[str, float], marks: Mapping[str, Any]) -> Any:
    name = "coexists" if "coexists" in loads else next(iter(loads))
    symbols = ", ".join(marks[n][0] for n in loads)
    same = np.allclose([*loads.values()], loads[name], rtol=1e-9, atol=0)
    sign = "=" if same else r"\approx"
    label = rf"{symbols} ${sign} {loads[name]:.4g}$"
    return axes.axvline(loads[name], label=label, **{"linewidth": 0.8, **marks[name][1]})
