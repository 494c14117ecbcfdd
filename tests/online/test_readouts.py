"""Second layers: fixed at any value, several outputs, and learning together with the first."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scenarios import random_overlaps, to_vector
from scipy.integrate import solve_ivp
from training_by_hand import UNITS

import tutelage as tl
from tutelage import InputError
from tutelage.model.timing import Rate
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized

ETA, ETA_V, DRAWS = 0.7, 0.4, 400_000
NUMBERS = {
    "label_noise": 0.5,
    "weight_decay": 0.1,
    "readout_decay": 0.2,
    "output_scale": (0.8, 1.1),
}
V, V_TEACHER = np.array([[0.5, -1.2], [0.3, 0.9]]), np.array([[1.0, 0.4], [-0.6, 1.5]])
KINDS = [
    pytest.param("relu", "relu", marks=pytest.mark.slow),
    ("erf", "erf"),
    pytest.param("gelu", "gelu", marks=pytest.mark.slow),
    pytest.param("relu", "erf", marks=pytest.mark.slow),
    pytest.param("gelu", "relu", marks=pytest.mark.slow),
]


def scenario_of(g, h, v=V, teacher=V_TEACHER, **numbers):
    K, M = np.shape(v)[-1], np.shape(teacher)[-1]
    return tl.Scenario(tl.Committee(K, g, v), tl.Committee(M, h, teacher), **numbers)


def state_of(scenario, seed=3):
    o = random_overlaps(scenario.K, scenario.M, seed=seed)
    L = np.linalg.cholesky(np.asarray(o.T))  # teachers as orthonormal vectors
    return tl.Overlaps(o.Q, np.linalg.solve(L, np.asarray(o.R).T).T, np.eye(scenario.M))


def changes(flow, state):
    """dQ and dR as a vector, compiled: call by call its parts take longer."""
    return to_vector(jax.jit(lambda state: flow(state, ETA))(state))


@eqx.filter_jit
def rates_of(flow, y, T, rate):
    return flow.rates(y, T, rate)


@eqx.filter_jit
def second_order(moments, state):
    return moments.second_order(state)


def sampled(state, student, teacher, seed=0):
    """Means and standard errors of dR, dQ and dv by the learning rule itself, on random fields.

    A step changes Q_ik by η(δ_i x_k + δ_k x_i)/N + η² δ_i δ_k |ξ|²/N², with |ξ|² = N.
    """
    (_, g, slope), (_, h, _) = UNITS[student], UNITS[teacher]
    rng = np.random.default_rng(seed)
    f = rng.multivariate_normal(np.zeros(4), np.asarray(state.covariance), size=DRAWS)
    x, y = f[:, :2], f[:, 2:]
    s_K, s_M = NUMBERS["output_scale"]
    noise = NUMBERS["label_noise"] * rng.standard_normal((DRAWS, 2))
    e = s_M * h(y) @ V_TEACHER.T + noise - s_K * g(x) @ V.T
    delta = slope(x) * (e @ (s_K * V))
    dR = ETA * delta[:, :, None] * y[:, None, :] - NUMBERS["weight_decay"] * np.asarray(state.R)
    pair = delta[:, :, None] * x[:, None, :]
    dQ = ETA * (pair + pair.swapaxes(1, 2)) + ETA**2 * delta[:, :, None] * delta[:, None, :]
    dQ = dQ - 2 * NUMBERS["weight_decay"] * np.asarray(state.Q)
    dv = ETA_V * s_K * e[:, :, None] * g(x)[:, None, :] - NUMBERS["readout_decay"] * V
    i, k = np.triu_indices(2)
    every = [dR.reshape(DRAWS, -1), dQ[:, i, k], dv.reshape(DRAWS, -1)]
    every = np.concatenate(every, axis=1)
    return every.mean(axis=0), every.std(axis=0) / np.sqrt(DRAWS)


@pytest.mark.parametrize(("student", "teacher"), KINDS)
def test_rates_are_what_random_examples_do_on_average(student, teacher):
    scenario = scenario_of(UNITS[student][0], UNITS[teacher][0], **NUMBERS)
    state = state_of(scenario)
    flow = Flow(scenario, readout_rate=1.0)
    y = jnp.asarray(flow.vector(state))
    rates = jax.jit(lambda y: flow.rates(y, state.T, Rate(ETA, readout=ETA_V)))(y)
    mean, error = sampled(state, student, teacher)
    assert np.all(np.abs(rates - mean) < 5 * error)
    # Five standard errors are less than a tenth of most terms: one that is missing is seen.
    assert np.max(5 * error) < 0.1 * np.max(np.abs(mean))


@pytest.mark.parametrize(
    "g", [tl.Erf(), *(pytest.param(g, marks=pytest.mark.slow) for g in (tl.ReLU(), tl.GELU()))]
)
def test_equal_readouts_are_a_scale_of_the_outputs(g):
    plain = tl.Scenario(
        tl.Committee(2, g), tl.Committee(3, g), output_scale=(0.6, 1.3), label_noise=0.2
    )
    v = scenario_of(g, g, np.full(2, 0.6), np.full(3, 1.3), label_noise=0.2)
    state = state_of(plain)
    one, other = (changes(Flow(s), state) for s in (plain, v))
    # Rounding of sums of some hundred terms of order one.
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)
    errors = [float(tl.generalization_error(s, state)) for s in (plain, v)]
    assert abs(errors[0] - errors[1]) < 1e-14


@pytest.mark.parametrize("g", [pytest.param(tl.ReLU(), marks=pytest.mark.slow), tl.Erf()])
def test_a_readout_that_stays_moves_nothing_else(g):
    """The equations with v in the state; the sums use v only if it is part of the state."""
    scenario = scenario_of(g, g, **NUMBERS)
    state = state_of(scenario)
    fixed = changes(Flow(scenario), state)
    flow = Flow(scenario, readout_rate=1.0)
    y = jnp.asarray(flow.vector(state))
    moving = jax.jit(lambda y: flow.rates(y, state.T, Rate(ETA, readout=0.0)))(y)
    np.testing.assert_allclose(moving[: len(fixed)], fixed, rtol=0, atol=1e-13)  # rounding
    np.testing.assert_allclose(moving[len(fixed) :], -0.2 * V.ravel(), rtol=1e-14)


@pytest.mark.parametrize(
    "g", [tl.ReLU(), tl.Erf(), pytest.param(tl.GELU(), marks=pytest.mark.slow)]
)
def test_readouts_go_down_the_gradient_of_the_error(g):
    scenario = scenario_of(g, g, output_scale=0.7)
    state = state_of(scenario)
    flow = Flow(scenario, limit=True, readout_rate=1.0)
    y = jnp.asarray(flow.vector(state))
    rates = jax.jit(lambda y: flow.rates(y, state.T, Rate(1.0, True, 1.0)))(y)[
        flow.layout["readout"]
    ]

    def error(v):
        return tl.generalization_error(scenario.with_readout(v), state)

    # Soft units are averaged to 1e-9 of their size.
    np.testing.assert_allclose(rates, -jax.jit(jax.grad(error))(jnp.asarray(V)).ravel(), atol=1e-9)


@pytest.mark.parametrize("units", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_linear_units_with_noise_end_in_closed_form(units):
    """ε_g(∞) = ης²K/(4 - 2ηK), first layer trained."""
    eta, noise = 0.3, 0.5
    scenario = tl.Scenario(
        tl.Committee(units, tl.Linear(), np.ones(units)),
        tl.Committee(1, tl.Linear()),
        label_noise=noise,
    )
    start = tl.Overlaps(np.eye(units) / 4, np.full((units, 1), 0.1), scenario.T)
    run = tl.online.evolve(scenario, start, eta, until=200)
    exact = eta * noise**2 * units / (4 - 2 * eta * units)
    # At rest at rates of ten tolerances of 1e-9.
    assert abs(float(run.generalization_error[-1]) - exact) < 1e-7


@pytest.mark.parametrize(
    ("g", "slopes", "readout_rate"),
    [
        pytest.param(tl.ReLU(), 0.5, 0.0, marks=pytest.mark.slow),
        pytest.param(tl.Erf(), 2 / np.pi / np.sqrt(3), 0.0, marks=pytest.mark.slow),
        (tl.Erf(), 2 / np.pi / np.sqrt(3), 0.5),
        pytest.param(tl.GELU(), None, 0.0, marks=pytest.mark.slow),
        pytest.param(tl.GELU(), None, 0.5, marks=pytest.mark.slow),
    ],
)
def test_noise_leaves_an_error_in_proportion_to_a_small_rate(g, slopes, readout_rate):
    """ε_g(∞) = (ης²/4) Σ_i |v_i|² ⟨g'(x_i)²⟩ + …, by extrapolation in η, or in √η with a kink."""
    v, noise = np.array([1.0, -0.5]), 0.1
    if slopes is None:
        x, w = np.polynomial.hermite_e.hermegauss(80)
        slopes = np.sum(w * UNITS["gelu"][2](x) ** 2) / np.sqrt(2 * np.pi)
    scenario = scenario_of(g, g, v, v, label_noise=noise)
    solution = tl.Overlaps(np.eye(2), np.eye(2), np.eye(2))
    etas, result = np.array([0.02, 0.01, 0.005, 0.0025]), []
    for eta in etas:
        point = tl.online.fixed_point(scenario, solution, eta, readout_rate=readout_rate * eta)
        result.append(point.generalization_error / eta)
    h = etas ** (0.5 if g.kinks else 1.0)
    cubic, parabola = (np.polyfit(h[-n:], result[-n:], n - 1)[-1] for n in (4, 3))
    exact = noise**2 / 4 * np.sum(v**2) * slopes
    # What the last order has changed, and 1e-12 of Newton's method over the smallest η.
    assert abs(cubic - exact) < abs(cubic - parabola) + 1e-9
    assert abs(cubic - parabola) < 1e-3 * exact


@pytest.mark.slow
def test_noise_makes_relu_units_with_readouts_grow_for_ever():
    """d(Q_ii - (η/η_v) v_i²)/dα = η² ⟨δ_i²⟩ > 0 as g(x) = x g'(x): there is no state of rest."""
    scenario = scenario_of(tl.ReLU(), tl.ReLU(), [0.8, -0.6], [1.0, -0.5], label_noise=0.3)
    start = state_of(scenario)
    run = tl.online.evolve(scenario, start, 0.4, until=40, readout_rate=0.2, times=np.arange(41))
    balance = np.diagonal(run.Q.values, axis1=1, axis2=2) - 2 * run.readout.values[:, 0] ** 2
    assert np.all(np.diff(balance, axis=0) > 0)
    moments = second_order(Flow(scenario).moments, start)
    first = tl.online.evolve(scenario, start, 0.4, until=1e-4, readout_rate=0.2, times=[0, 1e-4])
    balance = np.diagonal(first.Q.values, axis1=1, axis2=2) - 2 * first.readout.values[:, 0] ** 2
    # A difference over 1e-4 of a rate that changes at rates of order one.
    slope = np.diff(balance, axis=0)[0] / 1e-4
    np.testing.assert_allclose(slope, 0.16 * np.diagonal(moments), rtol=1e-3)


def test_odd_units_do_not_know_their_sign():
    """w_i → -w_i with v_i → -v_i."""
    scenario = scenario_of(tl.Erf(), tl.Erf(), **NUMBERS)
    state, signs = state_of(scenario), np.array([1.0, -1.0])
    turned = tl.Overlaps(state.Q * np.outer(signs, signs), state.R * signs[:, None], state.T)
    other = scenario_of(tl.Erf(), tl.Erf(), V * signs, **NUMBERS)
    rates = []
    for s, o in ((scenario, state), (other, turned)):
        flow = Flow(s, readout_rate=1.0)
        y = rates_of(flow, jnp.asarray(flow.vector(o)), o.T, Rate(ETA, readout=ETA_V))
        blocks = flow.layout.arrays(y)
        rates.append([blocks[name] for name in ("R", "Q", "readout")])
    (R, Q, v), (R_, Q_, v_) = rates
    np.testing.assert_allclose(R_, R * signs[:, None], atol=1e-15)
    np.testing.assert_allclose(Q_, Q * np.outer(signs, signs), atol=1e-15)
    np.testing.assert_allclose(v_, v * signs[None], atol=1e-15)


def test_relu_units_share_their_size_with_their_readouts():
    """w_i → c_i w_i with v_i → v_i/c_i: the same outputs, signals δ_i/c_i, and c_i dv_i."""
    scenario = scenario_of(tl.ReLU(), tl.ReLU(), label_noise=0.3)
    state, c = state_of(scenario), np.array([2.0, 0.3])
    scaled = tl.Overlaps(state.Q * np.outer(c, c), state.R * c[:, None], state.T)
    other = scenario_of(tl.ReLU(), tl.ReLU(), V / c, label_noise=0.3)
    moments = [Flow(s).moments for s in (scenario, other)]
    one, two = (second_order(m, o) for m, o in zip(moments, (state, scaled), strict=True))
    np.testing.assert_allclose(two, one / np.outer(c, c), rtol=1e-12)
    rates = []
    for s, o in ((scenario, state), (other, scaled)):
        flow = Flow(s, limit=True, readout_rate=1.0)
        y = rates_of(flow, jnp.asarray(flow.vector(o)), o.T, Rate(1.0, True, 1.0))
        blocks = flow.layout.arrays(y)
        rates.append((blocks["R"], blocks["readout"]))
    (R, v), (R_, v_) = rates
    np.testing.assert_allclose(R_, R / c[:, None], rtol=1e-12)
    np.testing.assert_allclose(v_, v * c[None], rtol=1e-12)


def test_gradient_flow_of_relu_keeps_the_balance_of_its_layers():
    """d(Q_ii - Σ_c v_ci²)/dα = 0 as η → 0 at equal rates, as g(x) = x g'(x)."""
    scenario = scenario_of(tl.ReLU(), tl.ReLU())
    run = tl.online.evolve(scenario, state_of(scenario), 0, until=30, readout_rate=1.0)
    norms = np.diagonal(run.Q.values, axis1=1, axis2=2) - np.sum(run.readout.values**2, axis=1)
    # The tolerance of a step is 1e-9, there are about a hundred.
    assert np.max(np.abs(norms - norms[0])) < 1e-7
    assert np.max(np.abs(run.readout.values[-1] - V)) > 0.1  # it has learned


def test_jacobians_with_readouts_are_those_of_differences():
    scenario = scenario_of(tl.Erf(), tl.Erf(), **NUMBERS)
    flow = Flow(scenario, readout_rate=0.6)
    y, h = flow.vector(state_of(scenario)), 1e-6
    here = linearized(flow, y, ETA)
    exact = rates_of(flow, jnp.asarray(y), scenario.T, Rate(ETA)) / ETA
    np.testing.assert_allclose(here.rates, exact, atol=1e-14)
    for k in range(len(y)):
        e = h * np.eye(len(y))[k]
        change = (linearized(flow, y + e, ETA).rates - linearized(flow, y - e, ETA).rates) / (2 * h)
        # Rounding over the step, and its square.
        np.testing.assert_allclose(here.jacobian[:, k], change, atol=1e-9)


def test_a_fixed_point_has_the_shares_of_blocks_in_its_directions():
    v = [1.0, -0.5]
    scenario = scenario_of(tl.Erf(), tl.Erf(), v, v)
    solution = tl.Overlaps(np.eye(2), np.eye(2), np.eye(2))
    point = tl.online.fixed_point(scenario, solution, 0.2, readout_rate=0.1)
    assert point.stable and point.generalization_error < 1e-15
    assert point.labels[-2:] == ("v_1", "v_2") and point.eigenvalues.shape == (9,)
    np.testing.assert_allclose(sum(point.shares.values()), 1.0, rtol=1e-14)
    assert np.max(point.shares["v"]) > 0.1
    np.testing.assert_array_equal(point.readout, [v])
    fixed = tl.online.fixed_point(scenario, solution, 0.2)
    assert fixed.labels == point.labels[:-2] and np.all(fixed.shares["v"] == 0)


def test_runs_differ_in_rates_and_readouts():
    v = np.array([[[0.5, 0.2]], [[0.1, 0.9]]])
    scenario = scenario_of(tl.Erf(), tl.Erf(), v, [1.0, -0.5])
    start = state_of(scenario)
    pair = tl.online.evolve(scenario, start, 0.5, until=5, readout_rate=[0.2, 0.4], times=[0, 2, 5])
    for run, each in enumerate(scenario.split_runs()):
        rate = [0.2, 0.4][run]
        one = tl.online.evolve(each, start, 0.5, until=5, readout_rate=rate, times=[0, 2, 5])
        for name in ("Q", "R", "readout", "generalization_error"):
            # Runs of a batch have steps of their own: the tolerance is all that differs.
            np.testing.assert_allclose(pair[name][run], one[name], atol=1e-8)
    assert pair.sel(readout_rate=0.4).readout.shape == (3, 1, 2)


@pytest.mark.slow
def test_schedules_of_both_rates():
    v = [0.5, 0.2]
    scenario = scenario_of(tl.Erf(), tl.Erf(), v, [1.0, -0.5])
    start = state_of(scenario)
    plain = tl.online.evolve(scenario, start, 0.5, until=4, readout_rate=0.3, times=[4])
    for rate, readout in (
        (lambda t: 0.5 + 0 * t, lambda t: 0.3 + 0 * t),
        (0.5, lambda t: 0.3 + 0 * t),
        (lambda t: 0.5 + 0 * t, 0.3),
    ):
        run = tl.online.evolve(scenario, start, rate, until=4, readout_rate=readout, times=[4])
        np.testing.assert_allclose(run.readout, plain.readout, atol=1e-12)
    later = tl.online.evolve(
        scenario,
        start,
        0.5,
        until=4,
        readout_rate=lambda t: jnp.where(t < 2, 0.0, 0.3),
        times=[1, 4],
    )
    np.testing.assert_allclose(later.readout[0, 0], v, atol=1e-12)
    assert abs(float(later.readout[1, 0, 0]) - 0.5) > 1e-3


@pytest.mark.slow
def test_superfluous_erf_units_add_to_the_error():
    """(ης²/2π)(M/√3 + L) with L = K - M (Goldt et al. 2019), committee with K = 2, M = 1."""
    noise, result = 0.3, []
    scenario = tl.Scenario(tl.Committee(2, tl.Erf()), tl.Committee(1, tl.Erf()), label_noise=noise)
    start = tl.Overlaps([[0.9, 0.0], [0.0, 0.05]], [[0.9], [0.0]], [[1.0]])
    for eta in (0.04, 0.02, 0.01):
        run = tl.online.evolve(scenario, start, eta, until=400 / eta, times=[400 / eta])
        result.append(float(run.generalization_error[-1]) / eta)
    linear = 2 * np.array(result[1:]) - np.array(result[:-1])
    value, left = (4 * linear[1] - linear[0]) / 3, abs(linear[1] - linear[0])
    assert abs(value - noise**2 / (2 * np.pi) * (1 / np.sqrt(3) + 1)) < left + 1e-6


@pytest.mark.slow
def test_relu_units_with_readouts_have_no_plateau():
    """Wherever there is an error, norms grow (see the test above)."""
    scenario = scenario_of(tl.ReLU(), tl.ReLU(), [1.0, 1.0], [1.0, 1.0])
    start = tl.Overlaps([[0.2, 0], [0, 0.3]], [[1e-3, 0], [0, 0]], scenario.T)
    plateau = tl.online.plateau(scenario, start, 0.1, readout_rate=0.1)
    assert plateau.point is None and "without lingering" in plateau.reasons["point"]


@pytest.mark.slow
def test_plateaus_branches_and_critical_rates_take_readouts():
    g = tl.Erf()
    scenario = scenario_of(g, g, [1.0, 1.0], [1.0, 1.0])
    start = tl.Overlaps([[0.2, 0], [0, 0.3]], [[1e-3, 0], [0, 0]], scenario.T)
    plateau = tl.online.plateau(scenario, start, 0.1, readout_rate=0.1)
    assert plateau.point.labels[-1] == "v_2" and plateau.length.value > 0
    near = plateau.point
    there = tl.Scenario(
        tl.Committee(2, g, near.readout), scenario.teacher, output_scale=scenario.output_scale
    )
    along = tl.online.branch(there, near.overlaps, 0.1, until=0.2, readout_rate=0.1)
    assert along.attrs["ended"] == "reached" and along.readout.shape[1:] == (1, 2)
    rates = tl.online.critical_learning_rates(scenario, start, readout_rate=1.0)
    assert rates.diverges is not None or rates.reasons["diverges"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.Committee(2, tl.ReLU(), [1.0]), "readout"),
        (lambda: tl.Committee(2, tl.ReLU(), [0.0, 0.0]), "zeros only"),
        (lambda: tl.Committee(2, tl.ReLU(), [np.nan, 1.0]), "readout"),
        (lambda: tl.Committee(2, tl.ReLU(), "ab"), "readout"),
        (lambda: scenario_of(tl.ReLU(), tl.ReLU(), V, [1.0, 1.0]), "outputs"),
        (lambda: evolved(readout_rate=-1.0), "readout_rate"),
        (lambda: evolved(readout_rate=np.inf), "readout_rate"),
        (lambda: evolved(readout_rate=[0.1, 0.2], learning_rate=[0.1, 0.2, 0.3]), "one axis"),
        (lambda: evolved(readout_rate=lambda t: -t), "readout_rate"),
        (lambda: evolved(readout_rate=lambda t: t, learning_rate=0), "limit"),
        (
            lambda: tl.online.SymmetricFlow(scenario_of(tl.ReLU(), tl.ReLU(), V, V_TEACHER)),
            "readout",
        ),
    ],
)
def test_readouts_that_cannot_be_are_refused_by_name(call, words):
    with pytest.raises(InputError, match=words):
        call()


def evolved(learning_rate=0.5, **options):
    scenario = scenario_of(tl.Erf(), tl.Erf())
    return tl.online.evolve(scenario, state_of(scenario), learning_rate, until=1, **options)


def test_a_run_with_readouts_is_saved_and_computed_again(tmp_path):
    run = evolved(readout_rate=0.3, times=[0, 1])
    tl.results.save(run, tmp_path / "run.nc")
    recomputed = tl.results.recompute(tl.results.load(tmp_path / "run.nc"))
    np.testing.assert_array_equal(recomputed.readout, run.readout)


@pytest.mark.parametrize("g", [tl.Erf(), pytest.param(tl.ReLU(), marks=pytest.mark.slow)])
def test_symmetric_students_share_a_readout(g):
    """The reduction to five numbers against all K M + K (K + 1)/2 + K."""
    scenario = scenario_of(
        g, g, np.full(3, 0.7), np.full(3, 1.2), readout_decay=0.05, output_scale=0.8
    )
    small = tl.online.SymmetricState(Q=0.3, C=0.05, R=0.2, S=0.1)
    Q, R = (np.full((3, 3), b) + (a - b) * np.eye(3) for a, b in ((0.3, 0.05), (0.2, 0.1)))
    numbers = {"until": 10, "times": [0, 3, 10], "readout_rate": 0.4, "batch": 2}
    few = tl.online.evolve_symmetric(scenario, small, 0.5, **numbers)
    all_ = tl.online.evolve(scenario, tl.Overlaps(Q, R, scenario.T), 0.5, **numbers)
    # Two integrations, each to its tolerance of 1e-9 in a step.
    np.testing.assert_allclose(few.readout, all_.readout[:, 0, 0], atol=1e-7)
    np.testing.assert_allclose(few.C, all_.Q[:, 0, 1], atol=1e-7)
    np.testing.assert_allclose(few.generalization_error, all_.generalization_error, atol=1e-7)
    assert abs(float(few.readout[-1]) - 0.7) > 0.03  # it has moved


def test_a_million_linear_students_are_three_numbers():
    """r = Σ_m R_im, q = Σ_k Q_ik and v of the readouts, integrated by SciPy; K times the square of
    the output scale is 1.
    """
    many, rate = tl.Committee(1_000_000, tl.Linear()), 4e6
    scenario = tl.online.SymmetricScenario(many, many, output_scale=1e-3)
    start = tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
    run = tl.online.evolve_symmetric(scenario, start, 0, until=1, readout_rate=rate, times=[0, 1])

    def changes(_, numbers):
        r, q, v = numbers
        return v * (1 - v * r), 2 * v * (r - v * q), rate * 1e-6 * (r - v * q)

    path = solve_ivp(changes, (0, 1), [0.1, 0.5, 1.0], rtol=1e-11, atol=1e-12)
    r, q, v = path.y[:, -1]
    assert abs(v - 1) > 0.02
    # Two integrations; the other one has a tolerance of 1e-9 in a step.
    np.testing.assert_allclose(run.readout[-1], v, rtol=1e-7)
    np.testing.assert_allclose(run.R[-1] + 999_999 * run.S[-1], r, rtol=1e-7)
    error = 0.5 * (1 - 2 * v * r + v * v * q)
    np.testing.assert_allclose(run.generalization_error[-1], error, rtol=1e-7)


@pytest.mark.slow
def test_a_million_students_with_a_readout_that_learns():
    many = tl.Committee(1_000_000, tl.Erf())
    scenario = tl.online.SymmetricScenario(many, many, output_scale=1e-3)
    start = tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
    run = tl.online.evolve_symmetric(scenario, start, 0, until=10, readout_rate=1e-3, times=[0, 10])
    assert np.isfinite(run.readout).all() and float(run.readout[-1]) != 1.0


@pytest.mark.slow
def test_all_fixed_points_with_readouts_are_found_and_do_not_move():
    scenario = scenario_of(tl.Erf(), tl.Erf(), [1.0], [1.5])
    result = tl.online.fixed_points(scenario, 0.5, starts=10, readout_rate=0.25)
    assert result[0].generalization_error < 1e-12 and result[0].stable
    assert abs(abs(result[0].readout[0, 0]) - 1.5) < 1e-9
    flow = Flow(scenario, readout_rate=0.5)
    for point in result:
        rates = rates_of(flow, jnp.asarray(point.vector), scenario.T, Rate(0.5))
        assert np.max(np.abs(rates)) < 1e-11


@pytest.mark.parametrize("g", [tl.ReLU(), tl.Erf()])
def test_second_order_with_two_outputs_is_a_sum_of_single_averages(g):
    """Σ_cd v_ci v_dk ⟨g' g' (e_c e_d + ς² δ_cd)⟩, written out with I4 and a NumPy loop."""
    scenario = scenario_of(g, g, label_noise=0.5)
    state = state_of(scenario)
    C = np.asarray(state.covariance)
    r = np.hstack([-V, V_TEACHER])
    every = np.array(list(np.ndindex(2, 2, 4, 4)))
    I4 = np.asarray(tl.averages.i4(g, C[every[:, :, None], every[:, None, :]])).reshape(2, 2, 4, 4)
    D = np.einsum("ci,dk,ca,db,ikab->ik", V, V, r, r, I4)
    pair = state.Q[0, 0] * state.Q[1, 1] - state.Q[0, 1] ** 2
    if isinstance(g, tl.Erf):
        Q = np.asarray(state.Q)
        norms = np.add.outer(np.diag(Q), np.diag(Q)) + np.outer(np.diag(Q), np.diag(Q)) - Q**2
        slopes = 2 / np.pi / np.sqrt(1 + norms)
    else:
        angle = np.arctan2(np.sqrt(pair), state.Q[0, 1])
        slopes = np.full((2, 2), (np.pi - angle) / (2 * np.pi))
        np.fill_diagonal(slopes, 0.5)
    D = D + 0.25 * (V.T @ V) * slopes
    # Sums of 64 closed forms of order one.
    np.testing.assert_allclose(second_order(Flow(scenario).moments, state), D, atol=1e-12)
