"""Training: batches equal single runs, records are correct, files can be computed again."""

import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.spectra import (
    SGD,
    Adam,
    Classifier,
    hessian_eigenvalues,
    linear_examples,
    train,
)
from tutelage.spectra.cross_entropy import accuracy, cross_entropy, residuals
from tutelage.spectra.objective import Loss

LINE = linear_examples()
SWISH = Classifier((2, 4, 1), tl.Swish(), "per unit")
SHORT = {"epochs": 30, "recorded": [0, 7, 30]}


@pytest.fixture(scope="module")
def batch():
    return train(SWISH, LINE, runs=3, seed=5, **SHORT)


def loss_of(network, examples=LINE):
    return Loss(network, jnp.asarray(examples.inputs), jnp.asarray(examples.labels))


def unflatten(network, vector):
    return ravel_pytree(network.initial(jax.random.key(0)))[1](jnp.asarray(vector))


@pytest.mark.slow
def test_a_run_does_not_depend_on_how_many_there_are(batch):
    alone = train(SWISH, LINE, runs=1, seed=5, **SHORT)
    for name in ("loss", "accuracy", "zero_residuals", "eigenvalues", "final_parameters"):
        # Sums of a batch may be taken in another order: 30 steps of rounding.
        np.testing.assert_allclose(alone[name][0], batch[name][0], atol=1e-12)


def test_runs_and_seeds_have_different_starts(batch):
    starts = batch["loss"].values[:, 0]
    other = train(SWISH, LINE, runs=1, seed=6, **SHORT)["loss"].values[0, 0]
    assert len({*starts.round(9), round(float(other), 9)}) == 4


def test_training_is_a_plain_loop_over_the_gradient():
    run = train(SWISH, LINE, optimizer=Adam(0.03), seed=5, spectra=(), **SHORT)
    loss = loss_of(SWISH)
    slope = jax.jit(jax.grad(loss))
    key = jax.random.fold_in(jax.random.key(5), 0)
    θ = SWISH.initial(key)
    rule = optax.adam(0.03)
    memory = jax.jit(rule.init)(θ)

    @jax.jit
    def step(θ, memory):
        with jax.numpy_dtype_promotion("standard"):  # optax multiplies counts of steps by floats
            change, memory = rule.update(slope(θ), memory, θ)
        return optax.apply_updates(θ, change), memory

    for _ in range(30):
        θ, memory = step(θ, memory)
    np.testing.assert_allclose(run["loss"].values[0, -1], loss(θ), atol=1e-12)
    np.testing.assert_allclose(run["final_parameters"].values[0], ravel_pytree(θ)[0], atol=1e-12)


def test_a_step_of_gradient_descent_is_that_of_its_definition():
    run = train(SWISH, LINE, epochs=1, optimizer=SGD(0.5), recorded=[0, 1], spectra=())
    θ = SWISH.initial(jax.random.fold_in(jax.random.key(0), 0))
    flat, shape = ravel_pytree(θ)
    exact = flat - 0.5 * jax.jit(jax.grad(lambda v: loss_of(SWISH)(shape(v))))(flat)
    np.testing.assert_allclose(run["final_parameters"].values[0], exact, atol=1e-15)


def test_what_is_recorded_is_that_of_the_final_parameters(batch):
    network_loss = loss_of(SWISH)
    for run in range(3):
        θ = unflatten(SWISH, batch["final_parameters"].values[run])
        last = batch.isel(run=run, epoch=-1)
        z = np.asarray(SWISH.logits(θ, jnp.asarray(LINE.inputs)))[:, 0]
        p = 1 / (1 + np.exp(-z))
        y = LINE.labels
        np.testing.assert_allclose(last["loss"], -np.mean(np.log(np.where(y, p, 1 - p))))
        assert float(last["accuracy"]) == np.mean((p > 0.5) == y)
        assert float(last["zero_residuals"]) == np.mean(np.abs(p - y) / 51 <= 1e-5)
        λ = hessian_eigenvalues(network_loss, θ)
        np.testing.assert_allclose(last["eigenvalues"], λ, atol=1e-13 * λ[-1])
        assert float(last["negative_fraction"]) == np.mean(λ < -1e-12 * np.abs(λ).max())
        assert float(last["zero_fraction"]) == np.mean(np.abs(λ) <= 1e-12 * np.abs(λ).max())


def test_several_classes_are_counted_in_their_residuals_and_accuracy():
    z = jnp.array([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    y = jnp.array([0, 0, 2])
    third = np.exp([0.0, 1.0, 0.0]) / (2 + np.e)
    exact = np.array([[-2 / 3, 1 / 3, 1 / 3], [0, 0, 0], [third[0], third[1], third[2] - 1]]) / 3
    np.testing.assert_allclose(jax.jit(residuals)(z, y), exact, atol=1e-15)
    gradient = jax.jit(jax.grad(lambda z: cross_entropy(z, y)))(z)
    np.testing.assert_allclose(gradient, exact, atol=1e-15)
    assert float(accuracy(z, y)) == pytest.approx(2 / 3)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_cross_entropy_does_not_overflow(outputs):
    z = jnp.full((2, outputs), 1e4).at[0].set(-1e4)
    z = z if outputs == 1 else jnp.array([[1e4, -1e4], [-1e4, 1e4]])
    assert float(cross_entropy(z, jnp.array([0, 1]))) == 0.0
    assert float(cross_entropy(z, jnp.array([1, 0]))) in (1e4, 2e4)


def test_two_outputs_are_one_with_twice_the_logit():
    """softmax(z, −z) = σ(2z): both ways to classify into two are the same."""
    z, y = jnp.array([[0.3], [-1.2], [2.0]]), jnp.array([1, 0, 0])
    pair = jnp.concatenate([-z / 2, z / 2], axis=1)
    np.testing.assert_allclose(cross_entropy(z, y), cross_entropy(pair, y), atol=1e-15)


def test_a_trainable_beta_moves_and_a_fixed_one_is_no_parameter(batch):
    end = unflatten(SWISH, batch["final_parameters"].values[0])
    assert np.all(np.abs(end.beta[0] - 1.0) > 1e-3)
    fixed = Classifier((2, 4, 1), tl.Swish(1.0))
    assert fixed.count == 17 and SWISH.count == 21
    assert Classifier((2, 4, 3, 1), tl.Swish(), "shared").count == 12 + 15 + 4 + 1
    θ = fixed.initial(jax.random.key(1))
    same = SWISH.initial(jax.random.key(1))
    X = jnp.asarray(LINE.inputs)
    np.testing.assert_array_equal(fixed.logits(θ, X), SWISH.logits(same, X))


def test_the_output_has_a_separate_beta_when_every_unit_has_one():
    network = Classifier((2, 4, 1), tl.Swish(), "every unit")
    assert network.count == 22 and Classifier((2, 8, 2, 1), tl.Swish(), "every unit").count == 56
    θ, hidden = (one.initial(jax.random.key(1)) for one in (network, SWISH))
    X = jnp.asarray(LINE.inputs)
    np.testing.assert_array_equal(network.logits(θ, X), SWISH.logits(hidden, X))
    doubled = θ._replace(beta=(θ.beta[0], 2 * θ.beta[1]))
    np.testing.assert_array_equal(network.logits(doubled, X), 2 * SWISH.logits(hidden, X))


def test_beta_begins_at_the_given_start():
    network = Classifier((2, 100, 1), tl.Swish(), "every unit")
    exactly = network.initial(jax.random.key(2), 0.25).beta
    assert np.all(exactly[0] == 0.25) and np.all(exactly[1] == 0.25)
    one, other = (network.initial(jax.random.key(k), (0.5, 0.01)) for k in (2, 3))
    drawn = np.concatenate([*one.beta, *other.beta])
    # 202 independent numbers: five standard errors of a mean, and of a standard deviation.
    assert abs(drawn.mean() - 0.5) < 5 * 0.01 / np.sqrt(202)
    assert abs(drawn.std() - 0.01) < 5 * 0.01 / np.sqrt(2 * 202)
    np.testing.assert_array_equal(one.weights[0], network.initial(jax.random.key(2)).weights[0])


def test_the_learning_rate_decays_step_by_step():
    rule = SGD(0.5, decay=0.8)
    run = train(SWISH, LINE, epochs=3, optimizer=rule, recorded=[3], spectra=())
    flat, shape = ravel_pytree(SWISH.initial(jax.random.fold_in(jax.random.key(0), 0)))
    slope = jax.grad(lambda v: loss_of(SWISH)(shape(v)))
    for rate in (0.5, 0.4, 0.32):
        flat = flat - rate * slope(flat)
    # Three steps, whose sums over 51 examples may be taken in another order.
    np.testing.assert_allclose(run["final_parameters"].values[0], flat, atol=1e-14)


def test_separate_outputs_have_no_output_for_label_0():
    """K − 1 outputs say which of the labels 1, 2, … it is; one more answers to no label."""
    z = jnp.array([[-3.0, -2.0], [4.0, -1.0], [1.0, 2.0]])
    y = jnp.array([0, 1, 1])
    p = 1 / (1 + np.exp(-np.asarray(z)))
    target = np.array([[0, 0], [1, 0], [1, 0]])
    exact = -np.mean(np.log(np.where(target, p, 1 - p)))
    assert float(cross_entropy(z, y, "sigmoid")) == pytest.approx(exact, rel=1e-14)
    np.testing.assert_allclose(residuals(z, y, "sigmoid"), (p - target) / 3, atol=1e-16)
    assert float(accuracy(z, y, "sigmoid")) == pytest.approx(2 / 3)


def test_the_setting_of_the_authors_is_recorded_and_computed_again(tmp_path):
    three = tl.spectra.examples(LINE.inputs, np.arange(51) % 3, "three")
    network = Classifier((2, 4, 3), tl.Swish(), "every unit")
    options = {"beta_start": (0.0, 0.005), "output": "sigmoid", "optimizer": Adam(0.01, 0.999)}
    run = train(network, three, runs=2, spectra=(), **options, **SHORT)
    tl.results.save(run, tmp_path / "run.nc")
    recomputed = tl.results.recompute(tl.results.load(tmp_path / "run.nc"))
    for name in run.data_vars:
        np.testing.assert_array_equal(recomputed[name], run[name])
    # β begins near 0: so do all logits, and every output is ln 2.
    np.testing.assert_allclose(run["loss"].values[:, 0], np.log(2), atol=0.02)


def test_spectra_are_missing_where_they_were_not_asked_for():
    run = train(SWISH, LINE, spectra=[30], **SHORT)
    missing = np.isnan(run["eigenvalues"].values[0]).all(axis=1)
    assert missing.tolist() == [True, True, False]
    assert np.isnan(run["zero_fraction"].values[0]).tolist() == [True, True, False]


def test_a_saved_run_reopens_and_computes_again(batch, tmp_path):
    tl.results.save(batch, tmp_path / "run.nc")
    read = tl.results.load(tmp_path / "run.nc")
    recomputed = tl.results.recompute(read)
    assert recomputed.attrs == batch.attrs
    for name in batch.data_vars:
        np.testing.assert_array_equal(recomputed[name], batch[name])
        np.testing.assert_array_equal(read[name], batch[name])
    assert float(read.attrs["tolerance"]) == 1e-12


def test_a_diverging_run_is_an_outcome():
    run = train(SWISH, LINE, optimizer=SGD(1e74), **SHORT)
    assert np.isfinite(run["loss"].values[0, 0]) and np.isnan(run["loss"].values[0, -1])
    assert run["outcome"].values.tolist() == ["diverged"]
    assert np.isfinite(run["eigenvalues"].values[0, 0]).all()
    assert np.isnan(run["eigenvalues"].values[0, -1]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0.0}, "tolerance: got 0"),
        ({"tolerance": -1e-9}, "tolerance: got -1e-09"),
        ({"residual_tolerance": 0.0}, "residual_tolerance: got 0"),
        ({"epochs": 0}, "epochs: got 0"),
        ({"runs": 0}, "runs: got 0"),
        ({"seed": -1}, "seed: got -1"),
        ({"recorded": [0, 31]}, "recorded: got 0 … 31"),
        ({"recorded": [0.5]}, "recorded: got"),
        ({"recorded": [7, 0]}, "recorded: got"),
        ({"recorded": []}, "recorded: got no epoch"),
        ({"spectra": [5]}, r"spectra: got \[5\]"),
        ({"optimizer": "adam"}, "optimizer: got 'adam'"),
        ({"output": "tanh"}, "output: got 'tanh'"),
        ({"beta_start": np.nan}, "beta_start: got nan"),
        ({"beta_start": (0.0, -1.0)}, "beta_start: got -1.0"),
        ({"beta_start": (0.0, 1.0, 2.0)}, "beta_start: got"),
        ({"classifier": Classifier((2, 4, 1), tl.Swish()), "beta_start": 1.0}, "not learned"),
        ({"memory": 100}, "parameters: got 21 parameters"),
        ({"classifier": Classifier((3, 4, 1), tl.ReLU())}, "2 features and 2 classes"),
        ({"classifier": Classifier((2, 4, 3), tl.ReLU())}, "2 features and 2 classes"),
        ({"examples": (LINE.inputs, LINE.labels)}, "examples: got tuple"),
        ({"examples": LINE._replace(inputs=LINE.inputs * np.nan)}, "inputs: got nan"),
    ],
    ids=lambda value: str(next(iter(value.items()))) if isinstance(value, dict) else "",
)
def test_what_cannot_be_trained_is_refused(arguments, message):
    everything = {"classifier": SWISH, "examples": LINE, **SHORT, **arguments}
    with pytest.raises(InputError, match=message):
        train(**everything)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2,), tl.ReLU()), "sizes: got"),
        (((2, 0, 1), tl.ReLU()), "sizes: got 0"),
        (((2, 3, 1), "relu"), "activation: got 'relu'"),
        (((2, 3, 1), tl.ReLU(), "shared"), "ReLU has no β"),
        (((2, 3, 1), tl.Swish(), "free"), "beta: got 'free'"),
    ],
)
def test_what_is_no_network_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Classifier(*arguments)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan])
def test_a_learning_rate_of_zero_or_below_is_refused(rate):
    with pytest.raises(InputError, match="learning_rate"):
        Adam(rate)


@pytest.mark.parametrize("decay", [0.0, 1.1, np.nan])
def test_a_learning_rate_that_grows_is_refused(decay):
    with pytest.raises(InputError, match="decay"):
        Adam(0.01, decay)


def test_a_density_of_a_function_is_not_computed_again():
    result = tl.spectra.density(lambda x: x @ x, np.ones(5))
    assert result.attrs["computed_by"] == "spectra.density" and result.attrs["probes"] == 8
    with pytest.raises(InputError, match=r"^loss: .*does not contain the loss"):
        tl.results.recompute(result)


@pytest.mark.parametrize(
    "activation",
    [
        pytest.param(tl.gates.Gate([-1, 1]).signal(2.0), marks=pytest.mark.slow),
        tl.gates.Gate([0, 1, 2], [1, 2, 1]).signal(0.7),
    ],
    ids=["two states", "three states"],
)
def test_the_units_of_a_gate_are_made_again(activation, tmp_path):
    run = train(Classifier((2, 4, 1), activation), LINE, **SHORT)
    tl.results.save(run, tmp_path / "run.nc")
    recomputed = tl.results.recompute(tl.results.load(tmp_path / "run.nc"))
    for name in run.data_vars:
        np.testing.assert_array_equal(recomputed[name], run[name])
