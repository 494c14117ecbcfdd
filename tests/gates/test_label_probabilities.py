"""Appendix A of milletari2019: the part of the cross-entropy that is exact, and the limit of many
labels.
"""

import itertools
import math

import numpy as np
import pytest
from gates.gate_reference import EPSILON
from scipy.special import betaln

from tutelage.gates import (
    count_probabilities,
    cross_entropy,
    label_probability,
    saddle_point,
)

Q = np.random.default_rng(2).uniform(0.1, 0.9, size=12)


def all_labels(m):
    return np.array(list(itertools.product((0, 1), repeat=m)))


def kl(y, q):
    return y * math.log(y / q) + (1 - y) * math.log((1 - y) / (1 - q))


@pytest.mark.parametrize("m", [1, 2, 5, 12])
def test_the_cross_entropy_is_exact_at_every_number_of_labels(m):
    """P(y) = exp(m S): eq. (16) without a large m, by the sum over 2ᵐ multipliers."""
    for y in all_labels(m)[:: max(1, 2**m // 16)]:
        exact = math.exp(-m * cross_entropy(y, Q[:m]))
        # A sum of 2ᵐ numbers of at most 1, divided by 2ᵐ.
        assert abs(label_probability(y, Q[:m]) - exact) <= 4 * m * EPSILON


def test_label_probabilities_add_up_to_one():
    total = sum(label_probability(y, Q[:8]) for y in all_labels(8))
    assert abs(total - 1) <= 2**8 * 32 * EPSILON


def test_counts_are_sums_over_all_labels():
    labels = all_labels(8)
    P = np.array([label_probability(y, Q[:8]) for y in labels])
    expected = [P[labels.sum(axis=1) == k].sum() for k in range(9)]
    assert np.allclose(count_probabilities(Q[:8]), expected, rtol=0, atol=2**8 * 32 * EPSILON)


@pytest.mark.parametrize(("k", "m", "q"), [(1, 4, 0.3), (3, 4, 0.3), (5, 10, 0.9), (1, 40, 0.5)])
def test_equal_probabilities_have_the_saddle_of_eq_15(k, m, q):
    y = k / m
    result = saddle_point(k, np.full(m, q))
    # The root of a sum of m numbers of order one, whose slope is m y (1 − y).
    tolerance = 64 * EPSILON / (y * (1 - y))
    assert abs(result.multiplier - math.log(y * (1 - q) / (q * (1 - y)))) <= tolerance
    assert abs(result.exponent + m * kl(y, q)) <= 64 * m * EPSILON
    assert abs(result.curvature - m * y * (1 - y)) <= 64 * m * EPSILON


@pytest.mark.parametrize("q", [0.2, 0.5])
def test_the_exponent_is_m_s_up_to_a_constant_that_depends_only_on_y(q):
    """Φ = m S + m H(y): eq. (16) for the mean y of m labels; H(y) counts their orders."""
    for k, m in ((1, 4), (3, 8)):
        y = k / m
        H = -y * math.log(y) - (1 - y) * math.log(1 - y)
        S = -cross_entropy([y] * m, [q] * m)
        assert abs(saddle_point(k, [q] * m).exponent - m * (S + H)) <= 64 * m * EPSILON


@pytest.mark.parametrize("y", [0.25, 0.5])
def test_steepest_descent_is_off_by_the_next_term_of_stirlings_series(y):
    """log P(k) − [Φ − ½ log 2πΦ''] = (1 − 1/y − 1/(1−y))/(12m) + O(1/m³)."""
    for m in (8, 16, 32, 64):
        k = round(y * m)
        exact = math.log(count_probabilities(np.full(m, 0.4))[k])
        off = exact - saddle_point(k, np.full(m, 0.4)).log_probability
        leading = (1 - 1 / y - 1 / (1 - y)) / (12 * m)
        # The series of log k! goes on with −1/(360k³), for k, m − k and m.
        next_term = (1 / k**3 + 1 / (m - k) ** 3) / 360
        assert abs(off - leading) <= next_term + 64 * m * EPSILON


def test_unequal_probabilities_lose_half_the_error_with_twice_the_labels():
    q = np.array([0.15, 0.4, 0.6, 0.8])
    errors = []
    for copies in (4, 8, 16):
        many = np.tile(q, copies)
        exact = math.log(count_probabilities(many)[copies])
        errors.append(exact - saddle_point(copies, many).log_probability)
    # log P = m a − ½ log m + b + c/m + d/m² + …
    assert np.all(np.abs(errors) > 1e-3)
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 2, rtol=0.03)


def test_the_exponent_alone_is_right_per_label_only_and_slowly():
    """−log P/m → KL, with a difference of log(2πm y(1−y))/(2m)."""
    differences = []
    for m in (8, 32, 128):
        P = count_probabilities(np.full(m, 0.4))[m // 4]
        differences.append(-math.log(P) / m - kl(0.25, 0.4))
        expected = math.log(2 * math.pi * m * 0.1875) / (2 * m)
        assert abs(differences[-1] - expected) <= 0.4 / m**2  # (1 − 4 − 4/3)/12 = −0.36
    assert differences[0] > 2 * differences[1] > 4 * differences[2] > 0


def test_the_integral_over_parameters_is_dominated_by_maximum_likelihood():
    """∫ dq q^k (1−q)^{m−k} = B(k+1, m−k+1): the last step of the appendix, with θ = q.

    Laplace's method at q* = k/m: exp(m S(q*)) √(2π q*(1−q*)/m) (1 + O(1/m)).
    """
    errors = []
    for m in (20, 40, 80):
        y = 0.25
        S = -cross_entropy([y] * m, [y] * m)
        laplace = m * S + 0.5 * math.log(2 * math.pi * y * (1 - y) / m)
        errors.append(betaln(m * y + 1, m * (1 - y) + 1) - laplace)
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 2, rtol=0.05)
