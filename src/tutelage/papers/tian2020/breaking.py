"""Symmetry breaking in tian2020, Section 5.3: a node with a slightly larger residue wins.

Two nodes with r_1 = r + εw* and r_2 = r, r = w* - Σ_k a_k w_k.  Once r has come to rest for node 1,
r = -εw*, so that ln ‖w_1‖/‖w_2‖ grows with the slope ε‖w*‖.  But -εw* also pulls w̄_2 around.
When w_2 points to -w* it grows again, and the ratio falls to a_2/a_1.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage.figures.style import new_grid
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, compare, method
from tutelage.papers.section import Figure
from tutelage.papers.simulated import statement
from tutelage.papers.tian2020 import KEY, theorems

TARGET, COEFFICIENTS = np.array([1.0, 0.5]), np.array([1.0, 0.7])
EXCESS = (0.01, 0.05, 0.2)
STARTS = (0, 1, 2)
SCALE = 0.005  # entries of the filters at the start, as in the authors' code
LAST, EARLY, RECORDS = 20.0, (1.0, 3.0), 401  # times in units of 1/(ε ‖w*‖)
TIME = r"$\varepsilon\|w^*\|t$"
NOTE = (
    "tian2020, Sec. 5.3 and eq. (69): the ratio grows with the slope ε‖w*‖ while w_2 points to w*. "
    "The residue -εw* that shrinks w_2 also turns it around; opposite to w*, w_2 grows, and the "
    "ratio falls to a_2/a_1 (tests/papers/tian2020/test_breaking.py)."
)


@cache
def runs() -> xr.Dataset:
    """Return ln ‖w_1‖/‖w_2‖ and the cosine of w_2 and w* over time, for each ε and start."""
    size = float(np.linalg.norm(TARGET))
    times = np.linspace(0.0, LAST, RECORDS)
    ratio, cosine = np.empty((2, len(EXCESS), len(STARTS), RECORDS))
    for i, ε in enumerate(EXCESS):
        for j, seed in enumerate(STARTS):
            w0 = SCALE * np.random.default_rng(seed).normal(size=(2, 2))
            w0 *= np.sign(w0 @ TARGET)[:, None]  # Section 8.15 assumes w̄_k·r > 0
            physical = times / (ε * size)
            w, _ = theorems.symmetric_flow(w0, TARGET, COEFFICIENTS, physical, [ε, 0.0])
            length = np.linalg.norm(w, axis=2)
            ratio[i, j] = np.log(length[:, 0] / length[:, 1])
            cosine[i, j] = w[:, 1] @ TARGET / length[:, 1] / size
    over = ("excess", "start", "time")
    coordinates = {
        "excess": ("excess", list(EXCESS), {"symbol": "ε"}),
        "start": list(STARTS),
        "time": ("time", times, {"symbol": "ε‖w*‖t"}),
    }
    return xr.Dataset({"ln_ratio": (over, ratio), "cosine": (over, cosine)}, coords=coordinates)


def rows() -> Iterator[Row]:
    """Decide whether the ratio grows exponentially, early and at all times."""
    data = runs()
    slope = data["ln_ratio"].differentiate("time")
    early = slope.sel(time=slice(*EARLY))
    item = "Sec. 5.3, slope of ln ‖w_1‖/‖w_2‖ over ε‖w*‖, while w_2 points to w*"
    # Corrections are of the order of ε, and of the angle of w_2, within a tenth up to t = 3.
    yield compare(KEY, item, method("1", 1.0, 0.01), float(early.sel(time=EARLY[0]).mean()))
    item = "Sec. 5.3, ‖w_1‖/‖w_2‖ grows exponentially, slope > ½"
    words = "‖w_k‖/‖w_k'‖ grows exponentially"
    late = slope.sel(time=slice(EARLY[0], None))
    for_a_while = f"for ε‖w*‖t from {EARLY[0]:g} to {EARLY[1]:g}"
    readings = {
        "from the end of the transient on": statement(KEY, item, words, (late > 0.5).all("time")),
        for_a_while: statement(KEY, item, words, (early > 0.5).all("time")),
    }
    yield in_each_reading(item, "for how long", readings, NOTE, ours=[for_a_while])


def picture() -> Figure:
    """Draw the logarithm of the ratio over time, and the slope ε‖w*‖."""

    from tutelage.figures.text import finish

    data = runs()
    figure, (left, right) = new_grid(1, 2, (10.0, 3.8))
    for i, ε in enumerate(EXCESS):
        for axes, name in ((left, "ln_ratio"), (right, "cosine")):
            curves = data[name].isel(excess=i).transpose("time", "start")
            lines = axes.plot(data["time"], curves, color=f"C{i}")
            if axes is left:
                lines[0].set_label(rf"$\varepsilon$ = {ε:g}")
    start = float(data["ln_ratio"].isel(excess=0, start=1, time=0)) + 1.0
    left.plot([0, 8], [start, start + 8], "--", color="0.5", label=r"slope $\varepsilon\|w^*\|$")
    left.axhline(np.log(COEFFICIENTS[1] / COEFFICIENTS[0]), color="0.8", linewidth=0.8)
    left.set(xlabel=TIME, ylabel=r"$\ln\,\|w_1\|/\|w_2\|$", xlim=(0, LAST))
    right.set(xlabel=TIME, ylabel="cosine of $w_2$ and $w^*$", xlim=(0, LAST), ylim=(-1.05, 1.05))
    for axes in (left, right):
        finish(axes)  # with the legend next to the curves
    return Figure(figure, {"": data})
