"""Schedules of the weight decay, γ(α), in the equations, the chain and networks."""

import numpy as np
import pytest
from scenarios import GRADED, GRADED_START

import tutelage as tl
from tutelage import InputError
from tutelage._jax import jnp

ONE = tl.Committee(1, tl.Linear())
START = tl.Overlaps([[0.5]], [[0.2]], [[1.0]])


def falling(time):
    return 0.3 * jnp.exp(-time)


def constant(time):
    return 0.3 + 0.0 * time


@pytest.mark.slow
def test_a_constant_schedule_is_the_number_of_the_scenario():
    number = tl.Scenario(ONE, ONE, weight_decay=0.3)
    options = {"until": 3.0, "times": [1.0, 3.0]}
    expected = tl.online.evolve(number, START, 0.5, **options)
    # The scenario's own number does not matter then.
    for scenario in (number, tl.Scenario(ONE, ONE, weight_decay=0.1)):
        run = tl.online.evolve(scenario, START, 0.5, weight_decay=constant, **options)
        np.testing.assert_allclose(run.Q, expected.Q, atol=1e-8)  # ten tolerances
    for simulate in (tl.simulation.chain, tl.simulation.network):
        options["dimension"] = 50
        expected = simulate(number, START, 0.5, **options)
        run = simulate(number, START, 0.5, weight_decay=constant, **options)
        np.testing.assert_allclose(run.Q, expected.Q, rtol=1e-12)


def test_a_linear_unit_in_closed_form():
    """dR/dα = η (1 - R) - γ(α) R with γ = g/(1 + α) and η = c: (R (1 + α)^g e^(ηα))' is known."""
    eta, g, until = 0.4, 1.0, 3.0
    run = tl.online.evolve(
        tl.Scenario(ONE, ONE),
        START,
        eta,
        until=until,
        times=[until],
        weight_decay=lambda time: g / (1 + time),
    )
    # ∫₀ᵗ η (1 + s) e^(ηs) ds = (1 + t - 1/η) e^(ηt) - (1 - 1/η) for g = 1.
    growth = np.exp(eta * until)
    integral = (1 + until - 1 / eta) * growth - (1 - 1 / eta)
    expected = (0.2 + integral) / ((1 + until) * growth)
    np.testing.assert_allclose(run.R.values[0, 0, 0], expected, atol=1e-8)


def test_runs_side_by_side_have_the_schedule_as_well():
    options = {"until": 2.0, "times": [2.0], "weight_decay": falling}
    pair = tl.online.evolve(tl.Scenario(ONE, ONE), START, [0.5, 0.7], **options)
    for run, eta in enumerate((0.5, 0.7)):
        alone = tl.online.evolve(tl.Scenario(ONE, ONE), START, eta, **options)
        np.testing.assert_allclose(pair.Q[run], alone.Q, atol=1e-8)


@pytest.mark.slow
def test_networks_with_the_schedule_follow_the_equations():
    options = {"until": 4.0, "times": np.linspace(0, 4, 9), "weight_decay": falling}
    theory = tl.online.evolve(GRADED, GRADED_START, 0.5, **options)
    for simulate in (tl.simulation.chain, tl.simulation.network):
        runs = simulate(GRADED, GRADED_START, 0.5, dimension=500, runs=30, **options)
        assert tl.simulation.compare(theory, runs).agrees


@pytest.mark.parametrize("value", [0.1, lambda time: -1.0 + 0 * time, lambda time: "x"])
def test_other_values_are_refused(value):
    with pytest.raises(InputError, match=r"^weight_decay"):
        tl.online.evolve(tl.Scenario(ONE, ONE), START, 0.5, until=1, weight_decay=value)


def test_the_limit_of_small_rates_has_no_schedule():
    with pytest.raises(InputError, match=r"^weight_decay"):
        tl.online.evolve(tl.Scenario(ONE, ONE), START, 0, until=1, weight_decay=falling)
