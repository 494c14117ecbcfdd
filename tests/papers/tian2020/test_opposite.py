"""Training may end at a critical point without a node on the side of a teacher node.

σ(w·x + b) = σ(-w·x - b) + w·x + b.  Where no example lies beyond the boundaries of two further
nodes these are linear, and make up for the wrong side: Theorem 2 of tian2020 holds up to the sign
of a filter.  This was found in one of twelve starts that had been chosen before looking.
"""

import numpy as np
import pytest

from tutelage import deep
from tutelage.papers.tian2020 import descents, theorems

SEED = 2028  # the seventh of the starts of Figure 2
STEPS = 25_000


@pytest.fixture(scope="module")
def ended():
    """Student, teacher and examples after gradient descent from the seventh start."""
    x = np.random.default_rng(descents.SEED).normal(size=(1000, 2))
    teacher = deep.teacher(2, inputs=2, outputs=10, data="gaussian:1", seed=SEED)
    start = deep.student(teacher, 3, seed=SEED)
    student = deep.network(
        (start.weights[0], 0.05 * start.weights[1]), [0.1 * b for b in start.biases]
    )
    path = theorems.descent(student, teacher, x, 0.1, steps=STEPS, every=STEPS)
    last = deep.network([W[-1] for W in path.weights], [b[-1] for b in path.biases])
    return last, teacher, x


def cosines(student, teacher):
    unit = [np.asarray(n.weights[0]) for n in (student, teacher)]
    W, T = (w / np.linalg.norm(w, axis=0) for w in unit)
    return W.T @ T


@pytest.mark.slow
def test_no_student_node_is_on_the_side_of_the_second_teacher_node(ended):
    student, teacher, _ = ended
    result = cosines(student, teacher)
    assert result[:, 0].max() > 0.9999
    assert result[:, 1].max() < 0.0 and result[:, 1].min() < -0.9999


@pytest.mark.slow
def test_and_yet_the_student_does_what_its_teacher_does(ended):
    """Its loss is 10⁻⁴ of the variance of the teacher's output, and still falling."""
    student, teacher, x = ended
    y = np.asarray(teacher(x))
    assert np.mean((np.asarray(student(x)) - y) ** 2) < 1e-4 * y.var(axis=0).mean()


def test_two_nodes_that_fire_on_all_examples_but_one_or_two_are_the_linear_part(ended):
    student, _, x = ended
    W, b = (np.asarray(part[0]) for part in (student.weights, student.biases))
    fires = (x @ W + b > 0).mean(axis=0)
    assert np.sum(fires > 0.995) == 2
    strength = np.linalg.norm(np.asarray(student.weights[1]), axis=1)
    assert np.all(strength[fires > 0.995] > 0.5)  # they started at 0.03, and are not prunable


def test_the_opposite_node_has_the_boundary_of_the_teacher_node(ended):
    """Filter and bias change sign together: Lemma 3 would need γ ≠ 0, not γ > 0."""
    student, teacher, _ = ended
    opposite = cosines(student, teacher)[:, 1] < -0.999
    W, b = (np.asarray(part[0])[..., opposite] for part in (student.weights, student.biases))
    distances = np.abs(b / np.linalg.norm(W, axis=0) + float(teacher.biases[0][1]))
    assert distances.min() < 1e-3
