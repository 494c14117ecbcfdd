"""Equilibrium: order parameters and error over the load α."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, short_repr
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.style import colour, new_axes, new_panels
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, with_formulas

# As in oostwal2019, Figs. 2 to 5: solid for R > S, dashed for R = S, dotted for R < S.
STYLES = {"R > S": "-", "unspecialized": "--", "R < S": ":", "R > 0": "-", "R < 0": ":"}
# Symbols and lines of the transitions, as in Fig. 2: dotted where a state appears, dashed where it
# has the lowest free energy, a short line where R = S ends.
MARKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "appears": ("α_s", {"color": "0.65", "linestyle": ":"}),
    "coexists": ("α_c", {"color": "0.25", "linestyle": "--"}),
    "unstable": ("α_d", {"color": "0.65", "linestyle": "-", "ymax": 0.15}),
}
HIDDEN_FRACTION = 0.005  # transitions closer than this part of the axis hide each other
SITE_STABLE_WIDTH_FACTOR = 0.45


@figure_function
def order_parameters(
    dataset: xr.Dataset,
    axes: Axes | None = None,
    *,
    which: Sequence[str] = ("R", "S"),
    transitions: Any = None,
    styles: Mapping[tuple[str, str], str] | None = None,
) -> Any:
    """Draw R, S, C or ε_g of every minimum over the load α (oostwal2019, Figs. 2 to 5).

    Args:
        dataset: from `tutelage.equilibrium.learning_curve`.
        axes: Axes to draw on; a new figure when left out.
        which: one or several of "R", "S", "C" and "generalization_error".
        transitions: from `tutelage.equilibrium.transitions`; its loads are marked.
        styles: line styles by name and kind of the state, such as ``{("S", "R > S"): "--"}``; the
            default depends on the kind only.

    Returns:
        The Axes.  Colours are order parameters, line styles kinds of states; R = S is drawn once,
        in black.  A thin line is a minimum among site-symmetric states only, unstable against
        perturbations that treat units differently.  The loads of the transitions are in the
        caption.
    """
    axes = new_axes(axes)
    merged = {"R", "S"} <= set(which)
    symbols, kinds = [], []
    for number, name in enumerate(which):
        own = {
            kind: style for (quantity, kind), style in (styles or {}).items() if quantity == name
        }
        symbol, drawn = _draw_branches(axes, dataset, name, colour(number), own, merged)
        symbols.append(symbol)
        kinds += drawn
    marks = _mark(axes, transitions, dataset)
    add_to_caption(
        axes,
        "Minima of the free energy over the load; thin: minima among site-symmetric states only.",
    )
    axes.set(xlabel=SYMBOLS["load"], ylabel=", ".join(_symbol(n) for n in which))
    if "generalization_error" in which:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    unique = {entry.get_label(): entry for entry in [*symbols, *kinds, *marks]}
    # With given styles each curve has a legend entry: its style alone does not show its kind.
    return finish(axes, handles=None if styles else list(unique.values()))


@figure_function
def equilibrium_curves(
    dataset: xr.Dataset, transitions: Any = None, *, figsize: ArrayLike | None = None
) -> Any:
    """Draw R and S, and ε_g, over the load side by side (`order_parameters`); return both Axes."""
    axes = new_panels(2, figsize)
    order_parameters(dataset, axes[0], transitions=transitions)
    order_parameters(dataset, axes[1], which=["generalization_error"], transitions=transitions)
    return axes


def _symbol(name: str) -> str:
    return SYMBOLS.get(name, f"${name}$")


def _draw_branches(
    axes: Axes,
    dataset: xr.Dataset,
    name: str,
    colour: str,
    styles: Mapping[str, str],
    merged: bool,
) -> tuple[Any, list[Any]]:
    """Draw a quantity of all branches: thick where stable, thin where only site-stable.

    merged: R and S share the Axes, and are drawn once in the unspecialized state.

    Returns the legend entry of the symbol, and those of the kinds of states.
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
        style: dict[str, Any] = {"color": "black" if both else colour, "linestyle": dash}
        stable, site_stable = branch["stable"].values, branch["site_stable"].values
        # A thin line below a dashed one would fill its gaps: it ends one point inside.
        before, after = np.append(True, stable[:-1]), np.append(stable[1:], True)
        thin = site_stable & ~(stable & before & after)
        for mask, width in ((stable, wide), (thin, SITE_STABLE_WIDTH_FACTOR * wide)):
            values = np.where(mask, branch[name].values, np.nan)
            if not np.any(np.isfinite(values)):
                continue
            words = _name(kind) if both else f"{_symbol(name)}, {_name(kind)}"
            label = None if kind in kinds else words
            axes.plot(dataset["load"], values, linewidth=width, label=label, **style)
            entry = style if both else {**style, "color": "0.25"}
            kinds.setdefault(kind, Line2D([], [], label=_name(kind), **entry))
    return Line2D([], [], color=colour, label=_symbol(name)), [*kinds.values()]


def _name(kind: str) -> str:
    return "$R = S$" if kind == "unspecialized" else f"${kind}$"


def _mark(axes: Axes, transitions: Any, dataset: xr.Dataset) -> list[Any]:
    if transitions is None:
        return []
    if not all(hasattr(transitions, name) for name in MARKS):
        allowed = "they have to be Transitions"
        raise InputError(
            "transitions", short_repr(transitions), allowed, "tl.equilibrium.transitions"
        )
    return mark_transitions(axes, transitions, dataset["load"].values, MARKS)


def mark_transitions(
    axes: Axes,
    transitions: Any,
    loads: np.ndarray,
    marks: Mapping[str, tuple[str, Mapping[str, object]]],
) -> list[Any]:
    """Draw vertical lines at the transitions in view; return their legend entries.

    Lines that hide each other have one entry; the numbers are in the caption.
    """
    estimates = {name: getattr(transitions, name, None) for name in marks}
    values = {name: float(e.value) for name, e in estimates.items() if e is not None}
    groups: list[list[tuple[str, float]]] = []
    for name, load in sorted(values.items(), key=lambda item: item[1]):
        if not loads[0] <= load <= loads[-1]:
            continue
        if groups and load - groups[-1][-1][1] < HIDDEN_FRACTION * (loads[-1] - loads[0]):
            groups[-1].append((name, load))
        else:
            groups.append([(name, load)])
    if groups:
        loads_in_words = (f"{marks[n][0]} = {load:.6g}" for group in groups for n, load in group)
        add_to_caption(axes, f"Transitions at {', '.join(loads_in_words)}.")
    # In the order of the table: equal loads may differ by rounding.
    in_order = [{name: dict(g)[name] for name in marks if name in dict(g)} for g in groups]
    return [_mark_line(axes, loads, marks) for loads in in_order]


def _mark_line(
    axes: Any, loads: Mapping[str, float], marks: Mapping[str, tuple[str, Mapping[str, object]]]
) -> Any:
    name = "coexists" if "coexists" in loads else next(iter(loads))
    symbols = ", ".join(with_formulas(marks[n][0]) for n in loads)
    same = np.allclose([*loads.values()], loads[name], rtol=1e-9, atol=0)
    sign = "=" if same else r"$\approx$"
    label = f"{symbols} {sign} {loads[name]:.4g}"
    return axes.axvline(loads[name], label=label, **{"linewidth": 0.8, **marks[name][1]})
