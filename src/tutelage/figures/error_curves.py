"""The generalization error ε_g over time."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import figure_function, plot_with_band
from tutelage.figures.kinds import Axes, Colour
from tutelage.figures.runs import (
    describe_spread,
    is_mean,
    mean_over_runs,
    run_labels,
    spread,
    time_symbol,
)
from tutelage.figures.style import colour as palette_colour, new_axes, ordered_colours
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, root_figure
from tutelage.figures.ticks import SMALLEST_PLAIN, plain, power

# The axis ends at this multiple of the largest start and of the errors of runs that stay finite.
DIVERGED_LIMIT_FACTOR = 3.0
WIDE_INCHES = 2.2  # narrower Axes have a shorter text at the line of the integration error


@figure_function
def error(
    dataset: xr.Dataset,
    axes: Axes | None = None,
    *,
    label: str | None = None,
    scale: str | None = None,
    style: str | None = None,
    colour: Colour | None = None,
) -> Any:
    """Draw the generalization error ε_g over time.

    Args:
        dataset: with generalization_error over ``time``, as for `overlaps`, or runs of the theory
            with several learning rates or other numbers.
        axes: Axes to draw on; a new figure when left out.
        label: in the legend; runs with different numbers are labelled by these.
        scale: of the error, "log" or "linear"; by default that of the curves already drawn, or
            "log".
        style: such as "--", or "o" for symbols, which is the default for simulated runs.
        colour: by default the next one of the style; for symbols that of the last curve drawn.

    Returns:
        The Axes.  Simulated runs are drawn as their mean, with a band of one standard deviation to
        either side.  Runs that diverge are cut off at the upper end of the axis, and labelled.
        On a logarithmic axis errors below the integration error of the theory (the attribute
        ``integration_error``) are left out; a line with a text marks it.
    """
    axes = new_axes(axes)
    axes.set_yscale(scale or (axes.get_yscale() if axes.lines else "log"))
    add_to_caption(axes, "Generalization error over time.")
    labels = run_labels(dataset)
    if labels is None:
        _draw_mean(axes, dataset, label, style, colour)
    else:
        _draw_runs(axes, dataset, labels, style)
    axes.set(xlabel=time_symbol(dataset), ylabel=SYMBOLS["generalization_error"])
    _mark_integration_error(axes, dataset)
    return finish(axes)


def _draw_runs(axes: Axes, dataset: xr.Dataset, labels: list[str], style: str | None) -> None:
    """Draw a line for each run of the theory, with colours in the order of the runs."""
    diverged = _diverged(dataset)
    for run, (name, tint) in enumerate(zip(labels, ordered_colours(len(labels)), strict=True)):
        values = _drawable(axes, dataset["generalization_error"].isel(run=run).values, dataset)
        label = f"{name}, diverges" if diverged[run] else name
        axes.plot(dataset["time"], values, style or "-", color=tint, label=label)
    _cut_diverged(axes, dataset, diverged)


def _draw_mean(
    axes: Axes, dataset: xr.Dataset, label: str | None, style: str | None, colour: Colour | None
) -> None:
    """Draw one run, or the mean over simulated runs with their spread."""
    mean = mean_over_runs(dataset)
    style = style or ("o" if is_mean(mean) else "-")
    if colour is None and style == "o" and axes.lines:
        colour = axes.lines[-1].get_color()
    elif colour is None:
        # Axes made outside of the style have the colours of Matplotlib.
        colour = palette_colour(len(axes.lines))
    values = _drawable(axes, mean["generalization_error"].values, dataset)
    width = spread(mean, "generalization_error").values
    if axes.get_yscale() == "log":
        width = np.minimum(width, 0.999 * values)  # keeps the lower edge positive
    plot_with_band(
        axes, mean["time"].values, values, width, colour=colour, style=style, label=label
    )
    if dataset.attrs.get("outcome") == "diverged":
        _cut_diverged(axes, dataset, np.array([True]))
    describe_spread(axes, dataset)


def _diverged(dataset: xr.Dataset) -> np.ndarray:
    """Return a mask of the runs that diverge."""
    if "outcome" not in dataset or dataset["outcome"].dims != ("run",):
        return np.zeros(dataset.sizes["run"], dtype=bool)
    return dataset["outcome"].values == "diverged"


def _cut_diverged(axes: Axes, dataset: xr.Dataset, diverged: np.ndarray) -> None:
    """End the axis a little above all starts and the errors of runs that do not diverge."""
    if not np.any(diverged):
        return
    errors = np.atleast_2d(dataset["generalization_error"].transpose(..., "time").values)
    finite = errors[~diverged]
    top = DIVERGED_LIMIT_FACTOR * np.nanmax(np.append(errors[:, 0], finite[np.isfinite(finite)]))
    axes.set_ylim(top=top)
    many = len(diverged) > 1
    subject = f"{np.sum(diverged)} of {len(diverged)} runs diverge" if many else "The run diverges"
    add_to_caption(axes, f"{subject}; the axis ends at an error of {top:.2g}.")


def _drawable(axes: Axes, values: np.ndarray, dataset: xr.Dataset) -> np.ndarray:
    """Replace values that a logarithmic axis cannot show, or that are below the integration error,
    by NaN.

    By NumPy: arithmetic of xarray imports Dask, if it is installed, which takes 0.3 CPU s.
    """
    if axes.get_yscale() != "log":
        return values
    return np.where(values > max(0.0, _integration_error(dataset)), values, np.nan)


def _integration_error(dataset: xr.Dataset) -> float:
    """Return the integration error of the theory; 0 for simulated runs."""
    return float(dataset.attrs.get("integration_error", 0.0))


def _mark_integration_error(axes: Axes, dataset: xr.Dataset) -> None:
    """Draw a line at the integration error if errors fall below it, once per Axes."""
    from matplotlib import rcParams

    limit = _integration_error(dataset)
    below = limit > 0 and bool(np.any(dataset["generalization_error"].values < limit))
    if axes.get_yscale() != "log" or not below:
        return
    rounded = float(f"{limit:.0e}")
    written = plain(rounded) if rounded >= SMALLEST_PLAIN else power(rounded)
    wide = axes.get_window_extent().width / root_figure(axes).dpi >= WIDE_INCHES
    words = f"below {written}: error of the integration" if wide else "integration error"
    if any(text.get_text() == words for text in axes.texts):
        return
    add_to_caption(axes, f"Errors below that of the integration, {limit:.0e}, are left out.")
    # Not drawn by `plot`: the next call of `error` would take the line for a curve.
    across, grey = axes.get_yaxis_transform(), "0.45"
    axes.hlines(limit, 0, 1, transform=across, linewidth=0.8, colors=grey, linestyles=":")
    options = {"fontsize": rcParams["legend.fontsize"], "color": grey, "clip_on": True}
    axes.text(0.01, limit, words, transform=across, verticalalignment="bottom", **options)
