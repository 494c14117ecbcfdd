"""Transitions against the exact free energy, in 30 digits, and against print."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from equilibrium.equilibrium_reference import Landscape, leaky_kernel
from mpmath import mp

import tutelage as tl
from tutelage._jax import jnp
from tutelage.equilibrium import states, transitions

UNITS = {"Erf": tl.Erf(), "ReLU": tl.ReLU()}


def honest(estimate, exact) -> bool:
    """Ten digits, and an error estimate that is at least the true error."""
    difference = abs(estimate.value - float(exact))
    return difference <= estimate.error and estimate.error < 1e-10 * estimate.value


@pytest.mark.parametrize(
    ("name", "K"), [("Erf", 3), ("Erf", 5), ("Erf", 100), ("ReLU", 3), ("ReLU", 10), ("ReLU", 100)]
)
def test_loads_are_those_of_the_exact_free_energy(name, K):
    result, exact = transitions(UNITS[name], K), Landscape(name, K)
    special, flat = result.specialized, result.unspecialized
    start = (result.coexists.value, special.R, special.S, special.C, flat.R, flat.C)
    assert honest(result.coexists, exact.coexistence(start)[0])
    start = (result.unstable.value, flat.R, flat.C)
    assert honest(result.unstable, exact.instability(start)[0])


@pytest.mark.parametrize(
    ("slope", "K"), [(0.1, 5), (0.97, 3), (0.97, 5), (0.97, 10), (0.99, 5), (0.999, 5)]
)
def test_errors_of_nearly_linear_units_are_neither_too_small_nor_too_large(slope, K):
    """Errors are 64 roundings of the load, and the load is off by fewer."""
    result = transitions(tl.LeakyReLU(slope), K)
    special, flat = result.specialized, result.unspecialized
    start = (result.coexists.value, special.R, special.S, special.C, flat.R, flat.C)
    with mp.workdps(50):  # free energies of slope 0.999 agree in ten more digits than of erf
        exact = Landscape(leaky_kernel(slope), K).coexistence(start, tolerance=mp.mpf(10) ** -60)
        wrong = abs(float(mp.mpf(result.coexists.value) - exact[0]))
    rounding = np.finfo(float).eps * result.coexists.value
    assert wrong <= result.coexists.error <= 100 * max(wrong, rounding)


@pytest.mark.parametrize(("name", "K"), [("Erf", 5), ("ReLU", 10)])
def test_the_specialized_state_appears_where_the_exact_hessian_is_singular(name, K):
    result = transitions(UNITS[name], K)
    near = states(UNITS[name], K, result.appears.value * (1 + 1e-6), saddles=True)
    state = min((s for s in near if s.kind == "R > S"), key=lambda s: s.R)
    root = Landscape(name, K).fold((result.appears.value, state.R, state.S, state.C))
    # mpmath differentiates the free energy numerically: 30 digits leave 1e-14 of the fold.
    assert abs(result.appears.value - float(root[0])) < max(result.appears.error, 1e-12)


def test_reference_values():
    # Known to the digits shown from independent computations.
    assert f"{transitions(tl.Erf(), 2).coexists.value:.6f}" == "23.675957"
    assert f"{transitions(tl.ReLU(), 2).coexists.value:.7f}" == "6.0940739"
    large = transitions(tl.Erf(), math.inf)
    assert f"{large.appears.value:.4f} {large.coexists.value:.4f}" == "60.9926 69.0875"
    assert abs(transitions(tl.ReLU(), math.inf).coexists.value - 2 * math.pi) < 1e-13


def test_two_units_specialize_continuously_with_exponent_one_half():
    for g in (tl.Erf(), tl.ReLU(), tl.Tanh(), tl.Swish()):
        result = transitions(g, 2)
        assert result.order == "continuous" and result.jump == 0
        assert abs(result.exponent.value - 0.5) < result.exponent.error < 1e-3
        assert result.appears == result.coexists == result.unstable and result.width == 0


@pytest.mark.parametrize("K", [3, 4, 10, 100])
def test_three_or_more_relus_specialize_discontinuously_if_weakly(K):
    # oostwal2019 section III B calls the transition continuous for every K.
    result = transitions(tl.ReLU(), K)
    assert result.order == "discontinuous" and result.slope < 0
    assert result.appears.value < result.coexists.value < result.unstable.value
    assert result.width == result.unstable.value - result.appears.value
    middle = 0.5 * (result.coexists.value + result.unstable.value)
    pair = states(tl.ReLU(), K, middle)
    assert [s.kind for s in pair] == ["R > S", "unspecialized"]
    assert all(s.stable for s in pair)
    # The exact free energy agrees: the gap is far above its rounding.
    exact = Landscape("ReLU", K)
    gap = [exact.free_energy(middle, *exact.state(middle, (s.R, s.S, s.C))) for s in pair]
    assert float(gap[0] - gap[1]) < -1e-12


def test_the_jump_of_relus_shrinks_like_one_over_K():
    jumps = [K * transitions(tl.ReLU(), K).jump for K in (10**3, 10**4, 10**5)]
    assert np.allclose(jumps, jumps[-1], rtol=0.01)


def test_at_the_printed_value_five_sigmoidal_units_have_specialized_already():
    # Printed: α_c(5) ≈ 46.6 and α_d(5) ≈ 62.8.  Exact: 45.9137 and 62.2146.
    best, flat = states(tl.Erf(), 5, 46.6)
    assert best.kind == "R > S" and flat.kind == "unspecialized"
    assert flat.free_energy - best.free_energy == pytest.approx(0.011881935, abs=1e-8)
    at = (46.6, 0.664, 0.082, -0.0004), (46.6, 0.1983, 0.1983, -0.00086)
    exact = Landscape("Erf", 5)
    energies = [exact.free_energy(a, *exact.state(a, start)) for a, *start in at]
    assert abs(float(energies[1] - energies[0]) - (flat.free_energy - best.free_energy)) < 1e-12
    # What is near 62.8 is the load at which C changes its sign in the state R < S.
    C = [next(s.C for s in states(tl.Erf(), 5, a) if s.kind == "R < S") for a in (62.82, 62.83)]
    assert C[0] < 0 < C[1]


@pytest.mark.parametrize("K", [10**3, 10**6])
def test_sigmoidal_units_lose_the_unspecialized_state_at_four_pi_K(K):
    assert abs(transitions(tl.Erf(), K).unstable.value / (4 * math.pi * K) - 1) < 3 / K**2 + 1e-13


@pytest.mark.parametrize("K", [3, 10])
def test_where_negative_specialization_is_a_minimum(K):
    result = transitions(tl.ReLU(), K)
    assert result.opposite.value == result.unstable.value  # among site-symmetric states
    if K == 3:
        assert result.opposite_stable is None
        return
    load = result.opposite_stable.value
    below, above = (
        next(s for s in states(tl.ReLU(), K, load + x) if s.kind == "R < S") for x in (-1e-9, 1e-9)
    )
    assert not below.stable and above.stable
    # The eigenvalue that changes its sign, 1/B − ακ''(S), in 30 digits.
    exact = Landscape("ReLU", K)
    R, S, C = exact.state(load, (above.R, above.S, above.C))
    assert abs(float(1 / (1 - C - (R - S) ** 2) - load * exact.second(S))) < 1e-12


def test_the_slope_of_the_free_energy_is_the_error():
    # d(βf/K)/dα = ε_g along any branch of stationary states.
    h = 1e-3
    for kind in ("R > S", "unspecialized"):
        f = [next(s for s in states(tl.Erf(), 5, 50.0 + x) if s.kind == kind) for x in (-h, 0.0, h)]
        slope = (f[2].free_energy_per_unit - f[0].free_energy_per_unit) / (2 * h)
        assert abs(slope - f[1].generalization_error) < 1e-9  # h² times a third derivative


@pytest.mark.parametrize("g", [tl.Erf(), tl.ReLU(), tl.Swish()], ids=lambda g: g.name)
@pytest.mark.parametrize("K", [2, 3, 10, 1000])
def test_the_unspecialized_state_loses_its_stability_there_and_not_before(g, K):
    load = transitions(g, K).unstable.value
    for factor, stable in ((0.3, True), (1 - 1e-7, True), (1 + 1e-7, False), (3.0, False)):
        flat = [s for s in states(g, K, factor * load, saddles=True) if s.kind == "unspecialized"]
        assert [s.stable for s in flat] == [stable]


@pytest.mark.parametrize(("g", "K"), [(tl.Linear(), 3), (tl.Linear(), math.inf), (tl.ReLU(), 1)])
def test_linear_and_single_units_have_no_transition(g, K):
    result = transitions(g, K)
    assert result.order == "none" and result.appears is None and result.reasons["appears"]


def test_a_constant_added_to_all_units_changes_nothing():
    assert transitions(tl.Erf(1.0), 5).coexists == transitions(tl.Erf(), 5).coexists


def test_a_factor_of_the_activation_only_rescales_the_load():
    # 1/2 + tanh(x)/2 is the sigmoid of steepness 2: κ̃ is a quarter of that of tanh.
    tanh, sigmoid = transitions(tl.Tanh(), 4), transitions(tl.Sigmoid(2.0), 4)
    for name in ("appears", "coexists", "unstable"):
        ratio = getattr(sigmoid, name).value / getattr(tanh, name).value
        assert abs(ratio - 4) < 1e-11


@pytest.mark.parametrize("beta", [0.01, 0.02, 0.03, 0.05])
def test_nearly_linear_units_have_a_transition_too(beta):
    """Swish is x/2 + βx²/4 + O(β³): c_2² = β²/8, and α_c β² → 4 for small β, at any K.

    The jump vanishes like β³; where it is below rounding the loads still have to come out in
    order and agree to the width of the coexistence, which is below rounding, too.
    """
    transitions = tl.equilibrium.transitions(tl.Swish(beta), 5)
    loads = [
        float(e.value) for e in (transitions.appears, transitions.coexists, transitions.unstable)
    ]
    assert loads == sorted(loads) or np.ptp(loads) <= 1e-12 * loads[0]
    assert abs(loads[1] * beta**2 / 4 - 1) < 2 * beta**2  # the next order
    assert np.ptp(loads) <= 1e-9 * loads[0]


def test_a_weak_transition_wins_at_four_thirds_of_its_fold():
    """α ≈ α_0 + aV + bV²: the load turns at -a/2b, the free energies are equal at -2a/3b."""
    transitions = tl.equilibrium.transitions(tl.Swish(0.1), 5)
    curve = tl.equilibrium.learning_curve(tl.Swish(0.1), 5, [0.0])
    V = (curve["curve_R"] - curve["curve_S"]).values
    fold = V[np.argmin(curve["curve_load"].values)]
    assert transitions.jump == pytest.approx(4 / 3 * abs(fold), rel=1e-4)  # corrections of order V


def test_a_single_unit_may_jump():
    """sin 3x has κ = e⁻⁹ sinh 9ρ: R/(1 - R²) = α κ'(R) has three solutions between two folds.

    The states before and after the jump are compared by a root of the free energies written out.
    """
    g = tl.Activation.from_function(lambda x: jnp.sin(3 * x), parity="odd")
    transitions = tl.equilibrium.transitions(g, 1)

    def load(R):
        return R / ((1 - R**2) * 9 * np.exp(-9) * np.cosh(9 * R))

    def free_energy(alpha, R):
        return -alpha * np.exp(-9) * np.sinh(9 * R) - 0.5 * np.log(1 - R**2)

    fold = scipy.optimize.minimize_scalar(load, bounds=(0.3, 0.999), options={"xatol": 1e-12}).x
    peak = scipy.optimize.minimize_scalar(
        lambda R: -load(R), bounds=(0.01, 0.3), method="bounded", options={"xatol": 1e-12}
    ).x

    def difference(alpha):
        low = scipy.optimize.brentq(lambda R: load(R) - alpha, 1e-9, peak)
        high = scipy.optimize.brentq(lambda R: load(R) - alpha, fold, 0.9999)
        return free_energy(alpha, high) - free_energy(alpha, low)

    alpha_c = scipy.optimize.brentq(difference, load(fold) * 1.001, load(peak) * 0.999)
    # Minima are found to the root of rounding, loads there to rounding; kernels by series to 1e-13.
    assert float(transitions.coexists.value) == pytest.approx(alpha_c, rel=1e-9)
    assert float(transitions.appears.value) == pytest.approx(load(fold), rel=1e-9)
    assert float(transitions.unstable.value) == pytest.approx(load(peak), rel=1e-9)
    assert transitions.width == pytest.approx(load(peak) - load(fold), rel=1e-8)


def test_a_single_steep_swish_does_not_jump_but_has_a_state_opposite_to_the_teacher():
    """κ'(−1) = ⟨g'(u) g'(−u)⟩ < 0: next to R = −1 there is a minimum, on a separate curve.

    α = R/[(1−R²) κ'(R)] > 0 there is lowest where it turns; κ' by Gauss–Hermite quadrature, whose
    error falls sevenfold with 50 more nodes: from 250 to 300 the load changes by 1e-4 of itself.
    """
    result = transitions(tl.Swish(5.0), 1)
    assert result.order == "none" and result.appears is None and result.coexists is None
    z, w = np.polynomial.hermite_e.hermegauss(300)

    def slope(x):
        s = scipy.special.expit(5 * x)
        return s + 5 * x * s * (1 - s)

    def load(R):
        w_plane = np.outer(w, w) / (2 * np.pi)
        first = np.sum(w_plane * slope(z)[:, None] * slope(R * z[:, None] + np.sqrt(1 - R**2) * z))
        return R / ((1 - R**2) * first)

    lowest = scipy.optimize.minimize_scalar(load, bounds=(-0.9999, -0.995), method="bounded")
    assert result.opposite.value == pytest.approx(lowest.fun, rel=1e-4)
    assert result.opposite.value == result.opposite_stable.value
    assert [s.kind for s in states(tl.Swish(5.0), 1, 1.01 * lowest.fun)] == ["R > 0", "R < 0"]
    assert [s.kind for s in states(tl.Swish(5.0), 1, 0.99 * lowest.fun)] == ["R > 0"]


@pytest.mark.parametrize("load", [1e11, 1e70])
def test_loads_at_which_a_state_is_the_teacher_up_to_rounding_are_refused(load):
    with pytest.raises(tl.InputError, match="within rounding"):
        tl.equilibrium.states(tl.ReLU(), 2, load)
    with pytest.raises(tl.InputError, match="within rounding"):
        tl.equilibrium.learning_curve(tl.Erf(), 5, [1.0, load])


def test_more_units_than_float64_can_count_are_refused():
    with pytest.raises(tl.InputError, match="units"):
        tl.equilibrium.transitions(tl.Tanh(), 10**400)
