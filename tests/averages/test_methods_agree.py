"""Every method is tested on every problem of the common table, and against other methods where
nothing is exact.
"""

from itertools import product

import numpy as np
import pytest
from problems import problems
from units import covariances, grouped, true_errors, units

import tutelage as tl
from tutelage.averages import ErfClosedForm, Hermite, Orthant, Quadrature, i2, i3, i4
from tutelage.averages.methods import Conditional

EPSILON = np.finfo(float).eps
AVERAGES = {"i2": i2, "i3": i3, "i4": i4}
SERIES = [Hermite(6), Hermite(12)]
METHODS = [Orthant(), ErfClosedForm(), *SERIES, Quadrature(), Quadrature(nodes=20), Conditional()]
PAIRS_AND_TRIPLES = grouped(problems("i2", without="rounded") + problems("i3", without="rounded"))
FOURS = grouped(problems("i4", without="rounded"))
TABLE = PAIRS_AND_TRIPLES | FOURS
# Among these methods only the closed forms of Saad and Solla are restricted to some units.
NOT_SUPPORTED = [(group, ErfClosedForm()) for group in TABLE if set(group[1]) != {"erf"}]
# `Conditional` is the default for smooth units, and is tested with those of the table.
KINKED = [(group, Conditional()) for group in TABLE if set(group[1]) - {"erf", "linear"}]
EVERY = [case for case in product(TABLE, METHODS) if case not in NOT_SUPPORTED + KINKED]


def assert_honest(kind, tags, members, method):
    """The reported error does not understate the true one; EPSILON rounds the exact value."""
    estimate = AVERAGES[kind](units(tags), covariances(members), method, return_error=True)
    error, scale = true_errors(estimate.value, members), np.array([p.scale for p in members])
    assert np.all(np.isfinite(estimate.error))
    assert np.all(error <= estimate.error + EPSILON * (scale + 1))


# `test_orthant.py` and `test_erf.py` test the exact methods with sharper bounds, and
# `test_quadrature.py` and `test_error_estimates.py` the others with units that are not in this
# table.
FAST = [(group, Hermite(12)) for group in PAIRS_AND_TRIPLES] + [
    (("i2", ("linear", "erf")), Quadrature()),
    (("i2", ("linear", "erf")), Conditional()),
]


@pytest.mark.parametrize(("group", "method"), FAST, ids=str)
def test_two_and_three_point_averages_are_within_their_errors(group, method):
    assert_honest(*group, TABLE[group], method)


ALIKE = [("i4", ("relu",) * 4), ("i4", ("erf",) * 4)]


@pytest.mark.parametrize(
    ("group", "method"),
    [
        (ALIKE[1], Quadrature(nodes=14)),
        # `test_hermite.py` has these units and this order among its fast tests.
        pytest.param(ALIKE[0], Hermite(6), marks=pytest.mark.slow),
        pytest.param(ALIKE[1], Hermite(6), marks=pytest.mark.slow),
        pytest.param(ALIKE[0], Quadrature(nodes=14), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_four_point_averages_are_within_their_errors(group, method):
    """A third of the unmixed ones; all, with more nodes and orders, are a slow test."""
    assert_honest(*group, FOURS[group][::3], method)


@pytest.mark.slow
@pytest.mark.parametrize(("group", "method"), EVERY, ids=str)
def test_all_averages_of_the_table_are_within_their_errors(group, method):
    assert_honest(*group, TABLE[group], method)


@pytest.mark.parametrize(("group", "method"), NOT_SUPPORTED, ids=str)
def test_a_method_without_a_formula_for_the_units_is_refused(group, method):
    kind, tags = group
    with pytest.raises(tl.InputError, match=r"method: .*no formula"):
        AVERAGES[kind](units(tags), covariances(TABLE[group]), method)


SMOOTH = [
    (tl.Tanh(), tl.Swish(2.0)),
    (tl.Sigmoid(), tl.GELU()),
    (tl.Softplus(), tl.Erf(1.0)),
    (tl.Swish(), tl.ReLU()),
]
# I4 of such units is in `test_quadrature.py`, to more digits.
FAST_SMOOTH = [("i2", SMOOTH[0])]


@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        pytest.param(
            *case,
            id=f"{case[0]}-{'-'.join(g.name for g in case[1])}",
            marks=[pytest.mark.slow] * (case not in FAST_SMOOTH),
        )
        for case in product(AVERAGES, SMOOTH)
    ],
)
def test_series_and_quadrature_agree_for_other_activations(kind, pair):
    """Two numerical routes that share nothing, within the sum of their errors."""
    size = int(kind[1])
    A = np.random.default_rng(4).normal(size=(3, size, 6))
    C = A @ np.swapaxes(A, -1, -2) / 6
    activations = pair if size < 4 else (pair[0], pair[0], *pair)
    one, other = (
        AVERAGES[kind](activations, C, method, return_error=True)
        for method in (Hermite(12), Quadrature())
    )
    assert np.all(np.abs(one.value - other.value) <= one.error + other.error)
    assert np.all(other.error <= 1e-6)
