"""Optimizers with large batches: the map of overlaps against vectors, closed forms and networks."""

import numpy as np
import optax
import pytest

import tutelage as tl
from tutelage import InputError
from tutelage._jax import jax, jnp
from tutelage.model.optimizers import RELATIVE_EPSILON
from tutelage.online.flow import Flow


class OwnRule(tl.optimizers.Plain):
    """A rule of the user's own, of which the equations know nothing."""


START = tl.Overlaps([[0.5, 0.1], [0.1, 0.4]], [[0.2, 0.1], [0.0, 0.3]], np.eye(2))
OPTIMIZERS = {
    "plain": tl.optimizers.Plain(),
    "momentum": tl.optimizers.Momentum(0.7),
    "normalized": tl.optimizers.Normalized(),
    "muon": tl.optimizers.Muon(epsilon=1e-3),
    "muon with momentum": tl.optimizers.Muon(momentum=0.8),
}


def pair(g, **numbers):
    two = tl.Committee(2, g)
    return tl.Scenario(two, two, **numbers)


def literal(optimizer, V, eta, epsilon):
    """The step of the weights by its definition, with singular values."""
    if isinstance(optimizer, tl.optimizers.Normalized):
        return eta * V / np.sqrt(np.sum(V**2, axis=1, keepdims=True) + epsilon)
    if isinstance(optimizer, tl.optimizers.Muon):
        U, s, directions = np.linalg.svd(V, full_matrices=False)
        return eta * U * (s / np.sqrt(s**2 + epsilon)) @ directions
    return eta * V


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_map_is_that_of_weight_vectors_where_batches_are_infinite(name):
    """b → ∞: G = A (W, w*) has no noise, and four-dimensional vectors have the same overlaps."""
    optimizer, eta, decay = OPTIMIZERS[name], 0.2, 0.03
    scenario = pair(tl.Erf(), weight_decay=decay)
    run = tl.online.iterate(scenario, START, eta, steps=6, batch=1e20, optimizer=optimizer)
    moments, epsilon = Flow(scenario).moments, run.attrs.get("epsilon", 0.0)
    J, B = (np.array(x) for x in START.to_weights(4, 0))
    V = np.zeros_like(J)
    for t in range(7):
        overlaps = tl.Overlaps(J @ J.T, J @ B.T, B @ B.T)
        # The root of ε_g's rounding error, where singular values vanish.
        np.testing.assert_allclose(run.Q[t], overlaps.Q, atol=1e-8)
        np.testing.assert_allclose(run.R[t], overlaps.R, atol=1e-8)
        if "velocity_norm" in run:
            np.testing.assert_allclose(run.velocity_norm[t], V @ V.T, atol=1e-8)
            np.testing.assert_allclose(run.velocity_student[t], V @ J.T, atol=1e-8)
            np.testing.assert_allclose(run.velocity_teacher[t], V @ B.T, atol=1e-8)
        G = np.asarray(moments.jacobian(overlaps)) @ np.concatenate([J, B])
        V = optimizer.momentum * V + G
        J = (1 - decay) * J + literal(optimizer, V, eta, epsilon)


def test_one_unit_has_one_direction_in_which_muon_and_normalized_steps_agree():
    one = tl.Committee(1, tl.Linear())
    start = tl.Overlaps([[0.5]], [[0.2]], [[1.0]])
    scenario, eta, b = tl.Scenario(one, one), 0.1, 2.0
    muon, normalized = (
        tl.online.iterate(scenario, start, eta, steps=5, batch=b, optimizer=optimizer)
        for optimizer in (tl.optimizers.Muon(), tl.optimizers.Normalized())
    )
    np.testing.assert_allclose(muon.Q, normalized.Q, rtol=1e-12)
    # Linear unit: G = w* - W with noise, S = E (1 + 1/b), E = 1 - 2R + Q.
    Q, R = 0.5, 0.2
    for t in range(6):
        np.testing.assert_allclose([muon.Q[t, 0, 0], muon.R[t, 0, 0]], [Q, R], rtol=1e-12)
        E = 1 - 2 * R + Q
        S = E * (1 + 1 / b)
        H = (S + muon.attrs["epsilon"]) ** -0.5
        Q, R = Q + 2 * eta * H * (R - Q) + eta**2 * H**2 * S, R + eta * H * (1 - R)
    assert muon.attrs["epsilon"] == pytest.approx(RELATIVE_EPSILON * 1.1 * 1.5)


def test_muon_gains_the_square_of_its_rate_in_every_direction():
    """Q - η (H G·W + transpose) grows by η² 1, so that a constant rate never settles."""
    solved = tl.Overlaps(np.eye(2), np.eye(2), np.eye(2))
    optimizer, eta = tl.optimizers.Muon(epsilon=1e-12), 0.02
    scenario = pair(tl.Erf(), label_noise=0.1)
    run = tl.online.iterate(scenario, solved, eta, steps=400, optimizer=optimizer)
    # At the solution G·W = 0 and labels have noise: the first step adds η² 1 and nothing else.
    np.testing.assert_allclose(run.Q[1] - run.Q[0], eta**2 * np.eye(2), rtol=1e-6, atol=1e-10)
    late = run.generalization_error[200:]
    assert float(late.min()) > 0.1 * float(late.max()) > 1e-6
    slower = tl.online.iterate(scenario, solved, eta / 2, steps=400, optimizer=optimizer)
    ratio = float(late[-1] / slower.generalization_error[-1])
    assert 1.5 < ratio < 4.5  # the level falls with the rate: only a schedule ends it


def test_momentum_on_line_is_a_larger_rate():
    """b → 0 with the rate η b of a step: η/(1 - μ), up to terms of the order of b."""
    scenario, eta, mu = pair(tl.Erf()), 0.4, 0.5
    flow = tl.online.evolve(scenario, START, eta / (1 - mu), until=4.0, times=[4.0])
    errors = []
    for b in (0.02, 0.01):
        steps, optimizer = round(4.0 / b), tl.optimizers.Momentum(mu)
        run = tl.online.iterate(scenario, START, eta * b, steps=steps, batch=b, optimizer=optimizer)
        errors.append(np.max(np.abs(run.Q.values[-1] - flow.Q.values[0])))
    assert errors[0] < 0.02 and abs(errors[0] / errors[1] - 2) < 0.2


@pytest.mark.slow
def test_muon_on_line_multiplies_the_gradient_by_the_root_of_its_noise():
    """b → 0 with the rate η √b of a step: D^(-1/2) in the place of H, up to terms of order b."""
    scenario, eta, until, h = pair(tl.Erf(), label_noise=0.1), 0.2, 4.0, 0.02
    flow = Flow(scenario)

    def slope(y):
        def of(moments, state):
            AC = moments.jacobian(state) @ state.covariance
            values, vectors = jnp.linalg.eigh(moments.second_order(state))
            H = (vectors * values[None] ** -0.5) @ vectors.T
            change = eta * H @ AC[:, :2]
            Q = change + change.T + eta**2 * jnp.eye(2)
            return flow.layout.vector({"Q": Q, "R": eta * H @ AC[:, 2:]})

        return flow.at_states(of, y, flow.scenario.T)

    def step(y, _):
        a = slope(y)
        b = slope(y + 0.5 * h * a)
        c = slope(y + 0.5 * h * b)
        return y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c)), None

    y = jnp.asarray(flow.vector(START))
    y = jax.jit(lambda y: jax.lax.scan(step, y, None, length=round(until / h))[0])(y)
    limit = np.asarray(flow.layout.arrays(y)["R"])
    errors = []
    for b in (0.02, 0.01):
        run = tl.online.iterate(
            scenario,
            START,
            eta * b**0.5,
            steps=round(until / b),
            batch=b,
            optimizer=tl.optimizers.Muon(),
        )
        errors.append(np.max(np.abs(run.R.values[-1] - limit)))
    assert errors[0] < 0.02 and abs(errors[0] / errors[1] - 2) < 0.2


def test_optax_makes_the_same_steps():
    """Newton–Schulz iterations that converge, (1.5, -0.5, 0), give the polar factor of Muon."""
    from tutelage.simulation.optimizer_steps import direction, initial_memory

    G = jnp.asarray(np.random.default_rng(1).standard_normal((2, 5)))
    optimizer = tl.optimizers.Muon(epsilon=1e-20)
    ours, _ = direction(optimizer, G, initial_memory(optimizer, G))
    theirs = optax.contrib.muon(
        1.0, ns_coeffs=(1.5, -0.5, 0.0), ns_steps=40, beta=0.0, nesterov=False, eps=0.0
    )
    with jax.numpy_dtype_promotion("standard"):  # Optax takes powers of counts
        weights = {"J": jnp.asarray(G)}
        updates, _ = theirs.update(weights, theirs.init(weights), weights)
    scale = np.linalg.norm(updates["J"]) / np.linalg.norm(ours)  # of the layer's width, in Optax
    np.testing.assert_allclose(-np.asarray(updates["J"]), scale * np.asarray(ours), atol=1e-7)


def compared(scenario, optimizer, N, b, eta, steps, runs):
    """Overlaps of networks after all steps, in standard errors from those of the map."""
    map_run = tl.online.iterate(scenario, START, eta, steps=steps, batch=b, optimizer=optimizer)
    networks = tl.simulation.network(
        scenario,
        START,
        eta * N,
        dimension=N,
        until=steps / N,
        times=[steps / N],
        batch=round(b * N),
        optimizer=optimizer,
        runs=runs,
    )
    for name in ("Q", "R"):
        sample, expected = networks[name].values[:, -1], map_run[name].values[-1]
        error = sample.std(axis=0, ddof=1) / np.sqrt(runs)
        yield np.abs(sample.mean(axis=0) - expected), error


@pytest.mark.parametrize("name", ["muon with momentum"])
def test_networks_have_these_overlaps(name):
    scenario = pair(tl.Erf(), label_noise=0.2)
    for deviation, error in compared(scenario, OPTIMIZERS[name], 300, 0.5, 0.1, 8, 20):
        # Five standard errors, and a few parts in N of overlaps of order one.
        assert np.all(deviation < 5 * error + 3 / 300)
        assert np.all(error < 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(
    ("g", "N", "batch", "steps", "runs"),
    [(tl.ReLU(), 300, 0.5, 25, 30), (tl.Tanh(), 600, 0.3, 10, 10), (tl.ReLU(), 2400, 0.2, 6, 6)],
)
def test_networks_of_several_sizes_have_these_overlaps(name, g, N, batch, steps, runs):
    eta = 0.05 if OPTIMIZERS[name].normalizes else 0.3
    for deviation, error in compared(pair(g), OPTIMIZERS[name], N, batch, eta, steps, runs):
        assert np.all(deviation < 5 * error + 3 / N)


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ("adam", "scales each coordinate"),
        (optax.adam, "scales each coordinate"),
        ("sign descent", "scales each coordinate"),
        (None, "one of tl.optimizers"),
        (0.9, "one of tl.optimizers"),
        ("muon", r"one of tl.optimizers.*Try: tl\.optimizers\.Muon\(\)"),
        (tl.optimizers.Normalized, r"one of tl.optimizers.*Try: tl\.optimizers\.Normalized\(\)"),
        (OwnRule(), "one of tl.optimizers, whose steps have a map"),
    ],
)
def test_optimizers_that_do_not_close_are_refused_with_the_reason(optimizer, words):
    with pytest.raises(InputError, match=f"optimizer: .*{words}"):
        tl.online.iterate(pair(tl.Erf()), START, 0.1, steps=2, optimizer=optimizer)
    with pytest.raises(InputError, match=f"optimizer: .*{words}"):
        options = {"dimension": 10, "until": 0.1, "optimizer": optimizer}
        tl.simulation.network(pair(tl.Erf()), START, 0.1, **options)


def test_bad_numbers_are_refused_by_name():
    scenario, solved = pair(tl.Erf()), tl.Overlaps(np.eye(2), np.eye(2), np.eye(2))
    options = {"steps": 2, "optimizer": tl.optimizers.Muon()}
    calls = {
        "momentum": lambda: tl.optimizers.Momentum(1.0),
        "epsilon": lambda: tl.optimizers.Muon(epsilon=0.0),
        "readout_rate": lambda: tl.online.iterate(
            scenario, START, 0.5, readout_rate=0.1, **options
        ),
        "optimizer: got no epsilon": lambda: tl.online.iterate(scenario, solved, 0.5, **options),
        "learning_rate": lambda: tl.online.iterate(scenario, START, 0, **options),
    }
    for word, call in calls.items():
        with pytest.raises(InputError, match=f"^{word}"):
            call()
