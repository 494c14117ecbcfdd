"""Ticks at round numbers; on logarithmic axes plain numbers, or powers of ten on long axes."""

from typing import Any

import numpy as np
from matplotlib.ticker import (
    AutoLocator,
    FixedLocator,
    Formatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from tutelage._given import ArrayLike
from tutelage.figures.kinds import Axis

# Decades of a logarithmic axis, up to which its ticks are equidistant, at 1, 2, 3, 5 or at 1, 2, 5.
EQUIDISTANT_DECADES, FINE_DECADES, COARSE_DECADES = 0.5, 1.1, 2.2
MAX_TICKS = 7  # of those at given values
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-4, 1e5  # beyond, powers of ten are shorter


class PlainLogLocator(LogLocator):
    """Ticks of a logarithmic axis of any length at a few round numbers."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((vmin, vmax))
        if not 0 < low < high < np.inf:
            return super().tick_values(vmin, vmax)
        decades = np.log10(high / low)
        if decades < EQUIDISTANT_DECADES:
            return [x for x in MaxNLocator(4).tick_values(low, high) if x > 0]
        fine = (1.0, 2.0, 3.0, 5.0) if decades < FINE_DECADES else (1.0, 2.0, 5.0)
        subs = fine if decades < COARSE_DECADES else (1.0,)
        step = int(np.ceil(decades / 7))
        first = int(np.floor(np.log10(low)))
        powers = range(first - first % step, int(np.ceil(np.log10(high))) + 1, step)
        return [s * 10.0**p for p in powers for s in subs]


class PlainNumber(Formatter):
    """Labels such as 100 and 0.01; powers of ten on axes with smaller or larger numbers."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        smallest = low if low > 0 else getattr(axis.get_transform(), "linthresh", SMALLEST_PLAIN)
        return plain(x) if smallest >= SMALLEST_PLAIN and high <= LARGEST_PLAIN else power(x)


def plain(x: float) -> str:
    """Write a number without a power of ten, if possible."""
    return f"{x:.6g}"


def power(x: float) -> str:
    """Write a number with a power of ten, as a formula.

    >>> power(1e-6), power(2e5), power(0)
    ('$10^{-6}$', '$2\\\\times10^{5}$', '0')
    """
    if x == 0:
        return "0"
    exponent = int(np.floor(np.log10(abs(x)) + 1e-9))
    factor = x / 10.0**exponent
    sign = "-" if factor < 0 else ""
    front = sign if abs(abs(factor) - 1) < 1e-9 else rf"{factor:.3g}\times"
    return f"${front}10^{{{exponent}}}$"


def round_ticks(axis: Axis) -> None:
    """Put the ticks of a linear axis at multiples of 1, 2 or 5, unless the user has set ticks."""
    if type(axis.get_major_locator()) is AutoLocator:
        axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10]))


def integer_ticks(axis: Axis) -> None:
    """Put the ticks of a linear axis at whole numbers, such as epochs."""
    axis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def plain_symlog_ticks(axis: Axis) -> None:
    """Label the ticks of a symmetric logarithmic axis with plain numbers."""
    axis.set_major_formatter(PlainNumber())


def plain_log_ticks(axis: Axis, values: ArrayLike | None = None) -> None:
    """Label a logarithmic axis with plain numbers, at these values if they are given."""
    axis.set_major_formatter(PlainNumber())
    axis.set_minor_formatter(NullFormatter())
    if values is not None:
        axis.set_major_locator(FixedLocator(_select_distant(np.unique(values))))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(PlainLogLocator())


def _select_distant(values: np.ndarray) -> list[float]:
    """Select values with a minimal distance on a logarithmic axis."""
    chosen = [float(values[0])]
    gap = np.log(values[-1] / values[0]) / MAX_TICKS
    for x in values[1:]:
        if np.log(x / chosen[-1]) >= 0.999 * gap:
            chosen.append(float(x))
    return chosen
