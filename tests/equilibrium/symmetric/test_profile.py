"""The free energy over R − S: its stationary points are the states."""

import math

import numpy as np
import pytest
from equilibrium.equilibrium_reference import Landscape
from scipy.optimize import minimize

import tutelage as tl

CASES = [(tl.Erf(), 5, 46.0), (tl.ReLU(), 2, 8.0), (tl.ReLU(), 10, 10.0), (tl.Erf(), 1, 5.0),
         (tl.ReLU(), math.inf, 7.0)]  # fmt: skip


def value(g, K, load, V):
    return tl.equilibrium.free_energy(g, K, load, V)["free_energy_per_unit"].values


@pytest.mark.parametrize(("g", "K", "load"), CASES)
def test_states_are_its_stationary_points(g, K, load):
    for state in tl.equilibrium.states(g, K, load, saddles=True):
        V = state.R if K in (1, math.inf) else state.R - state.S
        step = 1e-4
        below, here, above = value(g, K, load, [V - step, V, V + step])
        # Nothing but rounding: terms are α ε_g, of order one.
        assert abs(here - state.free_energy_per_unit) < 1e-14 * (1 + load)
        # A central difference is off by step²/6 times a third derivative, of order 10² here.
        assert abs(above - below) / (2 * step) < 1e-6
        assert (above + below > 2 * here) == state.site_stable


@pytest.mark.parametrize("name", ["Erf", "ReLU"])
def test_nothing_with_this_specialization_is_lower(name):
    K, load, g = 3, 9.0, {"Erf": tl.Erf(), "ReLU": tl.ReLU()}[name]
    exact, V = Landscape(name, K), [-0.8, -0.2, 0.3, 0.9]
    result = tl.equilibrium.free_energy(g, K, load, V)

    def energy(x, V):
        S, C = x
        A, B = 1 + (K - 1) * C - (V + K * S) ** 2, 1 - C - V**2
        inside = max(abs(V + S), abs(S), abs(C)) < 1 and A > 0 and B > 0
        return float(exact.free_energy(load, V + S, S, C)) / K if inside else 1e3

    for i, v in enumerate(V):
        start = [float(result[n][i]) + 0.01 for n in "SC"]
        low = minimize(
            energy, start, (v,), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-13}
        )
        # At a minimum an error of 1e-8 in its place is 1e-16 times a curvature, of order 10².
        assert abs(low.fun - float(result["free_energy_per_unit"][i])) < 1e-11


def test_no_student_has_more_than_there_is():
    assert np.isnan(value(tl.Erf(), 3, 5.0, [-1.5, 1.3])).all()  # V² < K/(K − 1)
    assert np.isnan(value(tl.Erf(), math.inf, 5.0, [-1.0, 1.0])).all()
