"""Scenarios and starts of the papers that several tests use, and what they compare."""

import math

import numpy as np

import tutelage as tl
from tutelage.model.layout import layout_of
from tutelage.online.linearization import first_order

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


def eigenvalues_by_overlaps(flow, state):
    """Eigenvalues of the Jacobian in (Q, R) as η → 0, the largest first."""
    return np.sort(np.linalg.eigvals(first_order(flow, flow.vector(state))[1]).real)[::-1]


def assert_behaviour_changes(rates):
    """Runs of `GRADED`: at the second rate the error rises, at the fourth the norms diverge."""
    run = tl.online.evolve(
        GRADED,
        GRADED_START,
        np.array(rates),
        until=400.0,
        times=np.linspace(0.0, 400.0, 4001),
        tolerance=1e-10,
    )
    rises = np.nanmax(np.diff(run["generalization_error"].values, axis=1), axis=1)
    # Steps are integrated to 1e-10; a rise of the error is a thousand times larger.
    assert rises[0] < 1e-9 and rises[1] > 1e-7
    assert list(run["outcome"].values == "diverged") == [False, False, False, True]


def assert_same_law(one, other, names):
    """Means and variances over the runs of two simulations agree within five standard errors."""
    for name in names:
        x, y = (data[name].values.reshape(data.sizes["run"], -1) for data in (one, other))
        for power in (1, 2):
            a, b = ((z - x.mean(axis=0)) ** power for z in (x, y))
            error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(x))
            assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5 * error)
