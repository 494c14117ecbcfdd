"""The trainings behind the figures of tian2020, at the paper's sizes or at ones that take seconds.

Small ones have fewer inputs, nodes, runs and epochs, and inputs of variance 1 with a larger
learning rate; what happens is the same.  Nothing is drawn here.  Sizes that the paper does not
state are marked by "ours".
"""

from collections.abc import Callable
from functools import cache
from itertools import count, islice
from typing import Any

import numpy as np
import xarray as xr

from tutelage import deep

# Section 8.16 is what `tutelage.deep.train` does by default: 100 inputs, 50 outputs, σ = 10,
# 10,000 examples, batches of 16 and the learning rate 0.01.  Two-layer students see the same
# examples in every epoch, deeper ones fresh examples (Section 6).
# The sizes of quick runs were chosen by looking at runs with the seed 0; what is reported has a
# seed that had not been looked at.
SEED = 2020
QUICK_SIZES: dict[str, Any] = {
    "inputs": 20,
    "outputs": 10,
    "examples": 2000,
    "evaluation": 1000,
    "learning_rate": 0.2,
    "data": "gaussian:1",
    "seed": SEED,
}
MULTIPLES = (1, 2, 5, 10)
POLARITIES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)


# Four hidden layers need more inputs and outputs than two layers before they specialize.
SMALL_DEEP: dict[str, Any] = {
    "inputs": 40,
    "outputs": 50,
    "examples": 5000,
    "evaluation": 1000,
    "learning_rate": 0.03,
    "runs": 6,
    "seed": SEED,
}
STARTS = 12  # of Figure 2; it is not stated how many were tried


@cache
def plane() -> tuple[list[deep.Network], list[deep.Network], int]:
    """Figure 2: teachers with two nodes, paths of students with six, and steps between records.

    Fan-outs start small, as in the legends of the paper.  Filters do not: ‖w_k‖² + b_k² - ‖v_k‖²
    does not change in gradient descent with small steps, so that ‖v_k‖ could not vanish.
    """
    x = np.random.default_rng(SEED).normal(size=(1000, 2))
    teachers, paths = [], []
    for seed in islice(filter(_apart, count(SEED)), STARTS):
        teachers.append(_in_the_plane(seed))
        one = deep.student(teachers[-1], 3, seed=seed)
        weights = one.weights[0], 0.05 * one.weights[1]
        student = deep.network(weights, [0.1 * b for b in one.biases])
        paths.append(
            deep.theorems.descent(student, teachers[-1], x, 0.1, steps=29 * 200, every=200)
        )
    return teachers, paths, 200


def _in_the_plane(seed: int) -> deep.Network:
    return deep.teacher(2, inputs=2, outputs=10, data="gaussian:1", seed=seed)


def _apart(seed: int) -> bool:
    """Whether the two filters of a teacher are no less than 26 degrees from being parallel."""
    W = np.asarray(_in_the_plane(seed).weights[0])
    return abs(W[:, 0] @ W[:, 1]) < 0.9 * np.prod(np.linalg.norm(W, axis=0))


@cache
def nodes(full: bool) -> xr.Dataset:
    """Figure 3: ten teacher nodes, several multiples; the polarities are ours."""
    if full:
        sizes: dict[str, Any] = {"epochs": 100, "recorded": [0, 100], "runs": 32, "fresh": False}
        found = deep.train(10, MULTIPLES, (0.0, 1.0), **sizes)
    else:
        sizes = QUICK_SIZES | {"epochs": 40, "recorded": [0, 40], "runs": 8}
        found = deep.train(5, MULTIPLES, (0.0, 1.0), **sizes)
    return _kept(found, "student_correlation_1", "strength_1", "teacher_correlation_1")


@cache
def layers(full: bool) -> xr.Dataset:
    """Figure 4: four hidden layers, 10x; the number of runs is ours, and epochs but 10."""
    if full:
        found = deep.train("50-75-100-125", 10, recorded=[0, 10, 20, 50, 100], runs=4)
    else:
        found = deep.train("10-15-20-25", 4, epochs=40, recorded=[0, 10, 20, 40], **SMALL_DEEP)
    return _kept(found, *_of_layers("student_correlation", "strength", "teacher_correlation"))


@cache
def recovery(full: bool) -> xr.Dataset:
    """Figures 5, 7 and 11: twenty teacher nodes, several polarities and multiples."""
    if full:
        found = deep.train(20, MULTIPLES, POLARITIES, epochs=100, runs=32, fresh=False)
    else:
        found = deep.train(10, (1, 2, 5), (0.5, 1.5, 2.5), epochs=40, runs=8, **QUICK_SIZES)
    return _kept(found, "teacher_correlation_1")


@cache
def followed(full: bool) -> xr.Dataset:
    """Figure 6: five teacher nodes with p = 1; the multiple is ours, and runs beyond the third."""
    sizes: dict[str, Any] = {"fresh": False} if full else QUICK_SIZES
    found = deep.train(5, 4, 1.0, epochs=50, runs=16, correlations=True, **sizes)
    return _kept(found, "correlation_1", "follows_1")


@cache
def uniform(full: bool, checkpoint: Any = None) -> xr.Dataset:
    """Figure 12: as Figure 4 with uniform inputs and 100,000 examples in an epoch."""
    sizes: dict[str, Any] = {"data": "uniform", "examples": 100_000}
    if full:
        sizes["recorded"] = range(0, 101, 25)
        found = deep.train("50-75-100-125", 10, runs=4, checkpoint=checkpoint, **sizes)
    else:
        sizes = SMALL_DEEP | {"data": "uniform", "epochs": 40, "recorded": range(0, 41, 10)}
        found = deep.train("10-15-20-25", 4, checkpoint=checkpoint, **sizes)
    return _kept(found, *_of_layers("student_correlation", "strength", "teacher_correlation"))


TRAININGS: dict[str, Callable[..., xr.Dataset]] = {
    "nodes": nodes,
    "recovery": recovery,
    "followed": followed,
    "layers": layers,
    "uniform": uniform,
}


def _of_layers(*names: str) -> list[str]:
    return [f"{name}_{layer}" for layer in range(1, 5) for name in names]


def _kept(dataset: xr.Dataset, *names: str) -> xr.Dataset:
    """What is drawn, in the precision in which it can be seen."""
    chosen = dataset[["evaluation_loss", "outcome", *names]]
    return chosen.map(
        lambda one: one.astype(np.float32) if one.dtype == np.float64 else one, keep_attrs=True
    )
