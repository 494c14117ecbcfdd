"""The equations against their definition, by sampling fields; limits; two routes to each sum."""

import math
from functools import partial

import equinox as eqx
import numpy as np
import pytest
from mpmath import mp
from reference import erf_four_point
from scenarios import between, random_overlaps, to_vector

import tutelage as tl
from tutelage._jax import ROUNDED_ALONE, jax, jnp
from tutelage.averages import Hermite, Orthant
from tutelage.averages.methods import ErfClosedForm
from tutelage.model.layout import unchecked
from tutelage.online import Flow
from tutelage.online.moments import erf
from tutelage.online.moments.signs import SignMoments
from tutelage.online.moments.single import SingleMoments

SAMPLES = 400_000


def sampled(s, overlaps, seed):
    """δ_i and all fields, drawn from the definition, with the noise on the labels."""
    rng = np.random.default_rng(seed)
    J, B = overlaps.to_weights(s.K + s.M)
    inputs = rng.normal(size=(SAMPLES, s.K + s.M))
    x, y = inputs @ np.asarray(J).T, inputs @ np.asarray(B).T
    s_K, s_M = s.output_scale
    tau = s_M * np.sum(s.teacher.activation(y), axis=1) + s.label_noise * rng.normal(size=SAMPLES)
    sigma = s_K * np.sum(s.student.activation(x), axis=1)
    delta = s_K * np.asarray(s.student.activation.derivative(x)) * (tau - sigma)[:, None]
    return delta, np.hstack([x, y])


SCENARIOS = [
    (2, 2, tl.ReLU(), tl.ReLU()),
    pytest.param(1, 3, tl.Erf(), tl.Erf(1.0), marks=pytest.mark.slow),
    pytest.param(2, 2, tl.Erf(), tl.LeakyReLU(0.1), marks=pytest.mark.slow),
    pytest.param(3, 2, tl.LeakyReLU(0.2), tl.ReLU(), marks=pytest.mark.slow),
    pytest.param(2, 1, tl.ReLU(), tl.Erf(), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("K", "M", "g", "h"), SCENARIOS)
def test_averages_are_those_of_sampled_fields(K, M, g, h):
    """⟨δ_i v⟩ and ⟨δ_i δ_k⟩, every entry within five standard errors."""
    overlaps = random_overlaps(K, M, seed=K + 10 * M)
    s = between(overlaps, g, h, output_scale=(0.7, 1.2), label_noise=0.3)
    delta, fields = sampled(s, overlaps, seed=1)
    flow = Flow(s)
    for average, second in (
        (eqx.filter_jit(flow.moments.first_order)(overlaps), fields),
        (eqx.filter_jit(flow.moments.second_order)(overlaps), delta),
    ):
        products = delta[:, :, None] * second[:, None, :]
        standard_error = np.std(products, axis=0) / math.sqrt(SAMPLES)
        assert np.all(np.abs(average - np.mean(products, axis=0)) <= 5 * standard_error)


def test_a_wrong_factor_would_be_seen():
    """The test above has the power to see half of the η² term missing."""
    overlaps = random_overlaps(2, 2, seed=0)
    s = between(overlaps, tl.ReLU(), tl.ReLU())
    delta, _ = sampled(s, overlaps, seed=2)
    products = delta[:, :, None] * delta[:, None, :]
    standard_error = np.std(products, axis=0) / math.sqrt(SAMPLES)
    wrong = 0.5 * eqx.filter_jit(Flow(s).moments.second_order)(overlaps)
    assert np.any(np.abs(wrong - np.mean(products, axis=0)) > 5 * standard_error)


@pytest.mark.slow
def test_smooth_units_are_averaged_by_quadrature():
    """⟨δ_i v⟩ for tanh, within five standard errors."""
    overlaps = random_overlaps(2, 1, seed=3)
    s = between(overlaps, tl.Tanh(), tl.Swish(2.0))
    delta, fields = sampled(s, overlaps, seed=4)
    products = delta[:, :, None] * fields[:, None, :]
    standard_error = np.std(products, axis=0) / math.sqrt(SAMPLES)
    first = eqx.filter_jit(Flow(s).moments.first_order)(overlaps)
    assert np.all(np.abs(first - np.mean(products, axis=0)) <= 5 * standard_error)


@pytest.mark.parametrize(
    ("K", "M"),
    [(1, 2), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((1, 1), (2, 1), (2, 2), (3, 2)))],
)
def test_written_out_sums_are_the_sums_of_single_averages(K, M):
    """Moments of two fields and of signs, or I3 and I4 one by one: the same to rounding."""
    overlaps = random_overlaps(K, M, seed=5)
    s = between(overlaps, tl.LeakyReLU(0.3), tl.ReLU(), output_scale=(0.5, 2.0), label_noise=0.4)
    ways = (SignMoments(s, Orthant()), SingleMoments(s, Orthant()))
    two_point, written_out = _both(ways[0], overlaps)
    three_point = eqx.filter_jit(ways[1].three_point)(overlaps)
    one_by_one = eqx.filter_jit(ways[1].second_order)(overlaps)
    assert np.all(np.abs(two_point - three_point) <= 1e-13)
    assert np.all(np.abs(written_out - one_by_one) <= 1e-13)


@pytest.mark.parametrize("units", [(tl.ReLU(), tl.Erf(1.0)), (tl.Erf(0.5), tl.LeakyReLU(0.2))])
def test_offsets_of_error_functions_count_in_the_first_order(units):
    """Two-point averages against I3: a constant output drives a unit with a kink."""
    overlaps = random_overlaps(1, 1, seed=9)
    s = between(overlaps, *units, output_scale=(0.5, 2.0))
    moments = SingleMoments(s, Orthant())
    two_point = eqx.filter_jit(moments.first_order)(overlaps)
    three_point = eqx.filter_jit(moments.three_point)(overlaps)
    assert np.all(np.abs(two_point - three_point) <= 1e-13)


@eqx.filter_jit
def _both(moments, overlaps):
    return moments.first_order(overlaps), moments.second_order(overlaps)


def test_single_relu_as_printed():
    """straat2019 eq. (5) and (6) for K = M = 1, η² term included, at the start of its Fig. 1."""
    Q, R, eta = 0.25, 0.1, 0.7
    o = tl.Overlaps([[Q]], [[R]], [[1.0]])
    s = between(o, tl.ReLU(), tl.ReLU())
    rho, root = R / math.sqrt(Q), math.sqrt(Q - R**2)
    # ⟨θ(x) y y₊⟩ and ⟨θ(x) x y₊⟩ from eq. (6); ⟨θ(x) y₊²⟩ = ⟨θ(x) y y₊⟩.
    xyy = R * root / (2 * math.pi * Q) + math.asin(rho) / (2 * math.pi) + 0.25
    xxy = root / (2 * math.pi) + R * math.asin(rho) / (2 * math.pi) + R / 4
    rates = eqx.filter_jit(Flow(s))(o, np.float64(eta))
    assert rates.R[0, 0] == pytest.approx(eta * (xyy - R / 2), rel=1e-13)
    deltas = xyy - 2 * xxy + Q / 2
    assert rates.Q[0, 0] == pytest.approx(2 * eta * (xxy - Q / 2) + eta**2 * deltas, rel=1e-13)


@pytest.mark.slow
def test_numerical_routes_are_within_their_errors():
    """Nested quadrature for erf, where the closed forms are known."""
    o = random_overlaps(1, 2, seed=11)
    s = between(o, tl.Erf(), tl.Erf(), label_noise=0.2)
    exact, numerical = Flow(s), Flow(s, "quadrature")
    bound = numerical.moments.error(o)
    assert bound < 1e-3
    one, other = (_both(flow.moments, o) for flow in (exact, numerical))
    for a, b in zip(one, other, strict=True):
        assert np.all(np.abs(a - b) <= bound)


def test_the_series_is_used_for_four_different_fields_only():
    """citton2025: averages with coinciding fields have closed forms, and the series needs |ρ| <
    1.
    """
    o = random_overlaps(1, 2, seed=12)
    s = between(o, tl.ReLU(), tl.ReLU())
    exact, series = (
        eqx.filter_jit(Flow(s, m).moments.second_order)(o)
        for m in ("orthant", tl.averages.Hermite(4))
    )
    assert np.all(np.abs(exact - series) <= 1e-13)  # one student: never four different fields


def test_the_limit_of_small_rates_is_the_limit():
    """(rates/η - rates of the limit) = η ⟨δδ⟩ for Q and 0 for R."""
    o, eta = random_overlaps(2, 2, seed=6), 1e-3
    flow = Flow(between(o, tl.Erf(), tl.Erf()))
    small, limit = (eqx.filter_jit(flow)(o, rate) for rate in (np.float64(eta), 0))
    deltas = eqx.filter_jit(flow.moments.second_order)(o)
    assert np.all(np.abs(small.R / eta - limit.R) <= 1e-13)
    assert np.all(np.abs(small.Q / eta - limit.Q - eta * deltas) <= 1e-12)


def test_relu_and_leaky_relu_share_their_programs():
    """The ReLU is the leaky ReLU of slope 0."""

    def flow(unit):
        return Flow(tl.Scenario(tl.Committee(2, unit), tl.Committee(3, unit)))

    relu, same, leaky = map(flow, (tl.ReLU(), tl.LeakyReLU(0.0), tl.LeakyReLU(0.2)))
    assert jax.tree.structure(relu) == jax.tree.structure(leaky)
    for x, y in zip(*map(jax.tree.leaves, (relu, same)), strict=True):
        np.testing.assert_array_equal(x, y)


def test_weight_decay_shrinks():
    o, eta = random_overlaps(2, 2, seed=7), np.float64(0.5)
    plain, decaying = (
        eqx.filter_jit(Flow(between(o, tl.Erf(), tl.Erf(), weight_decay=gamma)))(o, eta)
        for gamma in (0.0, 0.3)
    )
    assert np.allclose(decaying.R - plain.R, -0.3 * o.R, atol=1e-15)
    assert np.allclose(decaying.Q - plain.Q, -0.6 * o.Q, atol=1e-15)


def test_nothing_moves_at_the_solution():
    """Student = teacher: δ = 0 for every input, on a singular covariance."""
    B = np.random.default_rng(8).normal(size=(2, 5))
    o = tl.Overlaps.from_weights(B, B)
    for g in (tl.ReLU(), tl.Erf()):
        rates = eqx.filter_jit(Flow(between(o, g, g)))(o, np.float64(1.3))
        assert np.max(np.abs(to_vector(rates))) <= 1e-10  # the private coordinate, 1e-11


@pytest.mark.slow
def test_error_functions_for_all_fields_at_once_are_sums_of_single_averages():
    """Saad and Solla's I4 of every quadruple, with offsets, scales, noise and equal students."""
    W = np.random.default_rng(2).normal(size=(4, 6)) / 6**0.5
    o = tl.Overlaps.from_weights(W[[0, 0]], W[2:])
    units = (tl.Erf(0.3), tl.Erf(-0.2))
    s = between(o, *units, output_scale=(0.7, 1.2), label_noise=0.4)
    flow, single = Flow(s), SingleMoments(s, ErfClosedForm())
    for order in ("first_order", "second_order"):
        at_once, one_by_one = (eqx.filter_jit(getattr(m, order))(o) for m in (flow.moments, single))
        assert np.allclose(at_once, one_by_one, rtol=0, atol=1e-14)  # rounding of dozens of terms
    limit = eqx.filter_jit(Flow(s, limit=True).moments.first_order)(o)
    assert np.allclose(limit, eqx.filter_jit(single.three_point)(o), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("K", "M"), [(1, 1), (1, 2), (2, 3)])
def test_error_functions_are_the_same_in_a_loop(K, M, monkeypatch):
    """Many fields take the shifts one after the other, a few take them in one expression."""
    o = random_overlaps(K, M, seed=13)
    s = between(o, tl.Erf(0.3), tl.Erf(), output_scale=(0.7, 1.2))
    straight = jax.jit(lambda: Flow(s).moments.second_order(o))()
    monkeypatch.setattr(erf, "UNROLLED_SHIFTS", 0)
    looped = jax.jit(lambda: Flow(s).moments.second_order(o))()
    assert np.allclose(looped, straight, rtol=0, atol=1e-15)


@pytest.mark.parametrize("K", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_right_hand_sides_of_erf_have_the_same_bits_in_any_batch(K):
    """Alone and among 2, 3, 8 and 16 states, with the compiler options of several runs."""
    states = [random_overlaps(K, K, seed=seed) for seed in range(16)]
    moments = Flow(between(states[0], tl.Erf(), tl.Erf())).moments
    Q, R = (np.stack([np.asarray(getattr(o, name)) for o in states]) for name in ("Q", "R"))
    T = np.asarray(states[0].T)

    @partial(jax.jit, compiler_options=ROUNDED_ALONE)
    def both(Q, R):
        o = unchecked(Q, R, jnp.broadcast_to(T, (len(Q), K, K)))
        return moments.first_order(o), moments.second_order(o)

    every = both(Q, R)
    for count in (1, 2, 3, 8):
        for some, all_of_them in zip(both(Q[:count], R[:count]), every, strict=True):
            assert np.array_equal(some, all_of_them[:count])


@pytest.mark.parametrize("norm", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("gap", [1.0, 1e-4, 1e-8, 0.0])
def test_error_functions_of_large_norms_and_fields_that_nearly_coincide(norm, gap):
    """Against Saad and Solla's determinants with 60 digits: a few roundings times √q.

    gap: the share of a field that students and teacher do not have in common.
    """
    W = np.random.default_rng(14).normal(size=(3, 4))
    W = np.sqrt(norm / 4) * (W[0] + gap * W)
    o = tl.Overlaps.from_weights(W[:2], W[2:])
    moments = Flow(between(o, tl.Erf(), tl.Erf())).moments
    C, G = np.asarray(o.covariance), np.array([-1, -1, 1.0])
    with mp.workdps(60):
        exact = [
            sum(
                G[a] * G[b] * erf_four_point(C[np.ix_(f, f)].tolist())
                for a in range(3)
                for b in range(3)
                for f in [[i, k, a, b]]
            )
            for i, k in ((0, 0), (0, 1), (1, 1))
        ]
    result = np.asarray(moments.second_order(o))[np.triu_indices(2)]
    rounding = 16 * float(np.finfo(float).eps)  # nine terms of order one
    assert np.all(np.abs(result - np.array(exact, dtype=float)) <= rounding * np.sqrt(norm))


def test_the_error_of_states_is_computed_as_was_asked():
    """The series of order 2 is not exact, and gives another number."""
    o = random_overlaps(2, 2, seed=1)
    s = between(o, tl.Erf(), tl.Erf())
    exact, series = (
        Flow(s, method).moments.generalization_error(o) for method in (None, Hermite(2))
    )
    assert abs(exact - series) > 1e-4
    assert float(series) == float(tl.generalization_error(s, o, method=Hermite(2)))
