"""Sampled networks: exact sums over all gates, the mean-field pass, and the difference between
them.

Statistical tests have fixed seeds.  Their levels: a mean of 100 numbers may be off by 4.5 standard
errors once in 1400 (two-sided normal tail, times 100).
"""

import itertools
import math

import numpy as np
import pytest
from gates.gate_reference import EPSILON, GATES
from scipy import stats

import tutelage as tl
from tutelage.gates import Gate, Interval, mean_field, sample_network, stochastic

TWO = Gate([0, 1])
RNG = np.random.default_rng(5)
X = RNG.normal(size=(5, 4))
W1, W2 = RNG.normal(size=(8, 4)), RNG.normal(size=(3, 8)) / np.sqrt(8)
B1, B2 = RNG.normal(size=8), RNG.normal(size=3)
SIGMAS = 4.5


def swish(x, beta=1.0):
    return x / (1 + np.exp(-beta * x))


def exact_second_layer(x, beta):
    """⟨j⟩ of the second layer: a sum over the 2⁸ states of the first, weighted by their law."""
    h = W1 @ x + B1
    p = 1 / (1 + np.exp(-beta * h))
    total = np.zeros(3)
    for s in itertools.product((0, 1), repeat=8):
        weight = np.prod(np.where(s, p, 1 - p))
        total += weight * swish(W2 @ (h * s) + B2, beta)
    return total


def layer(found, number):
    return found.isel(unit=np.flatnonzero(found["layer"].values == number))


def z_scores(found, exact):
    return ((found["signal"] - exact) / found["standard_error"]).values.ravel()


@pytest.fixture(scope="module")
def sampled():
    return sample_network([W1, W2], X, TWO, 1.0, samples=40_000, seed=1, biases=[B1, B2])


def test_the_first_layer_is_exact_in_mean_field(sampled):
    z = z_scores(layer(sampled, 1), layer(sampled, 1)["mean_field"])
    assert np.max(np.abs(z)) < SIGMAS
    # Standard errors are neither too small nor too large: χ² of 40 numbers, level 1e-3.
    assert 1e-3 < stats.chi2.sf(np.sum(z**2), len(z)) < 1 - 1e-3


def test_the_second_layer_is_the_sum_over_all_gates_and_not_mean_field(sampled):
    exact = np.array([exact_second_layer(x, 1.0) for x in X])
    second = layer(sampled, 2)
    assert np.max(np.abs(z_scores(second, exact))) < SIGMAS
    assert np.max(np.abs(z_scores(second, second["mean_field"]))) > 3 * SIGMAS


def test_fields_of_the_second_layer_have_the_mean_and_variance_of_independent_gates(sampled):
    """Var h = Σ_j W_ij² h_j² Var s_j; the mean of a linear map is that of mean field."""
    h1 = X @ W1.T + B1
    p = 1 / (1 + np.exp(-h1))
    exact = (h1**2 * p * (1 - p)) @ (W2**2).T
    # The variance of a variance of N numbers is (κ − 1)/N of its square, κ < 9 here.
    tolerance = SIGMAS * math.sqrt(8 / 40_000)
    result = layer(sampled, 2)["field_variance"].values
    assert np.all(np.abs(result / exact - 1) < tolerance)
    assert np.max(np.abs(layer(sampled, 1)["field_variance"])) <= EPSILON


def test_the_deviation_is_half_the_curvature_times_the_variance():
    """⟨f(b + εη)⟩ − f(b + ε⟨η⟩) = ½ ε² f'' Var η + O(ε³), by exact sums over 2⁸ states."""
    x, h = X[0], W1 @ X[0] + B1
    p = 1 / (1 + np.exp(-h))
    states = np.array(list(itertools.product((0, 1), repeat=8)))
    weight = np.prod(np.where(states, p, 1 - p), axis=1)
    variance = np.sum(W2**2 * h**2 * p * (1 - p), axis=1)
    ratios = []
    for epsilon in (0.1, 0.05):
        eta = epsilon * (h * states) @ W2.T + B2
        middle = mean_field([W1, epsilon * W2], x, TWO, 1.0, biases=[B1, B2])[1][0]
        leading = 0.5 * tl.Swish().second_derivative(weight @ eta) * epsilon**2 * variance
        ratios.append((weight @ swish(eta) - middle) / leading - 1)
    assert np.all(np.abs(ratios[0]) < 0.1)
    # What is left is of order ε: halved with it.
    assert np.allclose(np.array(ratios[0]) / ratios[1], 2, rtol=0.1)


def deviation(n, power, beta=1.0):
    """Of a unit behind n equal gates in the field 1, with weights n^−power and mean field ½.

    Their sum is binomial: exact for any n.
    """
    p = 1 / (1 + math.exp(-beta))
    k = np.arange(n + 1)
    h = 0.5 + n**-power * (k - n * p)
    return stats.binom.pmf(k, n, p) @ swish(h, beta) - swish(0.5, beta)


def test_averaging_weights_make_mean_field_exact_in_wide_layers_as_1_over_n():
    ratios = [deviation(n, 1) / deviation(4 * n, 1) for n in (64, 256)]
    assert abs(ratios[1] - 4) < abs(ratios[0] - 4) < 0.05
    assert abs(ratios[1] - 4) < 0.02


def test_weights_of_order_1_over_root_n_keep_the_deviation_however_wide():
    """The field becomes Gaussian: ⟨f(½ + √(p(1−p)) z)⟩ − f(½)."""
    p = 1 / (1 + math.exp(-1.0))
    z, w = np.polynomial.hermite_e.hermegauss(80)
    limit = w @ swish(0.5 + math.sqrt(p * (1 - p)) * z) / w.sum() - swish(0.5)
    assert limit > 0.04
    # Corrections of the central limit theorem to smooth averages are of order 1/√n.
    assert abs(deviation(1024, 0.5) - limit) < limit / math.sqrt(1024)


@pytest.mark.parametrize(("n", "power"), [(16, 1.0), (16, 0.5)])
def test_sampled_deviations_are_the_binomial_ones(n, power):
    p = 1 / (1 + math.exp(-1.0))
    second = np.full((1, n), n**-power)
    biases = [0.0, 0.5 - n ** (1 - power) * p]
    result = sample_network(
        [np.ones((n, 1)), second], [1.0], TWO, 1.0, samples=40_000, seed=2, biases=biases
    )
    last = layer(result, 2)
    assert abs(last["mean_field"].item() - swish(0.5)) <= 16 * EPSILON
    off = last["signal"].item() - swish(0.5) - deviation(n, power)
    assert abs(off) < SIGMAS * last["standard_error"].item()


def test_noise_makes_the_deviation_and_sharp_gates_remove_it():
    """By exact sums: both the fluctuations and the region of curvature shrink with 1/β."""
    deviations = []
    for beta in (1.0, 10.0, 100.0):
        exact = np.array([exact_second_layer(x, beta) for x in X])
        field = mean_field([W1, W2], X, TWO, beta, biases=[B1, B2])[1]
        deviations.append(np.sqrt(np.mean((exact - field) ** 2)))
    assert deviations[0] > 10 * deviations[1] > 100 * deviations[2]


def test_gates_without_noise_are_deterministic():
    result = sample_network([W1, W2], X, TWO, math.inf, samples=2, seed=0, biases=[B1, B2])
    assert np.all(result["standard_error"] <= EPSILON)
    assert np.allclose(result["signal"], result["mean_field"], rtol=0, atol=64 * EPSILON)
    relu = np.maximum(W1 @ X[0] + B1, 0)
    assert np.allclose(layer(result, 1)["signal"][0], relu, rtol=0, atol=8 * EPSILON)


@pytest.mark.parametrize("transmits", ["signal", "state"])
def test_mean_field_is_the_forward_pass_with_the_activation(transmits):
    gate = GATES["weighted"]
    g = gate.signal(2.0) if transmits == "signal" else gate.expectation(2.0)
    first = g(X @ W1.T + B1)
    second = g(first @ W2.T)
    result = mean_field(
        [W1, W2], X, gate, [2.0, np.full(3, 2.0)], biases=[B1, np.zeros(3)], transmits=transmits
    )
    for a, b in zip(result, (first, second), strict=True):
        assert np.allclose(a, b, rtol=0, atol=64 * EPSILON)


def test_states_can_be_transmitted_instead_of_signals():
    result = sample_network([W1], X, TWO, 2.0, samples=10_000, seed=3, transmits="state")
    assert np.max(np.abs(z_scores(result, result["mean_field"]))) < SIGMAS
    assert np.allclose(result["mean_field"], 1 / (1 + np.exp(-2 * X @ W1.T)), atol=4 * EPSILON)


@pytest.mark.parametrize("gate", [TWO, GATES["weighted"], GATES["single"], Interval(-1, 3)])
def test_drawn_states_have_the_mean_and_the_variance_of_the_gate(gate):
    N = 20_000
    for t in (-1e4, -3.0, -1e-310, 0.0, 0.5, 40.0):
        s = gate._draw(np.full(N, t), np.random.default_rng(8))
        mean, variance = float(gate.mean(1.0, t)), float(gate.variance(1.0, t))
        assert np.all((s >= gate.ends[0]) & (s <= gate.ends[1]))
        # 4.5 standard errors, the sample's own for the variance; an exact zero has none.
        assert abs(np.mean(s) - mean) <= SIGMAS * math.sqrt(variance / N) + 1e-12
        squares = (s - mean) ** 2
        assert abs(np.mean(squares) - variance) <= SIGMAS * np.std(squares) / math.sqrt(N) + 1e-12


def test_an_interval_is_drawn_from_its_density():
    """Kolmogorov–Smirnov against (e^{st} − e^{−t})/(e^{3t} − e^{−t}), level 1e-3."""
    for t in (-2.0, 0.7):
        s = Interval(-1, 3)._draw(np.full(5000, t), np.random.default_rng(4))
        below = np.expm1((s + 1) * t) / np.expm1(4 * t)
        assert stats.kstest(below, "uniform").pvalue > 1e-3


def test_batches_add_up():
    drawn = np.random.default_rng(0).normal(size=(2, 50, 3, 4))
    sums = stochastic._Sums(3, [4])
    for first, last in ((0, 7), (7, 8), (8, 50)):
        sums.add([(drawn[0, first:last], drawn[1, first:last])])
    assert sums.count == 50
    assert np.allclose(sums.mean, drawn.mean(axis=1), rtol=0, atol=16 * EPSILON)
    assert np.allclose(sums.squares / 49, drawn.var(axis=1, ddof=1), rtol=0, atol=64 * EPSILON)


def test_small_batches_change_nothing_but_the_draws(monkeypatch):
    whole = sample_network([W1], X, TWO, 1.0, samples=1000, seed=0)
    monkeypatch.setattr(stochastic, "BATCH", 4000)
    parts = sample_network([W1], X, TWO, 1.0, samples=1000, seed=0)
    assert np.max(np.abs(z_scores(parts, parts["mean_field"]))) < SIGMAS
    assert np.allclose(parts["standard_error"], whole["standard_error"], rtol=0.2)


def test_the_same_seed_gives_the_same_numbers_and_is_recorded():
    a, b, c = (sample_network([W1, W2], X, TWO, 1.0, samples=50, seed=s) for s in (3, 3, 4))
    assert a.identical(b) and not a["signal"].equals(c["signal"])
    assert a.attrs["seed"] == 3 and a.attrs["samples"] == 50
    assert tl.results.recompute(a).equals(a)
    assert a["layer"].values.tolist() == [1] * 8 + [2] * 3
