"""A state as a vector and back, and where its numbers stand."""

import numpy as np

import tutelage as tl
from tutelage.model.layout import Layout, to_overlaps, to_vector

W = np.random.default_rng(9).normal(size=(5, 7))
STATE = tl.Overlaps.from_weights(W[:3], W[3:])


def test_vectors_and_overlaps_are_the_same():
    again = to_overlaps(to_vector(STATE), STATE.T, 3)
    assert np.array_equal(again.Q, STATE.Q) and np.array_equal(again.R, STATE.R)


def test_every_number_stands_where_the_layout_says():
    layout, y = Layout(3, 2), np.asarray(to_vector(STATE))
    assert len(layout.labels) == len(layout.decay) == layout.size == len(y)
    np.testing.assert_array_equal(y[layout.pairs], STATE.Q)
    np.testing.assert_array_equal(y[layout.diagonal], np.diagonal(STATE.Q))
    np.testing.assert_array_equal(y[layout.R].reshape(3, 2), STATE.R)
    assert y[layout.labels.index("Q_23")] == STATE.Q[1, 2]


def test_decay_acts_twice_on_products_of_students():
    """(1 - γ)J for all students: R falls by γ, Q by 2γ, to first order."""
    gamma = 1e-6
    later = tl.Overlaps.from_weights((1 - gamma) * W[:3], W[3:])
    slope = np.asarray((to_vector(STATE) - to_vector(later)) / gamma / to_vector(STATE))
    np.testing.assert_allclose(slope, Layout(3, 2).decay, rtol=1e-5)
