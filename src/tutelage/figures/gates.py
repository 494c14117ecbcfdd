"""Activations of noisy gates, networks of them, and where their units specialize."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.axes import drawing, finished, new_axes, shades
from tutelage.runs.recompute import argument

SYMBOLS = {
    "expectation": r"$\langle s\rangle$",
    "signal": r"$\langle j\rangle$",
    "variance": r"$\langle s^2\rangle-\langle s\rangle^2$",
    "backpropagation_factor": r"$\hat g(h)$",
    "entropy": r"$S$",
}


@drawing
def gate_activations(dataset: xr.Dataset, axes: Any = None, *, which: str = "signal") -> Any:
    """Draw what a gate does to a field h, one curve for each β.

    Args:
        dataset: from `tutelage.gates.curves`.
        axes: Axes to draw on; a new figure when left out.
        which: "signal", "expectation", "variance", "backpropagation_factor" or "entropy".

    Returns:
        The Axes drawn on; without noise (β = ∞) the curve is black and dashed.
    """
    if which not in SYMBOLS:
        raise InputError("which", repr(which), f"it has to be one of {', '.join(SYMBOLS)}")
    axes = new_axes(axes)
    betas = dataset["beta"].values
    for beta, colour, values in zip(betas, shades(len(betas)), dataset[which], strict=True):
        noiseless = np.isinf(beta)
        style = {"color": "black", "linestyle": "--"} if noiseless else {"color": colour}
        label = r"$\beta=\infty$" if noiseless else rf"$\beta={beta:g}$"
        axes.plot(dataset["field"], values, label=label, **style)
    axes.set(xlabel="$h$", ylabel=SYMBOLS[which], title=_gate(dataset))
    return finished(axes)


@drawing
def critical_load(datasets: Sequence[xr.Dataset], axes: Any = None) -> Any:
    """Draw the load α_c at which noisy units specialize against β, a curve for each Dataset.

    Args:
        datasets: from `tutelage.gates.specialization_loads`, for different numbers of units or
            different gates.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  A Dataset that has β = ∞ has a dotted line at its α_c; loads that are
        never reached cannot be drawn.
    """
    axes = new_axes(axes)
    for number, one in enumerate(datasets):
        beta, alpha = one["beta"].values, one["coexists"].values
        shown = np.isfinite(beta) & np.isfinite(alpha) & (beta > 0)
        units = str(one.attrs.get("units", "")).replace("inf", r"\infty")
        name = f"{_gate(one)}, $K={units}$"
        axes.plot(beta[shown], alpha[shown], color=f"C{number}", label=name)
        for limit in alpha[np.isinf(beta) & np.isfinite(alpha)]:
            axes.axhline(limit, color=f"C{number}", linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel=r"$\alpha_c$")
    return finished(axes)


def _gate(dataset: xr.Dataset) -> str:
    """The name of the gate, for a title."""
    recorded = "computed_by" in dataset.attrs
    return argument(dataset, "gate").name if recorded else str(dataset.attrs.get("gate", ""))


@drawing
def sampled_gates(dataset: xr.Dataset, axes: Any = None) -> Any:
    """Draw how far sampled signals are from the mean-field pass, with their standard errors.

    Args:
        dataset: from `tutelage.gates.sample_network`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on: one colour for each layer; bars are two standard errors long to either
        side, so that nearly all of those of the first layer meet the line at zero.
    """
    axes = new_axes(axes)
    for layer in np.unique(dataset["layer"].values):
        one = dataset.isel(unit=np.flatnonzero(dataset["layer"].values == layer))
        exact = one["mean_field"].values.ravel()
        off = one["signal"].values.ravel() - exact
        bars = 2 * one["standard_error"].values.ravel()
        axes.errorbar(exact, off, bars, fmt=".", color=f"C{layer - 1}", label=f"layer {layer}")
    axes.axhline(0.0, color="black", linewidth=0.8)
    label = r"sampled $\langle j\rangle$ minus mean field"
    axes.set(xlabel=r"mean-field $\langle j\rangle$", ylabel=label)
    return finished(axes)
