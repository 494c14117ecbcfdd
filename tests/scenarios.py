"""Scenarios and starts of the papers that several tests use."""

import math

import numpy as np

import tutelage as tl
from tutelage.model.layout import layout_of

ONE, TWO = (tl.Committee(units, tl.ReLU()) for units in (1, 2))

# straat2019, Fig. 1.
PERCEPTRON = tl.Scenario(ONE, ONE)
PERCEPTRON_START = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])

# citton2025, section 3: T = diag(1, 2), Q_ik = 0.1 k δ_ik, R_in = 1e-3 δ_in.
GRADED = tl.Scenario(TWO, TWO, teacher_overlaps=[[1, 0], [0, 2]])
GRADED_START = tl.Overlaps(Q=[[0.1, 0], [0, 0.2]], R=1e-3 * np.eye(2), T=GRADED.T)


def random_overlaps(K, M, seed=0, N=7):
    """Overlaps of random weights, all different."""
    W = np.random.default_rng(seed).normal(size=(K + M, N)) / math.sqrt(N)
    return tl.Overlaps.from_weights(W[:K], W[K:])


def between(overlaps, g, h, **keywords):
    """A scenario with as many students g and teachers h as there are overlaps."""
    student, teacher = tl.Committee(overlaps.K, g), tl.Committee(overlaps.M, h)
    return tl.Scenario(student, teacher, overlaps.T, **keywords)


def to_vector(overlaps):
    """Q and R as a vector."""
    return layout_of(overlaps.K, overlaps.M).vector({"Q": overlaps.Q, "R": overlaps.R})
