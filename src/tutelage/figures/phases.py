"""Phase diagrams: the state of lowest free energy over a parameter and the load."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.equilibrium.symmetric.phases import PHASES
from tutelage.figures.axes import figure_function
from tutelage.figures.equilibrium import MARKS
from tutelage.figures.kinds import Axes
from tutelage.figures.style import new_axes
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, with_formulas

PARAMETERS = {"beta": r"$\beta$", "slope": "slope $a$"}
HINT = 'tl.sweeps.run(tl.equilibrium.phases, {"activation": [tl.Swish(1), tl.Swish(2)]}, ...)'
# α_s, α_c and α_d as lines on the colours of the phases.
LINES: Mapping[str, Mapping[str, Any]] = {
    "appears": {"linestyle": ":", "color": "black"},
    "coexists": {"linestyle": "-", "color": "black"},
    "unstable": {"linestyle": "--", "color": "black"},
}
PHASE_COLOURS = ("#f4f1ea", "#d5dfe6", "#8fb3cc", "#4a7ba6")
HIDDEN_FRACTION = 0.01  # lines closer than this part of the load hide each other


@figure_function
def phase_diagram(dataset: xr.Dataset, axes: Axes | None = None) -> Any:
    """Draw the state of lowest free energy over a parameter of the activation and the load α.

    Args:
        dataset: a sweep of `tutelage.equilibrium.phases` over activations of one kind.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes.  Phases are the areas between the exact lines of the transitions.  Lines that
        hide each other are drawn once, with all their symbols.  The axis of the load is
        logarithmic if the loads form a geometric series.
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
        ylabel=SYMBOLS["load"],
        xlim=(x[0], x[-1]),
        ylim=(y[0], y[-1]),
    )
    if y[0] > 0 and len(y) > 2 and np.ptp(np.diff(np.log(y))) < 1e-6:
        axes.set_yscale("log")
    add_to_caption(
        axes,
        "State of lowest free energy; areas end at the exact loads of the transitions.",
        f"Transitions are exact at {len(x)} values, and joined by straight lines.",
    )
    finish(axes, handles=[*present, *lines])
    axes.grid(False)
    return axes


def _fill_phases(axes: Axes, dataset: xr.Dataset, x: np.ndarray, y: np.ndarray) -> list[Any]:
    """Fill the areas between the lines; return legend entries of those that can be seen."""
    from matplotlib.patches import Patch

    edges = [np.full(len(x), y[0])]
    for name in MARKS:
        line = dataset[name].values.astype(float)
        edges.append(np.clip(np.where(np.isfinite(line), line, y[-1]), edges[-1], y[-1]))
    edges.append(np.full(len(x), y[-1]))
    present = []
    for phase, tint, low, high in zip(PHASES, PHASE_COLOURS, edges, edges[1:], strict=False):
        axes.fill_between(x, low, high, color=tint, linewidth=0)
        if np.any(high - low > HIDDEN_FRACTION * high):
            present.append(Patch(facecolor=tint, edgecolor="0.6", linewidth=0.5, label=phase))
    return present


def _diagram_lines(axes: Axes, dataset: xr.Dataset, x: np.ndarray, y: np.ndarray) -> list[Any]:
    """Draw one line for transitions that hide each other; return the legend entries."""
    visible = {
        name: dataset[name].where((dataset[name] >= y[0]) & (dataset[name] <= y[-1]))
        for name in MARKS
    }
    drawn: list[Any] = []
    for name in ("coexists", "appears", "unstable"):
        if not np.any(np.isfinite(visible[name])):
            continue
        critical = dataset["coexists"]
        hidden = np.allclose(dataset[name], critical, rtol=HIDDEN_FRACTION, equal_nan=True)
        if name != "coexists" and hidden:
            drawn[0].set_label(f"{drawn[0].get_label()} $\\approx$ {with_formulas(MARKS[name][0])}")
            continue
        # All points, so that the line reaches the edge of the picture.
        (line,) = axes.plot(x, dataset[name], label=with_formulas(MARKS[name][0]), **LINES[name])
        drawn.append(line)
    return drawn


def _parameter(dataset: xr.Dataset) -> str:
    """Return the name of the one coordinate with a number per activation."""
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
