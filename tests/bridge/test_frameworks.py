"""Flax, Equinox and Keras on JAX: weights are read unchanged, and activations are measured.

In one file, because the frameworks take seconds to import.
"""

import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import equinox as eqx
import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from flax import linen, nnx

import tutelage as tl
from tutelage.bridge import recognition

RNG = np.random.default_rng(1)
N, K, M = 30, 2, 3
J, B = (RNG.standard_normal((units, N)) / np.sqrt(N) for units in (K, M))
V, W = (RNG.standard_normal((1, units)) for units in (K, M))
TEACHER = {"activation": (None, tl.ReLU())}


class Two(nnx.Module):
    """A user's module whose functions between the layers are only in its code."""

    def __init__(self, w, v, body):
        make = {"use_bias": False, "rngs": nnx.Rngs(0), "param_dtype": w.dtype}
        self.hidden = nnx.Linear(w.shape[1], len(w), **make)
        self.out = nnx.Linear(len(w), 1, **make)
        self.hidden.kernel, self.out.kernel = (nnx.Param(jnp.asarray(x.T)) for x in (w, v))
        self.body = body

    def __call__(self, x):
        return self.body(self, x)


def in_nnx(w, v, g):
    return Two(w, v, lambda net, x: net.out(g(net.hidden(x))))


def in_nnx_sequential(w, v, g):
    net = Two(w, v, None)
    return nnx.Sequential(net.hidden, g, net.out)


def in_linen(w, v, g):
    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            hidden = linen.Dense(len(w), use_bias=False)
            return linen.Dense(1, use_bias=False)(g(hidden(x)))

    variables = {"params": {"Dense_0": {"kernel": w.T}, "Dense_1": {"kernel": v.T}}}
    return Net().bind(jax.tree.map(jnp.asarray, variables))


def in_equinox(w, v, g):
    net = eqx.nn.MLP(w.shape[1], 1, len(w), 1, g, use_bias=False, use_final_bias=False, key=KEY)
    return eqx.tree_at(
        lambda net: [layer.weight for layer in net.layers], net, [jnp.asarray(w), jnp.asarray(v)]
    )


def in_keras(w, v, g):
    layers = [
        keras.Input((w.shape[1],)),
        keras.layers.Dense(len(w), activation=g, use_bias=False),
        keras.layers.Dense(1, use_bias=False),
    ]
    model = keras.Sequential(layers)
    model.set_weights([w.T, v.T])
    return model


KEY = jax.random.key(0)
MAKERS = [in_nnx, in_nnx_sequential, in_linen, in_equinox, in_keras]
# Weights that a framework stores in float32 come back with its rounding.
FLOAT32 = {in_keras}


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_weights_come_back_as_they_went_in(make):
    result = tl.bridge.overlaps(make(J, V, jax.nn.relu), make(B, W, jax.nn.relu))
    expected = tl.Overlaps.from_weights(J, B)
    rounding = 2.0**-22 if make in FLOAT32 else 1e-15
    for name in "QRT":
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), atol=rounding)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_scenario_has_the_error_of_the_models_themselves(make):
    """ε_g of overlaps and readouts against the outputs of both models on random inputs."""
    student, teacher = make(J, V, jax.nn.relu), make(B, W, jax.nn.leaky_relu)
    scenario = tl.bridge.scenario(student, teacher)
    assert (scenario.student.activation.name, scenario.teacher.activation.name) == (
        "ReLU",
        "LeakyReLU(0.01)",
    )
    ξ = np.random.default_rng(3).standard_normal((20_000, N))
    σ, τ = (np.asarray(tl.bridge.describe(net).call(ξ))[:, 0] for net in (student, teacher))
    sampled = 0.5 * (σ - τ) ** 2
    error = tl.generalization_error(scenario, tl.bridge.overlaps(student, teacher))
    assert abs(np.mean(sampled) - error) < 4 * np.std(sampled) / np.sqrt(len(sampled))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: jnp.where(x > 0, x, 0.0), "ReLU"),
        (lambda x: jax.nn.leaky_relu(x, 0.2), "LeakyReLU(0.2)"),
        (lambda x: jax.scipy.special.erf(x / 2**0.5), "Erf"),
        (lambda x: 1 + jax.scipy.special.erf(x / 2**0.5), "Erf(1)"),
        (jnp.tanh, "Tanh"),
        (lambda x: jax.nn.sigmoid(2 * x), "Sigmoid(2)"),
        (lambda x: x * jax.nn.sigmoid(1.5 * x), "Swish(1.5)"),
        (lambda x: jax.nn.gelu(x, approximate=False), "GELU"),
        (jax.nn.softplus, "Softplus"),
        (lambda x: x, "Linear"),
    ],
)
def test_activations_are_recognised_by_what_they_do(function, expected):
    def relu(x):  # a name without a meaning for the bridge
        return function(x)

    scenario = tl.bridge.scenario(in_equinox(J, V, relu), B, **TEACHER)
    assert scenario.student.activation.name == expected


OTHERS = {"gelu": (jax.nn.gelu, ()), "hard_tanh": (jax.nn.hard_tanh, (-1.0, 1.0))}


def test_kinks_are_found_and_splines_go_through_values():
    """Without recognition of an activation, which takes seconds: see the slow test below."""
    known = [
        (np.tanh, ()),
        (lambda x: np.clip(x, -1, 1.5), (-1.0, 1.5)),
        (lambda x: np.where(x > 0, x, np.expm1(x)), ()),
    ]
    x = np.linspace(-5, 5, 101)
    for g, kinks in known:
        assert recognition._kinks(g) == kinks
        spline = jax.vmap(recognition.Spline.through(g, kinks))(jnp.asarray(x))
        np.testing.assert_allclose(spline, g(x), atol=1e-9)  # (1/32)⁶ and a derivative of order 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [in_equinox, in_nnx], ids=["its own function", "measured"])
@pytest.mark.parametrize("name", ["gelu", "hard_tanh"])
def test_another_activation_is_used_unchanged(make, name):
    function, kinks = OTHERS[name]
    g = tl.bridge.scenario(make(J, V, function), B, **TEACHER).student.activation
    x = np.linspace(-5, 5, 101)
    # The spline through measured values has knots 1/32 apart: (1/32)⁶ and a derivative of order 1.
    np.testing.assert_allclose(g(x), function(x), atol=1e-9)
    assert tuple(position for position, _ in g.kinks) == pytest.approx(kinks)


def test_factors_and_scales_in_the_code_are_found():
    def body(net, x):
        return 0.5 * net.out(jnp.tanh(net.hidden(x) / np.sqrt(N)))

    student = Two(np.sqrt(N) * J, V, body)
    result = tl.bridge.overlaps(student, B)
    np.testing.assert_allclose(result.Q, J @ J.T, atol=1e-13)
    scenario = tl.bridge.scenario(student, B, **TEACHER)
    np.testing.assert_allclose(scenario.student.readout, 0.5 * V, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, K**-0.5])
def test_a_committee_that_sums_its_units_in_its_code_is_one(scale):
    class Committee(linen.Module):
        @linen.compact
        def __call__(self, x):
            units = jnp.tanh(linen.Dense(K, use_bias=False)(x))
            return scale * jnp.sum(units, axis=-1, keepdims=True)

    net = Committee().bind({"params": {"Dense_0": {"kernel": jnp.asarray(J.T)}}})
    scenario = tl.bridge.scenario(net, net)
    assert scenario.student.activation.name == "Tanh"
    np.testing.assert_allclose(scenario.student.weights, np.full((1, K), scale), rtol=1e-9)


def test_permuted_and_rescaled_networks_are_the_same_function():
    """w → c w and v → v/c leave ReLU units unchanged, and so ε_g and the outputs."""
    c = np.array([2.0, 0.5, 3.0])
    other = in_nnx((c[:, None] * B)[[2, 0, 1]], (W / c)[:, [2, 0, 1]], jax.nn.relu)
    teacher = in_equinox(B, W, jax.nn.relu)
    ξ = RNG.standard_normal((50, N))
    np.testing.assert_allclose(other(ξ), jax.vmap(teacher)(ξ), atol=1e-13)
    scenario, overlaps = (f(other, teacher) for f in (tl.bridge.scenario, tl.bridge.overlaps))
    assert abs(tl.generalization_error(scenario, overlaps)) < 1e-13


def skipping(net, x):
    return net.out(jax.nn.relu(net.hidden(x))) + x[..., :1]


def normalising(net, x):
    with jax.numpy_dtype_promotion("standard"):  # flax adds its float32 parameters to float64
        hidden = nnx.LayerNorm(K, rngs=nnx.Rngs(0))(jax.nn.relu(net.hidden(x)))
    return net.out(hidden)


@pytest.mark.parametrize("body", [skipping, pytest.param(normalising, marks=pytest.mark.slow)])
def test_models_that_do_something_else_are_refused(body):
    with pytest.raises(tl.InputError, match="not the sum of its units"):
        tl.bridge.overlaps(Two(J, V, body), B)
    tl.bridge.overlaps(Two(J, V, body), B, layer=("hidden", "layer 1"))


def test_more_units_than_inputs_cannot_be_measured():
    w, v = RNG.standard_normal((2 * K, K)), np.ones((1, 2 * K))
    with pytest.raises(tl.InputError, match=r"4 units of 2 inputs.*\[W_1, W_2\]"):
        tl.bridge.overlaps(in_nnx(w, v, jnp.tanh), w)
    assert tl.bridge.scenario(in_equinox(w, v, jnp.tanh), w, activation=tl.Tanh()).K == 4


class DroppingLinen(linen.Module):
    @linen.compact
    def __call__(self, x):
        units = jax.nn.relu(linen.Dense(K, use_bias=False)(x))
        return linen.Dense(1, use_bias=False)(linen.Dropout(0.3, deterministic=True)(units))


def dropping(framework, rate=0.3):
    """Models with a dropout layer in the middle."""
    if framework == "linen":
        return DroppingLinen().bind(in_linen(J, V, jax.nn.relu).variables)
    if framework == "nnx":
        net = Two(J, V, None)
        return nnx.Sequential(
            net.hidden, jax.nn.relu, nnx.Dropout(rate, deterministic=True), net.out
        )
    if framework == "equinox":
        hidden, out = in_equinox(J, V, jax.nn.relu).layers
        relu, drop = eqx.nn.Lambda(jax.nn.relu), eqx.nn.Dropout(rate, inference=True)
        return eqx.nn.Sequential([hidden, relu, drop, out])
    model = in_keras(J, V, "relu")
    layers = [keras.Input((N,)), model.layers[0], keras.layers.Dropout(rate), model.layers[1]]
    return keras.Sequential(layers)


@pytest.mark.parametrize("framework", ["nnx", "linen", "equinox", "keras"])
def test_dropout_is_found_and_stored_in_the_record(framework):
    net = dropping(framework)
    assert "(Dropout, rate 0.3)" in tl.bridge.describe(net).dropout[0]
    assert "dropout" in repr(tl.bridge.describe(net))
    record = tl.bridge.Recorder(B, 0.01, **TEACHER)
    record(net)
    assert "(Dropout, rate 0.3)" in record.dataset().attrs["dropout"]
    if framework != "linen":
        assert tl.bridge.describe(dropping(framework, 0.0)).dropout == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda net, x: net.out(jnp.tanh(net.hidden(x))), "measured: Tanh"),
        (
            lambda net, x: 0.5 * net.out(jnp.tanh(net.hidden(x) / np.sqrt(N))),
            "measured: Tanh of fields w·ξ/√N with outputs times 0.5",
        ),
        (
            lambda net, x: net.out(jnp.sin(net.hidden(x))),
            "measured: a function that is not an activation of",
        ),
        (skipping, "not measured: its outputs are not"),
    ],
    ids=["tanh", "factors", "sin", "skip connection"],
)
def test_functions_in_the_code_of_a_model_are_measured(body, words):
    scale = np.sqrt(N) if "w·ξ" in words else 1.0
    result = tl.bridge.describe(Two(scale * J, V, body))
    assert words in repr(result) and "not known" not in repr(result)


def test_a_model_without_functions_in_its_structure_is_described_as_such():
    result = tl.bridge.describe(in_linen(J, V, jnp.tanh))
    assert "functions  none in the structure; measured: Tanh" in repr(result)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_keras_optimizers_are_read(name):
    momentum = {"momentum": 0.9, "nesterov": True} if name == "SGD" else {}
    optimizer = getattr(keras.optimizers, name)(0.01, weight_decay=0.1, **momentum)
    record = tl.bridge.Recorder(B, optimizer=optimizer, activation=tl.ReLU())
    record([J, V])
    stored = json.loads(record.dataset().attrs["optimizer"])
    assert stored["rates"] == pytest.approx([0.01], rel=1e-6)
    assert (stored["name"], stored["momentum"]) == (name, momentum.get("momentum", 0.0))
    assert stored["weight_decay"] == pytest.approx(0.1) and stored["decoupled"]


def unbound():
    return linen.Dense(3)


def unbuilt():
    return keras.Sequential([keras.layers.Dense(2)])


def normalised():
    layers = [keras.layers.Dense(2), keras.layers.BatchNormalization(name="norm")]
    return keras.Sequential([keras.Input((N,)), *layers, keras.layers.Dense(1)])


def attending():
    return eqx.nn.Sequential([eqx.nn.MultiheadAttention(2, N, key=KEY)])


def convolving():
    return nnx.Sequential(
        nnx.Conv(1, 2, (3,), rngs=nnx.Rngs(0)), nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (unbound, "module.bind"),
        (unbuilt, "it has to be built"),
        (normalised, r"norm \(BatchNormalization\)"),
        (attending, r"layers.0 \(MultiheadAttention\)"),
        (convolving, r"layers.0 \(Conv\)"),
        (lambda: in_keras(J, V, "softmax"), "every unit has to depend on its own field alone"),
    ],
)
def test_other_architectures_are_refused_by_name(make, words):
    with pytest.raises(tl.InputError, match=words):
        tl.bridge.scenario(make(), B, activation=tl.ReLU())


def test_networks_of_ours_are_read():
    net = tl.deep.network([J.T, V.T])
    np.testing.assert_allclose(tl.bridge.overlaps(net, B).R, J @ B.T, atol=1e-15)
    assert tl.bridge.scenario(net, net).student.activation.name == "ReLU"


def erf(x):
    return jax.scipy.special.erf(x / 2**0.5)


def test_keras_tells_every_batch_of_a_fit():
    """Plain gradient descent on ½(σ - τ)², compared with the same steps by hand."""
    student, teacher = in_keras(J, V, erf), in_keras(B, W, erf)
    rate, steps = 0.01, 6
    record = tl.bridge.Recorder(teacher, rate, readout_rate=rate, every=2, loss="mean")
    student.compile(keras.optimizers.SGD(rate), loss="mse")
    ξ = RNG.standard_normal((steps, N)).astype("float32")
    τ = np.asarray(teacher(ξ))
    student.fit(ξ, τ, batch_size=1, shuffle=False, verbose=0, callbacks=[record.keras()])
    w, v = J.copy(), V.copy()
    expected = [w @ B.T]
    for k in range(steps):
        x = w @ ξ[k]
        h = np.asarray(erf(x))
        e = 2 * (τ[k, 0] - v[0] @ h)
        w, v = (
            w + rate * e * np.outer(v[0] * np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2), ξ[k]),
            v + rate * e * h,
        )
        expected += [w @ B.T] if k % 2 else []
    result = record.dataset()
    assert json.loads(result.attrs["optimizer"])["name"] == "SGD"  # that of the model
    np.testing.assert_allclose(result.R[0], expected, atol=1e-6)  # in float32
    assert result.attrs["learning_rate"] == pytest.approx(2 * rate * N)


@pytest.mark.parametrize("make", [in_nnx, in_linen, in_keras], ids=lambda make: make.__name__)
def test_correlations_are_those_of_the_hidden_nodes(make):
    """Against NumPy's coefficients of activations by hand, for networks of the package and for a
    function.
    """
    x = RNG.standard_normal((200, N))
    result = tl.bridge.correlations(make(J, V, jnp.tanh), lambda x: jnp.tanh(x @ B.T), x)
    expected = np.corrcoef(np.tanh(x @ J.T).T, np.tanh(x @ B.T).T)[:K, K:]
    np.testing.assert_allclose(result.correlation, expected, atol=1e-6)
    np.testing.assert_array_equal(result.winner, expected.argmax(axis=0) + 1)
    outputs = tl.bridge.correlations(make(J, V, jnp.tanh), in_nnx(B, W, jnp.tanh), x, layer=2)
    assert outputs.correlation.shape == (1, 1)


@pytest.mark.parametrize(
    "make",
    [in_equinox, in_keras, *(pytest.param(m, marks=pytest.mark.slow) for m in MAKERS[:3])],
    ids=lambda make: make.__name__,
)
def test_a_hessian_is_that_of_the_loss_by_hand(make):
    x, t = RNG.standard_normal((20, N)), RNG.standard_normal((20, 1))

    def loss(y, t):
        return 0.5 * jnp.mean((y - t) ** 2)

    def of_first(w):
        return loss(jnp.tanh(x @ w.reshape(K, N).T) @ V.T, t)

    model = make(J, V, jnp.tanh)
    whole = tl.bridge.hessian(model, loss, (x, t))
    assert sum(p.size for p in whole.parameters.values()) == J.size + V.size
    name = next(name for name, p in whole.parameters.items() if p.size == J.size)
    part = tl.bridge.hessian(model, loss, (x, t), part=name.rpartition(".")[0])
    result = tl.spectra.hessian_eigenvalues(*part)
    expected = np.linalg.eigvalsh(jax.hessian(of_first)(jnp.asarray(J.ravel())))
    np.testing.assert_allclose(result, expected, atol=1e-6 if make in FLOAT32 else 1e-13)


def test_a_missing_part_is_refused():
    with pytest.raises(tl.InputError, match=r"part: got 'x'.*hidden\.kernel"):
        tl.bridge.hessian(in_nnx(J, V, jnp.tanh), jnp.sum, (J, J), part="x")
