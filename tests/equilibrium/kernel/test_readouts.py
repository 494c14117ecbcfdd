"""Students of norm one with fixed readouts: the sum over pairs against ε_g of all overlaps."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.equilibrium.kernel.pair_error import PairError

V, V_TEACHER = np.array([[0.5, -1.2], [0.3, 0.9]]), np.array([[1.0, 0.4, -0.7], [-0.6, 1.5, 0.2]])


def state(seed):
    W = np.random.default_rng(seed).normal(size=(5, 8))
    W[:2] /= np.linalg.norm(W[:2], axis=1, keepdims=True)
    return tl.Overlaps.from_weights(W[:2], W[2:])


@pytest.mark.parametrize("g", [tl.Erf(), tl.ReLU()])
def test_pairs_add_up_to_the_generalization_error(g):
    o = state(0)
    student, teacher = tl.Committee(2, g, V), tl.Committee(3, g, V_TEACHER)
    scenario = tl.Scenario(student, teacher, o.T, output_scale=(0.8, 1.1))
    error = PairError(scenario)
    exact = float(tl.generalization_error(scenario, o))
    # Kernels are polynomials to 1e-13 of values of order ten.
    assert abs(float(error(error.pairs(o.Q, o.R))) - exact) < 1e-11


def test_graded_readouts_make_graded_minima():
    """The unit with the larger readout specializes more, and minima keep the names of units."""
    two = tl.Committee(2, tl.Erf(), [1.0, 0.5])
    scenario = tl.Scenario(two, two, output_scale=1 / np.sqrt(2))
    lowest = tl.equilibrium.minima(scenario, 40.0, starts=16)[0]
    R = np.asarray(lowest.overlaps.R)
    assert R[0, 0] > R[1, 1] > R[1, 0] > 0
    exact = float(tl.generalization_error(scenario, lowest.overlaps))
    assert abs(lowest.generalization_error - exact) < 1e-12
    # A readout twice as large for both is a load four times as large.
    double = tl.Committee(2, tl.Erf(), [2.0, 1.0])
    same = tl.equilibrium.minima(
        tl.Scenario(double, double, output_scale=1 / np.sqrt(2)), 10.0, starts=16
    )[0]
    np.testing.assert_allclose(same.overlaps.R, R, atol=1e-8)
