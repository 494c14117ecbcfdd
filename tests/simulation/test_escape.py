"""Escape from a plateau: known curves leave at known times, and runs that stay are counted."""

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage._checks import InputError
from tutelage.simulation.escape import escape_times

HEIGHT = 0.08


def ensemble(times, until=40.0, count=161, floor=0.0):
    """ε_g = h/(1 + e^{α - t}) + 0.4 e^{-2α}: a fast fall to the plateau, which ends at t."""
    α = np.linspace(0.0, until, count)
    error = [HEIGHT / (1 + np.exp(α - t)) + 0.4 * np.exp(-2 * α) + floor for t in times]
    dims = {"generalization_error": (("run", "time"), np.array(error))}
    return xr.Dataset(dims, coords={"time": α}, attrs={"dimension": 500})


def test_a_run_leaves_where_its_error_is_half_the_height():
    times = [15.0, 20.3, 31.7]
    result = escape_times(ensemble(times), height=HEIGHT)
    # ln ε_g has the curvature 1/4 there: a chord between times h = 1/4 apart is off by h²/32 in
    # ln ε_g, and its slope is 1/2.
    np.testing.assert_allclose(result["escape_time"], times, atol=2 * 0.25**2 / 32)


@pytest.mark.parametrize("floor", [0.0, 1e-4])
def test_the_height_is_found_where_the_runs_linger(floor):
    result = escape_times(ensemble([18.0, 22.0, 26.0], floor=floor))
    # Runs on the plateau are within a tenth of it, and most of the time much closer.
    assert abs(result.attrs["plateau_height"] - HEIGHT) < 0.02 * HEIGHT


def test_runs_that_stay_are_missing_and_not_dropped():
    result = escape_times(ensemble([10.0, 100.0, 20.0, 100.0]), height=HEIGHT)
    assert np.isnan(result["escape_time"]).values.tolist() == [False, True, False, True]
    assert result["left"].values[-1] == 0.5
    assert (result.attrs["run_count"], result.attrs["escaped"], result.attrs["diverged"]) == (
        4,
        2,
        0,
    )
    assert np.isnan(result.attrs["median"])


def test_a_run_that_diverged_has_not_left():
    runs = ensemble([10.0, 12.0])
    runs["generalization_error"][1, 80:] = np.nan
    result = escape_times(runs, height=HEIGHT)
    assert np.isnan(result["escape_time"]).values.tolist() == [False, True]
    assert result.attrs["diverged"] == 1


def test_a_run_that_comes_back_has_left_when_it_leaves_for_good():
    runs = ensemble([15.0])
    back = runs["time"] > 30.0
    runs["generalization_error"] = xr.where(
        back & (runs["time"] < 33.0), HEIGHT, runs["generalization_error"]
    )
    assert 32.0 < escape_times(runs, height=HEIGHT)["escape_time"].item() < 33.25


def test_the_fraction_that_has_left_is_the_empirical_distribution():
    times = np.random.default_rng(1).uniform(5, 50, size=200)
    result = escape_times(ensemble(times), height=HEIGHT)
    for α in (8.0, 20.0, 39.0):
        # A run leaves within the 0.004 of the first test of its time.
        low, high = (np.mean(times <= α + s * 0.004) for s in (-1, 1))
        assert low <= result["left"].sel(time=α).item() <= high
    assert abs(result.attrs["median"] - np.median(times)) < 0.004


def test_the_level_is_a_fraction_of_the_height():
    early, late = (
        escape_times(ensemble([20.0]), height=HEIGHT, fraction=f)["escape_time"].item()
        for f in (0.9, 0.1)
    )
    # 1/(1 + e^{α - t}) = f at α = t + ln(1/f - 1).
    # There ln ε_g has the slope f - 1 and the curvature f (1 - f): a chord is off by f h²/8.
    np.testing.assert_allclose([early, late], [20 - np.log(9), 20 + np.log(9)], atol=0.25**2 / 8)


def test_attributes_of_the_runs_are_copied():
    assert escape_times(ensemble([20.0])).attrs["dimension"] == 500


def test_a_run_that_was_never_on_the_plateau_left_at_once():
    assert escape_times(ensemble([20.0]), height=10.0)["escape_time"].item() == 0.0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"fraction": 0.0}, "fraction: got 0.0"),
        ({"fraction": 1.0}, "fraction: got 1.0"),
        ({"height": -1.0}, "height: got -1.0"),
        ({"height": np.nan}, "height: got nan"),
    ],
)
def test_what_cannot_be_used_is_refused(keywords, message):
    with pytest.raises(InputError, match=message):
        escape_times(ensemble([20.0]), **keywords)


def test_without_a_plateau_a_height_has_to_be_given():
    flat = ensemble([20.0])
    flat["generalization_error"][:] = 0.3
    with pytest.raises(InputError, match="no plateau"):
        escape_times(flat)


@pytest.mark.slow
def test_without_a_preference_the_escape_time_grows_as_the_logarithm_of_n():
    """R(0) = 0: a fluctuation of size 1/√N grows as e^{λα}, so that medians differ by ln(N'/N)/2λ.

    256 runs each; the standard error of their difference comes from drawing runs again, and the
    difference expected is about 15 of these.
    """
    two = tl.Committee(2, tl.ReLU())
    scenario = tl.Scenario(two, two)

    def start(r):
        return tl.Overlaps(Q=np.diag([0.2, 0.3]), R=r * np.eye(2), T=scenario.T)

    plateau = tl.online.plateau(scenario, start(1e-3), 1.0)
    times, options = [], {"runs": 256, "seed": 3, "times": np.linspace(0, 80, 321)}
    for N in (300, 4800):
        runs = tl.simulation.chain(scenario, start(0.0), 1.0, dimension=N, until=80.0, **options)
        result = escape_times(runs, height=plateau.height.value)
        assert result.attrs["escaped"] > 240
        times.append(result["escape_time"].fillna(np.inf).values)
    draw = np.random.default_rng(0)
    second = [np.median(draw.choice(t, (400, 256)), axis=1) for t in times]
    difference, error = np.median(times[1]) - np.median(times[0]), np.std(second[1] - second[0])
    expected = np.log(16) / (2 * plateau.point.eigenvalues[0].real)
    # 3.3 standard errors are exceeded once in a thousand seeds.
    assert abs(difference - expected) < 3.3 * error < expected / 3


def test_a_noisy_floor_is_not_taken_for_the_plateau():
    """Label noise leaves an error at which runs spend more time than on the plateau."""
    runs = ensemble([18.0, 20.0, 22.0], until=120.0, count=481)
    noise = np.random.default_rng(0).uniform(0.7, 1.3, runs["generalization_error"].shape)
    runs["generalization_error"] = runs["generalization_error"] + 2e-3 * noise
    result = escape_times(runs)
    assert abs(result.attrs["plateau_height"] - HEIGHT) < 0.05 * HEIGHT
    assert np.allclose(result["escape_time"], [18.0, 20.0, 22.0], atol=0.2)  # the floor is 1/40
