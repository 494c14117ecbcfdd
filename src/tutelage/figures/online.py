"""Overlaps and error over the time of learning, of the theory and of simulations."""

import json
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, shown
from tutelage.figures.axes import STYLES, banded, drawing, finished, new_axes, shades
from tutelage.model.layout import BLOCKS
from tutelage.model.numbers import COORDINATE_TEX
from tutelage.runs.coordinates import NUMBERS

MOST_LABELS = 12  # a longer legend hides the curves
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
        The Axes drawn on.  Each overlap has a colour of its own.  Of several runs the mean is
        drawn, with a band of one standard deviation to either side; what is drawn on curves that
        are there already is not named again.
    """
    shown = _means(dataset)
    axes = new_axes(axes)
    named = not axes.lines
    curves = [curve for name in which for curve in _curves(shown, name)]
    for number, (i, k, label, mean, width) in enumerate(curves):
        line = "o" if _is_mean(shown) else STYLES[(k if label[1] == "R" else k - i) % len(STYLES)]
        looks = {"colour": f"C{number % 10}", "style": style or line}
        name = label if named and number < MOST_LABELS else None
        banded(axes, shown["time"].values, mean, width, **looks, label=name)
    axes.set(xlabel=_time_symbol(dataset), ylabel=", ".join(DRAWN[name].tex for name in which))
    axes.grid(alpha=0.3)
    left_out = len(curves) - MOST_LABELS
    title = f"and {left_out} more" if left_out > 0 else None
    # Beside the Axes: overlaps fill all of it, and a legend inside would hide some.
    axes.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    return axes


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
        deviation to either side.  On a logarithmic axis what is below the error of the integration
        of a run of the theory (its attribute ``integration_error``) is not drawn; a line says so.
    """
    axes = new_axes(axes)
    axes.set_yscale(scale or (axes.get_yscale() if axes.lines else "log"))
    names = _differences(dataset)
    if names is not None:
        for run, (name, tint) in enumerate(zip(names, shades(len(names)), strict=True)):
            one = dataset["generalization_error"].isel(run=run)
            visible = _visible(axes, one, dataset)
            axes.plot(dataset["time"], visible, style or "-", color=tint, label=name)
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
    axes.set(xlabel=_time_symbol(dataset), ylabel=r"$\epsilon_g$")
    _mark_noise(axes, dataset)
    return finished(axes)


@drawing
def learning_curves(dataset: xr.Dataset, theory: xr.Dataset | None = None) -> Any:
    """Draw student overlaps, teacher overlaps and error side by side, as citton2025 Fig. 1.

    Readouts that learn stand beside them.

    Args:
        dataset: as for `overlaps` and `error`.
        theory: a run of `tutelage.online.evolve`, to be drawn as lines below simulated runs.

    Returns:
        Three Axes: Q_ik, R_in and ε_g, and a fourth with v_ci; only the error, on one, at several
        learning rates.
    """
    import matplotlib.pyplot as plt

    if _differences(dataset) is not None:
        return np.array([error(dataset)])
    panels = [block.symbol for block in sorted(BLOCKS) if block.name in dataset]
    size = (4.0 * (len(panels) + 1), 3.7)
    _, axes = plt.subplots(1, len(panels) + 1, figsize=size, layout="constrained")
    places = dict(zip(panels, np.delete(axes, 2), strict=True))
    if theory is not None:
        for name, place in places.items():
            overlaps(theory, place, which=name)
        error(theory, axes[2], label="theory")
    runs = dataset.sizes.get("run", dataset.attrs.get("run_count", 1))
    label = f"{runs} runs" if "generalization_error_spread" in dataset or runs > 1 else None
    style = "o" if theory is not None else "-" if _is_mean(_means(dataset)) else None
    for name, place in places.items():
        overlaps(dataset, place, which=name, style=style)
    error(dataset, axes[2], label=label if theory is None else label or "one run", style=style)
    return axes


@drawing
def comparison(found: Any) -> Any:
    """Draw what `tutelage.simulation.compare` has found: curves, symbols, bands and the verdict.

    Returns:
        Three Axes, as `learning_curves`, with the verdict above them.
    """
    from tutelage.simulation.comparison import Comparison  # not loaded to draw anything else

    if not isinstance(found, Comparison):
        allowed = "it has to be a Comparison"
        raise InputError("found", shown(found), allowed, "tl.simulation.compare(theory, runs)")
    axes = learning_curves(found.summary, found.theory)
    axes[0].figure.suptitle(str(found), fontsize="small")
    return axes


@drawing
def branch(dataset: xr.Dataset, axes: Any = None, *, which: str = "RQ") -> Any:
    """Draw R_in and Q_ik of a branch of fixed points against the learning rate.

    Args:
        dataset: from `tutelage.online.branch`; folds are marked by dashed lines.
        axes: Axes to draw on; a new figure when left out.
        which: "R", "Q" or both.

    Returns:
        The Axes drawn on.  Curves that coincide all along, as symmetry makes them, are drawn
        once, with all their symbols.
    """
    axes = new_axes(axes)
    groups: list[tuple[np.ndarray, list[str]]] = []
    for _, _, label, values, _ in (c for n in which for c in _curves(dataset, n, "point")):
        alike = [labels for known, labels in groups if np.allclose(known, values, atol=1e-6)]
        if alike:
            alike[0].append(label)
        else:
            groups.append((values, [label]))
    for number, (values, labels) in enumerate(groups):
        name = " = ".join(labels)
        axes.plot(dataset["learning_rate"], values, color=f"C{number % 10}", label=name)
    if "special_kind" in dataset:
        folds = dataset["special_kind"].values == "fold"
        for eta in dataset["special_learning_rate"].values[folds]:
            axes.axvline(eta, color="grey", linestyle="--", label=rf"fold, $\eta = {eta:.6f}$")
    axes.set(xlabel=r"$\eta$", ylabel=", ".join(DRAWN[name].tex for name in which))
    return finished(axes)


def _means(dataset: xr.Dataset) -> xr.Dataset:
    """One run, or the means over several simulated ones with their spread."""
    if "run" not in dataset.dims:
        return dataset
    if _differences(dataset) is not None:
        came = f"{dataset.sizes['run']} runs of the theory with different numbers"
        raise InputError("dataset", came, "it has to be one", "dataset.isel(run=0)")
    from tutelage.simulation import summary

    return summary(dataset)


def _is_mean(dataset: xr.Dataset) -> bool:
    return "generalization_error_spread" in dataset


def _spread(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Over runs; missing where there is one."""
    return dataset.get(f"{name}_spread", xr.full_like(dataset[name], np.nan))


def _curves(
    dataset: xr.Dataset, name: str, over: str = "time"
) -> list[tuple[int, int, str, np.ndarray, np.ndarray]]:
    """First and second index, symbol, values and spread of every curve of a block."""
    block = DRAWN[name]
    both = (dataset[block.name], _spread(dataset, block.name))
    x, width = (matrix.transpose(over, *block.dimensions).values for matrix in both)
    return [
        (i, k, f"${name}_{{{i + 1}{k + 1}}}$", x[:, i, k], width[:, i, k])
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
    noise = _noise(dataset)
    words = f"below {noise:.0e}: error of the integration"
    below = noise > 0 and bool(np.any(dataset["generalization_error"].values < noise))
    told = any(text.get_text() == words for text in axes.texts)
    if axes.get_yscale() == "log" and below and not told:
        # No curve of the Axes, which those that draw on would take it for; out of view if it is.
        across, grey = axes.get_yaxis_transform(), "0.45"
        axes.hlines(noise, 0, 1, transform=across, linewidth=0.8, colors=grey, linestyles=":")
        looks = {"fontsize": "x-small", "color": grey, "clip_on": True}
        axes.text(0.01, noise, words, transform=across, verticalalignment="bottom", **looks)
