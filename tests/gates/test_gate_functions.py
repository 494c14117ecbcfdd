"""Partition functions and their derivatives: against mpmath, in the limits, by identities."""

import functools
import math

import mpmath as mp
import numpy as np
import pytest
from gates import gate_reference as reference
from gates.gate_reference import EPSILON, GATES
from hypothesis import given, settings, strategies as st

import tutelage as tl
from tutelage._jax import jax, jnp

# Arrays of twelve numbers in all tests: what JAX has compiled for one is used for the next.
T = np.array([-1e4, -40.0, -3.0, -1.0, 0.0, 1e-9, 0.4, 0.999, 1.0, 2.0, 37.0, 1e4])
gates = pytest.mark.parametrize("name", GATES)
levels = pytest.mark.parametrize("name", [n for n, g in GATES.items() if hasattr(g, "states")])


@functools.cache
def at_t(name):
    """A, its three derivatives and the entropy at all T."""
    return [np.asarray(x) for x in reference.of_gate(GATES[name], jnp.asarray(T))]


def size(gate):
    """The largest |s|: A' is of this order, A'' of its square."""
    return max(abs(s) for s in gate.ends)


@gates
def test_log_partition_is_the_logarithm_of_the_sum(name):
    gate = GATES[name]
    expected = np.array([float(reference.log_partition(gate, t)) for t in T])
    # st is rounded once, and the logarithm of the sum once.
    tolerance = 4 * EPSILON * (1 + size(gate) * np.abs(T))
    assert np.all(np.abs(at_t(name)[0] - expected) <= tolerance)


@gates
def test_cumulants_by_automatic_differentiation_are_those_of_mpmath(name):
    gate = GATES[name]
    exact = [[float(x) for x in reference.cumulants(gate, t)] for t in T]
    mean, variance, third = np.array(exact).T
    s, width = size(gate), gate.ends[1] - gate.ends[0]
    result = at_t(name)
    assert np.allclose(result[1], mean, rtol=0, atol=8 * EPSILON * s)
    # An Interval takes differences of numbers of order one at |x| ≥ 1; nothing else cancels.
    assert np.allclose(result[2], variance, rtol=0, atol=16 * EPSILON * width**2)
    assert np.allclose(result[3], third, rtol=0, atol=64 * EPSILON * width**3)


@levels
def test_small_variances_keep_their_digits(name):
    gate = GATES[name]
    exact = np.array([float(reference.cumulants(gate, t)[1]) for t in T])
    # Exponents are rounded: relative errors of ε|st| in each probability.
    relative = EPSILON * (16 + 4 * size(gate) * np.abs(T))
    assert np.all(np.abs(at_t(name)[2] - exact) <= relative * exact)
    assert np.all(at_t(name)[2] >= 0)


@gates
@pytest.mark.parametrize(("beta", "h"), [(0.3, 1.7), (2.0, -0.6), (1.0, 30.0), (5.0, 0.0)])
def test_derivatives_of_log_z_are_what_the_paper_calls_them(name, beta, h):
    """⟨s⟩ = β⁻¹ ∂_h log Z, ⟨j⟩ = ∂_β log Z = h ⟨s⟩, ĝ = ∂⟨j⟩/∂h (eqs. (4), (5) and (7)).

    And S = −∂F/∂T with T = 1/β, which is β² ∂F/∂β.
    """
    gate = GATES[name]
    # log Z and βh ⟨s⟩, up to 30 times the largest state, cancel in S.
    tolerance = 32 * EPSILON * (1 + size(gate) ** 2) * (1 + abs(beta * h))
    by_field, by_beta, factor, S = reference.by_autodiff(gate, jnp.asarray(beta), jnp.asarray(h))
    assert abs(by_field / beta - gate.mean(beta, h)) <= tolerance
    assert abs(by_beta - gate.transmitted(beta, h)) <= tolerance
    assert abs(by_beta - h * gate.mean(beta, h)) <= tolerance
    assert abs(factor - tl.gates.backpropagation_factor(gate, beta, h)) <= tolerance
    assert abs(S - tl.gates.thermodynamics(gate, beta, h).entropy) <= tolerance


@levels
def test_plain_automatic_differentiation_gives_the_same(name):
    """The rules that avoid cancellation agree with plain rules where nothing cancels."""
    gate = GATES[name]
    s, w = jnp.asarray(gate.states), jnp.asarray(gate.weights)

    @jax.jit
    def plain(t):
        A = jax.value_and_grad(lambda t: jnp.log(jnp.sum(w * jnp.exp(s * t))))
        second = jax.grad(lambda t: A(t)[1])
        return *A(t), second(t), jax.grad(second)(t)

    for t in (-1.0, 0.4, 2.0):
        result = np.array([x[list(T).index(t)] for x in at_t(name)[:4]])
        tolerances = 16 * EPSILON * (4 * size(gate)) ** np.arange(4)
        assert np.all(np.abs(result - np.array(plain(t))) <= tolerances * (1 + np.abs(result)))


@settings(max_examples=8)
@given(
    states=st.lists(st.floats(-5, 5), min_size=4, max_size=4, unique_by=lambda x: round(x, 3)),
    weights=st.lists(st.floats(0.01, 100), min_size=4, max_size=4),
    t=st.lists(st.floats(-1e4, 1e4), min_size=12, max_size=12),
)
def test_sum_rules_hold_for_any_gate(states, weights, t):
    gate = tl.gates.Gate(states, weights)
    low, high = gate.ends
    mean, variance = gate.mean(1.0, t), gate.variance(1.0, t)
    rounding = 8 * EPSILON * (abs(low) + abs(high))
    assert np.all((low - rounding <= mean) & (mean <= high + rounding))
    # Popoviciu: a variance is at most a quarter of the squared width.
    assert np.all((variance >= 0) & (variance <= (high - low) ** 2 / 4 * (1 + 8 * EPSILON)))
    S = tl.gates.thermodynamics(gate, 1.0, t).entropy
    rounding = 64 * EPSILON * (1 + math.log(100))
    assert np.all(math.log(min(weights)) - rounding <= S)
    assert np.all(math.log(sum(weights)) + rounding >= S)


@gates
def test_noiseless_gates_are_in_their_extreme_states(name):
    gate = GATES[name]
    h = np.array([1e-200, 1e-9, 0.1, 3.0, 1e4, 1e300])
    h = np.concatenate([-h, h])
    states = np.repeat(gate.ends, 6)
    assert np.array_equal(gate.mean(math.inf, h), states)
    assert np.array_equal(gate.transmitted(math.inf, h), h * states)
    assert np.array_equal(gate.variance(math.inf, h), np.zeros(12))


@gates
def test_without_a_field_or_in_pure_noise_only_the_weights_matter(name):
    gate = GATES[name]
    mean, variance, _ = (float(x) for x in reference.cumulants(gate, 0))
    tolerance = 4 * EPSILON * size(gate) ** 2
    for beta, h in ((0.0, 17.0), (0.0, -1e300), (3.0, 0.0), (math.inf, 0.0)):
        assert abs(gate.mean(beta, h) - mean) <= tolerance
        assert abs(gate.variance(beta, h) - variance) <= tolerance


def test_the_limit_of_large_beta_is_continuous():
    h = np.linspace(-0.55, 0.55, 12)
    for gate in GATES.values():
        if isinstance(gate, tl.gates.Gate):  # an Interval approaches its ends only as 1/(βh)
            assert np.array_equal(gate.mean(1e9, h), gate.mean(math.inf, h))


@gates
def test_mirrored_gates_mirror_their_means(name):
    gate = GATES[name]
    if isinstance(gate, tl.gates.Interval):
        mirrored = tl.gates.Interval(-gate.high, -gate.low)
    else:
        mirrored = tl.gates.Gate([-s for s in gate.states], gate.weights)
    tolerance = 8 * EPSILON * size(gate) ** 2
    assert np.allclose(gate.mean(1.0, T), -mirrored.mean(1.0, -T), rtol=0, atol=tolerance)
    assert np.allclose(gate.variance(1.0, T), mirrored.variance(1.0, -T), rtol=0, atol=tolerance)


def test_only_ratios_of_weights_matter_for_states_and_their_size_for_entropy():
    one, ten = tl.gates.Gate([0, 1, 3], [1, 2, 1]), tl.gates.Gate([0, 1, 3], [10, 20, 10])
    h = np.linspace(-3, 3, 12)
    assert np.allclose(one.mean(2.0, h), ten.mean(2.0, h), rtol=0, atol=16 * EPSILON)
    S1, S10 = (tl.gates.thermodynamics(g, 2.0, h).entropy for g in (one, ten))
    assert np.allclose(S10 - S1, math.log(10), rtol=0, atol=16 * EPSILON)


def test_many_levels_become_an_interval():
    """Sums over n levels with weight 1/n each approach the integral, as 1/n² at midpoints."""
    interval, h = tl.gates.Interval(-1, 3), np.array([-2.0, 0.3, 5.0])
    errors = []
    for n in (32, 64):
        middles = -1 + 4 * (np.arange(n) + 0.5) / n
        levels = tl.gates.Gate(middles, np.full(n, 4 / n))
        errors.append(np.max(np.abs(levels.log_partition(1.0, h) - interval.log_partition(1.0, h))))
    assert abs(math.log2(errors[0] / errors[1]) - 2) < 0.05  # the next order is (βhw/n)² smaller


@gates
def test_thermodynamics_satisfies_its_identities(name):
    gate = GATES[name]
    beta, h = 2.0, T / 2.0
    F, U, S = vars(tl.gates.thermodynamics(gate, beta, h)).values()
    scale = EPSILON * size(gate) * np.abs(T)
    assert np.all(np.abs(F + gate.log_partition(beta, h) / beta) <= 8 * scale + 8 * EPSILON)
    assert np.all(np.abs(F - (U - S / beta)) <= 8 * scale + 8 * EPSILON)
    assert np.array_equal(U, -np.asarray(gate.transmitted(beta, h)))
    assert np.allclose(S, at_t(name)[4], rtol=0, atol=8 * EPSILON * (1 + math.log(1e4)))
    exact = np.array([float(reference.entropy(gate, t)) for t in T])
    # log 1e-16 multiplies the rounding of the smallest probabilities.
    assert np.allclose(S, exact, rtol=0, atol=64 * EPSILON * max(1, np.log(size(gate) + 1)))


def test_entropy_is_positive_and_ends_where_it_should():
    for name in ("two", "signs"):
        gate = GATES[name]
        S = tl.gates.thermodynamics(gate, 1.0, T).entropy
        assert np.all(S >= 0)
        ends = tl.gates.thermodynamics(gate, math.inf, T)
        limits = np.where(T == 0, math.log(len(gate.states)), 0.0)
        assert np.allclose(ends.entropy, limits, rtol=0, atol=4 * EPSILON)
        assert np.array_equal(ends.free_energy, ends.energy)


def test_the_entropy_of_an_interval_has_no_lower_bound():
    """A density on a width 1/t has the entropy 1 − log t."""
    S = tl.gates.thermodynamics(tl.gates.Interval(0, 1), 1.0, 1e4).entropy
    assert abs(S - (1 - math.log(1e4))) <= 16 * EPSILON


def test_a_layer_is_the_sum_of_its_units_each_with_separate_noise():
    gate, beta = GATES["weighted"], np.array([0.5, 1.0, 8.0])
    h = np.array([[0.3, -1.0, 2.0], [5.0, 0.0, -0.1]])
    F, U, S = vars(tl.gates.layer(gate, beta, h)).values()
    for example in range(2):
        units = [tl.gates.thermodynamics(gate, b, x) for b, x in zip(beta, h[example], strict=True)]
        expected = np.sum([list(vars(unit).values()) for unit in units], axis=0)
        result = np.array([F[example], U[example], S[example]])
        assert np.allclose(result, expected, rtol=0, atol=64 * EPSILON)


def test_the_factor_of_a_binary_gate_is_that_of_eq_7():
    h = np.linspace(-3, 3, 12)
    for beta in (0.5, 1.0, 4.0):
        result = tl.gates.backpropagation_factor(GATES["two"], beta, h)
        for x, value in zip(h, result, strict=True):
            sigma = 1 / (1 + mp.exp(-beta * mp.mpf(x)))
            assert abs(value - float(sigma * (1 + x * beta * (1 - sigma)))) <= 8 * EPSILON


def test_the_factor_of_swish_changes_its_sign_once():
    """1 + t σ(−t) = 0, that is t = −(1 + eᵗ): the solution is −1 − W(1/e)."""
    zero = float(-1 - mp.lambertw(mp.exp(-1)))
    assert abs(zero + 1.278465) < 1e-6
    for beta in (0.5, 1.0, 10.0):
        below, above = (zero - 1e-9) / beta, (zero + 1e-9) / beta
        low, high = tl.gates.backpropagation_factor(GATES["two"], beta, [below, above])
        assert low < 0 < high


def test_without_noise_the_factor_is_open_or_closed():
    result = tl.gates.backpropagation_factor(GATES["two"], math.inf, [-2.0, 0.0, 1e-9])
    assert np.array_equal(result, [0.0, 0.5, 1.0])
