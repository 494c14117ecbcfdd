"""milletari2019: what the notes of its rows say, checked by other means."""

import numpy as np
import pytest
import xarray as xr
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.papers import recorded
from tutelage.papers.milletari2019 import architectures, widths
from tutelage.papers.milletari2019.spectra import (
    ALWAYS_ZERO,
    BLANK,
    _epochs_to,
    _mean_over_epochs,
)
from tutelage.papers.milletari2019.trainings import (
    AUTHORS,
    DIGITS,
    ONE,
    STUCK_EPOCH,
    TEXT,
    TWO,
    classifier,
    examples,
    small,
    trained,
)
from tutelage.spectra.objective import Loss


def flat_directions(output):
    """How far a step in a direction changes the gradient of a digits network, for three of them:
    a weight of a blank pixel, all weights of a hidden unit to the outputs, all biases of these."""
    data = examples(AUTHORS if output == "sigmoid" else TEXT, "digits")
    blank = np.flatnonzero(np.ptp(data.inputs, axis=0) == 0)
    assert len(blank) * 25 == BLANK
    results = []
    for unit in (tl.ReLU(), tl.Sigmoid(), tl.Swish()):
        network = tl.spectra.Classifier(data.sizes(25), unit)
        loss = Loss(network, jnp.asarray(data.inputs), jnp.asarray(data.labels), output)
        start = network.initial(jax.random.key(3))
        flat, shape = ravel_pytree(start)
        zero = shape(jnp.zeros_like(flat))
        (W, V), (b, c) = zero.weights, zero.biases
        directions = [
            zero._replace(weights=(W.at[int(blank[0]), 4].set(1.0), V)),
            zero._replace(weights=(W, V.at[7].set(1.0))),
            zero._replace(biases=(b, c + 1.0)),
        ]
        products = [jax.jvp(jax.grad(loss), (start,), (v,))[1] for v in directions]
        results.append([max(float(jnp.abs(x).max()) for x in jax.tree.leaves(p)) for p in products])
    return np.array(results).T


@pytest.mark.slow
def test_101_directions_are_flat_for_every_activation_with_softmax():
    """Three blank pixels × 25 units, and a shift of all outputs by a constant or by one unit."""
    assert ALWAYS_ZERO["softmax"] == BLANK + 26
    # A sum over 1797 examples of terms of order one, over 1797.
    assert flat_directions("softmax").max() < 1e-13


@pytest.mark.slow
def test_only_those_of_the_blank_pixels_are_flat_with_sigmoids():
    """Ten separate outputs cannot be shifted together: 75 directions, as the authors have."""
    assert ALWAYS_ZERO["sigmoid"] == BLANK
    blank, unit, constant = flat_directions("sigmoid")
    assert blank.max() < 1e-13
    assert constant.min() > 1e-3 and unit.min() > 1e-6  # pixels over 255 leave ReLUs small


def test_the_setting_of_the_authors_is_that_of_their_public_code():
    """Counts of parameters and points: 52 and 56 with a β for every unit; 38, 690 and 1437."""
    networks = [("linear", ONE), ("curved", TWO), ("digits", DIGITS)]
    counts = [classifier(AUTHORS, data, hidden, "Swish").count for data, hidden in networks]
    assert counts == [52, 56, 1885 + 35]
    assert [classifier(AUTHORS, data, ONE, "ReLU").count for data in ("linear", "curved")] == [
        41,
        41,
    ]
    assert [len(examples(AUTHORS, data).labels) for data, _ in networks] == [38, 690, 1437]
    assert len(examples(AUTHORS, "linear", rest=True).labels) == 13
    pixels = [examples(setting, "digits").inputs.max() for setting in (AUTHORS, TEXT)]
    np.testing.assert_allclose(pixels, [16 / 255, 1.0])
    # Adam with the rate 0.01 · 0.9^(step/500).
    assert tl.spectra.Adam(0.01, AUTHORS.decay).rate(500) == pytest.approx(0.009)


def test_a_mean_over_epochs_weighs_a_record_by_the_time_around_it():
    """A straight line from 0 to 8 has the mean 4, however it is recorded."""
    epochs = np.array([0, 1, 2, 8])
    λ = np.zeros((2, 4, 3))
    run = xr.Dataset({"eigenvalues": (("run", "epoch", "eigenvalue"), λ)}, coords={"epoch": epochs})
    np.testing.assert_allclose(_mean_over_epochs(run, np.tile(epochs, (2, 1))), 4.0)


def test_zero_eigenvalues_of_relus_come_out_with_either_sign():
    """A count of "less than zero" therefore includes rounding, and α needs a tolerance."""
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
    result = _epochs_to(run, 0.37)
    assert abs(result[0] - 63) < 1e-12 and np.isnan(result[1])


@pytest.mark.slow
def test_a_network_that_is_stuck_has_a_layer_that_is_dead():
    """In 8-2 and in 10-2 no example opens a unit of the first or of the second layer."""
    for hidden in (TWO, (10, 2)):
        run = trained(TEXT, "linear", hidden, "ReLU", STUCK_EPOCH, 100, (STUCK_EPOCH,), ())
        p = float(run["labels"].mean())
        constant = -p * np.log(p) - (1 - p) * np.log(1 - p)
        stuck = np.flatnonzero(run["loss"].sel(epoch=STUCK_EPOCH).values > 0.99 * constant)
        assert len(stuck) > 10
        network, data = classifier(TEXT, "linear", hidden, "ReLU"), examples(TEXT, "linear")
        shape = ravel_pytree(network.initial(jax.random.key(0)))[1]
        dead = 0
        for number in stuck:
            θ = shape(jnp.asarray(run["final_parameters"].values[number]))
            a, opened = jnp.asarray(data.inputs), []
            for W, b in zip(θ.weights[:-1], θ.biases[:-1], strict=True):
                a = jnp.maximum(a @ W + b[None], 0.0)
                opened.append(bool(jnp.any(a > 0)))
            dead += not all(opened)
        assert dead > 0.9 * len(stuck)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [AUTHORS, TEXT], ids=["authors", "text"])
def test_spectra_of_relus_grow_while_the_loss_is_still_high(setting):
    run = small("curved", ONE, "ReLU", False, setting)
    λ = run["eigenvalues"].dropna("epoch", how="all").isel(epoch=[0, -1])
    width = np.log(λ.std("eigenvalue"))
    grown = (width[:, 1] - width[:, 0]).values
    # 20 runs: more than five standard errors.
    assert grown.mean() > 5 * grown.std(ddof=1) / np.sqrt(len(grown))
    assert float(run["loss"][:, -1].median()) > 0.2


@pytest.mark.slow
def test_the_negative_eigenvalues_of_swish_at_the_end_are_many_and_small():
    """Linear, authors' setting: more than those of the others, and nearly all below 10⁻⁵."""
    ends = {
        unit: small("linear", ONE, unit, False, AUTHORS)["eigenvalues"].values[:, -1]
        for unit in ("Swish", "ReLU", "Sigmoid")
    }
    α = {
        unit: tl.spectra.negative_fraction(λ, [1e-12, 1e-5]).mean(axis=0)
        for unit, λ in ends.items()
    }
    assert α["Swish"][0] > max(α["ReLU"][0], α["Sigmoid"][0]) + 0.05
    assert α["Swish"][1] < 0.01 < min(α["ReLU"][1], α["Sigmoid"][1]) - 0.05
    # Rounding adds to ReLU what is below zero by chance: about half of its zero eigenvalues.
    zeros = tl.spectra.zero_fraction(ends["ReLU"], 1e-12).mean()
    assert 0.2 * zeros < np.mean(ends["ReLU"] < 0) - α["ReLU"][0] < 0.8 * zeros


def test_the_mean_width_of_made_up_spectra_is_that_of_a_straight_line():
    """ln of the ratio grows as 2t − 1: from t = 1/16 to 1 its mean is 1/16, at the end it is 1."""
    parts = np.linspace(0, 1, 5)[1:] ** 2
    random = np.random.default_rng(35)
    noise = random.normal(0.0, 1e-4, size=(2, 6, 4))
    relu = np.ones((2, 6, 4))
    data = xr.Dataset(
        {
            "width": (
                ("setting", "unit", "run", "part"),
                np.stack([np.exp(2 * parts - 1 + noise), relu], axis=1),
            )
        },
        coords={"setting": ["one", "two"], "unit": ["Swish", "ReLU"], "part": parts},
    )
    row = widths._row(data)
    assert row.computed == pytest.approx(1 / 16, abs=1e-3)
    assert row.verdict == "agrees" and row.words.endswith("(one)")
    swapped = data.assign_coords(unit=["ReLU", "Swish"])
    assert widths._row(swapped).verdict == "differs"


@pytest.mark.slow
def test_recorded_widths_are_computed_again():
    """The first three networks of the text's setting, with spectra by another routine."""
    before = recorded.load_recorded("milletari2019", "widths").sel(setting=TEXT.name)
    points, epochs = examples(TEXT, "digits"), TEXT.full["digits", DIGITS]
    for unit in widths.COMPARED:
        run = trained(TEXT, "digits", DIGITS, unit, epochs, 3, (epochs,), ())
        network = classifier(TEXT, "digits", DIGITS, unit)
        loss = Loss(network, jnp.asarray(points.inputs), jnp.asarray(points.labels), TEXT.output)
        shape = ravel_pytree(network.initial(jax.random.key(0)))[1]
        for number in range(3):
            θ = jnp.asarray(run["final_parameters"].values[number])
            gradient = jax.grad(lambda x: loss(shape(x)))  # noqa: B023
            # tr H and tr H² by products with 200 random signs.
            signs = np.random.default_rng(number).choice([-1.0, 1.0], size=(200, len(θ)))
            product = jax.jit(lambda v: jax.jvp(gradient, (θ,), (v,))[1])  # noqa: B023
            Hv = np.array([product(jnp.asarray(v)) for v in signs])
            mean = float(np.mean(np.sum(signs * Hv, axis=1))) / len(θ)
            squares = np.sum(Hv**2, axis=1) / len(θ)
            width = np.sqrt(np.mean(squares) - mean**2)
            error = squares.std(ddof=1) / np.sqrt(200) / (2 * width)
            recorded_width = float(before["width"].sel(unit=unit).isel(run=number, part=-1))
            assert abs(width - recorded_width) < 5 * error < 0.3 * width


def test_stuck_swish_networks_of_two_widths_are_compared_run_by_run():
    """Swish 8-2 less Swish 8-5 from three recorded differences, and from networks made up."""
    random = np.random.default_rng(35)
    hidden = {"8-2": TWO, "8-5": (8, 5)}
    chances = {("ReLU", "8-2"): 0.35, ("Swish", "8-2"): 0.2, ("ReLU", "8-5"): 0.1}
    chances["Swish", "8-5"] = 0.02
    stuck = {key: random.random((2, 800)) < p for key, p in chances.items()}
    variables = {}
    for data, pair in architectures.STAGES:
        (width, unit), (other, other_unit) = pair
        names = {size: name for name, size in hidden.items()}
        if data == "linear" and width in names and other in names:
            more, less = stuck[unit, names[width]], stuck[other_unit, names[other]]
            variables[architectures._name(data, pair)] = more.astype(np.int8) - less
    runs = xr.Dataset(
        {name: (("setting", "run"), values) for name, values in variables.items()},
        coords={"setting": [AUTHORS.name, TEXT.name]},
    )
    row = architectures._consistent(runs, (8, 5))
    difference = stuck["Swish", "8-2"].astype(float) - stuck["Swish", "8-5"]
    assert row.computed == pytest.approx(difference[0].mean())
    assert row.verdict == "differs"  # 0.18 is above a tenth
    assert row.words.startswith(f"{difference[0].mean():.3f}")


@pytest.mark.slow
@pytest.mark.parametrize("setting", [AUTHORS, TEXT], ids=["authors", "text"])
def test_recorded_stuck_networks_are_trained_again(setting):
    """The first hundred of each pair; another processor may round one of them differently."""
    before = recorded.load_recorded("milletari2019", "stuck").sel(setting=setting.name)
    for pair in architectures.PAIRS:
        now = architectures._fewer_stuck(setting, "linear", pair, 100)
        then = before[architectures._name("linear", pair)].values[:100]
        assert np.sum(now != then) <= 2
