"""Oostwal, Straat and Biehl (2019): Figs. 1 to 5, with sampled weights on the curves of 2, 3, 5.

Line styles are those of the paper's captions: solid, dashed, dotted and chain lines.
The ranges of the axes are ours, except that Fig. 5 (left) shows the loads around the transition.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU
from tutelage.figures.style import new_grid
from tutelage.figures.text import finish
from tutelage.papers.oostwal2019.loads import transitions
from tutelage.papers.oostwal2019.measures import is_error_function
from tutelage.papers.oostwal2019.samples import sampled, size
from tutelage.papers.section import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Fig. 3, lower left: solid R and dashed S for R > S, chain line R and dotted S for R < S.
OVERLAP_STYLES = {
    ("R", "R > S"): "-",
    ("S", "R > S"): "--",
    ("R", "R < S"): "-.",
    ("S", "R < S"): ":",
    ("R", "unspecialized"): "-",
    ("S", "unspecialized"): "--",
}
MARKERS = {"R": "o", "S": "s", "C": "o", "generalization_error": "o"}
LAST_LOAD = {("Erf", 2): 60.0, ("Erf", 5): 100.0, ("ReLU", 2): 15.0, ("ReLU", 10): 15.0}
HIGHEST_ERROR = {("Erf", 2): 0.1, ("Erf", 5): 0.05, ("ReLU", 2): 0.35, ("ReLU", 10): 0.35}  # ε_g
FIRST_LOAD_OF_FIG_5 = {"Erf": 30.0, "ReLU": 0.0}  # of Fig. 5
LAST_LOAD_OF_FIG_5 = {"Erf": 80.0, "ReLU": 30.0}


def architecture() -> Figure:
    """Fig. 1: the network, and the two activations."""

    x = np.linspace(-3.0, 3.0, 241)
    values = {"sigmoidal": Erf(offset=1.0)(x), "relu": ReLU()(x)}
    data = xr.Dataset({k: ("x", np.asarray(v)) for k, v in values.items()}, coords={"x": x})
    figure, axes = new_grid(1, 2, (10.0, 3.8))
    _network(axes[0])
    axes[1].plot(x, data["sigmoidal"], "-", label=r"$1 + \mathrm{erf}(x/\sqrt{2})$")
    axes[1].plot(x, data["relu"], "--", label=r"$\max\{0, x\}$")
    axes[1].set(xlabel="$x$", ylabel="$g(x)$", xlim=(-3, 3), ylim=(-0.1, 3.0))
    axes[1].grid(alpha=0.3)
    finish(axes[1])
    return Figure(figure, {"": data})


def _network(axes: "Axes", inputs: int = 6, hidden: int = 4) -> None:
    """Draw the network: solid lines for adaptive weights, dashed ones for those fixed to 1/√K."""
    below = [(i - (inputs - 1) / 2, 0.0) for i in range(inputs)]
    middle = [(1.2 * (k - (hidden - 1) / 2), 1.0) for k in range(hidden)]
    top = (0.0, 2.0)
    for unit in middle:
        for one in below:
            axes.plot(*zip(one, unit, strict=True), "-", color="0.6", linewidth=0.8, zorder=1)
        axes.plot(*zip(unit, top, strict=True), "--", color="0.2", linewidth=1.0, zorder=1)
    for x, y in (*below, *middle, top):
        axes.plot(x, y, "o", color="white", markeredgecolor="black", markersize=13, zorder=2)
    for y, text in ((0.0, r"$\xi\in\mathbb{R}^N$"), (1.0, "$g(x_k)$"), (2.0, r"$\sigma(\xi)$")):
        axes.text(3.4, y, text, verticalalignment="center")
    axes.text(2.3, 0.5, r"$\mathbf{w}_k$")
    axes.text(1.5, 1.55, r"$1/\sqrt{K}$")
    axes.set(xlim=(-3.4, 4.6), ylim=(-0.4, 2.4))
    axes.set_axis_off()


def learning_curves(g: Activation, units: tuple[int, int], full: bool) -> Figure:
    """Figs. 2 and 3: a row for each K, order parameters on the left, ε_g on the right."""

    from tutelage.figures import order_parameters

    figure, axes = new_grid(2, 2, (11.0, 8.0))
    data: dict[str, xr.Dataset] = {}
    for row, K in zip(axes, units, strict=True):
        curves, samples = _curve(g, K, 0.0, LAST_LOAD[g.name, K]), sampled(g, K, full)
        if K == 2:  # R < S is R > S with the students exchanged
            curves = curves.sel(branch=curves["kind"] != "R < S")
        marks = transitions(g, K)
        order_parameters(curves, row[0], transitions=marks, styles=OVERLAP_STYLES)
        order_parameters(curves, row[1], which=["generalization_error"], transitions=marks)
        _symbols(row[0], samples, ("R", "S"), full)
        _symbols(row[1], samples, ("generalization_error",), full)
        finish(row[0])
        row[1].set_ylim(0.0, HIGHEST_ERROR[g.name, K])
        for panel in row:
            panel.set(title=f"{_name(g)}, $K = {K}$", xlim=(0.0, LAST_LOAD[g.name, K]))
        data |= {f"K{K}": curves, **{f"K{K}_from_{k}": v for k, v in samples.items()}}
    return Figure(figure, data)


def large_networks() -> Figure:
    """Fig. 4: R of the branches R > 0 and R < 0, and their common error."""

    from tutelage.figures import order_parameters

    figure, axes = new_grid(1, 2, (10.0, 3.8))
    curves, marks = _curve(ReLU(), math.inf, 0.0, 20.0), transitions(ReLU(), math.inf)
    order_parameters(curves, axes[0], which=["R"], transitions=marks)
    order_parameters(curves, axes[1], which=["generalization_error"], transitions=marks)
    axes[0].set(ylim=(-1.0, 1.0))
    for panel in axes:
        panel.set(title=r"ReLU, $K \to \infty$", xlim=(0.0, 20.0))
    return Figure(figure, {"": curves})


def student_overlaps(full: bool) -> Figure:
    """Fig. 5: C of erf with K = 5 near the transition, and of ReLU with K = 10."""

    from tutelage.figures import order_parameters

    figure, axes = new_grid(1, 2, (11.0, 4.2))
    data: dict[str, xr.Dataset] = {}
    for panel, (g, K) in zip(axes, ((Erf(), 5), (ReLU(), 10)), strict=True):
        first, last = FIRST_LOAD_OF_FIG_5[g.name], LAST_LOAD_OF_FIG_5[g.name]
        curves, samples = _curve(g, K, first, last), sampled(g, K, full)
        order_parameters(curves, panel, which=["C"], transitions=transitions(g, K))
        inside = {
            k: v.sel(load=(v["load"] >= first) & (v["load"] <= last)) for k, v in samples.items()
        }
        _symbols(panel, inside, ("C",), full)
        panel.axhline(0.0, color="0.8", linewidth=0.6, zorder=0)
        panel.set(title=f"{_name(g)}, $K = {K}$", xlim=(first, last))
        data |= {g.name.lower(): curves}
        data |= {f"{g.name.lower()}_from_{k}": v for k, v in inside.items()}
    axes[0].set_ylim(-0.003, 0.001)
    axes[1].set_ylim(-0.024, 0.008)
    return Figure(figure, data)


@cache
def _curve(g: Activation, K: float, first: float, last: float) -> xr.Dataset:
    return equilibrium.learning_curve(g, K, np.linspace(first, last, 1001))


def _symbols(
    axes: "Axes", samples: Mapping[str, xr.Dataset], which: tuple[str, ...], full: bool
) -> None:
    """Draw circles and squares for chains in R ≥ S, triangles for chains that began in R < S."""
    for number, (start, sample) in enumerate(samples.items()):
        label = f"sampled, $N = {size(full).dimension}$" if number == 0 else ""
        _sampled(sample, axes, which, label, "v" if start == "opposite" else "")
    finish(axes)


def _sampled(
    dataset: xr.Dataset,
    axes: "Axes",
    which: tuple[str, ...] = ("R", "S"),
    label: str = "",
    marker: str = "",
) -> Any:
    """Draw means over sampled weights on the curves of `tutelage.figures.order_parameters`.

    Args:
        dataset: means over ``load``, and their standard errors as NAME_error.
        axes: Axes to draw on.
        which: "R", "S", "C" or "generalization_error", in the order of the curves' colours.
        label: for the legend.
        marker: one for all, instead of circles and squares.

    Returns:
        The Axes drawn on: open symbols, circles for the first and squares for S; bars are two
        standard errors long to either side.
    """
    for number, name in enumerate(which):
        axes.errorbar(
            dataset["load"].values,
            dataset[name].values,
            2 * dataset[f"{name}_error"].values,
            fmt=marker or MARKERS[name],
            color=f"C{number}",
            fillstyle="none",
            linewidth=0.8,
            label=label if number == 0 and label else None,
            zorder=3,
        )
    finish(axes)
    return axes


def _name(g: Activation) -> str:
    return "sigmoidal" if is_error_function(g) else g.name
