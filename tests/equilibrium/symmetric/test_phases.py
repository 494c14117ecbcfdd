"""Phases of one activation, compared with its states, transitions, and known limits."""

import math

import numpy as np
import pytest

import tutelage as tl
from tutelage._checks import InputError
from tutelage.equilibrium import phases, states, transitions
from tutelage.equilibrium.symmetric.phases import PHASES


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("K", [2, 5, math.inf])
def test_phases_are_what_the_states_say(K, slope):
    loads = np.array([3.0, 6.2829, 6.285, 6.5, 12.0])
    diagram = phases(tl.LeakyReLU(slope), K, loads)
    for load in loads:
        here = diagram.sel(load=load)
        minima = [s for s in states(tl.LeakyReLU(slope), K, float(load)) if s.kind != "R < S"]
        special = minima[0].kind == "R > S"
        expected = (2 if len(minima) > 1 else 3) if special else len(minima) - 1
        assert here["phase"] == PHASES[expected]
        assert abs(here["generalization_error"] - minima[0].generalization_error) < 1e-12
        assert abs(here["specialization"] - (minima[0].R - minima[0].S)) < 1e-11


def test_lines_are_the_transitions_of_the_activation():
    for beta in (0.5, 2.0):
        result, exact = phases(tl.Swish(beta), 5, [10.0]), transitions(tl.Swish(beta), 5)
        for name in ("appears", "coexists", "unstable"):
            assert float(result[name]) == getattr(exact, name).value
        assert result["order"] == exact.order


def coexists(unit):
    return float(phases(unit, math.inf, [1.0])["coexists"])


def test_a_leaky_relu_rescales_the_load_of_the_relu_for_infinitely_many_units():
    # κ̃ is that of the ReLU times (1−a)²: only the linear part knows more of the slope.
    for slope in (0.0, 0.25, 0.5):
        exact = 2 * math.pi / (1 - slope) ** 2
        assert coexists(tl.LeakyReLU(slope)) == pytest.approx(exact, rel=1e-13)
    linear = phases(tl.LeakyReLU(1.0), math.inf, [1.0])
    assert linear["order"] == "none" and np.isnan(linear["coexists"])


def test_swish_goes_from_linear_units_to_the_relu():
    # x/2 + βx²/4 − …: c_2² = β²/8 for small β, with corrections of order β².
    assert coexists(tl.Swish(0.05)) == pytest.approx(4 / 0.05**2, rel=0.01)
    # ∫x²g'' = −π²/(3β²): √2 c_2 = ⟨g''⟩ is that of the ReLU times 1 + π²/(6β²) + O(β⁻⁴).
    relu = 2 * math.pi * (1 - math.pi**2 / (3 * 40**2))
    assert coexists(tl.Swish(40.0)) == pytest.approx(relu, rel=50 / 40**4)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="activation"):
        phases("Swish", 2, [1.0])
    with pytest.raises(InputError, match="loads"):
        phases(tl.Swish(1.0), 2, [2.0, 1.0])


def test_loads_beyond_rounding_are_refused_and_not_missing():
    """Beyond them a specialized state is the teacher up to rounding, and has no number."""
    for setting in ({}, {"temperature": 0.1}):
        with pytest.raises(tl.InputError, match="rounding"):
            tl.equilibrium.phases(tl.ReLU(), math.inf, [1.0, 1e12], **setting)
