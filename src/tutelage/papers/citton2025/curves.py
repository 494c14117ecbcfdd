"""citton2025, Figs. 1 and 2: learning curves with simulations, learning rates, the plateau."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from tutelage import online, simulation, sweeps
from tutelage.figures.style import new_grid
from tutelage.papers.citton2025 import KEY
from tutelage.papers.citton2025.runs import (
    DIMENSION,
    RATES,
    RUNS,
    SMALL_RATES,
    corrected_1,
    fig_1,
    fig_2a,
    fig_2b,
    plateau,
    scenario,
    simulated_1,
    small,
    start,
    up_to_fold,
)
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, not_comparable, with_note
from tutelage.papers.section import Figure, Section
from tutelage.papers.simulated import correspondence, statement
from tutelage.simulation import aligned, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLATEAU_AT = 15.0  # Fig. 1: all overlaps have come to the plateau
LENGTHS_AT = (0.1, 0.25, 0.5, 0.9, 1.2)
NOTE_MATCH = (
    "Up to α ≈ 30 means over 10 runs are within errors of the ODE; then runs with d = 1000 leave "
    "the plateau earlier, because fluctuations of size 1/√d outgrow the 10⁻³ of the start: at "
    "α = 34 ± 8 over 200 runs, the ODE at 57. The paper corrects the first steps of its runs in a "
    "way that it does not describe (it cites Biehl, Riegler and Wöhler 1996); these are not "
    "corrected (docs/simulation.md)."
)
NOTE_CORRECTED = (
    "Our correction takes the fluctuations of the overlaps out of the first d examples; that of "
    "the paper is not described in it. Runs leave the plateau well before the ODE all the same "
    "(docs/simulation.md)."
)
NOTE_LENGTH = (
    "The text does not list the learning rates of Fig. 2a. In units of α the plateau gets shorter "
    "from small ones on, is shortest near η = 0.9 and longer again beyond, up to 1.2, where the "
    "eigenvalue that leads away gets smaller; it is shorter there than at η = 0.25. The "
    "length is the time within a tenth of the height; the time to half of the height behaves the "
    "same way (docs/online.md, tests/papers/test_citton2025.py)."
)


def figure_1(full: bool) -> Iterator[Row | Figure]:
    """Learning curves at η = 1, and how far simulations follow them."""
    yield _drawn_1(simulated_1())
    words, which = "match very well", f"d = {DIMENSION}, {RUNS} runs"
    item = f"Fig. 1 to α = {PLATEAU_AT:g}, {which}, in standard errors"
    early = simulated_1().sel(time=slice(0, PLATEAU_AT))
    yield correspondence(KEY, item, words, fig_1(), early)
    item = f"Fig. 1 to α = 100, {which}, in standard errors"
    whole = correspondence(KEY, item, words, fig_1(), simulated_1())
    yield not_comparable(KEY, item, words, whole.computed, NOTE_MATCH)
    yield _leaving(simulated_1(), "", NOTE_MATCH)
    if full:
        yield _drawn_1(corrected_1(), "corrected")
        yield _leaving(corrected_1(), ", first steps corrected", NOTE_CORRECTED)


def _leaving(runs: xr.Dataset, how: str, note: str) -> Row:
    """Return the time at which ε_g falls below half of the plateau: mean and standard error."""
    point = online.fixed_point(scenario(), plateau(), learning_rate=1.0)
    times, theory = (
        simulation.escape_times(x, height=point.generalization_error)["escape_time"].values
        for x in (runs, fig_1().expand_dims("run"))
    )
    error = float(np.std(times, ddof=1)) / math.sqrt(len(times))
    item = f"Fig. 1, d = {DIMENSION}, {len(times)} runs{how}, α at half of the plateau, mean"
    printed = f"match very well, ODE {theory[0]:.1f}"
    return not_comparable(KEY, item, printed, float(np.mean(times)), note, error)


def _drawn_1(runs: xr.Dataset, name: str = "") -> Figure:
    """Draw the ODE dashed, and mean and standard deviation over runs as lines and bands."""

    from tutelage.figures import error, overlaps

    run, means = fig_1(), summary(aligned(runs, fig_1()))
    _, axes = new_grid(1, 3, (12.0, 3.6))
    for ax, which in zip(axes, "QR", strict=False):
        overlaps(run, ax, which=which, style="--")
        overlaps(means, ax, which=which, style="-")
    error(run, axes[2], label="ODE", scale="linear", style="--")
    label = f"{runs.sizes['run']} simulations"
    error(means, axes[2], label=label, style="-", colour="C0")
    _letters(axes)
    for ax in axes:
        ax.set_xlim(0.0, 100.0)
    return Figure(axes[0].figure, {"": run, "simulated": runs}, name)


def _letters(axes: "Sequence[Axes]") -> None:
    for ax, letter in zip(axes, "abc", strict=False):
        ax.set_title(f"({letter})", loc="left")


def figure_2(full: bool) -> Iterator[Row | Figure]:
    """Learning curves for several η, and the plateau against η."""
    yield _drawn_2()
    yield from _small_rates()
    yield from _plateaus()
    yield from _large_rates()


def _drawn_2() -> Figure:

    from tutelage import figures as draw

    _, axes = new_grid(1, 2, (10.0, 3.8))
    draw.error(fig_2a(), axes[0])
    # The diverging run would fill the whole axis.
    axes[0].set(ylim=(1e-4, 10.0), xlim=(0.0, 200.0))
    draw.branch(up_to_fold(), axes[1])
    axes[1].set(xlim=(0.0, 1.3), ylim=(0.0, None))
    _letters(axes)
    return Figure(axes[0].figure, {"a": fig_2a(), "b": fig_2b()})


def _small_rates() -> Iterator[Row]:
    """The distance from the limit η → 0 falls in proportion to η."""
    limit = small(0)["generalization_error"].values
    distance = [
        np.max(np.abs(small(r)["generalization_error"].values - limit)) for r in SMALL_RATES
    ]
    item = (
        f"Fig. 2a, largest distance of ε_g(ηα) from the limit η → 0 halves over η = {SMALL_RATES}"
    )
    words = "for small values of η we recover the results from the small learning rate limit"
    ratios = np.array(distance[1:]) / np.array(distance[:-1])
    yield statement(KEY, item, words, np.abs(ratios - 0.5) < 0.05)


def _plateaus() -> Iterator[Row]:
    """Height and length of the plateau as the learning rate grows."""
    heights = up_to_fold()["generalization_error"].values
    words = "increasing height of the plateau"
    yield statement(KEY, "Fig. 2, ε_g of the plateau up to its fold", words, np.diff(heights) > 0)
    over = {"learning_rate": LENGTHS_AT}
    measured = sweeps.run(online.plateau, over, scenario=scenario(), start=start(), workers=1)
    length = dict(zip(LENGTHS_AT, measured["length"].values, strict=True))
    item, words = (
        "Fig. 2a, length of the plateau in α, from η to η",
        "shrinking length up to 1.2175",
    )
    rows = {}
    for rates in ((0.1, 0.25, 0.5, 0.9), (0.1, 0.25, 1.2), (0.5, 0.9, 1.2)):
        shrinks = np.diff([length[rate] for rate in rates]) < 0
        rows[f"η = {rates}"] = statement(KEY, item, words, shrinks)
    yield with_note(in_each_reading(item, "which learning rates are compared", rows), NOTE_LENGTH)


def _large_rates() -> Iterator[Row]:
    """Check that the error rises temporarily beyond η = 1.2175, and without bound beyond η_c."""
    runs = fig_2a()
    rates, errors = np.array(RATES), runs["generalization_error"].values
    rises = np.array([np.any(np.diff(e[np.isfinite(e)]) > 0) for e in errors])
    converging = rates < 1.2575
    item = f"Fig. 2a, whether ε_g rises for a while, η = {RATES[:-1]}"
    words = "non-monotonic generalization error above η ≈ 1.2175"
    yield statement(KEY, item, words, (rises == (rates > 1.2175))[converging])
    last = errors[converging, -1] < errors[converging, 0]
    falls = [*last, runs["outcome"].values[-1] == "diverged"]
    item = f"Fig. 2a, norms grow beyond 10⁶ at η = {RATES[-1]}, and do not below"
    yield statement(KEY, item, "uncontrollable growth of the weight vector norms", falls)
    errors_seen = errors[-1][np.isfinite(errors[-1])]
    item = f"Fig. 2a, ε_g at η = {RATES[-1]} ends above 10⁴"
    yield statement(
        KEY, item, "and, consequently, of the generalization error", errors_seen[-1:] > 1e4
    )


SECTIONS = (
    Section(
        "fig1",
        "Figure 1: learning curves and simulations",
        "η = 1. (a) Q_ik, (b) R_in, (c) ε_g. Dashed: the equations; lines and bands: mean and "
        "standard deviation over 10 simulations with d = 1000, units named as in the theory. "
        "They agree on the way to the plateau. Simulations, whose first steps are not corrected "
        "here, leave it at random times from α ≈ 20 on, the equations at α = 57.",
        figure_1,
        full="40 networks of all 1000 weights with corrected first steps in addition",
    ),
    Section(
        "fig2",
        "Figure 2: learning rates and the symmetric plateau",
        "(a) ε_g for eight learning rates (the text of the paper does not list its own): a "
        "plateau, which gets higher; an error that rises for a while above η = 1.217; divergence "
        "above η_c. (b) R_in and Q_ik of the symmetric fixed point against η. Dashed: the fold at "
        "which it ceases to exist.",
        figure_2,
    ),
)
