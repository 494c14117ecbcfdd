"""straat2019, Figs. 1 and 2: one and two ReLU units that learn, simulations compared with
theory.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.style import new_grid
from tutelage.figures.text import finish
from tutelage.papers.row import Row, compare, digits, not_comparable
from tutelage.papers.section import Figure, Section
from tutelage.papers.simulated import correspondence, statement
from tutelage.papers.straat2019 import KEY
from tutelage.papers.straat2019.runs import (
    RATE_2,
    RATES,
    fig_1_left,
    fig_1_right,
    fig_2,
    plateau_2,
    runs_of,
    simulated_1,
    simulated_2,
)
from tutelage.simulation import aligned, summary

WORDS = "good correspondence"  # Sec. 4, of Figs. 1 and 2
PLATEAU_ALPHA = 100.0  # α of Fig. 2 at which every run is on the plateau
LEFT_BY_ALPHA = 400.0  # α; a run that has left the plateau by then has reached its end at α = 500
NOTE_CURVES = (
    "straat2019 leaves the η² term out and gives no measure of the correspondence. The curves "
    "drawn differ from the mean of the simulations by at most this much, which is hardly seen; the "
    "equations with the term agree with it within errors (the row above, docs/simulation.md)."
)


def panels() -> Any:
    """Return two Axes side by side, as in all figures of the paper."""

    return new_grid(1, 2, (10.0, 3.6))[1]


def figure_1(full: bool) -> Iterator[Row | Figure]:
    """Draw Fig. 1 and decide the statements about it."""
    runs = runs_of(full)
    yield _drawn_1(runs)
    left = fig_1_left()
    rises = [left[name][-1].item() > left[name][0].item() for name in "RQ"]
    lowest = left["Q"].isel(time=int(left["Q"].argmin("time").item()))
    note = (
        f"Q falls first, to {lowest.item():.3f} at α = {lowest['time'].item():g}, and then grows."
    )
    item = "Fig. 1, left, η = 0.1, R and Q at α = 200 against those at the start"
    yield statement(KEY, item, "increase in both R and Q", rises, note)
    errors = fig_1_right()["generalization_error"].isel(time=-1).values
    slow = [errors[RATES.index(eta)] > errors[RATES.index(1.0)] for eta in (0.1, 1.9)]
    item = "Fig. 1, right, ε_g at α = 50 for η = 0.1 and 1.9 above that for η = 1"
    yield statement(KEY, item, "slow for η ≪ η_c but also for η ≈ η_c", slow)
    item = f"Fig. 1, left, N = 1000, η = 0.1, {runs} runs to α = 200, deviation in standard errors"
    yield correspondence(KEY, item, WORDS, left, simulated_1(0.1, 200.0, runs))
    for number, eta in enumerate(RATES):
        theory = fig_1_right().isel(run=number).assign_attrs(learning_rate=str(eta))
        item = f"Fig. 1, N = 1000, η = {eta:g}, {runs} runs, deviation in standard errors"
        yield correspondence(KEY, item, WORDS, theory, simulated_1(eta, 50.0, runs))


def _drawn_1(runs: int) -> Figure:
    """Draw curves, and the mean and standard deviation over runs as symbols and bands."""
    from tutelage.figures import error, overlaps

    axes = panels()
    overlaps(fig_1_left(), axes[0])
    overlaps(summary(simulated_1(0.1, 200.0, runs)), axes[0])
    for line, name in zip(axes[0].lines, "RQ", strict=False):
        line.set_label(f"${name}$")
    finish(axes[0])
    axes[0].set(ylabel="$R$, $Q$", ylim=(0.0, 1.1), xlim=(0.0, 200.0))
    error(fig_1_right(), axes[1])
    for eta, line in zip(RATES, list(axes[1].lines), strict=True):
        means = summary(simulated_1(eta, 50.0, runs))
        error(means, axes[1], colour=line.get_color())
    axes[1].set(xlim=(0.0, 50.0), ylim=(1e-12, 1.0))
    data = {f"simulated_{eta:g}": simulated_1(eta, 50.0, runs) for eta in RATES}
    theory = {"left": fig_1_left(), "right": fig_1_right()}
    return Figure(axes[0].figure, {**theory, "simulated": simulated_1(0.1, 200.0, runs), **data})


def figure_2(full: bool) -> Iterator[Row | Figure]:
    """Draw Fig. 2 and decide the statements about the plateau, its exit, and the simulations."""
    runs = simulated_2(runs_of(full))
    yield _drawn_2(runs)
    yield from _plateau()
    yield from _specialization(runs)
    yield from _correspondence(runs)


def _drawn_2(runs: xr.Dataset) -> Figure:
    """Draw Fig. 2, with teachers renamed as in the theory: a run may exchange them."""
    from tutelage.figures import error, overlaps

    axes, theory = panels(), _in_alpha(fig_2())
    means = summary(aligned(runs, theory))
    overlaps(theory, axes[0])
    overlaps(means, axes[0])
    error(theory, axes[1], scale="linear")
    error(means, axes[1])
    for ax in axes:
        ax.set(xlim=(0.0, 500.0), ylim=(0.0, None))
    axes[0].set_ylim(-0.05, 1.1)
    return Figure(axes[0].figure, {"": fig_2(), "simulated": runs})


def _in_alpha(run: xr.Dataset) -> xr.Dataset:
    """Rescale a run of the limit η → 0 to α = (ηα)/η, with η = 0.1 as in the caption of Fig. 2."""
    return run.assign_coords(time=run["time"] / RATE_2).assign_attrs(learning_rate=str(RATE_2))


def _plateau() -> Iterator[Row]:
    """Compare the symmetric fixed point near the run, and its unstable direction."""
    point = plateau_2()
    for i in range(2):
        for n in range(2):
            item = f"Fig. 2, plateau, R_{i + 1}{n + 1}"
            yield compare(KEY, item, digits("0.52"), float(point.overlaps.R[i, n]))
    count = int(np.sum(point.eigenvalues.real > 0))
    yield compare(KEY, "Fig. 2, plateau, number of positive eigenvalues", digits("1"), count)
    largest = float(point.eigenvalues[0].real)
    yield compare(KEY, "Fig. 2, plateau, λ_5", digits("0.24"), largest)
    u = point.eigenvectors[:, 0].real
    printed = ("0.5", "-0.5", "-0.5", "0.5", "0.0", "0.0", "0.0")
    for name, text, value in zip(point.labels, printed, np.sign(u[0]) * u, strict=True):
        yield compare(KEY, f"Fig. 2, plateau, u_5 along {name}", digits(text), value)


def _specialization(runs: xr.Dataset) -> Iterator[Row]:
    """Decide which student specializes on which teacher, and how the error falls, in theory and
    runs.
    """
    count = runs.sizes["run"]
    simulated = [runs.isel(run=run) for run in range(count)]
    left = [course for course in simulated if _passes(course, 0.7) <= LEFT_BY_ALPHA]
    courses = [_in_alpha(fig_2()), *left]
    note = (
        f"{len(left)} of {count} runs have |R_11 - R_12| > 0.7 by α = {LEFT_BY_ALPHA:g}, and count."
    )
    ends = np.array([course["R"].values[-1] for course in courses])
    taken, other = ends.max(axis=2) > 0.9, ends.min(axis=2) < 0.1
    item = f"Fig. 2, R_in at α = 500, larger and smaller one, theory and those of {count} runs"
    words = "specialization of each student towards one teacher"
    yield statement(KEY, item, words, taken & other, note)
    item = f"Fig. 2, ε_g as |R_11 - R_12| passes 0.1 and 0.7, theory and those of {count} runs"
    words = "the onset of specialization is associated with a decrease in generalization error"
    yield statement(KEY, item, words, [_falls_with_onset(course) for course in courses], note)


def _passes(course: xr.Dataset, level: float) -> float:
    """Return the first time at which |R_11 - R_12| is above a level; infinite if it never is."""
    preference = np.abs(course["R"].values[:, 0, 0] - course["R"].values[:, 0, 1])
    above = np.flatnonzero(preference > level)
    return float(course["time"][above[0]]) if len(above) else math.inf


def _falls_with_onset(course: xr.Dataset) -> bool:
    """Check that nine tenths of the plateau's error remain at the onset, and less than half of that
    later.
    """
    times = (PLATEAU_ALPHA, _passes(course, 0.1), _passes(course, 0.7))
    error = course["generalization_error"]
    height, onset, later = (float(error.sel(time=t, method="nearest")) for t in times)
    return onset > 0.9 * height and later < 0.5 * onset


def _correspondence(runs: xr.Dataset) -> Iterator[Row]:
    """Compare runs with the theory up to the plateau; the time at which a run leaves is random."""
    count = runs.sizes["run"]
    before = runs.sel(time=slice(0.0, PLATEAU_ALPHA))
    which = f"Fig. 2, N = 10⁴, η = 0.1, {count} runs"
    item = f"{which} to ηα = 10, deviation in standard errors"
    yield correspondence(KEY, item, WORDS, fig_2(RATE_2, PLATEAU_ALPHA), before)
    curves = _in_alpha(fig_2()).interp(time=before["time"])
    distance = max(float(np.abs(before[name].mean("run") - curves[name]).max()) for name in "QR")
    item = f"{which} to ηα = 10, largest distance from the curves drawn"
    yield not_comparable(KEY, item, WORDS, distance, NOTE_CURVES)
    on_plateau = before["R"].isel(time=-1).mean(["student", "teacher"])
    error = float(on_plateau.std(ddof=1)) / math.sqrt(count)
    item = f"{which}, plateau, mean of R_in"
    yield compare(KEY, item, digits("0.52"), float(on_plateau.mean()), uncertainty=error)


SECTIONS = (
    Section(
        "fig1",
        "Figure 1: one unit",
        "Left: R and Q of a single ReLU with η = 0.1, from R = 0, Q = 0.25. Right: ε_g for six "
        "learning rates (the text of the paper does not list its own); it falls fastest for η = 1, "
        "slowly for small η and for η near η_c = 2, and not to zero above. Lines: theory; symbols "
        "and bands: mean and standard deviation over simulations with N = 1000.",
        figure_1,
        full="100 simulated runs instead of 10",
    ),
    Section(
        "fig2",
        "Figure 2: two units and two teachers",
        "Left: R_in and Q_ik for K = M = 2. All R_in stay on a plateau near 0.52 until each "
        "student takes a teacher. Right: ε_g, which falls when they do. Lines: theory without the "
        "η² term, over α = (ηα)/0.1; symbols and bands: mean and standard deviation over "
        "simulations with N = 10⁴ and η = 0.1, units named as in the theory. When a run leaves the "
        "plateau is chance: the bands are wide there.",
        figure_2,
        full="100 simulated runs instead of 10",
    ),
)
