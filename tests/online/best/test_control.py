"""Optimal control: against a closed form, differences, another integrator and other routes."""

import numpy as np
import pytest
from scenarios import GRADED, GRADED_START

import tutelage as tl
from tutelage import ComputationError, InputError
from tutelage._jax import jax, jnp
from tutelage.online.best import certificate
from tutelage.online.best.discretized import Controlled, Path, path, value_of
from tutelage.online.best.greedy import greedy_controls
from tutelage.online.best.grids import KnotGrid
from tutelage.online.best.search import Search
from tutelage.online.flow import Flow

NOISE = 0.5
LINEAR = tl.Committee(1, tl.Linear())
NOISY = tl.Scenario(LINEAR, LINEAR, label_noise=NOISE)
LINEAR_START = tl.Overlaps([[0.5]], [[0.2]], [[1.0]])  # E = Q - 2R + T = 1.1
ERF = tl.Committee(2, tl.Erf())
PAIR = tl.Scenario(ERF, ERF, label_noise=0.2)
START = tl.Overlaps([[0.5, 0.1], [0.1, 0.4]], [[0.2, 0.1], [0.0, 0.3]], np.eye(2))


def test_the_spread_of_the_hamiltonian_is_relative_to_its_mean(monkeypatch):
    H = np.array([-2.0, -1.9, -2.1, -2.0])
    monkeypatch.setattr(Path, "hamiltonian", lambda run, system: H)
    search, run = (kind(*[None] * len(kind._fields)) for kind in (Search, Path))
    assert certificate.hamiltonian_spread_of(search, run) == pytest.approx(0.1, rel=1e-12)


def passage(E):
    """α = ς² (1/E - 1/E₀) + ln(E₀/E): the soonest time at which a linear unit has E."""
    return NOISE**2 * (1 / E - 1 / 1.1) + np.log(1.1 / E)


def test_a_linear_unit_in_closed_form():
    """dE/dα = -2ηE + η²(E + ς²): the optimum is greedy, η = E/(E + ς²)."""
    best = tl.online.best_control(NOISY, LINEAR_START, error=0.02, knots=16)
    assert abs(best.time.value - passage(0.04)) < best.time.error < 1e-3
    E = 2 * best.curve.generalization_error.values
    expected = E / (E + NOISE**2)
    # Linear between 16 knots: the curvature of η over a quarter of the time.
    np.testing.assert_allclose(best.curve.learning_rate, expected, atol=2e-3)
    np.testing.assert_allclose(passage(E), best.curve.time, atol=2e-3)
    certificate = best.certificate
    assert certificate.hamiltonian_spread[1] < 0.3 * certificate.hamiltonian_spread[0] < 1e-3
    assert certificate.gradient_norm < 1e-5 and certificate.smallest_increase > 0
    assert max(certificate.start_values) < 1e-9 and certificate.start_distance < 1e-4
    # H is d(ln ε_g)/dα with the greedy rate at the end: -η for the linear unit.
    H = best.curve.hamiltonian.values
    np.testing.assert_allclose(H[-1], -expected[-1], rtol=1e-3)


def test_greedy_control_of_a_linear_unit():
    best = tl.online.best_control(NOISY, LINEAR_START, error=0.02, knots=16, greedy=True)
    assert best.certificate is None and "greedy" in best.reasons["certificate"]
    assert abs(best.time.value - passage(0.04)) < 1e-6
    E = 2 * best.curve.generalization_error.values
    np.testing.assert_allclose(best.curve.learning_rate, E / (E + NOISE**2), rtol=1e-9)


@pytest.mark.slow
def test_the_late_decay_of_a_linear_unit():
    """With label noise ε_g → ς²/2α and η → 1/α."""
    best = tl.online.best_control(NOISY, LINEAR_START, until=400.0, knots=60)
    rate, time = best.curve.learning_rate.values, best.curve.time.values
    late = (time > 100) & (time < 380)
    exponent = np.polyfit(np.log(time[late]), np.log(rate[late]), 1)[0]
    assert abs(exponent + 1) < 0.05
    E = 2 * best.generalization_error.value
    assert abs(passage(E) - 400) < 0.05


def test_the_gradient_is_that_of_the_discretised_equations():
    system = Controlled(Flow(PAIR), {}, ("learning_rate", "weight_decay"))
    y0, times = system.flow.vector(START), np.array([0.0, 0.4, 1.0, 1.3])
    u = np.array([[0.5, 0.1], [0.8, 0.0], [0.3, 0.2], [0.6, 0.1]])
    run = path(system, y0, times, u)
    for j, i in np.ndindex(u.shape):
        e = 1e-4 * (np.arange(4)[:, None] == j) * (np.arange(2)[None] == i)
        values = [value_of(system, y0, times, u + sign * e) for sign in (1, -1)]
        difference = (values[0] - values[1]) / 2e-4
        np.testing.assert_allclose(run.by_control[j, i], difference, atol=1e-8)
    for j in range(3):
        later = 1e-4 * (np.arange(4) > j)
        values = [value_of(system, y0, times + sign * later, u) for sign in (1, -1)]
        np.testing.assert_allclose(run.by_length[j], (values[0] - values[1]) / 2e-4, atol=1e-8)


def test_a_step_is_of_fifth_order():
    system = Controlled(Flow(PAIR), {}, ("learning_rate",))
    y0, errors = system.flow.vector(START), []
    exact = value_of(system, y0, np.linspace(0, 2, 65), np.full((65, 1), 0.7))
    for n in (9, 17):
        value = value_of(system, y0, np.linspace(0, 2, n), np.full((n, 1), 0.7))
        errors.append(abs(value - exact))
    assert errors[0] / errors[1] > 2**4


def test_a_schedule_is_a_function_for_frameworks():
    schedule, N = tl.online.LinearSchedule([0.0, 10.0], [1.0, 0.5]), 100
    rate = schedule.per_step(N)
    assert rate(500) == 0.0075 and isinstance(rate(500), float)
    np.testing.assert_allclose(jax.jit(rate)(jnp.asarray(500)), 0.0075)
    import optax

    with jax.numpy_dtype_promotion("standard"):
        sgd = optax.sgd(rate)
        updates, _ = sgd.update({"w": jnp.ones(1)}, sgd.init({"w": jnp.ones(1)}))
    np.testing.assert_allclose(updates["w"], -0.01)
    assert tl.online.Schedule([1.0, 0.5], [2.0]).per_step(N)(300) == 0.005


@pytest.mark.slow
def test_pytorch_takes_the_schedule():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    rate = tl.online.LinearSchedule([0.0, 10.0], [1.0, 0.5]).per_step(100)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(rate(3))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "until and error: got neither"),
        ({"until": 1.0, "error": 0.01}, "until and error: got both"),
        ({"error": 10.0}, "error: .* the error at the start"),
        ({"error": 1e-9}, "error: "),
        ({"until": 1.0, "controls": {"learning_rate": 3}}, "controls: .*two bounds"),
        ({"until": 1.0, "controls": {"learning_rate": (3, 1)}}, "controls: .*lower"),
        ({"until": 1.0, "controls": {"drift": (0, 1)}}, "controls: .*learning_rate, readout_rate"),
        ({"until": 1.0, "controls": {"weight_decay": (0, 1)}}, "learning_rate: .*needs a value"),
        ({"until": 1.0, "learning_rate": 1.0}, "learning_rate: .*a control already"),
        ({"until": 1.0, "knots": 2}, "knots: "),
        ({"until": 1.0, "start_from": {"weight_decay": 0.1}}, "start_from: "),
        ({"until": 1.0, "start_from": 10.0}, "start_from: .*learning_rate = 10 .*are 0 and 3"),
        ({"until": 1.0, "start_from": lambda t: -t}, "start_from: .*are 0 and 3"),
        ({"until": 1.0, "start_from": lambda t: [1, 2]}, "start_from: .*returns one number"),
        ({"until": 1.0, "controls": {"learning_rate": (0, np.inf)}}, "controls: .*inf"),
    ],
)
def test_bad_input_is_refused_by_name(options, words):
    with pytest.raises(InputError, match=words):
        tl.online.best_control(NOISY, LINEAR_START, **{"knots": 8, **options})


def test_an_error_below_the_reach_of_a_bound_is_reported():
    """With η >= 0.5 and noise the error cannot fall below η ς²/(4 - 2η)."""
    bounds = {"learning_rate": (0.5, 1.0)}
    with pytest.raises(ComputationError, match=r"error: 0\.01 is not reached"):
        tl.online.best_control(NOISY, LINEAR_START, error=0.01, controls=bounds, knots=8)


@pytest.mark.slow
def test_an_error_is_reached_that_needs_a_smaller_constant_rate_than_those_tried_first():
    """A constant rate ends at ε_g = ης²/(4 - 2η), which is 0.0024 at 1/80 of the bound."""
    best = tl.online.best_control(NOISY, LINEAR_START, error=2e-3, knots=20).time
    assert abs(best.value - passage(4e-3)) < best.error < 0.1


@pytest.mark.slow
def test_an_end_on_the_plateau_is_refused_with_one_that_fits():
    with pytest.raises(
        InputError, match=r"until: got 20, but .* plateau .*: until=(\d+)"
    ) as refused:
        tl.online.best_control(GRADED, GRADED_START, until=20, knots=16)
    fits = float(refused.value.hint.removeprefix("until="))
    # Second route: with 20 % less time than suggested no rate is below half of the plateau.
    half = 0.5 * tl.online.plateau(GRADED, GRADED_START, 0).height.value
    options = {"until": fits, "times": [0.8 * fits, fits]}
    run = tl.online.evolve(GRADED, GRADED_START, np.linspace(0.5, 1.2, 8), **options)
    before, after = run.generalization_error.min("run").values
    assert after < half < before


@pytest.mark.slow
def test_a_search_continues_from_its_checkpoint(tmp_path):
    file = tmp_path / "control.npz"
    options = {"until": 3.0, "knots": 8, "checkpoint": file}
    first = tl.online.best_control(NOISY, LINEAR_START, **options)
    best = tl.online.best_control(NOISY, LINEAR_START, **options)
    assert np.array_equal(first.schedule.values, best.schedule.values)
    assert first.certificate.starts == best.certificate.starts
    for other in ({"until": 4.0}, {"seed": 1}, {"start_from": 0.5}, {"greedy": True}):
        with pytest.raises(InputError, match="checkpoint"):
            tl.online.best_control(NOISY, LINEAR_START, **(options | other))


@pytest.mark.slow
def test_constant_rates_and_pieces_are_special_cases():
    """More pieces are sooner, and the best of all schedules, in closed form, is the soonest."""
    error, bounds = 0.02, (0.05, 4.0)
    case = (NOISY, LINEAR_START)
    constant = tl.online.best_learning_rate(*case, error, bounds=bounds).time.value
    pieces = [
        tl.online.best_schedule(*case, error, pieces=n, bounds=bounds).time.value for n in (1, 2, 6)
    ]
    controls = {"learning_rate": bounds}
    best = tl.online.best_control(*case, error=error, controls=controls, knots=20).time
    assert pieces[0] == constant > pieces[1] > pieces[2] > best.value
    assert abs(best.value - passage(2 * error)) < best.error < 1e-4


@pytest.mark.slow
def test_an_interrupted_search_keeps_the_finished_searches(tmp_path, monkeypatch):
    """Ctrl-C in the third search: the first two are not made again, and the result is the same."""
    options = {"until": 3.0, "knots": 8}
    whole = tl.online.best_control(NOISY, LINEAR_START, **options)
    original, calls = Search.optimum, []

    def optimum(self, form, end, values):
        calls.append(values)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, form, end, values)

    monkeypatch.setattr(Search, "optimum", optimum)
    options["checkpoint"] = tmp_path / "control.npz"
    with pytest.raises(KeyboardInterrupt):
        tl.online.best_control(NOISY, LINEAR_START, **options)
    again = tl.online.best_control(NOISY, LINEAR_START, **options)
    assert len(calls) == 5  # the third one twice, and the one at the higher resolution
    assert np.array_equal(again.schedule.values, whole.schedule.values)
    assert again.certificate == whole.certificate


@pytest.mark.slow
def test_the_setting_with_a_plateau():
    """ReLU, T = diag(1, 2): 92.605 with the best constant rate, 83.53 with two pieces."""
    best = tl.online.best_control(GRADED, GRADED_START, error=1e-4)
    assert best.time.value < 80.4 and best.time.error < 1e-3
    certificate = best.certificate
    assert certificate.hamiltonian_spread[1] < 1e-3 < certificate.hamiltonian_spread[0] < 0.01
    assert certificate.smallest_increase > 0
    # Another integrator, with the schedule as a function of the user's.
    end = best.time.value
    options = {"until": end, "times": [end], "tolerance": 1e-11}
    run = tl.online.evolve(GRADED, GRADED_START, best.schedule, **options)
    log = abs(np.log(float(run.generalization_error[-1])) - np.log(1e-4))
    assert log < best.time.error * abs(certificate.hamiltonian)
    # At the end the optimal rate is the greedy one.
    flow = Flow(GRADED)
    y = jnp.asarray(flow.layout.vector({n: best.curve[n].values[-1] for n in ("Q", "R")}))
    system, bounds = Controlled(flow, {}, ("learning_rate",)), jnp.asarray([[0.0, 3.0]])
    greedy = float(greedy_controls(system, y, bounds)[0])
    assert abs(greedy - float(best.schedule(end))) < 0.02
    # Networks with the same schedule, until they are on the plateau.
    options = {"until": 10, "times": np.linspace(0, 10, 21)}
    theory = tl.online.evolve(GRADED, GRADED_START, best.schedule, **options)
    options |= {"dimension": 10_000, "runs": 20}
    runs = tl.simulation.chain(GRADED, GRADED_START, best.schedule, **options)
    assert tl.simulation.compare(theory, runs).agrees


@pytest.mark.slow
def test_greedy_control_stalls_on_a_plateau():
    """η falls as the first-order terms do: the plateau is never left."""
    with pytest.raises(ComputationError, match="is not reached; it stalls"):
        tl.online.best_control(GRADED, GRADED_START, error=1e-4, greedy=True)
    best = tl.online.best_control(GRADED, GRADED_START, until=90.0, greedy=True)
    assert np.all(np.isfinite(best.curve.R)) and best.generalization_error.value > 0.05
    assert best.schedule(90.0) < 0.05


@pytest.mark.slow
def test_more_controls_are_not_worse():
    """Each control alone, and all of them, from the same start to the same end."""
    student = tl.Committee(2, tl.Erf(), readout=[0.5, 0.7])
    scenario = tl.Scenario(student, ERF, label_noise=0.3)
    bounds = {"learning_rate": (0, 3), "readout_rate": (0, 2), "weight_decay": (0, 0.5)}
    fixed = {"learning_rate": 0.5, "readout_rate": 0.1}
    specialized = tl.Overlaps(
        [[0.5, 0.1], [0.1, 0.4]], [[0.6, 0.1], [0.0, 0.6]], np.eye(2)
    )  # no plateau
    values = {}
    for name in bounds:
        others = {n: x for n, x in fixed.items() if n != name}
        one = {name: bounds[name]}
        best = tl.online.best_control(
            scenario, specialized, until=6, controls=one, knots=12, **others
        )
        values[name] = best.generalization_error.value
        assert best.certificate.smallest_increase > -1e-9
        schedules = dict(best.schedules)
        run = tl.online.evolve(scenario, specialized, until=6, **(others | schedules))
        assert abs(float(run.generalization_error[-1]) - values[name]) < 1e-6
    best = tl.online.best_control(scenario, specialized, until=6, controls=bounds, knots=12)
    assert best.generalization_error.value < min(values.values()) + 1e-9
    assert set(best.schedules) == set(bounds)


def test_knots_are_finer_early_and_steps_are_short():
    grid = KnotGrid.of(10, 100)
    assert np.all(np.diff(grid.knots, 2) > 0) and np.max(np.diff(grid.ends)) <= 0.01
    np.testing.assert_allclose(np.sum(grid.weights()), 1.0)
    np.testing.assert_allclose(grid.hats @ grid.knots, grid.ends, atol=1e-15)
