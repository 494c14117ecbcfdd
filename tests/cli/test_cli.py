"""The command: what it prints for people, for programs and for those who mistype."""

import json
import subprocess
import sys

import pytest

import tutelage
from tutelage import results
from tutelage.cli import online, reproduce
from tutelage.papers import TITLES, Record

COMMANDS = ("online", "simulate", "equilibrium", "spectrum", "specialize", "reproduce")
KEYS = ["paper", "item", "published", "computed", "error", "verdict"]


@pytest.mark.parametrize(
    "arguments",
    [["-h"], *([*command, "--help"] for command in ([], *([name] for name in COMMANDS)))],
)
def test_help_shows_an_example(run, arguments):
    code, out, _ = run(*arguments)
    assert code == 0
    assert "Example: tutelage " in out


def test_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"tutelage {tutelage.__version__}\n", "")


@pytest.fixture
def there(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_has_a_row_for_every_record_and_names_the_report(run, made, there):
    code, out, err = run("reproduce")
    assert (code, err) == (1, ""), "π is not 3.2, and no note says why"
    assert all(item in out for item in ("one third", "a < b & c", "a rate", "π"))
    assert "6 rows: 1 agrees, 1 corrected, 1 differs, 1 not comparable" in out
    assert "report: report/index.html" in out
    assert (there / "report" / "index.html").is_file()
    assert "\x1b" not in out, "no colours where there is no terminal"


def test_json_is_a_list_of_records_and_nothing_else(run, made, there):
    code, out, err = run("reproduce", "made", "--figure", "1", "--json")
    assert (code, err) == (0, "")
    records = json.loads(out)
    assert all(set(KEYS) <= set(record) for record in records)
    assert [record["verdict"] for record in records] == ["agrees", "corrected", "not comparable"]
    assert records[2]["published"] is None, "JSON has no NaN"


def test_notes_stand_below_the_table(run, made, there):
    _, out, _ = run("reproduce", "made")
    assert "corrected: a slip <b>" in out and "missing: not our field" in out


def test_a_run_that_is_stopped_says_what_is_kept_and_goes_on(run, made, there):
    made.stop_at = "text"
    code, _, err = run("reproduce")
    assert code == 130
    assert "kept in report" in err and "Traceback" not in err
    made.stop_at = ""
    run("reproduce")
    assert made.computed == ["fig1", "text", "new"]


def test_full_again_and_out_are_passed_on(run, made, there):
    run("reproduce", "made", "--figure", "1", "--full", "--out", "elsewhere")
    run("reproduce", "made", "--figure", "1", "--again", "--out", "elsewhere")
    assert made.computed == ["fig1", "fig1"]
    assert results.load(there / "elsewhere" / "figures" / "made_fig1.nc").sizes["x"] == 11


def test_an_unknown_paper_is_named_with_what_is_allowed(run, there):
    code, out, err = run("reproduce", "saad1995")
    assert (code, out) == (2, "")
    assert "PAPER: got 'saad1995'" in err
    assert all(key in err for key in TITLES)
    assert "Traceback" not in err
    assert not list(there.iterdir())


def test_a_report_that_is_a_file_is_refused_before_anything_is_computed(run, made, there):
    (there / "records.csv").touch()
    code, _, err = run("reproduce", "--out", "records.csv")
    assert code == 2 and not made.computed
    assert "folder of the report: got 'records.csv'" in err and "Try: --out" in err


def test_a_claim_that_is_known_not_to_hold_is_told_and_does_not_fail(run, monkeypatch):
    finding = Record("p", "i", 1.0, 2.0, 1.0, "differs", "why it is so", printed="1").as_dict()
    monkeypatch.setattr(reproduce, "_build", lambda *arguments: [finding])
    code, out, _ = run("reproduce")
    assert code == 0
    assert "differs: why it is so" in out


# One erf unit compiles fastest; what is said here does not depend on the activation.
SMALL = ["online", "--student", "1", "--teacher", "1", "--activation", "erf", "--until", "20"]


def test_online_tells_how_a_run_ended(run):
    code, out, err = run(*SMALL)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "outcome",
        "final Q",
        "final R",
        "final error",
    ]


def test_online_json_has_the_curves_and_what_is_needed_to_compute_them_again(run):
    code, out, err = run(*SMALL, "--json", "--start-q", "0.25", "--start-r", "0.1")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert len(told["time"]) == len(told["generalization_error"]) == len(told["R"])
    assert (told["Q"][0], told["R"][0]) == ([[0.25]], [[0.1]])
    assert {"outcome", "ended_at", "scenario", "start", "learning_rate"} <= set(told)


def test_online_saves_and_draws(run, tmp_path):
    files = (tmp_path / "run.nc", tmp_path / "run.png")
    code, _, _ = run(*SMALL, "--out", str(files[0]), "--plot", str(files[1]))
    assert code == 0
    dataset = results.load(files[0])
    assert results.recompute(dataset)["R"].equals(dataset["R"])
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_online_passes_every_option_on(run, monkeypatch):
    asked = []
    monkeypatch.setattr(online, "_evolve", lambda *arguments: sys.exit(asked.append(arguments)))
    options = ["--teacher-activation", "leaky:0.1", "--teacher-norms", "2", "--label-noise", "0.2"]
    options += ["--output-scale", "0.5,2", "--weight-decay", "0.1", "--learning-rate", "0.3"]
    run(*SMALL, *options, "--tolerance", "1e-6", "--start-q", "0.7", "--start-r", "0.05")
    scenario, start, *others = asked[0]
    assert scenario.student == tutelage.Committee(1, tutelage.Erf())
    assert scenario.teacher == tutelage.Committee(1, tutelage.LeakyReLU(0.1))
    assert scenario.output_scale == (0.5, 2.0)
    assert (scenario.label_noise, scenario.weight_decay) == (0.2, 0.1)
    assert start.covariance.tolist() == [[0.7, 0.05], [0.05, 2.0]]
    assert others == [0.3, 20.0, 1e-6]


def test_online_sweeps_over_learning_rates(run, tmp_path):
    file = tmp_path / "sweep.nc"
    code, out, _ = run(*SMALL, "--sweep-learning-rate", "0.5:1.5:3", "--out", str(file))
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["learning", "0.5", "1", "1.5"]
    dataset = results.load(file)
    assert json.loads(dataset.attrs["learning_rate"]) == [0.5, 1.0, 1.5]
    assert dataset["generalization_error"].dims == ("run", "time")


@pytest.mark.slow
def test_online_finds_fixed_points_and_critical_learning_rates(run):
    """straat2019, Sec. 3: one solution, and η_c = 2."""
    options = ["--student", "1", "--teacher", "1", "--start-q", "0.25", "--start-r", "0"]
    code, out, err = run("online", *options, "--fixed-points", "--critical", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    (point,) = told["fixed_points"]
    assert point["stable"] and abs(point["R"][0][0] - 1) < 1e-9
    found = told["critical_learning_rates"]
    # The command promises 1e-6, and an error that is not understated.
    assert abs(found["diverges"]["value"] - 2) <= found["diverges"]["error"] <= 1e-6
    assert found["plateau_vanishes"] is None and "plateau_vanishes" in found["reasons"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--student", "0"], "--student: got 0, but a network has at least one unit"),
        (["--activation", "step"], "--activation: got 'step'"),
        (["--activation", "relu:2"], "--activation: got 'relu:2', but relu has no parameter"),
        (["--activation", "leaky:x"], "--activation: got 'x'"),
        (["--activation", "leaky:-1"], "slope: got -1.0"),
        (["--teacher-norms", "1,2,3"], "--teacher-norms: got '1,2,3', but it has to be 1 or 2"),
        (["--teacher-norms=-1"], "teacher_overlaps: got "),
        (["--start-q", "0.1;0.2"], "--start-q: got '0.1;0.2'"),
        (["--start-q", "0.1", "--start-r", "2"], "negative eigenvalue"),
        (["--start-r", "nan"], "R: got nan"),
        (["--learning-rate=-1"], "learning_rate: got -1.0"),
        (["--learning-rate", "nan"], "learning_rate: got nan"),
        (["--until", "0"], "until: got 0.0"),
        (["--sweep-learning-rate", "0.1:1"], "--sweep-learning-rate: got '0.1:1'"),
        (["--sweep-learning-rate", "1:0.5:3"], "--sweep-learning-rate: got '1:0.5:3'"),
        (["--sweep-learning-rate", "0:1:3"], "0 < FIRST < LAST"),
        (["--sweep-learning-rate", "0.1:1:1"], "a COUNT of at least 2"),
        (["--tolerance", "0"], "tolerance: got 0.0"),
        (["--output-scale", "0"], "output_scale: got 0.0"),
        (["--label-noise=-1"], "label_noise: got -1.0"),
        (["--weight-decay", "inf"], "weight_decay: got inf"),
        (["--out", "run.csv"], "--out: got 'run.csv'"),
        (["--plot", "nowhere/run.png"], "--plot: got 'nowhere/run.png', but there is no folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_online_refuses_what_it_cannot_use(run, arguments, message):
    code, out, err = run("online", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tutelage: ") and message in err
    assert "Traceback" not in err


def test_online_compiles_into_a_folder_that_the_user_can_choose(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    run("--version")
    assert (tmp_path / "tutelage").is_dir()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_loads_neither_jax_nor_matplotlib(command):
    code = (
        "import sys; sys.argv = ['tutelage', *sys.argv[1:], '--help']\n"
        "from tutelage.cli import main\n"
        "try: main()\n"
        "except SystemExit as done: assert not done.code\n"
        "loaded = {'jax', 'matplotlib', 'scipy', 'xarray'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code, *command.split()], check=True, capture_output=True)
