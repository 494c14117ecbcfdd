"""States at a load: the minima, their order, their stability, their limits."""

import math

import numpy as np
import pytest
from equilibrium.equilibrium_reference import Landscape
from scipy.optimize import minimize

import tutelage as tl
from tutelage._checks import InputError
from tutelage.equilibrium import states

UNITS = {"Erf": tl.Erf(), "ReLU": tl.ReLU()}
KAPPA = {
    "Erf": lambda r: 2 / np.pi * np.arcsin(r / 2),
    "ReLU": lambda r: r / 4 + (np.sqrt(1 - r**2) + r * np.arcsin(r)) / (2 * np.pi),
}


def kinds(found) -> list[str]:
    return [state.kind for state in found]


@pytest.mark.parametrize(
    ("name", "K", "load"), [("Erf", 5, 46.0), ("ReLU", 10, 9.0), ("ReLU", 3, 6.25)]
)
def test_every_state_is_a_root_of_the_exact_gradient_nearby(name, K, load):
    for state in states(UNITS[name], K, load, saddles=True):
        exact = Landscape(name, K).state(load, (state.R, state.S, state.C))
        # Next to a fold roots are as good as the square root of rounding; none is so close here.
        assert np.allclose([state.R, state.S, state.C], [float(x) for x in exact], atol=2e-13)
        energy = Landscape(name, K).free_energy(load, *exact)
        assert abs(state.free_energy - float(energy)) < 1e-13 * abs(float(energy)) + 1e-13


@pytest.mark.parametrize(
    ("name", "K", "load"),
    [("Erf", 5, 45.5), ("Erf", 5, 80.0), ("ReLU", 3, 6.25), ("ReLU", 10, 9.0), ("Erf", 2, 30.0)],
)
def test_no_minimum_is_missed(name, K, load):
    # Descent of the free energy, written out again, from 40 random overlaps (fixed seed).
    kappa = KAPPA[name]

    def free_energy(x):
        R, S, C = x
        A, B = 1 + (K - 1) * C - (R + (K - 1) * S) ** 2, 1 - C - (R - S) ** 2
        if not (A > 0 and B > 0 and max(abs(R), abs(S), abs(C)) < 1):
            return np.inf
        energy = -kappa(R) + (K - 1) * (0.5 * kappa(C) - kappa(S))
        return load * K * energy - 0.5 * np.log(A) - 0.5 * (K - 1) * np.log(B)

    random = np.random.default_rng(5)
    known = np.array([(s.R, s.S, s.C) for s in states(UNITS[name], K, load)])
    reached = set()
    for _ in range(40):
        W = random.normal(size=3)
        U, V = np.tanh(W[:2])
        start = np.array([(U + (K - 1) * V) / K, (U - V) / K, 0.0]) * 0.9
        options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}
        end = minimize(free_energy, start, method="Nelder-Mead", options=options).x
        distance = np.max(np.abs(known - end), axis=1)
        assert np.min(distance) < 1e-4, f"a minimum at {end} is not in the list"
        reached.add(int(np.argmin(distance)))
    assert reached == set(range(len(known)))


def test_the_minima_of_five_sigmoidal_units_are_those_of_the_four_regimes():
    # oostwal2019 section III A: (a), (b), (c) and (d), with the exact boundaries.
    assert kinds(states(tl.Erf(), 5, 44.0)) == ["unspecialized"]
    assert kinds(states(tl.Erf(), 5, 45.0)) == ["unspecialized", "R > S"]
    assert kinds(states(tl.Erf(), 5, 46.6)) == ["R > S", "unspecialized"]
    assert kinds(states(tl.Erf(), 5, 62.8)) == ["R > S", "R < S"]


@pytest.mark.parametrize(("g", "K"), [(tl.Erf(), 5), (tl.ReLU(), 3), (tl.ReLU(), 5)])
def test_negative_specialization_is_a_saddle_beyond_site_symmetry(g, K):
    # A minimum in R, S and C, as oostwal2019 says, but not in all overlaps: exchanging students
    # pairwise without changing any row sum (representation [K−2, 1, 1]) lowers the free energy.
    for load in (70.0, 1000.0):
        state = next(s for s in states(g, K, load) if s.kind == "R < S")
        lowest = {b.representation: b.eigenvalues[0] for b in state.blocks}
        assert state.site_stable and not state.stable
        assert lowest["[K-2, 1, 1]"] < 0


def test_negative_specialization_of_ten_relus_is_stable_at_large_loads_only():
    early, late = (
        next(s for s in states(tl.ReLU(), 10, a) if s.kind == "R < S") for a in (7.5, 7.7)
    )
    assert not early.stable and late.stable
    assert late.R < 0 < late.S


@pytest.mark.parametrize("g", [tl.Erf(), tl.ReLU(), tl.Swish()], ids=lambda g: g.name)
@pytest.mark.parametrize("K", [1, 2, 5, math.inf])
def test_the_error_falls_like_one_over_twice_the_load(g, K):
    # oostwal2019 Appendix C: ½ for each of KN weights, over αKN.  The next order is α^(−3/2) for
    # units with a kink.
    for load, tolerance in ((1e4, 0.02), (1e6, 0.002)):
        best = states(g, K, load)[0]
        assert best.kind in ("R > S", "R > 0")
        assert abs(2 * load * best.generalization_error - 1) < tolerance


@pytest.mark.parametrize("R", [0.1, 0.5, 0.9])
def test_a_single_unit_has_the_loads_of_appendix_c(R):
    erf = math.pi * R * math.sqrt(4 - R**2) / (2 * (1 - R**2))  # eq. (32)
    relu = 4 * math.pi * R / ((1 - R**2) * (math.pi + 2 * math.asin(R)))  # eq. (33)
    for g, load in ((tl.Erf(), erf), (tl.ReLU(), relu)):
        (state,) = states(g, 1, load)
        assert abs(state.R - R) < 1e-14 and math.isnan(state.S) and state.stable


@pytest.mark.parametrize(("g", "load"), [(tl.Erf(), 65.0), (tl.ReLU(), 9.0), (tl.Tanh(), 50.0)])
def test_a_million_units_are_infinitely_many_up_to_terms_in_one_over_K(g, load):
    many, infinite = states(g, 10**6, load), states(g, math.inf, load)
    assert sorted(kinds(many)) == sorted(kinds(infinite))
    for state in many:
        other = next(s for s in infinite if s.kind == state.kind)
        assert abs(state.R - other.R) < 1e-4 and state.stable == other.stable
        assert abs(state.generalization_error - other.generalization_error) < 1e-5


def test_both_relu_states_have_equal_errors_for_infinitely_many_units():
    positive, negative = states(tl.ReLU(), math.inf, 20.0)
    assert pytest.approx(-negative.R, abs=1e-14) == positive.R
    assert positive.generalization_error == pytest.approx(negative.generalization_error, abs=1e-15)


def test_without_examples_nothing_is_learned():
    for K in (2, 10**6):
        (state,) = states(tl.ReLU(), K, 0.0)
        assert (state.R, state.S, state.C) == (0, 0, 0)
        assert abs(state.generalization_error - (1 / 2 - 1 / (2 * math.pi))) < 1e-14


def test_linear_units_have_one_state():
    (state,) = states(tl.Linear(), 4, 7.0)
    assert state.kind == "unspecialized" and state.stable


@pytest.mark.parametrize(
    ("units", "load", "message"),
    [
        (0, 1.0, "units: got 0"),
        (2.5, 1.0, "units: got 2.5"),
        (True, 1.0, "units: got True"),
        (math.nan, 1.0, "units: got nan"),
        (2, -1.0, "load: got -1"),
        (2, math.nan, "load: got nan"),
        (2, math.inf, "load: got inf"),
    ],
)
def test_bad_input_is_refused_by_name(units, load, message):
    with pytest.raises(InputError, match=message):
        states(tl.ReLU(), units, load)


def test_at_a_transition_no_state_is_stable_that_loses_its_stability_there():
    """Strict, as everywhere: the eigenvalue that vanishes is zero up to rounding."""
    load = tl.equilibrium.transitions(tl.Erf(), 5).unstable.value
    for side, stable in ((1 - 1e-6, True), (1.0, False), (1 + 1e-6, False)):
        states = tl.equilibrium.states(tl.Erf(), 5, load * side, saddles=True)
        (flat,) = [state for state in states if state.kind == "unspecialized"]
        assert flat.stable is stable
