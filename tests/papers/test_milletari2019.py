"""milletari2019: what the notes of its rows say, checked by other means."""

import numpy as np
import pytest
import xarray as xr
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.papers.milletari2019.spectra import ALWAYS_ZERO, _epochs_to
from tutelage.papers.milletari2019.trainings import ONE, STUCK, TWO, many, small
from tutelage.spectra.objective import Loss


def test_101_directions_of_the_digits_are_flat_for_every_activation():
    """Three blank pixels × 25 units, and a shift of all outputs by a constant or by one unit."""
    data = tl.spectra.digits()
    blank = np.flatnonzero(np.ptp(data.inputs, axis=0) == 0)
    assert len(blank) * 25 + 26 == ALWAYS_ZERO["digits"]
    for unit in (tl.ReLU(), tl.Sigmoid(), tl.Swish()):
        network = tl.spectra.Classifier(data.sizes(25), unit)
        loss = Loss(network, jnp.asarray(data.inputs), jnp.asarray(data.labels))
        start = network.initial(jax.random.key(3))
        flat, shape = ravel_pytree(start)
        zero = shape(jnp.zeros_like(flat))
        (W, V), (b, c) = zero.weights, zero.biases
        directions = [
            zero._replace(weights=(W.at[int(blank[0]), 4].set(1.0), V)),
            zero._replace(weights=(W, V.at[7].set(1.0))),
            zero._replace(biases=(b, c + 1.0)),
        ]
        for v in directions:
            product = jax.jvp(jax.grad(loss), (start,), (v,))[1]
            # A sum over 1797 examples of terms of order one, over 1797.
            assert max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(product)) < 1e-13


def test_zero_eigenvalues_of_relus_come_out_with_either_sign():
    """So that "less than zero" counts rounding, and α needs to say what is zero."""
    data = tl.spectra.curved_examples()
    network = tl.spectra.Classifier(data.sizes(10), tl.ReLU())
    run = tl.spectra.train(network, data, epochs=20, runs=6, recorded=(20,))
    λ = run["eigenvalues"].values[:, 0]
    size = np.abs(λ) / np.abs(λ).max(axis=1, keepdims=True)
    rounding = size <= 1e-12
    assert rounding.mean() > 0.3
    assert not np.any((size > 1e-12) & (size < 1e-9))  # a gap: what is zero is not in doubt
    assert np.any(λ[rounding] < 0) and np.any(λ[rounding] > 0)


def test_the_epoch_of_a_level_is_found_between_records():
    """A loss that falls by 0.01 an epoch reaches 0.37 at epoch 63; one that does not is NaN."""
    loss = np.array([[1.0, 0.8, 0.5, 0.2], [1.0, 0.9, 0.9, 0.9]])
    run = xr.Dataset({"loss": (("run", "epoch"), loss)}, coords={"epoch": [0, 20, 50, 80]})
    found = _epochs_to(run, 0.37)
    assert abs(found[0] - 63) < 1e-12 and np.isnan(found[1])


@pytest.mark.slow
def test_a_network_that_is_stuck_has_a_layer_that_is_dead():
    """8-2 and 10-2 alike: no example opens a unit of the first or of the second layer."""
    data = tl.spectra.linear_examples()
    for hidden in (TWO, (10, 2)):
        run = many("linear", hidden, "ReLU", full=False)
        p = float(run["labels"].mean())
        constant = -p * np.log(p) - (1 - p) * np.log(1 - p)
        stuck = np.flatnonzero(run["loss"].sel(epoch=STUCK).values > 0.99 * constant)
        assert len(stuck) > 10
        network = tl.spectra.Classifier(data.sizes(*hidden), tl.ReLU())
        shape = ravel_pytree(network.initial(jax.random.key(0)))[1]
        dead = 0
        for number in stuck:
            θ = shape(jnp.asarray(run["final_parameters"].values[number]))
            a, opened = jnp.asarray(data.inputs), []
            for W, b in zip(θ.weights[:-1], θ.biases[:-1], strict=True):
                a = jnp.maximum(a @ W + b, 0.0)
                opened.append(bool(jnp.any(a > 0)))
            dead += not all(opened)
        assert dead > 0.9 * len(stuck)


@pytest.mark.slow
def test_spectra_of_relus_grow_while_the_loss_is_still_high():
    run = small("curved", ONE, "ReLU", full=False)
    width = np.log(run["eigenvalues"].sel(epoch=[0, 600]).std("eigenvalue"))
    grown = (width[:, 1] - width[:, 0]).values
    # 20 runs: more than five standard errors.
    assert grown.mean() > 5 * grown.std(ddof=1) / np.sqrt(len(grown))
    assert float(run["loss"][:, -1].median()) > 0.2
