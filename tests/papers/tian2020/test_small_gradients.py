"""Small gradients imply alignment (tian2020): the linear programme by other routes."""

import numpy as np
import pytest

from tutelage.papers.tian2020 import small_gradients
from tutelage.papers.tian2020.theorems.independence import (
    disc,
    group_sums,
    nodes,
    smallest_sum,
    turned,
)


def test_two_nodes_with_parallel_boundaries_cancel_up_to_half_their_distance():
    """By hand: σ(h) - ½σ(h + d) - ½σ(h - d) is 0 outside |h| < d and -d/2 at 0; a shift of d/4."""
    for d in small_gradients.DISTANCES:
        assert small_gradients._least_gradient(d, biases=True) == pytest.approx(d / 4, rel=1e-6)


def test_the_least_sum_is_that_of_the_best_straight_line():
    """max(x, 0) - a - bx on [-1, 1]: Chebyshev's alternation at -1, 0, 1 gives 1/4."""
    x = np.linspace(-1, 1, 101)
    assert smallest_sum(np.maximum(x, 0), np.column_stack([x, np.ones(101)])) == pytest.approx(0.25)


def test_an_aligned_node_leaves_nothing():
    w, b = np.array([[1.0, 0.0], [0.3, -0.8]]), np.array([0.3, 0.1])
    x = disc(w, b)
    others = nodes(x, 2.5 * w, 2.5 * b)
    assert smallest_sum(nodes(x, w[:1], b[:1])[:, 0], others) < 1e-9


def test_sums_of_groups_vanish_only_because_nodes_are_colinear():
    """Two nodes in a group: c = (1, -1/γ) is in the null space. Separate sums do not vanish."""
    w, b = np.array([[1.0, 0.0], [2.0, 0.0], [0.3, -0.8]]), np.array([0.3, 0.6, 0.1])
    x = disc(w, b)
    assert group_sums(x, w, b, [0, 0, 1]).max() < 1e-12
    assert group_sums(x, w, b, [0, 2, 1]).max() > 0.1


def test_opposite_nodes_are_not_found_to_be_independent():
    """Lemma 3's counterexample: σ(h) - σ(-h) - h = 0."""
    w, b = np.array([[1.0, 0.5], [-1.0, -0.5]]), np.array([0.2, -0.2])
    assert group_sums(disc(w, b), w, b, [0, 1]).max() > 0.1


def test_turning_is_a_rotation():
    np.testing.assert_allclose(turned([1.0, 0.0], 0.1), [np.cos(0.1), np.sin(0.1)])
