"""citton2025: the second routes behind its rows that do not agree."""

from itertools import product

import numpy as np
import pytest
from scenarios import assert_behaviour_changes
from scipy.stats import norm

import tutelage as tl
from tutelage.papers.citton2025 import runs
from tutelage.papers.citton2025.series import gated_product, series_error
from tutelage.papers.citton2025.states import CRITICAL, ODD_ZEROS, RELU_ZEROS, number_of_terms


@pytest.mark.slow
def test_the_plateau_is_a_fixed_point_to_the_digits_given():
    point = tl.online.fixed_point(runs.scenario(), runs.plateau(), learning_rate=1.0)
    for name in ("Q", "R"):
        given, result = (np.asarray(getattr(x, name)) for x in (runs.plateau(), point.overlaps))
        np.testing.assert_allclose(given, result, atol=0.5e-6)  # six decimals


def test_the_plateau_has_correlations_below_one_and_an_eigenvalue_above_two():
    C = np.array(runs.PLATEAU)
    rho = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert np.max(np.abs(rho - np.eye(4))) < 1
    assert np.linalg.eigvalsh(rho)[-1] > 2


def test_terms_of_the_series_are_counted_as_by_hand():
    """All six indices in loops, to order 4."""
    for zeros in (RELU_ZEROS, (), ODD_ZEROS):
        count = 0
        for a, b, c, d, e, f in product(range(5), repeat=6):  # n12, n13, n14, n23, n24, n34
            orders = (a + b + c + 1, a + d + e + 1, b + d + f, c + e + f)
            count += all(n <= 4 and n not in zeros for n in orders)
        assert number_of_terms(zeros, 4) == count


def test_three_fields_are_left_where_one_is_repeated_by_quadrature():
    """⟨θ(u) v₊ w₊⟩ by a grid over u and v, and a closed average over w given u and v."""
    C = np.array([[1.0, 0.3, -0.4], [0.3, 0.7, 0.2], [-0.4, 0.2, 1.5]])
    x, weights = np.polynomial.legendre.leggauss(200)
    x, weights = 6 * (x + 1), 6 * weights  # 0 to 12 standard deviations
    u, v = np.meshgrid(x, x * np.sqrt(0.7), indexing="ij")
    inverse = np.linalg.inv(C[:2, :2])
    form = inverse[0, 0] * u**2 + 2 * inverse[0, 1] * u * v + inverse[1, 1] * v**2
    density = np.exp(-form / 2) / (2 * np.pi * np.sqrt(np.linalg.det(C[:2, :2])))
    slope = inverse @ C[:2, 2]
    mean, deviation = slope[0] * u + slope[1] * v, np.sqrt(C[2, 2] - C[2, :2] @ slope)
    rest = mean * norm.cdf(mean / deviation) + deviation * norm.pdf(mean / deviation)
    value = weights @ (density * v * rest) @ weights * np.sqrt(0.7)
    # Gauss-Legendre sums of 200 smooth terms: rounding of sums of order one.
    assert gated_product(C) == pytest.approx(value, rel=1e-12)


@pytest.mark.slow
def test_higher_orders_make_the_series_worse_on_the_plateau():
    errors = [abs(series_error(order)) for order in (20, 30, 40)]
    assert np.all(np.diff(errors) > 0)


@pytest.mark.slow
def test_the_time_to_half_of_the_plateau_is_shortest_in_between_too():
    """A second measure of the length: no reference to the saddle, no tenth of its height."""
    rates = np.array([0.5, 0.9, 1.2])
    run = tl.online.evolve(runs.scenario(), runs.start(), learning_rate=rates, until=200.0)
    error, time = run["generalization_error"].values, run["time"].values
    height = error[:, np.searchsorted(time, 20.0)]
    left = [time[np.argmax(e < h / 2)] for e, h in zip(error, height, strict=True)]
    # Times are half a unit apart, the differences five and more.
    assert left[1] < left[0] - 2 and left[1] < left[2] - 2


@pytest.mark.slow
def test_simulated_erf_students_have_an_error_that_rises_on_the_plateau():
    """η = 2.4 < η_c: what the equations say, by networks; one-sided t test at the level 0.001."""
    options = {"dimension": 40_000, "until": 30.0, "runs": 64, "seed": 5, "times": [12.0, 30.0]}
    run = tl.simulation.chain(runs.sigmoidal_scenario(), runs.start(), 2.4, **options)
    error = run["generalization_error"].values
    rise = error[:, 1] - error[:, 0]
    assert rise.mean() > 3.2 * rise.std(ddof=1) / np.sqrt(len(rise))
    theory = tl.online.evolve(
        runs.sigmoidal_scenario(), runs.start(), 2.4, until=30.0, times=np.array([12.0, 30.0])
    )
    expected = np.diff(theory["generalization_error"].values).item()
    assert abs(rise.mean() - expected) < 4 * rise.std(ddof=1) / np.sqrt(len(rise))


@pytest.mark.slow
def test_runs_on_either_side_of_the_critical_learning_rates_behave_differently():
    assert_behaviour_changes([*CRITICAL["non_monotonic"][2], *CRITICAL["diverges"][2]])


@pytest.mark.slow
def test_the_plateau_ends_in_a_fold_between_the_learning_rates_given():
    branch = runs.fig_2b()
    folds = branch["special_learning_rate"].values[branch["special_kind"].values == "fold"]
    low, high = CRITICAL["plateau_vanishes"][2]
    assert low < folds[0] < high
