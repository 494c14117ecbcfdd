"""Beyond the papers, second layers and drift: every number a second way."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers.beyond import drift, readouts


@pytest.mark.slow
@pytest.mark.parametrize("readout_rate", [0.0, readouts.ETA])
def test_simulated_students_have_the_same_errors(readout_rate):
    scenario, start = readouts.problem(tl.Erf(), 3)
    times = [10.0, 50.0, 200.0]
    numbers = {"until": 200, "times": times, "readout_rate": readout_rate}
    theory = tl.online.evolve(scenario, start, readouts.ETA, **numbers)
    runs = tl.simulation.chain(
        scenario, start, readouts.ETA, dimension=20_000, runs=20, seed=1, **numbers
    )
    mean = runs.generalization_error.mean("run").values
    error = runs.generalization_error.std("run", ddof=1).values / np.sqrt(20)
    # Five standard errors, and what is left of finite N: of order 1/N of the error.
    assert np.all(np.abs(mean - theory.generalization_error.values) < 5 * error + 1e-3 * mean)


@pytest.mark.slow
def test_relu_units_with_two_layers_approach_the_law_at_any_rates():
    """8√α ε_g/(Mς) → 1; from K = M = 2 at other rates and other noise."""
    scenario, start = readouts.problem(tl.ReLU(), 2)
    scenario = tl.Scenario(scenario.student, scenario.teacher, label_noise=0.5)
    times = np.array([1e3, 4e3, 1.6e4, 6.4e4])
    run = tl.online.evolve(
        scenario, start, 0.4, until=times[-1], times=times, readout_rate=0.1, tolerance=1e-8
    )
    off = run.generalization_error.values * np.sqrt(times) * 8 / (2 * 0.5) - 1
    assert np.all(np.abs(off[1:]) < np.abs(off[:-1])) and abs(off[-1]) < 0.03
    # And the norms: Q_ii → ης√α, v_i² Q_ii → 1.
    Q, v = np.diagonal(run.Q.values[-1]), run.readout.values[-1, 0]
    np.testing.assert_allclose(Q / (0.4 * 0.5 * np.sqrt(times[-1])), 1.0, atol=0.05)
    np.testing.assert_allclose(v**2 * Q, 1.0, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("g", [tl.Erf(), tl.ReLU()])
def test_the_best_rate_is_lower_than_those_beside_it(g):
    best, _ = drift.best(g, drift.SHOWN)
    for factor in (0.97, 1.0, 1.03):
        eta, scenario = factor * best.learning_rate.value, drift.problem(g, drift.SHOWN)
        point = tl.online.fixed_point(scenario, drift.SOLUTION, eta)
        above = point.generalization_error - best.generalization_error.value
        assert abs(above) < best.generalization_error.error if factor == 1 else above > 0


@pytest.mark.slow
def test_a_simulated_student_follows_its_teachers_at_that_distance():
    best, _ = drift.best(tl.Erf(), drift.SHOWN)
    eta, error = best.learning_rate.value, best.generalization_error.value
    scenario = drift.problem(tl.Erf(), drift.SHOWN)
    times = np.arange(200.0, 401.0, 20.0)
    runs = tl.simulation.chain(
        scenario, drift.SOLUTION, eta, dimension=5000, until=400, runs=20, seed=2, times=times
    )
    means = runs.generalization_error.mean("time")
    standard = float(means.std("run", ddof=1)) / np.sqrt(20)
    # Five standard errors, and 1/N effects of some percent at N = 5000 at most.
    assert abs(float(means.mean()) - error) < 5 * standard + 0.01 * error
