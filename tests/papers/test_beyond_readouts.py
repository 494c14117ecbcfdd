"""Beyond the papers, second layers and drift: every number by a second route."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers.beyond import drift, layers, readouts


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
def test_the_best_rate_has_a_lower_error_than_its_neighbours(g):
    best, _ = drift.best(g, drift.PRINTED_DRIFT)
    for factor in (0.97, 1.0, 1.03):
        eta, scenario = factor * best.learning_rate.value, drift.problem(g, drift.PRINTED_DRIFT)
        point = tl.online.fixed_point(scenario, drift.SOLUTION, eta)
        above = point.generalization_error - best.generalization_error.value
        assert abs(above) < best.generalization_error.error if factor == 1 else above > 0


@pytest.mark.slow
def test_a_simulated_student_follows_its_teachers_at_that_distance():
    best, _ = drift.best(tl.Erf(), drift.PRINTED_DRIFT)
    eta, error = best.learning_rate.value, best.generalization_error.value
    scenario = drift.problem(tl.Erf(), drift.PRINTED_DRIFT)
    times = np.arange(200.0, 401.0, 20.0)
    runs = tl.simulation.chain(
        scenario, drift.SOLUTION, eta, dimension=5000, until=400, runs=20, seed=2, times=times
    )
    means = runs.generalization_error.mean("time")
    standard = float(means.std("run", ddof=1)) / np.sqrt(20)
    # Five standard errors, and 1/N effects of some percent at N = 5000 at most.
    assert abs(float(means.mean()) - error) < 5 * standard + 0.01 * error


@pytest.mark.slow
@pytest.mark.parametrize(("g", "ratio"), [(tl.Erf(), 1.0), (tl.Erf(), 10.0), (tl.ReLU(), 3.0)])
def test_students_part_at_the_rate_of_the_eigenvalue(g, ratio):
    """d ln(R_11 - R_12)/dα of students next to the saddle, made of weights; and the laws in v."""
    one, fixed = layers.of_one(g, ratio), layers.of_one(g, 0.0)
    scenario = layers.problem(g)
    point = tl.online.plateau(scenario, layers.START, 0, readout_rate=ratio).point
    v, R, Q = point.readout[0], point.overlaps.R, np.diagonal(point.overlaps.Q)
    # R_i in both directions of the teachers, the rest (of the ReLU) opposite, ±ε between teachers.
    rest = np.sqrt(np.maximum(Q - 2 * R[:, 0] ** 2, 0.0)) * [1, -1]
    J = np.stack([R[:, 0] + 1e-4 / v * [1, -1], R[:, 0] - 1e-4 / v * [1, -1], rest], axis=1)
    start = tl.Overlaps.from_weights(J, np.eye(2, 3))
    there = tl.Scenario(tl.Committee(2, g, v), scenario.teacher)
    times, options = np.array([1.0, 2.0]) / one["growth"], {"readout_rate": ratio}
    run = tl.online.evolve(
        there, start, 0, until=times[-1], times=times, tolerance=1e-12, **options
    )
    apart = run.R.values[:, 0, 0] - run.R.values[:, 0, 1]
    # The part outside the growing mode, a few percent, falls by a factor of e in each interval.
    assert np.log(apart[1] / apart[0]) == pytest.approx(1.0, rel=5e-3)
    assert one["height"] == pytest.approx(fixed["height"], rel=1e-6)  # identical students: √ε
    law = layers.LAWS[g](v)
    assert one["growth"] / fixed["growth"] == pytest.approx(law, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.0, 3.0])
def test_simulated_students_leave_the_plateau_when_the_theory_does(ratio):
    """ReLU units at η = 0.3; those that see a plateau of 40 and one that is shorter."""
    scenario, eta = layers.problem(tl.ReLU()), 0.3
    start = tl.Overlaps(layers.START.Q, 0.05 * np.eye(2), np.eye(2))
    times = np.arange(0.0, 61.0, 10.0)
    numbers = {"until": 60, "times": times, "readout_rate": ratio * eta}
    theory = tl.online.evolve(scenario, start, eta, **numbers)
    runs = tl.simulation.chain(scenario, start, eta, dimension=20_000, runs=30, seed=3, **numbers)
    comparison = tl.simulation.compare(theory, runs)
    assert comparison.agrees
    other = tl.online.evolve(scenario, start, eta, **numbers | {"readout_rate": eta})
    mean, error = (runs.generalization_error.reduce(f, "run") for f in (np.mean, np.std))
    away = np.abs(mean - other.generalization_error).values[1:] / error.values[1:] * np.sqrt(30)
    assert np.max(away) > 10  # from the theory with another rate of v
