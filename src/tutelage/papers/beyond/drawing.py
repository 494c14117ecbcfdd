"""Equilibrium beyond the papers: weak transitions, noise, other activations, K ≠ M."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tutelage.figures import critical_load
from tutelage.figures.style import new_grid
from tutelage.figures.text import finish, with_formulas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOADS = {"appears": r"$\alpha_s$", "coexists": r"$\alpha_c$", "unstable": r"$\alpha_d$"}


def near_transition(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw R − S of every stable state next to a transition, over the load.

    Args:
        dataset: from `tutelage.equilibrium.learning_curve`, with the loads of the transition in
            the attributes ``appears``, ``coexists`` and ``unstable``.
        axes: Axes to draw on.
    """
    critical = dataset.attrs["coexists"]
    for kind, style, label in (("R > S", "-", "$R > S$"), ("unspecialized", "--", "$R = S$")):
        chosen = dataset.isel(branch=np.flatnonzero(dataset["kind"] == kind))
        V = (chosen["R"] - chosen["S"]).where(chosen["stable"])
        x = 1e3 * (dataset["load"] - critical)
        axes.plot(x, V.max("branch"), style, color="C0", label=label)
    for (name, symbol), line in zip(LOADS.items(), (":", "--", "-."), strict=True):
        load = dataset.attrs[name]
        label = f"{symbol[:-1]} = {load:.6f}$"
        axes.axvline(
            1e3 * (load - critical), color="0.5", linestyle=line, linewidth=0.9, label=label
        )
    axes.set(xlabel=r"$10^3\,(\alpha - \alpha_c)$", ylabel="$R - S$")
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def weak_jumps(dataset: xr.Dataset, axes: "Axes") -> Any:
    """Draw the jump of R − S and the width of coexistence against K, with their limits for large K.

    Args:
        dataset: jump and width over ``units``; attributes ``jump_limit`` and ``width_limit``, of
            K · jump and K² · width.
        axes: Axes to draw on.
    """
    K = dataset["units"].values.astype(float)
    drawn = (
        ("jump", 1, "o", r"jump of $R - S$ at $\alpha_c$", r"$2/(5K)$"),
        ("width", 2, "s", r"$\alpha_d - \alpha_s$", r"$3\pi/(20K^2)$"),
    )
    for number, (name, power, marker, label, law) in enumerate(drawn):
        axes.plot(K, dataset[name], marker, color=f"C{number}", fillstyle="none", label=label)
        limit = dataset.attrs[f"{name}_limit"] / K**power
        axes.plot(K, limit, "--", color=f"C{number}", linewidth=1.0, label=law)
    axes.set(xscale="log", yscale="log", xlabel="$K$", ylabel="jump, width")
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def noisy_loads(datasets: Sequence[xr.Dataset], axes: "Axes") -> Any:
    """Draw α_c against β from linear units to the ReLU, with both limits marked.

    Args:
        datasets: coexists over ``beta``, β = ∞ included; attributes ``gate``, ``units``,
            ``lowest_beta`` and ``lowest_load``.
        axes: Axes to draw on.
    """
    axes = critical_load(datasets, axes)
    beta = datasets[0]["beta"].values
    small = beta[beta < 0.9]
    axes.plot(small, 4 / small**2, "k--", linewidth=1.0, label=r"$\beta \to 0$: $4/\beta^2$")
    _mark_lowest(axes, datasets)
    finish(axes)
    return axes


def earliest_load(datasets: Sequence[xr.Dataset], axes: Any) -> Any:
    """Draw α_c against β near its minimum, on a linear axis; arguments as in `noisy_loads`."""
    axes = critical_load(datasets, axes)
    lowest = min(one.attrs["lowest_load"] for one in datasets)
    axes.set(yscale="linear", xlim=(1.2, 12.0), ylim=(0.99 * lowest, 1.2 * lowest))
    lines = axes.get_lines()
    for one, line in zip(datasets, (x for x in lines if len(x.get_xdata()) > 2), strict=True):
        beta, load = one.attrs["lowest_beta"], one.attrs["lowest_load"]
        label = rf"lowest at $\beta = {beta:.3f}$: $\alpha_c = {load:.4f}$"
        axes.plot(beta, load, "v", color=line.get_color(), label=label)
    finish(axes)
    return axes


def transition_loads(dataset: xr.Dataset) -> Any:
    """Draw bars from α_s to α_d and symbols at α_c, for activations and numbers of units.

    Args:
        dataset: appears, coexists and unstable over ``activation`` and ``units``.

    Returns:
        The Axes drawn on.  An arrow stands for a load α_d that is infinite.
    """

    _, axes = new_grid(1, 1, (9.0, 4.6))
    y = np.arange(dataset.sizes["activation"])[::-1]
    last = 4 * float(dataset["coexists"].max())
    for number, (K, marker) in enumerate(zip(dataset["units"].values, "osD", strict=True)):
        one, at = dataset.sel(units=K), y + 0.22 * (1 - number)
        colour = f"C{number}"
        name = r"\infty" if np.isinf(K) else f"{K:g}"
        ends = np.minimum(one["unstable"].values, last)
        axes.hlines(at, one["appears"], ends, color=colour, linewidth=3, alpha=0.5)
        never = np.isinf(one["unstable"].values)
        axes.plot(ends[never], at[never], ">", color=colour, alpha=0.5)
        axes.plot(one["coexists"], at, marker, color=colour, label=f"$K = {name}$")
    axes.set_yticks(y, dataset["activation"].values)
    axes.set(xscale="log", xlabel=r"$\alpha$")
    axes.grid(alpha=0.3, which="both", axis="x")
    finish(axes, title=r"$\alpha_c$ (bars: $\alpha_s$ to $\alpha_d$)")
    return axes


def unequal_numbers(datasets: Sequence[xr.Dataset]) -> Any:
    """Draw the spread of R_in over the teachers against the load, for K ≠ M.

    Args:
        datasets: spread over ``load``; attributes ``label``, ``load`` and ``load_error``.
    """

    _, axes = new_grid(1, 1, (7.0, 4.0))
    for number, one in enumerate(datasets):
        load, error = one.attrs["load"], one.attrs["load_error"]
        colour = f"C{number}"
        axes.plot(one["load"], one["spread"], "o-", color=colour, markersize=4, fillstyle="none")
        places = int(np.clip(-np.log10(error), 0, 4))
        label = rf"{with_formulas(one.attrs['label'])}: $\alpha = {load:.{places}f}$"
        axes.axvline(load, color=colour, linestyle=":", label=label)
    label = r"largest $R_{in} - R_{im}$ of a student"
    axes.set(xscale="log", xlabel=r"$\alpha$", ylabel=label)
    axes.grid(alpha=0.3)
    finish(axes)
    return axes


def _mark_lowest(axes: "Axes", datasets: Sequence[xr.Dataset]) -> None:
    for number, one in enumerate(datasets):
        axes.plot(one.attrs["lowest_beta"], one.attrs["lowest_load"], "v", color=f"C{number}")
