"""Files of the commands: refused before any work, or else results are never lost."""

import errno
import io
import json
import os
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from PIL import Image

from tutelage import results
from tutelage.cli import entry, online, output_files
from tutelage.runs import files

ROOT = Path(__file__).parents[2]
# One erf unit compiles fastest; the messages do not depend on the activation.
COMMANDS = ("online", "simulate", "equilibrium", "spectrum", "specialize", "sweep")
# Arguments that a command does not begin without.
NEEDED = {"sweep": ["study.toml"]}
# Other runs of the command have no checkpoint.
NEEDED_BY_OPTION = {("online", "--checkpoint"): ["--landscape", "20"]}
ONLINE = ["online", "--student", "1", "--teacher", "1", "--activation", "erf", "--until", "4"]


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def fallback(tmp_path, monkeypatch):
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(files.tempfile, "tempdir", str(folder))
    return folder


FOLDERS = {("reproduce", "--out"), ("sweep", "--store"), ("sweep", "--folder")}
READ = {("explore", "--report"), ("explore", "--files")}
FILES = {
    *((name, option) for name in COMMANDS for option in ("--out", "--plot")),
    *((name, "--checkpoint") for name in ("online", "simulate", "specialize")),
    ("spectrum", "--animation"),
}


def test_every_option_that_takes_a_path_is_in_the_tables_above():
    values = set()
    for command in entry.app.registered_commands:
        kinds = typing.get_type_hints(command.callback)
        paths = [name for name, kind in kinds.items() if Path in (kind, *typing.get_args(kind))]
        values |= {(command.callback.__name__, f"--{name}") for name in paths}
    assert values == FILES | FOLDERS | READ


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_with_a_plot_has_both_styles(run, command):
    code, _, err = run(command, *NEEDED.get(command, []), "--plot-style", "slide")
    assert code == 2 and "--plot-style" in err and "screen" in err and "paper" in err


def test_a_plot_for_a_paper_is_one_journal_column_wide(run, tmp_path):
    """Two columns of a journal for three panels: 2.08 times 3.39 in, at 300 dots per inch."""
    plot = tmp_path / "run.png"
    assert run(*ONLINE, "--plot", str(plot), "--plot-style", "paper")[0] == 0
    with Image.open(plot) as image:
        assert image.width == pytest.approx(300 * 2.08 * 3.39, abs=1)
        assert "Generalization error over time." in image.text["Description"]


@pytest.mark.parametrize(("command", "option"), sorted(FILES))
def test_a_file_that_cannot_be_written_is_refused_before_any_work(run, tmp_path, command, option):
    ending = output_files.ENDINGS[option][0]
    (tmp_path / f"folder{ending}").mkdir()
    (tmp_path / f"link{ending}").symlink_to(tmp_path / "nowhere" / "file")
    for name, words in {
        f"folder{ending}": "it is a folder",
        f"link{ending}": "there is no folder",
        f"nowhere/run{ending}": "there is no folder",
        f"{300 * 'a'}{ending}": "File name too long",
        "run.other": "the name has to end in",
    }.items():
        needed = [*NEEDED.get(command, []), *NEEDED_BY_OPTION.get((command, option), [])]
        code, out, err = run(command, *needed, option, str(tmp_path / name))
        assert (code, out) == (2, ""), err
        assert f"{option}: got" in err and words in err and f"Try: {option} run{ending}" in err


def test_a_disk_that_fills_up_costs_nothing(run, small_disk, fallback):
    """The old file stays, the result is printed and saved elsewhere, and both are reported."""
    out, plot = small_disk / "run.csv", small_disk / "run.png"
    assert run(*ONLINE, "--until", "0.01", "--out", str(out))[0] == 0
    before = results.load(out)
    with (small_disk / "filling").open("ab") as file:
        left = os.statvfs(small_disk)
        file.write(bytes((left.f_bavail - 1) * left.f_bsize))
    code, printed, err = run(*ONLINE, "--out", str(out), "--plot", str(plot))
    assert code == 1 and printed == run(*ONLINE)[1] and "final error" in printed
    for path in (out, plot):
        (stored,) = fallback.glob(f"*/{path.name}")
        words = f"{str(path)!r} could not be written (No space left on device); saved in {stored}"
        assert f"tutelage: {words}\n" in err
    assert results.load(out).identical(before) and not plot.exists()
    assert results.load(next(fallback.glob("*/run.csv"))).attrs["until"] == 4.0
    assert next(fallback.glob("*/run.png")).read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(small_disk)) == ["filling", "run.csv"]


def test_without_a_temporary_folder_a_message_is_printed_and_the_result_too(
    run, tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "write", full)
    code, printed, err = run(*ONLINE, "--out", str(tmp_path / "run.nc"))
    assert code == 1 and "final error" in printed
    assert "could not be written (No space left on device); not saved" in err


def test_every_file_of_a_command_is_flushed_and_renamed(run, tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    run(*ONLINE, "--out", str(tmp_path / "run.csv"), "--plot", str(tmp_path / "run.svg"))
    assert len(flushed) == 2 and sorted(os.listdir(tmp_path)) == ["run.csv", "run.svg"]


class Unwritable(io.StringIO):
    """A standard output that accepts no more bytes."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def flush(self):
        if self.getvalue():
            raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE], ids=["full", "closed pipe"])
@pytest.mark.parametrize("out", [[], ["--out"]], ids=["", "--out"])
def test_a_result_that_cannot_be_printed_is_saved(
    run, monkeypatch, tmp_path, fallback, number, out
):
    monkeypatch.setattr(sys, "stdout", Unwritable(number))
    path = tmp_path / "run.nc"
    code, _, err = run(*ONLINE, *(["--out", str(path)] if out else []))
    assert code == 1
    (stored,) = [path] if out else fallback.glob("*/result.nc")
    where = f"in {stored}" if out else f"saved in {stored}"
    words = f"the standard output could not be written ({os.strerror(number)}); the curves: {where}"
    assert err == f"tutelage: {words}\n"
    assert results.load(stored).attrs["computed_by"] == "online.evolve"


def test_a_standard_output_that_is_closed_is_refused_before_any_work(run, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    code, _, err = run(*ONLINE)
    assert code == 2 and "standard output: got a closed one" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_help_to_a_full_disk_ends_in_words():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tutelage.cli", "online", "--help"]
    with open("/dev/full", "w", encoding="utf-8") as nowhere:
        ended = subprocess.run(
            command, stdout=nowhere, stderr=subprocess.PIPE, env=environment, text=True
        )
    words = "the standard output could not be written (No space left on device)"
    assert (ended.returncode, ended.stderr) == (1, f"tutelage: {words}\n")


def test_a_result_outlives_an_error_that_comes_after_it(run, monkeypatch, tmp_path, fallback):
    monkeypatch.setattr(online, "_fixed_points", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(*ONLINE, "--fixed-points")
    (stored,) = fallback.glob("*/result.nc")
    assert results.load(stored).attrs["learning_rate"] == 1.0


def test_examples_are_not_written_over(run, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("0,1,0\n1,0,1\n")
    code, _, err = run("spectrum", "--data", str(data), "--out", str(data))
    assert code == 2 and "--out: got" in err and "this file holds the examples" in err


def test_a_table_for_a_colleague(run, tmp_path):
    path = tmp_path / "run.csv"
    code, out, err = run(*ONLINE, "--out", str(path), "--json")
    assert (code, err) == (0, "")
    loaded = results.load(path)
    assert loaded["R"].values.tolist() == json.loads(out)["R"]
    assert results.recompute(loaded).identical(loaded)
