"""Weights alone: matrices, lists, mappings, and which of them are refused under which name."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tutelage as tl

RNG = np.random.default_rng(1)
N, K, M = 30, 2, 3
J, B = (RNG.standard_normal((units, N)) / np.sqrt(N) for units in (K, M))
V, W = (RNG.standard_normal((1, units)) for units in (K, M))
# A state dict of PyTorch, as plain lists: torch.manual_seed(0), Linear(6, 3), ReLU, Linear(3, 1).
RECORDED = Path(__file__).parent / "state_dict.json"


def same(found, expected):
    for name in "QRT":
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-15)


@pytest.mark.parametrize(
    "student",
    [J, [J, V], [J, V[0]], J.tolist(), {"fc1.weight": J, "fc2.weight": V, "fc2.bias": [0.0]}],
    ids=["matrix", "list", "row", "plain lists", "state dict"],
)
def test_weights_in_any_form_have_the_overlaps_of_their_rows(student):
    same(tl.bridge.overlaps(student, B), tl.Overlaps.from_weights(J, B))


def test_kernels_are_transposed_and_layers_put_in_order():
    tree = {"params": {"Dense_0": {"kernel": V.T}, "Dense_1": {"kernel": J.T, "bias": [0.5, 0]}}}
    result = tl.bridge.describe(tree)
    assert [layer.name for layer in result.layers] == ["Dense_1", "Dense_0"]
    assert "Dense_1: 30 to 2, stored as (30, 2), biases up to 0.5" in str(result)
    same(tl.bridge.overlaps(tree, B), tl.Overlaps.from_weights(J, B))


def test_scaled_fields_are_divided_by_the_root_of_their_number():
    result = tl.bridge.overlaps(np.sqrt(N) * J, np.sqrt(N) * B, scaled=True)
    same(result, tl.Overlaps.from_weights(J, B))


def test_weights_of_variance_one_are_refused_without_the_argument_scaled():
    w = RNG.standard_normal((2, 200))
    with pytest.raises(tl.InputError, match="scaled=True"):
        tl.bridge.overlaps(w, w)
    assert float(tl.bridge.overlaps(w, w, scaled=True).T[0, 0]) < 2
    assert float(tl.bridge.overlaps(w, w, scaled=False).T[0, 0]) > 100


def test_the_covariance_of_inputs_enters():
    """Literally, w·C w', with C from NumPy."""
    mix = RNG.standard_normal((N, N)) / np.sqrt(N)
    ξ = RNG.standard_normal((500, N)) @ mix + 0.3
    C = np.cov(ξ.T, ddof=0)
    result = tl.bridge.overlaps(J, B, ξ)
    np.testing.assert_allclose(result.Q, J @ C @ J.T, atol=1e-13)
    np.testing.assert_allclose(result.R, J @ C @ B.T, atol=1e-13)
    np.testing.assert_allclose(result.T, B @ C @ B.T, atol=1e-13)


def test_a_layer_of_a_deeper_network_is_named():
    deep = {"a.weight": J, "b.weight": np.ones((4, K)), "c.weight": np.ones((1, 4))}
    same(tl.bridge.overlaps(deep, B, layer=("a", "layer 1")), tl.Overlaps.from_weights(J, B))
    with pytest.raises(tl.InputError, match=r"3 layers of weights \('a', 'b', 'c'\)"):
        tl.bridge.overlaps(deep, B)
    with pytest.raises(tl.InputError, match=r"layer: got 'd'.*'a', 'b', 'c'"):
        tl.bridge.overlaps(deep, deep, layer="d")
    with pytest.raises(tl.InputError, match="layer: got 'b', but this layer does not receive"):
        tl.bridge.overlaps(deep, deep, np.ones((3, K)), layer="b")


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (J.astype(complex), "weights have to be real numbers"),
        (np.full((2, N), np.nan), "every entry has to be a finite number"),
        (np.zeros((2, 3, N)), "its weights have to be a matrix"),
        ([J, B], "as many inputs as the layer before has outputs"),
        ({"fc.weight": J, "fc.bias": [1.0]}, "its weights have 2 outputs"),
        ({"conv.weight": np.zeros((2, 1, 3, 3))}, "conv .a convolution."),
        ({"fc.weight": J, "bn.weight": V[0], "bn.running_mean": V[0]}, "bn .normalisation."),
        ({"fc.weight": J, "attention.in_proj_weight": B}, "attention .attention."),
        (J.T, "the student's have 2"),
        (3.0, "it has to be a network, or its weights"),
    ],
)
def test_what_is_no_such_network_is_refused_by_name(network, words):
    with pytest.raises(tl.InputError, match=words):
        tl.bridge.overlaps(network, B)


def test_a_scenario_of_weights_needs_their_activation():
    with pytest.raises(tl.InputError, match=r"student: got weights without an activation"):
        tl.bridge.scenario([J, V], [B, W])
    result = tl.bridge.scenario([J, V], [B, W], activation=(tl.ReLU(), tl.Erf()))
    assert (result.student.activation.name, result.teacher.activation.name) == ("ReLU", "Erf")
    np.testing.assert_array_equal(result.student.readout, V)
    np.testing.assert_allclose(result.T, B @ B.T, atol=1e-15)


@pytest.mark.parametrize(
    ("v", "plain"), [([[1.0, 1.0]], True), ([[1.0, 2.0]], False), ([[1.0, 1.0], [1.0, 1.0]], False)]
)
def test_only_a_readout_of_ones_is_none(v, plain):
    result = tl.bridge.scenario([J, v], [B, np.ones((len(v), len(B)))], activation=tl.ReLU())
    assert (result.student.readout is None) == plain
    if not plain:
        np.testing.assert_array_equal(result.student.readout, v)


def test_biases_are_refused_by_the_scenario():
    biased = {"fc1.weight": J, "fc1.bias": [0.0, 0.1], "fc2.weight": V}
    with pytest.raises(tl.InputError, match=r"student: got biases of up to 0\.1"):
        tl.bridge.scenario(biased, [B, W], activation=tl.ReLU())


@pytest.mark.parametrize("kind", ["gaussian", "signs"])
def test_inputs_without_structure_are_those_of_the_theory(kind):
    """No false alarm at five standard errors, of components that vary and of signs."""
    ξ = np.random.default_rng(2).standard_normal((400, N))
    ξ = np.sign(ξ) if kind == "signs" else ξ
    result = tl.bridge.scenario([J, V], [B, W], ξ, activation=tl.Erf())
    np.testing.assert_array_equal(result.T, tl.bridge.overlaps(J, B, ξ).T)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ξ: ξ + 0.2, "a mean that is not 0"),
        (lambda ξ: ξ * np.linspace(0.7, 1.3, N), "a covariance that is not the identity"),
        (lambda ξ: ξ + 0.2 * np.roll(ξ, 1, axis=1), "a covariance that is not the identity"),
    ],
)
def test_inputs_with_structure_are_refused_by_the_scenario(change, words):
    ξ = change(np.random.default_rng(2).standard_normal((2000, N)))
    with pytest.raises(tl.InputError, match=words):
        tl.bridge.scenario([J, V], [B, W], ξ, activation=tl.Erf())


def test_a_recorded_state_dict_is_read():
    state = json.loads(RECORDED.read_text(encoding="utf-8"))
    result = tl.bridge.describe({name: np.array(x) for name, x in state.items()})
    assert [layer.weights.shape for layer in result.layers] == [(3, 6), (1, 3)]
    assert result.layers[0].bias.shape == (3,)
    first = np.array(state["0.weight"])
    same(tl.bridge.overlaps(result, first), tl.Overlaps.from_weights(first, first))


def test_no_framework_is_imported_for_arrays():
    code = (
        "import sys, numpy as np, tutelage as tl\n"
        "w = np.eye(2, 5)\n"
        "tl.bridge.overlaps(w, w), tl.bridge.scenario(w, w, activation=tl.ReLU())\n"
        "loaded = {'torch', 'flax', 'keras', 'lightning'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
