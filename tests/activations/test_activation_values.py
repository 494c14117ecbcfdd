"""Values and derivatives: against mpmath, against automatic differentiation, far out."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from activations import activation_reference as reference
from activations.activation_reference import CASES

from tutelage.activations import (
    GELU,
    Activation,
    Erf,
    LeakyReLU,
    Linear,
    ReLU,
    Sigmoid,
    Softplus,
    Swish,
    Tanh,
)

EPSILON = np.finfo(float).eps
POINTS = np.array([-37.0, -5.0, -1.3, -0.4, -1e-3, 0.0, 1e-9, 0.02, 0.7, 2.5, 9.0, 40.0])
FAR = np.array([-1e300, -1e100, -1e8, -1e4, -750.0, 750.0, 1e4, 1e8, 1e100, 1e300])
EVERYWHERE = np.concatenate([POINTS, FAR])
activations = pytest.mark.parametrize("case", CASES)


@activations
def test_value_is_the_definition(case):
    g, g_mp, steepness = CASES[case]
    expected = np.array([float(g_mp(mp.mpf(x))) for x in POINTS])
    # The argument βx is rounded once: an error ε|βx| in it, times |g'| ≤ 1 + β.
    scale = np.maximum(1.0, np.abs(POINTS)) * steepness
    assert np.all(np.abs(g(POINTS) - expected) <= 4 * EPSILON * scale)


@activations
def test_derivatives_agree_with_mpmath(case):
    g, g_mp, steepness = CASES[case]
    smooth = POINTS[np.abs(POINTS) > 1e-6]
    for order, function in ((1, g.derivative), (2, g.second_derivative)):
        expected = [float(mp.diff(g_mp, mp.mpf(x), order, h=mp.mpf(10) ** -9)) for x in smooth]
        # mp.diff with step h is off by about h times the next derivative, ≤ β³.
        assert np.allclose(function(smooth), expected, rtol=0, atol=1e-8 * steepness**2)


@eqx.filter_jit
def values_and_slopes(g, x):
    """g, g' and the regular part of g'', and their automatic derivatives, in one program."""
    functions = g, g.derivative, g.second_derivative
    return [f(x) for f in functions], [jax.vmap(jax.grad(f))(x) for f in functions]


@activations
def test_derivatives_agree_with_automatic_differentiation(case):
    g, _, steepness = CASES[case]
    tolerance = 16 * EPSILON * steepness
    (_, first, second), (slope, curvature, _) = values_and_slopes(g, EVERYWHERE)
    near = slice(len(POINTS))
    assert np.allclose(slope[near], first[near], atol=tolerance)
    assert np.allclose(curvature[near], second[near], atol=16 * tolerance * steepness)


@activations
def test_nothing_overflows_far_out(case):
    for numbers in values_and_slopes(CASES[case][0], EVERYWHERE):
        assert np.all(np.isfinite(numbers))


@activations
def test_derivatives_reach_their_limits_far_out(case):
    g = CASES[case][0]
    right = round(float(g(1000.0) - g(999.0)))
    # The slowest tails of a unit with asymptotes: g' like x⁻², g'' like x⁻³.
    far = FAR[FAR > 0]
    assert np.all(np.abs(g.derivative(far) - right) <= 1 / far / far)
    assert np.all(np.abs(g.second_derivative(FAR)) <= 2 / np.abs(FAR) / FAR / FAR)


@activations
def test_parity_holds(case):
    g = CASES[case][0]
    x = np.linspace(-9, 9, 101)
    if g.parity == "odd":
        assert np.array_equal(g(-x), -g(x))
    else:
        assert not np.allclose(g(-x), -g(x)) and not np.allclose(g(-x), g(x))


def test_parities():
    odd = {case for case, (g, *_) in CASES.items() if g.parity == "odd"}
    assert odd == {case for case, (_, f, _) in CASES.items() if f(mp.mpf(-0.7)) == -f(mp.mpf(0.7))}
    assert {"Linear", "Erf", "Tanh"} <= odd
    assert LeakyReLU(1.0).parity == "odd"


@activations
def test_symmetric_parts_are_as_declared(case):
    g = CASES[case][0]
    x = np.linspace(0.01, 20, 201)
    if g.odd_part_slope is not None:
        odd = (g(x) - g(-x)) / 2
        assert np.allclose(odd, g.odd_part_slope * x, rtol=4 * EPSILON, atol=0)
    if g.even_part_level is not None:
        assert np.allclose((g(x) + g(-x)) / 2, g.even_part_level, rtol=4 * EPSILON, atol=0)


@pytest.mark.parametrize("slope", [0.0, 0.01, 0.3, 1.0, 2.5])
def test_piecewise_linear_is_mx_plus_d_absolute_x(slope):
    g = LeakyReLU(slope)
    m, d = (1 + slope) / 2, (1 - slope) / 2
    assert np.allclose(g(POINTS), m * POINTS + d * np.abs(POINTS), rtol=4 * EPSILON, atol=1e-14)
    assert np.allclose(g.derivative(POINTS), m + d * np.sign(POINTS), rtol=0, atol=4 * EPSILON)


def test_convention_at_the_kink_is_the_mean_of_both_sides():
    assert ReLU().derivative(0.0) == 0.5 == jax.grad(ReLU())(0.0)
    assert LeakyReLU(0.5).derivative(0.0) == 0.75 == jax.grad(LeakyReLU(0.5))(0.0)
    absolute = Activation.from_function(jnp.abs, kinks=(0.0,))
    assert absolute.derivative(0.0) == 0.0


def test_limits_join_the_family():
    x = jnp.asarray(POINTS)
    assert np.array_equal(LeakyReLU(0.0)(x), ReLU()(x))
    assert np.array_equal(LeakyReLU(1.0)(x), Linear()(x))
    # |x|σ(−β|x|) ≤ 0.2785/β
    assert np.max(np.abs(Swish(1e9)(x) - ReLU()(x))) < 0.28e-9
    assert np.allclose(2 * Sigmoid(2.0)(x) - 1, Tanh()(x), rtol=0, atol=4 * EPSILON)
    assert np.allclose(jax.vmap(jax.grad(Softplus()))(x), Sigmoid()(x), rtol=0, atol=4 * EPSILON)


@activations
def test_works_under_jit_and_vmap_and_on_any_shape(case):
    g = CASES[case][0]
    x = np.linspace(-2, 2, 12).reshape(3, 2, 2)
    inside = jax.jit(lambda g, x: g(x))(g, x)
    assert inside.shape == x.shape and inside.dtype == np.float64
    assert np.allclose(inside, jax.vmap(g)(x), rtol=4 * EPSILON, atol=4 * EPSILON)
    assert g(1).shape == () and g(1).dtype == np.float64


def test_parameters_can_be_differentiated():
    x = 0.7
    assert jax.grad(lambda a: LeakyReLU(a)(-x))(0.1) == -x
    by_beta = jax.grad(lambda b: Swish(b)(x))(2.0)
    s = 1 / (1 + np.exp(-2 * x))
    assert np.isclose(by_beta, x**2 * s * (1 - s), rtol=8 * EPSILON)
    assert jax.grad(lambda b: Erf(b)(x))(0.3) == 1.0
    assert jax.grad(lambda g: g(-x))(LeakyReLU(0.1)).slope == -x


def test_activations_are_values():
    assert ReLU() == ReLU() and Erf(1.0) == Erf(1.0) and Swish(2.0) == Swish(2.0)
    assert ReLU() != Linear() and Erf(1.0) != Erf(0.0) and Swish(2.0) != Sigmoid(2.0)
    assert len({ReLU(), ReLU(), GELU(), Erf(), Erf(1.0), LeakyReLU(0.1), LeakyReLU(0.1)}) == 5
    with pytest.raises(AttributeError):
        Erf(1.0).offset = 2.0


@activations
def test_name_is_the_constructor(case):
    assert CASES[case][0].name == case


@activations
def test_a_closed_form_has_the_values_and_the_kinks_of_the_activation(case):
    """o + m x + d |x| + e erf(x/√2), to the rounding of a handful of operations."""
    g = CASES[case][0]
    exact = {"ReLU", "LeakyReLU(0.1)", "Linear", "Erf", "Erf(1)"}
    assert (g.closed_form is not None) == (case in exact)
    if g.closed_form is None:
        return
    m, d, e, o = (0.0 if x is None else x for x in g.closed_form)
    x = np.linspace(-3, 3, 61)
    value = o + m * x + d * np.abs(x) + e * np.vectorize(math.erf)(x / math.sqrt(2))
    assert np.allclose(g(x), value, rtol=8 * EPSILON, atol=8 * EPSILON)
    assert g.kinks == (() if g.closed_form.modulus is None else ((0.0, 2 * d),))


def test_a_function_of_the_users_has_no_closed_form():
    assert reference.shifted().closed_form is None
    assert reference.shifted().hermite_series(3, jnp.ones(())) is None
