"""Simulated runs: escape times from a plateau, and deviations from the theory over N."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.style import colour, new_axes, ordered_colours
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, ticks_at


@figure_function
def escapes(ensembles: Sequence[xr.Dataset], axes: Axes | None = None) -> Any:
    """Draw the fraction of runs that have left the plateau over time, for each ensemble.

    Args:
        ensembles: from `tutelage.simulation.escape_times`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes.  Colours are in the order of N.  A curve that ends below 1 has runs that do not
        leave the plateau.
    """
    axes = new_axes(axes)
    sizes = [one.attrs.get("dimension") for one in ensembles]
    dimensions = sorted({int(N) for N in sizes if N is not None})
    tints = dict(zip(dimensions, ordered_colours(len(dimensions)), strict=True))
    for number, (one, N) in enumerate(zip(ensembles, sizes, strict=True)):
        name = f"ensemble {number + 1}" if N is None else f"$N = {int(N)}$"
        times = np.sort(one["escape_time"].dropna("run").values)
        left = np.arange(1, len(times) + 1) / one.sizes["run"]
        x = np.concatenate([[float(one["time"][0])], times, [float(one["time"][-1])]])
        y = np.concatenate([[0.0], left, left[-1:] if len(left) else [0.0]])
        tint = colour(number) if N is None else tints[int(N)]
        axes.step(x, y, where="post", label=name, color=tint)
    runs = ", ".join(str(one.sizes["run"]) for one in ensembles)
    add_to_caption(axes, f"Fraction of the runs that have left the plateau ({runs} runs).")
    axes.set(xlabel=SYMBOLS["time"], ylabel="runs off the plateau", ylim=(0.0, 1.02))
    return finish(axes)


@figure_function
def finite_size(dataset: xr.Dataset, axes: Axes | None = None) -> Any:
    """Draw deviation and spread over N on logarithmic axes, with fitted exponents.

    Args:
        dataset: from `tutelage.simulation.finite_size`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes.  Bars are standard errors; the standard error of a spread over n runs is the
        spread divided by √(2n), as for one normal number.  Dashed lines have the fitted exponents.
    """
    axes = new_axes(axes)
    N = dataset["dimension"].values.astype(float)
    drawn = (("deviation", "mean", "o"), ("spread", "spread", "s"))
    for number, (name, what, marker) in enumerate(drawn):
        y, tint = dataset[name].values, colour(number)
        bars = dataset["standard_error"].values if what == "mean" else _error_of_spread(dataset)
        p, width = (dataset.attrs[f"{what}_exponent{end}"] for end in ("", "_standard_error"))
        label = rf"{name} $\sim N^{{-x}}$, $x = {p:.3f} \pm {width:.3f}$"
        # Keeps the lower end of a bar positive on the logarithmic axis.
        lengths = [np.minimum(bars, 0.999 * y), bars]
        axes.errorbar(N, y, yerr=lengths, fmt=marker, color=tint, label=label)
        middle = np.exp(np.mean(np.log(y * N**p)))
        axes.plot(N, middle * N**-p, "--", color=tint, linewidth=1.0)
    axes.set(xscale="log", yscale="log", xlabel="$N$", ylabel="rms over overlaps")
    axes.set_ylim(bottom=0.3 * float(min(dataset["deviation"].min(), dataset["spread"].min())))
    ticks_at(axes.xaxis, N)
    add_to_caption(
        axes,
        "Deviation of the mean from the theory and spread over runs, root mean squares over "
        "overlaps and times, with standard errors. Dashed: the fitted powers of N.",
    )
    return finish(axes)


def _error_of_spread(dataset: xr.Dataset) -> np.ndarray:
    """Return σ/√(2n), an upper bound: the spread is a mean over several overlaps."""
    return dataset["spread"].values / np.sqrt(2 * dataset["runs"].values)
