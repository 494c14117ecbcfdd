"""The trainings of tian2020 at the paper's size, in two settings.

"text" is Section 8.16: σ = 10, 100 inputs, 50 outputs, batches of 16, 100 epochs of 10,000
examples, a fixed set for two layers and fresh examples for more (Section 6).  Its rate 0.01 is
taken of the mean over outputs: with the printed objective, the sum, everything diverges.

"code" is the public code of the authors.  Two layers: σ = 1.5, the printed objective with the rate
0.01, which is 0.01 C/2 of the mean, and 100 epochs of 1000 batches that are drawn from a fixed set
of 10,000.  More: 20 inputs, 100 outputs of variance 1, a fixed set of 200,000 examples in batches
of 64, and the rate 0.2 of the mean squared error, 0.1 from epoch 20 on, in float32.

Teachers and starts are those of `tutelage.deep.teacher` and `student` in these constructions.  The
seed was fixed before any run with it was looked at; a second stage has as many runs again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from tutelage import deep, sweeps

SEED = 1909
MULTIPLES = (1, 2, 5, 10)
POLARITIES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
TWO_LAYERS: dict[str, dict[str, Any]] = {
    "text": {"fresh": False},
    "code": {
        "construction": "code",
        "data": "gaussian:1.5",
        "learning_rate": 0.25,
        "steps": 1000,
        "examples": 10_000,
    },
}
DEEPER: dict[str, dict[str, Any]] = {
    "text": {},
    "code": {
        "construction": "code",
        "inputs": 20,
        "outputs": 100,
        "examples": 200_000,
        "evaluation": 10_240,
        "batch": 64,
        "learning_rate": [(0, 0.2), (20, 0.1)],
        "fresh": False,
        "precision": "float32",
    },
}
# Networks and rates of the code, with the fresh data and the batches of 16 of the text.
DEEPER["both"] = DEEPER["code"] | {"fresh": True, "batch": 16}
# Multiples of the start of the setting: entries of filters have the deviation 0.058 of it in the
# text, and 0.005 in the code.
SETTINGS: dict[str, tuple[str, ...]] = {  # of each training, the authors' first
    **dict.fromkeys(("nodes", "recovery", "followed", "layers", "starts"), ("code", "text")),
    "uniform": ("both", "code", "text"),
}
START_SCALES: dict[str, tuple[float, ...]] = {
    "text": (0.01, 0.03, 0.1, 0.3, 1.0),
    "code": (0.1, 1.0, 3.0, 10.0, 30.0),
}


def nodes(setting: str, stage: int = 0) -> xr.Dataset:
    """Train for Figure 3: ten teacher nodes; the paper does not print its polarity."""
    sizes = {"hidden": 10, "epochs": 100, "recorded": [0, 100], "runs": 32}
    over = {"seed": [SEED + stage]}
    study = _widths(over, **sizes, polarity=(0.0, 1.0, 2.0), **TWO_LAYERS[setting])
    return _selected(study, "student_correlation_1", "strength_1")


def recovery(setting: str, stage: int = 0) -> xr.Dataset:
    """Train for Figures 5, 7 and 11: twenty teacher nodes."""
    sizes: dict[str, Any] = {"hidden": 20, "epochs": 100, "runs": 32, "polarity": POLARITIES}
    study = _widths({"seed": [SEED + stage]}, **sizes, **TWO_LAYERS[setting])
    return _selected(study, "teacher_correlation_1")


def followed(setting: str, stage: int = 0) -> xr.Dataset:
    """Train for Figure 6: five teacher nodes with p = 1; the paper does not print the multiple."""
    sizes: dict[str, Any] = {"epochs": 50, "runs": 32, "seed": SEED + stage, "correlations": True}
    training = deep.train(5, 5, 1.0, **sizes, **TWO_LAYERS[setting])
    return _selected(training, "correlation_1")


def layers(setting: str, stage: int = 0) -> xr.Dataset:
    """Train for Figure 4: four hidden layers, 10x; the paper does not print the number of runs."""
    sizes: dict[str, Any] = {"recorded": [0, 10, 20, 50, 100], "runs": 4, "seed": SEED + stage}
    training = deep.train("50-75-100-125", 10, **sizes, **DEEPER[setting])
    return _selected(
        training, *_of_layers("student_correlation", "strength", "teacher_correlation")
    )


def uniform(setting: str, stage: int = 0) -> xr.Dataset:
    """Train for Figure 12: as Figure 4 with uniform inputs and 100,000 examples in an epoch."""
    sizes: dict[str, Any] = {"recorded": range(0, 101, 25), "runs": 4, "seed": SEED + stage}
    more = DEEPER[setting] | {"data": "uniform", "examples": 100_000}
    training = deep.train("50-75-100-125", 10, **sizes, **more)
    return _selected(
        training, *_of_layers("student_correlation", "strength", "teacher_correlation")
    )


def starts(setting: str, stage: int = 0) -> xr.Dataset:
    """Train beyond the paper: as Figure 5 from starts of several scales, in float32."""
    sizes: dict[str, Any] = {"hidden": 20, "epochs": 100, "recorded": [0, 100], "runs": 16}
    sizes |= {"precision": "float32", "polarity": (1.0, 1.5, 2.0, 2.5)}
    over = {"start_scale": START_SCALES[setting], "seed": [SEED + stage]}
    study = _widths(over, **sizes, **TWO_LAYERS[setting])
    return _selected(study, "teacher_correlation_1").isel(epoch=-1, drop=True)


TRAININGS: dict[str, Callable[..., xr.Dataset]] = {
    "nodes": nodes,
    "recovery": recovery,
    "followed": followed,
    "layers": layers,
    "uniform": uniform,
    "starts": starts,
}


def _widths(over: dict[str, Any], **fixed: Any) -> xr.Dataset:
    """Train students of several widths with the same seed, and therefore the same teachers and
    data.
    """
    over = {**over, "multiple": MULTIPLES}
    names = ("evaluation_loss", "teacher_correlation_1", "student_correlation_1", "strength_1")
    study = sweeps.run(deep.train, over, keep=names, workers=1, **fixed)
    return study.isel(seed=0, drop=True)


def _of_layers(*names: str) -> list[str]:
    return [f"{name}_{layer}" for layer in range(1, 5) for name in names]


def _selected(dataset: xr.Dataset, *names: str) -> xr.Dataset:
    """Select the variables that are recorded, in float32."""
    chosen = dataset[["evaluation_loss", "outcome", *names]]
    return chosen.map(
        lambda one: one.astype(np.float32) if one.dtype == np.float64 else one, keep_attrs=True
    )
