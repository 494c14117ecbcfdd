"""Weights that learn drawn examples at a temperature."""

import math

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.equilibrium.sampling.autocorrelation import standard_error
from tutelage.equilibrium.sampling.examples import GibbsOfExamples
from tutelage.equilibrium.sampling.sample import Sampler


def scenario(K, activation, **numbers):
    committee = tl.Committee(K, activation)
    return tl.Scenario(committee, committee, output_scale=1 / math.sqrt(K), **numbers)


def density(K, N, examples, activation, **numbers):
    """Two sets of examples with two replicas each, and weights that are not at the teacher."""
    error = PairError(scenario(K, activation, **numbers))
    rng = np.random.default_rng(5)
    B = jnp.asarray(np.linalg.qr(rng.normal(size=(N, K)))[0].T)
    J = rng.normal(size=(4, K, N))
    J = jnp.asarray(J / np.linalg.norm(J, axis=-1, keepdims=True))
    gibbs = GibbsOfExamples.draw(error, B, jax.random.key(3), 2, examples, 2)
    return gibbs, J


@pytest.mark.parametrize("activation", [tl.Erf(), tl.ReLU()])
def test_the_force_is_the_gradient_of_the_energy_of_the_examples(activation):
    gibbs, J = density(3, 7, 11, activation, label_noise=0.3)
    beta = jnp.asarray(1.7)
    gradient = np.asarray(jax.grad(lambda J: jnp.sum(gibbs.potential(J, beta)))(J))
    assert np.asarray(gibbs.force(J, beta)) == pytest.approx(-gradient, abs=1e-13)


def test_the_energy_is_the_sum_over_examples_written_out():
    gibbs, J = density(3, 7, 11, tl.Erf(), label_noise=0.3)
    x, labels, weights = (np.asarray(a) for a in (gibbs.inputs, gibbs.labels, J))
    errors, potentials = gibbs.training_error(J), gibbs.potential(J, jnp.asarray(2.0))
    for chain in range(4):
        total = 0.0
        for mu in range(11):
            own = x[chain // 2, mu]
            fields = weights[chain] @ own
            output = sum(math.erf(float(f) / math.sqrt(2)) for f in fields) / math.sqrt(3)
            total += 0.5 * (output - float(labels[chain // 2, mu, 0])) ** 2
        assert float(errors[chain]) == pytest.approx(total / 11, rel=1e-13)
        assert 7 * float(potentials[chain]) == pytest.approx(2 * total, rel=1e-13)


def test_labels_have_the_noise_of_the_scenario():
    noisy, _ = density(2, 6, 4000, tl.Erf(), label_noise=0.5)
    clean, _ = density(2, 6, 4000, tl.Erf())
    noise = np.asarray(noisy.labels - clean.labels)
    # Standard error of a variance of 8000 numbers: σ² √(2/8000).
    assert np.var(noise) == pytest.approx(0.25, abs=5 * 0.25 * math.sqrt(2 / 8000))


@pytest.mark.slow
def test_many_examples_at_a_high_temperature_are_a_load():
    """P = α T K N examples at T = 40: the limit of oostwal2019 eq. (16), within errors."""
    K, N, load, T, sets = 2, 8, 6.0, 40.0, 6
    case = scenario(K, tl.Erf())
    shared = {"dimension": N, "sweeps": 600, "runs": sets, "start": "teacher"}
    drawn = tl.equilibrium.sample(case, examples=int(load * T * K * N), temperature=T, **shared)
    known = tl.equilibrium.sample(case, load, seed=1, **shared)
    a = drawn["generalization_error"].mean("sweep").values.mean(axis=1)
    b = known["generalization_error"].mean("sweep").values
    error = math.hypot(np.std(a, ddof=1), np.std(b, ddof=1)) / math.sqrt(sets)
    assert abs(np.mean(a) - np.mean(b)) < 4 * error + 3 / T * np.mean(b)


def test_results_have_load_and_temperature_and_replicas_are_symmetric():
    case = scenario(2, tl.Erf(), label_noise=0.3)
    data = tl.equilibrium.sample(
        case, examples=60, temperature="bayes", dimension=10, sweeps=5, runs=2, warm_up=5
    )
    assert float(data["load"]) == 3.0
    assert float(data["temperature"]) == pytest.approx(0.09)
    assert dict(data["R"].sizes) == {"run": 2, "replica": 2, "sweep": 5, "student": 2, "teacher": 2}
    R = data["R"].values
    assert data["invariant_overlap"].values == pytest.approx(np.sqrt(np.sum(R**2, (-2, -1)) / 2))
    assert np.all(np.abs(data["replica_overlap"].values) <= 1)
    assert tl.results.recompute(data).equals(data)


def test_one_unit_of_two_inputs_has_the_moments_of_an_integral_over_the_angle():
    """exp(−β Σ_μ ½ (σ − τ)²) on a circle: a factor in the energy or in β would move all of them."""
    P, T, sets, sweeps = 6, 0.3, 2, 500
    case = scenario(1, tl.Erf(), label_noise=0.4)
    sampler = Sampler(case, 2, sweeps, 200, sets, 3, "random", None, P)
    samples = sampler.drawn(1 / T)
    angles = np.linspace(0, 2 * math.pi, 400, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], -1)
    gibbs = sampler.gibbs
    x, labels, B = (np.asarray(a) for a in (gibbs.inputs, gibbs.labels, gibbs.teachers))
    for number in range(sets):
        outputs = np.array([[math.erf(float(w @ xi) / math.sqrt(2)) for xi in x[number]]
                            for w in circle])  # fmt: skip
        energy = 0.5 * np.sum((outputs - labels[number, :, 0]) ** 2, axis=1)
        weight = np.exp(-energy / T)
        weight /= np.sum(weight)
        chains = slice(2 * number, 2 * number + 2)
        for series, values in (
            (samples.training_error[:, chains], energy / P),
            (samples.R[:, chains, 0, 0], circle @ B[0]),
        ):
            errors = standard_error(series.T)
            exact = float(weight @ values)
            assert abs(np.mean(series) - exact) < 5 * math.hypot(*errors) / 2


def test_errors_are_those_over_sets_of_examples():
    """Means over sweeps, replicas and matched units of each set; then mean and √(variance/sets)."""
    data = tl.equilibrium.sample(
        scenario(2, tl.Erf()),
        examples=200,
        temperature=0.05,
        dimension=10,
        sweeps=6,
        runs=3,
        warm_up=6,
        start="teacher",
    )
    own = np.einsum("rasii->r", data["R"].values) / (2 * 6 * 2)
    replicas = np.einsum("rsii->r", data["replica_overlap"].values) / (6 * 2)
    errors = data["training_error"].values.mean(axis=(1, 2))
    for name, numbers in (("R", own), ("q", replicas), ("training_error", errors)):
        here = data.sel(quantity=name)
        assert float(here["mean"]) == pytest.approx(np.mean(numbers), rel=1e-13)
        standard_error = math.sqrt(np.var(numbers, ddof=1) / 3)
        assert float(here["standard_error"]) == pytest.approx(standard_error, rel=1e-11)


@pytest.mark.slow
def test_the_number_of_examples_goes_up_and_down():
    """With few examples overlaps are small, and the first of a set stay when more are added."""
    ladder = [4, 160]
    loop = tl.equilibrium.hysteresis(
        scenario(2, tl.Erf()),
        examples=ladder,
        temperature=0.02,
        dimension=8,
        sweeps=60,
        runs=3,
        start="teacher",
    )
    assert loop["load"].values.tolist() == [0.25, 10.0]
    assert loop["examples"].values.tolist() == ladder
    assert dict(loop["q"].sizes) == {"direction": 2, "load": 2, "run": 3}
    R = loop["R"].mean("run")
    assert float(R.sel(direction="down", load=0.25)) < 0.6 < float(R.sel(direction="up", load=10.0))
    gibbs, J = density(2, 6, 9, tl.Erf())
    part = gibbs.first(4)
    assert part.inputs.shape == (2, 4, 6) and np.all(part.labels == gibbs.labels[:, :4])
    assert part.training_error(J).shape == (4,)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({}, "neither loads nor examples"),
        ({"loads": [1.0], "examples": [20]}, "loads and examples"),
        ({"loads": [1.0], "temperature": 0.1}, "already contains"),
        ({"examples": [1.5], "temperature": 0.1}, "whole numbers"),
        ({"examples": [0, 3], "temperature": 0.1}, "increase"),
        ({"examples": [20]}, "temperature"),
        ({"examples": [20], "temperature": 0}, "temperature"),
        ({"examples": [20], "temperature": "bayes"}, "label noise"),
    ],
)
def test_ladders_that_mean_nothing_are_refused(arguments, word):
    with pytest.raises(tl.InputError, match=word):
        tl.equilibrium.hysteresis(scenario(2, tl.Erf()), dimension=8, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(("K", "gap"), [(4, 0.10), (8, 0.05)])
def test_networks_approach_the_quenched_theory_like_one_over_the_number_of_units(K, gap):
    """erf, α̃ = 9, T = 0.1, from the teacher: q lies above that of K → ∞ by some 0.4/K."""
    theory = tl.equilibrium.states(tl.Erf(), math.inf, 9.0, temperature=0.1)[0]
    data = tl.equilibrium.sample(
        scenario(K, tl.Erf()),
        examples=54 * K**2,
        temperature=0.1,
        dimension=6 * K,
        sweeps=400,
        runs=4,
        seed=1,
        start="teacher",
    )
    q = np.einsum("rsii->r", data["replica_overlap"].values) / (400 * K)
    error = np.std(q, ddof=1) / 2
    assert abs(np.mean(q) - theory.q) < gap + 3 * error
    training = float(data["training_error"].mean())
    assert training == pytest.approx(theory.training_error, rel=0.15)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({}, "examples"),
        ({"load": 3.0, "examples": 50}, "a load and examples"),
        ({"load": 3.0, "temperature": 0.1}, "already contains"),
        ({"examples": 50}, "temperature"),
        ({"examples": 50, "temperature": 0.0}, "temperature"),
        ({"examples": 50, "temperature": "bayes"}, "temperature"),
        ({"examples": 0, "temperature": 0.1}, "examples"),
    ],
)
def test_settings_that_mean_nothing_are_refused(arguments, word):
    with pytest.raises(tl.InputError, match=word):
        tl.equilibrium.sample(scenario(2, tl.Erf()), dimension=10, sweeps=3, runs=2, **arguments)
