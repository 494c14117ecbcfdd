"""Plateaus: the saddle, its height, and how long runs stay there."""

import math

import numpy as np
import pytest
from scenarios import GRADED, GRADED_START, to_vector

import tutelage as tl
from tutelage._jax import jnp
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow, errors_of
from tutelage.online.stationary import plateaus
from tutelage.online.stationary.plateaus import plateau, saddle
from tutelage.online.stationary.points import polished
from tutelage.online.steps import Steps, steps
from tutelage.online.trajectory import evolve

ETA = 0.5


def erf(bias: float = 1e-3):
    two = tl.Committee(2, tl.Erf())
    scenario = tl.Scenario(two, two)
    return scenario, tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[bias, 0], [0, 0]], T=scenario.T)


@pytest.fixture(scope="module")
def found():
    return plateau(*erf(), ETA)


def test_the_slope_along_a_run_is_the_derivative_of_its_error():
    """Central differences on equal steps of h = 0.02 are off by h²ε'''/6, about 1e-5 here."""
    scenario, start = erf()
    run = steps(Flow(scenario), np.asarray(to_vector(start)), ETA, 20.0, longest=0.02)
    difference = (run.error[2:] - run.error[:-2]) / (run.times[2:] - run.times[:-2])
    h = np.diff(run.times)
    equal = np.abs(h[1:] - h[:-1]) < 1e-9
    assert np.sum(equal) > 900
    np.testing.assert_allclose(difference[equal], run.slope[1:-1][equal], atol=2e-5)


def test_the_plateau_of_erf_units_is_symmetric_with_one_way_out(found):
    R = np.asarray(found.point.overlaps.R)
    assert np.ptp(R) < 1e-9
    directions = found.point.unstable_directions.real
    assert directions.shape[1] == 1
    change = directions[:4, 0].reshape(2, 2)
    np.testing.assert_allclose(change[0], -change[1], atol=1e-8)


@pytest.mark.slow
def test_the_ends_of_the_plateau_are_where_evolve_has_a_tenth_more_and_less(found):
    """Second route: another integration, stopped at these times.

    The estimated error of the length times the slope of the error, less than one, bounds it.
    """
    scenario, start = erf()
    times = np.array([found.begins, found.ends])
    run = evolve(scenario, start, ETA, until=found.ends, times=times, tolerance=1e-11)
    error = run.generalization_error.sel(time=times, method="nearest").values
    expected = found.height.value * np.array([1.1, 0.9])
    np.testing.assert_allclose(error, expected, atol=1e-7 + found.length.error)
    assert found.length.value == pytest.approx(found.ends - found.begins)


@pytest.mark.parametrize("rate", [0.2, ETA, 1.5])
def test_the_error_of_the_length_holds_from_both_sides(rate):
    """Against a tolerance a thousand times smaller, which counts as exact."""
    scenario, start = erf()
    result, flow = plateau(scenario, start, rate), Flow(scenario)
    run = steps(flow, flow.vector(start), rate, 2 * result.ends, tolerance=1e-13)
    begins, ends = plateaus._ends_of_plateau(run, result.point.generalization_error)
    true = abs(result.length.value - (ends - begins))
    assert true <= result.length.error <= 100 * true


def test_the_length_grows_like_the_logarithm_of_the_initial_asymmetry(found):
    """Linear escape: a tenfold smaller seed of the growing mode takes ln(10)/λ longer.

    The slowest mode of the approach, -0.002, is still there when the run leaves; what it adds
    falls in proportion from seed to seed and is removed by Aitken's extrapolation.
    """
    scenario, _ = erf()
    rate = found.point.eigenvalues[0].real
    starts = [
        tl.Overlaps(Q=0.25 * np.eye(2), R=bias * np.eye(2), T=scenario.T)
        for bias in (1e-5, 1e-6, 1e-7, 1e-8)
    ]
    lengths = [plateau(scenario, start, ETA).length.value for start in starts]
    first, second, third = np.diff(lengths)
    limit = third - (third - second) ** 2 / ((third - second) - (second - first))
    assert limit == pytest.approx(math.log(10) / rate, rel=5e-3)


def made_up_run(flow, states):
    """Steps through given states, at the middle one of which the error changes most slowly."""
    T = flow.scenario.T
    error = np.array([float(errors_of(flow, jnp.asarray(y), T)) for y in states])
    slope = np.where(np.arange(len(states)) == len(states) // 2, 1e-9, -1.0) * error
    return Steps(np.arange(float(len(states))), np.array(states), error, slope, "reached")


def test_a_saddle_far_from_the_run_is_not_its_plateau(found):
    """Newton's method leads to the saddle from far away, too; the difference of errors shows the
    distance.
    """
    flow, saddle_at = Flow(erf()[0]), found.point.vector
    far, near = 0.75 * saddle_at, saddle_at + 1e-3
    reached, _ = polished("start", flow, rate_of(ETA), far)
    np.testing.assert_allclose(reached, saddle_at, atol=1e-9)
    runs = [made_up_run(flow, [2 * saddle_at, middle, far]) for middle in (far, near)]
    assert runs[0].error[1] > 1.5 * found.height.value
    assert saddle(flow, runs[0], ETA) is None
    np.testing.assert_allclose(saddle(flow, runs[1], ETA).vector, saddle_at, atol=1e-9)


@pytest.mark.parametrize("rate", [0, pytest.param(ETA, marks=pytest.mark.slow)])
def test_a_single_unit_has_no_plateau_and_the_reason_is_given(rate):
    one = tl.Committee(1, tl.Erf())
    scenario = tl.Scenario(one, one)
    result = plateau(scenario, tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]]), rate)
    assert result.point is result.height is result.length is None
    assert "without lingering at a saddle" in result.reasons["length"]
    assert f"none: {result.reasons['length']}" in repr(result)


def test_newtons_method_finds_the_end_of_a_run_once(monkeypatch):
    """A noisy run that has converged has hundreds of states at which its error hardly changes."""
    one = tl.Committee(1, tl.Erf())
    flow = Flow(tl.Scenario(one, one, label_noise=0.1))
    begins = []

    def counted(*arguments):
        begins.append(arguments[-1])
        return polished(*arguments)

    monkeypatch.setattr(plateaus, "polished", counted)
    run = steps(flow, np.array([0.1, 0.25]), ETA, 1e4, tolerance=1e-10)
    pace = np.abs(run.slope / run.error)
    assert np.sum((pace[1:-1] <= pace[:-2]) & (pace[1:-1] <= pace[2:])) > 100
    assert saddle(flow, run, ETA) is None
    assert len(begins) <= 2


@pytest.mark.slow
def test_the_plateau_in_the_limit_of_small_rates_is_where_small_rates_have_it():
    """Height and length are smooth in η: Richardson's step removes the term of order η.

    What is left is of order η², relative to both: 1e-4 for η = 0.01 and 0.02.
    """
    scenario, start = erf()
    limit = plateau(scenario, start, 0)
    one, two = (plateau(scenario, start, eta) for eta in (0.01, 0.02))
    expected = 2 * one.height.value - two.height.value
    assert limit.height.value == pytest.approx(expected, rel=4e-4)
    expected = 2 * 0.01 * one.length.value - 0.02 * two.length.value
    assert limit.length.value == pytest.approx(expected, rel=4e-3)
    assert abs(limit.point.generalization_error - limit.height.value) <= limit.height.error + 1e-15


def test_plateaus_become_higher_with_the_learning_rate():
    scenario, start = erf()
    over = {"learning_rate": [0.2, 0.5, 1.0]}
    table = tl.sweeps.run(plateau, over, scenario=scenario, start=start, workers=1)
    assert np.all(np.diff(table.height) > 0)
    assert np.all(np.diff(table.length) < 0)
    assert np.all(table.length_error < 1e-3)


@pytest.mark.slow
def test_the_height_at_which_citton2025_shows_the_plateau():
    """R_i1, R_i2, Q_11, Q_12 of the saddle at η = 1, known to six digits from another code."""
    overlaps = plateau(GRADED, GRADED_START, 1.0).point.overlaps
    values = [*overlaps.R[0], *overlaps.Q[0]]
    np.testing.assert_allclose(values, [0.458277, 1.050455, 1.345386, 0.542161], atol=1e-6)
