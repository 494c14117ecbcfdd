"""A training of the user's, and the equations from the same weights."""

from typing import Any

import numpy as np

from tutelage._checks import InputError, short_repr
from tutelage.figures.axes import drawing
from tutelage.figures.online import band, draw_deviations, draw_panels, panels_of, tex_words
from tutelage.figures.style import new_panels
from tutelage.figures.text import SYMBOLS, finished, note


@drawing
def prediction(found: Any, *, figsize: Any = None) -> Any:
    """Draw what `tutelage.bridge.predict` has found: the run, the equations, and chance.

    Args:
        found: a `tutelage.bridge.Prediction`.
        figsize: width and height in inches.

    Returns:
        Four Axes: those of `learning_curves`, where lines are the equations, symbols the run and
        bands the root mean square deviation of simulated networks of its size; and the
        deviations of the run in units of that of the networks, with the band that the networks do
        not leave (but for the fraction ``found.level`` of them).  The verdict rests on this
        panel: a run that leaves the band parts from the equations there, at the dashed line.
        With readouts that learn there are five.  What speaks for a reason is in the caption.
    """
    from tutelage.bridge.prediction import Prediction  # not loaded to draw anything else

    if not isinstance(found, Prediction):
        allowed = "it has to be a Prediction"
        raise InputError("found", short_repr(found), allowed, "tl.bridge.predict(record)")
    first = float(found.record["time"][0])
    record = found.record.assign_coords(time=found.record["time"] - first)
    axes = new_panels(2 + len(panels_of(record)), figsize)
    draw_panels(axes[:-1], record, found.theory)
    _draw_chance(axes, found, record)
    if found.parts_at is not None:
        for place in axes:
            place.axvline(found.parts_at - first, color="0.3", linestyle="--", linewidth=0.8)
    axes[0].figure.suptitle(tex_words(found.verdict[0].upper() + found.verdict[1:]))
    note(axes[-1], *(f"{line[0].upper()}{line[1:]}." for line in str(found).splitlines()))
    return axes


def _draw_chance(axes: Any, found: Any, record: Any) -> None:
    """Bands of simulated networks on the curves, and the deviations in their units."""
    from tutelage.bridge.comparison import ROUNDING
    from tutelage.simulation.interpolated_theory import theory_at
    from tutelage.simulation.statistics import components, observed

    names = observed(found.theory, record, found.networks)
    symbols, x = components(found.networks, names)
    times = found.networks["time"].values
    last = axes[-1]
    last.set(xlabel=SYMBOLS["time"], ylabel="(run - equations) / spread")
    last.deviation_handles = []
    x = x[np.all(np.isfinite(x), axis=(1, 2))]
    if len(x) > 1 and found.theory.attrs["outcome"] != "diverged":
        expected, inexact = theory_at(found.theory, times, names)
        spread = np.sqrt(np.mean((x - expected) ** 2, axis=0))
        run = components(record.isel(run=0).sel(time=times, method="nearest"), names)[1]
        allowed = np.maximum(inexact, ROUNDING * np.max(np.abs(expected)))
        draw_deviations(last, times, symbols, (run - expected) / (spread + allowed))
        band(last, found.threshold, f"{100 * (1 - found.level):g} % of networks")
        _draw_bands(axes, times, symbols, expected, spread)
        note(
            last,
            "Lines are the equations, symbols the run, bands the root mean square deviation of "
            f"{len(x)} simulated networks with as many inputs.",
        )
    finished(last, handles=last.deviation_handles)


def _draw_bands(
    axes: Any, times: np.ndarray, symbols: list[str], expected: np.ndarray, spread: np.ndarray
) -> None:
    """The spread of the networks about each curve, in the colour of the curve."""
    panels = {"ε": axes[2], **dict(zip("QRv", np.delete(axes, 2), strict=False))}
    for c, symbol in enumerate(symbols):
        place = panels[symbol[0]]
        look = getattr(place, "own_looks", {}).get(tex_words(symbol))
        colour = place.lines[0].get_color() if look is None else look.colour
        low, high = expected[:, c] - spread[:, c], expected[:, c] + spread[:, c]
        if place.get_yscale() == "log":
            low = np.maximum(low, 1e-3 * expected[:, c])
        place.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)
