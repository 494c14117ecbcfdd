"""Simulated runs: when they leave a plateau, and how they approach the theory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import drawing, finished, new_axes


@drawing
def escapes(ensembles: Sequence[xr.Dataset], axes: Any = None) -> Any:
    """Draw which part of the runs has left the plateau by when, one curve for each ensemble.

    Args:
        ensembles: from `tutelage.simulation.escape_times`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Runs that have not left keep a curve below 1.
    """
    axes = new_axes(axes)
    for number, one in enumerate(ensembles):
        N = one.attrs.get("dimension")
        name = f"ensemble {number + 1}" if N is None else f"$N = {int(N)}$"
        times = np.sort(one["escape_time"].dropna("run").values)
        left = np.arange(1, len(times) + 1) / one.sizes["run"]
        x = np.concatenate([[float(one["time"][0])], times, [float(one["time"][-1])]])
        y = np.concatenate([[0.0], left, left[-1:] if len(left) else [0.0]])
        axes.step(x, y, where="post", label=name)
    axes.set(xlabel=r"$\alpha$", ylabel="runs that have left the plateau", ylim=(0.0, 1.02))
    return finished(axes)


@drawing
def finite_size(dataset: xr.Dataset, axes: Any = None) -> Any:
    """Draw deviation and spread against N on logarithmic axes, with their exponents.

    Args:
        dataset: from `tutelage.simulation.finite_size`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Bars are standard errors; dashed lines have the fitted exponents.
    """
    axes = new_axes(axes)
    N = dataset["dimension"].values.astype(float)
    drawn = (("deviation", "mean", "o"), ("spread", "spread", "s"))
    for number, (name, what, marker) in enumerate(drawn):
        y, colour = dataset[name].values, f"C{number}"
        bars = dataset["standard_error"].values if what == "mean" else None
        p, width = (dataset.attrs[f"{what}_exponent{end}"] for end in ("", "_standard_error"))
        label = rf"{name} $\sim N^{{-x}}$, $x = {p:.3f} \pm {width:.3f}$"
        axes.errorbar(N, y, yerr=bars, fmt=marker, color=colour, label=label)
        middle = np.exp(np.mean(np.log(y * N**p)))
        axes.plot(N, middle * N**-p, "--", color=colour)
    axes.set(xscale="log", yscale="log", xlabel="$N$", ylabel="root mean square over overlaps")
    return finished(axes)
