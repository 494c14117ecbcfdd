"""Every derivative that is written by hand against central differences, at unequal variances."""

import ast
from pathlib import Path

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jit_unoptimized, jnp
from tutelage.activations import projection
from tutelage.averages import pairs
from tutelage.averages.conditional import derivatives
from tutelage.averages.orthant import angle, moments, sums
from tutelage.averages.quadrature.fields import Effort, Field, average
from tutelage.gates import calculus
from tutelage.spectra import cross_entropy

SOURCES = Path(tl.__file__).parent
RANDOM = np.random.default_rng(29)
# Four fields with variances between 1 and 4, as `orthant.normalised` leaves them.
FIELDS = RANDOM.normal(size=(4, 6))
DEVIATIONS = np.array([1.0, 1.9, 1.3, 1.6])
FIELDS *= (DEVIATIONS / np.linalg.norm(FIELDS, axis=1))[:, None]
C = FIELDS @ FIELDS.T
# Moments of four leaky ReLUs: two slopes and two values.
LEAKY = tl.LeakyReLU(0.3).closed_form
SUMS = sums.Sums(
    [
        sums.multiplied(
            *(sums.slope(LEAKY, f) for f in (0, 1)), *(sums.value(LEAKY, f) for f in (2, 3))
        )
    ]
)
LEVELS = ((-1.0, 0.0, 2.0), (0.2, 0.5, 0.3))
Z = np.array([0.3, -1.2, 0.8])


def entries(C):
    """Covariance as the orthant moments take it; symmetric whatever the direction."""
    C = 0.5 * (C + C.T)
    return {(i, j): C[i, j] for i in range(4) for j in range(i, 4)}


def kinks(C):
    """First-order terms of two ReLU students, with two leaky ones as teachers."""
    units = pairs.unit_coefficients([(tl.ReLU(), 2), (tl.LeakyReLU(0.3), 2)])
    return pairs.first_order(
        units, 0.5 * (C + C.T), jnp.asarray([[1, 2, -1, 0.5], [0.3, -1, 2, 1]])
    )


def integral(C):
    fields = (Field(tl.Tanh(), 0), Field(tl.ReLU(), 1))
    C = 0.5 * (C + C.T)[:2, :2]
    return average(fields, jnp.zeros(2), C, Effort((0, 80, 80))).value


def polynomial(c, b):
    """A stand-in for an average: of three entries of a covariance and a parameter."""
    return c[0] ** 2 * c[1] * jnp.sin(b) + c[2] * jnp.exp(b)


STAND_IN = derivatives.Average(
    lambda c, b: tl.averages.Estimate(polynomial(c, b), 0 * b), polynomial
)


def stand_in(x):
    return derivatives.estimate((x[:3], x[3]), average=STAND_IN).value


TABLE = {
    "activations/projection.py _coefficients": (
        lambda q: projection._coefficients(tl.Swish(1.5), q, order=5)[0],
        0.6,
    ),
    "averages/conditional/derivatives.py estimate": (stand_in, [0.7, 0.3, 1.9, 0.4]),
    "averages/conditional/derivatives.py _derivative": (
        jax.grad(stand_in),
        [0.7, 0.3, 1.9, 0.4],
    ),
    "averages/orthant/angle.py angle": (lambda z: angle.angle(z[::2], z[1:]), Z),
    "averages/orthant/angle.py arcsine": (lambda z: angle.arcsine(0.7 * z), Z),
    "averages/orthant/angle.py arctangent": (lambda z: angle.arctangent(z[1:], z[::2]), Z),
    "averages/orthant/moments.py pair_moment": (
        lambda C: moments.pair_moment(entries(C), 0, 1, 2, 3),
        C,
    ),
    "averages/orthant/moments.py pair_sign": (lambda C: moments.pair_sign(entries(C), 1, 3), C),
    "averages/orthant/moments.py quad_moment": (lambda C: moments.quad_moment(entries(C)), C),
    "averages/orthant/moments.py quad_sign": (lambda C: moments.quad_sign(entries(C)), C),
    "averages/orthant/moments.py triple_moment": (lambda C: moments.triple_moment(entries(C)), C),
    "averages/orthant/sums.py _values": (SUMS.values, C),
    "averages/pairs.py _with_kinks": (kinks, C),
    "averages/quadrature/fields.py _integral": (integral, C),
    "gates/calculus.py log_sum": (lambda t: calculus.log_sum(LEVELS, t), Z),
    "gates/calculus.py probabilities": (lambda t: calculus.probabilities(LEVELS, t), Z),
    "spectra/cross_entropy.py logistic": (cross_entropy.logistic, Z),
    "spectra/cross_entropy.py softmax": (cross_entropy.softmax, Z),
    "spectra/cross_entropy.py softplus": (cross_entropy.softplus, Z),
    "spectra/cross_entropy.py surprise": (
        lambda z: cross_entropy.surprise(z, jnp.asarray([0.0, 1.0, 0.0])),
        Z,
    ),
}


def written_by_hand():
    """Functions decorated with a custom derivative, as "file name"."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                decorators = " ".join(ast.unparse(d) for d in node.decorator_list)
                if "custom_jvp" in decorators or "custom_vjp" in decorators:
                    yield f"{path.relative_to(SOURCES).as_posix()} {node.name}"


def test_the_table_has_every_derivative_that_is_written_by_hand():
    assert sorted(written_by_hand()) == sorted(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_derivatives_are_central_differences(name):
    """The error of a difference is h² f''' and rounding ε f/h: together 1e-8 of f and its slope."""
    function, state = TABLE[name]
    x, h = np.asarray(state, dtype=float), 1e-5
    with_slope = jit_unoptimized(lambda x, d: jax.jvp(function, (x,), (d,)))
    for direction in np.random.default_rng(5).normal(size=(3, *x.shape)):
        value, slope = with_slope(x, direction)
        above, below = (with_slope(x + s * h * direction, direction)[0] for s in (1, -1))
        difference = (above - below) / (2 * h)
        scale = np.max(np.abs(value)) + np.max(np.abs(difference))
        assert np.all(np.abs(slope - difference) <= 1e-8 * scale)


def test_derivatives_of_averages_do_not_depend_on_how_they_are_taken():
    """Forward, reverse, of second order, mixed with a parameter, batched: the same polynomial."""
    x = jnp.asarray([0.7, 0.3, 1.9, 0.4])
    plain, by_hand = (lambda x: polynomial(x[:3], x[3])), stand_in
    ways = (
        jax.jacrev,
        jax.hessian,
        lambda f: jax.jacrev(jax.jacrev(f)),
        lambda f: lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, 2 * x])),
    )
    for f in zip(*([way(f) for way in ways] for f in (by_hand, plain)), strict=True):
        one, other = jit_unoptimized(lambda x, f=f: [function(x) for function in f])(x)
        # A handful of operations on numbers of order one.
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
