"""A training of the user, and the equations started from the same weights."""

from typing import Any

import numpy as np

from tutelage._checks import InputError, short_repr
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.deviations import describe_verdict, draw_deviations, shade_band
from tutelage.figures.panels import draw_panels, panel_of_letter, state_letters
from tutelage.figures.style import new_panels
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, with_formulas


@figure_function
def prediction(result: Any, *, figsize: ArrayLike | None = None) -> Any:
    """Draw the result of `tutelage.bridge.predict`: the run, the equations and simulated networks.

    Args:
        result: a `tutelage.bridge.Prediction`.
        figsize: width and height in inches.

    Returns:
        Four Axes.  The first three are those of `learning_curves`: lines are the equations,
        symbols the run, and bands the root mean square deviation of simulated networks with as
        many inputs.  The last one decides the verdict: the deviation of the run in units of that
        of the networks, with the band that all but a fraction ``result.level`` of the networks
        stay in.  A dashed line marks the time at which the run leaves the band.  With readouts
        that learn there are five Axes.  Possible reasons are in the caption.
    """
    from tutelage.bridge.prediction import Prediction  # only this figure needs it

    if not isinstance(result, Prediction):
        allowed = "it has to be a Prediction"
        raise InputError("result", short_repr(result), allowed, "tl.bridge.predict(record)")
    first = float(result.record["time"][0])
    record = result.record.assign_coords(time=result.record["time"] - first)
    axes = new_panels(2 + len(state_letters(record)), figsize)
    draw_panels(axes[:-1], record, result.theory)
    _draw_networks(axes, result, record)
    if result.departs_at is not None:
        for panel in axes:
            panel.axvline(result.departs_at - first, color="0.3", linestyle="--", linewidth=0.8)
    describe_verdict(axes, result)
    return axes


def _draw_networks(axes: Any, result: Any, record: Any) -> None:
    """Draw bands of simulated networks on the curves, and the deviations in their units."""
    from tutelage.bridge.comparison import ROUNDING
    from tutelage.simulation.interpolated_theory import theory_at
    from tutelage.simulation.statistics import components, observed

    names = observed(result.theory, record, result.networks)
    symbols, x = components(result.networks, names)
    times = result.networks["time"].values
    last = axes[-1]
    last.set(xlabel=SYMBOLS["time"], ylabel=r"(run $-$ equations) / spread")
    last.deviation_handles = []
    x = x[np.all(np.isfinite(x), axis=(1, 2))]
    if len(x) > 1 and result.theory.attrs["outcome"] != "diverged":
        expected, inexact = theory_at(result.theory, times, names)
        spread = np.sqrt(np.mean((x - expected) ** 2, axis=0))
        run = components(record.isel(run=0).sel(time=times, method="nearest"), names)[1]
        resolution = np.maximum(inexact, ROUNDING * np.max(np.abs(expected)))
        draw_deviations(last, times, symbols, (run - expected) / (spread + resolution))
        shade_band(last, result.threshold, f"{100 * (1 - result.level):g} % of networks")
        panels = {"ε": axes[2], **panel_of_letter(axes[:-1], state_letters(record))}
        _draw_bands(panels, times, symbols, expected, spread)
        add_to_caption(
            last,
            "Lines are the equations, symbols the run, bands the root mean square deviation of "
            f"{len(x)} simulated networks with as many inputs.",
        )
    finish(last, handles=last.deviation_handles)


def _draw_bands(
    panels: dict[str, Any],
    times: np.ndarray,
    symbols: list[str],
    expected: np.ndarray,
    spread: np.ndarray,
) -> None:
    """Draw the spread of the networks around each curve, in the colour of the curve."""
    for c, symbol in enumerate(symbols):
        panel = panels[symbol[0]]
        style = getattr(panel, "line_styles", {}).get(with_formulas(symbol))
        colour = panel.lines[0].get_color() if style is None else style.colour
        low, high = expected[:, c] - spread[:, c], expected[:, c] + spread[:, c]
        if panel.get_yscale() == "log":
            low = np.maximum(low, 1e-3 * expected[:, c])
        panel.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)
