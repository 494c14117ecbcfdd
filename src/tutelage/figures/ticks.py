"""Ticks of logarithmic axes: 50, 100, 200, and powers of ten only where they are shorter."""

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

NARROW, SHORT, WIDE = 0.5, 1.1, 2.2  # decades
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-4, 1e5  # beyond, powers of ten are shorter


class PlainLogLocator(LogLocator):
    """Round numbers on a logarithmic axis of any length, about as many as are read with ease."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((vmin, vmax))
        if not 0 < low < high < np.inf:
            return super().tick_values(vmin, vmax)
        decades = np.log10(high / low)
        if decades < NARROW:
            return [x for x in MaxNLocator(4).tick_values(low, high) if x > 0]
        fine = (1.0, 2.0, 3.0, 5.0) if decades < SHORT else (1.0, 2.0, 5.0)
        subs = fine if decades < WIDE else (1.0,)
        step = int(np.ceil(decades / 7))
        first = int(np.floor(np.log10(low)))
        powers = range(first - first % step, int(np.ceil(np.log10(high))) + 1, step)
        return [s * 10.0**p for p in powers for s in subs]


class PlainNumber(Formatter):
    """100 and 0.01; powers of ten for all ticks of an axis that goes further."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        smallest = low if low > 0 else getattr(axis.get_transform(), "linthresh", SMALLEST_PLAIN)
        return plain(x) if smallest >= SMALLEST_PLAIN and high <= LARGEST_PLAIN else power(x)


def plain(x: float) -> str:
    return f"{x:.6g}"


def power(x: float) -> str:
    """
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


def round_ticks(axis: Any) -> None:
    """Put the ticks of a linear axis at multiples of 1, 2 or 5, unless they were chosen."""
    if type(axis.get_major_locator()) is AutoLocator:
        axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10]))


def integer_ticks(axis: Any) -> None:
    """Put the ticks of a linear axis at whole numbers, such as epochs."""
    axis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def plain_symlog_ticks(axis: Any) -> None:
    """Plain numbers on an axis that is linear near zero, at the places that it has."""
    axis.set_major_formatter(PlainNumber())


def plain_log_ticks(axis: Any, values: Any = None) -> None:
    """Plain numbers on a logarithmic axis; at these values, if they are few."""
    axis.set_major_formatter(PlainNumber())
    axis.set_minor_formatter(NullFormatter())
    if values is not None:
        axis.set_major_locator(FixedLocator(_apart(np.unique(values))))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(PlainLogLocator())


def _apart(values: np.ndarray, most: int = 7) -> list[float]:
    """Those values that are not too close to each other on a logarithmic axis."""
    chosen = [float(values[0])]
    gap = np.log(values[-1] / values[0]) / most
    for x in values[1:]:
        if np.log(x / chosen[-1]) >= 0.999 * gap:
            chosen.append(float(x))
    return chosen
