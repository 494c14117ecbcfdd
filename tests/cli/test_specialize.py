"""``tutelage specialize``: output for people and programs, and refusals."""

import json

import pytest

from tutelage import deep, results

SMALL = ["specialize", "--teacher", "3-2", "--multiple", "2", "--inputs", "5", "--outputs", "4"]
SMALL += ["--epochs", "2", "--examples", "64", "--evaluation", "50", "--data", "gaussian:1"]


def test_it_prints_and_draws_the_recovered_nodes(run, tmp_path):
    picture, file = tmp_path / "s.png", tmp_path / "s.nc"
    code, out, err = run(*SMALL, "--polarity", "1", "--plot", str(picture), "--out", str(file))
    assert (code, err) == (0, "")
    heads = [line.split("  ")[0] for line in out.splitlines()]
    assert heads == ["runs", "teacher", "student", "evaluation loss", "layer 2", "", "layer 1", ""]
    assert "2 to epoch 2, 0 diverged" in out and "5-6-4-4" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    saved = results.load(file)
    assert deep.networks(saved, 1)[0].widths == (5, 6, 4, 4)


def test_it_prints_which_student_nodes_follow_which_teacher_nodes(run, tmp_path):
    file = tmp_path / "s.nc"
    _, out, _ = run(*SMALL, "--threshold", "0.2", "--out", str(file))
    end = results.load(file).isel(run=0, epoch=-1)
    close = (end["teacher_correlation_1"] > 0.2).values
    pairs = [f"{j + 1} ← {k + 1}" for j, k in enumerate(end["winner_1"].values) if close[j]]
    assert pairs and f"in run 1, teacher ← student: {', '.join(pairs)}" in out.splitlines()[-1]
    _, out, _ = run(*SMALL, "--threshold", "1")
    assert "in run 1, no teacher node is followed this closely" in out


def test_json_has_loss_and_recovery_of_every_layer(run, tmp_path):
    file = tmp_path / "s.npz"
    code, out, err = run(*SMALL, "--json", "--fixed", "--checkpoint", str(file))
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert printed["epoch"] == [0, 1, 2] and len(printed["evaluation_loss"]) == 2
    assert len(printed["recovery_rate_1"]) == 3 and len(printed["mean_correlation_2"]) == 2
    assert file.exists()


def test_start_construction_and_precision_are_options(run, tmp_path):
    file = tmp_path / "s.nc"
    options = ("--start-scale", "0.1", "--precision", "float32", "--construction", "code")
    code, _, err = run("specialize", "--teacher", "3", *SMALL[3:], *options, "--out", str(file))
    assert (code, err) == (0, "")
    saved = results.load(file).attrs
    assert saved["start_scale"] == 0.1
    assert (saved["precision"], saved["construction"]) == ("float32", "code")
    code, _, err = run(*SMALL, "--start-scale", "0")
    assert code == 2 and "--start-scale: got 0.0" in err


def test_diverged_runs_are_reported_and_recover_nothing(run, tmp_path):
    rate, picture = ("--learning-rate", "1e3", "--batch", "1"), tmp_path / "s.png"
    code, out, err = run(*SMALL, *rate, "--plot", str(picture))
    assert (code, err) == (0, "")
    assert "2 to epoch 2, 2 diverged: try a lower --learning-rate" in out
    assert "%" not in out and "nan" not in out and picture.exists()
    code, out, err = run(*SMALL, *rate, "--json")
    printed = json.loads(out)
    assert (code, err, printed["outcome"]) == (0, "", ["diverged", "diverged"])
    assert printed["recovery_rate_1"][-1] == [None] * 3
    assert [one[-1] for one in printed["mean_correlation_2"]] == [None, None]


def test_runs_that_diverge_are_left_out(capsys):
    from tutelage.cli.specialize import print_training

    run = deep.train("3", 2, inputs=5, outputs=4, epochs=1, examples=64, evaluation=50, runs=3)
    print_training(run.isel(run=[0, 2]), 0.5)
    alone = capsys.readouterr().out.splitlines()
    lost = (run["run"] == 1) & (run["epoch"] == 1)
    for name in ("evaluation_loss", "teacher_correlation_1"):
        run[name] = run[name].where(~lost)
    run["outcome"] = run["outcome"].where(run["run"] != 1, "diverged")
    print_training(run, 0.5)
    printed = capsys.readouterr().out.splitlines()
    assert "3 to epoch 1, 1 diverged and omitted below" in printed[0]
    assert [line.split() for line in printed[1:]] == [line.split() for line in alone[1:]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--teacher", "3-"], "--teacher: got ''"),
        (["--polarity", "-1"], "polarity: got"),
        (["--evaluation", "0"], "evaluation: got 0"),
        (["--threshold", "2"], "--threshold: got 2"),
        (["--plot", "s.doc"], "--plot: got 's.doc'"),
        (["--data", "cauchy"], "data: got 'cauchy'"),
        (["--multiple", "0"], "multiple: got 0"),
    ],
)
def test_bad_input_is_refused_before_any_work(run, monkeypatch, arguments, words):
    from tutelage.deep.training import training

    monkeypatch.setattr(training, "groups_of", lambda *_: pytest.fail("begun"))
    code, out, err = run(*SMALL, *arguments)
    assert (code, out) == (2, "") and words in err and "Traceback" not in err
