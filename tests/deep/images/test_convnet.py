"""Convolutional networks against plain loops: fields, gradients, correlations, pruning."""

import numpy as np
import pytest
from scipy.signal import correlate2d

from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.deep.images import measures as convnet_measures
from tutelage.deep.images.convnet import ConvNet, convnet, convolve, pixels, product_of_patches
from tutelage.deep.images.measures import channel_correlations, evaluate, measure
from tutelage.deep.images.pruning import channel_strengths, only_channels, prune_channels
from tutelage.deep.images.training import _loss

ROUNDING = 1e-12  # float64, sums of at most some hundred products
# Compiled at once: faster than one operation after the other.
activations = jax.jit(lambda net, x: net.activations(x))
RANDOM = np.random.default_rng(0)


def network(hidden=(4, 5, 3), size=9, seed=0):
    """Random weights and biases in float64."""
    result = convnet(hidden, seed=seed, size=size, outputs=6, dtype=np.float64)
    random = np.random.default_rng(seed + 100)
    return ConvNet(result.weights, tuple(random.normal(size=len(b)) / 3 for b in result.biases))


def images(number=7, size=9):
    return np.random.default_rng(5).normal(size=(number, size, size, 3))


def slow(net, x):
    """Activations of all layers for one image, with SciPy's correlation of planes."""
    f, result = x, []
    for layer, (W, b) in enumerate(zip(net.weights[:-1], net.biases[:-1], strict=True)):
        W, step = np.asarray(W), (1, 2)[layer % 2]
        wide = np.pad(f, ((1, 1), (1, 1), (0, 0)))
        planes = [
            sum(correlate2d(wide[..., a], W[..., a, k], "valid") for a in range(W.shape[2]))
            for k in range(W.shape[3])
        ]
        f = np.maximum(np.stack(planes, -1)[::step, ::step] + b, 0.0)
        result.append(f)
    return [*result, f.ravel() @ np.asarray(net.weights[-1]) + net.biases[-1]]


@pytest.mark.parametrize("size", [8, 9])
def test_activations_are_those_of_plain_correlations(size):
    net, x = network(size=size), images(size=size)
    result = activations(net, x)
    assert net.widths == (3, 4, 5, 3, 6)
    assert result[-2].shape[1] ** 2 == pixels((4, 5, 3), size)
    for i, image in enumerate(x):
        for ours, theirs in zip(result, slow(net, image), strict=True):
            np.testing.assert_allclose(ours[i], theirs, atol=ROUNDING)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("size", [8, 9])
def test_products_of_patches_are_convolutions(step, size):
    f, W = RANDOM.normal(size=(2, size, size, 3)), RANDOM.normal(size=(3, 3, 3, 4))
    layout = ("NHWC", "HWIO", "NHWC")
    theirs = jax.lax.conv_general_dilated(
        f, W, (step, step), ((1, 1), (1, 1)), dimension_numbers=layout
    )
    np.testing.assert_allclose(product_of_patches(f, W, step), theirs, atol=ROUNDING)


def test_gpus_use_a_different_convolution(monkeypatch):
    f, W = RANDOM.normal(size=(2, 6, 6, 3)), RANDOM.normal(size=(3, 3, 3, 4))
    here = convolve(f, W, 2)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    np.testing.assert_allclose(convolve(f, W, 2), here, atol=ROUNDING)


@pytest.mark.parametrize("taught", [True, False])
def test_gradients_are_finite_differences(taught):
    net, x = network(), jnp.asarray(images(3))
    teacher = network((2, 2, 2), seed=7) if taught else None
    labels = jnp.asarray([0, 5, 2])

    @jax.jit
    def both(net):
        return jax.value_and_grad(lambda net: _loss(net, teacher, x, labels))(net)

    slope = both(net)[1]
    h = 1e-5
    for kind in ("weights", "biases"):
        for layer in range(4):
            array = np.asarray(getattr(net, kind)[layer])
            at = tuple(RANDOM.integers(n) for n in array.shape)

            def moved(step, kind=kind, layer=layer, array=array, at=at):
                new = array.copy()
                new[at] += step
                parts = [*getattr(net, kind)]
                parts[layer] = new
                return float(both(net._replace(**{kind: tuple(parts)}))[0])

            expected = (moved(h) - moved(-h)) / (2 * h)
            # A central difference is off by h² times a third derivative; rounding is 1e-16/h.
            assert float(getattr(slope, kind)[layer][at]) == pytest.approx(expected, abs=1e-7)


def test_the_loss_of_labels_is_their_surprise():
    out = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    p = np.exp(out) / np.exp(out).sum(axis=1, keepdims=True)
    surprise = -np.mean([np.log(p[0, 1]), np.log(p[1, 0])])
    result = _loss(lambda x: x, None, jnp.asarray(out), jnp.asarray([1, 0]))
    assert float(result) == pytest.approx(surprise, rel=1e-12)


def test_correlations_are_those_of_numpy(monkeypatch):
    monkeypatch.setattr(convnet_measures, "CHUNK", 3)  # 7 images: 3, 3 and 1
    student, teacher, x = network(seed=1), network((2, 3, 4), seed=2), images()
    for layer, ρ in enumerate(channel_correlations(student, teacher, x)):
        f, g = (np.asarray(activations(net, x)[layer]) for net in (student, teacher))
        f, g = f.reshape(-1, f.shape[-1]), g.reshape(-1, g.shape[-1])
        expected = np.corrcoef(f, g, rowvar=False)[: f.shape[1], f.shape[1] :]
        alive = np.outer(f.std(0) > 0, g.std(0) > 0)
        assert ρ.shape == expected.shape and alive.mean() > 0.5
        np.testing.assert_allclose(ρ[alive], expected[alive], atol=1e-11)
        assert np.all(ρ[~alive] == 0)


def test_a_channel_that_is_never_active_follows_no_teacher_channel():
    net = network()
    biases = (net.biases[0] - np.array([1e6, 0, 0, 0]), *net.biases[1:])
    ρ = channel_correlations(net._replace(biases=biases), net, images())[0]
    assert np.all(ρ[0] == 0) and ρ[1, 1] == pytest.approx(1.0, abs=1e-12)


def test_what_is_recorded_is_what_can_be_counted():
    student, teacher, x = network(seed=1), network((2, 3, 4), seed=2), images()
    labels = np.array([0, 1, 2, 3, 4, 5, 0])
    result = measure(student, teacher, x, labels, None)
    out, target = (np.asarray(activations(net, x)[-1]) for net in (student, teacher))
    assert result["accuracy"] == np.mean(out.argmax(1) == labels)
    assert result["evaluation_loss"] == pytest.approx(np.mean((out - target) ** 2), rel=1e-12)
    for layer, ρ in enumerate(channel_correlations(student, teacher, x), start=1):
        np.testing.assert_array_equal(result[f"teacher_correlation_{layer}"], ρ.max(axis=0))
        np.testing.assert_array_equal(result[f"winner_{layer}"], ρ.argmax(axis=0))


def test_strength_is_the_contribution_of_a_channel_and_invariant_to_its_scale():
    net, x = network(), images()
    result = channel_strengths(net, x)
    f = np.asarray(activations(net, x)[1])
    W = np.asarray(net.weights[2])
    for k in range(5):
        expected = np.sqrt(np.mean(f[..., k] ** 2)) * np.sqrt(np.sum(W[:, :, k] ** 2))
        assert result[1][k] == pytest.approx(expected, rel=1e-12)
    weights = list(net.weights)
    c = np.array([1.0, 3.0, 0.2, 5.0, 1.0])
    weights[1], weights[2] = weights[1] * c[None, None, None], weights[2] / c[None, None, :, None]
    other = ConvNet(tuple(weights), (net.biases[0], net.biases[1] * c, *net.biases[2:]))
    below, same, above = channel_strengths(other, x)
    np.testing.assert_allclose(same, result[1], rtol=1e-12)
    np.testing.assert_allclose(above, result[2], rtol=1e-12)
    assert np.all(below != result[0])  # what is above a channel does have a scale


def test_channels_without_fan_out_are_pruned_and_no_output_changes():
    net, x = network((6, 6, 6)), images()
    silent = (np.array([1, 4]), np.array([0, 5]), np.array([2, 3]))
    weights = [np.array(W) for W in net.weights]
    for layer, nodes in enumerate(silent[:2]):
        weights[layer + 1][:, :, nodes] = 0.0
    weights[3].reshape(-1, 6, 6)[:, silent[2]] = 0.0
    net = ConvNet(tuple(weights), net.biases)
    left = prune_channels(net, x, keep=4 / 6)
    for stored, gone in zip(left.remaining, silent, strict=True):
        assert sorted([*stored, *gone]) == list(range(6))
    assert left.network.widths == (3, 4, 4, 4, 6)
    out = activations(net, x)[-1]
    np.testing.assert_allclose(activations(left.network, x)[-1], out, atol=ROUNDING)
    everything = tuple(np.arange(6) for _ in range(3))
    np.testing.assert_array_equal(activations(only_channels(net, everything), x)[-1], out)
    # Another channel less is no longer the same.
    less = prune_channels(net, x, keep=0.5).network
    assert np.max(np.abs(activations(less, x)[-1] - out)) > 1e-3


def test_the_strongest_channels_remain():
    net, x = network((6, 6, 6)), images()
    for s, stored in zip(
        channel_strengths(net, x), prune_channels(net, x, keep=0.5).remaining, strict=True
    ):
        assert set(stored) == set(np.argsort(s)[-3:])


def test_bad_input_is_refused():
    net, x = network(), images()
    with pytest.raises(InputError, match="student: got 3 layers, but the teacher has 4"):
        channel_correlations(network((2, 2)), net, x)
    with pytest.raises(InputError, match="images: got none"):
        evaluate(net, net, x[:0], None, None)
    with pytest.raises(InputError, match="images: got none"):
        channel_strengths(net, x[:0])
    for keep in (0.0, 1.5, np.nan):
        with pytest.raises(InputError, match="keep"):
            prune_channels(net, x, keep=keep)
    for hidden in ("64-x", [], 8, "0-1"):
        with pytest.raises(InputError, match="hidden"):
            convnet(hidden)
