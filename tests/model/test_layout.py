"""A state as a vector and back, and the positions of its numbers."""

import numpy as np
from scenarios import to_vector

import tutelage as tl
from tutelage.model.layout import BLOCKS, Block, Layout, layout_of, realizable

W = np.random.default_rng(9).normal(size=(5, 7))
STATE = tl.Overlaps.from_weights(W[:3], W[3:])


def test_vectors_and_overlaps_are_the_same():
    second = layout_of(3, 2).overlaps(to_vector(STATE), STATE.T)
    assert np.array_equal(second.Q, STATE.Q) and np.array_equal(second.R, STATE.R)


def test_every_number_is_at_its_position_in_the_layout():
    layout, y = layout_of(3, 2), np.asarray(to_vector(STATE))
    assert len(layout.labels) == len(layout.factors("teacher")) == layout.size == len(y)
    np.testing.assert_array_equal(y[layout.positions("Q")], STATE.Q)
    np.testing.assert_array_equal(y[layout["R"]].reshape(3, 2), STATE.R)
    assert y[layout.labels.index("Q_23")] == STATE.Q[1, 2]


def test_decay_acts_twice_on_products_of_students():
    """(1 - γ)J for all students: R falls by γ, Q by 2γ, to first order."""
    gamma = 1e-6
    later = tl.Overlaps.from_weights((1 - gamma) * W[:3], W[3:])
    slope = np.asarray((to_vector(STATE) - to_vector(later)) / gamma / to_vector(STATE))
    np.testing.assert_allclose(slope, layout_of(3, 2).factors("first layer"), rtol=1e-5)


def test_blocks_of_any_shape_have_positions_labels_and_axes():
    """Overlaps for groups of inputs, and products of velocities with weights, of two students."""
    layers = ("first layer", "first layer")
    groups = Block("Q_group", "q", ("group", "student", "student_2"), layers, symmetric=True)
    velocity = Block("velocity_J", "VJ", ("student", "student_2"), ("first layer",))
    layout = Layout((groups, velocity), {"group": 3, "student": 2, "student_2": 2})
    assert layout.labels[:4] == ("q_111", "q_112", "q_122", "q_211")
    assert layout.labels[-2:] == ("VJ_21", "VJ_22") and layout.size == 3 * 3 + 4
    q, u = np.random.default_rng(2).normal(size=(2, 5, 3, 2, 2))
    state = {"Q_group": q + np.swapaxes(q, -1, -2), "velocity_J": u[:, 0]}
    y = layout.vector(state)
    assert y.shape == (5, layout.size) and y[4, 1] == state["Q_group"][4, 0, 0, 1]
    second = layout.arrays(y)
    assert all(np.array_equal(second[name], x) for name, x in state.items())
    axes = {name: dims for name, (dims, _) in layout.variables(y, ("time",)).items()}
    assert axes["Q_group"] == ("time", "group", "student", "student_2")
    assert layout.factors("first layer").tolist() == [2.0] * 9 + [1.0] * 4


def test_a_block_decays_as_the_product_of_its_weights_does():
    numbers = {"weight_decay": 0.1, "drift": 0.02, "readout_decay": 0.3, "label_noise": 9.0}
    one = tl.Committee(1, tl.Erf())
    rates = {block.name: block.decay(tl.Scenario(one, one, **numbers)) for block in BLOCKS}
    assert rates == {"R": 0.1 + 0.02, "Q": 2 * 0.1, "readout": 0.3}


def test_realizable_overlaps_are_unchanged_and_others_are_projected():
    """Negative eigenvalues of Q - R T⁺ Rᵀ go, singular T and second layers that learn included."""
    y = np.asarray(to_vector(STATE))
    np.testing.assert_allclose(realizable(y, STATE.T, layout_of(3, 2)), y, rtol=0, atol=1e-14)
    twice = tl.Overlaps.from_weights(W[:3], W[[3, 3]])
    less = twice.Q - twice.R @ np.linalg.pinv(twice.T) @ twice.R.T
    lowest, directions = np.linalg.eigh(less)
    minus = np.asarray(to_vector(twice)).copy()
    minus[layout_of(3, 2)["Q"]] -= (
        (lowest[0] + 0.1) * np.outer(directions[:, 0], directions[:, 0])
    )[np.triu_indices(3)]
    learning = layout_of(3, 2, outputs=1)
    moved = realizable(np.append(minus, [1.0, 2.0, 3.0])[None], twice.T[None], learning)[0]
    assert np.array_equal(moved[-3:], [1.0, 2.0, 3.0])
    result = learning.overlaps(moved, np.asarray(twice.T))
    second = np.linalg.eigvalsh(result.Q - result.R @ np.linalg.pinv(twice.T) @ result.R.T)
    np.testing.assert_allclose(second, [0.0, *lowest[1:]], rtol=0, atol=1e-12)
