"""Figures 4 and 12 of tian2020: four hidden layers."""

import numpy as np
import xarray as xr

from tutelage.papers.claim import claim
from tutelage.papers.row import Row
from tutelage.papers.section import Figure
from tutelage.papers.simulated import statement
from tutelage.papers.tian2020 import KEY, notes
from tutelage.papers.tian2020.drawing import specialization_of_layers
from tutelage.papers.tian2020.readings import NAMES, Data, Parts, decided
from tutelage.papers.tian2020.reduced import LAYERS

LENGTH = "the setting (inputs, outputs, batches and rates of the text and of the code differ)"


def layers(data: Data) -> Parts:
    """Draw Figure 4: strength against correlation in every layer, over epochs."""
    yield from _pictures(data)
    yield from decided(data, _lowest_first, on=LENGTH, note=notes.LATER)
    yield from decided(data, _l_shape, on=LENGTH, note=notes.L_SHAPE)
    yield from decided(data, _at_the_end, on=LENGTH)


def _lowest_first(runs: xr.Dataset, level: float) -> list[Row]:
    early = {i: runs[f"mean_correlation_{i}"].sel(epoch=10).values for i in LAYERS}
    item = "Fig. 4, mean best correlation at epoch 10, layer 1 less layer {}"
    return [claim(KEY, item.format(i), early[1] - early[i], level=level) for i in LAYERS[1:]]


def _l_shape(runs: xr.Dataset, level: float) -> list[Row]:
    """Decide whether nodes are recovered, and whether unspecialized student nodes are weaker."""
    now = runs.sel(epoch=10)
    item = "Fig. 4, L in layer 1 at epoch 10: fraction of teacher nodes with correlation > 0.95"
    weaker = "Fig. 4, L in layer 1 at epoch 10: strength of the least specialized quarter over most"
    return [
        claim(KEY, item, now["found_1"].values, level=level),
        claim(KEY, weaker, now["quarters_1"].values, "<", 1.0, level=level),
    ]


def _at_the_end(runs: xr.Dataset, level: float) -> list[Row]:
    rows = []
    for i in LAYERS[1:]:
        ρ = runs[f"mean_correlation_{i}"]
        item = f"Sec. 6, mean best correlation in layer {i}, epoch 100 less epoch 0"
        rows.append(claim(KEY, item, (ρ.isel(epoch=-1) - ρ.isel(epoch=0)).values, level=level))
    item = "Theorem 4, fraction of nodes of layer 1 with correlation > 0.95, epoch 100"
    return [*rows, claim(KEY, item, runs["found_1"].isel(epoch=-1).values, ">", 0.9, level=level)]


def uniform(data: Data) -> Parts:
    """Draw Figure 12: strength against correlation with inputs uniform on [-15, 15]."""
    yield from _pictures(data)
    yield from decided(data, _close_to_one, on=LENGTH)
    yield _strong_unspecialized(data)


def _close_to_one(runs: xr.Dataset, level: float) -> list[Row]:
    last = {i: runs[f"mean_correlation_{i}"].isel(epoch=-1).values for i in LAYERS}
    item = "Fig. 12, ρ_mean, layer {}"
    return [claim(KEY, item.format(i), last[i], ">", 0.998, level=level) for i in LAYERS]


def _strong_unspecialized(data: Data) -> Row:
    """Decide whether there are unspecialized student nodes with a large fan-out below layer 4."""
    counts = {NAMES[setting]: [_strong(runs, i) for i in LAYERS] for setting, runs in data.items()}
    item = "Sec. 8.17, unspecialized student nodes with large β_kk in layers 1 to 3, three settings"
    words = "there could be un-specialized student nodes with large β_kk"
    listed = "; ".join(f"{', '.join(map(str, n))} ({name})" for name, n in counts.items())
    holds = [sum(n[:-1]) > 0 for n in counts.values()]
    return statement(KEY, item, words, holds, notes.STRONG_UNSPECIALIZED.format(listed))


def _strong(runs: xr.Dataset, layer: int) -> int:
    """Count the nodes with a correlation < 0.8 that are stronger than most with > 0.95."""
    last = runs.isel(epoch=-1)
    correlation, strength = (
        last[f"{name}_{layer}"].values for name in ("student_correlation", "strength")
    )
    if not np.any(correlation > 0.95):
        return 0
    typical = np.median(strength[correlation > 0.95])
    return int(np.sum(strength[correlation < 0.8] > typical))


def _pictures(data: Data) -> Parts:
    """Draw the first run of each setting; further runs look the same and would cover it."""
    for setting, runs in data.items():
        drawn = [name for name in runs if "student_" in str(runs[name].dims)]
        grid = specialization_of_layers(
            runs[drawn].expand_dims("run"), runs["epoch"].values.tolist()
        )
        grid[0, 0].figure.suptitle(NAMES[setting])
        yield Figure(grid[0, 0].figure, {"": runs}, setting)
