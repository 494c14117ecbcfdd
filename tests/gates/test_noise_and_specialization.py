"""Where committees of noisy gates specialize: exact limits of little and of much noise."""

import math

import mpmath as mp
import numpy as np
import pytest
from gates.gate_reference import EPSILON

import tutelage as tl
from tutelage.gates import Gate, curves, specialization_loads

TWO = Gate([0, 1])


def alpha_c(beta, units):
    return specialization_loads(TWO, beta, units)["coexists"].values


@pytest.mark.parametrize(("units", "published"), [(2, 6.0940739), (math.inf, 2 * math.pi)])
def test_without_noise_the_load_is_that_of_the_relu(units, published):
    result = specialization_loads(TWO, math.inf, units)
    relu = tl.equilibrium.transitions(tl.ReLU(), units)
    assert result["coexists"].item() == relu.coexists.value
    assert abs(result["coexists"].item() - published) < 5e-8
    assert result["order"].item() == relu.order == "continuous"


@pytest.mark.parametrize("units", [2, math.inf])
def test_in_pure_noise_units_are_linear_and_nothing_specializes(units):
    result = specialization_loads(TWO, 0.0, units)
    assert result["order"].item() == "none"
    assert all(result[name].item() == math.inf for name in ("appears", "coexists", "unstable"))


def test_much_noise_moves_the_transition_to_4_over_beta_squared():
    """g = h/2 + βh²/4 + …: c_2 = β√2/4 (1 − β²/2 + …), and α = 1/(2c_2²) for K → ∞.

    For any K the linear part is learned at once, and ακ'' = 1 with κ'' = 2c_2²: the same limit.
    """
    beta = np.array([0.02, 0.04])
    excess = alpha_c(beta, math.inf) * beta**2 - 4
    assert np.allclose(excess, 4 * beta**2, rtol=0.01)  # the next term is of order β⁴
    excess = alpha_c(beta, 2) * beta**2 - 4
    assert np.all(np.abs(excess) < 0.02) and abs(excess[1] / excess[0] - 4) < 0.02


@pytest.mark.slow
def test_little_noise_lowers_the_load_at_first():
    """δg = −|h| σ(−β|h|), so that c_2 grows: c_2/c_2[ReLU] = 1 + a/β² − b/β⁴ + …

    with ∫ z σ(−βz) = π²/(12β²), ∫ z³ σ(−βz) = 7π⁴/(120β⁴) and φ(z)(1 − z²) = φ(0)(1 − 3z²/2 + …):
    a = π²/6, b = 7π⁴/40, and α = 2π [1 − 2a/β² + (3a² + 2b)/β⁴ − …].
    """
    beta = np.array([20.0, 40.0])
    a, b = math.pi**2 / 6, 7 * math.pi**4 / 40
    series = 1 - 2 * a / beta**2 + (3 * a**2 + 2 * b) / beta**4
    rest = alpha_c(beta, math.inf) / (2 * math.pi) - series
    assert np.all(np.abs(rest) < 0.1 * (1 - series))
    assert abs(math.log2(rest[0] / rest[1]) - 6) < 0.2  # the next order is 1/β⁶


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_many_units_specialize_at_1_over_twice_c_2_squared(beta):
    """c_2 by mpmath, from ⟨(z² − 1) g(z)⟩/√2."""

    def integrand(z):
        return mp.npdf(z) * (z**2 - 1) * z / (1 + mp.exp(-beta * z))

    c2 = mp.quad(integrand, [-15, -4, -1, 0, 1, 4, 15]) / mp.sqrt(2)
    assert abs(alpha_c(beta, math.inf) - float(1 / (2 * c2**2))) < 1e-9


def test_signals_of_signs_have_no_linear_part_to_learn_first():
    """|h| for K → ∞: c_2 = 1/√π, so that α_c = π/2, the same as for two units."""
    results = [
        specialization_loads(Gate([-1, 1]), math.inf, K)["coexists"].item() for K in (2, math.inf)
    ]
    assert np.allclose(results, math.pi / 2, rtol=0, atol=1e-12)


def test_curves_tabulate_what_the_gate_computes():
    gate, beta, h = Gate([0, 0.5, 2], [1, 3, 0.5]), [0.0, 1.5, math.inf], [-1.0, 0.0, 2.0]
    result = curves(gate, beta, h)
    for i, b in enumerate(beta):
        assert np.array_equal(result["expectation"][i], gate.mean(b, h))
        assert np.array_equal(result["signal"][i], gate.transmitted(b, h))
        assert np.array_equal(result["variance"][i], gate.variance(b, h))
        factor = tl.gates.backpropagation_factor(gate, b, h)
        assert np.allclose(result["backpropagation_factor"][i], factor, rtol=0, atol=8 * EPSILON)
    S = tl.gates.thermodynamics(gate, 1.5, h).entropy
    assert np.allclose(result["entropy"][1], S, rtol=0, atol=8 * EPSILON)
    assert tl.results.recompute(result).equals(result)


def test_tables_are_saved_and_reopened(tmp_path):
    result = specialization_loads(TWO, [0.0, math.inf], math.inf)
    tl.results.save(result, tmp_path / "loads.nc")
    loaded = tl.results.load(tmp_path / "loads.nc")
    assert loaded["coexists"].equals(result["coexists"])
    assert list(loaded["order"].values) == list(result["order"].values)
