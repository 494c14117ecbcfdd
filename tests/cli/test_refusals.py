"""No option of a command ends in a traceback, whatever its value.

Options are found by themselves: a new one is covered.  A new command needs a line in CHEAP.
"""

import re
import sys

import matplotlib.pyplot as plt
import pytest
import typer

from tutelage import cli
from tutelage.cli.entry import app

# The options that make a command cheap; what is tried comes after them.
CHEAP = {
    "online": "--student 1 --teacher 1 --activation erf --until 1",
    "simulate": "--student 1 --teacher 1 --activation erf --until 1 --dimension 10 --runs 2",
    "equilibrium": "--activation erf --units 2 --loads 0:30:4",
    "spectrum": "--data linear --hidden 2 --epochs 2",
    "specialize": "--teacher 2 --multiple 1 --inputs 4 --outputs 3 --epochs 1 --examples 32 "
    "--evaluation 50 --runs 1",
    "sweep": "nowhere.toml",
    "explore": "--token nobody",  # too short: nothing is served
    "reproduce": "nobody1999",
}
TEXTS = {
    "nothing": "",
    "a word": "nobody",
    "a negative number": "-1",
    "zero": "0",
    "a fraction": "0.5",
    "not a number": "nan",
    "infinity": "inf",
    "large": "1e308",
    "larger than all": "1e999",
    "many digits": "9" * 30,
    "beyond 64 bits": str(2**64),
    "several": "1,2,3",
    "nothing between": "1,,2",
    "a range": "1:2:3",
    "a range of nothing": "2:1:0",
    "a range of too much": f"0:1:{10**15}",
    "colons": ":::",
    "a parameter": "swish:nan",
    "too many parameters": "leaky:1:2",
    "no parameter": "leaky:",
    "hyphens": "1--2",
    "no such folder": "/nowhere/at/all.nc",
    "a folder": "/",
    "another ending": "run.exe",
    "a letter": "é\n",
}
COMMANDS = typer.main.get_command(app).commands


def options(command):
    """Options with a text as value, other options, and positional arguments."""
    return [
        max(parameter.opts, key=len)
        for parameter in COMMANDS[command].params
        if not getattr(parameter, "is_flag", False) and "--help" not in parameter.opts
    ]


def test_every_command_is_tried():
    missing = sorted({*COMMANDS} - {*CHEAP})
    assert not missing, f"add cheap options of {', '.join(missing)} to CHEAP in {__file__}"


EACH = pytest.mark.parametrize(
    ("command", "option"), [(command, o) for command in COMMANDS for o in options(command)]
)
# Texts that hardly any option accepts, so that nothing is computed.
CHEAPEST = (
    *("nothing", "a word", "not a number", "nothing between"),
    *("a range of too much", "colons", "no such folder", "a letter"),
)


@EACH
def test_nonsense_is_refused_in_words(command, option, monkeypatch, capsys, tmp_path):
    """Every text is tried with a third of the options; the slow test below tries all pairs."""
    some = CHEAPEST[len(command + option) % 3 :: 3]
    tried(command, option, some, monkeypatch, capsys, tmp_path)


@pytest.mark.slow
@EACH
def test_texts_are_refused_in_words(command, option, monkeypatch, capsys, tmp_path):
    tried(command, option, TEXTS, monkeypatch, capsys, tmp_path)


def tried(command, option, texts, monkeypatch, capsys, tmp_path):
    """The command with each of the texts as value of the option."""
    monkeypatch.chdir(tmp_path)
    named = option.startswith("-")
    for what, text in ((name, TEXTS[name]) for name in texts):
        given = [option, text] if named else [text]
        base = CHEAP[command].split() if named else []
        monkeypatch.setattr(sys, "argv", ["tutelage", command, *base, *given])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        plt.close("all")
        message = f"{command} {option} {what}"
        assert end.value.code in (0, None, 2), f"{message}: {err}"
        assert "Traceback" not in err, message
        if end.value.code == 2:
            assert err.strip() and len(err) < 2000, message
        else:
            assert not re.search(r"\bnan\b", out), f"{message}: {out}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "online --until -3",
            "--until: got -3.0, but it has to be greater than 0. Try: --",
        ),
        ("online --weight-decay -1 --until 1", "--weight-decay: got -1.0"),
        ("online --teacher-norms 1,-2 --until 1", "--teacher-norms: got a matrix"),
        ("online --activation relu:1", "--activation: got 'relu:1', but relu has no parameter"),
        (
            "online --activation leaky:-1",
            "--activation: got 'leaky:-1', but its slope has",
        ),
        ("spectrum --data nofile.csv", "--data: got 'nofile.csv', but there is no such file"),
        ("specialize --teacher 4-x", "--teacher: got 'x'"),
        ("specialize --multiple 0", "--multiple: got 0"),
    ],
)
def test_messages_name_the_option_that_was_typed(line, words, run):
    code, out, err = run(*line.split())
    assert (code, out) == (2, "") and f"tutelage: {words}" in err
