"""Averages by conditioning: symmetry of opposite fields saves half of the nodes."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import tutelage as tl
from tutelage._jax import jit_unoptimized
from tutelage.averages.conditional.effort import PANELS
from tutelage.averages.conditional.kernel import FieldUnits, given_first, quadratic
from tutelage.averages.conditional.rules import Lattice

LINEAR_AND_EVEN = "linear plus even"
UNITS = {
    "odd": tl.Tanh,
    "odd and a constant": partial(tl.Sigmoid, 2.0),
    LINEAR_AND_EVEN: tl.GELU,
    "even": partial(tl.Activation.from_function, jnp.cos, parity="even"),
}
FAST = {("odd", 1), (LINEAR_AND_EVEN, 2), ("even", 1)}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        pytest.param(kind, given, marks=[pytest.mark.slow] * ((kind, given) not in FAST))
        for kind in UNITS
        for given in (1, 2)
    ],
)
def test_half_of_the_nodes_gives_what_all_of_them_give(kind, given):
    g = UNITS[kind]()
    unknown = tl.Activation.from_function(lambda x: g(x), name="the same")
    rng = np.random.default_rng(given)
    A, c = rng.normal(size=(4, 6)) / np.sqrt(6), rng.normal(size=4)

    def average(g, rule):
        units = FieldUnits(((g, 4),))
        assert (units.mirror is None) == (g is unknown)

        def weight(x):
            return g.derivative(x[0]) * g.derivative(x[-1])

        return jit_unoptimized(
            lambda C: quadratic(weight, units, C, jnp.asarray(np.outer(c, c)), 0.3, given, rule)
        )(A @ A.T)

    rule = Lattice(0.6, 0.6, 6)  # coarse: the sums are equal, however inaccurate
    pair = average(g, rule), average(unknown, rule)
    # Sums over some hundred nodes of numbers of order one.
    np.testing.assert_allclose(*pair, rtol=1e-12, atol=1e-14)


def hard_tanh_given(m, s):
    """⟨g⟩ and ⟨g'⟩ of g(x) = max(-1, min(1, x)) over x = m + s z."""
    low, high = (-1 - m) / s, (1 - m) / s
    inside = stats.norm.cdf(high) - stats.norm.cdf(low)
    density = stats.norm.pdf(low) - stats.norm.pdf(high)
    return m * inside + s * density + stats.norm.sf(high) - stats.norm.cdf(low), inside


@pytest.mark.parametrize("variance", [0.5, pytest.param(2.0, marks=pytest.mark.slow)])
def test_kinks_of_fields_whose_variance_is_not_one(variance):
    """⟨g g_a⟩, ⟨g' g_a'⟩ and ⟨g'' Σ c g⟩, g'' = δ(x + 1) - δ(x - 1), against integrals over x."""
    g = tl.Activation.from_function(lambda x: jnp.clip(x, -1.0, 1.0), kinks=(-1.0, 1.0))
    C, c = np.array([[variance, 0.4], [0.4, 1.3]]), np.array([0.3, -1.2])
    spread, slope, rest = variance**0.5, 0.4 / variance, (1.3 - 0.16 / variance) ** 0.5

    def averaged(f):
        parts = ((-12 * spread, -1.0), (-1.0, 1.0), (1.0, 12 * spread))
        weighted = lambda x: f(x) * stats.norm.pdf(x, scale=spread)  # noqa: E731
        return sum(integrate.quad(weighted, *part, epsabs=1e-12)[0] for part in parts)

    def given(x):
        return hard_tanh_given(slope * x, rest)

    def curved(x):
        return stats.norm.pdf(x, scale=spread) * (c @ [np.clip(x, -1, 1), given(x)[0]])

    inside = hard_tanh_given(0.0, spread)[1]
    products = [averaged(lambda x: np.clip(x, -1, 1) ** 2)]
    products += [averaged(lambda x: np.clip(x, -1, 1) * given(x)[0])]
    slopes = [inside, averaged(lambda x: (abs(x) < 1) * given(x)[1])]
    rule, units = PANELS[-1], FieldUnits(((g, 2),))
    result = jit_unoptimized(lambda C: given_first(units, C, c, rule))(C)
    # The nodes end at 7 standard deviations, and 1e-13 is added to variances.
    for one, other in zip(result, (products, slopes, curved(-1.0) - curved(1.0)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
