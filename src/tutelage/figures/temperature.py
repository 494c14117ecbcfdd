"""Equilibrium at a temperature: overlaps and errors over the load α̃."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import check_variables
from tutelage.figures.axes import drawing

# As in oostwal2019: solid for R > S, dashed for R = S = 0, dotted for R < S.
STYLES = {"R > S": "-", "unspecialized": "--", "R < S": ":", "agreeing": "-."}
# α̃_s, α̃_c, α̃_d and α̃_g, and how each is drawn.
LINES = {
    "appears": (r"$\tilde\alpha_s$", ":"),
    "coexists": (r"$\tilde\alpha_c$", "-"),
    "unstable": (r"$\tilde\alpha_d$", "--"),
    "agreement": (r"$\tilde\alpha_g$", "-."),
}
BROKEN = "0.65"  # grey: replica symmetry is unstable


@drawing
def temperature_curves(dataset: xr.Dataset, transitions: Any = None) -> Any:
    """R and q, and generalization and training error, of all minima over α̃ = P/(KN).

    Args:
        dataset: from `tutelage.equilibrium.learning_curve` with a temperature.
        transitions: from `tutelage.equilibrium.transitions`; its loads are marked.

    Returns:
        Both Axes.  Where replica symmetry is unstable a curve is grey: its numbers are estimates.
    """
    import matplotlib.pyplot as plt

    check_variables("dataset", dataset, "R", "q", "training_error", "replica_symmetric",
                    made_by="tl.equilibrium.learning_curve(..., temperature=0.1)")  # fmt: skip
    _, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    _draw(axes[0], dataset, {"R": "$R$", "q": "$q$"})
    errors = {"generalization_error": r"$\varepsilon_g$", "training_error": r"$\varepsilon_t$"}
    _draw(axes[1], dataset, errors)
    for ax in axes:
        _mark(ax, transitions, dataset["load"].values)
        ax.set_xlabel(r"$\tilde\alpha = P/(KN)$")
        ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    axes[1].set_ylim(bottom=0.0)
    T, noise = float(dataset["temperature"]), float(dataset["label_noise"])
    title = f"$T = {T:g}$" + (rf", $\varsigma = {noise:g}$" if noise else "")
    axes[0].figure.suptitle(title, fontsize="medium")
    return axes


def _draw(axes: Any, dataset: xr.Dataset, names: dict[str, str]) -> None:
    """Every branch of minima; the parts with unstable replica symmetry in grey."""
    load, kinds = dataset["load"].values, dataset["kind"].values
    minimum, symmetric = dataset["site_stable"].values, dataset["replica_symmetric"].values
    named: set[str] = set()
    for number, (name, symbol) in enumerate(names.items()):
        for i, kind in enumerate(kinds):
            y = dataset[name].values[i]
            style = STYLES[str(kind)]
            for there, colour, label in (
                (minimum[i] & symmetric[i], f"C{number}", f"{symbol}, {kind}"),
                (minimum[i] & ~symmetric[i], BROKEN, "replica symmetry unstable"),
            ):
                line = np.where(there, y, np.nan)
                if np.any(np.isfinite(line)):
                    new = label if label not in named else None
                    named.add(label)
                    axes.plot(load, line, style, color=colour, label=new)
    axes.set_ylabel(", ".join(names.values()))


def _mark(axes: Any, transitions: Any, load: np.ndarray) -> None:
    """Vertical lines at the loads of the transitions; equal loads have one line with all names."""
    marks: dict[float, list[str]] = {}
    for name in LINES:
        found = getattr(transitions, name, None)
        if found is not None and load[0] <= float(found.value) <= load[-1]:
            marks.setdefault(float(f"{float(found.value):.9g}"), []).append(name)
    for value, names in marks.items():
        axes.axvline(value, color="0.4", linestyle=LINES[names[0]][1], linewidth=0.8)
        text = " = ".join(LINES[name][0] for name in names)
        axes.annotate(text, (value, 1.01), xycoords=("data", "axes fraction"),
                      ha="center", va="bottom", fontsize="small")  # fmt: skip
