"""Records of a training: their content, their size, and what remains after a kill."""

import json
import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from training_by_hand import N, recorder, trained, weights

import tutelage as tl
from tutelage.bridge import recorder as module

RATE = 0.5 / N


class Seen:
    """Copies of the weights at every step, for comparison with a record."""

    def __init__(self):
        self.J = []

    def __call__(self, J):
        self.J.append(J.copy())


def test_a_record_is_the_overlaps_at_its_steps():
    (J, B), seen = weights(), Seen()
    record = recorder(B, RATE, every=20)
    trained(lambda J: (seen(J), record(J)), J, B, RATE, 100)
    result = record.dataset()
    np.testing.assert_array_equal(result.time, np.arange(0, 101, 20) / N)
    for k, step in enumerate(range(0, 101, 20)):
        np.testing.assert_allclose(result.Q[0, k], seen.J[step] @ seen.J[step].T, atol=1e-15)
        np.testing.assert_allclose(result.R[0, k], seen.J[step] @ B.T, atol=1e-15)
    assert result.attrs["learning_rate"] == pytest.approx(0.5)
    state = tl.Overlaps.from_weights(seen.J[100], B)
    error = tl.generalization_error(record.scenario, state)
    assert float(result.generalization_error[0, -1]) == pytest.approx(float(error), abs=1e-14)


def test_a_record_is_the_dataset_of_a_simulation():
    J, B = weights()
    result = trained(recorder(B, RATE), J, B, RATE, 100).dataset()
    simulated = tl.simulation.network(
        tl.Scenario(*[tl.Committee(1, tl.Erf())] * 2), (J, B), 0.5, dimension=N, until=0.5
    )
    for name in simulated.data_vars:
        assert result[name].dims == simulated[name].dims
    pair = xr.concat([result, result], "run")
    assert tl.simulation.aligned(pair).sizes["run"] == 2
    assert "escape_time" in tl.simulation.escape_times(pair, height=0.1)
    with pytest.raises(tl.InputError, match="only the user can repeat"):
        tl.results.recompute(result)


@pytest.mark.parametrize("loss", ["half", "mean"])
@pytest.mark.parametrize("scaled", [False, True])
def test_rates_are_those_of_the_theory(loss, scaled):
    """One step of automatic differentiation against J_i ← J_i + (η/N) δ_i ξ, and v likewise."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((2, N)), rng.standard_normal((2, 2))
    w = w if scaled else w / np.sqrt(N)
    ξ, τ = rng.standard_normal(N), rng.standard_normal(2)

    def error(parameters):
        w, v = parameters
        σ = v @ jnp.tanh(w @ ξ / (np.sqrt(N) if scaled else 1.0))
        return 0.5 * jnp.sum((σ - τ) ** 2) if loss == "half" else jnp.mean((σ - τ) ** 2)

    dw, dv = jax.grad(error)((w, v))
    teacher = [rng.standard_normal((2, N)) * (1 if scaled else 1 / np.sqrt(N)), v]
    record = tl.bridge.Recorder(
        teacher, 0.1, readout_rate=0.2, loss=loss, scaled=scaled, activation=tl.Tanh()
    )
    record([w, v])
    η, η_v = record.rates
    J = w / np.sqrt(N) if scaled else w
    x = J @ ξ
    e = τ - v @ np.tanh(x)
    step = -0.1 * dw / (np.sqrt(N) if scaled else 1.0)  # of J
    np.testing.assert_allclose(step, η / N * np.outer((e @ v) / np.cosh(x) ** 2, ξ), atol=1e-15)
    np.testing.assert_allclose(-0.2 * dv, η_v / N * np.outer(e, np.tanh(x)), atol=1e-15)


def test_every_record_is_logged_with_its_numbers():
    (J, B), logged = weights(), []
    record = recorder(B, RATE, every=20, log=lambda numbers, step: logged.append((step, numbers)))
    result = trained(record, J, B, RATE, 60).dataset()
    assert [step for step, _ in logged] == [0, 20, 40, 60]
    for k, (step, numbers) in enumerate(logged):
        assert numbers["alpha"] == step / N and all(type(x) is float for x in numbers.values())
        assert numbers["Q_11"] == float(result.Q[0, k, 0, 0])
        assert numbers["R_11"] == float(result.R[0, k, 0, 0])
    with pytest.raises(tl.InputError, match="log: got 3"):
        recorder(B, RATE, log=3)


def test_the_number_of_records_is_bounded():
    J, B = weights()
    record = recorder(B, RATE, every=1, most=10)
    for step in range(1000):
        record(J, step=step)
        if step % 100 == 99:
            assert 5 <= len(record.dataset().time) <= 10
    steps = np.rint(record.dataset().time.values * N).astype(int)
    np.testing.assert_array_equal(steps, np.arange(0, 1000, record.stride))
    assert 5 <= len(steps) <= 10


def test_a_trained_second_layer_is_recorded_and_a_fixed_one_is_in_the_scenario():
    J, B = weights()
    for speed, there in ((0.0, False), (0.1, True)):
        record = recorder([B, [1.0]], RATE, every=1)
        for step in range(3):
            record([J, [2.0 + speed * step]])
        assert ("readout" in record.dataset()) is there
        assert record.scenario.student.readout.tolist() == [[2.0]]


@pytest.mark.parametrize("last", [np.nan, 1e9])
def test_a_training_that_diverges_is_an_outcome(last):
    J, B = weights()
    record = recorder(B, RATE, every=1)
    for factor in (1.0, 2.0, last, 1.0):
        record(factor * J)
    result = record.dataset()
    assert result.outcome.item() == "diverged" and result.ended_at.item() == 1 / N
    assert np.all(np.isfinite(result.Q))


@pytest.mark.parametrize("last", [np.nan, np.inf])
def test_a_bias_or_a_readout_that_diverges_ends_the_record(last):
    J, B = weights()
    for student in ({"weight": J, "bias": [last]}, [J, [last]]):
        first = {**student, "bias": [0.0]} if isinstance(student, dict) else [J, [1.0]]
        record = recorder(B if isinstance(student, dict) else [B, [1.0]], RATE, every=1)
        for network in (first, first, student, first):
            record(network)
        result = record.dataset()
        assert result.outcome.item() == "diverged" and result.ended_at.item() == 1 / N


def test_a_first_student_that_is_not_finite_is_refused():
    J, B = weights()
    with pytest.raises(tl.InputError, match=r"student\.layer 1.*finite"):
        recorder(B, RATE)(np.inf * J)


def test_biases_that_grow_are_noted():
    J, B = weights()
    record = recorder(B, RATE, every=1)
    for step in range(3):
        record({"weight": J, "bias": [0.1 * step]})
    np.testing.assert_allclose(record.dataset().largest_bias[0], [0.0, 0.1, 0.2])


def test_another_network_is_refused():
    J, B = weights()
    record = recorder(B, RATE, every=1)
    with pytest.raises(tl.InputError, match=r"record\(student\) has to be called first"):
        record.dataset()
    with pytest.raises(tl.InputError, match="the teacher's have 100"):
        record(J[:, :50])
    record(J)
    with pytest.raises(tl.InputError, match=r"the first had \(1, 100\)"):
        record(np.concatenate([J, J]))


def test_a_training_goes_on_with_its_file(tmp_path, monkeypatch):
    """The record equals that of an uninterrupted training, after an interruption at step 60 and a
    restart at step 40.
    """
    monkeypatch.setattr(module, "SECONDS", -1.0)
    monkeypatch.setattr(module, "SHARE", np.inf)
    J, B = weights()
    path = tmp_path / "run.nc"
    for begin, end in ((0, 60), (40, 101)):
        record = recorder(B, RATE, every=10, path=path)
        for step in range(begin, end):
            record((1 + 0.01 * step) * J, step=step)
    whole = recorder(B, RATE, every=10)
    for step in range(101):
        whole((1 + 0.01 * step) * J)
    xr.testing.assert_identical(tl.results.load(path), whole.dataset())
    monkeypatch.setattr(module, "SECONDS", 3600.0)
    record = recorder(B, RATE, every=10, path=tmp_path / "short.nc")
    for step in range(101):
        record((1 + 0.01 * step) * J)
    assert len(tl.results.load(tmp_path / "short.nc").time) == 1
    xr.testing.assert_identical(record.dataset(), tl.results.load(tmp_path / "short.nc"))
    with pytest.raises(tl.InputError, match="another file name"):
        recorder(B, 2 * RATE, every=10, path=path)(J)


def resumed(tmp_path, step, factor):
    """A record of steps 0 to 60, resumed at a step with weights ``factor`` times the first."""
    J, B = weights()
    path = tmp_path / "run.nc"
    record = recorder(B, RATE, every=10, path=path)
    for done in range(61):
        record((1 + 0.01 * done) * J, step=done)
    record.dataset()
    second = recorder(B, RATE, every=10, path=path)
    second(factor * J, step=step)
    return second.dataset()


def test_a_training_resumed_later_than_its_record_warns(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"ends at step 60, .* resumed at step 100.*save\(\)"):
        result = resumed(tmp_path, 100, 2.0)
    assert result.attrs["resumed"] == "[[60, 100]]"
    np.testing.assert_allclose(result.time * N, [*range(0, 61, 10), 100])
    assert tl.results.load(tmp_path / "run.nc").attrs["resumed"] == "[[60, 100]]"


def test_a_training_that_is_resumed_in_time_has_no_gap(tmp_path):
    assert resumed(tmp_path, 65, 1.65).attrs["resumed"] == "[[60, 65]]"  # not known to be the same
    (tmp_path / "run.nc").unlink()
    assert "resumed" not in resumed(tmp_path, 40, 1.4).attrs


@pytest.mark.parametrize("step", [None, 40])
def test_weights_that_are_not_those_of_the_record_are_refused(tmp_path, step):
    """Newer weights without their step, or with another step; the file stays unchanged."""
    with pytest.raises(tl.InputError, match=r"differ from those of the record.*step=\.\.\."):
        resumed(tmp_path, step, 1.6)
    assert len(tl.results.load(tmp_path / "run.nc").time) == 7


def test_settings_of_an_optimizer_are_stored():
    J, B = weights()
    settings = {"name": "sgd", "learning_rate": 0.02, "momentum": 0.5, "weight_decay": 0.1}
    record = recorder(B, None, optimizer=settings)
    record(J)
    assert record.rates[0] == pytest.approx(0.02 * N)
    stored = json.loads(record.dataset().attrs["optimizer"])
    assert stored["rates"] == [0.02]
    assert (stored["name"], stored["momentum"], stored["weight_decay"]) == ("sgd", 0.5, 0.1)
    recorder(B, 0.04, optimizer=settings)  # learning_rate/(1 - μ)


@pytest.mark.parametrize(
    ("rate", "optimizer", "words"),
    [
        (0.1, {"name": "sgd", "learning_rate": 0.02}, r"the optimizer has 0.02"),
        (None, None, "one learning rate is needed"),
        (None, {"name": "sgd"}, "0 rates of the optimizer"),
        (0.1, {"name": "sgd", "momentun": 0.9}, "'momentum'"),
        (0.1, {"momentum": 0.9}, "needs the name"),
        (0.1, {"name": "sgd", "momentum": 1.0}, "below 1"),
        (0.1, {"name": "sgd", "weight_decay": np.nan}, "finite"),
        (0.1, "sgd", "PyTorch or Keras optimizer"),
    ],
)
def test_optimizers_that_tell_nothing_are_refused(rate, optimizer, words):
    with pytest.raises(tl.InputError, match=words):
        recorder(weights()[1], rate, optimizer=optimizer)


def test_optax_does_not_tell_its_settings():
    import optax

    with pytest.raises(tl.InputError, match=r'Optax .* by hand.*"momentum"'):
        recorder(weights()[1], 0.1, optimizer=optax.sgd(0.1, momentum=0.9))


LOOP = """
    import numpy as np
    from training_by_hand import recorder, trained, weights
    from tutelage.bridge import recorder as module
    module.SECONDS, module.SHARE = 0.0, np.inf
    J, B = weights()
    class Loud:
        def __init__(self, record):
            self.record, self.count = record, 0
        def __call__(self, J):
            self.record(J)
            self.count += 1
            if self.count == 300:
                print("trained", flush=True)
    trained(Loud(recorder(B, 0.005, every=10, path={path!r})), J, B, 0.005, 10**7)
"""


@pytest.mark.slow
def test_a_kill_leaves_a_whole_file(tmp_path):
    path = tmp_path / "run.nc"
    code = textwrap.dedent(LOOP).format(path=str(path))
    loop = [sys.executable, "-c", code]
    with subprocess.Popen(loop, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]) as process:
        assert process.stdout.readline() == b"trained\n"
        process.send_signal(signal.SIGKILL)
    left = tl.results.load(path)
    J, B = weights()
    steps = round(float(left.time[-1]) * N)
    second = trained(recorder(B, 0.005, every=10), J, B, 0.005, steps).dataset()
    assert steps >= 200
    xr.testing.assert_allclose(left.drop_attrs(), second.drop_attrs())


def test_the_lightning_callback_records_the_start_and_every_step(monkeypatch):
    """By a stand-in: the two methods of a callback that a Trainer calls."""
    with pytest.raises(tl.InputError, match=r"import lightning\.pytorch"):
        recorder(weights()[1], RATE).lightning()
    stand_in = types.SimpleNamespace(Callback=object)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", stand_in)
    J, B = weights()
    record = recorder(B, RATE, every=2)
    callback, trainer = record.lightning(), types.SimpleNamespace(global_step=0)
    callback.on_train_start(trainer, J)
    for _ in range(4):
        trainer.global_step += 1
        callback.on_train_batch_end(trainer, J, None, None, 0)
    np.testing.assert_allclose(record.dataset().time, [0.0, 2 / N, 4 / N])


def test_optax_tells_every_step_inside_a_compiled_loop():
    import jax
    import jax.numpy as jnp
    import optax

    J, B = (jnp.asarray(W) for W in weights())
    record = recorder(B, RATE, every=5)
    optimizer = optax.chain(optax.sgd(RATE), record.optax())

    def step(carry, _):
        J, state = carry
        updates, state = optimizer.update(jnp.ones_like(J), state, J)
        return (optax.apply_updates(J, updates), state), None

    jax.block_until_ready(
        jax.jit(lambda c: jax.lax.scan(step, c, length=20))((J, optimizer.init(J)))
    )
    jax.effects_barrier()
    result = record.dataset()
    expected = [np.sum((J - RATE * k) ** 2) for k in (0, 5, 10, 15)]
    np.testing.assert_allclose(result.Q[0, :, 0, 0], expected, rtol=1e-13)
