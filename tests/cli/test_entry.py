"""The command: help, version, and its messages."""

import warnings
from pathlib import Path

import pytest

import tutelage
from tutelage._names import PAGE, UNSUPPORTED
from tutelage.cli import entry, suggestions

COMMANDS = (
    *("online", "simulate", "equilibrium", "spectrum", "specialize"),
    *("sweep", "explore", "reproduce"),
)


@pytest.mark.parametrize("arguments", [["-h"], ["--help"]])
def test_help_shows_an_example(run, arguments):
    code, out, _ = run(*arguments)
    assert code == 0 and "Example: tutelage " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_an_example_of_it(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(command, "--help")
    _, _, examples = out.rpartition("Example")
    lines = [line.strip() for line in examples.splitlines()[1:]]
    assert code == 0 and lines and all(line.startswith(f"tutelage {command}") for line in lines)
    assert max(map(len, out.splitlines())) <= 80


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
def test_words_are_completed_in_a_shell(run, monkeypatch, typed, offered):
    monkeypatch.setenv("_TUTELAGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert run()[1].split() == offered


def test_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"tutelage {tutelage.__version__}\n", "")


@pytest.mark.filterwarnings("default")
def test_warnings_are_printed_on_one_line(run, monkeypatch):
    def warn(**_):
        warnings.warn("the rest", stacklevel=1)
        raise SystemExit

    monkeypatch.setattr(entry, "app", warn)
    assert run() == (0, "", "tutelage: the rest\n")


def test_pages_named_in_messages_exist_and_have_the_quoted_words():
    page = (Path(__file__).parents[2] / PAGE.partition(",")[0]).read_text("utf-8")
    for word in (*UNSUPPORTED, *suggestions.UNITS):
        assert word in page, word
