"""Inputs have mean 0 and variance 1, rows are rows, and what cannot be used is refused."""

import numpy as np
import pytest
from scenarios import PERCEPTRON, PERCEPTRON_START as START

import tutelage as tl
from tutelage._jax import jax
from tutelage.simulation.inputs import as_inputs


def drawn(inputs, N, count=2000):
    source = as_inputs(inputs, N)
    keys = jax.random.split(jax.random.key(3), count)
    return np.asarray(jax.vmap(lambda key: source.draw(key, N))(keys))


@pytest.mark.parametrize(
    ("inputs", "fourth_moment"), [("gaussian", 3.0), ("sign", 1.0), ("uniform", 9 / 5)]
)
def test_components_are_independent_with_mean_0_and_variance_1(inputs, fourth_moment):
    N = 37  # no multiple of 32: signs come 32 at a time
    X = drawn(inputs, N)
    assert X.shape == (2000, N) and X.dtype == np.float64
    count = X.size
    # Five standard errors of a mean: powers of up to 8 of a Gaussian have variances up to 96.
    assert abs(X.mean()) < 5 / np.sqrt(count)
    assert abs((X**2).mean() - 1) < 5 * np.sqrt(2 / count)
    assert abs((X**4).mean() - fourth_moment) < 5 * np.sqrt(96 / count)
    # 666 covariances of standard error 1/√2000: the largest beyond 5 happens once in 2500 times.
    covariance = X.T @ X / len(X)
    assert np.max(np.abs(covariance - np.diag(np.diag(covariance)))) < 5 / np.sqrt(len(X))


def test_signs_are_signs():
    assert set(np.unique(drawn("sign", 70))) == {-1.0, 1.0}


def test_rows_come_as_they_are_and_equally_often():
    array = np.random.default_rng(0).normal(size=(4, 6))
    X = drawn(array, 6)
    which = [int(np.flatnonzero((array == x).all(axis=1))[0]) for x in X]
    # 2000 draws: each of four rows 500 times, give or take √(2000·3/16) = 19.4.
    assert np.all(np.abs(np.bincount(which, minlength=4) - 500) < 5 * 19.4)


def test_a_network_learns_from_rows():
    """All inputs along one direction e: only the component of J along e can change."""
    N = 20
    rows = np.zeros((3, N))
    rows[:, 0] = [1.0, -1.0, 2.0]
    J, B = np.full((1, N), 0.1), np.eye(1, N)
    run = tl.simulation.network(
        PERCEPTRON, (J, B), 1.0, dimension=N, until=30.0, inputs=rows, times=[0.0, 30.0]
    )
    assert run.R.values[0, 0, 0, 0] == pytest.approx(0.1, abs=1e-15)
    assert run.R.values[0, 1, 0, 0] == pytest.approx(1.0, abs=1e-6)  # as the teacher's
    rest = (run.Q - run.R**2).values[0, :, 0, 0]
    np.testing.assert_allclose(rest, 19 * 0.1**2, rtol=1e-12)
    assert tl.results.recompute(run).identical(run)  # so few numbers a file holds


def test_the_error_is_that_on_the_rows_that_were_given():
    """Rows of twice the length: a linear network errs four times as much, ½·4·(1 + 0.25)."""
    N, linear = 50, tl.Committee(1, tl.Linear())
    J, B = np.zeros((1, N)), np.zeros((1, N))
    J[0, 0], B[0, 1] = 0.5, 1.0
    rows = 2 * np.sqrt(N) * np.eye(N)  # ⟨ξξᵀ⟩ = 4, exactly
    keywords = {"dimension": N, "until": 1.0, "times": [0.0, 1.0]}
    run = tl.simulation.network(tl.Scenario(linear, linear), (J, B), 0.1, inputs=rows, **keywords)
    assert run.generalization_error.values[0, 0] == pytest.approx(2.5, rel=1e-14)
    for result in (run, tl.simulation.summary(run)):
        assert result.generalization_error.attrs["inputs"] == "the rows given as inputs"
    # |J - B|² from the overlaps: what an error of white inputs would be, times 4.
    distance = (run.Q - 2 * run.R.values + 1).values[..., 0, 0]
    np.testing.assert_allclose(run.generalization_error, 2 * distance, rtol=1e-12)
    white = tl.simulation.network(tl.Scenario(linear, linear), (J, B), 0.1, **keywords)
    assert white.generalization_error.values[0, 0] == pytest.approx(0.625, rel=1e-14)
    assert white.generalization_error.attrs["inputs"] == "Gaussian, from the overlaps"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("normal", "inputs: got 'normal'.*gaussian, sign, uniform"),
        (np.ones((5, 11)), r"inputs: got an array of shape \(5, 11\).*\(rows, 10\)"),
        (np.ones(10), "inputs: got an array of shape"),
        (np.ones((0, 10)), "inputs: got an array of shape"),
        (np.array([[np.nan] * 10]), r"inputs: got nan at index \(0, 0\)"),
        (np.full((2, 10), np.inf), "inputs: got inf"),
        (object(), "inputs: got object"),
    ],
)
def test_inputs_that_cannot_be_used_are_refused(inputs, message):
    with pytest.raises(tl.InputError, match=message):
        tl.simulation.network(PERCEPTRON, START, 1.0, dimension=10, until=1.0, inputs=inputs)
