"""ε_g by NumPy against the compiled averages, which are computed in twofold arithmetic."""

from functools import partial

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.averages.recorded_errors import errors_inside_a_program, errors_of_states
from tutelage.model.layout import layout_of

# Terms of order one to ten, a few dozen of them.
ROUNDING = 64 * np.finfo(float).eps


def states(K, M, count, seed=0):
    """Weights of students, some of them equal to another one or to a teacher, or zero."""
    rng = np.random.default_rng(seed)
    J, B = rng.standard_normal((count, K, 7)), rng.standard_normal((M, 7))
    J[::4, 0] = B[0]
    J[1::4, 1] = -J[1::4, 0]
    J[2::4, 1] = 0
    return tl.Overlaps.from_weights(J, np.broadcast_to(B, (count, M, 7)))


@pytest.mark.parametrize(
    ("g", "h"),
    [
        pytest.param(tl.Erf(), tl.Erf(0.5), marks=pytest.mark.slow),
        (tl.ReLU(), tl.ReLU()),
        (tl.LeakyReLU(0.2), tl.Erf()),
    ],
)
def test_states_have_the_compiled_error(g, h):
    K, M, count = 3, 2, 8
    start = states(K, M, count)
    student = tl.Committee(K, g, readout=[[1.0, -0.5, 2.0], [0.0, 1.0, 0.3]])
    teacher = tl.Committee(M, h, readout=[[1.0, 1.0], [0.5, -1.0]])
    scenario = tl.Scenario(student, teacher, start.T[0], output_scale=(0.7, 1.2))
    layout = layout_of(K, M)
    y = layout.vector({"Q": np.asarray(start.Q), "R": np.asarray(start.R)})
    expected = tl.generalization_error(scenario, start)
    error = errors_of_states(scenario, layout, y, np.asarray(start.T))
    np.testing.assert_allclose(error, expected, rtol=ROUNDING, atol=ROUNDING)
    constant = errors_of_states(scenario, layout, y, np.asarray(start.T[0]))
    assert np.array_equal(constant, error)

    learning = layout_of(K, M, outputs=2)
    blocks = {"Q": np.asarray(start.Q), "R": np.asarray(start.R), "readout": student.weights}
    learned = errors_of_states(scenario, learning, learning.vector(blocks), np.asarray(start.T))
    np.testing.assert_allclose(learned, error, rtol=ROUNDING, atol=ROUNDING)

    for of_states, vectors in ((layout, y), (learning, learning.vector(blocks))):
        compiled = jax.jit(partial(errors_inside_a_program, scenario, of_states))
        inside = compiled(vectors, jnp.asarray(start.T))
        np.testing.assert_allclose(inside, error, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("unit", [tl.Erf(), tl.ReLU()])
def test_a_student_beyond_its_teacher_by_an_integration_error_has_a_small_error(unit):
    """The average continues along its tangent: ⟨g h⟩ changes by at most the change of R."""
    scenario = tl.Scenario(tl.Committee(1, unit), tl.Committee(1, unit))
    y = np.array([[1.0, 1.0], [1.0 + 1e-9, 1.0]])  # R and Q
    for function in (errors_of_states, errors_inside_a_program):
        at, beyond = function(scenario, layout_of(1, 1), y, np.ones((1, 1)))
        assert abs(at) <= ROUNDING
        assert 0 < at - beyond <= 1e-9


@pytest.mark.parametrize("unit", [tl.Erf(), tl.ReLU(), tl.LeakyReLU(0.2)])
def test_a_norm_below_zero_by_an_integration_error_has_a_small_effect(unit):
    """One student is the teacher, the norm of the other one goes to zero (straat2019, Fig. 3)."""
    scenario = tl.Scenario(tl.Committee(2, unit), tl.Committee(1, unit))
    start = tl.Overlaps(Q=[[1.0, 0.0], [0.0, 0.0]], R=[[1.0], [0.0]], T=[[1.0]])
    layout = layout_of(2, 1)
    y = layout.vector({"Q": np.asarray(start.Q), "R": np.asarray(start.R)})
    states = y + np.linspace(0, 1e-9, 3)[:, None] * layout.vector(
        {"Q": np.array([[0.0, 1.0], [1.0, -1.0]]), "R": np.array([[0.0], [1.0]])}
    )
    assert states.min() < 0
    errors = errors_of_states(scenario, layout, states, np.ones((1, 1)))
    assert np.all(np.abs(errors) <= 4e-9) and abs(errors[0]) <= ROUNDING


def test_an_error_does_not_depend_on_the_other_states():
    start = states(2, 2, 100)
    scenario = tl.Scenario(tl.Committee(2, tl.ReLU()), tl.Committee(2, tl.ReLU()), start.T[0])
    layout, T = layout_of(2, 2), np.asarray(start.T[0])
    y = layout.vector({"Q": np.asarray(start.Q), "R": np.asarray(start.R)})
    together = errors_of_states(scenario, layout, y, T)
    parts = [errors_of_states(scenario, layout, y[k : k + 7], T) for k in range(0, 100, 7)]
    assert np.array_equal(np.concatenate(parts), together)
    assert errors_of_states(scenario, layout, y[:0], T).shape == (0,)
