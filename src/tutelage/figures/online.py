"""Overlaps and error over the time of learning, of the theory and of simulations."""

import json
import re
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, short_repr
from tutelage.figures.axes import banded, drawing
from tutelage.figures.looks import (
    DASHES,
    MOST_UNITS,
    Curve,
    assigned,
    draw_lines,
    grouped,
    has_key,
    key,
    look_of,
    name_of,
    ranges,
)
from tutelage.figures.style import colour as colour_of, new_axes, new_panels, shades
from tutelage.figures.text import SYMBOLS as TEX, finished, note
from tutelage.model.layout import BLOCKS
from tutelage.model.numbers import COORDINATE_TEX
from tutelage.runs.coordinates import NUMBERS

ZERO = 1e-7  # a fixed point is stable if all eigenvalues are below minus this (tutelage.online)
BEYOND = 3.0  # times the largest error of the runs that stay: what diverges is drawn up to there
UNBOUNDED = 50.0  # times the middle of a branch: an axis that shows both is not linear
MARKERS = ("", "o", "s", "^", "v", "D")
# What is drawn, by its symbol.
DRAWN = {block.symbol: block for block in BLOCKS}

# Symbols of numbers that may differ between runs: rates, the scenario's numbers, and the parameters
# of units (with a star: of the teacher).
UNIT_SYMBOLS = {"slope": "a", "beta": r"\beta", "offset": "b"}
SYMBOLS = {
    **{"learning_rate": r"\eta", "readout_rate": r"\eta_v"},
    **COORDINATE_TEX,
    **UNIT_SYMBOLS,
    **{f"teacher_{name}": f"{symbol}^*" for name, symbol in UNIT_SYMBOLS.items()},
}


@drawing
def overlaps(
    dataset: xr.Dataset, axes: Any = None, *, which: str = "RQ", style: str | None = None
) -> Any:
    """Draw R_in and Q_ik over time, or the readouts v_ci.

    Args:
        dataset: with Q and R over ``time``: a run of `tutelage.online.evolve`, or simulated runs,
            or their `tutelage.simulation.summary`.
        axes: Axes to draw on, such as those with the curves of a theory; a new figure when left
            out.
        which: "R", "Q" or both; "v" for readouts that learn.
        style: of all curves, such as "--", or "o" for symbols; by default a run has lines in the
            style of their second index, and several have symbols.

    Returns:
        The Axes drawn on.  Colours are first indices (students), line styles second ones
        (teachers), each student's teacher is thick; Q has small squares beside R.  Curves that
        coincide are one line with all names.  Of more than five units the ranges of groups are
        drawn: assigned pairs, other R_in, Q_ii and other Q_ik.  Of several runs the mean is
        drawn, with a band of one standard deviation to either side; what is drawn on curves that
        are there already is not named again.
    """
    shown = _means(dataset)
    axes = new_axes(axes)
    curves = [curve for name in which for curve in _curves(shown, name)]
    time, on_curves = shown["time"].values, bool(axes.lines)
    style = style or ("o" if _is_mean(shown) else None)
    handles = None
    _describe_runs(axes, dataset, "Overlaps over time.")
    if max(max(c.first, c.second) for c in curves) >= MOST_UNITS:
        _draw_ranges(axes, time, curves, None if on_curves else style, on_curves)
    elif style is None and not on_curves:
        handles = _draw_theory(axes, time, curves, {"R", "Q"} <= set(which))
    else:
        _draw_curves(axes, time, curves, style, {"R", "Q"} <= set(which))
        handles = key(curves, False, False) if has_key(len(curves)) and not on_curves else None
    axes.set(xlabel=_time_symbol(dataset), ylabel=", ".join(DRAWN[name].tex for name in which))
    if on_curves and axes.get_legend() is not None:
        return axes
    return finished(axes, handles=handles)


def _draw_theory(axes: Any, time: np.ndarray, curves: list[Curve], mixed: bool) -> Any:
    """Lines of one run; the entries of the legend if they are not those of the lines."""
    axes.own_looks = {}
    count = 0
    for group, look, _ in draw_lines(axes, time, curves, mixed):
        axes.own_looks.update(dict.fromkeys((c.name for c in group.curves), look))
        count += 1
    note(
        axes,
        "Colours are first indices, line styles second ones; thick: each student with the teacher "
        "assigned to it, by the largest sum of R_in at the end.",
    )
    return key(curves, mixed, bool(assigned(curves))) if has_key(count) else None


def _draw_curves(
    axes: Any, time: np.ndarray, curves: list[Curve], style: str | None, mixed: bool
) -> None:
    """Symbols or lines of one style; in the colours of the lines that are there."""
    own, named = getattr(axes, "own_looks", {}), not axes.lines
    for curve in curves:
        look = own.get(curve.name, look_of(curve, mixed))
        label = curve.name if named else None
        banded(
            axes,
            time,
            curve.values,
            curve.spread,
            colour=look.colour,
            style=style or look.style,
            label=label,
        )


def _draw_ranges(
    axes: Any, time: np.ndarray, curves: list[Curve], style: str | None, on_curves: bool
) -> None:
    """Medians of groups of overlaps, and from the lowest to the highest as a band."""
    for name, look, values in ranges(curves):
        middle = np.median(values, axis=0)
        label = None if on_curves else name
        low, high = values.min(axis=0), values.max(axis=0)
        line = "o" if on_curves else style or look.style
        half = np.full_like(middle, np.nan)
        banded(axes, time, middle, half, colour=look.colour, style=line, label=label)
        axes.fill_between(time, low, high, color=look.colour, alpha=0.2, linewidth=0.0)
    note(axes, "Lines are medians of groups of overlaps, bands go from the lowest to the highest.")


@drawing
def error(
    dataset: xr.Dataset,
    axes: Any = None,
    *,
    label: str | None = None,
    scale: str | None = None,
    style: str | None = None,
    colour: Any = None,
) -> Any:
    """Draw the generalization error ε_g over time.

    Args:
        dataset: with generalization_error over ``time``, as for `overlaps`, or runs of the theory
            with several learning rates or other numbers.
        axes: Axes to draw on; a new figure when left out.
        label: in the legend; curves with several rates or other numbers are labelled by these.
        scale: of the error, "log" or "linear"; by default that of the curves that are there, or
            "log".
        style: such as "--", or "o" for symbols, which several simulated runs have by default.
        colour: by default symbols have that of the last curve that is there.

    Returns:
        The Axes drawn on.  Of simulated runs the mean is drawn, with a band of one standard
        deviation to either side.  Runs that diverge leave the picture at its upper end, and are
        named so.  On a logarithmic axis what is below the error of the integration of a run of
        the theory (its attribute ``integration_error``) is not drawn; a line says so.
    """
    axes = new_axes(axes)
    axes.set_yscale(scale or (axes.get_yscale() if axes.lines else "log"))
    names = _differences(dataset)
    note(axes, "Generalization error over time.")
    if names is not None:
        gone = _diverged(dataset)
        for run, (name, tint) in enumerate(zip(names, shades(len(names)), strict=True)):
            one = dataset["generalization_error"].isel(run=run)
            visible = _visible(axes, one, dataset)
            label = f"{name}, diverges" if gone[run] else name
            axes.plot(dataset["time"], visible, style or "-", color=tint, label=label)
        _cut(axes, dataset, gone)
    else:
        shown = _means(dataset)
        style = style or ("o" if _is_mean(shown) else "-")
        if colour is None and style == "o" and axes.lines:
            colour = axes.lines[-1].get_color()
        mean = _visible(axes, shown["generalization_error"], dataset).values
        width = _spread(shown, "generalization_error").values
        if axes.get_yscale() == "log":  # cannot show what is not positive
            width = np.minimum(width, 0.999 * mean)
        time = shown["time"].values
        banded(axes, time, mean, width, colour=colour, style=style, label=label)
        if dataset.attrs.get("outcome") == "diverged":
            _cut(axes, dataset, np.array([True]))
        _describe_runs(axes, dataset)
    axes.set(xlabel=_time_symbol(dataset), ylabel=TEX["generalization_error"])
    _mark_noise(axes, dataset)
    return finished(axes)


def _diverged(dataset: xr.Dataset) -> np.ndarray:
    """Which runs diverge."""
    if "outcome" not in dataset or dataset["outcome"].dims != ("run",):
        return np.zeros(dataset.sizes["run"], dtype=bool)
    return dataset["outcome"].values == "diverged"


def _cut(axes: Any, dataset: xr.Dataset, gone: np.ndarray) -> None:
    """End the axis a little above the errors of runs that stay, and of all starts."""
    if not np.any(gone):
        return
    errors = np.atleast_2d(dataset["generalization_error"].transpose(..., "time").values)
    stay = errors[~gone]
    top = BEYOND * np.nanmax(np.append(errors[:, 0], stay[np.isfinite(stay)]))
    axes.set_ylim(top=top)
    count = f"{np.sum(gone)} of {len(gone)} runs diverge" if len(gone) > 1 else "The run diverges"
    note(axes, f"{count}, and the picture ends at an error of {top:.2g}.")


def _describe_runs(axes: Any, dataset: xr.Dataset, *sentences: str) -> None:
    runs = dataset.sizes.get("run", dataset.attrs.get("run_count", 1))
    note(axes, *sentences)
    if runs > 1 and _differences(dataset) is None:
        note(axes, f"Of {runs} simulated runs: the mean, with one standard deviation as a band.")


@drawing
def learning_curves(
    dataset: xr.Dataset, theory: xr.Dataset | None = None, *, figsize: Any = None
) -> Any:
    """Draw student overlaps, teacher overlaps and error side by side, as citton2025 Fig. 1.

    Readouts that learn have a panel as well.

    Args:
        dataset: as for `overlaps` and `error`.
        theory: a run of `tutelage.online.evolve`, to be drawn as lines below simulated runs.
        figsize: width and height in inches.

    Returns:
        Three Axes: Q_ik, R_in and ε_g, and a fourth with v_ci; only the error, on one, at several
        learning rates.
    """
    if _differences(dataset) is not None:
        return np.array([error(dataset, None if figsize is None else new_panels(1, figsize)[0])])
    axes = new_panels(1 + len(panels_of(dataset)), figsize)
    draw_panels(axes, dataset, theory)
    return axes


def panels_of(dataset: xr.Dataset) -> list[str]:
    """Letters of the blocks that a Dataset has: Q, R, and v of readouts that learn."""
    return [block.symbol for block in sorted(BLOCKS) if block.name in dataset]


def draw_panels(axes: Any, dataset: xr.Dataset, theory: xr.Dataset | None) -> None:
    """Blocks of the state, each on Axes of its own, and the error on the third ones."""
    panels = dict(zip(panels_of(dataset), np.delete(axes, 2), strict=True))
    if theory is not None:
        for name, place in panels.items():
            overlaps(theory, place, which=name)
        error(theory, axes[2], label="theory")
    runs = dataset.sizes.get("run", dataset.attrs.get("run_count", 1))
    label = f"{runs} runs" if "generalization_error_spread" in dataset or runs > 1 else None
    style = "o" if theory is not None else "-" if _is_mean(_means(dataset)) else None
    for name, place in panels.items():
        overlaps(dataset, place, which=name, style=style)
    error(dataset, axes[2], label=label if theory is None else label or "one run", style=style)


@drawing
def comparison(found: Any, *, figsize: Any = None) -> Any:
    """Draw what `tutelage.simulation.compare` has found: curves, symbols, bands and the test.

    Args:
        found: a `tutelage.simulation.Comparison`.
        figsize: width and height in inches.

    Returns:
        Four Axes: those of `learning_curves`, and the deviation of each mean from the theory in
        standard errors, with the band inside which they agree.  With readouts that learn there
        are five.  The numbers of the test are in the caption.
    """
    from tutelage.simulation.comparison import Comparison  # not loaded to draw anything else

    if not isinstance(found, Comparison):
        allowed = "it has to be a Comparison"
        raise InputError("found", short_repr(found), allowed, "tl.simulation.compare(theory, runs)")
    axes = new_panels(2 + len(panels_of(found.summary)), figsize)
    draw_panels(axes[:-1], found.summary, found.theory)
    symbols, mean, expected, error_of_mean = _studentized(found)
    draw_deviations(axes[-1], found.times, symbols, (mean - expected) / error_of_mean)
    band(axes[-1], found.threshold, f"level {found.level:g}")
    axes[-1].set(xlabel=TEX["time"], ylabel="(mean - theory) / standard error")
    note(axes[-1], *(f"{line[0].upper()}{line[1:]}." for line in str(found).splitlines()))
    axes[0].figure.suptitle(tex_words(found.verdict[0].upper() + found.verdict[1:]))
    finished(axes[-1], handles=axes[-1].deviation_handles)
    return axes


def _studentized(found: Any) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Symbols of all components; over the compared times their mean, theory, standard error."""
    from tutelage.simulation.interpolated_theory import theory_at
    from tutelage.simulation.statistics import components, observed

    names = observed(found.theory, found.ensemble)
    runs = found.ensemble.sel(time=found.times)
    symbols, x = components(runs, names)
    expected, inexact = theory_at(found.theory, found.times, names)
    width = np.std(x, axis=0, ddof=1) / np.sqrt(len(x))
    return symbols, np.mean(x, axis=0), expected, np.maximum(width, inexact + 1e-15)


def draw_deviations(axes: Any, times: np.ndarray, symbols: list[str], ratio: np.ndarray) -> None:
    """Lines of R, Q, v and ε_g in their colours; the largest deviation is named."""
    from matplotlib.lines import Line2D

    letters = list(dict.fromkeys(symbol[0] for symbol in symbols))
    handles = []
    for number, letter in enumerate(letters):
        options: dict[str, Any] = {
            "color": colour_of(number),
            "linestyle": DASHES[number % len(DASHES)],
        }
        members = [c for c, symbol in enumerate(symbols) if symbol[0] == letter]
        axes.plot(times, ratio[:, members], linewidth=1.0, **options)
        label = DRAWN[letter].tex if letter in DRAWN else TEX["generalization_error"]
        handles.append(Line2D([], [], label=label, **options))
    axes.deviation_handles = handles


def band(axes: Any, threshold: float, label: str) -> None:
    """The deviations up to a threshold, shaded."""
    shade = axes.axhspan(-threshold, threshold, color="0.5", alpha=0.15, linewidth=0, label=label)
    axes.deviation_handles.append(shade)


def tex_words(words: str) -> str:
    r"""Write the symbols of a text as formulas.

    >>> print(tex_words("ε_g and R_12 at α = 2"))
    $\varepsilon_g$ and $R_{12}$ at $\alpha$ = 2
    """
    words = re.sub(r"\b([QRv])_(\w+)", r"$\1_{\2}$", words)
    words = words.replace("ε_g", TEX["generalization_error"])
    return words.replace("α", r"$\alpha$").replace("η", r"$\eta$")


@drawing
def branch(dataset: xr.Dataset, axes: Any = None, *, which: str = "RQ") -> Any:
    """Draw R_in and Q_ik of a branch of fixed points against the learning rate.

    Args:
        dataset: from `tutelage.online.branch`.
        axes: Axes to draw on; a new figure when left out.
        which: "R", "Q" or both.

    Returns:
        The Axes drawn on.  Lines are solid where the fixed point is stable and dashed where it is
        not; diamonds are folds, open circles branch points.  Curves that coincide all along, as
        symmetry makes them, are drawn once, with all their symbols.  A branch that goes to
        infinity has an axis that is linear near zero and logarithmic beyond.
    """
    axes = new_axes(axes)
    curves = [c for name in which for c in _curves(dataset, name, "point")]
    rates, stable = dataset["learning_rate"].values, _stability(dataset)
    groups = grouped(curves)
    for number, group in enumerate(groups):
        options: dict[str, Any] = {
            "color": colour_of(number),
            "marker": MARKERS[number // 7 % len(MARKERS)],
        }
        options |= {"markevery": 0.1, "fillstyle": "none"}
        label: str | None = name_of(group, curves)
        values = group.curves[0].values
        for where, dash in ((stable, "-"), (~stable, DASHES[1])):
            if np.any(where):
                joined = np.where(_joined(where), values, np.nan)
                axes.plot(rates, joined, linestyle=dash, label=label, **options)
                label = None
    handles = [*axes.get_legend_handles_labels()[0], *_mark_specials(axes, dataset, groups)]
    largest = np.max(np.abs([c.values for c in curves]), axis=0)
    if np.max(largest) > UNBOUNDED * np.median(largest):
        axes.set_yscale("symlog", linthresh=float(2 * np.median(largest)))
        note(axes, "The axis is linear near zero and logarithmic beyond.")
    note(axes, "Fixed points over the learning rate.", *_stability_words(dataset, stable))
    axes.set(xlabel=r"$\eta$", ylabel=", ".join(DRAWN[name].tex for name in which))
    return finished(axes, handles=handles)


def _stability(dataset: xr.Dataset) -> np.ndarray:
    """Whether each point is stable; all are in a Dataset without eigenvalues."""
    if "eigenvalue" not in dataset:
        return np.ones(dataset.sizes["point"], dtype=bool)
    return dataset["eigenvalue"].max("direction").values < -ZERO


def _stability_words(dataset: xr.Dataset, stable: np.ndarray) -> list[str]:
    if "eigenvalue" not in dataset:
        return []
    words = "Solid: stable; dashed: unstable or marginal."
    K, M = dataset.sizes["student"], dataset.sizes["teacher"]
    outputs = dataset.sizes.get("output", 0)
    if dataset.sizes["direction"] < K * (K + 1) // 2 + K * M + K * outputs:
        words = "Solid: stable among states of identical students; dashed: unstable or marginal."
    return [words if not np.all(stable) else words.partition(";")[0] + "."]


def _joined(where: np.ndarray) -> np.ndarray:
    """With one point more at each end, so that solid and dashed lines meet."""
    return where | np.append(where[1:], False)


def _mark_specials(axes: Any, dataset: xr.Dataset, groups: Any) -> list[Any]:
    """Symbols on the curves at folds and branch points; one entry of the legend for each."""
    from matplotlib.lines import Line2D

    if "special_kind" not in dataset:
        return []
    looks = {"fold": ("D", "black"), "branch point": ("o", "white")}
    handles = []
    for number, kind in enumerate(dataset["special_kind"].values):
        eta = float(dataset["special_learning_rate"][number])
        marker, face = looks.get(str(kind), ("s", "white"))
        options: dict[str, Any] = {"marker": marker, "linestyle": "none", "color": "black"}
        options |= {"markerfacecolor": face, "zorder": 4}
        for group in groups:
            c = group.curves[0]
            name = f"special_{DRAWN[c.letter].name}"
            if name in dataset:
                values = dataset[name].isel(special=number).values
                axes.plot([eta], [values[c.first, c.second]], **options)
        axes.axvline(eta, color="0.5", linewidth=0.7, linestyle=":", zorder=0)
        handles.append(Line2D([], [], label=rf"{kind}, $\eta = {eta:.5g}$", **options))
    return handles


def _means(dataset: xr.Dataset) -> xr.Dataset:
    """One run, or the means over several simulated ones with their spread."""
    if "run" not in dataset.dims:
        return dataset
    if _differences(dataset) is not None:
        received = f"{dataset.sizes['run']} runs of the theory with different numbers"
        raise InputError("dataset", received, "it has to be one", "dataset.isel(run=0)")
    from tutelage.simulation import summary

    return summary(dataset)


def _is_mean(dataset: xr.Dataset) -> bool:
    return "generalization_error_spread" in dataset


def _spread(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Over runs; missing where there is one."""
    return dataset.get(f"{name}_spread", xr.full_like(dataset[name], np.nan))


def _curves(dataset: xr.Dataset, name: str, over: str = "time") -> list[Curve]:
    """Every curve of a block of the state."""
    block = DRAWN[name]
    both = (dataset[block.name], _spread(dataset, block.name))
    x, width = (matrix.transpose(over, *block.dimensions).values for matrix in both)
    return [
        Curve(tex_words(block.label((i, k), dataset.sizes)), name, i, k, x[:, i, k], width[:, i, k])
        for i, k in block.entries(dataset.sizes)
    ]


def _time_symbol(dataset: xr.Dataset) -> str:
    """α, or ηα in the limit η → 0."""
    return r"$\eta\alpha$" if _recorded_rate(dataset) == 0 else r"$\alpha$"


def _recorded_rate(dataset: xr.Dataset) -> Any:
    """η as the Dataset tells it; None where it does not, or where η is a function of time."""
    try:
        return json.loads(str(dataset.attrs["learning_rate"]))
    except (KeyError, ValueError):
        return None


def _differences(dataset: xr.Dataset) -> list[str] | None:
    """Numbers of every run of the theory; None for simulated runs, which differ by chance alone."""
    numbers = {
        SYMBOLS[name]: dataset[name].values
        for name in NUMBERS
        if name in dataset.coords and dataset[name].dims == ("run",)
    }
    rates, runs = _recorded_rate(dataset), range(dataset.sizes.get("run", 0))
    if not numbers and isinstance(rates, list) and len(rates) == len(runs) > 0:
        numbers = {SYMBOLS["learning_rate"]: np.asarray(rates)}
    if not numbers and "teacher_overlaps" in dataset.coords:
        return [f"teacher {run + 1}" for run in runs]
    words = [", ".join(f"${s} = {x[run]:.6g}$" for s, x in numbers.items()) for run in runs]
    return words if numbers else None


def _visible(axes: Any, values: xr.DataArray, dataset: xr.Dataset) -> xr.DataArray:
    """What a logarithmic axis can show, and what is more than the error of the integration."""
    logarithmic = axes.get_yscale() == "log"
    return values.where(values > max(0.0, _noise(dataset))) if logarithmic else values


def _noise(dataset: xr.Dataset) -> float:
    """The error of the integration of the theory; 0 for what is not integrated."""
    return float(dataset.attrs.get("integration_error", 0.0))


def _mark_noise(axes: Any, dataset: xr.Dataset) -> None:
    """A line below which there would be noise, if there is any, once in a picture."""
    from matplotlib import rcParams

    noise = _noise(dataset)
    words = f"below {noise:.0e}: error of the integration"
    below = noise > 0 and bool(np.any(dataset["generalization_error"].values < noise))
    told = any(text.get_text() == words for text in axes.texts)
    if axes.get_yscale() == "log" and below and not told:
        # No curve of the Axes, which those that draw on would take it for; out of view if it is.
        across, grey = axes.get_yaxis_transform(), "0.45"
        axes.hlines(noise, 0, 1, transform=across, linewidth=0.8, colors=grey, linestyles=":")
        looks = {"fontsize": rcParams["legend.fontsize"], "color": grey, "clip_on": True}
        axes.text(0.01, noise, words, transform=across, verticalalignment="bottom", **looks)
