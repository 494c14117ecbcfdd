"""Figures 2 to 7 and 11 of tian2020, at sizes that take seconds.

Fewer inputs, runs and epochs than in the paper, and inputs of variance 1 with a larger learning
rate: what is drawn is the same.  `tutelage.deep.train` and `sweep` take the paper's sizes.
"""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from tutelage import deep
from tutelage._jax import jax
from tutelage.figures import deep as draw
from tutelage.papers.record import Figure

SIZES: dict[str, Any] = {
    "inputs": 20,
    "outputs": 10,
    "examples": 2000,
    "evaluation": 1000,
    "learning_rate": 0.2,
    "data": "gaussian:1",
}
POLARITIES = (0.5, 1.5, 2.5)
MULTIPLES = (1, 2, 5)


def figures() -> Iterator[Figure]:
    """One after the other, as the drawing closes them."""
    yield plane()
    study = deep.sweep(10, MULTIPLES, polarity=POLARITIES, epochs=40, runs=8, **SIZES)
    yield nodes(study)
    yield layers()
    yield recovered(study)
    yield followed()
    yield best(study)
    yield losses(study)


def plane() -> Figure:
    """Figure 2: two teacher and six student nodes in two dimensions."""
    teacher = deep.teacher(2, inputs=2, outputs=10, data="gaussian:1", seed=1)
    student = deep.student(teacher, 3, seed=1, scale=0.05)
    x = np.random.default_rng(0).normal(size=(1000, 2))
    path = deep.descent(student, teacher, x, 0.1, 1500, 50)
    picture, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
    shown = (0, 2, 10, 30)
    for ax, record in zip(axes, shown, strict=True):
        now = jax.tree.map(lambda a, i=record: a[i], path)
        draw.boundaries(now, teacher, axes=ax).set_title(f"step {50 * record}")
    data = xr.Dataset(
        {
            "weights": (("record", "input", "student"), np.asarray(path.weights[0])),
            "biases": (("record", "student"), np.asarray(path.biases[0])),
            "fan_out": (
                ("record", "student"),
                np.linalg.norm(np.asarray(path.weights[1]), axis=2),
            ),
            "teacher_weights": (("input", "teacher"), np.asarray(teacher.weights[0])),
            "teacher_biases": (("teacher",), np.asarray(teacher.biases[0])),
        },
        coords={"record": 50 * np.arange(len(path.biases[0]))},
    )
    return Figure("fig2", picture, {"": data})


def nodes(study: xr.Dataset) -> Figure:
    """Figure 3: strength against correlation of all student nodes, for each multiple."""
    picture, axes = plt.subplots(1, len(MULTIPLES), figsize=(11, 3.4), layout="constrained")
    for ax, multiple in zip(axes, MULTIPLES, strict=True):
        one = study.sel(polarity=POLARITIES[0], multiple=multiple)
        loss = float(one["evaluation_loss"].isel(epoch=-1).mean())
        draw.specialization(one, axes=ax).set_title(f"{multiple}x, loss = {loss:.4f}")
    return Figure("fig3", picture, {"": study})


def layers() -> Figure:
    """Figure 4: the same in every layer of a deeper network, over epochs."""
    runs = deep.train("8-10-12", 4, epochs=[0, 5, 20, 60], runs=2, **SIZES)
    picture = draw.specialization_of_layers(runs, [0, 5, 20, 60])[0, 0].figure
    return Figure("fig4", picture, {"": runs})


def recovered(study: xr.Dataset) -> Figure:
    """Figure 5: rate of recovery of each teacher node, for each polarity."""
    picture, axes = plt.subplots(1, len(POLARITIES), figsize=(11, 3.4), layout="constrained")
    for ax, p in zip(axes, POLARITIES, strict=True):
        early = study.sel(polarity=p, epoch=[0, 5, 40])
        draw.recovery(early, axes=ax).set_title(f"p = {p:g}")
    return Figure("fig5", picture, {"": study})


def followed() -> Figure:
    """Figure 6: which student nodes follow the five teacher nodes, three runs."""
    runs = deep.train(5, 4, 1.0, epochs=40, runs=3, correlations=True, **SIZES)
    picture, grid = plt.subplots(
        3, 5, figsize=(13, 6.5), layout="constrained", sharex=True, sharey=True
    )
    for run, row in enumerate(grid):
        for teacher, ax in enumerate(row):
            draw.followers(runs, teacher, run, axes=ax).label_outer()
    return Figure("fig6", picture, {"": runs})


def best(study: xr.Dataset) -> Figure:
    """Figure 7: best correlation of each teacher node, for each polarity."""
    picture, axes = plt.subplots(1, len(POLARITIES), figsize=(11, 3.4), layout="constrained")
    for ax, p in zip(axes, POLARITIES, strict=True):
        draw.best_correlations(study.sel(polarity=p, multiple=5), axes=ax)
        ax.set_title(f"p = {p:g}, {ax.get_title()}", fontsize="small")
    return Figure("fig7", picture, {"": study})


def losses(study: xr.Dataset) -> Figure:
    """Figure 11: evaluation loss over epochs, for each polarity."""
    picture, axes = plt.subplots(1, len(POLARITIES), figsize=(11, 3.4), layout="constrained")
    for ax, p in zip(axes, POLARITIES, strict=True):
        draw.evaluation_loss(study.sel(polarity=p), axes=ax).set_title(f"p = {p:g}")
    return Figure("fig11", picture, {"": study})
