"""Activations of the library for the tags of `problems.py`, and problems in batches."""

from collections import defaultdict
from types import ModuleType, SimpleNamespace

import equinox as eqx
import numpy as np
from problems import Problem

from tutelage.activations import Activation, Erf, LeakyReLU, Linear, ReLU

NAMED: dict = {"relu": ReLU(), "linear": Linear(), "erf": Erf()}


def units(tags) -> tuple[Activation, ...]:
    """One activation for each tag; a number is the slope of a leaky ReLU."""
    return tuple(NAMED[tag] if tag in NAMED else LeakyReLU(float(tag)) for tag in tags)


def in_one_piece(averages: ModuleType) -> SimpleNamespace:
    """I2, I3 and I4 of a method, compiled as a whole, because single operations take much
    longer.
    """
    return SimpleNamespace(**{n: eqx.filter_jit(getattr(averages, n)) for n in ("i2", "i3", "i4")})


def grouped(problems: list[Problem]) -> dict[tuple, list[Problem]]:
    """Problems with the same kind and activations, so that each group is one batch."""
    groups = defaultdict(list)
    for problem in problems:
        groups[problem.kind, problem.activations].append(problem)
    return dict(groups)


def covariances(problems: list[Problem]) -> np.ndarray:
    """Shape (problems, n, n)."""
    return np.stack([problem.covariance for problem in problems])


def true_errors(values, problems: list[Problem]) -> np.ndarray:
    """|value - exact|, the difference taken in high precision."""
    from mpmath import mp
    from problems import exact

    pairs = zip(np.asarray(values), problems, strict=True)
    return np.array([float(abs(mp.mpf(float(value)) - exact(p))) for value, p in pairs])
