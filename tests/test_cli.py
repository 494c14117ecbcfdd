"""The command: what it prints for people, for programs and for those who mistype."""

import csv
import json
import subprocess
import sys

import pytest

import tutelage
from tutelage import cli
from tutelage.papers import TITLES, Record

KEYS = ["paper", "item", "published", "computed", "error", "verdict"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Call ``tutelage`` with arguments; returns exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tutelage", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return call


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "--help"], ["-h"]])
def test_help_shows_an_example(run, arguments):
    code, out, _ = run(*arguments)
    assert code == 0
    assert "Example: tutelage " in out


def test_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"tutelage {tutelage.__version__}\n", "")


def test_the_table_has_a_row_for_every_record(run):
    code, out, err = run("reproduce", "straat2019")
    assert (code, err) == (0, "")
    assert out.count("straat2019") == len(tutelage.papers.reproduce(["straat2019"]))
    assert "\x1b" not in out, "no colours where there is no terminal"


def test_json_is_a_list_of_records_and_nothing_else(run):
    code, out, err = run("reproduce", "straat2019", "oostwal2019", "--json")
    assert (code, err) == (0, "")
    records = json.loads(out)
    assert all(list(record) == KEYS for record in records)
    assert {record["paper"] for record in records} == {"straat2019", "oostwal2019"}
    for record in records:
        assert record["error"] == abs(record["computed"] - record["published"])


def test_corrections_are_explained_below_the_table(run):
    _, out, _ = run("reproduce", "oostwal2019")
    assert "corrected: oostwal2019 eq. (11)" in out


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_out_saves_the_same_records(run, tmp_path, suffix):
    file = tmp_path / f"records.{suffix}"
    code, out, _ = run("reproduce", "straat2019", "--json", "--out", str(file))
    assert code == 0
    text = file.read_text(encoding="utf-8")
    saved = json.loads(text) if suffix == "json" else list(csv.DictReader(text.splitlines()))
    assert [record["item"] for record in saved] == [record["item"] for record in json.loads(out)]
    assert list(saved[0]) == KEYS


def test_plot_draws_one_picture_for_each_paper(run, tmp_path):
    code, _, _ = run("reproduce", "straat2019", "tian2020", "--plot", str(tmp_path / "pictures"))
    assert code == 0
    assert sorted(p.name for p in (tmp_path / "pictures").iterdir()) == [
        "straat2019.png",
        "tian2020.png",
    ]


def test_an_unknown_paper_is_named_with_what_is_allowed(run):
    code, out, err = run("reproduce", "saad1995")
    assert (code, out) == (2, "")
    assert "PAPER: got 'saad1995'" in err
    assert all(key in err for key in TITLES)
    assert "Traceback" not in err


def test_an_unknown_file_type_is_refused_before_anything_is_computed(run, monkeypatch):
    monkeypatch.setattr(cli, "_compute", lambda papers: pytest.fail("computed"))
    code, _, err = run("reproduce", "--out", "records.xlsx")
    assert code == 2
    assert "--out: got 'records.xlsx'" in err and ".csv" in err


def test_a_number_that_differs_makes_the_command_fail(run, monkeypatch):
    wrong = Record("p", "i", 1.0, 2.0, 1.0, "differs", printed="1")
    monkeypatch.setattr(cli, "_compute", lambda papers: [wrong])
    code, out, _ = run("reproduce")
    assert code == 1
    assert "1 differs" in out


def test_help_loads_neither_jax_nor_matplotlib():
    code = (
        "import sys; sys.argv = ['tutelage', '--help']\n"
        "from tutelage.cli import main\n"
        "try: main()\n"
        "except SystemExit as done: assert not done.code\n"
        "loaded = {'jax', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
