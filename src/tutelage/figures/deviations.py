"""Simulated runs against the theory: curves, and deviations in standard errors."""

from typing import Any

import numpy as np

from tutelage._checks import InputError, short_repr
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.line_styles import DASHES
from tutelage.figures.panels import draw_panels, state_letters
from tutelage.figures.runs import BLOCK_OF_LETTER
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import SYMBOLS, add_to_caption, finish, with_formulas


@figure_function
def comparison(result: Any, *, figsize: ArrayLike | None = None) -> Any:
    """Draw the result of `tutelage.simulation.compare`: curves, symbols, bands and the test.

    Args:
        result: a `tutelage.simulation.Comparison`.
        figsize: width and height in inches.

    Returns:
        Four Axes: those of `learning_curves`, and the deviation of each mean from the theory in
        standard errors, with the band in which they agree.  With readouts that learn there are
        five.  The numbers of the test are in the caption.
    """
    from tutelage.simulation.comparison import Comparison  # only this figure needs it

    if not isinstance(result, Comparison):
        allowed = "it has to be a Comparison"
        raise InputError(
            "result", short_repr(result), allowed, "tl.simulation.compare(theory, runs)"
        )
    axes = new_panels(2 + len(state_letters(result.summary)), figsize)
    draw_panels(axes[:-1], result.summary, result.theory)
    symbols, mean, expected, error_of_mean = _compared(result)
    draw_deviations(axes[-1], result.times, symbols, (mean - expected) / error_of_mean)
    shade_band(axes[-1], result.threshold, f"level {result.level:g}")
    axes[-1].set(xlabel=SYMBOLS["time"], ylabel=r"(mean $-$ theory) / standard error")
    describe_verdict(axes, result)
    finish(axes[-1], handles=axes[-1].deviation_handles)
    return axes


def describe_verdict(axes: Any, result: Any) -> None:
    """Put the verdict into the title, and all its numbers into the caption."""
    axes[0].figure.suptitle(with_formulas(_capitalized(result.verdict)))
    add_to_caption(axes[-1], *(f"{_capitalized(line)}." for line in str(result).splitlines()))


def _capitalized(words: str) -> str:
    """Return the words with a capital first letter and all others unchanged."""
    return f"{words[0].upper()}{words[1:]}"


def _compared(result: Any) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return symbols, and at the compared times mean, theory and standard error of each."""
    from tutelage.simulation.interpolated_theory import theory_at
    from tutelage.simulation.statistics import components, observed

    names = observed(result.theory, result.ensemble)
    runs = result.ensemble.sel(time=result.times)
    symbols, x = components(runs, names)
    expected, inexact = theory_at(result.theory, result.times, names)
    width = np.std(x, axis=0, ddof=1) / np.sqrt(len(x))
    return symbols, np.mean(x, axis=0), expected, np.maximum(width, inexact + 1e-15)


def draw_deviations(axes: Any, times: np.ndarray, symbols: list[str], ratio: np.ndarray) -> None:
    """Draw the deviations of R, Q, v and ε_g, one colour and line style for each letter."""
    from matplotlib.lines import Line2D

    letters = list(dict.fromkeys(symbol[0] for symbol in symbols))
    handles = []
    for number, letter in enumerate(letters):
        options: dict[str, Any] = {
            "color": colour(number),
            "linestyle": DASHES[number % len(DASHES)],
        }
        members = [c for c, symbol in enumerate(symbols) if symbol[0] == letter]
        axes.plot(times, ratio[:, members], linewidth=1.0, **options)
        block = BLOCK_OF_LETTER.get(letter)
        label = SYMBOLS["generalization_error"] if block is None else block.tex
        handles.append(Line2D([], [], label=label, **options))
    axes.deviation_handles = handles


def shade_band(axes: Any, threshold: float, label: str) -> None:
    """Shade the deviations up to a threshold."""
    shade = axes.axhspan(-threshold, threshold, color="0.5", alpha=0.15, linewidth=0, label=label)
    axes.deviation_handles.append(shade)
