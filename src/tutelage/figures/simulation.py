"""Simulations over the curves of the theory: symbols, bands, and what is to be learned of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.online import _axes, _curves, _time_symbol, error, overlaps

if TYPE_CHECKING:
    from tutelage.simulation.comparison import Comparison

SYMBOLS = 20  # symbols on a curve: enough to follow it, few enough to see it
BAND = {"alpha": 0.2, "linewidth": 0.0}


def simulated_overlaps(
    summary: xr.Dataset, axes: Any = None, which: str = "RQ", symbols: int | None = SYMBOLS
) -> Any:
    """Draw simulated R_in and Q_ik as symbols, in the colours in which `overlaps` draws curves.

    Args:
        summary: from `tutelage.simulation.summary`, or one run.
        axes: Axes to draw on, usually with the curves; a new figure when left out.
        which: "R", "Q" or both, as for the curves.
        symbols: how many for each overlap; None draws lines instead.

    Returns:
        The Axes drawn on.  Symbols are means, bands one standard deviation over runs to either
        side; one run has no band.
    """
    axes = _axes(axes)
    _check(summary)
    curves = [curve for name in which for curve in _curves(summary, name)]
    spread = [np.full(summary.sizes["time"], np.nan)] * len(curves)
    if "Q_spread" in summary:
        renamed = summary.drop_vars(list("QR")).rename(Q_spread="Q", R_spread="R")
        spread = [curve[3] for name in which for curve in _curves(renamed, name)]
    for number, ((_, _, _, mean), width) in enumerate(zip(curves, spread, strict=True)):
        _symbols(axes, summary["time"].values, mean, width, f"C{number % 10}", symbols)
    axes.set_xlabel(_time_symbol(summary))
    return axes


def simulated_error(
    summary: xr.Dataset,
    axes: Any = None,
    colour: Any = "C0",
    label: str | None = None,
    symbols: int | None = SYMBOLS,
) -> Any:
    """Draw the simulated ε_g as symbols, with a band of one standard deviation over runs.

    Args:
        summary: from `tutelage.simulation.summary`, or one run.
        axes: Axes to draw on, usually with the curve; a new figure when left out.
        colour: of the symbols.
        label: of the symbols in the legend.
        symbols: how many; None draws a line instead.

    Returns:
        The Axes drawn on.
    """
    axes = _axes(axes)
    _check(summary)
    mean = summary["generalization_error"].values
    missing = np.full(mean.shape, np.nan)
    width = summary.get("generalization_error_spread", xr.DataArray(missing)).values
    if axes.get_yscale() == "log":  # cannot show what is not positive
        mean = np.where(mean > 0, mean, np.nan)
        width = np.minimum(width, 0.999 * mean)
    _symbols(axes, summary["time"].values, mean, width, colour, symbols, label)
    return axes


def simulated_curves(summary: xr.Dataset, theory: xr.Dataset | None = None) -> Any:
    """Draw student overlaps, teacher overlaps and error of an ensemble, as citton2025 Fig. 1.

    Args:
        summary: from `tutelage.simulation.summary`, or one run.
        theory: from `tutelage.online.evolve`; without it lines are the means over runs.

    Returns:
        Three Axes: Q_ik, R_in and ε_g.  Lines are the theory, symbols the means over runs, bands
        one standard deviation.
    """
    import matplotlib.pyplot as plt

    _check(summary)
    _, axes = plt.subplots(1, 3, figsize=(12.0, 3.8), layout="constrained")
    lines = summary if theory is None else theory
    for ax, which in zip(axes, "QR", strict=False):
        overlaps(lines, ax, which=which)
        simulated_overlaps(summary, ax, which=which)
    runs = int(summary.attrs.get("runs", 1))
    error(lines, axes[2], label=None if theory is None else "theory")
    simulated_error(summary, axes[2], label=f"{runs} runs" if runs > 1 else "one run")
    axes[2].legend(fontsize="small")
    return axes


def comparison(found: "Comparison") -> Any:
    """Draw what `tutelage.simulation.compare` has found: curves, symbols, bands and the verdict.

    Returns:
        Three Axes, as `simulated_curves`, with the verdict above them.
    """
    axes = simulated_curves(found.summary, found.theory)
    axes[0].figure.suptitle(str(found), fontsize="small")
    return axes


def escapes(ensembles: Sequence[xr.Dataset], axes: Any = None) -> Any:
    """Draw which part of the runs has left the plateau by when, one curve for each ensemble.

    Args:
        ensembles: from `tutelage.simulation.escape_times`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Runs that have not left keep a curve below 1.
    """
    axes = _axes(axes)
    for number, one in enumerate(ensembles):
        N = one.attrs.get("dimension")
        name = f"ensemble {number + 1}" if N is None else f"$N = {int(N)}$"
        times = np.sort(one["escape_time"].dropna("run").values)
        left = np.arange(1, len(times) + 1) / one.sizes["run"]
        x = np.concatenate([[float(one["time"][0])], times, [float(one["time"][-1])]])
        y = np.concatenate([[0.0], left, left[-1:] if len(left) else [0.0]])
        axes.step(x, y, where="post", label=name)
    axes.set(xlabel=r"$\alpha$", ylabel="runs that have left the plateau", ylim=(0.0, 1.02))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return axes


def finite_size(dataset: xr.Dataset, axes: Any = None) -> Any:
    """Draw deviation and spread against N on logarithmic axes, with their exponents.

    Args:
        dataset: from `tutelage.simulation.finite_size`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  Bars are standard errors; dashed lines have the fitted exponents.
    """
    axes = _axes(axes)
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
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return axes


def _symbols(
    axes: Any,
    time: np.ndarray,
    mean: np.ndarray,
    width: np.ndarray,
    colour: Any,
    symbols: int | None,
    label: str | None = None,
) -> None:
    """A band as wide as the spread, and symbols at about equidistant times, or a line."""
    if np.any(np.isfinite(width)):
        axes.fill_between(time, mean - width, mean + width, color=colour, **BAND)
    if symbols is None:
        axes.plot(time, mean, "-", color=colour, label=label)
        return
    wanted = np.linspace(time[0], time[-1], symbols)
    at = np.unique(np.abs(time - wanted[:, None]).argmin(axis=1))
    axes.plot(time[at], mean[at], "o", color=colour, markersize=3.5, fillstyle="none", label=label)


def _check(summary: xr.Dataset) -> None:
    if "run" in summary.dims:
        raise InputError(
            "summary",
            f"{summary.sizes['run']} runs",
            "it has to be their summary, or one of them",
            "tl.simulation.summary(runs), or runs.isel(run=0)",
        )
