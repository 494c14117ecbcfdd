"""The command: help, version, and where compiled code is kept."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tutelage
from tutelage._names import NOT_HERE, PAGE
from tutelage.cli import elsewhere, entry

COMMANDS = (
    *("online", "simulate", "equilibrium", "spectrum", "specialize"),
    *("sweep", "explore", "reproduce"),
)


@pytest.mark.parametrize("arguments", [["-h"], ["--help"]])
def test_help_shows_an_example(run, arguments):
    code, out, _ = run(*arguments)
    assert code == 0 and "Example: tutelage " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_an_example_of_it(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0 and f"Example: tutelage {command}" in " ".join(out.split())


def test_no_summary_is_cut_and_each_has_one_line_of_80_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("--help")
    lines = out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS), "a line for each"
    assert not any("..." in line or len(line) > 80 for line in lines)
    monkeypatch.setenv("COLUMNS", "40")
    narrow = " ".join(run("--help")[1].split())
    for line in lines:
        assert " ".join(line.split()) in narrow


@pytest.mark.parametrize("columns", [30, 40, 59])
def test_help_fits_a_narrow_terminal(run, monkeypatch, columns):
    for command in ([], *([name] for name in COMMANDS)):
        monkeypatch.setenv("COLUMNS", "80")
        words = run(*command, "--help")[1].split()
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, _ = run(*command, "--help")
        assert code == 0
        if columns >= 40:
            assert max(map(len, out.splitlines())) <= columns, command
        # A name with a hyphen, or one that is longer than a line, may be broken.
        assert "".join(out.split()) == "".join(words), "nothing is left out"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("tutelage s", ["simulate", "spectrum", "specialize", "sweep"]),
        ("tutelage online --activation l", ["leaky", "linear"]),
        ("tutelage online --teacher-activation swi", ["swish"]),
        ("tutelage reproduce str", ["straat2019"]),
    ],
)
def test_a_shell_is_told_how_a_word_may_go_on(run, monkeypatch, typed, offered):
    monkeypatch.setenv("_TUTELAGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert run()[1].split() == offered


def test_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"tutelage {tutelage.__version__}\n", "")


def test_code_is_compiled_into_a_folder_that_the_user_can_choose(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    run("--version")
    assert (tmp_path / "tutelage" / "programs").is_dir()


@pytest.mark.slow
def test_compiled_code_that_was_not_written_to_its_end_is_compiled_and_kept_again(tmp_path):
    """As a process leaves it that is ended while it writes, or whose writing is read."""
    # A command that ran in this process has chosen a folder; and less than a second is not kept.
    environment = {name: x for name, x in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tutelage.cli", "online", "--activation", "erf"]
    kept = []
    for _ in range(3):
        done = subprocess.run([*command, "--until", "1"], env=environment, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        files = sorted((tmp_path / "tutelage" / "programs").iterdir())
        kept.append([file.name for file in files])
        for file in files:
            os.truncate(file, 1000)
    assert kept[0] == kept[2] != []  # in between, they are removed


@pytest.mark.filterwarnings("default")
def test_only_what_cannot_be_read_is_removed_and_other_warnings_are_said(
    run, monkeypatch, tmp_path
):
    def warn(**_):
        warnings.warn(
            "Error reading persistent compilation cache entry for 'jit_f': error: -5", stacklevel=1
        )
        warnings.warn("the rest", stacklevel=1)
        raise SystemExit

    monkeypatch.setattr(entry, "app", warn)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    for name in ("jit_f-1-cache", "jit_f_2-2-cache"):
        (tmp_path / name).touch()
    assert run() == (0, "", "tutelage: the rest\n")
    assert [file.name for file in tmp_path.iterdir()] == ["jit_f_2-2-cache"]


def test_help_loads_nothing_that_computes():
    code = (
        "import sys\n"
        "from tutelage.cli import main\n"
        f"for command in ([], *([name] for name in {COMMANDS})):\n"
        "    sys.argv = ['tutelage', *command, '--help']\n"
        "    try: main()\n"
        "    except SystemExit as done: assert not done.code\n"
        "loaded = {'jax', 'matplotlib', 'scipy', 'xarray', 'sklearn'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_what_messages_point_to_is_there_and_has_their_words():
    page = (Path(__file__).parents[2] / PAGE.partition(",")[0]).read_text("utf-8")
    for word in (*NOT_HERE, *elsewhere.UNITS):
        assert word in page, word
