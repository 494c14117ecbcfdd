"""Observers and aligned nodes: known cases in the plane, and boundaries sampled point by point."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers.tian2020 import theorems

CIRCLE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # examples of the radius 1


def network_of(filters, biases, fan_outs):
    """A network from rows: one filter, one bias and one fan-out for each node."""
    outputs = np.zeros(np.shape(fan_outs)[1])
    return tl.deep.network([np.transpose(filters), fan_outs], [biases, outputs])


def active_on(boundary_of, b, node, shift):
    """Whether a node is active on the boundary w̄·x + b = 0 in the unit disc, sampled from end to
    end.
    """
    if abs(b) >= 1:
        return False
    across = np.array([-boundary_of[1], boundary_of[0]])
    s = np.linspace(-1.0, 1.0, 201)[:, None] * np.sqrt(1 - b**2)
    return bool(np.max((-b * boundary_of + s * across) @ node + shift) > 1e-8)


def test_a_teacher_node_whose_boundary_no_student_sees_is_not_observed():
    # On x₁ = 0 the first student node has the field -½, the second x₂ - 2 < 0.
    student = network_of([[1.0, 0.0], [0.0, 1.0]], [-0.5, -2.0], [[1.0], [1.0]])
    teacher = network_of([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0], [1.0]])
    assert theorems.alignment(student, teacher, CIRCLE).observed.tolist() == [False, True]


def test_fan_outs_at_right_angles_do_not_observe():
    student = network_of([[1.0, 0.0], [1.0, 1.0]], [0.5, 0.5], [[0.0, 1.0], [0.0, 2.0]])
    teacher = network_of([[0.0, 1.0], [0.0, 1.0]], [0.0, 0.1], [[1.0, 0.0], [1.0, 1.0]])
    assert theorems.alignment(student, teacher, CIRCLE).observed.tolist() == [False, True]


@pytest.mark.parametrize("seed", range(5))
def test_observed_is_what_a_walk_along_the_boundary_finds(seed):
    random = np.random.default_rng(seed)
    w, t = random.normal(size=(2, 6, 2))
    w, t = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (w, t))
    b, c = random.uniform(-1.5, 0.0, 6), random.uniform(-1.2, 1.2, 6)
    result = theorems.alignment(
        network_of(w, b, np.ones((6, 1))), network_of(t, c, np.ones((6, 1))), CIRCLE
    )
    seen = [any(active_on(t[j], c[j], w[k], b[k]) for k in range(6)) for j in range(6)]
    assert result.observed.tolist() == seen


def test_the_same_filter_with_another_bias_is_not_aligned():
    teacher = network_of([[1.0, 0.0]], [0.2], [[1.0]])
    student = network_of([[3.0, 0.0], [2.0, 0.0], [-1.0, 0.0]], [0.6, 0.8, -0.2], [[1.0]] * 3)
    result = theorems.alignment(student, teacher, CIRCLE)
    assert result.aligned.ravel().tolist() == [True, False, False]
    assert result.unaligned.tolist() == [1, 2] and result.sine.tolist() == [0.0]


def test_observers_are_the_rank_of_the_fan_outs_of_those_that_see_the_boundary():
    filters = [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0], [1.0, 0.0]]
    biases = [0.0, 0.0, 0.0, 0.5, -0.5]
    fan_outs = [[0.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    teacher = network_of([[1.0, 1.0]], [0.0], [[1.0, 1.0, 1.0]])
    result = theorems.alignment(network_of(filters, biases, fan_outs), teacher, CIRCLE)
    assert result.unaligned.tolist() == [0, 1, 2, 3, 4]
    # Node 0, x₁ = 0: nodes 1, 2, 3 see it, in a plane of fan-outs; 4 does not.
    # Nodes 1 and 2, x₂ = 0: 0, 3 and 4, of which 0 and 4 are parallel.
    # Node 3, x₂ = -½: 0, 2 and 4.  Node 4, x₁ = ½: all others.
    assert result.observers.tolist() == [2, 2, 2, 2, 3]
