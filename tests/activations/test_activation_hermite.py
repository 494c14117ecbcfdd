"""Hermite coefficients: closed forms against mpmath and quadrature, and their identities."""

import functools

import jax
import mpmath as mp
import numpy as np
import pytest
from activations.activation_reference import CASES, CLOSED, coefficients, gaussian_panels, shifted

from tutelage._jax import jnp
from tutelage.activations import GELU, Erf, LeakyReLU, ReLU, Swish
from tutelage.activations.hermite import derivative_coefficients
from tutelage.activations.projection import project

EPSILON = np.finfo(float).eps
VARIANCES = np.array([0.0, 1e-6, 0.3, 1.0, 7.0, 100.0])


def within_error(left, right, *errors):
    return np.all(np.abs(np.asarray(left) - np.asarray(right)) <= sum(errors))


@pytest.mark.parametrize("case", CLOSED)
@pytest.mark.parametrize("q", [pytest.param(1e-6, marks=pytest.mark.slow), 1.0, 100.0])
def test_closed_form_is_the_integral_in_mpmath(case, q):
    g, g_mp, _ = CASES[case]
    c = g.hermite(21, q)
    expected = [float(exact) for exact in coefficients(g_mp, q)]
    # The zeros of the reference are zero to its 30 digits.
    assert within_error(c.values, expected, c.error, 1e-25)


def test_the_reference_agrees_with_tanh_sinh_quadrature():
    """Numbers of the reference, which is a rule on panels, by tanh-sinh quadrature."""
    for case, n in (("Swish(50)", 2), ("Tanh", 5)):
        g = CASES[case][1]
        he = {2: lambda z: z**2 - 1, 5: lambda z: z**5 - 10 * z**3 + 15 * z}[n]
        points = [-16, -4, -1, mp.mpf(-1) / 8, 0, mp.mpf(1) / 8, 1, 4, 16]
        total = mp.quad(lambda z, g=g, he=he: mp.npdf(z) * he(z) * g(z), points)
        assert abs(total / mp.sqrt(mp.factorial(n)) - coefficients(g, 1)[n]) < 1e-20


@pytest.mark.parametrize("case", CLOSED)
def test_closed_form_agrees_with_quadrature(case):
    g, order = CASES[case][0], 60
    exact, numerical = g.hermite(order, VARIANCES), project(g, order, jnp.asarray(VARIANCES))
    assert within_error(exact.values, numerical.values, exact.error, numerical.error)
    assert np.max(numerical.error) < 1e-12


def relu_mp(n):
    """⟨H_n, g⟩/√n!, with H_{n−2}(0) = (−1)^{(n−2)/2} (n−3)!!   (citton2025, section 2.2)."""
    return (-1) ** (n // 2 - 1) * mp.fac2(n - 3) / mp.sqrt(2 * mp.pi * mp.factorial(n))


def erf_mp(n, q):
    """√(2/π) (q/(1+q))^{n/2} (−1)^{(n−1)/2} (n−2)!!/√n!."""
    r = mp.mpf(q) / (1 + mp.mpf(q))
    sign = (-1) ** ((n - 1) // 2)
    return (
        sign * mp.sqrt(2 / mp.pi) * r ** (mp.mpf(n) / 2) * mp.fac2(n - 2) / mp.sqrt(mp.factorial(n))
    )


def test_order_200_has_all_its_digits():
    """Against factorials in mpmath; double factorials overflow float64 at n = 300."""
    relu, erf = ReLU().hermite(400), Erf().hermite(400, 3.0)
    for n in (2, 10, 50, 200, 400):
        assert abs(relu.values[n] - float(relu_mp(n))) <= relu.error[n]
        assert abs(erf.values[n - 1] - float(erf_mp(n - 1, 3.0))) <= erf.error[n - 1]
    # (4 + 2n)ε
    assert np.max(relu.error / np.maximum(np.abs(relu.values), 1e-300)) <= 804 * EPSILON


def test_coefficients_of_the_relu_of_citton2025():
    """⟨H_0,g⟩ = 1/√2π, ⟨H_1,g⟩ = ½, ⟨H_n,g⟩ = H_{n−2}(0)/√2π = 1, −1, 3, −15 over √2π."""
    c = ReLU().hermite(8).values * np.sqrt([float(mp.factorial(n)) for n in range(9)])
    root = np.sqrt(2 * np.pi)
    expected = [1 / root, 0.5, 1 / root, 0, -1 / root, 0, 3 / root, 0, -15 / root]
    assert np.allclose(c, expected, rtol=16 * EPSILON, atol=0)


@pytest.mark.parametrize("case", CASES)
def test_symmetry_gives_exact_zeros(case):
    """Odd g: c_0 = c_2 = … = 0.  g = x f(x) with f − ½ odd: c_3 = c_5 = … = 0."""
    g = CASES[case][0]
    c = np.asarray(g.hermite(8, VARIANCES).values)
    if g.parity == "odd":
        assert np.all(c[:, 0::2] == 0)
    if case.startswith(("ReLU", "Leaky", "Linear", "Swish", "GELU", "Softplus")):
        assert np.all(c[:, 3::2] == 0)
    if case.startswith(("Erf", "Sigmoid", "Tanh")):
        assert np.all(c[:, 2::2] == 0)


@pytest.mark.parametrize("case", [*CASES, "shifted"])
@pytest.mark.parametrize("q", [pytest.param(0.3, marks=pytest.mark.slow), 4.0])
def test_parseval(case, q):
    """Σ_{n ≤ N} c_n² approaches ⟨g²⟩ from below, at least as fast as a kink allows.

    A jump J of g' leaves c_n² below J² q/n^{5/2}: a tail below J² q N^{−3/2}.
    """
    g = shifted() if case == "shifted" else CASES[case][0]
    order = 200
    c = np.asarray(g.hermite(order, q).values)
    z, w = gaussian_panels([0.3 / np.sqrt(q)])
    norm = float(np.sum(w * np.asarray(g(np.sqrt(q) * z)) ** 2))
    partial = np.cumsum(c**2)
    steep = case == "Sigmoid(50)"  # nearly a step at this resolution: c_n² of about n^{−3/2}
    tail = order**-0.5 if steep else order**-1.5 * q
    smooth = {"Linear": 1e-13, "Erf": 0.9**order, "GELU": 0.9**order}
    # 1e-13: sums of 2000 terms.
    assert np.all(partial <= norm * (1 + 1e-13))
    assert norm - partial[-1] <= smooth.get(case, tail) + 1e-13 * norm


@pytest.mark.parametrize("case", [*CASES, "shifted"])
def test_zero_variance_is_the_value_at_zero(case):
    g = shifted() if case == "shifted" else CASES[case][0]
    at_zero = g.hermite(8, VARIANCES).values[0]
    assert at_zero[0] == g(0.0) and np.all(at_zero[1:] == 0)


@functools.cache
def coefficients_and_slopes(case):
    """c_n and dc_n/dq for n ≤ 8 at VARIANCES."""
    g = shifted() if case == "shifted" else CASES[case][0]
    one = jnp.ones_like(VARIANCES)
    return jax.jvp(jax.jit(lambda q: g.hermite(8, q).values), (jnp.asarray(VARIANCES),), (one,))


@pytest.mark.parametrize("case", [*CASES, "shifted"])
def test_derivative_in_the_variance(case):
    """Against central differences: error h² c‴/6 with h = 1e-4 q, and 1e-15/h from rounding."""
    g = shifted() if case == "shifted" else CASES[case][0]
    slope = np.asarray(coefficients_and_slopes(case)[1])[1:]
    q = VARIANCES[1:]
    h = 1e-4 * VARIANCES
    above, below = (g.hermite(8, VARIANCES + sign * h).values[1:] for sign in (1, -1))
    scale = np.max(np.abs(slope), axis=1, keepdims=True)
    rounding = 1e-15 * np.sqrt(np.maximum(q, 1)) / h[1:]
    difference = (above - below) / (2 * h[1:, None])
    assert np.all(np.abs(slope - difference) <= 1e-7 * scale + rounding[:, None])


@pytest.mark.parametrize("case", [*CASES, "shifted"])
def test_derivative_at_zero_variance(case):
    """dc_0/dq = g''(0)/2 and dc_2/dq = g''(0)/√2 where they exist; finite in any case."""
    g = shifted() if case == "shifted" else CASES[case][0]
    slope = np.asarray(coefficients_and_slopes(case)[1])[0]
    assert np.all(np.isfinite(slope))
    if all(kink.position != 0 for kink in g.kinks):
        curvature = float(g.second_derivative(0.0))
        expected = np.zeros(9)
        expected[0], expected[2] = curvature / 2, curvature / np.sqrt(2)
        assert np.allclose(slope, expected, rtol=0, atol=1e-13)


def test_reverse_mode_agrees_with_forward_mode():
    backward = jax.jit(jax.jacrev(lambda q: Swish().hermite(8, q).values))
    forward = np.asarray(coefficients_and_slopes("Swish")[1])
    assert np.allclose(backward(0.0), forward[0], rtol=0, atol=1e-14)
    assert np.allclose(backward(1.0), forward[3], rtol=0, atol=1e-14)


def test_second_derivative_in_the_variance():
    slope = jax.jit(jax.grad(lambda q: Swish().hermite(2, q).values[2]))
    second = jax.jit(jax.grad(slope))(1.0)
    assert np.isclose(second, (slope(1.001) - slope(0.999)) / 0.002, rtol=1e-5)


def test_coefficients_are_differentiable_in_the_parameters():
    by_beta = jax.jit(jax.grad(lambda b: Swish(b).hermite(4, 0.7).values[2]))(1.3)
    values = [Swish(b).hermite(4, 0.7).values[2] for b in (1.3 - 1e-5, 1.3 + 1e-5)]
    assert np.isclose(by_beta, (values[1] - values[0]) / 2e-5, rtol=1e-8)
    by_slope = jax.jit(jax.grad(lambda a: LeakyReLU(a).hermite(1, 4.0).values[1]))(0.2)
    assert np.isclose(by_slope, 1.0, rtol=4 * EPSILON)  # c_1 = (1 + a)√q/2


@pytest.mark.parametrize("g", [GELU(), Swish()], ids=lambda g: g.name)
def test_shapes_follow_the_variance(g):
    q = np.array([[0.1, 0.5, 1.0], [0.0, 2.0, 3.0]])
    c = g.hermite(5, q)
    assert c.values.shape == c.error.shape == (2, 3, 6)
    assert np.allclose(c.values[1, 2], g.hermite(5, 3.0).values, rtol=0, atol=1e-14)
    assert g.hermite(0, np.zeros((0, 2))).values.shape == (0, 2, 1)
    inside = jax.jit(lambda q: g.hermite(5, q).values)(q)
    assert np.allclose(inside, c.values, rtol=0, atol=1e-14)


@pytest.mark.parametrize("case", [*CASES, "shifted"])
def test_derivative_coefficients_are_those_of_the_derivative(case):
    """√(n+1) c_{n+1}[g]/√q against ⟨h_n(z) g'(√q z)⟩ itself."""
    g = shifted() if case == "shifted" else CASES[case][0]
    q, order = VARIANCES[2], 8
    c = jax.tree.map(lambda leaf: leaf[2], g.hermite(order, VARIANCES))
    first = derivative_coefficients(c.values, q)
    error = derivative_coefficients(c.error, q)
    z, w = gaussian_panels([0.3 / np.sqrt(q)])
    h = np.polynomial.hermite_e.hermevander(z, order - 1)
    h = h / np.sqrt([float(mp.factorial(n)) for n in range(order)])
    expected = (w * np.asarray(g.derivative(np.sqrt(q) * z))) @ h
    # Sums of 2000 terms up to β = 50.
    assert within_error(first, expected, error, 1e-12)


def test_derivative_coefficients_twice_give_the_delta_function():
    """g'' = δ: c_n[δ] = h_n(0)/√(2πq)."""
    q = np.array([0.25, 3.0])
    second = derivative_coefficients(derivative_coefficients(ReLU().hermite(8, q).values, q), q)
    h = np.array([1, 0, -1 / np.sqrt(2), 0, np.sqrt(3 / 8), 0, -np.sqrt(5) / 4])
    expected = h / np.sqrt(2 * np.pi * q)[:, None]
    assert np.allclose(second, expected, rtol=32 * EPSILON, atol=1e-16)


def test_derivative_coefficients_at_zero_variance():
    g = Swish()

    @jax.jit
    def first(q):
        return derivative_coefficients(g.hermite(3, q).values, q, at_zero=g.derivative(0.0))

    assert np.array_equal(first(jnp.asarray(0.0)), [0.5, 0.0, 0.0])
    assert np.all(np.isfinite(jax.jit(jax.jacfwd(first))(0.0)))
    assert np.allclose(first(jnp.asarray(1e-12)), first(jnp.asarray(0.0)), rtol=0, atol=1e-5)
