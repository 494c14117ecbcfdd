"""Equilibrium at a temperature: overlaps and errors over the load α̃, and phase diagrams."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, check_choice, check_variables, short_repr
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.equilibrium import mark_transitions
from tutelage.figures.kinds import Axes
from tutelage.figures.phases import PHASE_COLOURS
from tutelage.figures.style import colour, new_axes, new_panels, ordered_colours
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, with_formulas

# As in oostwal2019: solid for R > S, dashed for R = S = 0, dotted for R < S.
STYLES = {"R > S": "-", "unspecialized": "--", "R < S": ":", "agreeing": "-."}
WORDS = {"R > S": "$R > S$", "unspecialized": "$R = S$", "R < S": "$R < S$"}
# Symbols and lines of the transitions, as in `equilibrium`.
MARKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "appears": ("α̃_s", {"color": "0.4", "linestyle": ":"}),
    "coexists": ("α̃_c", {"color": "0.25", "linestyle": "--"}),
    "unstable": ("α̃_d", {"color": "0.4", "linestyle": "-", "ymax": 0.15}),
    "agreement": ("α̃_g", {"color": "0.4", "linestyle": "-."}),
}
UNSTABLE_COLOUR, UNSTABLE_LABEL = "0.65", "replica symmetry unstable"
COEXISTENCE_LABEL = "specialized state exists"
# A shorter label where legend entries form one column; the caption explains Λ.
SHORT_LABEL = r"unstable, $\Lambda < 0$"
# R and q of two branches that differ by less are equal by symmetry.
MIRROR_TOLERANCE = 1e-9
# Distances of lines at 0 that are moved apart, and of all of them, relative to the largest value.
ZERO_STEP, ZERO_RANGE = 0.03, 0.15
QUANTITIES = {
    "R": "$R$",
    "q": "$q$",
    "generalization_error": SYMBOLS["generalization_error"],
    "training_error": r"$\varepsilon_t$",
}
QUANTITY_WORDS = {
    **{"R": "R", "q": "q"},
    "generalization_error": "an error",
    "training_error": "an error",
}
# The same transitions as lines of a phase diagram.
DIAGRAM_LINES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "appears": ("α̃_s", {"linestyle": ":"}),
    "coexists": ("α̃_c", {"linestyle": "-"}),
    "unstable": ("α̃_d", {"linestyle": "--"}),
    "agreement": ("α̃_g", {"linestyle": "-."}),
}
DIAGRAM = 'tl.sweeps.run(tl.equilibrium.phases, {"temperature": [0.1, 0.2]}, ...)'


@figure_function
def temperature_curves(
    dataset: xr.Dataset, transitions: Any = None, *, figsize: ArrayLike | None = None
) -> Any:
    """Draw R and q, and generalization and training error, of all minima over α̃ = P/(KN).

    Args:
        dataset: from `tutelage.equilibrium.learning_curve` with a temperature.
        transitions: from `tutelage.equilibrium.transitions`; its loads are marked.
        figsize: width and height in inches.

    Returns:
        Both Axes.  Colours are quantities, line styles kinds of states, named at the left.  Curves
        are grey where replica symmetry is unstable, so that they are estimates.  States −R that
        are those with R by symmetry are left out.
    """
    check_variables("dataset", dataset, "R", "q", "training_error", "replica_symmetric",
                    made_by="tl.equilibrium.learning_curve(..., temperature=0.1)")  # fmt: skip
    axes = new_panels(2, figsize)
    for place, pair in zip(axes, (("R", "q"), tuple(QUANTITIES)[2:]), strict=True):
        names = {name: QUANTITIES[name] for name in pair}
        symbols, others = _draw(place, dataset, names)
        marks = mark_transitions(place, transitions, dataset["load"].values, MARKS)
        place.set_xlabel(SYMBOLS["load_of_examples"])
        add_to_caption(place, "Minima of the free energy over the load.")
        finish(place, handles=[*symbols, *others, *marks] if place is axes[0] else symbols)
    axes[1].set_ylim(bottom=0.0)
    T, noise = float(dataset["temperature"]), float(dataset["label_noise"])
    title = f"$T = {T:g}$" + (rf", $\varsigma = {noise:g}$" if noise else "")
    axes[0].figure.suptitle(title)
    return axes


def _draw(axes: Axes, dataset: xr.Dataset, names: dict[str, str]) -> tuple[list[Any], list[Any]]:
    """Draw all branches of minima, in grey where replica symmetry is unstable.

    Returns the legend entries of the symbols, and those of the kinds of states and of grey.
    """
    from matplotlib.lines import Line2D

    load, branches = dataset["load"].values, _drawn_branches(dataset)
    minimum, symmetric = dataset["site_stable"].values, dataset["replica_symmetric"].values
    symbols, styles, unstable = [], {}, []
    for number, (name, symbol) in enumerate(names.items()):
        symbols.append(Line2D([], [], color=colour(number), label=symbol))
        for i, kind in branches.items():
            y = dataset[name].values[i]
            for mask, tint, label in (
                (minimum[i] & symmetric[i], colour(number), f"{symbol}, {kind}"),
                (minimum[i] & ~symmetric[i], UNSTABLE_COLOUR, UNSTABLE_LABEL),
            ):
                line = np.where(mask, y, np.nan)
                if np.any(np.isfinite(line)):
                    style: Any = STYLES[kind]
                    words = WORDS.get(kind, kind)
                    axes.plot(load, line, linestyle=style, color=tint, label=label)
                    styles[kind] = Line2D([], [], color="0.25", linestyle=style, label=words)
                    if tint == UNSTABLE_COLOUR:
                        unstable = [Line2D([], [], color=UNSTABLE_COLOUR, label=UNSTABLE_LABEL)]
    axes.set_ylabel(", ".join(names.values()))
    return symbols, [*styles.values(), *unstable]


def _drawn_branches(dataset: xr.Dataset) -> dict[int, str]:
    """Return the kinds of branches by number; states −R that equal states R by symmetry are
    omitted.
    """
    kinds, R, q = list(map(str, dataset["kind"].values)), dataset["R"].values, dataset["q"].values
    near: Any = {"atol": MIRROR_TOLERANCE, "equal_nan": True}

    def is_mirrored(i: int) -> bool:
        others = [j for j, kind in enumerate(kinds) if kind == "R > S"]
        return any(np.allclose(R[i], -R[j], **near) and np.allclose(q[i], q[j], **near)
                   for j in others)  # fmt: skip

    return {i: kind for i, kind in enumerate(kinds) if kind != "R < S" or not is_mirrored(i)}


@figure_function
def temperature_states(
    datasets: Sequence[xr.Dataset], axes: Axes | None = None, *, which: str = "R"
) -> Any:
    """Draw one quantity of all minima over α̃ = P/(KN), at several temperatures.

    Args:
        datasets: from `tutelage.equilibrium.learning_curve`, one per temperature.
        axes: Axes to draw on; a new figure when left out.
        which: "R", "q", "generalization_error" or "training_error".

    Returns:
        The Axes.  Shades are temperatures, line styles kinds of states.  A thin line is a state in
        which replica symmetry is unstable, Λ < 0, so that it is an estimate.  States −R that are
        those with R by symmetry are left out.  States at 0, whose lines would hide each other, are
        lines just below 0, one for each temperature.
    """
    import matplotlib
    from matplotlib.lines import Line2D

    check_choice("which", which, QUANTITIES)
    if not isinstance(datasets, Sequence) or not len(datasets):
        allowed = "it has to be a list of learning curves at temperatures"
        raise InputError("datasets", short_repr(datasets), allowed, "[cold, hot]")
    for dataset in datasets:
        check_variables("datasets", dataset, which, "R", "q", "temperature", "replica_symmetric",
                        made_by="tl.equilibrium.learning_curve(..., temperature=0.1)")  # fmt: skip
    axes = new_axes(axes)
    wide = float(matplotlib.rcParams["lines.linewidth"])
    tints, entries, styles, thin = ordered_colours(len(datasets)), [], {}, []
    largest = max(float(np.nanmax(np.abs(one[which].values))) for one in datasets)
    step = largest * min(ZERO_STEP, ZERO_RANGE / len(datasets))
    moved = False
    for number, (dataset, tint) in enumerate(zip(datasets, tints, strict=True), start=1):
        entries.append(Line2D([], [], color=tint, label=f"$T = {float(dataset['temperature']):g}$"))
        for i, kind in _drawn_branches(dataset).items():
            minimum = dataset["site_stable"].values[i]
            symmetric = dataset["replica_symmetric"].values[i]
            for mask, width in ((minimum & symmetric, wide), (minimum & ~symmetric, 0.4 * wide)):
                line = np.where(mask, dataset[which].values[i], np.nan)
                if np.any(np.isfinite(line)):
                    look: Any = {"linestyle": STYLES[kind], "linewidth": width}
                    if len(datasets) > 1 and np.nanmax(np.abs(line)) < MIRROR_TOLERANCE:
                        line, moved = line - number * step, True
                    axes.plot(dataset["load"].values, line, color=tint, **look)
                    words = WORDS.get(kind, kind)
                    style: Any = STYLES[kind]
                    styles[kind] = Line2D([], [], color="0.25", linestyle=style, label=words)
                    if width < wide:
                        thin = [Line2D([], [], color="0.25", linewidth=width, label=SHORT_LABEL)]
    axes.set(xlabel=SYMBOLS["load_of_examples"], ylabel=QUANTITIES[which])
    add_to_caption(axes, "Minima of the free energy over the load.")
    if moved:
        words = QUANTITY_WORDS[which]
        add_to_caption(axes, f"Lines just below 0 are states with {words} = 0, moved apart.")
    if thin:
        add_to_caption(
            axes, "On thin lines the replicon Λ is negative: replica symmetry is unstable."
        )
    return finish(axes, handles=[*entries, *styles.values(), *thin])


@figure_function
def temperature_diagram(dataset: xr.Dataset, axes: Axes | None = None) -> Any:
    """Draw the phases over the load α̃ and the temperature.

    Args:
        dataset: a sweep of `tutelage.equilibrium.phases` over temperatures.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes.  The specialized phase lies to the right of α̃_c, and is lightly coloured between
        α̃_s and α̃_c, where it is metastable, and where no α̃_c exists.  Hatched: replica symmetry
        is unstable in the state that is drawn.  A horizontal line is the Nishimori temperature.
    """
    check_variables("dataset", dataset, "appears", "coexists", "agreement", "replica_symmetric",
                    "temperature", made_by=DIAGRAM)  # fmt: skip
    if dataset["appears"].dims != ("temperature",):
        allowed = "it has to be a sweep over temperatures alone"
        raise InputError("dataset", f"dimensions {dataset['appears'].dims}", allowed, DIAGRAM)
    axes = new_axes(axes)
    dataset = dataset.sortby("temperature")
    T, load = dataset["temperature"].values, dataset["load"].values
    entries = _fill(axes, dataset, T, load)
    for name, (symbol, look) in DIAGRAM_LINES.items():
        x = dataset[name].values
        if np.any((x >= load[0]) & (x <= load[-1])) and not _is_hidden(dataset, name):
            (line,) = axes.plot(x, T, color="black", label=with_formulas(symbol), **look)
            entries.append(line)
    noise = float(dataset["label_noise"]) if "label_noise" in dataset.coords else 0.0
    if T[0] < noise**2 < T[-1]:
        label = r"Nishimori, $T = \varsigma^2$"
        entries.append(axes.axhline(noise**2, color=colour(1), linewidth=0.9, label=label))
    axes.set(xlabel=SYMBOLS["load_of_examples"], ylabel="$T$", xlim=(load[0], load[-1]))
    axes.set_ylim(T[0], T[-1])
    if T[0] > 0 and len(T) > 2 and np.ptp(np.diff(np.log(T))) < 1e-6:
        axes.set_yscale("log")
    add_to_caption(
        axes, f"Loads of the transitions at {len(T)} temperatures, joined by straight lines."
    )
    finish(axes, handles=entries)
    axes.grid(False)
    return axes


def _is_hidden(dataset: xr.Dataset, name: str) -> bool:
    """Whether a line lies on that of α̃_c everywhere, as at a continuous transition."""
    if name == "coexists":
        return False
    return bool(np.allclose(dataset[name], dataset["coexists"], rtol=1e-6))


def _fill(axes: Axes, dataset: xr.Dataset, T: np.ndarray, load: np.ndarray) -> list[Any]:
    """Colour the phases and hatch broken replica symmetry; return legend entries."""
    from matplotlib.patches import Patch

    appears, coexists = dataset["appears"].values, dataset["coexists"].values
    axes.set_facecolor(PHASE_COLOURS[0])
    frame: Any = {"edgecolor": "0.6", "linewidth": 0.5}
    entries = [Patch(facecolor=PHASE_COLOURS[0], label="unspecialized", **frame)]
    for edge, tint, label in (
        (appears, PHASE_COLOURS[1], COEXISTENCE_LABEL),
        (coexists, PHASE_COLOURS[3], "specialized"),
    ):
        # Lines end beyond the picture, so that areas end at its edge.
        end = np.fmax(edge, load[-1])
        axes.fill_betweenx(T, edge, end, where=np.isfinite(edge), color=tint, linewidth=0)
        if np.any(edge < load[-1]):
            entries.append(Patch(facecolor=tint, label=label, **frame))
    if np.allclose(appears, coexists, rtol=1e-6):
        entries = [one for one in entries if one.get_label() != COEXISTENCE_LABEL]
    unstable = ~dataset["replica_symmetric"].transpose("temperature", "load").values.astype(bool)
    if np.any(unstable):
        look: Any = {"colors": "none", "hatches": ["", "////"], "levels": [-0.5, 0.5, 1.5]}
        axes.contourf(load, T, unstable.astype(float), **look)
        entries.append(Patch(facecolor="none", hatch="////", label=UNSTABLE_LABEL))
    return entries
