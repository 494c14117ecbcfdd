"""``tutelage simulate``: output for people and programs, and refusals."""

import json
import sys

import numpy as np
import pytest

import tutelage
from tutelage import results
from tutelage.cli import simulate

# One erf unit compiles fastest; the messages do not depend on the activation.
SMALL = ["simulate", "--student", "1", "--teacher", "1", "--activation", "erf"]
SMALL += ["--until", "4", "--dimension", "50", "--runs", "8"]


def first_words(out):
    return [line.split("  ")[0] for line in out.splitlines() if line.split("  ")[0]]


def test_it_prints_how_the_runs_ended(run):
    code, out, err = run(*SMALL)
    assert (code, err) == (0, "")
    assert first_words(out) == ["runs", "final Q", "final R", "final error"]
    assert "8 to α = 4, 0 diverged" in out
    assert "\x1b" not in out


def test_it_prints_whether_the_theory_agrees(run, tmp_path):
    picture = tmp_path / "runs.png"
    code, out, err = run(*SMALL, "--theory", "--plot", str(picture))
    assert (code, err) == (0, "")
    assert first_words(out)[-1] == "theory"
    message = [line.removeprefix("theory").strip() for line in out.splitlines()[-3:]]
    assert message[0].startswith("largest deviation ") and "p = " in message[0]
    assert message[1].startswith("beyond a bias of order 1/N (at most ")
    assert message[2] == "theory and 8 runs agree only with such a bias"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_has_the_runs_the_theory_and_the_verdict(run, tmp_path):
    file = tmp_path / "runs.nc"
    code, out, err = run(*SMALL, "--theory", "--json", "--seed", "3", "--out", str(file))
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert len(printed["R"]) == 8 and len(printed["R"][0]) == len(printed["time"])
    assert printed["theory"]["time"] == printed["time"]
    result = printed["comparison"]
    assert result["agrees"] is (result[result["rests_on"]]["p_value"] > result["level"])
    assert printed["seed"] in (3, "3")
    saved = results.load(file)
    np.testing.assert_array_equal(saved["R"], printed["R"])
    assert results.recompute(saved)["R"].equals(saved["R"])


def test_too_few_runs_are_drawn_and_not_judged(run):
    code, out, err = run(*SMALL, "--runs", "1", "--theory", "--json")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert printed["comparison"] is None and len(printed["theory"]["time"]) > 1


def test_every_option_is_passed_on(run, monkeypatch, tmp_path):
    asked = []

    def remember(*arguments, **keywords):
        asked.append((arguments, keywords))
        sys.exit()

    monkeypatch.setattr(simulate, "_simulate", remember)
    options = ["--teacher-activation", "leaky:0.1", "--teacher-norms", "2", "--label-noise", "0.2"]
    options += ["--output-scale", "0.5,2", "--weight-decay", "0.1", "--learning-rate", "0.3"]
    options += ["--drift", "0.05", "--batch", "2", "--readout=-2;3", "--teacher-readout", "1;0.5"]
    options += ["--readout-rate", "0.4", "--readout-decay", "0.3"]
    options += ["--start-q", "0.7", "--start-r", "0.05", "--seed", "7", "--simulator", "network"]
    options += ["--inputs", "uniform", "--checkpoint", str(tmp_path / "runs.npz")]
    run(*SMALL, *options)
    (simulator, scenario, start, rate), keywords = asked[0]
    assert simulator == "network"
    assert scenario.student == tutelage.Committee(1, tutelage.Erf(), [[-2], [3]])
    assert scenario.teacher == tutelage.Committee(1, tutelage.LeakyReLU(0.1), [[1], [0.5]])
    assert scenario.output_scale == (0.5, 2.0)
    assert (scenario.label_noise, scenario.weight_decay, scenario.drift) == (0.2, 0.1, 0.05)
    assert scenario.readout_decay == 0.3
    assert start.covariance.tolist() == [[0.7, 0.05], [0.05, 2.0]]
    assert rate == 0.3
    assert keywords == {
        "dimension": 50,
        "until": 4.0,
        "runs": 8,
        "seed": 7,
        "batch": 2,
        "readout_rate": 0.4,
        "checkpoint": tmp_path / "runs.npz",
        "progress": True,
        "inputs": "uniform",
    }


@pytest.mark.slow
def test_it_prints_a_second_layer_that_has_learned(run):
    options = ["--readout=-1", "--teacher-readout", "2", "--readout-rate", "0.5"]
    code, out, err = run(*SMALL, *options, "--theory")
    assert (code, err) == (0, "")
    assert first_words(out)[:5] == ["runs", "final Q", "final R", "final v", "final error"]
    assert first_words(out)[5] == "theory" and "not compared" not in out


def test_inputs_are_read_from_a_file(run, monkeypatch, tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 50))
    np.save(tmp_path / "rows.npy", rows)
    asked = []
    monkeypatch.setattr(
        simulate, "_simulate", lambda *_, **keywords: sys.exit(asked.append(keywords["inputs"]))
    )
    run(*SMALL, "--simulator", "network", "--inputs", str(tmp_path / "rows.npy"))
    np.testing.assert_array_equal(asked[0], rows)


@pytest.mark.slow
def test_the_network_is_simulated_too(run):
    code, out, err = run(*SMALL, "--simulator", "network", "--inputs", "sign", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["computed_by"] == "simulation.network"


def test_a_checkpoint_is_used_and_continued_from(run, tmp_path):
    file = tmp_path / "runs.npz"
    first = run(*SMALL, "--checkpoint", str(file), "--json")
    second = run(*SMALL, "--checkpoint", str(file), "--json")
    assert file.exists() and first == second
    code, out, err = run(*SMALL, "--checkpoint", str(file), "--seed", "1")
    assert (code, out) == (2, "") and "checkpoint: got" in err


NETWORK = ["--simulator", "network"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dimension", "3"], "--dimension: got 3, but 4 units need at least 4 inputs"),
        (["--dimension", "0"], "--dimension: got 0"),
        (["--runs", "0"], "--runs: got 0"),
        (["--seed=-1"], "--seed: got -1"),
        (["--learning-rate", "0"], "--learning-rate: got 0.0, but it has to be greater than 0"),
        (["--learning-rate", "nan"], "--learning-rate: got nan"),
        (["--until", "0"], "--until: got 0.0"),
        (["--until", "inf"], "--until: got inf"),
        (["--readout", "1,2,3"], "--readout: got '1,2,3', but it has to be 1 or 2 numbers"),
        (["--readout", "1,x"], "--readout: got '1,x'"),
        (["--readout", "1,nan"], "--readout: got nan"),
        (
            ["--readout", "0;0,0"],
            "--readout: got '0;0,0', but at least one weight has to differ from 0",
        ),
        (["--readout", "1;2"], "--teacher-readout: got 1 output(s), but --readout has 2"),
        (["--teacher-readout", "1;"], "--teacher-readout: got ''"),
        (["--readout-rate=-1"], "--readout-rate: got -1.0"),
        (["--readout-rate", "nan"], "--readout-rate: got nan"),
        (["--readout-decay", "-1"], "--readout-decay: got -1"),
        (["--inputs", "sign"], "--inputs: got 'sign', but the chain is for Gaussian inputs"),
        ([*NETWORK, "--inputs", "dice"], "--inputs: got 'dice'"),
        ([*NETWORK, "--inputs", "rows.npy"], "--inputs: got 'rows.npy'"),
        (["--student", "0"], "--student: got 0"),
        (["--activation", "step"], "--activation: got 'step'"),
        (["--start-q", "0.1;0.2"], "--start-q: got '0.1;0.2'"),
        (["--out", "runs.txt"], "--out: got 'runs.txt'"),
        (["--plot", "nowhere/runs.png"], "--plot: got 'nowhere/runs.png'"),
        (["--checkpoint", "runs.nc"], "--checkpoint: got 'runs.nc'"),
        (["--checkpoint", "nowhere/runs.npz"], "--checkpoint: got 'nowhere/runs.npz'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_used_is_refused_before_any_work(run, monkeypatch, arguments, message):
    monkeypatch.setattr(simulate, "_simulate", lambda *_, **__: pytest.fail("simulated"))
    code, out, err = run("simulate", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tutelage: ") and message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [["--seed", "x"], ["--simulator", "dice"]])
def test_what_is_no_number_or_no_simulator_is_refused(run, arguments):
    code, out, err = run("simulate", *arguments)
    assert (code, out) == (2, "") and arguments[0] in err


def test_rows_of_another_width_are_refused(run, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((3, 7)))
    code, _, err = run(*SMALL, *NETWORK, "--inputs", str(tmp_path / "rows.npy"))
    assert code == 2 and "--inputs: got an array of shape (3, 7)" in err
