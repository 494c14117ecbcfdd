"""The loops of `benchmarks/peers` in plain Python: another route to the equations of ReLUs."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import equinox as eqx
import numpy as np
import pytest
from scenarios import between, random_overlaps

import tutelage as tl
from tutelage.online import Flow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SAMPLES = 400_000
# Both routes have sums of at most some hundred terms of order one; the nodes of the benchmark's
# integral leave 1e-10.
TOLERANCE = 1e-10


@pytest.fixture
def peer(monkeypatch):
    """`numba_relu` without numba: the decorated functions run as they are written."""

    def njit(**options):
        return lambda function: function

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    monkeypatch.syspath_prepend(BENCHMARKS)
    for name in ("peers", "peers.numba_loops", "peers.numba_relu"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("peers.numba_relu")
    for name in ("peers", "peers.numba_loops", "peers.numba_relu"):
        sys.modules.pop(name, None)


def averages(peer, overlaps):
    """⟨δ_i v⟩ and ⟨δ_i δ_k⟩ for i <= k by the loops; zeros below the diagonal."""
    K, C = overlaps.K, np.array(overlaps.covariance)
    D, S, work = np.empty((K, len(C))), np.zeros((K, K)), np.empty((4, *C.shape))
    peer.first_relu(C, K, len(C), D)
    peer.second_relu(C, K, len(C), S, work)
    return D, S


@pytest.mark.parametrize(("K", "M"), [(2, 2), (3, 2), pytest.param(4, 4, marks=pytest.mark.slow)])
def test_averages_are_those_of_a_program_of_an_afternoon(peer, K, M):
    overlaps = random_overlaps(K, M, seed=K, N=16)
    moments = Flow(between(overlaps, tl.ReLU(), tl.ReLU())).moments
    D, S = averages(peer, overlaps)
    first = eqx.filter_jit(moments.first_order)(overlaps)
    second = eqx.filter_jit(moments.second_order)(overlaps)
    assert np.all(np.abs(D - first) <= TOLERANCE)
    assert np.all(np.abs(S - np.triu(second)) <= TOLERANCE)


def test_the_program_of_an_afternoon_averages_sampled_fields(peer):
    """⟨δ_i δ_k⟩ from its definition, within five standard errors, and half of it is not."""
    overlaps = random_overlaps(3, 3, seed=6, N=16)
    fields = np.random.default_rng(2).normal(size=(SAMPLES, 6))
    fields = fields @ np.linalg.cholesky(np.array(overlaps.covariance)).T
    positive = np.maximum(fields, 0)
    delta = (fields[:, :3] > 0) * (positive[:, 3:] - positive[:, :3]).sum(axis=1, keepdims=True)
    products = delta[:, :, None] * delta[:, None, :]
    mean, error = products.mean(axis=0), products.std(axis=0) / np.sqrt(SAMPLES)
    _, S = averages(peer, overlaps)
    assert np.all(np.abs(S - np.triu(mean)) <= 5 * error)
    assert np.all(np.abs(S / 2 - np.triu(mean))[np.triu_indices(3)] > 5 * error[np.triu_indices(3)])
