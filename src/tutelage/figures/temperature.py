"""Equilibrium at a temperature: overlaps and errors over the load α̃."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import check_variables
from tutelage.figures.axes import figure_function
from tutelage.figures.equilibrium import mark_transitions
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import SYMBOLS, add_to_caption, finish

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


@figure_function
def temperature_curves(dataset: xr.Dataset, transitions: Any = None, *, figsize: Any = None) -> Any:
    """Draw R and q, and generalization and training error, of all minima over α̃ = P/(KN).

    Args:
        dataset: from `tutelage.equilibrium.learning_curve` with a temperature.
        transitions: from `tutelage.equilibrium.transitions`; its loads are marked.
        figsize: width and height in inches.

    Returns:
        Both Axes.  Colours are quantities, line styles kinds of states.  Curves are grey where
        replica symmetry is unstable, so that they are estimates.
    """
    check_variables("dataset", dataset, "R", "q", "training_error", "replica_symmetric",
                    made_by="tl.equilibrium.learning_curve(..., temperature=0.1)")  # fmt: skip
    axes = new_panels(2, figsize)
    errors = {
        "generalization_error": SYMBOLS["generalization_error"],
        "training_error": r"$\varepsilon_t$",
    }
    for place, names in zip(axes, ({"R": "$R$", "q": "$q$"}, errors), strict=True):
        entries = _draw(place, dataset, names)
        marks = mark_transitions(place, transitions, dataset["load"].values, MARKS)
        place.set_xlabel(SYMBOLS["load_of_examples"])
        add_to_caption(place, "Minima of the free energy over the load.")
        finish(place, handles=[*entries, *marks])
    axes[1].set_ylim(bottom=0.0)
    T, noise = float(dataset["temperature"]), float(dataset["label_noise"])
    title = f"$T = {T:g}$" + (rf", $\varsigma = {noise:g}$" if noise else "")
    axes[0].figure.suptitle(title)
    return axes


def _draw(axes: Any, dataset: xr.Dataset, names: dict[str, str]) -> list[Any]:
    """Draw all branches of minima, in grey where replica symmetry is unstable.

    Returns the legend entries: the symbols, the kinds of states, and grey.
    """
    from matplotlib.lines import Line2D

    load, kinds = dataset["load"].values, dataset["kind"].values
    minimum, symmetric = dataset["site_stable"].values, dataset["replica_symmetric"].values
    symbols, styles, unstable = [], {}, []
    for number, (name, symbol) in enumerate(names.items()):
        symbols.append(Line2D([], [], color=colour(number), label=symbol))
        for i, kind in enumerate(map(str, kinds)):
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
    return [*symbols, *styles.values(), *unstable]
