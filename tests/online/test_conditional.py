"""Averages of any unit by conditioning, against closed forms and a rule over all fields at once."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scenarios import between, random_overlaps, to_vector
from scipy import stats

import tutelage as tl
from tutelage.averages.conditional import effort
from tutelage.model.layout import layout_of
from tutelage.online import Flow


@eqx.filter_jit
def moments(flow, overlaps):
    return flow.moments.first_order(overlaps), flow.moments.second_order(overlaps)


def on_a_grid(s, overlaps, nodes=45, reach=7.0):
    """⟨δ_i v⟩ and ⟨δ_i δ_k⟩ from their definition, by the trapezoidal rule over all fields."""
    fields = s.K + s.M
    axis = np.linspace(-reach, reach, nodes)
    z = np.stack(np.meshgrid(*[axis] * fields, indexing="ij")).reshape(fields, -1)
    w = np.exp(-0.5 * np.sum(z**2, axis=0))
    w /= np.sum(w)
    f = np.linalg.cholesky(np.asarray(overlaps.covariance)) @ z
    (s_K, s_M), g, h = s.output_scale, s.student.activation, s.teacher.activation
    gap = np.asarray(s_M * np.sum(h(f[s.K :]), axis=0) - s_K * np.sum(g(f[: s.K]), axis=0))
    slopes = s_K * np.asarray(g.derivative(f[: s.K]))
    delta, square = slopes * gap, gap**2 + s.label_noise**2
    return (w * delta) @ f.T, (w * square * slopes) @ slopes.T


@pytest.mark.parametrize(
    ("K", "M", "g", "h"),
    [
        pytest.param(2, 1, tl.GELU(), tl.GELU(), marks=pytest.mark.slow),
        pytest.param(1, 2, tl.Tanh(), tl.Swish(2.0), marks=pytest.mark.slow),
        pytest.param(2, 2, tl.Swish(), tl.Softplus(), marks=pytest.mark.slow),
    ],
)
def test_smooth_units_agree_with_a_rule_over_all_fields(K, M, g, h):
    o = random_overlaps(K, M, seed=1)
    s = between(o, g, h, output_scale=(0.7, 1.3), label_noise=0.3)
    nodes = {3: 101, 4: 41}[K + M]
    flow = Flow(s)
    bound = flow.moments.error(o)
    assert bound < 1e-8
    for a, b in zip(moments(flow, o), on_a_grid(s, o, nodes), strict=True):
        assert np.all(np.abs(a - b) <= bound + 1e-9)  # the rule over all fields: 1e-9


@pytest.mark.slow
def test_norms_of_some_units_are_resolved_by_the_finest_lattice():
    """Panels would be fifty times as expensive; compared with a rule over all fields."""
    o = tl.Overlaps(2.5 * (0.8 * np.eye(3) + 0.2), [[0.3], [0.1], [-0.2]], [[1.0]])
    flow = Flow(between(o, tl.Tanh(), tl.Tanh()))
    C, choice = jnp.asarray(o.covariance), flow.moments._choice("pair")
    level = choice.level(C, effort.survey(flow.moments._units, C))
    assert bool(level.resolved) and int(level.rule) == len(choice.series) - 1
    assert not np.any(flow.coarse().moments.resolves(o))
    bound = flow.moments.error(o)
    assert bound < 1e-8
    grids = (on_a_grid(flow.scenario, o, nodes) for nodes in (55, 63))
    for a, coarse, fine in zip(moments(flow, o), *grids, strict=True):
        error = np.abs(fine - coarse)  # of the rule over all fields, which falls fast
        assert np.all(np.abs(a - fine) <= bound + error)
        assert np.max(error) < 1e-5 and np.median(error) < 1e-7


def near(x, y):
    return tl.Overlaps.from_weights(np.asarray(x), np.asarray(y))


def rows(seed, K=2, M=2):
    return np.split(np.random.default_rng(seed).normal(size=(K + M, 6)) / 6**0.5, [K])


J, B = rows(3)
EDGES = {
    "generic": near(J, B),
    "students coincide": near(J[[0, 0]], B),
    "students nearly coincide": near(J[[0, 0]] + 1e-5 * J[::-1], B),
    "the solution": near(B, B),
    "near the solution": near(B + 1e-3 * J, B),
    "a silent student": near(J * [[1], [0]], B),
    "a nearly silent student": near(J * [[1], [1e-6]], B),
    "a large student": near(J * [[1], [30]], B),
    "opposite": near(-B, B),
}


# These two take ten seconds and more, the others one or two.
FINER = ("a large student", "a nearly silent student")


@pytest.mark.parametrize(
    "edge", [pytest.param(e, marks=[pytest.mark.slow] * (e in FINER)) for e in EDGES]
)
@pytest.mark.parametrize("g", [tl.Erf(), pytest.param(tl.ReLU(), marks=pytest.mark.slow)])
def test_errors_are_not_understated_where_closed_forms_are_known(g, edge):
    """Erf as a smooth unit and the ReLU as one with a kink, by conditioning."""
    o = EDGES[edge]
    s = between(o, g, g, label_noise=0.2)
    exact, conditional = Flow(s), Flow(s, "conditional")
    bound = conditional.moments.error(o)
    size = np.max(np.abs(o.covariance)) ** 2
    for a, b in zip(moments(conditional, o), moments(exact, o), strict=True):
        assert np.all(np.isfinite(a))
        assert np.all(np.abs(a - b) <= bound + 1e-10 * size)  # closed forms: `EXACT`
    if isinstance(g, tl.Erf):
        assert bound < 1e-6 * max(size, 1.0)


@pytest.mark.slow
def test_a_sharp_unit_is_nearly_the_unit_with_a_kink():
    """Swish with β → ∞ is the ReLU, up to terms of order 1/β: g' differs over a width of 1/β."""
    o = EDGES["generic"]
    relu = moments(Flow(between(o, tl.ReLU(), tl.ReLU())), o)
    for beta in (100.0, 400.0):
        g = tl.Swish(beta)
        flow = Flow(between(o, g, g))
        bound = flow.moments.error(o)
        assert bound < 1e-6
        for a, b in zip(moments(flow, o), relu, strict=True):
            assert np.all(np.abs(a - b) <= bound + 0.1 / beta)


@pytest.mark.slow
def test_derivatives_are_those_of_the_averages():
    """Central differences, and the derivative where two students coincide."""
    o = EDGES["generic"]
    flow = Flow(between(o, tl.GELU(), tl.GELU()))

    def second(y):
        return flow.moments.second_order(layout_of(2, 2).overlaps(y, o.T)).ravel()

    compiled = eqx.filter_jit(second)
    y, h = np.asarray(to_vector(o)), 1e-4
    J = eqx.filter_jit(jax.jacfwd(second))(y)
    differences = [(compiled(y + h * e) - compiled(y - h * e)) / (2 * h) for e in np.eye(len(y))]
    assert np.all(np.abs(J.T - np.stack(differences)) <= 1e-6)  # h² times third derivatives
    at_rest = np.asarray(to_vector(EDGES["the solution"]))
    assert np.all(np.isfinite(eqx.filter_jit(jax.jacfwd(second))(at_rest)))


@pytest.mark.slow
def test_many_units_of_any_kind_have_an_average():
    """K = M = 4, at a state where every signal is 0."""
    B = np.random.default_rng(5).normal(size=(4, 9)) / 3
    o = near(B, B)
    first, second = moments(Flow(between(o, tl.GELU(), tl.GELU())), o)
    assert np.max(np.abs(first)) <= 1e-8
    assert np.max(np.abs(second)) <= 1e-8


@pytest.mark.slow
def test_four_point_averages_by_two_routes():
    """Conditioning against nested quadrature over four fields."""
    C = np.asarray(random_overlaps(2, 2, seed=4).covariance)
    for units in (tl.GELU(), (tl.Tanh(), tl.Tanh(), tl.ReLU(), tl.GELU())):
        one, other = (
            tl.averages.i4(units, C, method=m, return_error=True)
            for m in ("conditional", "quadrature")
        )
        assert abs(one.value - other.value) <= one.error + other.error
        assert one.error < 1e-8


@pytest.mark.slow
def test_a_unit_that_is_not_smooth_at_its_kink_only():
    """A hard tanh, one student: kinks at ±1, against nested quadrature."""
    hard = tl.Activation.from_function(
        lambda x: jnp.clip(x, -1.0, 1.0), kinks=(-1.0, 1.0), parity="odd"
    )
    o = random_overlaps(1, 1, seed=6)
    s = between(o, hard, hard)
    flow, nested = Flow(s), Flow(s, "quadrature")
    bound = flow.moments.error(o)
    assert bound < 1e-8
    for a, b in zip(moments(flow, o), moments(nested, o), strict=True):
        assert np.all(np.abs(a - b) <= bound + nested.moments.error(o))


def hard_tanh_given(m, s):
    """⟨g⟩ and ⟨g²⟩ of g(u) = max(-1, min(1, u)) over u = m + s z."""
    low, high = (-1 - m) / s, (1 - m) / s
    inside = stats.norm.cdf(high) - stats.norm.cdf(low)
    p_low, p_high = stats.norm.pdf(low), stats.norm.pdf(high)
    above, below = stats.norm.sf(high), stats.norm.cdf(low)
    mean = m * inside + s * (p_low - p_high) + above - below
    square = (m**2 + s**2) * inside + 2 * m * s * (p_low - p_high)
    return mean, square + s**2 * (low * p_low - high * p_high) + above + below


@pytest.mark.slow
def test_the_error_has_the_noise_that_is_added_to_variances():
    """⟨δ²⟩ = ⟨(g(y) - x)²; |x| < 1⟩ changes by 1.5 times the added noise, relative to the largest
    variance.
    """
    Q, R, T = 3.0, 3.0, 3.3
    hard = tl.Activation.from_function(
        lambda x: jnp.clip(x, -1.0, 1.0), kinks=(-1.0, 1.0), parity="odd"
    )
    o = tl.Overlaps([[Q]], [[R]], [[T]])
    moments = Flow(between(o, hard, hard)).moments
    x, w = np.polynomial.legendre.leggauss(100)
    mean, square = hard_tanh_given(R / Q * x, np.sqrt(T - R**2 / Q))
    exact = np.sum(w * stats.norm.pdf(x, scale=np.sqrt(Q)) * (square - 2 * x * mean + x**2))
    bound = moments.error(o)
    assert abs(moments.second_order(o)[0, 0] - exact) <= bound < 1e-8
