"""PyTorch: run by `make test-all` where its CPU wheel can be installed."""

import json

import numpy as np
import pytest

import tutelage as tl
from tutelage.bridge import optimizers

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make torch")
from torch import nn  # noqa: E402

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(1)
N, K, M = 30, 2, 3
J, B = (RNG.standard_normal((units, N)) / np.sqrt(N) for units in (K, M))
V, W = (RNG.standard_normal((1, units)) for units in (K, M))


class Two(nn.Module):
    """A user's module whose functions between the layers are only in its code."""

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
    result = tl.bridge.overlaps(student, B)
    np.testing.assert_allclose(result.Q, J @ J.T, atol=rounding)
    np.testing.assert_allclose(result.R, J @ B.T, atol=rounding)


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
    result = tl.bridge.scenario(chain(J, V, function, torch.float32), chain(B, W, nn.ReLU()))
    assert result.student.activation.name == expected


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


def train(student, teacher, rate, steps, record):
    optimizer = torch.optim.SGD(student.parameters(), lr=rate)
    record(student)
    for _ in range(steps):
        ξ = torch.randn(1, N, dtype=torch.float64)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(student(ξ), teacher(ξ).detach())
        loss.backward()
        optimizer.step()
        record(student)
    return record.dataset()


def test_a_training_is_recorded():
    torch.manual_seed(0)
    student, teacher = chain(J, V, nn.ReLU()), chain(B, W, nn.ReLU())
    record = tl.bridge.Recorder(teacher, 0.01, readout_rate=0.01, loss="mean", every=5)
    run = train(student, teacher, 0.01, 20, record)
    assert run.attrs["learning_rate"] == pytest.approx(2 * 0.01 * N)
    w = student[0].weight.detach().numpy()
    np.testing.assert_allclose(run.Q[0, -1], w @ w.T, atol=1e-15)
    np.testing.assert_allclose(run.Q[0, 0], J @ J.T, atol=1e-15)
    np.testing.assert_allclose(run.readout[0, -1], student[2].weight.detach(), atol=1e-15)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: torch.optim.SGD(p, 0.01), ("SGD", 0.0, 0.0)),
        (lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, nesterov=True), ("SGD", 0.9, 0.0)),
        (lambda p: torch.optim.SGD(p, 0.01, 0.5, dampening=0.1), ("SGD", 0.5, 0.1)),
        (lambda p: torch.optim.AdamW(p, 0.01), ("AdamW", 0.0, 0.0)),
    ],
)
def test_optimizers_are_read(make, expected):
    student = chain(J, V, nn.ReLU())
    optimizer = make(student.parameters())
    record = tl.bridge.Recorder(chain(B, W, nn.ReLU()), optimizer=optimizer, every=1)
    record(student)
    stored = json.loads(record.dataset().attrs["optimizer"])
    assert (stored["name"], stored["momentum"], stored["dampening"]) == expected
    assert stored["rates"] == [0.01]
    optimizer.param_groups[0]["lr"] = 0.001  # as a scheduler does
    record(student)
    assert record.dataset().attrs["optimizer_rate_factors"] == "[0.1, 1.0]"


@pytest.mark.parametrize("settings", [{}, {"nesterov": True}, {"dampening": 0.5}])
def test_momentum_acts_like_a_larger_learning_rate(settings):
    """The limit of PyTorch's steps for a constant gradient, against (1 - d)/(1 - μ)."""
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w], 0.01, momentum=0.9, **settings)
    for _ in range(400):
        before = w.item()
        w.grad = torch.ones_like(w)
        optimizer.step()
    factor = optimizers.read_optimizer(optimizer).rate_factor
    # 0.9⁴⁰⁰ is below the rounding of w.
    assert (before - w.item()) / 0.01 == pytest.approx(factor, rel=1e-9)


def test_dropout_is_found_and_an_activation_in_the_code_is_measured():
    drops = nn.Sequential(*chain(J, V, nn.ReLU())[:2], nn.Dropout(0.5), nn.Linear(K, 1, bias=False))
    assert tl.bridge.describe(drops).dropout == ("2 (Dropout, rate 0.5)",)
    assert tl.bridge.describe(nn.Sequential(drops[0], nn.Dropout(0.0))).dropout == ()
    code = Two(J, V, lambda net, x: net.out(torch.tanh(net.hidden(x))))
    assert "measured: Tanh" in repr(tl.bridge.describe(code))


@pytest.mark.filterwarnings("ignore")  # those of Lightning
def test_lightning_trains_with_the_callback():
    lightning = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    teacher = chain(B, W, nn.ReLU(), torch.float32)

    class Lit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = chain(J, V, nn.ReLU(), torch.float32)

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, _):
            return nn.functional.mse_loss(self.net(batch[0]), teacher(batch[0]).detach())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    model = Lit()
    record = tl.bridge.Recorder(teacher, 0.01, readout_rate=0.01, loss="mean", every=5)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(20, N)))
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        callbacks=[record.lightning()],
        enable_checkpointing=False,
        **quiet,
    )
    trainer.fit(model, data)
    result = record.dataset()
    np.testing.assert_allclose(result.time, np.arange(0, 21, 5) / N)
    w = model.net[0].weight.detach().numpy().astype(float)
    np.testing.assert_allclose(result.Q[0, -1], w @ w.T, atol=1e-12)


def test_a_hessian_is_that_of_pytorch():
    net = chain(J, V, nn.Tanh())
    x, t = torch.randn(20, N, dtype=torch.float64), torch.randn(20, 1, dtype=torch.float64)

    def of_first(w):
        return 0.5 * torch.mean((torch.tanh(x @ w.reshape(K, N).T) @ net[2].weight.T - t) ** 2)

    H = torch.autograd.functional.hessian(of_first, net[0].weight.detach().reshape(-1))
    objective = tl.bridge.hessian(net, lambda y, t: 0.5 * ((y - t) ** 2).mean(), (x, t), part="0")
    result = tl.spectra.hessian_eigenvalues(*objective)
    np.testing.assert_allclose(result, np.linalg.eigvalsh(H.detach().numpy()), atol=1e-13)


def test_correlations_of_a_deeper_network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(N, 8), nn.ReLU(), nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.randn(100, N)
    result = tl.bridge.correlations(net, lambda x: net[:4](x), x, layer=2)
    np.testing.assert_allclose(np.diag(result.correlation), 1.0, atol=1e-5)  # in float32
