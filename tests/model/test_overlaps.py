"""Overlaps: validation, from weights and back, also for singular overlaps."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp

EPSILON = np.finfo(float).eps


def random_weights(K, M, N, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(K + M, N))
    if rank is not None:
        W = rng.normal(size=(K + M, rank)) @ W[:rank]
    return W[:K], W[K:]


@pytest.mark.parametrize(("K", "M"), [(1, 1), (2, 2), (3, 2), (2, 5)])
@pytest.mark.parametrize("rank", [None, 0, 1, 2])
@pytest.mark.parametrize("extra", [0, 1, 100])
def test_weights_realise_the_overlaps(K, M, rank, extra):
    """Also when they are singular, in any dimension from K + M on; to rounding."""
    overlaps = tl.Overlaps.from_weights(*random_weights(K, M, 20, rank))
    J, B = overlaps.to_weights(K + M + extra)
    assert J.shape == (K, K + M + extra)
    second = tl.Overlaps.from_weights(J, B).covariance
    scale = np.max(np.abs(overlaps.covariance))
    assert np.max(np.abs(second - overlaps.covariance)) <= 8 * (K + M) * EPSILON * scale


def test_overlaps_are_products_of_weights():
    """The definition as a slow loop."""
    J, B = random_weights(2, 3, 7)
    overlaps = tl.Overlaps.from_weights(J, B)
    for i in range(2):
        for k in range(2):
            assert overlaps.Q[i, k] == pytest.approx(sum(J[i] * J[k]), rel=1e-14)
        for n in range(3):
            assert overlaps.R[i, n] == pytest.approx(sum(J[i] * B[n]), rel=1e-14)


def test_students_come_first_in_the_covariance():
    overlaps = tl.Overlaps(Q=[[4.0]], R=[[1.0, 2.0]], T=[[3.0, 0.0], [0.0, 3.0]])
    assert overlaps.covariance.tolist() == [[4, 1, 2], [1, 3, 0], [2, 0, 3]]
    assert (overlaps.K, overlaps.M) == (1, 2)


def test_batches_share_a_teacher():
    Q, R = np.ones((5, 1, 1)), np.linspace(-1, 1, 5).reshape(5, 1, 1)
    overlaps = tl.Overlaps(Q, R, [[1.0]])
    assert overlaps.covariance.shape == (5, 2, 2)
    J, B = overlaps.to_weights(3)
    assert J.shape == (5, 1, 3) and B.shape == (5, 1, 3)


def test_other_seeds_are_other_weights_with_the_same_overlaps():
    overlaps = tl.Overlaps(Q=[[1.0]], R=[[0.5]], T=[[1.0]])
    J, _ = overlaps.to_weights(10, seed=1)
    K, _ = overlaps.to_weights(10, seed=2)
    assert np.max(np.abs(J - K)) > 0.1
    assert np.array_equal(J, overlaps.to_weights(10, seed=1)[0])


def test_overlaps_pass_through_jit():
    overlaps = tl.Overlaps(Q=[[1.0]], R=[[0.5]], T=[[1.0]])
    moved = jax.jit(lambda o: tl.Overlaps(o.Q, o.R + 1.0, o.T))(overlaps)
    assert moved.R.tolist() == [[1.5]]
    assert isinstance(overlaps.Q, jnp.ndarray)


@pytest.mark.parametrize(
    ("Q", "R", "T", "message"),
    [
        ([[1.0]], [[2.0]], [[1.0]], r"\[\[Q, R\], \[R.T, T\]\]: .*negative eigenvalue -1"),
        ([[-1.0]], [[0.0]], [[1.0]], "Q: .*negative eigenvalue -1"),
        ([[1.0, 0.5], [0.0, 1.0]], [[0.0], [0.0]], [[1.0]], "Q: .*transpose by 0.5"),
        ([[1.0]], [[0.0, 0.0]], [[1.0]], r"T: got shape \(1, 1\).*\(..., 2, 2\)"),
        ([[1.0, 0.0]], [[0.0]], [[1.0]], r"Q: got shape \(1, 2\)"),
        ([[1.0]], [0.0], [[1.0]], r"R: got shape \(1,\)"),
        ([[np.nan]], [[0.0]], [[1.0]], "Q: got nan"),
        ([[1.0]], [[np.nan]], [[1.0]], "R: got nan"),
        (np.ones((2, 1, 1)), np.zeros((3, 1, 1)), [[1.0]], "Q, R, T: .*batches have to match"),
    ],
)
def test_bad_overlaps_are_refused(Q, R, T, message):
    with pytest.raises(tl.InputError, match=message):
        tl.Overlaps(Q, R, T)


def test_states_of_a_run_are_accepted_within_its_tolerance():
    """Cauchy and Schwarz violated by 1e-9: refused by default, accepted with a rounding of 1e-8."""
    state = {"Q": [[1.0]], "R": [[1.0 + 1e-9]], "T": [[1.0]]}
    with pytest.raises(tl.InputError, match="negative eigenvalue"):
        tl.Overlaps(**state)
    assert tl.Overlaps(**state, rounding=1e-8).R.item() == 1.0 + 1e-9
    with pytest.raises(tl.InputError, match="rounding"):
        tl.Overlaps(**state, rounding=-1.0)


def test_overlaps_that_are_singular_within_rounding_are_accepted():
    third = 1 / 3
    overlaps = tl.Overlaps(Q=[[third * third * (1 - 1e-15)]], R=[[third]], T=[[1.0]])
    assert overlaps.R[0, 0] == third


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: o.to_weights(1), "dimension: got 1.*at least 2"),
        (lambda o: o.to_weights(2.5), "dimension: got 2.5.*whole number"),
        (lambda o: tl.Overlaps.from_weights([[1.0, 2.0]], [[1.0]]), "teacher: .*student's have 2"),
        (lambda o: tl.Overlaps.from_weights([1.0], [[1.0]]), r"student: got shape \(1,\)"),
    ],
)
def test_bad_weights_are_refused(call, message):
    with pytest.raises(tl.InputError, match=message):
        call(tl.Overlaps(Q=[[1.0]], R=[[0.0]], T=[[1.0]]))
