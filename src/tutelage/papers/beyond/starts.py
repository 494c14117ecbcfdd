"""Beyond tian2020: over-realization helps only students that start small.

The training of its Figure 5 from starts of several scales, in the setting of the text and in that
of the authors' public code: recorded at full size, and computed here in small.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from tutelage import deep, sweeps
from tutelage.figures.style import new_grid, ordered_colours
from tutelage.figures.text import finish, share_legend
from tutelage.papers import recorded
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section
from tutelage.papers.tian2020.readings import NAMES, load_recorded, trained

# The deviation of an entry of a filter at the start, times the scale.
ENTRY = {"code": 0.005, "text": 0.1 / 3**0.5}
SHORT_TRAINING: dict[str, Any] = {
    "inputs": 20,
    "outputs": 10,
    "examples": 2000,
    "evaluation": 1000,
    "learning_rate": 0.2,
    "data": "gaussian:1",
    "epochs": 40,
    "recorded": [0, 40],
    "runs": 8,
}
SMALL_SCALES = (0.03, 1.0)
NOTE = (
    "Figure 5 of tian2020 has one start, whose scale is not printed. After 100 epochs, means of 16 "
    "runs with their standard errors; docs/deep.md has the curves."
)
NOTE_SHORT = "In a small network: 40 epochs of 2000 fresh examples with σ = 1, 8 runs."


def starts(full: bool) -> Iterator[Row | Figure]:
    """Compare recovered nodes over the scale of the start, at full size and in a small network."""
    before = load_recorded("starts")
    yield from recorded.show_recorded(before, lambda: trained("starts"), _shown, full)
    yield from _small()


def _shown(data: Mapping[str, xr.Dataset]) -> Iterator[Row | Figure]:
    yield Figure(recovered_over_scale(data), dict(data))
    for setting, one in data.items():
        for p in (1.5, 2.0):
            for scale in (one["start_scale"].values[1], one["start_scale"].values[-1]):
                yield _more(setting, one["recovered"].sel(polarity=p, start_scale=scale), p, scale)


def recovered_over_scale(data: Mapping[str, xr.Dataset]) -> Any:
    """Draw a row of panels for each setting, a panel for each polarity, a curve for
    each multiple.
    """

    polarities = next(iter(data.values()))["polarity"].values
    size = (2.9 * len(polarities), 2.7 * len(data))
    picture, grid = new_grid(len(data), len(polarities), size, sharey=True, squeeze=False)
    for axes, (setting, one) in zip(grid, data.items(), strict=True):
        scale = ENTRY[setting] * one["start_scale"].values
        for ax, p in zip(axes, polarities, strict=True):
            nodes = one["recovered"].sel(polarity=p).astype(float)
            mean = nodes.mean("run")
            error = nodes.std("run", ddof=1) / np.sqrt(nodes.sizes["run"])
            multiples = nodes["multiple"].values
            for multiple, tint in zip(multiples, ordered_colours(len(multiples)), strict=True):
                these = mean.sel(multiple=multiple), error.sel(multiple=multiple)
                look: Any = {"fmt": "o-", "ms": 3, "lw": 1, "capsize": 2, "color": tint}
                ax.errorbar(scale, *these, **look, label=f"{multiple}x")
            ax.axvline(ENTRY[setting], color="gray", ls=":", lw=1)
            ax.set(xscale="log", ylim=(0, 20.5), title=f"$p = {p:g}$" * (ax in grid[0]))
            finish(ax)
        axes[0].set_ylabel(f"{NAMES[setting]}\nrecovered of 20")
    for ax in grid[-1]:
        ax.set_xlabel("entries of the start")
    share_legend(grid.ravel())
    return picture


def _more(setting: str, nodes: xr.DataArray, p: float, scale: float) -> Row:
    words = f"{NAMES[setting]}, p = {p:g}, entries of the start {ENTRY[setting] * scale:.2g}: "
    return _gain(f"{words}nodes of 20 that 10x students recover more than 1x", nodes, 10, NOTE)


def _gain(item: str, nodes: xr.DataArray, multiple: int, note: str) -> Row:
    """Return how many more nodes wide students recover than 1x, and its standard error."""
    more = (nodes.sel(multiple=multiple).astype(float) - nodes.sel(multiple=1)).values
    return unpublished(item, float(more.mean()), float(stats.sem(more)), note)


def _small() -> Iterator[Row]:
    """Train students of ten teacher nodes with 20 inputs."""
    over = {"start_scale": SMALL_SCALES, "multiple": [1, 5], "seed": [1909]}
    keep = "teacher_correlation_1"
    study = sweeps.run(
        deep.train, over, hidden=10, polarity=1.5, keep=keep, workers=1, **SHORT_TRAINING
    )
    recovered = (study[keep].isel(epoch=-1, seed=0) > 0.95).sum("teacher_1")
    for scale in SMALL_SCALES:
        nodes = recovered.sel(start_scale=scale)
        words = f"10 teacher nodes, 20 inputs, p = 1.5, start times {scale:g}: "
        yield _gain(f"{words}nodes that 5x students recover more than 1x", nodes, 5, NOTE_SHORT)


SECTIONS = (
    Section(
        "starts",
        "When over-realization helps: the scale of the start",
        "Teacher nodes of 20 that two-layer students recover in 100 epochs (mean and standard "
        "error of 16 runs, in float32) over the deviation of an entry of a filter at the start, "
        "for students with 1 to 10 nodes for each teacher node and several polarities p: above in "
        "the setting of the authors' code of tian2020, below in that of its Section 8.16; the "
        "dotted line is the start of each setting. Students that begin small recover more the "
        "more nodes they have; from large starts width does not help, or harms.",
        starts,
        "repeats the recorded trainings, which takes hours, or minutes on a graphics processor",
        lambda: recorded.digest("tian2020"),
    ),
)
