"""Finite networks drawn through their overlaps, against networks with all their weights."""

import math

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers.beyond import finite_networks

N, BATCH, RUNS, RATE = 14, 0.5, 3000, 0.3
TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(TWO, TWO, weight_decay=0.1)
START = tl.Overlaps([[0.5, 0.1], [0.1, 0.4]], [[0.2, 0.1], [0.0, 0.3]], np.eye(2))
OPTIMIZERS = {
    "momentum": tl.optimizers.Momentum(0.7),
    "normalized": tl.optimizers.Normalized(epsilon=0.1),
    "muon with momentum": tl.optimizers.Muon(momentum=0.8, epsilon=0.1),
}


def trained(optimizer, steps, generator):
    """Overlaps Q and R of networks with all their weights, by the definition of the steps."""
    W = np.concatenate([np.asarray(x) for x in START.to_weights(N, 0)])
    J, B = np.repeat(W[None, :2], RUNS, axis=0), W[2:]
    V, b = np.zeros_like(J), round(BATCH * N)
    for _ in range(steps):
        inputs = generator.standard_normal((RUNS, b, N))
        x, y = inputs @ J.swapaxes(1, 2), inputs @ B.T
        error = np.maximum(y, 0).sum(-1) - np.maximum(x, 0).sum(-1)
        G = ((x > 0) * error[..., None]).swapaxes(1, 2) @ inputs / b
        V = optimizer.momentum * V + G
        norms = V @ V.swapaxes(1, 2)
        if isinstance(optimizer, tl.optimizers.Normalized):
            norms = norms * np.eye(2)
        values, vectors = np.linalg.eigh(norms + (optimizer.epsilon or 1.0) * np.eye(2))
        H = (vectors * values[:, None] ** -0.5) @ vectors.swapaxes(1, 2)
        step = V if optimizer.epsilon is None else H @ V
        J = 0.9 * J + RATE * step
    return J @ J.swapaxes(1, 2), J @ B.T


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_means_and_variances_of_overlaps_are_those_of_all_weights(name):
    generator, optimizer = np.random.default_rng(1), OPTIMIZERS[name]
    task = finite_networks.Task(SCENARIO, START, optimizer, BATCH, RATE)
    state = finite_networks._ChainState.first(task, RUNS)
    for _ in range(3):
        state = finite_networks._after_step(task, state, N, generator)
    for drawn, direct in zip(state.overlaps(), trained(optimizer, 3, generator), strict=True):
        for power in (1, 2):
            first, second = drawn**power, direct**power
            error = np.sqrt((first.var(axis=0) + second.var(axis=0)) / RUNS)
            assert np.all(np.abs(first.mean(axis=0) - second.mean(axis=0)) < 4.5 * error)


def test_a_passage_is_linear_in_the_logarithm_between_steps():
    errors = np.array([1.0, 0.5, 0.125, 0.25])
    assert finite_networks.passage(errors, 0.5) == 1.0
    assert finite_networks.passage(errors, 0.25) == 1.5
    assert finite_networks.passage(errors, 2.0) == 0.0
    assert finite_networks.passage(errors, 0.1) == math.inf


def test_runs_that_diverge_stay_finite_and_beyond_the_limit():
    task = finite_networks.Task(SCENARIO, START, tl.optimizers.Plain(), BATCH, 1e8)
    generator = np.random.default_rng(1)
    state = finite_networks._ChainState.first(task, RUNS)
    for _ in range(3):
        state = finite_networks._after_step(task, state, N, generator)
    Q, _ = state.overlaps()
    assert np.all(np.isfinite(Q)) and np.all(Q >= finite_networks.LARGEST_WEIGHT**2)
