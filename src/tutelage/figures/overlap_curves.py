"""Overlaps R_in, Q_ik and readouts v_ci over time."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.axes import BAND, figure_function, plot_with_band
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import (
    MAX_STYLED_UNITS,
    OverlapCurve,
    assigned_pairs,
    draw_lines,
    is_too_long,
    line_style,
    overlap_groups,
    style_legend,
    symbol_legend,
    symbol_style,
)
from tutelage.figures.runs import (
    axis_label,
    describe_spread,
    is_mean,
    mean_over_runs,
    overlap_curves,
    time_symbol,
)
from tutelage.figures.style import colour, new_axes, palette
from tutelage.figures.text import add_to_caption, finish


@figure_function
def overlaps(
    dataset: xr.Dataset, axes: Axes | None = None, *, which: str = "RQ", style: str | None = None
) -> Any:
    """Draw the overlaps R_in and Q_ik over time, or the readouts v_ci.

    Args:
        dataset: with Q and R over ``time``: a run of `tutelage.online.evolve`, simulated runs, or
            their `tutelage.simulation.summary`.
        axes: Axes to draw on, such as those with the curves of a theory; a new figure when left
            out.
        which: "R", "Q" or both; "v" for readouts that learn.
        style: of all curves, such as "--", or "o" for symbols; by default lines for one run and
            symbols for several.

    Returns:
        The Axes.  The colour is the first index (student), the line style the second one
        (teacher); the teacher assigned to each student is thick; Q has small squares if R is drawn
        as well.  Curves that coincide are one line with all their symbols.  For more than five
        units only the ranges of groups are drawn: assigned pairs, other R_in, Q_ii, other Q_ik.
        Simulated runs are drawn as their mean, with a band of one standard deviation to either
        side.  Curves that are added to Axes with curves have no entries in the legend.  In one
        ``style`` up to seven curves have a colour each; of more curves the second index is a
        marker, which is filled for Q if R is drawn as well.
    """
    mean = mean_over_runs(dataset)
    axes = new_axes(axes)
    curves = [curve for letter in which for curve in overlap_curves(mean, letter)]
    time, on_curves, mixed = mean["time"].values, bool(axes.lines), {"R", "Q"} <= set(which)
    style = style or ("o" if is_mean(mean) else None)
    handles = None
    add_to_caption(axes, "Overlaps over time.")
    if max(max(c.first, c.second) for c in curves) >= MAX_STYLED_UNITS:
        _draw_ranges(axes, time, curves, None if on_curves else style, on_curves)
    elif style is None and not on_curves:
        handles = _draw_run(axes, time, curves, mixed)
    else:
        _draw_curves(axes, time, curves, style, mixed)
        if is_too_long(len(curves)) and not on_curves and style is not None:
            handles = symbol_legend(curves, style)
    describe_spread(axes, dataset)
    axes.set(xlabel=time_symbol(dataset), ylabel=axis_label(which))
    if on_curves and axes.get_legend() is not None:
        return axes
    return finish(axes, handles=handles)


def _draw_run(axes: Any, time: np.ndarray, curves: list[OverlapCurve], mixed: bool) -> Any:
    """Draw the lines of one run; return legend entries if there are too many lines to name."""
    axes.line_styles = {}
    count = 0
    for group, style in draw_lines(axes, time, curves, mixed):
        axes.line_styles.update(dict.fromkeys((c.name for c in group.curves), style))
        count += 1
    add_to_caption(
        axes,
        (
            "Colours show the first index, line styles the second; thick: each "
            "student with the teacher assigned to it, by the largest sum of R_in at "
            "the end."
        ),
    )
    pairs = assigned_pairs(curves)
    return style_legend(curves, mixed, bool(pairs)) if is_too_long(count) else None


def _draw_curves(
    axes: Any, time: np.ndarray, curves: list[OverlapCurve], style: str | None, mixed: bool
) -> None:
    """Draw every curve in one style, in the colour of the line that it belongs to.

    Without such lines each curve has its own colour, as far as there are colours.  More curves
    differ by markers.
    """
    labelled, many = not axes.lines, bool(style) and len(curves) > len(palette())
    if many:
        sentence = "Colours show the first index, markers the second"
        letters = len({curve.letter for curve in curves})
        add_to_caption(axes, sentence + ("; filled: Q." if letters > 1 else "."))
    elif labelled and style:
        axes.line_styles = {
            curve.name: line_style(curve, mixed)._replace(colour=colour(number))
            for number, curve in enumerate(curves)
        }
    existing = getattr(axes, "line_styles", {})
    for curve in curves:
        default = existing.get(curve.name, line_style(curve, mixed))
        plot_with_band(
            axes,
            time,
            curve.values,
            curve.spread,
            colour=default.colour,
            style=style or default.dashes,
            label=curve.name if labelled else None,
            symbols=symbol_style(curve, mixed) if many else None,
        )


def _draw_ranges(
    axes: Any, time: np.ndarray, curves: list[OverlapCurve], style: str | None, on_curves: bool
) -> None:
    """Draw the median of each group of overlaps, and a band from the lowest to the highest."""
    for name, default, values in overlap_groups(curves):
        middle = np.median(values, axis=0)
        no_band = np.full_like(middle, np.nan)
        plot_with_band(
            axes,
            time,
            middle,
            no_band,
            colour=default.colour,
            style="o" if on_curves else style or default.dashes,
            label=None if on_curves else name,
        )
        low, high = values.min(axis=0), values.max(axis=0)
        axes.fill_between(time, low, high, color=default.colour, **BAND)
    add_to_caption(
        axes, "Lines are medians of groups of overlaps, bands go from the lowest to the highest."
    )
