"""Learning rates and schedules that reach a given error soonest."""

import numpy as np
import pytest
from scenarios import GRADED, GRADED_START, PERCEPTRON, PERCEPTRON_START

import tutelage as tl
from tutelage._checks import InputError
from tutelage.online.best.knots import Schedule
from tutelage.online.best.schedules import best_learning_rate, best_schedule
from tutelage.online.trajectory import evolve


def reached(scenario, start, learning_rate, time, **options):
    """ε_g at a time, from `evolve`."""
    options |= {"until": time, "times": [time], "tolerance": 1e-11}
    run = evolve(scenario, start, learning_rate, **options)
    return float(run.generalization_error.isel(time=-1))


def test_the_best_rate_of_a_single_relu_makes_the_slowest_mode_fastest():
    """λ = -η/2 and η²/2 - η agree at η = 1, where convergence is fastest (straat2019).

    A finite error leaves a correction of order 1/ln(1/error).
    """
    errors = (1e-3, 1e-6)
    rates = [
        best_learning_rate(PERCEPTRON, PERCEPTRON_START, error=e).learning_rate.value
        for e in errors
    ]
    assert abs(rates[1] - 1) < abs(rates[0] - 1) < 1 / np.log(1e3)


@pytest.mark.slow
def test_the_error_is_reached_at_the_reported_time():
    scenario, start = PERCEPTRON, PERCEPTRON_START
    best = best_learning_rate(scenario, start, error=1e-4)
    eta, time = best.learning_rate.value, best.time.value
    # dε_g/dα is about -ε_g there, so an error of the time is a relative error of ε_g.
    assert reached(scenario, start, eta, time) == pytest.approx(1e-4, rel=1e-5 + best.time.error)


@pytest.mark.slow
def test_no_other_rate_is_faster():
    """At the time of the best rate, its neighbours have larger errors."""
    scenario, start = PERCEPTRON, PERCEPTRON_START
    best = best_learning_rate(scenario, start, error=1e-4)
    eta, time = best.learning_rate.value, best.time.value
    for other in (0.5, 0.9, 1.1, 1.5):
        assert reached(scenario, start, other * eta, time) > 1e-4


def test_a_schedule_is_a_function_of_time_with_steps():
    schedule = Schedule(rates=[1.0, 0.5, 0.1], switches=[2.0, 3.0])
    assert [float(schedule(t)) for t in (0.0, 1.9, 2.0, 2.5, 3.5)] == [1.0, 1.0, 0.5, 0.5, 0.1]
    with pytest.raises(InputError, match="switches"):
        Schedule(rates=[1.0], switches=[2.0])


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"error": 1.0}, "error"),
        ({"error": -1.0}, "error"),
        ({"error": 1e-4, "bounds": (1.0, 0.5)}, "bounds"),
        ({"error": 1e-4, "bounds": (0.0, 0.5)}, "bounds"),
    ],
)
def test_what_cannot_be_reached_is_refused(options, argument):
    with pytest.raises(InputError, match=argument):
        best_learning_rate(PERCEPTRON, PERCEPTRON_START, **options)


def test_an_error_that_no_rate_reaches_is_no_bad_input():
    with pytest.raises(tl.ComputationError, match=r"error: 0\.0001 is not reached"):
        best_learning_rate(PERCEPTRON, PERCEPTRON_START, error=1e-4, bounds=(3.0, 4.0))


LAYERS = tl.Scenario(tl.Committee(1, tl.Erf(), [0.5]), tl.Committee(1, tl.Erf()))


@pytest.mark.slow
def test_both_layers_and_batches_reach_the_error_at_the_reported_time():
    """With η_v = η/2 and two examples for each step; `evolve` takes both rates as separate
    arguments.
    """
    options = {"readout_rate": 0.5, "batch": 2}
    best = best_schedule(LAYERS, PERCEPTRON_START, error=1e-4, **options)
    for eta, time in (
        (best.constant.learning_rate.value, best.constant.time),
        (best.schedule, best.time),
    ):
        half = (lambda t: 0.5 * best.schedule(t)) if callable(eta) else 0.5 * eta
        error = reached(LAYERS, PERCEPTRON_START, eta, time.value, readout_rate=half, batch=2)
        # dε_g/dα is about -ε_g there, so an error of the time is a relative error of ε_g.
        assert error == pytest.approx(1e-4, rel=1e-4 + time.error)
    plain = best_learning_rate(LAYERS, PERCEPTRON_START, error=1e-3, readout_rate=0.5)
    other = best_learning_rate(LAYERS, PERCEPTRON_START, error=1e-3, **options)
    assert other.learning_rate.value > plain.learning_rate.value  # less noise, larger steps
    assert other.time.value < plain.time.value


def test_a_second_layer_that_stays_does_not_learn_what_needs_it():
    """v = 1/2 of one erf unit cannot reach an error of 1e-4 of a teacher with 1; learning, it does.

    The least of ½⟨(½ erf(√q x) - erf(x))²⟩ is far above that.
    """
    with pytest.raises(
        tl.ComputationError, match=r"error: .* with learning rates .*; the lowest error is"
    ):
        best_learning_rate(LAYERS, PERCEPTRON_START, error=1e-4, bounds=(0.9, 1.1))
    best = best_learning_rate(
        LAYERS, PERCEPTRON_START, error=1e-4, bounds=(0.9, 1.1), readout_rate=1.0
    )
    assert best.time.value < 100


@pytest.mark.slow
def test_two_rates_beat_the_best_single_one():
    """citton2025's scenario: one rate for the plateau and another one for convergence."""
    scenario, start = GRADED, GRADED_START
    best = best_schedule(scenario, start, error=1e-4)
    assert best.time.value < 0.95 * best.constant.time.value
    # dε_g/dα is about -ε_g/5 here: the error of the time is a relative error of ε_g.
    error = reached(scenario, start, best.schedule, float(best.time.value))
    assert error == pytest.approx(1e-4, rel=1e-4 + best.time.error)
