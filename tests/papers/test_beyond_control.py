"""Beyond the papers, the best schedule: another integrator, networks, a closed form."""

import numpy as np
import pytest
from scipy.optimize import brentq

import tutelage as tl
from tutelage.papers import recorded
from tutelage.papers.beyond import control
from tutelage.papers.citton2025.runs import scenario, start


@pytest.fixture(scope="module")
def best():
    return recorded.load_recorded("beyond", "control")


def final_error(schedule, end):
    options = {"until": end, "times": [end], "tolerance": 1e-11}
    run = tl.online.evolve(scenario(), start(), schedule, **options)
    return np.log(float(run.generalization_error[-1]))


@pytest.mark.slow
def test_the_recorded_schedule_reaches_its_error_and_no_other_does_sooner(best):
    """Adaptive steps and the schedule as a function; the search has fixed steps."""
    end, times, rates = float(best["end"]), best["knot_time"].values, best["rate"].values
    assert end < 80.4 and float(best["end_error"]) < 1e-3
    reached = final_error(tl.online.LinearSchedule(times, rates), end)
    H = float(np.mean(best["hamiltonian"]))
    assert abs(reached - np.log(control.GOAL)) < float(best["end_error"]) * abs(H)
    assert np.ptp(best["hamiltonian"].values) < 1e-3 * abs(H)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1):
        other = np.clip(rates + size * rng.standard_normal(len(rates)), 0, 3)
        assert final_error(tl.online.LinearSchedule(times, other), end) > reached


def test_networks_learn_as_the_equations_say_until_chance_decides(best):
    """Up to the plateau the mean of networks is the theory; later the scatter is as large."""
    early = best["record_time"].values < 10
    deviation = np.abs(best["mean_error"] - best["theory_error"]).values[early][1:]
    error = best["standard_error"].values[early][1:]
    # A maximum of seven t values of 16 runs.
    assert np.all(deviation < 5 * error)
    # All 61 records and overlaps, with a bias of order 1/N.
    assert bool(best["agrees"]) and float(best["biased_p"]) > 0.01


def test_the_late_rate_of_a_linear_unit_is_that_of_the_closed_form():
    late = recorded.load_recorded("beyond", "late_rates").sel(case="linear unit")
    noise, E0 = control.NOISE**2, 0.75 - 2 * 0.62 + 1

    def passage(E):
        return noise * (1 / E - 1 / E0) + np.log(E0 / E)

    late = late.isel(time=np.flatnonzero(late["time"].values > control.LATE[0]))
    for time, rate in zip(late["time"].values, late["learning_rate"].values, strict=True):
        E = brentq(lambda E, time=time: passage(E) - time, 1e-9, E0)
        # Linear between knots that are 13 apart.
        assert abs(rate - E / (E + noise)) < 0.002 * rate
    final = brentq(lambda E: passage(E) - control.UNTIL, 1e-9, E0)
    assert abs(2 * float(late["final_error"]) - final) < 1e-6
