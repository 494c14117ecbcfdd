"""Infinitely many units, and what Hermite coefficients say about a transition."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import mp

import tutelage as tl
from tutelage.equilibrium import states, transition_kind, transitions


def polynomial(*coefficients: float) -> tl.Activation:
    """Σ c_n h_n(x), n = 0, 1, …, with normalised Hermite polynomials."""
    he = [lambda x: 1.0 + 0 * x, lambda x: x]
    for n in range(1, 8):
        he.append(lambda x, n=n, a=he[n], b=he[n - 1]: x * a(x) - n * b(x))

    def f(x):
        terms = (c / math.sqrt(math.factorial(n)) * he[n](x) for n, c in enumerate(coefficients))
        return jnp.asarray(sum(terms))

    return tl.Activation.from_function(f, name=f"polynomial{coefficients}")


def test_sigmoidal_loads_are_those_of_the_explicit_equation():
    # α κ̃'(R) = R/(1−R²) with κ̃' = (2/π)[1/√(4−R²) − 1/2].
    def kappa(R):
        return 2 / mp.pi * (mp.asin(R / 2) - R / 2)

    def load(R):
        return R / (1 - R**2) / (2 / mp.pi * (1 / mp.sqrt(4 - R**2) - mp.mpf(1) / 2))

    result = transitions(tl.Erf(), math.inf)
    fold = mp.findroot(lambda R: mp.diff(load, R), 0.6)
    assert abs(result.appears.value - float(load(fold))) <= result.appears.error
    difference = lambda R: load(R) * kappa(R) + mp.log(1 - R**2) / 2  # noqa: E731
    equal = mp.findroot(difference, (0.7, 0.8), solver="anderson")
    assert abs(result.coexists.value - float(load(equal))) <= result.coexists.error
    assert result.unstable is None and result.width is None
    assert "stable at any load" in result.reasons["width"]


@pytest.mark.parametrize("g", [tl.Erf(), tl.Tanh(), tl.LeakyReLU(0.2)], ids=lambda g: g.name)
def test_finite_networks_approach_the_limit_like_one_over_K(g):
    limit = transitions(g, math.inf).coexists.value
    distance = [abs(transitions(g, K).coexists.value - limit) for K in (1000, 10000)]
    assert distance[1] < 0.2 * distance[0] < 1


def test_the_plateau_has_the_error_that_no_linear_function_can_explain():
    for g, load, exact in (
        (tl.Erf(), 50.0, 1 / 3 - 1 / math.pi),
        (tl.ReLU(), 5.0, 1 / 4 - 1 / (2 * math.pi)),
    ):
        (plateau,) = states(g, math.inf, load)
        assert abs(plateau.generalization_error - exact) < 1e-15
        (large,) = states(g, 10**6, load)
        assert abs(large.generalization_error - exact) < 1e-5


@pytest.mark.parametrize(
    "g", [tl.ReLU(), tl.Swish(), tl.GELU(), tl.Softplus()], ids=lambda g: g.name
)
def test_units_with_an_even_part_only_beyond_the_linear_one_specialize_continuously(g):
    kind = transition_kind(g)
    c = np.asarray(g.hermite(2).values)
    assert kind.order == "continuous" and abs(kind.slope) < 1e-10
    assert abs(kind.unstable.value * 2 * c[2] ** 2 - 1) < 1e-12


def test_a_third_coefficient_makes_the_transition_weakly_discontinuous():
    c2, c3 = 0.5, 0.05
    kind = transition_kind(polynomial(0, 1, c2, c3))
    assert kind.order == "discontinuous" and "c_3" in kind.because
    assert abs(kind.unstable.value - 1 / (2 * c2**2)) < 1e-12
    assert abs(kind.slope + 3 * c3**2 / (4 * c2**4)) < 1e-10
    result = transitions(polynomial(0, 1, c2, c3), math.inf)
    # Next to R = 0, 1/α = 2c_2² + 3c_3² R − 2c_2² R²: equal free energies at twice 2/3 of the
    # R of the fold, up to the next order in R.
    assert abs(result.jump / (2 / 3 * 3 * c3**2 / (2 * c2**2)) - 1) < 0.05


def test_a_large_fourth_coefficient_makes_the_transition_discontinuous():
    c2 = 0.5
    for c4, order in ((0.6 * c2, "continuous"), (0.8 * c2, "discontinuous")):  # 1/√2 between
        kind = transition_kind(polynomial(0, 1, c2, 0, c4))
        assert kind.order == order
        assert abs(kind.slope) < 1e-10 and abs(kind.unstable.value - 2) < 1e-12


@pytest.mark.slow
def test_higher_coefficients_may_do_so_as_well():
    kind = transition_kind(polynomial(0, 1, 0.3, 0, 0, 0, 1.5))
    assert kind.order == "discontinuous" and "higher coefficients" in kind.because
    assert transitions(polynomial(0, 1, 0.3, 0, 0, 0, 1.5), math.inf).jump > 0.3


def test_odd_units_never_lose_the_unspecialized_state():
    for g in (tl.Erf(), tl.Erf(1.0), tl.Tanh(), tl.Sigmoid()):
        kind = transition_kind(g)
        assert kind.order == "discontinuous" and kind.unstable is None
        assert kind.because.startswith("K → ∞, c_2 = 0")


def test_without_a_second_coefficient_nothing_specializes():
    assert transition_kind(tl.Linear()).order == "none"
    assert transition_kind(tl.ReLU(), 1).order == "none"


def test_for_finite_K_symmetry_decides():
    assert transition_kind(tl.Erf(), 2).order == "continuous"
    assert transition_kind(tl.ReLU(), 2).order == "continuous"
    three = transition_kind(tl.ReLU(), 3)
    assert three.order == "discontinuous" and three.slope < -0.1
    # Even units are symmetric under a change of all signs: no cubic term for any K.
    even = tl.Activation.from_function(lambda x: x**2, parity="even", name="square")
    assert transition_kind(even, 3).order == "continuous"
    assert abs(transition_kind(even, 3).unstable.value - 0.25) < 1e-13  # 1/(2c_2²), c_2 = √2
