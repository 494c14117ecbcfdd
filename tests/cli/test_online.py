"""``tutelage online``: tables, numbers, files and refusals."""

import json
import sys

import numpy as np
import pytest

import tutelage
from tutelage import results
from tutelage.cli import online, printing

# One erf unit compiles fastest; the messages do not depend on the activation.
SMALL = ["online", "--student", "1", "--teacher", "1", "--activation", "erf", "--until", "20"]


def test_it_prints_how_a_run_ended(run):
    code, out, err = run(*SMALL)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "outcome",
        "final Q",
        "final R",
        "final error",
    ]


def test_an_error_below_that_of_the_integration_is_not_printed_as_a_number(run):
    _, out, _ = run(*SMALL[:-1], "300", "--tolerance", "1e-6")
    assert "converged" in out
    assert "less than 1e-05, the error of the integration" in out.splitlines()[-1]


def test_json_has_the_curves_and_what_is_needed_to_compute_them_again(run):
    code, out, err = run(*SMALL, "--json", "--start-q", "0.25", "--start-r", "0.1")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert len(printed["time"]) == len(printed["generalization_error"]) == len(printed["R"])
    assert (printed["Q"][0], printed["R"][0]) == ([[0.25]], [[0.1]])
    assert printed["start"]["Q"] == [[0.25]], "no JSON in a text"
    assert {"outcome", "ended_at", "scenario", "start", "learning_rate"} <= set(printed)


def test_it_saves_and_draws(run, tmp_path):
    files = (tmp_path / "run.nc", tmp_path / "run.png")
    code, _, _ = run(*SMALL, "--out", str(files[0]), "--plot", str(files[1]))
    assert code == 0
    dataset = results.load(files[0])
    assert results.recompute(dataset)["R"].equals(dataset["R"])
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_it_passes_every_option_on(run, monkeypatch):
    asked = []

    def remember(*arguments, **keywords):
        sys.exit(asked.append((arguments, keywords)))

    monkeypatch.setattr(online, "_evolve", remember)
    options = ["--teacher-activation", "leaky:0.1", "--teacher-norms", "2", "--label-noise", "0.2"]
    options += ["--output-scale", "0.5,2", "--weight-decay", "0.1", "--learning-rate", "0.3"]
    options += ["--drift", "0.05", "--batch", "2", "--readout=-2", "--teacher-readout", "0.5"]
    options += ["--readout-rate", "0.4", "--readout-decay", "0.3"]
    run(*SMALL, *options, "--tolerance", "1e-6", "--start-q", "0.7", "--start-r", "0.05")
    (scenario, start, rate), keywords = asked[0]
    assert scenario.student == tutelage.Committee(1, tutelage.Erf(), [-2])
    assert scenario.teacher == tutelage.Committee(1, tutelage.LeakyReLU(0.1), [0.5])
    assert scenario.output_scale == (0.5, 2.0)
    assert (scenario.label_noise, scenario.weight_decay, scenario.drift) == (0.2, 0.1, 0.05)
    assert scenario.readout_decay == 0.3
    assert start.covariance.tolist() == [[0.7, 0.05], [0.05, 2.0]]
    steps = {"batch": 2, "readout_rate": 0.4}
    assert (rate, keywords) == (0.3, {"until": 20.0, "tolerance": 1e-6, **steps})


def test_it_prints_a_second_layer_that_has_learned(run):
    options = ["--readout=-1", "--teacher-readout", "2", "--readout-rate", "0.5"]
    code, out, err = run(*SMALL, *options)
    assert (code, err) == (0, "")
    assert "final v" in out
    assert "final v" not in run(*SMALL, *options[:2])[1]


@pytest.mark.slow
def test_fixed_points_have_a_second_layer_that_learns(run):
    """R = 1 and v = v* is one of them; the other sign of both is the same student."""
    options = ["--teacher-readout", "2", "--readout-rate", "0.5", "--fixed-points"]
    code, out, err = run(*SMALL, *options, "--json")
    assert (code, err) == (0, "")
    points = json.loads(out)["fixed_points"]
    assert any(abs(abs(p["readout"][0][0] * p["R"][0][0]) - 2) < 1e-6 for p in points)
    assert " v " in run(*SMALL, *options)[1]


def test_it_makes_steps_of_an_optimizer(run):
    options = ["--optimizer", "muon", "--large-batch", "2", "--learning-rate", "0.1"]
    code, out, err = run(*SMALL, *options, "--until", "6", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["time"] == [0.0, 2.0, 4.0, 6.0]
    assert "reached at α = 6" in run(*SMALL, *options, "--until", "6")[1]


@pytest.mark.slow
def test_it_finds_the_best_schedule(run, tmp_path):
    file = tmp_path / "best.nc"
    code, out, _ = run(*SMALL[:-2], "--best-error", "0.01", "--out", str(file))
    assert code == 0 and "is reached first at α" in out and "certificate" in out
    curve = results.load(file)
    assert {"learning_rate", "generalization_error", "R", "Q"} <= set(curve)


def test_it_sweeps_over_learning_rates(run, tmp_path):
    file = tmp_path / "sweep.nc"
    code, out, _ = run(*SMALL, "--sweep-learning-rate", "0.5:1.5:3", "--out", str(file))
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["learning", "0.5", "1", "1.5"]
    dataset = results.load(file)
    assert json.loads(dataset.attrs["learning_rate"]) == [0.5, 1.0, 1.5]
    assert dataset["generalization_error"].dims == ("run", "time")


@pytest.mark.slow
def test_it_finds_fixed_points_and_critical_learning_rates(run):
    """straat2019, Sec. 3: one solution, and η_c = 2."""
    options = ["--student", "1", "--teacher", "1", "--start-q", "0.25", "--start-r", "0"]
    code, out, err = run("online", *options, "--fixed-points", "--critical", "--json")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    (point,) = printed["fixed_points"]
    assert point["stable"] and abs(point["R"][0][0] - 1) < 1e-9
    result = printed["critical_learning_rates"]
    # The command promises 1e-6, and an error that is not understated.
    assert abs(result["loses_stability"]["value"] - 2) <= result["loses_stability"]["error"] <= 1e-6
    assert result["diverges"]["value"] == pytest.approx(2.2465, abs=5e-5)  # a fold further up
    assert result["plateau_vanishes"] is None and "plateau_vanishes" in result["reasons"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--student", "0"], "--student: got 0, but a network has at least one unit"),
        (["--activation", "step"], "--activation: got 'step'"),
        (["--activation", "relu:2"], "--activation: got 'relu:2', but relu has no parameter"),
        (["--activation", "leaky:x"], "Try: --activation leaky:0.1."),
        (["--activation", "leaky:1,2"], "the colon has to be followed by one number"),
        (
            ["--activation", "leaky:1e308"],
            "leaky:1e308', but its slope has to be 1e-75 to 1e+75 in",
        ),
        (["--start-q", "0,0"], "--start-r: got R_11 = 0.001 (the default is 0.001), but wi"),
        (["--momentum", "0.5"], "--momentum: got 0.5, but it needs --optimizer momentum"),
        (["--temperature", "1"], "--temperature: got an option that tutelage online does not have"),
        (["--temperature", "1"], "Try: docs/not_here.md"),
        (["--optimizer", "muon", "--momentum", "1"], "momentum: got 1.0, but it has to be less"),
        (["--optimizer", "muon", "--critical"], "--critical: got it and --optimizer, but it is"),
        (["--best-error", "1e-3", "--momentum", "0.9"], "--momentum: got it and --best-error"),
        (["--optimizer", "muon", "--batch", "2"], "--batch: got 2, but steps with large batches"),
        (["--best-error", "1e-3", "--until", "9"], "--until: got 9.0, but --best-error does not"),
        (["--large-batch", "2", "--tolerance", "1e-5"], "--tolerance: got 1e-05, but --large"),
        (["--best-error", "1e-9"], "--best-error: got 1e-09, but it has to be at least 1e-07"),
        (["--optimizer", "muon", "--learning-rate", "0"], "--learning-rate: got 0, but learning"),
        (["--large-batch", "0"], "--large-batch: got 0, but it has to be greater than 0"),
        (["--readout", "1,2,3"], "--readout: got '1,2,3', but it has to be 1 or 2 numbers"),
        (["--teacher-readout", "1;2"], "--teacher-readout: got 2 output(s), but --readout has 1"),
        (["--readout-rate=-1"], "--readout-rate: got -1.0"),
        (["--readout-rate", "nan"], "--readout-rate: got nan"),
        (["--readout-decay", "-1"], "--readout-decay: got -1"),
        (["--batch", "0"], "--batch: got 0, but it has to be a whole number of at least 1"),
        (["--drift=-1"], "--drift: got -1.0"),
        (["--untl", "3"], "Try: --until."),
        (["--foo", "3"], "Try: docs/not_here.md"),
        (["--activation", "leaky:-1"], "leaky:-1', but its slope has to be at least 0"),
        (["--teacher-norms", "1,2,3"], "--teacher-norms: got '1,2,3', but it has to be 1 or 2"),
        (["--teacher-norms=-1"], "--teacher-norms: got "),
        (["--start-q", "0.1;0.2"], "--start-q: got '0.1;0.2'"),
        (["--start-q", "0.1", "--start-r", "2"], "it is at most √(Q T) = 0.316228"),
        (["--start-r", "nan"], "--start-r: got nan"),
        (["--learning-rate=-1"], "--learning-rate: got -1.0"),
        (["--learning-rate", "nan"], "--learning-rate: got nan"),
        (["--until", "0"], "until: got 0.0"),
        (["--sweep-learning-rate", "0.1:1"], "--sweep-learning-rate: got '0.1:1'"),
        (["--sweep-learning-rate", "1:0.5:3"], "--sweep-learning-rate: got '1:0.5:3'"),
        (["--sweep-learning-rate", "0:1:3"], "0 < FIRST < LAST"),
        (["--sweep-learning-rate", "0.1:1:1"], "a COUNT of at least 2"),
        (["--tolerance", "0"], "tolerance: got 0.0"),
        (["--output-scale", "0"], "--output-scale: got 0.0"),
        (["--label-noise=-1"], "--label-noise: got -1.0"),
        (["--weight-decay", "inf"], "--weight-decay: got inf"),
        (["--out", "run.txt"], "--out: got 'run.txt', but the name has to end in .nc or .csv"),
        (["--plot", "nowhere/run.png"], "--plot: got 'nowhere/run.png', but there is no folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_it_refuses_what_it_cannot_use(run, arguments, message):
    code, out, err = run("online", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tutelage: ") and message in err
    assert "Traceback" not in err


def test_the_table_of_fixed_points_marks_unstable_points_and_gives_the_next_step(capsys):
    state = tutelage.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    values = {"generalization_error": 0.25, "residual": 0.0, "labels": ("R_11", "Q_11")}
    saddle, stable = (
        tutelage.online.FixedPoint(
            overlaps=state,
            readout=np.ones((1, 1)),
            eigenvalues=np.array([rate, -1.0], complex),
            eigenvectors=np.eye(2, dtype=complex),
            **values,
        )
        for rate in (0.5, -0.5)
    )
    printing.show(online._points_table([saddle, stable]))
    out = capsys.readouterr().out
    first, second = (line.split() for line in out.splitlines()[1:3])
    assert first[:5] == ["1", "0.250000", "no", "1", "0.500000"]
    assert second[:5] == ["2", "0.250000", "yes", "0", "-0.500000"]
    assert "Runs leave an unstable point" in out
    printing.show(online._points_table([stable]))
    assert "Runs leave" not in capsys.readouterr().out
    assert online._point_for_json(saddle)["unstable_directions"] == 1


def test_the_landscape_is_printed_saved_and_drawn_in_place_of_a_run(run, tmp_path):
    files = (tmp_path / "minima.nc", tmp_path / "minima.png")
    asked = ["online", "--student", "2", "--teacher", "2", "--landscape", "4"]
    code, out, _ = run(*asked, "--out", str(files[0]), "--plot", str(files[1]))
    assert code == 0 and out.splitlines()[1].split()[:3] == ["solution", "0.00000000", "1"]
    assert "d = 4" in out and results.load(files[0]).attrs["computed_by"] == "online.landscape"
    assert files[1].stat().st_size > 0
    code, out, _ = run(*asked, "--json")
    assert code == 0 and json.loads(out)["share"] == [1.0]
    code, _, err = run(*asked[:-1], "0")
    assert code == 2 and "--landscape" in err


@pytest.mark.parametrize(
    ("options", "option", "hint"),
    [
        (("--activation", "linear"), "--activation", "--activation relu"),
        (("--weight-decay", "0.1"), "--landscape", "--fixed-points"),
        (("--learning-rate", "0.3"), "--learning-rate", "the command without"),
        (("--start-q", "0.1"), "--start-q", "the command without"),
        (("--readout", "1,0"), "--readout", "--readout 1,1"),
    ],
)
def test_a_landscape_that_does_not_exist_is_refused_by_options(run, options, option, hint):
    code, _, err = run("online", "--landscape", "4", *options)
    assert code == 2 and err.startswith(f"tutelage: {option}: got") and f"Try: {hint}" in err


def test_a_landscape_continues_from_its_checkpoint(run, tmp_path):
    file = tmp_path / "minima.npz"
    asked = ["online", "--landscape", "4", "--checkpoint", str(file)]
    code, first, _ = run(*asked)
    assert code == 0
    assert run(*asked)[:2] == (0, first)
    code, _, err = run("online", "--until", "1", "--checkpoint", str(file))
    assert code == 2 and "--checkpoint" in err and "--landscape" in err
