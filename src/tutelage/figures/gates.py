"""Noisy gates: their activations, networks of them, and the load at which units specialize."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import check_choice
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_axes, ordered_colours
from tutelage.figures.text import add_to_caption, finish
from tutelage.runs.recompute import argument

SYMBOLS = {
    "expectation": r"$\langle s\rangle$",
    "signal": r"$\langle j\rangle$",
    "variance": r"$\langle s^2\rangle-\langle s\rangle^2$",
    "backpropagation_factor": r"$\hat g(h)$",
    "entropy": r"entropy $S(h)$",
}

JUMP_FACTOR = 5.0  # a step larger than this multiple of the median step is a jump


@figure_function
def gate_activations(
    dataset: xr.Dataset, axes: Axes | None = None, *, which: str = "signal"
) -> Any:
    """Draw a quantity of a noisy gate over the field h, one curve for each β.

    Args:
        dataset: from `tutelage.gates.curves`.
        axes: Axes to draw on; a new figure when left out.
        which: "signal", "expectation", "variance", "backpropagation_factor" or "entropy".

    Returns:
        The Axes.  Without noise (β = ∞) the curve is black and dashed, with a gap at each jump.
    """
    check_choice("which", which, SYMBOLS)
    axes = new_axes(axes)
    betas = dataset["beta"].values
    for beta, tint, values in zip(betas, ordered_colours(len(betas)), dataset[which], strict=True):
        noiseless = np.isinf(beta)
        style = {"color": "black", "linestyle": "--"} if noiseless else {"color": tint}
        label = r"$\beta=\infty$" if noiseless else rf"$\beta={beta:g}$"
        h, y = dataset["field"].values, values.values
        axes.plot(*(_with_gaps(h, y) if noiseless else (h, y)), label=label, **style)
    words = _gate(dataset)
    add_to_caption(
        axes, f"{words[:1].upper()}{words[1:]}; without noise dashed, with gaps where it jumps."
    )
    axes.set(xlabel="$h$", ylabel=SYMBOLS[which])
    return finish(axes)


def _with_gaps(h: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Insert NaN at the jumps of a function on a grid, so that no line is drawn across them."""
    steps = np.abs(np.diff(y))
    jumps = np.flatnonzero(
        steps > JUMP_FACTOR * max(float(np.median(steps)), 1e-3 * float(np.ptp(y)))
    )
    y = y.copy()
    y[jumps[1:][np.diff(jumps) == 1]] = np.nan  # a point at the jump itself
    return np.insert(h, jumps + 1, (h[jumps] + h[jumps + 1]) / 2), np.insert(y, jumps + 1, np.nan)


@figure_function
def critical_load(datasets: Sequence[xr.Dataset], axes: Axes | None = None) -> Any:
    """Draw the load α_c at which noisy units specialize against β, a curve for each Dataset.

    Args:
        datasets: from `tutelage.gates.specialization_loads`, for different numbers of units or
            different gates.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes.  A triangle at the right edge marks α_c at β = ∞.
    """
    from matplotlib import rcParams
    from matplotlib.lines import Line2D

    axes = new_axes(axes)
    limits = 0
    gates = list(dict.fromkeys(map(_gate, datasets)))
    for number, one in enumerate(datasets):
        beta, alpha = one["beta"].values, one["coexists"].values
        finite = np.isfinite(beta) & np.isfinite(alpha) & (beta > 0)
        units = str(one.attrs.get("units", "")).replace("inf", r"\infty")
        name = f"$K={units}$" if len(gates) == 1 else f"{_gate(one)}, $K={units}$"
        dash = DASHES[number % len(DASHES)]
        axes.plot(beta[finite], alpha[finite], color=colour(number), linestyle=dash, label=name)
        for limit in alpha[np.isinf(beta) & np.isfinite(alpha)]:
            options: dict[str, Any] = {"color": colour(number), "clip_on": False, "zorder": 4}
            # Open and of different sizes, so that equal limits can be seen.
            size = rcParams["lines.markersize"] * (1 + 0.5 * (len(datasets) - 1 - number))
            options |= {"fillstyle": "none", "markersize": size}
            across = axes.get_yaxis_transform()
            axes.plot([1.0], [limit], "<", transform=across, **options)
            limits += 1
            add_to_caption(axes, "Triangles at the right edge are the loads without noise, β = ∞.")
    add_to_caption(
        axes, f"Load at which units specialize against the noise of the gates: {', '.join(gates)}."
    )
    axes.set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel=r"$\alpha_c$")
    handles = axes.get_legend_handles_labels()[0]
    if limits:
        look: Any = {"marker": "<", "linestyle": "none", "fillstyle": "none", "color": "0.25"}
        handles.append(Line2D([], [], label=r"$\beta = \infty$", **look))
    return finish(axes, handles=handles)


def _gate(dataset: xr.Dataset) -> str:
    """Return the gate in words, such as "gate with levels {0, 1}"."""
    recorded = "computed_by" in dataset.attrs
    name = argument(dataset, "gate").name if recorded else str(dataset.attrs.get("gate", ""))
    return name.replace("Gate([", "gate with levels {").replace("])", "}")


@figure_function
def sampled_gates(dataset: xr.Dataset, axes: Axes | None = None) -> Any:
    """Draw the deviation of sampled signals from the mean-field pass, with standard errors.

    Args:
        dataset: from `tutelage.gates.sample_network`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes, with one colour and symbol for each layer.  Bars extend two standard errors to
        either side, so that nearly all bars of the first layer cross the line at zero.
    """
    axes = new_axes(axes)
    symbols = "osD^v"
    for layer in np.unique(dataset["layer"].values):
        one = dataset.isel(unit=np.flatnonzero(dataset["layer"].values == layer))
        exact = one["mean_field"].values.ravel()
        deviation = one["signal"].values.ravel() - exact
        bars = 2 * one["standard_error"].values.ravel()
        style: dict[str, Any] = {
            "fmt": symbols[(layer - 1) % len(symbols)],
            "color": colour(layer - 1),
        }
        style |= {"alpha": 0.75, "elinewidth": 0.8, "capsize": 0, "markersize": 3}
        axes.errorbar(exact, deviation, bars, label=f"layer {layer}", **style)
    axes.axhline(0.0, color="black", linewidth=0.8)
    add_to_caption(axes, "Bars extend two standard errors to either side.")
    label = r"sampled $-$ mean-field $\langle j\rangle$"
    axes.set(xlabel=r"mean-field $\langle j\rangle$", ylabel=label)
    return finish(axes)
