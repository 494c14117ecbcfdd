"""``tutelage sweep``: a study from a file, its store, and refusals."""

import inspect
import json

import numpy as np
import pytest

import tutelage as tl
from tutelage._checks import InputError
from tutelage.cli import study_file

SMALL = """
function = "online.evolve"
keep = { last = ["generalization_error"] }
[scenario]
student = 1
teacher = 1
activation = "erf"
[fixed]
until = 2.0
times = [0.0, 2.0]
[over]
learning_rate = [0.3, 0.5]
weight_decay = { from = 1e-3, to = 0.1, count = 3, spacing = "log" }
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(SMALL)
    return "study.toml"


def test_the_example_is_a_study(run, tmp_path):
    code, out, _ = run("sweep", "example")
    assert code == 0
    (tmp_path / "example.toml").write_text(out)
    given = study_file.read(tmp_path / "example.toml")
    assert given["function"] is tl.online.evolve and given["scenario"].K == 2
    assert {name: len(x) for name, x in given["over"].items()} == {
        "learning_rate": 30,
        "weight_decay": 10,
        "activation": 3,
    }


def test_a_file_is_the_call_that_it_describes(run, file, tmp_path):
    code, out, err = run("sweep", file, "--store", "study", "--workers", "1", "--plot", "heat.png")
    assert (code, err) == (0, "") and "stored in study" in out
    assert out.splitlines()[0].split()[:2] == ["learning_rate", "weight_decay"]
    assert (tmp_path / "heat.png").stat().st_size > 5000
    one = tl.Committee(1, tl.Erf())
    scenario = tl.Scenario(one, one)
    result = tl.sweeps.run(
        tl.online.evolve,
        {"learning_rate": [0.3, 0.5], "weight_decay": np.geomspace(1e-3, 0.1, 3)},
        scenario=scenario,
        start=tl.Overlaps(Q=[[0.2]], R=[[1e-3]], T=[[1.0]]),
        until=2.0,
        times=[0.0, 2.0],
        keep=tl.sweeps.last("generalization_error"),
        workers=1,
    )
    assert tl.sweeps.load("study").drop_attrs().identical(result.drop_attrs())
    code, out, _ = run("sweep", "status", "study", "--json")
    status = json.loads(out)
    assert (status["points"], status["done"], status["failed"], status["missing"]) == (6, 6, 0, 0)
    code, out, _ = run("sweep", "show", "study", "--out", "study.nc", "--json")
    assert np.array_equal(json.loads(out)["generalization_error"], result.generalization_error)
    assert np.array_equal(tl.results.load("study.nc").ended_at, result.ended_at)
    code, out, _ = run("sweep", "status", "study")
    assert code == 0 and "online.evolve" in out


def test_a_dry_run_computes_a_group_and_writes_nothing(run, file, tmp_path):
    code, out, _ = run("sweep", file, "--store", "study", "--dry-run", "--workers", "2")
    assert code == 0 and not (tmp_path / "study").exists()
    assert out.splitlines()[0].split() == ["points", "to", "compute", "6"]
    assert "time on 2 workers" in out


@pytest.mark.filterwarnings("default:.*points failed")
def test_failures_are_printed(run, file, tmp_path):
    (tmp_path / file).write_text(SMALL.replace("[0.3, 0.5]", "[0.3, -1.0]"))
    code, out, err = run("sweep", file, "--store", "study", "--workers", "1")
    assert code == 0 and "3 of 6 points failed" in err
    _, out, _ = run("sweep", "status", "study")
    assert "failed: learning_rate: got" in out


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("function = 3", "function in the file: got 3"),
        ("nonsense = 3", "nonsense in the file: got an unknown entry"),
        ("function =", "not a valid TOML"),
        ("[over]\nlearning_rate = 3", "it has to be a list or a range"),
        (
            "[over]\nweight_decay = { from = 0, to = 1, count = 3, spacing = 'log' }",
            "positive ends",
        ),
        ("[over]\nactivation = ['nobody']", "activation in the file"),
        ("[scenario]\nnobody = 3", "nobody"),
        ("[[points]]\nuntil = 3\n[[points]]\nload = 3", "all need the same names"),
    ],
)
def test_what_is_wrong_in_a_file_is_refused_in_words(tmp_path, wrong, words):
    first = 'function = "online.evolve"\n' if "function" not in wrong else ""
    rest = "" if "[over]" in wrong or "[[points]]" in wrong else "\n[over]\nlearning_rate = [1.0]\n"
    (tmp_path / "study.toml").write_text(first + wrong + rest)
    with pytest.raises(InputError, match="(?s)" + words.replace("[", r"\[")):
        study_file.read(tmp_path / "study.toml")


def test_points_of_a_file_are_rows_of_a_table(tmp_path):
    rows = "[[points]]\nactivation = 'erf'\nunits = 2\n[[points]]\nactivation = 'relu'\nunits = 3\n"
    (tmp_path / "study.toml").write_text('function = "equilibrium.transitions"\n' + rows)
    given = study_file.read(tmp_path / "study.toml")
    defaults = inspect.signature(tl.sweeps.run).parameters
    assert all(given[name] == defaults[name].default for name in ("keep", "seed"))
    assert given["over"]["units"].tolist() == [2, 3]
    assert [unit.name for unit in given["over"]["activation"]] == ["Erf", "ReLU"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "FILE: got 'nonsense'"),
        (["nowhere.toml"], "it cannot be read"),
        (["status"], "STORE: got nothing"),
        (["show", "nowhere"], "there is no study in it"),
        (["a.toml", "--workers", "2", "--scheduler", "tcp://a:1"], "it replaces --workers"),
    ],
)
def test_what_is_wrong_in_a_call_is_refused_in_words(run, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("sweep", *arguments)
    assert code == 2 and words in err


@pytest.mark.parametrize("table", ["fixed", "over"])
@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("store", '"elsewhere"', "--store FOLDER"),
        ("workers", "3", "--workers"),
        ("retry", "true", "--retry"),
        ("start_over", "true", "--fresh"),
        ("checkpoint", '"run.npz"', "only the caller"),
        ("function", '"online.branch"', "at the top of the file"),
    ],
)
def test_a_study_file_cannot_set_options_of_the_command(
    run, tmp_path, monkeypatch, table, name, value, hint
):
    monkeypatch.chdir(tmp_path)
    given = f"[{value}]" if table == "over" else value
    heading = f"[{table}]\n"
    assert heading in SMALL
    text = SMALL.replace(heading, f"{heading}{name} = {given}\n")
    (tmp_path / "study.toml").write_text(text)
    code, out, err = run("sweep", "study.toml")
    assert (code, out) == (2, "") and name in err and hint in err
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
