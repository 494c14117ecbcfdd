"""PyTorch: run by `make test-all` where its CPU wheel can be installed."""

import numpy as np
import pytest

import tutelage as tl

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make torch")
from torch import nn  # noqa: E402

RNG = np.random.default_rng(1)
N, K, M = 30, 2, 3
J, B = (RNG.standard_normal((units, N)) / np.sqrt(N) for units in (K, M))
V, W = (RNG.standard_normal((1, units)) for units in (K, M))


class Two(nn.Module):
    """A user's module: what stands between its layers is in its code."""

    def __init__(self, w, v, body, dtype=torch.float64):
        super().__init__()
        self.hidden = nn.Linear(w.shape[1], len(w), bias=False, dtype=dtype)
        self.out = nn.Linear(len(w), 1, bias=False, dtype=dtype)
        self.body = body
        with torch.no_grad():
            self.hidden.weight[...], self.out.weight[...] = torch.tensor(w), torch.tensor(v)

    def forward(self, x):
        return self.body(self, x)


def chain(w, v, g, dtype=torch.float64):
    net = Two(w, v, None, dtype)
    return nn.Sequential(net.hidden, g, net.out)


@pytest.mark.parametrize(("dtype", "rounding"), [(torch.float64, 1e-15), (torch.float32, 2.0**-22)])
@pytest.mark.parametrize("what", ["module", "state dict", "tensors"])
def test_weights_come_back_as_they_went_in(dtype, rounding, what):
    net = chain(J, V, nn.ReLU(), dtype)
    student = {
        "module": net,
        "state dict": net.state_dict(),
        "tensors": [net[0].weight, net[2].weight],
    }[what]
    found = tl.bridge.overlaps(student, B)
    np.testing.assert_allclose(found.Q, J @ J.T, atol=rounding)
    np.testing.assert_allclose(found.R, J @ B.T, atol=rounding)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (nn.ReLU(), "ReLU"),
        (nn.LeakyReLU(0.2), "LeakyReLU(0.2)"),
        (nn.GELU(), "GELU"),
        (nn.GELU(approximate="tanh"), "GELU(approximate='tanh')"),
        (nn.Tanh(), "Tanh"),
        (nn.SiLU(), "Swish"),
    ],
)
def test_activations_are_recognised_by_what_they_do(function, expected):
    found = tl.bridge.scenario(chain(J, V, function, torch.float32), chain(B, W, nn.ReLU()))
    assert found.student.activation.name == expected


@pytest.mark.parametrize(
    ("function", "kinks"), [(torch.sin, ()), (nn.Hardtanh(), (-1.0, 1.0)), (nn.ELU(), ())]
)
def test_another_activation_becomes_a_spline_through_its_values(function, kinks):
    student = Two(J, V, lambda net, x: net.out(function(net.hidden(x))))
    g = tl.bridge.scenario(student, B, activation=tl.ReLU()).student.activation
    x = np.linspace(-5, 5, 101)
    expected = function(torch.tensor(x)).numpy()
    np.testing.assert_allclose(g(x), expected, atol=1e-8 if kinks == () else 1e-12)
    assert tuple(position for position, _ in g.kinks) == pytest.approx(kinks)


def test_factors_and_scales_in_the_code_are_found():
    def body(net, x):
        return net.out(torch.erf(net.hidden(x) / np.sqrt(2 * N))) / K

    student = Two(np.sqrt(N) * J, V, body)
    np.testing.assert_allclose(tl.bridge.overlaps(student, B).Q, J @ J.T, atol=1e-13)
    scenario = tl.bridge.scenario(student, B, activation=tl.Erf())
    np.testing.assert_allclose(scenario.student.readout, V / K, atol=1e-9)


def skipping(net, x):
    return net.out(torch.relu(net.hidden(x))) + x[..., :1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Two(J, V, skipping), "not the sum of its units"),
        (lambda: nn.Sequential(nn.Linear(N, 2), nn.BatchNorm1d(2)), r"1 \(BatchNorm1d\)"),
        (lambda: nn.MultiheadAttention(N, 2), "MultiheadAttention"),
        (lambda: nn.Conv2d(1, 2, 3), "Conv2d"),
        (lambda: nn.Sequential(nn.Linear(N, 2), nn.ReLU(), nn.Linear(2, 1)), "biases of up to"),
        (lambda: chain(J, V, nn.Softmax(-1)), "every unit has to depend on its own field alone"),
    ],
)
def test_other_architectures_are_refused_by_name(make, words):
    with pytest.raises(tl.InputError, match=words):
        tl.bridge.scenario(make(), B, activation=tl.ReLU())
