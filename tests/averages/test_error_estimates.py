"""Error estimates from both sides: at least the true error, and at most a hundred times the true
error.

Where the true error may vanish by chance the upper side is that of the median over a batch.  The
estimates of the closed forms (`orthant`, `erf`) are bounds on rounding, which have no upper side:
`test_orthant.py` and `test_erf.py` hold them from below.
"""

import numpy as np
import pytest
from units import in_one_piece

import tutelage as tl
from tutelage._jax import jit_unoptimized, jnp
from tutelage.averages import erf as exact_erf
from tutelage.averages.conditional import averages as conditional, effort
from tutelage.averages.conditional.kernel import FieldUnits, quadratic
from tutelage.averages.conditional.rules import Lattice, Panels
from tutelage.averages.hermite import averages as hermite_averages
from tutelage.averages.orthant import averages as orthant_averages
from tutelage.averages.quadrature import averages as quadrature_averages
from tutelage.averages.quadrature.fields import Field
from tutelage.averages.quadrature.grid import Grid, ordered_factor

RELU, ERF = (tl.ReLU(),) * 2, (tl.Erf(),) * 2
erf, orthant = in_one_piece(exact_erf), in_one_piece(orthant_averages)
hermite, quadrature = in_one_piece(hermite_averages), in_one_piece(quadrature_averages)


def covariances(size, rank=3):
    W = np.random.default_rng(size).normal(size=(20, size, rank)) / rank**0.5
    return jnp.asarray(W @ np.swapaxes(W, -1, -2))


def hold_both_sides(estimate, exact, reference_error=None):
    """true ≤ estimate, and the estimate at most 100 times the true error (of a reference)."""
    true = np.abs(np.asarray(estimate.value) - np.asarray(exact))
    error = np.asarray(estimate.error)
    assert np.all(true <= error)
    assert np.median(error) <= 100 * np.median(true if reference_error is None else reference_error)
    return np.min(error / np.where(true > 0, true, np.inf))


@pytest.mark.parametrize(
    ("terms", "rho"),
    [
        (3, -0.9),
        (5, 0.7),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in ((5, -0.9), (3, 0.7))),
    ],
)
def test_the_rest_of_mehlers_series(terms, rho):
    """Against the same nodes with 60 terms.  The worst case is nearly attained: odd orders follow,
    of negative sign at ρ < 0, while the rest is taken at ρ to an even power."""
    g = tl.Tanh()
    C = np.diag([1.0, 1.5, 4.0, 4.0])
    C[2, 3] = C[3, 2] = 4 * rho
    Gamma = np.zeros((4, 4))
    Gamma[2, 3] = Gamma[3, 2] = 0.5

    def average(n):
        rule = Lattice(0.4, 0.3, n)
        slopes = lambda x: g.derivative(x[0]) * g.derivative(x[1])  # noqa: E731
        compute = lambda C: quadratic(slopes, FieldUnits(((g, 4),)), C, Gamma, 0.0, 2, rule)  # noqa: E731
        return tl.averages.Estimate(*jit_unoptimized(compute)(C))

    ratio = hold_both_sides(average(terms), average(60).value)
    assert rho > 0 or ratio < 2


@pytest.mark.parametrize(
    ("kind", "units", "order", "closest"),
    [("i2", RELU, 3, 2), ("i2", ERF, 3, 2), ("i3", RELU, 3, 3), ("i3", ERF, 6, 2)],
)
def test_hermite_series_of_two_and_three_fields(kind, units, order, closest):
    """The bounds are rigorous and nearly attained; ``closest`` is how nearly, at the best one."""
    C = covariances(int(kind[1]))
    estimate = getattr(hermite, kind)(units, C, order=order)
    assert hold_both_sides(estimate, getattr(orthant, kind)(units, C).value) < closest


@pytest.mark.parametrize("order", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_hermite_series_of_four_fields(order):
    """Weakly correlated, where the series converges fast; elsewhere the estimate is generous."""
    C = covariances(4, rank=30)
    exact = erf.i4(ERF * 2, C).value
    hold_both_sides(hermite.i4(ERF * 2, C, order=order), exact)


def test_quadrature_with_kinks():
    C = covariances(2)
    assert hold_both_sides(quadrature.i2(RELU, C, nodes=6), orthant.i2(RELU, C).value) < 10


def test_quadrature_of_smooth_units():
    """The value is the mean of two grids, whose errors cancel; its error is estimated from one
    grid.
    """
    C, fields = covariances(2), (Field(tl.Erf(), 0), Field(tl.Erf(), 0))
    exact = erf.i2(ERF, C).value

    def one_grid(C):
        L, _ = ordered_factor(fields, C)
        return Grid(fields, jnp.zeros(2), L).sum(6)

    alone = np.array([jit_unoptimized(one_grid)(c) for c in C])
    hold_both_sides(quadrature.i2(ERF, C, nodes=6), exact, np.abs(alone - exact))


def test_conditional_averages_with_coarse_rules(monkeypatch):
    """The default rules leave only rounding errors; here they have so few nodes that there is an
    error.
    """
    monkeypatch.setattr(effort, "PANELS", (Panels(8, 6, 1.0),) * 2)
    monkeypatch.setattr(effort, "JUDGE", Panels(6, 5, 0.01))
    C = covariances(2)
    compute = jit_unoptimized(lambda C: conditional._estimate(conditional._product, RELU, C, 1))
    parts = zip(*(compute(c) for c in C), strict=True)
    estimate = tl.averages.Estimate(*(np.array(part) for part in parts))
    assert hold_both_sides(estimate, orthant.i2(RELU, C).value) < 10


def test_conditional_averages_of_smooth_units_are_exact_to_rounding():
    """The estimate is then rounding: true ≤ estimate ≤ 1e-12 of numbers of order one."""
    C = covariances(2)
    estimate = in_one_piece(conditional).i2(ERF, C)
    assert np.all(np.abs(estimate.value - erf.i2(ERF, C).value) <= estimate.error)
    assert np.all(estimate.error <= 1e-12)
