"""Phase diagrams over a parameter of the activation."""

import math

import numpy as np
import pytest

import tutelage as tl
from tutelage._checks import InputError
from tutelage.equilibrium import phase_diagram, states, transitions


@pytest.mark.parametrize("K", [2, 5, math.inf])
def test_phases_are_what_the_states_say(K):
    loads = np.array([3.0, 6.2829, 6.285, 6.5, 12.0])
    found = phase_diagram(tl.LeakyReLU, [0.0, 0.1], K, loads)
    for slope in (0.0, 0.1):
        for load in loads:
            here = found.sel(parameter=slope, load=load)
            minima = [s for s in states(tl.LeakyReLU(slope), K, float(load)) if s.kind != "R < S"]
            special = minima[0].kind == "R > S"
            expected = (2 if len(minima) > 1 else 3) if special else len(minima) - 1
            assert int(here["phase"]) == expected
            assert abs(here["generalization_error"] - minima[0].generalization_error) < 1e-12
            assert abs(here["specialization"] - (minima[0].R - minima[0].S)) < 1e-11


def test_lines_are_the_transitions_of_each_activation():
    betas = [0.5, 2.0]
    found = phase_diagram(tl.Swish, betas, 5, [10.0])
    for beta in betas:
        exact = transitions(tl.Swish(beta), 5)
        for name in ("appears", "coexists", "unstable"):
            assert float(found[name].sel(parameter=beta)) == getattr(exact, name).value
        assert str(found["order"].sel(parameter=beta).values) == exact.order


def test_a_leaky_relu_rescales_the_load_of_the_relu_for_infinitely_many_units():
    # κ̃ is that of the ReLU times (1−a)²: only the linear part knows more of the slope.
    slopes = np.array([0.0, 0.25, 0.5, 1.0])
    found = phase_diagram(tl.LeakyReLU, slopes, math.inf, [1.0])
    exact = 2 * math.pi / (1 - slopes[:-1]) ** 2
    assert np.allclose(found["coexists"].values[:-1], exact, rtol=1e-13)
    assert found["order"].values.tolist()[-1] == "none" and np.isnan(found["coexists"].values[-1])


def test_swish_goes_from_linear_units_to_the_relu():
    found = phase_diagram(tl.Swish, [0.05, 40.0], math.inf, [1.0])
    # x/2 + βx²/4 − …: c_2² = β²/8 for small β, with corrections of order β².
    assert float(found["coexists"][0]) == pytest.approx(4 / 0.05**2, rel=0.01)
    # ∫x²g'' = −π²/(3β²): √2 c_2 = ⟨g''⟩ is that of the ReLU times 1 + π²/(6β²) + O(β⁻⁴).
    relu = 2 * math.pi * (1 - math.pi**2 / (3 * 40**2))
    assert float(found["coexists"][1]) == pytest.approx(relu, rel=50 / 40**4)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="family"):
        phase_diagram("Swish", [1.0], 2, [1.0])
    with pytest.raises(InputError, match="family"):
        phase_diagram(lambda beta: beta, [1.0], 2, [1.0])
    with pytest.raises(InputError, match="parameters"):
        phase_diagram(tl.Swish, [2.0, 1.0], 2, [1.0])
    with pytest.raises(InputError, match="beta"):
        phase_diagram(tl.Swish, [-1.0], 2, [1.0])
