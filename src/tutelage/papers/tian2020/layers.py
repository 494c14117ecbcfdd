"""Figures 4 and 12 of tian2020: four hidden layers."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from tutelage import deep
from tutelage.papers.claim import claim, in_every_run
from tutelage.papers.row import Row, not_comparable, noted
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import KEY, notes
from tutelage.papers.tian2020.drawing import specialization_of_layers
from tutelage.papers.tian2020.figures import standard_error, weak_over_strong

LAYERS = (1, 2, 3, 4)

Parts = Iterator[Row | Figure]


def layers(runs: xr.Dataset) -> Parts:
    """Figure 4: strength against correlation in every layer, over epochs."""
    yield _picture(runs)
    epochs = runs["epoch"].values
    early = {
        layer: deep.mean_correlation(runs, layer=layer).sel(epoch=10).values for layer in LAYERS
    }
    for layer in LAYERS[1:]:
        item = f"Fig. 4, mean best correlation at epoch 10, layer 1 less layer {layer}"
        yield noted(claim(KEY, item, early[1] - early[layer]), notes.LATER)
    for epoch in (10, int(epochs[-1])):
        item = f"Fig. 4, shape of an L in layer 1 at epoch {epoch}"
        now = runs.sel(epoch=epoch)
        shaped = [l_shaped(now.isel(run=[run]), 1) for run in range(now.sizes["run"])]
        yield noted(in_every_run(KEY, item, shaped), notes.LATER)
    for layer in LAYERS[1:]:
        ρ = deep.mean_correlation(runs, layer=layer)
        yield claim(
            KEY,
            f"Sec. 6, mean best correlation in layer {layer}, epoch {epochs[-1]} less epoch 0",
            (ρ.isel(epoch=-1) - ρ.isel(epoch=0)).values,
        )
    item = f"Theorem 4, fraction of nodes of layer 1 with correlation > 0.95, epoch {epochs[-1]}"
    found = (runs["teacher_correlation_1"].isel(epoch=-1) > 0.95).mean("teacher_1")
    yield noted(claim(KEY, item, found.values, ">", 0.9), notes.NOT_AT_REST)


def l_shaped(now: xr.Dataset, layer: int) -> bool:
    """Some nodes have specialized, and those that have not are less than half as strong."""
    return any(ratio < 0.5 for ratio in weak_over_strong(now, layer))


def uniform(runs: xr.Dataset, full: bool) -> Parts:
    """Figure 12: the same with inputs uniform on [-15, 15]."""
    yield _picture(runs)
    for layer in LAYERS:
        samples = deep.mean_correlation(runs, layer=layer).isel(epoch=-1).values
        item = f"Fig. 12, ρ_mean, layer {layer}"
        if full:
            yield noted(claim(KEY, item, samples, ">", 0.998), notes.CLOSE_TO_ONE)
        else:
            mean, error = float(np.mean(samples)), standard_error(samples)
            yield not_comparable(KEY, item, "≥ 0.998", mean, notes.SMALLER, error)


def _picture(runs: xr.Dataset) -> Figure:
    """The first run; all others look alike, and would cover it."""
    grid = specialization_of_layers(runs.isel(run=[0]), runs["epoch"].values.tolist())
    return Figure(grid[0, 0].figure, {"": runs})
