"""Gates as activations: known ones come out, limits are exact, and committees take them."""

import math

import numpy as np
import pytest
import xarray as xr
from gates import gate_reference as reference
from gates.gate_reference import EPSILON, GATES, with_noise

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.activations.base import Kink
from tutelage.activations.projection import project
from tutelage.gates import Expectation, Gate, Interval, Signal, TwoSlopes
from tutelage.runs.provenance import attribute
from tutelage.runs.recompute import argument

X = np.array([-37.0, -5.0, -1.3, -0.4, -1e-3, 0.0, 1e-9, 0.02, 0.7, 2.5, 9.0, 40.0])
# As many as X: what was compiled for those is used again.
FAR = np.array([-1e300, -1e100, -1e8, -1e6, -1e4, -750.0, 750.0, 1e4, 1e6, 1e8, 1e100, 1e300])
BETAS = (0.0, 0.5, 20.0)
both = pytest.mark.parametrize("kind", [Expectation, Signal])
gates = pytest.mark.parametrize(
    "name", [n if n != "wide" else pytest.param(n, marks=pytest.mark.slow) for n in GATES]
)


def size(gate):
    return max(1.0, *(abs(s) for s in gate.ends))


@both
@gates
def test_values_and_derivatives_are_those_of_mpmath_and_of_automatic_differentiation(kind, name):
    gate = GATES[name]
    for beta in BETAS:
        result, automatic = reference.everything(with_noise(kind, gate, beta), X)
        rows = [[float(k) for k in reference.cumulants(gate, beta * x)] for x in X]
        first, second, third = np.array(rows).T
        t = beta * X
        if kind is Expectation:
            expected = first, beta * second, beta**2 * third
        else:
            expected = X * first, first + t * second, beta * (2 * second + t * third)
        scale = EPSILON * size(gate) ** 3
        factors = (1 + np.abs(X), (1 + beta) * (1 + np.abs(t)), (1 + beta) ** 2 * (1 + np.abs(t)))
        for value, exact, factor in zip(result, expected, factors, strict=True):
            assert np.all(np.abs(value - exact) <= 64 * scale * factor)
        for value, slope, factor in zip(result[1:], automatic, factors[1:], strict=False):
            assert np.all(np.abs(value - slope) <= 128 * scale * factor)


@both
@gates
def test_nothing_overflows_far_out(kind, name):
    g = with_noise(kind, GATES[name], 5.0)
    # States up to 11 times β = 5 are still within float64.
    for values in reference.everything(g, FAR / 100):
        assert np.all(np.isfinite(values))


def test_known_activations_come_out():
    two, signs = Gate([0, 1]), Gate([1, -1])
    assert two.expectation(2.0) == tl.Sigmoid(2.0)
    assert two.signal(3.0) == tl.Swish(3.0)
    assert signs.expectation(1.0) == tl.Tanh()
    assert two.signal(math.inf) == tl.ReLU()
    assert Interval(0, 1).signal(math.inf) == tl.ReLU()
    assert Gate([0.25, 1]).signal(math.inf) == tl.LeakyReLU(0.25)
    assert signs.signal(math.inf) == TwoSlopes(-1.0, 1.0)
    assert Gate([-1, 2]).signal(math.inf) == TwoSlopes(-1.0, 2.0)
    assert Gate([1]).signal(0.0) == Gate([1]).signal(math.inf) == tl.Linear()
    assert two.signal(0.0) == TwoSlopes(0.5, 0.5)
    assert signs.signal(2.0) == Signal(signs, 2.0)
    assert two.expectation(0.0) == Expectation(two, 0.0)


@pytest.mark.parametrize("beta", [0.3, 1.0, 7.0])
def test_known_and_derived_forms_agree_to_rounding(beta):
    two, signs = Gate([0, 1]), Gate([-1, 1])
    pairs = [
        (Expectation(two, beta), tl.Sigmoid(beta)),
        (Signal(two, beta), tl.Swish(beta)),
        (Expectation(signs, 1.0), tl.Tanh()),
    ]
    for derived, known in pairs:
        for f in ("__call__", "derivative", "second_derivative"):
            a, b = getattr(derived, f)(X), getattr(known, f)(X)
            tolerance = 16 * EPSILON * (1 + np.abs(X)) * (1 + beta) ** 2
            assert np.all(np.abs(a - b) <= tolerance), (derived.name, f)
        for part in ("odd_part_slope", "even_part_level", "parity"):
            assert getattr(derived, part) == getattr(known, part)


def test_gates_of_signs_give_tanh_and_x_tanh():
    signs = Gate([-1, 1])
    for beta in (0.5, 3.0):
        assert np.allclose(signs.expectation(beta)(X), np.tanh(beta * X), rtol=0, atol=4 * EPSILON)
        exact = X * np.tanh(beta * X)
        assert np.allclose(signs.signal(beta)(X), exact, rtol=4 * EPSILON, atol=4 * EPSILON)


@gates
def test_the_signal_without_noise_is_two_straight_lines(name):
    gate = GATES[name]
    low, high = gate.ends
    g = gate.signal(math.inf)
    assert np.array_equal(g(X), np.where(X > 0, high * X, low * X))
    assert np.array_equal(g(X), gate.transmitted(math.inf, X))
    middle = 0.5 * (low + high)
    steps = np.where(X == 0, middle, np.where(X > 0, high, low))
    assert np.array_equal(g.derivative(X), steps)
    assert jax.grad(g)(0.0) == middle
    assert sum(kink.jump for kink in g.kinks) == high - low


@gates
def test_the_signal_in_pure_noise_is_linear(name):
    gate = GATES[name]
    g, level = gate.signal(0.0), float(gate.mean(0.0, 1.0))
    assert np.array_equal(g(X), level * X) and g.kinks == ()
    assert np.array_equal(g(X), Signal(gate, 0.0)(X))
    assert np.array_equal(g.derivative(X), np.full(X.shape, level))
    assert np.array_equal(gate.expectation(0.0)(X), np.full(X.shape, level))


@gates
def test_the_limits_of_beta_are_reached(name):
    """|⟨j⟩ − limit| is bounded: by 2 |s| n e^{−gap β|h|} |h| at large, by βh²w²/4 at small β."""
    gate = GATES[name]
    x, width = X, gate.ends[1] - gate.ends[0]
    small = 1e-12
    deviation = np.abs(gate.signal(small)(x) - gate.signal(0.0)(x))
    rounding = 4 * EPSILON * size(gate) * np.abs(x)
    assert np.all(deviation <= small * x**2 * width**2 / 4 + rounding)
    # An Interval is off by 1/(β|h|) in its state: by 1/β in the signal.
    large = 1e12
    deviation = np.abs(gate.signal(large)(x) - gate.signal(math.inf)(x))
    bound = 1 / large if isinstance(gate, Interval) else 0.0
    assert np.all(deviation <= bound + rounding)


@both
@gates
def test_declared_symmetries_hold(kind, name):
    g = kind(GATES[name], 1.3)
    x = np.linspace(0.01, 20, 12)
    tolerance = 16 * EPSILON * size(GATES[name]) * (1 + x)
    if g.odd_part_slope is not None:
        assert np.all(np.abs((g(x) - g(-x)) / 2 - g.odd_part_slope * x) <= tolerance)
    if g.even_part_level is not None:
        assert np.all(np.abs((g(x) + g(-x)) / 2 - g.even_part_level) <= tolerance)
    if g.parity == "none":
        assert not np.allclose(g(x), g(-x)) or name == "single"
    else:
        sign = -1 if g.parity == "odd" else 1
        assert np.all(np.abs(g(-x) - sign * g(x)) <= tolerance)


def test_which_gates_are_symmetric():
    assert not GATES["weighted"].is_symmetric
    assert all(GATES[name].is_symmetric for name in GATES if name != "weighted")
    assert not Gate([0, 1], [1, 2]).is_symmetric
    assert Gate([0, 0.3, 1]).expectation(1.0).even_part_level is None
    parities = {name: Signal(gate, 1.0).parity for name, gate in GATES.items()}
    assert {n for n, p in parities.items() if p == "even"} == {"signs"}


@pytest.mark.parametrize("g", [TwoSlopes(-1.0, 1.0), TwoSlopes(-1.0, 2.0), TwoSlopes(0.5, 0.5)])
def test_closed_hermite_coefficients_are_those_of_quadrature(g):
    closed = g.hermite(9, [0.5, 2.0])
    numerical = project(g, 9, jnp.asarray([0.5, 2.0]))
    assert np.all(np.abs(closed.values - numerical.values) <= closed.error + numerical.error)


def test_derived_coefficients_are_those_of_the_known_activation():
    derived = Signal(Gate([0, 1]), 2.0).hermite(8, 1.5)
    known = tl.Swish(2.0).hermite(8, 1.5)
    assert np.all(np.abs(derived.values - known.values) <= derived.error + known.error)


def test_a_kink_is_left_only_without_noise():
    assert Gate([-1, 1]).signal(math.inf).kinks == (Kink(0.0, 2.0),)
    assert Gate([-1, 1]).signal(100.0).kinks == ()


def test_bent_units_have_closed_averages():
    """⟨|u| |w|⟩ = (2/π)(√(1−ρ²) + ρ asin ρ), exact and by quadrature."""
    rho = 0.6
    C = np.array([[1.0, rho], [rho, 1.0]])
    exact = 2 / np.pi * (np.sqrt(1 - rho**2) + rho * np.arcsin(rho))
    assert abs(tl.averages.i2(TwoSlopes(-1.0, 1.0), C) - exact) <= 16 * EPSILON
    average = tl.averages.i2(TwoSlopes(-2.0, 2.0), C, method=tl.averages.Hermite(order=60))
    assert abs(average / 4 - exact) < 1e-10  # terms fall as ρⁿ/n³


@pytest.mark.slow
def test_committees_take_gates():
    """The same scenario twice: once with Swish, once with the derived signal of {0, 1}."""
    errors = []
    for g in (tl.Swish(2.0), Signal(Gate([0, 1]), 2.0)):
        committee = tl.Committee(2, g)
        scenario = tl.Scenario(committee, committee)
        state = tl.Overlaps(Q=[[0.5, 0.1], [0.1, 0.4]], R=[[0.3, 0.1], [0.0, 0.2]], T=scenario.T)
        errors.append(float(tl.generalization_error(scenario, state)))
    assert abs(errors[0] - errors[1]) <= 1e-12  # both by a series, cut at the same order


def test_activations_of_gates_are_values():
    gate = Gate([0, 0.5, 1])
    assert Signal(gate, 2.0) == Signal(Gate([1, 0, 0.5]), 2.0) != Signal(gate, 1.0)
    assert len({Signal(gate, 2.0), Signal(gate, 2.0), Expectation(gate, 2.0)}) == 2
    assert GATES["weighted"] == Gate([2, 0, 0.5], weights=[0.5, 1, 3])


def written_and_made_again(g):
    """The activation after a round trip through the attributes of a result."""
    attrs = {"computed_by": "equilibrium.learning_curve", "activation": attribute(g)}
    return argument(xr.Dataset(attrs=attrs), "activation")


@both
@gates
def test_a_result_gives_the_activation_of_a_gate_back(kind, name):
    g = kind(GATES[name], 0.1)
    assert written_and_made_again(g) == g


@pytest.mark.parametrize(
    "g",
    [
        TwoSlopes(-0.1, 1.0),
        TwoSlopes(-1.0, 2.5),
        Gate([-1, 3]).signal(math.inf),
        Gate([-1, 1]).signal(2.0),
    ],
    ids=lambda g: g.name,
)
def test_a_result_gives_limits_back_too(g):
    assert written_and_made_again(g) == g


def test_noise_can_be_differentiated_and_compiled():
    x, gate = 0.7, Gate([0, 0.5, 1])
    t = 2.0 * x
    by_beta = jax.grad(lambda b: gate.signal(b)(x))(2.0)
    assert np.isclose(by_beta, x**2 * gate.variance(1.0, t), rtol=16 * EPSILON)
    inside = jax.jit(lambda g, x: g(x))(Signal(gate, 2.0), X)
    assert np.allclose(inside, Signal(gate, 2.0)(X), rtol=4 * EPSILON, atol=4 * EPSILON)
