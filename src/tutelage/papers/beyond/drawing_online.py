"""On-line learning beyond the papers: critical rates, escape times, schedules."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage.figures.style import new_grid, ordered_colours
from tutelage.figures.text import finish
from tutelage.papers.section import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATES = {
    "non_monotonic": (r"$\varepsilon_g$ not monotonic", "C0"),
    "plateau_vanishes": ("no symmetric plateau", "C1"),
    "diverges": ("norms diverge", "C2"),
}


def side_by_side(data: xr.Dataset, *drawings: Callable[[xr.Dataset, Any], Any]) -> Figure:
    """Draw the same data in several panels, one for each drawing function."""

    figure, axes = new_grid(1, len(drawings), (10.5, 4.0))
    for draw, panel in zip(drawings, axes, strict=True):
        draw(data, panel)
    return Figure(figure, {"": data})


def critical_rates(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw learning rates of a series against its order (circles), exact ones (lines), printed ones
    (crosses).

    Args:
        dataset: the rates over ``order``; attributes ``exact_NAME``, ``printed_NAME`` and
            ``printed_order``.
        axes: Axes to draw on.
    """
    for name, (label, colour) in RATES.items():
        exact = dataset.attrs[f"exact_{name}"]
        axes.axhline(exact, color=colour, label=rf"{label}: $\eta = {exact:.6f}$")
        axes.plot(dataset["order"], dataset[name], "o", color=colour, fillstyle="none")
        printed = dataset.attrs["printed_order"], dataset.attrs[f"printed_{name}"]
        axes.plot(*printed, "x", color=colour, markersize=8, markeredgewidth=2)
    axes.plot([], [], "o", color="0.4", fillstyle="none", label="series")
    axes.plot([], [], "x", color="0.4", label="printed in citton2025")
    axes.set(xlabel="order of the series", ylabel=r"$\eta$")
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def truncation(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw the distance of the truncated critical rates from the exact ones, on a log axis."""
    for name, (label, colour) in RATES.items():
        exact = dataset.attrs[f"exact_{name}"]
        off = np.abs(dataset[name] - exact)
        if np.any(np.isfinite(off)):
            axes.plot(dataset["order"], off, "o-", color=colour, fillstyle="none", label=label)
        printed = dataset.attrs["printed_order"], abs(dataset.attrs[f"printed_{name}"] - exact)
        axes.plot(*printed, "x", color=colour, markersize=8, markeredgewidth=2)
    axes.plot([], [], "x", color="0.4", label="printed in citton2025")
    axes.set(xlabel="order of the series", ylabel=r"$|\eta - \eta_{\mathrm{exact}}|$", yscale="log")
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def escape_distribution(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw the fraction of escaped runs over the time relative to the median of their N, and the
    law.

    Args:
        dataset: escape_time over ``dimension`` and ``run``, NaN where there is no run, infinite
            for runs that have not left; attribute ``growth`` λ.
        axes: Axes to draw on.
    """
    from tutelage.online.stationary.escape import escape_probability

    sizes = dataset["dimension"].values
    tints = ordered_colours(len(sizes))
    for row, N, tint in zip(dataset["escape_time"].values, sizes, tints, strict=True):
        times = np.sort(row[~np.isnan(row)])
        x = times - np.median(times)
        left = np.arange(1, len(x) + 1) / len(x)
        name = f"$N = {int(N)}$, {len(x)} runs"
        axes.step(x, left, where="post", label=name, linewidth=1.2, color=tint)
    growth = dataset.attrs["growth"]
    t = np.linspace(-18.0, 32.0, 401)
    law = escape_probability(t, growth)
    axes.plot(t, law, "k--", label=rf"law of $-\ln\,|Z|\,/\lambda$, $\lambda = {growth:.4f}$")
    axes.set(xlabel=r"$\alpha - $ median", ylabel="runs that have left the plateau")
    axes.set(xlim=(t[0], t[-1]), ylim=(0.0, 1.02))
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def escape_growth(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw the median escape time against N with the middle half of the runs, and the
    slope 1/(2λ).
    """
    N, growth = dataset["dimension"].values.astype(float), dataset.attrs["growth"]
    rows = [row[~np.isnan(row)] for row in dataset["escape_time"].values]
    low, median, high = np.array([np.quantile(row, [0.25, 0.5, 0.75]) for row in rows]).T
    bars = [median - low, high - median]
    axes.errorbar(N, median, bars, fmt="o", capsize=3, label="median and middle half")
    weights = np.array([len(row) for row in rows])
    large = dataset.attrs["asymptotic"] <= N
    rest = median - np.log(N) / (2 * growth)
    through = np.average(rest[large], weights=weights[large])
    label = rf"$\ln N/(2\lambda)$ + const., $1/(2\lambda) = {1 / (2 * growth):.3f}$"
    axes.plot(N, through + np.log(N) / (2 * growth), "k--", label=label)
    axes.set(xscale="log", xlabel="$N$", ylabel=r"escape time $\alpha$")
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def schedules(dataset: xr.Dataset, axes: "Sequence[Axes]") -> Any:
    """Draw ε_g and η over time, one curve for each number of pieces.

    Args:
        dataset: generalization_error and learning_rate over ``pieces`` and ``time``; attribute
            ``goal``.
        axes: two Axes.
    """
    for number, pieces in enumerate(dataset["pieces"].values):
        one = dataset.sel(pieces=pieces)
        reached = float(
            one["time"][int(np.argmax(one["generalization_error"].values < dataset.attrs["goal"]))]
        )
        label = "best constant rate" if pieces == 1 else f"best {pieces} rates"
        axes[0].plot(one["time"], one["generalization_error"], color=f"C{number}", label=label)
        until = one.sel(time=slice(0, reached))
        axes[1].plot(until["time"], until["learning_rate"], color=f"C{number}", label=label)
    axes[0].axhline(dataset.attrs["goal"], color="0.4", linestyle=":", label="goal")
    axes[0].set(xlabel=r"$\alpha$", ylabel=r"$\varepsilon_g$", yscale="log")
    axes[1].set(xlabel=r"$\alpha$", ylabel=r"$\eta$", ylim=(0.0, None))
    for panel in axes:
        panel.grid(alpha=0.3)
        finish(panel)
    return axes


def eigenvalues_over_coefficients(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw λ over c_2², or over c_3² for units with c_2 = 0, each point with its name.

    Args:
        dataset: growth, c2 and c3 over ``unit``.
        axes: Axes to draw on.
    """
    for even, points in _kinds(dataset):
        c = points["c2" if even else "c3"].values
        _with_names(axes, points, c**2, points["growth"].values, (1, 3) if even else (2,))
    axes.set(xlabel=r"$c_2^2$ (circles), $c_3^2$ (squares)", ylabel=r"$\lambda/\eta$")
    axes.set(xscale="log", yscale="log")
    finish(axes)
    return axes


def lengths_over_eigenvalues(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw lengths over λ; lines show the mean product of each kind."""
    for even, points in _kinds(dataset):
        growth, length = points["growth"].values, points["length"].values
        _with_names(axes, points, growth, length, (0, 1) if even else (1, 1, 4, 1))
        product = float(np.mean(growth * length))
        x = np.geomspace(growth.min(), growth.max(), 101)
        axes.plot(
            x, product / x, ":", color="C0" if even else "C1", label=rf"${product:.2f}/\lambda$"
        )
    axes.set(xlabel=r"$\lambda/\eta$", ylabel=r"length of the plateau, $\alpha\eta$")
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def error_over_units(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw ε_g at the last time over the number of students, for each choice of trained layers.

    Args:
        dataset: final over ``units`` and ``layers``; attributes noise, learning_rate, teachers.
        axes: Axes to draw on.
    """
    K = dataset["units"]
    for number, layers in enumerate(dataset["layers"].values):
        label = f"{layers} layer{'s' if layers == 'both' else ''} trained"
        axes.plot(K, dataset["final"].sel(layers=layers), "o-", color=f"C{number}", label=label)
    M = dataset.attrs["teachers"]
    law = dataset.attrs["learning_rate"] * dataset.attrs["noise"] ** 2 / (2 * np.pi)
    law = law * (M / np.sqrt(3) + K - M)
    axes.plot(K, law, ":", color="C0", label=r"committee, $\eta \to 0$")
    axes.set(xlabel="$K$", ylabel=r"$\varepsilon_g$", xticks=K.values, ylim=(0.0, None))
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def errors_of_layers(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw ε_g over time for the largest K, and for ReLU units with both layers trained."""
    last = dataset.isel(units=-1)
    for number, layers in enumerate(dataset["layers"].values):
        name = f"Erf, $K = {int(last.units)}$, {layers} layer{'s' if layers == 'both' else ''}"
        values = last["generalization_error"].sel(layers=layers)
        axes.plot(dataset["time"], values, color=f"C{number}", label=name)
    t = dataset["long_time"]
    axes.plot(t, dataset["relu"], color="C2", label="ReLU, $K = 2$, both layers")
    law = dataset.attrs["teachers"] * dataset.attrs["noise"] / 8 / np.sqrt(t)
    axes.plot(t, law, "--", color="C2", label=r"$M\varsigma/(8\sqrt{\alpha})$")
    axes.set(xlabel=r"$\alpha$", ylabel=r"$\varepsilon_g$", xscale="log", yscale="log")
    axes.set_ylim(0.5 * float(dataset["relu"].min()), 2 * float(dataset["relu"].max()))
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def lengths_of_plateaus(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw plateau lengths over η_v/η, relative to those of a fixed second layer.

    Args:
        dataset: length and fixed_length over ``unit`` and ``ratio``.
        axes: Axes to draw on.
    """
    for number, unit in enumerate(dataset["unit"].values):
        one = dataset.sel(unit=unit)
        label = rf"{unit}, $\alpha\eta = {float(one['fixed_length']):.1f}$ with fixed $v$"
        axes.plot(
            one["ratio"], one["length"] / one["fixed_length"], "o-", color=f"C{number}", label=label
        )
    axes.axhline(1.0, color="0.4", linewidth=0.8)
    axes.set(xlabel=r"$\eta_v/\eta$", ylabel="length of the plateau / that with fixed $v$")
    axes.set(xscale="log", ylim=(0.0, 1.4))
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def escape_eigenvalues(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw λ over η_v/η, relative to that of a fixed second layer, and the laws in v."""
    for number, unit in enumerate(dataset["unit"].values):
        one, colour = dataset.sel(unit=unit), f"C{number}"
        axes.plot(one["ratio"], one["growth"] / one["fixed_growth"], "o", color=colour, label=unit)
        axes.plot(one["ratio"], one["law"], ":", color=colour, label=f"{unit}, from $v$ alone")
    axes.axhline(1.0, color="0.4", linewidth=0.8)
    axes.set(xlabel=r"$\eta_v/\eta$", ylabel=r"$\lambda$ / that with fixed $v$")
    axes.set(xscale="log", ylim=(0.0, None))
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def errors_of_drift(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw the smallest ε_g over δ, with and without weight decay.

    Args:
        dataset: error and specialization over ``unit`` and ``drift``, with decay as well.
        axes: Axes to draw on.
    """
    axes.set(ylabel=r"$\varepsilon_g$", yscale="log")
    _over_drift(dataset, "error", axes, "o-", r"best $\eta$")
    _over_drift(dataset, "error_with_decay", axes, "s--", r"best $\eta$ and $\gamma$")
    return axes


def best_rates(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw the best η over δ, with and without weight decay, and the best γ/δ."""
    share = dataset.assign(share_with_decay=dataset["weight_decay"] / dataset["drift"])
    _over_drift(dataset, "learning_rate", axes, "o-", r"$\eta$")
    _over_drift(dataset, "learning_rate_with_decay", axes, "s--", r"$\eta$ with decay")
    _over_drift(share, "share_with_decay", axes, "^:", r"$\gamma/\delta$")
    axes.set(ylabel=r"$\eta$, $\gamma/\delta$", ylim=(0.0, None))
    return axes


def _over_drift(dataset: xr.Dataset, name: str, axes: "Axes", style: str, label: str) -> None:
    """Draw a curve for each kind of units; open symbols where no student specializes."""
    decayed = "_with_decay" if name.endswith("_with_decay") else ""
    for number, unit in enumerate(dataset["unit"].values):
        one, colour = dataset.sel(unit=unit), f"C{number}"
        axes.plot(one["drift"], one[name], style, color=colour, label=f"{unit}, {label}")
        unspecialized = one[f"specialization{decayed}"] < 1e-6  # to which a fixed point is known
        open_ones = one[name].where(unspecialized)
        axes.plot(one["drift"], open_ones, style[0], color=colour, markerfacecolor="white")
    axes.set(xlabel=r"$\delta$", xscale="log")
    axes.grid(alpha=0.3)
    finish(axes)


def _kinds(dataset: xr.Dataset) -> list[tuple[bool, xr.Dataset]]:
    """Split units into those with c_2 ≠ 0 and those with c_2 = 0."""
    even = np.abs(dataset["c2"].values) > 1e-9  # rounding of a numerical coefficient
    return [(kind, dataset.isel(unit=np.flatnonzero(even == kind))) for kind in (True, False)]


# Places of names next to points: their offset in points, and the side of the text that is fixed.
LEFT_BELOW, RIGHT_ABOVE, RIGHT_BELOW = ((-7, -9), "right"), ((6, 3), "left"), ((6, -9), "left")
NAME_PLACES = (LEFT_BELOW, RIGHT_ABOVE, RIGHT_BELOW, ((-7, 3), "right"), ((4, 9), "left"))


def _with_names(
    axes: Any, points: xr.Dataset, x: np.ndarray, y: np.ndarray, places: tuple[int, ...]
) -> None:
    """Plot circles, whose names take two places in turn, or squares with one or four places."""
    from matplotlib import rcParams

    circles = len(places) == 2
    axes.plot(x, y, "o" if circles else "s", color="C0" if circles else "C1")
    for number, k in enumerate(np.argsort(x)):
        offset, side = NAME_PLACES[places[number % len(places)]]
        short = str(points["unit"].values[k]).split(",")[0]
        options: Any = {"textcoords": "offset points", "ha": side}
        options["fontsize"] = rcParams["legend.fontsize"]
        axes.annotate(short, (x[k], y[k]), offset, **options)
    axes.margins(x=0.24, y=0.16)
