"""Overlaps and error over the time of on-line learning, in the symbols of the papers."""

import json
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError

STYLES = ("-", "--", ":", "-.")
MOST_LABELS = 12  # a longer legend hides the curves


def overlaps(
    dataset: xr.Dataset, axes: Any = None, which: str = "RQ", style: str | None = None
) -> Any:
    """Draw R_in and Q_ik of one run over time.

    Args:
        dataset: with Q and R over ``time``, from `tutelage.online.evolve` or a simulation.
        axes: Axes to draw on; a new figure when left out.
        which: "R", "Q" or both.
        style: of all curves, such as "--"; by default that of their second index.

    Returns:
        The Axes drawn on.  Each curve has a colour of its own, and the style of its second
        index, so that curves that lie on each other can be told apart.
    """
    if "run" in dataset.dims:
        raise InputError(
            "dataset", f"{dataset.sizes['run']} runs", "it has to be one", "dataset.isel(run=0)"
        )
    curves = [curve for name in which for curve in _curves(dataset, name)]
    axes = _axes(axes)
    for number, (i, k, label, values) in enumerate(curves):
        axes.plot(
            dataset["time"],
            values,
            color=f"C{number % 10}",
            linestyle=style or STYLES[(k if label[1] == "R" else k - i) % len(STYLES)],
            label=label if number < MOST_LABELS else None,
        )
    symbols = ", ".join(_symbol(name, "in", "ik") for name in which)
    axes.set(xlabel=_time_symbol(dataset), ylabel=symbols)
    axes.grid(alpha=0.3)
    left_out = len(curves) - MOST_LABELS
    title = f"and {left_out} more" if left_out > 0 else None
    # Beside the Axes: overlaps fill all of it, and a legend inside would hide some.
    axes.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    return axes


def student_pairs(dataset: xr.Dataset, axes: Any = None) -> Any:
    """Draw R_in of one run, all curves of a student alike, as straat2019 Fig. 3.

    Args:
        dataset: with R over ``time``, from `tutelage.online.evolve`.
        axes: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.  The legend names the curve of each student that ends highest.
    """
    axes = _axes(axes)
    R = dataset["R"].transpose("time", "student", "teacher").values
    for i in range(R.shape[1]):
        highest = int(np.argmax(R[-1, i]))
        for n in range(R.shape[2]):
            axes.plot(
                dataset["time"],
                R[:, i, n],
                color=f"C{i % 10}",
                linestyle=STYLES[i % len(STYLES)],
                label=_symbol("R", f"{i + 1}{n + 1}", "") if n == highest else None,
            )
    axes.set(xlabel=_time_symbol(dataset), ylabel=_symbol("R", "in", ""))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return axes


def error(
    dataset: xr.Dataset,
    axes: Any = None,
    label: str | None = None,
    scale: str = "log",
    style: str = "-",
) -> Any:
    """Draw the generalization error ε_g over time, one curve for each run.

    Args:
        dataset: with generalization_error over ``time``, and over ``run`` if there are several.
        axes: Axes to draw on; a new figure when left out.
        label: of a single curve in the legend; several are labelled by their learning rates.
        scale: of the error, "log" or "linear".
        style: of the curves.

    Returns:
        The Axes drawn on.
    """
    axes = _axes(axes)
    values = dataset["generalization_error"]
    if "run" in values.dims:
        labels = _learning_rates(dataset)
        colours = _colours(len(labels))
        for run, (name, colour) in enumerate(zip(labels, colours, strict=True)):
            shown = _positive(values[run], scale)
            axes.plot(dataset["time"], shown, style, color=colour, label=name)
    else:
        axes.plot(dataset["time"], _positive(values, scale), style, label=label)
    axes.set(xlabel=_time_symbol(dataset), ylabel=r"$\epsilon_g$", yscale=scale)
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    return axes


def learning_curves(dataset: xr.Dataset) -> Any:
    """Draw student overlaps, teacher overlaps and error side by side, as citton2025 Fig. 1.

    Returns:
        Three Axes; only the error, on one, if the Dataset has several runs.
    """
    import matplotlib.pyplot as plt

    if "run" in dataset.dims:
        return np.array([error(dataset)])
    _, axes = plt.subplots(1, 3, figsize=(12.0, 3.6), layout="constrained")
    overlaps(dataset, axes[0], which="Q")
    overlaps(dataset, axes[1], which="R")
    error(dataset, axes[2])
    return axes


def branch(dataset: xr.Dataset, axes: Any = None, which: str = "RQ") -> Any:
    """Draw R_in and Q_ik of a branch of fixed points against the learning rate.

    Args:
        dataset: from `tutelage.online.branch`; folds are marked by dashed lines.
        axes: Axes to draw on; a new figure when left out.
        which: "R", "Q" or both.

    Returns:
        The Axes drawn on.  Curves that coincide all along, as symmetry makes them, are drawn
        once, with all their symbols.
    """
    axes = _axes(axes)
    groups: list[tuple[np.ndarray, list[str]]] = []
    for _, _, label, values in (c for name in which for c in _curves(dataset, name, "point")):
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
    axes.set(xlabel=r"$\eta$", ylabel=", ".join(_symbol(name, "in", "ik") for name in which))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return axes


def _axes(axes: Any) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.0, 3.8), layout="constrained")[1] if axes is None else axes


def _curves(
    dataset: xr.Dataset, name: str, over: str = "time"
) -> list[tuple[int, int, str, np.ndarray]]:
    """First index, second index, symbol and values of every curve of Q (i <= k) or R."""
    matrix = dataset[name].transpose(over, "student", ...).values
    return [
        (i, k, _symbol(name, f"{i + 1}{k + 1}", f"{i + 1}{k + 1}"), matrix[:, i, k])
        for i in range(matrix.shape[1])
        for k in range(i if name == "Q" else 0, matrix.shape[2])
    ]


def _time_symbol(dataset: xr.Dataset) -> str:
    """α, or ηα in the limit η → 0."""
    return r"$\eta\alpha$" if dataset.attrs.get("learning_rate") == "0" else r"$\alpha$"


def _symbol(name: str, teacher_index: str, student_index: str) -> str:
    return f"${name}_{{{teacher_index if name == 'R' else student_index}}}$"


def _learning_rates(dataset: xr.Dataset) -> list[str]:
    """η of every run, from the attributes; the number of the run where they do not say."""
    runs = dataset.sizes["run"]
    try:
        rates = json.loads(dataset.attrs["learning_rate"])
    except (KeyError, ValueError):
        rates = None
    if not isinstance(rates, list) or len(rates) != runs:
        return [f"run {number + 1}" for number in range(runs)]
    return [rf"$\eta = {rate:.6g}$" for rate in rates]


def _colours(count: int) -> Any:
    import matplotlib

    return matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, count))


def _positive(values: xr.DataArray, scale: str) -> Any:
    """What a logarithmic axis can show: rounding around zero is left out."""
    return values.where(values > 0) if scale == "log" else values
