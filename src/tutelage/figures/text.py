"""Text of a figure: legends next to the data, formulas, and captions.

A caption describes in sentences what is drawn and what is omitted.  It is not part of the picture:
`caption` returns it for the Axes that a function of this package has returned.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage._given import ArrayLike
from tutelage.figures.kinds import Artist, Axes, Legend

MAX_LABELS = 12  # more lines cannot be distinguished
MIN_WIDTH_INCHES = 4.5  # of Axes with the legend to the right; narrower ones have it below
MAX_LEGEND_FRACTION = 0.34  # of the width
GAP_POINTS = 4.0  # between the Axes and the legend

SYMBOLS = {
    "generalization_error": r"$\varepsilon_g$",
    "load": r"$\alpha$",
    "load_of_examples": r"$\tilde\alpha = P/(KN)$",
    "time": r"$\alpha$",
}
GREEK = {
    **{"α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "ε": r"\varepsilon", "η": r"\eta"},
    **{"λ": r"\lambda", "ρ": r"\rho", "α̃": r"\tilde\alpha", "∞": r"\infty"},
}
SYMBOL = re.compile(rf"({'|'.join(sorted(GREEK, key=len, reverse=True))}|\b[QRTv](?=_))(_\w+)?")
RELATION = re.compile(r"\b[RSQCKMNT](?: [=<>≠] (?:[RSQCKM]\b|[0-9][0-9.]*))+")


def with_formulas(words: str) -> str:
    r"""Write the symbols in a text as formulas.

    >>> print(with_formulas("ε_g and R_12 at α = 2"))
    $\varepsilon_g$ and $R_{12}$ at $\alpha$ = 2
    >>> print(with_formulas("R > S for α̃ > α̃_s"))
    $R > S$ for $\tilde\alpha$ > $\tilde\alpha_s$
    >>> print(with_formulas("ReLU, K = M = 2"))
    ReLU, $K = M = 2$
    """
    symbols = SYMBOL.sub(_formula, words)
    return RELATION.sub(lambda match: f"${match[0]}$".replace("≠", r"\neq"), symbols)


def _formula(match: re.Match[str]) -> str:
    letter, index = GREEK.get(match[1], match[1]), (match[2] or "")[1:]
    braces = f"{{{index}}}" if len(index) > 1 else index
    return f"${letter}{f'_{braces}' if index else ''}$"


@validated
def caption(axes: Any) -> str:
    """Return the caption of a figure: what it shows, in sentences.

    Args:
        axes: the Axes, or the array of Axes, that a function of `tutelage.figures` returned.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, 0.5, until=5)
    >>> tl.figures.caption(tl.figures.error(run))
    'Generalization error over time.'
    """
    from matplotlib.axes import Axes

    several = isinstance(axes, np.ndarray | list | tuple)
    drawn = list(np.ravel(np.asarray(axes, dtype=object))) if several else [axes]
    if not all(isinstance(one, Axes) for one in drawn):
        allowed = "it has to be Axes of matplotlib"
        raise InputError("axes", short_repr(axes), allowed, "tl.figures.error(run)")
    return " ".join(dict.fromkeys(words for one in drawn for words in _notes(one)))


def add_to_caption(axes: Axes, *sentences: str) -> None:
    """Add sentences to the caption, each only once."""
    _notes(axes).extend(words for words in sentences if words not in _notes(axes))


def _notes(axes: Any) -> list[str]:
    if not hasattr(axes, "caption_sentences"):
        axes.caption_sentences = []
    return axes.caption_sentences


def finish(axes: Axes, *, handles: Sequence[Artist] | None = None, **legend: Any) -> Any:
    """Add a grid, plain ticks, and a legend next to the data if there is anything to label.

    Args:
        axes: Axes with all curves, scales and axis labels.
        handles: legend entries, instead of one per labelled curve.
        legend: options of `place_legend`.
    """
    import matplotlib

    from tutelage.figures.ticks import plain_log_ticks, plain_symlog_ticks, round_ticks

    axes.grid(True, alpha=matplotlib.rcParams["grid.alpha"])
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log" and not getattr(axis, "has_own_ticks", False):
            plain_log_ticks(axis)
        elif axis.get_scale() == "symlog":
            plain_symlog_ticks(axis)
        elif axis.get_scale() == "linear":
            round_ticks(axis)
        # Matplotlib creates ticks lazily: create them now, in the style that is active here.
        axis.get_major_ticks(1), axis.get_minor_ticks(1)
    handles = _entries(axes, handles)
    if handles:
        place_legend(axes, handles, **legend)
    return axes


def _entries(axes: Any, handles: Any) -> list[Any]:
    """Return the given entries, followed by those of everything drawn later."""
    drawn = axes.get_legend_handles_labels()[0]
    if handles is not None:
        axes.own_entries = list(handles), {id(one) for one in drawn}
    own, replaced = getattr(axes, "own_entries", ([], set()))
    return [*own, *(one for one in drawn if id(one) not in replaced)]


def ticks_at(axis: Any, values: ArrayLike) -> None:
    """Put the ticks of a logarithmic axis at these values."""
    from tutelage.figures.ticks import plain_log_ticks

    plain_log_ticks(axis, values)
    axis.has_own_ticks = True


def place_legend(
    axes: Axes, handles: Sequence[Artist], *, title: str | None = None, below: bool = False
) -> None:
    """Put the legend to the right of wide Axes and below narrow ones, never on the data.

    A figure of `new_axes` or `new_panels` grows by the height of the legend below it.
    """
    width = _width(axes)
    if width >= MIN_WIDTH_INCHES and not below:
        legend = _legend(axes, handles, 1, title, loc="center left", bbox_to_anchor=(1.01, 0.5))
        if _inches(axes, legend).width <= MAX_LEGEND_FRACTION * width:
            return
    left, under = _margins(axes)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    # In points below the Axes, whose height changes when the legend is added.
    place["bbox_transform"] = _lowered(axes, under + GAP_POINTS)
    column = _inches(axes, _legend(axes, handles, 1, title, **place)).width
    rows = -(-len(handles) // max(1, int(0.97 * (width - left / 72) / column)))
    legend = _legend(axes, handles, -(-len(handles) // rows), title, **place)
    _grow(axes, _inches(axes, legend).height + GAP_POINTS / 72)


def share_legend(panels: np.ndarray) -> None:
    """Replace the legends of panels by one below the figure, with each entry once."""
    figure = root_figure(panels[0])
    entries: dict[str, Any] = {}
    for axes in panels:
        legend = axes.get_legend()
        if legend is not None:
            words = [text.get_text() for text in legend.get_texts()]
            entries = {**dict(zip(words, legend.legend_handles, strict=True)), **entries}
            legend.remove()
    rows, grown = getattr(figure, "growing_rows", 0), getattr(figure, "legend_inches", 0.0)
    left = [axes.get_legend() for axes in figure.axes]
    figure.legend_inches = max((_inches(one.axes, one).height for one in left if one), default=0.0)
    height = figure.get_figheight() - rows * (grown - figure.legend_inches)
    for columns in range(len(entries), 0, -1):
        place: Any = {"loc": "outside lower center", "ncols": columns}
        legend = figure.legend(list(entries.values()), list(entries), **place)
        box = legend.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        if box.width <= figure.get_figwidth():
            break
        legend.remove()
    figure.set_figheight(height + box.height + GAP_POINTS / 72)


def root_figure(axes: Axes) -> Any:
    """Return the whole figure, also for Axes in a subfigure."""
    return axes.figure.canvas.figure


def _legend(axes: Axes, handles: Any, columns: int, title: str | None, **place: Any) -> Any:
    import matplotlib

    labels = [handle.get_label() for handle in handles]
    size = matplotlib.rcParams["legend.fontsize"]
    options = {"title": title, "title_fontsize": size, "columnspacing": 1.2, **place}
    return axes.legend(handles, labels, ncols=columns, **options)


def _grow(axes: Any, inches: float) -> None:
    """Increase the height of the figure by the highest legend, for each row of Axes."""
    figure = root_figure(axes)
    rows = getattr(figure, "growing_rows", 0)
    if rows:
        before = getattr(figure, "legend_inches", 0.0)
        figure.legend_inches = max(before, inches)
        figure.set_figheight(figure.get_figheight() + rows * (figure.legend_inches - before))


def _lowered(axes: Axes, points: float) -> Any:
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0, -points / 72, root_figure(axes).dpi_scale_trans)
    return axes.transAxes + down


def _width(axes: Any) -> float:
    """Return the width of the Axes with their labels, in inches."""
    figure = axes.figure
    spec = axes.get_subplotspec()
    inches = figure.bbox.width / root_figure(axes).dpi
    if spec is None:
        return inches * axes.get_position().width
    spec = spec.get_topmost_subplotspec()
    columns = spec.get_gridspec().ncols
    return inches * len(spec.colspan) / columns


def _margins(axes: Axes) -> tuple[float, float]:
    """Return the widths of ticks and labels to the left of the Axes and below, in points."""
    dpi = root_figure(axes).dpi
    box, y, x = axes.bbox, axes.yaxis.get_tightbbox(), axes.xaxis.get_tightbbox()
    left = 0.0 if y is None else box.x0 - y.x0
    below = 0.0 if x is None else box.y0 - x.y0
    return max(0.0, 72 * left / dpi), max(0.0, 72 * below / dpi)


def _inches(axes: Axes, legend: Legend) -> Any:
    figure = root_figure(axes)
    return legend.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
