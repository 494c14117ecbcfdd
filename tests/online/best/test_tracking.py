"""Learning rates and weight decays that follow drifting teachers best."""

import numpy as np
import pytest

import tutelage as tl
from tutelage import InputError

LINEAR = tl.Committee(1, tl.Linear())
ONE = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
TWO = tl.Overlaps(np.eye(2), np.eye(2), np.eye(2))


@pytest.mark.parametrize(
    "delta", [0.1, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.01, 0.4))]
)
def test_a_linear_unit_follows_best_at_rates_in_closed_form(delta):
    """ε_g = ½ (Q - 2R + 1) with R = η/(η + γ + δ), Q = (2ηR + η²(1 - 2R))/(2η - η² + 2γ):

    least at η = 1 - δ/2 without weight decay, and with it at η = 1, γ = δ, where it is δ/(1 + 2δ).
    """
    scenario = tl.Scenario(LINEAR, LINEAR, drift=delta)
    best = tl.online.best_tracking(scenario, ONE)
    assert abs(best.learning_rate.value - (1 - delta / 2)) < best.learning_rate.error < 1e-7
    assert tuple(best.weight_decay) == (0, 0)
    best = tl.online.best_tracking(scenario, ONE, decay_bounds=(0, 1))
    assert abs(best.learning_rate.value - 1) < best.learning_rate.error < 1e-7
    assert abs(best.weight_decay.value - delta) < best.weight_decay.error < 1e-7
    least = best.generalization_error
    assert abs(least.value - delta / (1 + 2 * delta)) < least.error
    assert best.point.stable and best.point.generalization_error == least.value


def test_a_batch_lowers_the_noise_and_the_best_rate_rises():
    """As above with η²/b: found again from ε_g itself, on a fine grid."""
    delta, b = 0.1, 3
    best = tl.online.best_tracking(tl.Scenario(LINEAR, LINEAR, drift=delta), ONE, batch=b)
    eta = np.linspace(0.1, 3.0, 29001)
    R = eta / (eta + delta)
    Q = (2 * eta * R + eta**2 / b * (1 - 2 * R)) / (2 * eta - eta**2 / b)
    errors = 0.5 * (Q - 2 * R + 1)
    assert abs(best.learning_rate.value - eta[np.argmin(errors)]) < 1e-4  # the grid's step
    assert abs(best.generalization_error.value - np.min(errors)) < 1e-8  # its square


@pytest.mark.slow
@pytest.mark.parametrize(
    ("g", "readout_rate"), [(tl.Erf(), 0.0), (tl.Erf(), 0.5), (tl.ReLU(), 0.0)]
)
def test_no_state_next_to_the_best_has_a_smaller_error(g, readout_rate):
    """By `fixed_point` at learning rates and weight decays around it."""
    two = tl.Committee(2, g, [1.0, 1.0])
    scenario = tl.Scenario(two, two, drift=0.03)
    options = {"bounds": (0.2, 4.0), "decay_bounds": (0, 0.06), "readout_rate": readout_rate}
    best = tl.online.best_tracking(scenario, TWO, **options)
    eta, gamma = best.learning_rate.value, best.weight_decay.value

    def error(eta, gamma):
        one = tl.Scenario(two, two, drift=0.03, weight_decay=gamma)
        return tl.online.fixed_point(
            one, TWO, eta, readout_rate=readout_rate * eta
        ).generalization_error

    least = best.generalization_error
    assert abs(error(eta, gamma) - least.value) < least.error
    for one in ((0.99 * eta, gamma), (1.01 * eta, gamma), (eta, 0.97 * gamma), (eta, 1.03 * gamma)):
        assert error(*one) > least.value


@pytest.mark.parametrize(
    ("drift", "options", "argument"),
    [
        (0.0, {}, "drift = 0"),
        (0.1, {"bounds": (1.0, 0.5)}, "bounds"),
        (0.1, {"decay_bounds": (-1.0, 0.5)}, "decay_bounds"),
        (0.1, {"batch": 0}, "batch"),
        (0.1, {"readout_rate": -1.0}, "readout_rate"),
    ],
)
def test_what_has_no_best_is_refused_by_name(drift, options, argument):
    with pytest.raises(InputError, match=argument):
        tl.online.best_tracking(tl.Scenario(LINEAR, LINEAR, drift=drift), ONE, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": (0.1, 0.5)}, "bounds: .* lowest at 0.5, or beyond"),
        ({"bounds": (2.5, 3.0)}, "start: none of the learning rates"),
        ({"decay_bounds": (0.0, 0.05)}, "decay_bounds: .* lowest at 0.05, or beyond"),
    ],
)
def test_a_search_without_a_minimum_is_refused_with_the_reason(options, words):
    with pytest.raises(tl.ComputationError, match=words):
        tl.online.best_tracking(tl.Scenario(LINEAR, LINEAR, drift=0.1), ONE, **options)
