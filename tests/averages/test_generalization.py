"""ε_g against the papers' formulas, against sampling, and where it has to vanish."""

import math

import numpy as np
import pytest
from scenarios import between, random_overlaps

import tutelage as tl
from tutelage._jax import jax, jnp

EPSILON = np.finfo(float).eps


def signs(o):
    """1 for two students and for two teachers, and otherwise -1."""
    side = np.where(np.arange(o.K + o.M) < o.K, 1, -1)
    return np.outer(side, side)


def erf_formula(o):
    """oostwal2019 eq. (26), for outputs that are plain sums."""
    C = np.asarray(o.covariance)
    own = 1 + np.diag(C)
    return np.sum(signs(o) * np.arcsin(C / np.sqrt(np.outer(own, own)))) / math.pi


def relu_formula(o):
    """oostwal2019 eq. (28), with ½ for its 1/2K: outputs are plain sums."""
    C = np.asarray(o.covariance)
    norms = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    angles = np.arcsin(np.clip(C / norms, -1, 1))
    roots = np.sqrt(np.maximum(norms**2 - C**2, 0.0))
    return np.sum(signs(o) * (C / 4 + (roots + C * angles) / (2 * math.pi))) / 2


def test_errors_of_averages_add_up_to_the_error():
    """½ ⟨(τ - σ)²⟩ of one unit each has three averages, with factors ½, -1 and ½."""
    g, way = tl.Erf(), tl.averages.Hermite(order=4)
    o = tl.Overlaps(Q=[[0.8]], R=[[0.5]], T=[[1.0]])
    found = tl.generalization_error(between(o, g, g), o, method=way, return_error=True)
    C = [[[a, b], [b, c]] for a, b, c in ((0.8, 0.8, 0.8), (0.8, 0.5, 1.0), (1.0, 1.0, 1.0))]
    parts = tl.averages.i2(g, np.asarray(C), method=way, return_error=True)
    assert np.all(parts.error > 1e-9)
    expected = np.array([0.5, 1.0, 0.5]) @ np.asarray(parts.error)
    assert float(found.error) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("K", "M"),
    [(3, 2), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((1, 1), (2, 2), (2, 4)))],
)
def test_printed_formulas(K, M):
    """A few dozen terms of order one; √ε where root and angle of the diagonal cancel."""
    o = random_overlaps(K, M)
    for g, formula in ((tl.Erf(), erf_formula), (tl.ReLU(), relu_formula)):
        error = tl.generalization_error(between(o, g, g), o)
        assert error == pytest.approx(formula(o), rel=0, abs=1e-13)


@pytest.mark.parametrize(
    ("g", "h"),
    [
        (tl.ReLU(), tl.Erf()),
        pytest.param(tl.Erf(1.0), tl.LeakyReLU(0.2), marks=pytest.mark.slow),
        pytest.param(tl.Tanh(), tl.Swish(2.0), marks=pytest.mark.slow),
    ],
)
def test_sampled_outputs_have_this_error(g, h):
    """Mean over 4·10⁵ inputs, within five standard errors."""
    o = random_overlaps(3, 2, seed=1)
    s = between(o, g, h, output_scale=(0.5, 0.7))
    J, B = o.to_weights(5)
    inputs = np.random.default_rng(2).normal(size=(400_000, 5))
    student = 0.5 * np.sum(g(inputs @ J.T), axis=1)
    teacher = 0.7 * np.sum(h(inputs @ B.T), axis=1)
    samples = 0.5 * (student - teacher) ** 2
    standard_error = np.std(samples) / math.sqrt(len(samples))
    assert abs(tl.generalization_error(s, o) - np.mean(samples)) <= 5 * standard_error


@pytest.mark.parametrize(
    "g",
    [tl.ReLU(), tl.Erf(), tl.Tanh(), pytest.param(tl.GELU(), marks=pytest.mark.slow)],
    ids=lambda g: g.name,
)
def test_a_student_that_equals_the_teacher_makes_no_error(g):
    """Also in another order, and with a unit split in two halves if it is homogeneous."""
    B = np.random.default_rng(3).normal(size=(3, 8)) / 3
    o = tl.Overlaps.from_weights(B[::-1], B)
    estimate = tl.generalization_error(between(o, g, g), o, return_error=True)
    assert abs(estimate.value) <= estimate.error
    assert estimate.error <= 1e-9
    if g == tl.ReLU():
        split = tl.Overlaps.from_weights([*B[:2], 0.3 * B[2], 0.7 * B[2]], B)
        assert abs(tl.generalization_error(between(split, g, g), split)) <= 64 * EPSILON


def test_matching_offsets_do_not_matter():
    o = random_overlaps(2, 2)
    plain, shifted = (
        tl.generalization_error(between(o, tl.Erf(x), tl.Erf(x)), o) for x in (0.0, 1.0)
    )
    assert plain == pytest.approx(float(shifted), abs=16 * EPSILON)


def test_orthogonal_students_do_not_feel_their_number():
    """R = S = C = 0 with outputs scaled by 1/√K: 1/3 for erf, ½ - 1/2π for ReLU (oostwal2019)."""
    for K in (1, 20):
        o = tl.Overlaps(np.eye(K), np.zeros((K, K)), np.eye(K))
        for g, expected in ((tl.Erf(1.0), 1 / 3), (tl.ReLU(), 0.5 - 0.5 / math.pi)):
            s = between(o, g, g, output_scale=1 / math.sqrt(K))
            # K² terms of order 1/K
            error = tl.generalization_error(s, o)
            assert error == pytest.approx(expected, rel=0, abs=8 * K * EPSILON)


@pytest.mark.slow
def test_methods_agree_and_their_errors_add_up():
    o = random_overlaps(2, 2, seed=4)
    s = between(o, tl.ReLU(), tl.ReLU())
    exact = tl.generalization_error(s, o)
    for method in ("hermite", "quadrature"):
        value, bound = tl.generalization_error(s, o, method=method, return_error=True)
        assert abs(value - exact) <= bound


def test_batches_and_derivatives():
    """∂ε_g/∂R = -⟨θ(x)θ(y)⟩ = -¼ at R = 0 for one ReLU."""
    one = tl.Committee(1, tl.ReLU())
    s = tl.Scenario(one, one)
    R = np.linspace(-1, 1, 5).reshape(5, 1, 1)
    errors = tl.generalization_error(s, tl.Overlaps(np.ones((5, 1, 1)), R, s.T))
    assert errors.shape == (5,)
    assert np.all(np.diff(errors) < 0)
    slope = jax.jit(
        jax.grad(
            lambda r: tl.generalization_error(
                s, tl.Overlaps(jnp.ones((1, 1)), r.reshape(1, 1), s.T)
            )
        )
    )(jnp.zeros(()))
    assert slope == pytest.approx(-0.25, abs=4 * EPSILON)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, o: (s, random_overlaps(3, 2)), "overlaps: got 3 students and 2 teachers"),
        (lambda s, o: (s, random_overlaps(2, 2, seed=9)), "overlaps: got another T"),
        (lambda s, o: (s, o.Q), "overlaps: .*(?s:.)*it has to be Overlaps"),
        (lambda s, o: (s.student, o), "scenario: .*(?s:.)*it has to be a Scenario"),
    ],
)
def test_misfits_are_refused(change, message):
    o = random_overlaps(2, 2)
    with pytest.raises(tl.InputError, match=message):
        tl.generalization_error(*change(between(o, tl.ReLU(), tl.ReLU()), o))
