"""Reduce the full trainings of tian2020 to the data of its rows and pictures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from tutelage import deep

LAYERS = (1, 2, 3, 4)
EARLY = 5  # the epoch of the dotted lines of Figure 5, and of ours in Figure 6


def nodes(study: xr.Dataset) -> xr.Dataset:
    """Reduce Figure 3: the student nodes of 32 runs with p = 1; losses and ratios of strengths of
    all runs.
    """
    last = study.isel(epoch=-1, drop=True)
    drawn = last[["student_correlation_1", "strength_1"]].sel(polarity=1.0, drop=True)
    drawn = drawn.isel(run=slice(32)).rename(run="shown").drop_vars("shown")
    ratio = weak_over_strong(last["student_correlation_1"], last["strength_1"])
    return drawn.assign(evaluation_loss=last["evaluation_loss"], weak_over_strong=ratio)


def weak_over_strong(ρ: xr.DataArray, strength: xr.DataArray) -> xr.DataArray:
    """Mean ‖v_k‖ of nodes below 0.8 over that of nodes above 0.95; missing if either group is
    empty.
    """
    return strength.where(ρ < 0.8).mean("student_1") / strength.where(ρ > 0.95).mean("student_1")


def recovery(study: xr.Dataset) -> xr.Dataset:
    """Reduce Figures 5, 7 and 11."""
    best = study["teacher_correlation_1"]
    losses = study["evaluation_loss"].astype(float)
    recovered = (best.sel(epoch=[EARLY, int(best["epoch"][-1])]) > 0.95).astype(np.int8)
    five = best.sel(multiple=5)
    return xr.Dataset(
        {
            "recovered_1": recovered.rename(epoch="shown"),
            "evaluation_loss": losses.isel(epoch=-1, drop=True),
            "log10_loss": xr.apply_ufunc(np.log10, losses).mean("run").astype(np.float32),
            "best_correlation_1": five.mean("run").drop_vars("multiple"),
            "delay": _delay(five).drop_vars("multiple"),
        }
    )


def _delay(best: xr.DataArray) -> xr.DataArray:
    """Return how many epochs later the weaker half reaches 0.9 than the stronger half."""
    first = first_record(best > 0.9)
    half = first.sizes["teacher_1"] // 2
    strong, weak = first.isel(teacher_1=slice(half)), first.isel(teacher_1=slice(half, None))
    return weak.mean("teacher_1") - strong.mean("teacher_1")


def first_record(reached: xr.DataArray) -> xr.DataArray:
    """Return the first record at which a condition holds; one after the last if it never does."""
    return reached.argmax("epoch").where(reached.any("epoch"), reached.sizes["epoch"])


def followed(runs: xr.Dataset) -> xr.Dataset:
    """Reduce Figure 6: three runs, and the statements of the caption about each of them, in
    numbers.
    """
    ρ = runs["correlation_1"]
    follows = ρ.argmax("teacher_1")
    early, last = follows.sel(epoch=EARLY, drop=True), follows.isel(epoch=-1, drop=True)
    end = ρ.isel(epoch=-1, drop=True)
    reached = first_record(ρ.max("student_1") > 0.95)
    left = (follows == 0) & (last != 0) & (end.max("teacher_1") > 0.95)
    return xr.Dataset(
        {
            "correlation_1": ρ.isel(run=slice(3)).rename(run="row").drop_vars("row"),
            "with_strongest": (early == 0).sum("student_1"),
            "with_weakest": (early == ρ.sizes["teacher_1"] - 1).sum("student_1"),
            "left_strongest": left.sum(
                "student_1"
            ),  # the nearest node at an epoch, but not at the end
            "first_record": reached,
            "end_with_strongest": (end.isel(teacher_1=0) > 0.95).sum("student_1"),
        }
    )


def layers(runs: xr.Dataset) -> xr.Dataset:
    """Reduce Figures 4 and 12: the nodes of one run, and means of all."""
    names = [f"{name}_{i}" for i in LAYERS for name in ("student_correlation", "strength")]
    variables: dict[str, Any] = {name: runs[name].isel(run=0, drop=True) for name in names}
    for i in LAYERS:
        variables[f"mean_correlation_{i}"] = deep.mean_correlation(runs, layer=i)
    variables["found_1"] = (runs["teacher_correlation_1"] > 0.95).mean("teacher_1")
    variables["quarters_1"] = quarters(runs["student_correlation_1"], runs["strength_1"])
    return xr.Dataset(variables)


def quarters(ρ: xr.DataArray, strength: xr.DataArray) -> xr.DataArray:
    """Return the ratio of mean strengths: least over most specialized quarter of the nodes of layer
    1.

    It is small in an L-shaped plot.  A fixed threshold would not work: with 20 inputs a random
    node has a correlation of 0.5 with some teacher node.
    """
    low, high = (ρ.quantile(part, "student_1", skipna=True) for part in (0.25, 0.75))
    weak, strong = strength.where(ρ <= low), strength.where(ρ >= high)
    return (weak.mean("student_1") / strong.mean("student_1")).drop_vars(
        "quantile", errors="ignore"
    )


def starts(study: xr.Dataset) -> xr.Dataset:
    """Return the number of recovered teacher nodes, and losses."""
    recovered = (study["teacher_correlation_1"] > 0.95).sum("teacher_1").astype(np.int8)
    return xr.Dataset({"recovered": recovered, "evaluation_loss": study["evaluation_loss"]})


REDUCED: dict[str, Callable[[xr.Dataset], xr.Dataset]] = {
    "nodes": nodes,
    "recovery": recovery,
    "followed": followed,
    "layers": layers,
    "uniform": layers,
    "starts": starts,
}
