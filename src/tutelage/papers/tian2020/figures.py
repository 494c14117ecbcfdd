"""Figures 3, 5, 6, 7 and 11 of tian2020: two layers.

Each function takes the Dataset of a training and says whether it has the paper's sizes: the same
pictures and records come from a run on this machine and from a file that a GPU has filled.
"""

import math
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from tutelage import figures as draw
from tutelage.papers.claim import claim
from tutelage.papers.row import Row, compare, digits, missing, not_comparable, noted
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import KEY, notes
from tutelage.papers.tian2020.drawing import evaluation_loss, followers

# Figure 7, titles.
LOG_LOSSES = {0.5: "-6.45", 1.0: "-6.50", 1.5: "-6.50", 2.0: "-5.09", 2.5: "-5.30"}

Parts = Iterator[Row | Figure]


def nodes(study: xr.Dataset, full: bool) -> Parts:
    """Figure 3: strength against correlation of all student nodes, for each multiple."""
    one = study.sel(polarity=1.0)
    multiples = study["multiple"].values
    picture, axes = plt.subplots(
        1, len(multiples), figsize=(3.4 * len(multiples), 3.4), layout="constrained", sharey=True
    )
    losses = one["evaluation_loss"].isel(epoch=-1)
    for ax, multiple in zip(axes, multiples, strict=True):
        draw.specialization(one.sel(multiple=multiple), axes=ax)
        ax.set_title(f"{multiple}x, loss={float(losses.sel(multiple=multiple).mean()):.2g}")
        ax.label_outer()
    yield Figure(picture, {"": study})
    for multiple in multiples:
        yield _loss(f"Fig. 3, loss in the title, {multiple}x", losses.sel(multiple=multiple), full)
    for multiple in multiples[1:]:
        item = f"Fig. 3, ‖v_k‖ of nodes with correlation < 0.5 over those with > 0.95, {multiple}x"
        ratios = weak_over_strong(one.sel(multiple=multiple).isel(epoch=-1), 1)
        if len(ratios) > 1:
            yield noted(claim(KEY, item, ratios, "<", 0.5), notes.ALL_SPECIALIZED)
        else:
            yield missing(KEY, item, "< 0.5", notes.ALL_SPECIALIZED)


def _loss(item: str, losses: xr.DataArray, full: bool) -> Row:
    mean, error = float(losses.mean()), standard_error(losses)
    if full:
        return noted(compare(KEY, item, digits("0.00"), mean, error), notes.POLARITY)
    return not_comparable(KEY, item, "0.00", mean, notes.SMALLER, error)


def weak_over_strong(now: xr.Dataset, layer: int) -> list[float]:
    """Mean strength of unspecialized student nodes over that of specialized ones, in each run."""
    ratios = []
    for run in range(now.sizes["run"]):
        ρ, strength = (
            now[f"{name}_{layer}"].isel(run=run).values
            for name in ("student_correlation", "strength")
        )
        if np.any(ρ < 0.5) and np.any(ρ > 0.95):
            ratios.append(float(strength[ρ < 0.5].mean() / strength[ρ > 0.95].mean()))
    return ratios


def standard_error(samples: Any) -> float:
    """Of the mean of one number for each run."""
    values = np.asarray(samples, dtype=float)
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def recovered(study: xr.Dataset, full: bool) -> Parts:
    """Figure 5: rate of recovery of each teacher node, for each polarity."""
    polarities = [p for p in study["polarity"].values if p > 0]
    picture, axes = _row(len(polarities))
    for ax, p in zip(axes, polarities, strict=True):
        early = study.sel(polarity=p).isel(epoch=[0, 5, -1])
        draw.recovery(early, axes=ax).set_title(f"p = {p:g}")
        _one_legend(ax, axes[0])
    yield Figure(picture, {"": study})
    last = study.isel(epoch=-1)
    found = (last["teacher_correlation_1"] > 0.95).astype(float)
    wide, polar = int(study["multiple"].values[-1]), float(polarities[-1])
    half = found.sizes["teacher_1"] // 2
    one = found.sel(multiple=wide, polarity=polar)
    strong, weak = one.isel(teacher_1=slice(half)), one.isel(teacher_1=slice(half, None))
    yield claim(
        KEY,
        f"Fig. 5, recovered fraction of strong nodes less that of weak ones, p = {polar:g}, "
        f"{wide}x",
        (strong.mean("teacher_1") - weak.mean("teacher_1")).values,
    )
    weakest = found.sel(multiple=wide).isel(teacher_1=slice(half, None)).mean("teacher_1")
    yield claim(
        KEY,
        f"Fig. 5, recovered fraction of weak nodes, p = {polarities[0]:g} less p = {polar:g}",
        (weakest.sel(polarity=polarities[0]) - weakest.sel(polarity=polar)).values,
    )
    for p in polarities:
        both = found.sel(polarity=p).mean("teacher_1")
        item = f"Fig. 5, recovered fraction of teacher nodes, {wide}x less 1x, p = {p:g}"
        more = both.sel(multiple=wide) - both.sel(multiple=1)
        yield noted(claim(KEY, item, more.values), notes.WIDER)
    yield claim(
        KEY,
        "Fig. 5, recovered fraction of teacher nodes with 1x, mean over p: it gets stuck",
        found.sel(multiple=1, polarity=polarities).mean(("teacher_1", "polarity")).values,
        "<",
        1.0,
    )


def _row(panels: int) -> tuple[Any, Any]:
    size = (2.9 * panels, 3.2)
    return plt.subplots(1, panels, figsize=size, layout="constrained", sharey=True)


def _one_legend(ax: Any, first: Any) -> None:
    ax.label_outer()
    if ax is not first:
        ax.get_legend().remove()


def followed(runs: xr.Dataset) -> Parts:
    """Figure 6: which student nodes follow the five teacher nodes, three runs."""
    picture, grid = plt.subplots(
        3, 5, figsize=(13, 6.5), layout="constrained", sharex=True, sharey=True
    )
    for run, row in enumerate(grid):
        for teacher, ax in enumerate(row):
            followers(runs, teacher, run, axes=ax).label_outer()
    yield Figure(picture, {"": runs})
    ρ = runs["correlation_1"]
    follows = ρ.argmax("teacher_1")
    early, last = follows.sel(epoch=5), follows.isel(epoch=-1)
    number = runs.sizes["run"]
    yield claim(
        KEY,
        f"Fig. 6, student nodes nearest to the strongest node less the weakest, epoch 5, {number} "
        "runs",
        ((early == 0).sum("student_1") - (early == 4).sum("student_1")).values,
    )
    close = ρ.isel(epoch=-1).max("teacher_1") > 0.95
    item = f"Fig. 6, nodes that left the strongest one after epoch 5 (end > 0.95), {number} runs"
    left = ((early == 0) & (last != 0) & close).sum("student_1")
    yield noted(claim(KEY, item, left.values), notes.TURNING)
    reached = _first(ρ.max("student_1") > 0.95)
    yield claim(
        KEY,
        f"Fig. 6, first epoch with a correlation > 0.95, weakest less strongest, {number} runs",
        (reached.isel(teacher_1=-1) - reached.isel(teacher_1=0)).values,
    )
    yield claim(
        KEY,
        f"Sec. 5.3, student nodes that end with the strongest one (> 0.95), {number} runs",
        (ρ.isel(epoch=-1, teacher_1=0) > 0.95).sum("student_1").values,
        ">",
        1.0,
    )


def best(study: xr.Dataset, full: bool) -> Parts:
    """Figure 7: best correlation of each teacher node over epochs, 5x."""
    polarities = [p for p in study["polarity"].values if p > 0]
    picture, axes = _row(len(polarities))
    for ax, p in zip(axes, polarities, strict=True):
        draw.best_correlations(study.sel(polarity=p, multiple=5), axes=ax)
        mean = float(study["evaluation_loss"].sel(polarity=p, multiple=5).isel(epoch=-1).mean())
        ax.set_title(f"p = {p:g}, logloss = {math.log(mean):.2f}", fontsize="medium")
        ax.label_outer()
    yield Figure(picture, {"": study})
    for p, printed in LOG_LOSSES.items():
        item = f"Fig. 7, logloss, p = {p:g}, 5x"
        if p in polarities:
            losses = study["evaluation_loss"].sel(polarity=p, multiple=5).isel(epoch=-1)
            yield _log_loss(item, printed, losses, full)
        else:
            yield missing(KEY, item, printed, f"Not in small runs. {notes.LOGLOSS}")
    yield claim(
        KEY,
        "Fig. 7, first epoch with correlation > 0.9, weaker half less stronger half, p = 0.5",
        _delay(study.sel(polarity=0.5, multiple=5)),
    )


def _log_loss(item: str, printed: str, losses: xr.DataArray, full: bool) -> Row:
    """ln of the mean loss, and what the standard error of the mean is there."""
    mean = float(losses.mean())
    computed, error = math.log(mean), standard_error(losses) / mean
    if full:
        return noted(compare(KEY, item, digits(printed), computed, error), notes.LOGLOSS)
    return not_comparable(KEY, item, printed, computed, notes.SMALLER, error)


def _delay(one: xr.Dataset) -> np.ndarray:
    """By how many epochs the weaker half comes later than the stronger one, in each run."""
    first = _first(one["teacher_correlation_1"] > 0.9)
    half = first.sizes["teacher_1"] // 2
    strong, weak = first.isel(teacher_1=slice(half)), first.isel(teacher_1=slice(half, None))
    return (weak.mean("teacher_1") - strong.mean("teacher_1")).values


def _first(reached: xr.DataArray) -> xr.DataArray:
    """The first record at which something is so; one after the last if it never is."""
    return reached.argmax("epoch").where(reached.any("epoch"), reached.sizes["epoch"])


def losses(study: xr.Dataset) -> Parts:
    """Figure 11: evaluation loss over epochs, for each polarity."""
    polarities = study["polarity"].values
    rows = 2 if len(polarities) > 3 else 1
    columns = len(polarities) // rows
    size = (4.0 * columns, 3.2 * rows)
    picture, grid = plt.subplots(
        rows, columns, figsize=size, layout="constrained", sharex=True, sharey=True
    )
    for ax, p in zip(grid.flat, polarities, strict=True):
        evaluation_loss(study.sel(polarity=p), axes=ax).set_title(f"p = {p:g}")
        _one_legend(ax, grid.flat[0])
    yield Figure(picture, {"": study})
    wide = int(study["multiple"].values[-1])
    last = study["evaluation_loss"].isel(epoch=-1)
    for p in polarities:
        one = last.sel(polarity=p)
        item = f"Fig. 11, ln of the loss at the end, 1x less {wide}x, p = {p:g}"
        lower = np.log(one.sel(multiple=1).values / one.sel(multiple=wide).values)
        yield noted(claim(KEY, item, lower), notes.GENERALIZATION)
