"""``tutelage spectrum``: output for people and programs, and refusals."""

import json
import sys

import numpy as np
import pytest

import tutelage as tl
from tutelage import results
from tutelage.cli import spectrum

SMALL = ["spectrum", "--hidden", "3", "--epochs", "20", "--runs", "2"]


def test_it_prints_a_table_and_writes_every_file(run, tmp_path):
    files = [tmp_path / name for name in ("run.nc", "run.png", "run.gif")]
    options = ("--out", files[0], "--plot", files[1], "--animation", files[2])
    code, out, err = run(*SMALL, *map(str, options))
    assert (code, err) == (0, "")
    title, heading, *rows = out.splitlines()
    assert title.startswith("linear, 2-3-1, Swish, 13 parameters, medians of 2 runs")
    assert heading.split()[:2] == ["epoch", "loss"]
    assert [row.split()[0] for row in rows] == ["0", "10", "20"]
    assert all(file.stat().st_size > 1000 for file in files)
    read = results.load(files[0])
    assert read.sizes["run"] == 2 and "\x1b" not in out
    assert float(rows[-1].split()[1]) == pytest.approx(float(read.loss[:, -1].median()), rel=1e-5)


def test_json_holds_the_curves_and_how_to_compute_them(run):
    code, out, err = run(*SMALL, "--json")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert printed["computed_by"] == "spectra.train"
    assert printed["classifier"]["activation"] == {"type": "activations.Swish", "beta": 1.0}
    assert printed["epoch"][-1] == 20 and len(printed["loss"][0]) == len(printed["epoch"])
    assert printed["eigenvalues"][0][1][0] is None  # no spectrum at that epoch
    assert printed["tolerance"] == 1e-12 and "inputs" not in printed


def test_every_option_is_passed_on(run, monkeypatch, tmp_path):
    np.savez(tmp_path / "a.npz", points=np.arange(12.0).reshape(6, 2), group=[0, 1, 2, 0, 1, 2])
    asked = []
    monkeypatch.setattr(spectrum, "_train", lambda *a: sys.exit(asked.append(a)))
    options = ["--data", str(tmp_path / "a.npz"), "--inputs", "points", "--labels", "group"]
    options += ["--hidden", "8,2", "--activation", "sigmoid:2", "--beta", "every-unit"]
    options += ["--epochs", "7", "--runs", "3", "--seed", "4", "--optimizer", "sgd"]
    options += ["--learning-rate", "0.5", "--spectra", "5", "--tolerance", "1e-6"]
    options += ["--decay", "0.99", "--beta-start", "0,0.005", "--output", "sigmoid"]
    run("spectrum", *options)
    network, result, *numbers, steps, spectra, tolerance, start, output = asked[0]
    assert network.sizes == (2, 8, 2, 3) and network.beta == "every unit"
    assert start == (0.0, 0.005) and output == "sigmoid"
    assert network.activation == tl.Sigmoid(2.0)
    assert result.classes == 3 and result.name == "a"
    assert numbers == [7, 3, 4] and (spectra, tolerance) == (5, 1e-6)
    assert steps == tl.spectra.SGD(0.5, 0.99)


def test_the_digits_are_selected_by_name(run, monkeypatch):
    asked = []
    monkeypatch.setattr(spectrum, "_train", lambda *a: sys.exit(asked.append(a)))
    run("spectrum", "--data", "digits", "--hidden", "25", "--activation", "swish")
    assert asked[0][0].count == 1885


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "letters"], "--data: got 'letters'"),
        (["--data", "nowhere.mat"], "--data: got 'nowhere.mat', but there is no such file"),
        (["--hidden", "8;2"], "--hidden: got '8;2'"),
        (["--hidden", "0"], "--hidden: got '0'"),
        (["--activation", "step"], "--activation: got 'step'"),
        (["--activation", "relu", "--beta", "shared"], "ReLU has no β"),
        (["--epochs", "0"], "--epochs: got 0"),
        (["--runs", "0"], "--runs: got 0"),
        (["--seed=-1"], "--seed: got -1"),
        (["--learning-rate", "0"], "--learning-rate: got 0"),
        (["--decay", "2"], "decay: got 2"),
        (["--beta-start", "1"], "--beta-start: got 1.0"),
        (["--beta", "shared", "--beta-start", "1,2,3"], "--beta-start: got '1,2,3'"),
        (["--tolerance", "0"], "--tolerance: got 0"),
        (["--tolerance=-1e-3"], "--tolerance: got -0.001"),
        (["--spectra", "1"], "--spectra: got 1"),
        (["--out", "run.txt"], "--out: got 'run.txt', but the name has to end in .nc or .csv"),
        (["--plot", "run.txt"], "--plot: got 'run.txt'"),
        (["--animation", "run.mp4"], "--animation: got 'run.mp4'"),
        (["--animation", "nowhere/run.gif"], "--animation: got 'nowhere/run.gif'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_used_is_refused_before_any_work(run, monkeypatch, arguments, message):
    monkeypatch.setattr(spectrum, "_train", lambda *_: pytest.fail("trained"))
    code, out, err = run("spectrum", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tutelage: ") and message in err
    assert "Traceback" not in err


def test_a_network_that_is_too_large_is_refused_with_its_memory(run):
    code, out, err = run("spectrum", "--hidden", "5000,5000")
    assert (code, out) == (2, "")
    assert "GiB" in err and "tl.spectra.density" in err


def test_labels_that_are_no_classes_and_nan_are_refused(run, tmp_path):
    for X, y, message in (
        ([[0.0], [1.0]], [1, 3], "labels: got the values 1, 3"),
        ([[np.nan], [1.0]], [0, 1], "inputs: got nan"),
    ):
        np.savez(tmp_path / "a.npz", X=X, y=y)
        code, _, err = run("spectrum", "--data", str(tmp_path / "a.npz"))
        assert code == 2 and message in err
