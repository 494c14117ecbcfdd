"""Runs are the same to the last bit, however they are split into batches, recorded or
interrupted.
"""

import os
import sys

import numpy as np
import pytest
import xarray as xr
from scenarios import ONE, PERCEPTRON_START as START

import tutelage as tl
from tutelage._jax import jnp
from tutelage.runs import checkpoint as checkpoints
from tutelage.simulation import simulate

SCENARIO = tl.Scenario(ONE, ONE, label_noise=0.1)
ARGUMENTS = {"learning_rate": 1.0, "dimension": 37, "until": 3.0, "runs": 5, "seed": 11}


def simulated(**changes):
    return tl.simulation.network(SCENARIO, START, **{**ARGUMENTS, **changes})


@pytest.fixture(scope="module")
def whole():
    return simulated()


def same(a, b):
    xr.testing.assert_identical(a.drop_attrs(), b.drop_attrs())


def limit_batches(monkeypatch, runs):
    """Pretend that there is memory for this number of runs only."""
    module = sys.modules["tutelage.simulation.network"]
    bytes_per_run = 8 * 37 * (3 + 2 + 3 * module.EXAMPLES_PER_BLOCK)
    monkeypatch.setattr(module, "MAX_BATCH_BYTES", runs * bytes_per_run)


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_run_does_not_depend_on_the_size_of_its_batch(whole, monkeypatch, batch):
    limit_batches(monkeypatch, batch)
    same(simulated(), whole)


def test_a_run_does_not_depend_on_how_many_there_are(whole):
    same(simulated(runs=2), whole.isel(run=slice(2)))


def test_a_run_does_not_depend_on_recorded_times(whole):
    some = whole.isel(time=[1, 7, 8, 100])
    assert len(whole.time) == 112  # every example: 401 times round to 112 examples
    same(simulated(times=some.time.values), some)


def test_the_same_seed_gives_the_same_and_another_one_another(whole):
    same(simulated(), whole)
    other = simulated(seed=12).Q.values != whole.Q.values
    assert np.all(np.any(other, axis=(1, 2, 3)))  # some examples leave a ReLU as it is


def interrupt(monkeypatch, calls, problem=KeyboardInterrupt):
    """A problem in the middle of the runs."""
    learn, left = simulate._learn, [calls]

    def interrupted(*args):
        left[0] -= 1
        if left[0] < 0:
            raise problem
        return learn(*args)

    monkeypatch.setattr(simulate, "_learn", interrupted)


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        pytest.param(0, KeyboardInterrupt, marks=pytest.mark.slow),
        (3, MemoryError),
        (150, KeyboardInterrupt),
    ],
)
def test_an_interrupted_simulation_continues_to_the_same_result(
    whole, tmp_path, monkeypatch, calls, problem
):
    file = tmp_path / "run.npz"
    limit_batches(monkeypatch, 2)  # 150 calls are in the second of three batches
    with monkeypatch.context() as patch:
        interrupt(patch, calls, problem)
        with pytest.raises(problem):
            simulated(checkpoint=file)
    assert os.listdir(tmp_path) == ["run.npz"]
    same(simulated(checkpoint=file), whole)
    monkeypatch.setattr(simulate, "_learn", None)  # nothing is left to learn
    same(simulated(checkpoint=str(file)), whole)


def test_an_interrupt_without_a_checkpoint_is_only_an_interrupt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    interrupt(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        simulated()
    assert os.listdir(tmp_path) == []


def test_checkpoints_are_written_now_and_then(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN_SAVES", 0.0)
    saved, write = [], checkpoints._write

    def counted(path, content):
        saved.append(content.get("learned"))
        write(path, content)

    monkeypatch.setattr(checkpoints, "_write", counted)
    same(simulated(checkpoint=tmp_path / "run.npz"), whole)
    assert len(saved) > 100 and saved[-1] is None and sorted(saved[:-1]) == saved[:-1]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 12}, "seed = 11"),
        ({"runs": 6}, "runs = 5"),
        ({"learning_rate": 1.1}, "learning_rate = 1.0"),
        ({"learning_rate": lambda time: 1.0 + time}, "learning_rate = "),
        ({"times": [0.0, 0.1]}, "recorded = "),
        ({"inputs": "sign"}, "inputs = .*Gaussian"),
        ({"corrected_start": True}, "corrected_start = False"),
    ],
)
def test_a_checkpoint_of_another_simulation_is_refused_and_left_alone(tmp_path, changes, named):
    file = tmp_path / "run.npz"
    simulated(checkpoint=file, until=0.1)
    before = file.read_bytes()
    with pytest.raises(tl.InputError, match=f"checkpoint: got .*{named}"):
        simulated(checkpoint=file, until=0.1, **changes)
    assert file.read_bytes() == before


def scaled(a):
    """Another scenario for each a, with activations of the same name."""
    unit = tl.Committee(1, tl.Activation.from_function(lambda x: a * jnp.tanh(x), "g"))
    return tl.Scenario(unit, unit)


@pytest.mark.parametrize(
    "first",
    [SCENARIO, pytest.param(scaled(1.1), marks=pytest.mark.slow)],
    ids=["ReLU", "same name"],
)
def test_a_checkpoint_of_another_scenario_is_refused(tmp_path, first):
    arguments = {**ARGUMENTS, "until": 0.1, "checkpoint": tmp_path / "run.npz"}
    tl.simulation.network(first, START, **arguments)
    with pytest.raises(tl.InputError, match=r"checkpoint: .*(scenario|activations) = "):
        tl.simulation.network(scaled(1.0), START, **arguments)


def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("important")
    with pytest.raises(tl.InputError, match=r"checkpoint: .*not a checkpoint"):
        simulated(checkpoint=file)
    assert file.read_text() == "important"


@pytest.mark.parametrize("checkpoint", [3, "", "no/such/folder/run.npz", "."])
def test_a_checkpoint_that_cannot_be_a_file_is_refused(checkpoint):
    with pytest.raises(tl.InputError, match="checkpoint: got"):
        simulated(checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 1}, "dimension: got 1, but 2 vectors"),
        ({"dimension": 37.0}, "dimension: got 37.0"),
        ({"until": 0.0}, "until: got 0.0"),
        ({"until": np.inf}, "until: got inf"),
        ({"runs": 0}, "runs: got 0"),
        ({"runs": True}, "runs: got True"),
        ({"seed": 1.0}, "seed: got 1.0"),
        ({"seed": True}, "seed: got True"),
        ({"seed": -1}, "seed: got -1"),
        ({"seed": "0"}, "seed: got '0'"),
        ({"learning_rate": 0}, "learning_rate: got 0, but learning in single steps has no"),
        ({"learning_rate": -1.0}, "learning_rate: got -1.0"),
        ({"learning_rate": np.nan}, "learning_rate: got nan"),
        ({"learning_rate": lambda time: -time}, "learning_rate: got -.* at time"),
        ({"learning_rate": lambda time: np.nan}, "learning_rate: got nan at time 0"),
        ({"times": [0.0, 4.0]}, "times: got .*between 0 and until = 3"),
        ({"times": [1.0, 0.5]}, "times have to increase"),
        ({"times": []}, "times: got"),
        ({"times": [np.nan]}, "times: got nan"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(changes, message):
    with pytest.raises(tl.InputError, match=message):
        simulated(**changes)


def test_a_scenario_has_to_be_one():
    with pytest.raises(tl.InputError, match="scenario: got 'relu'"):
        tl.simulation.network("relu", START, **ARGUMENTS)


def test_progress_is_silent_without_a_terminal(capsys):
    simulated(progress=True, until=0.1)
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_progress_is_shown_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    simulated(progress=True, until=0.1)
    assert "examples" in capsys.readouterr().err
