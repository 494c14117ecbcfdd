"""Output on a terminal or in a file that lacks our letters."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tutelage
from tutelage.cli import entry
from tutelage.cli.encoding import make_encodable, readable

ASCII = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
COMMANDS = [command.callback.__name__ for command in entry.app.registered_commands]
HELP = (
    "import sys\n"
    "from tutelage.cli import main\n"
    f"for command in ([], *([name] for name in {COMMANDS})):\n"
    "    sys.argv = ['tutelage', *command, '--help']\n"
    "    try: main()\n"
    "    except SystemExit as done: assert not done.code\n"
    "loaded = {'jax', 'matplotlib', 'scipy', 'xarray', 'sklearn'} & set(sys.modules)\n"
    "assert not loaded, loaded"
)


def written(text, encoding):
    """The bytes that a stream of this encoding writes for a text."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    make_encodable(stream)
    stream.write(text)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding, "surrogateescape")


def test_letters_that_an_encoding_lacks_are_written_as_words():
    text = "η = 1.5 ± 0.1, R₁₂ ≤ √(Q T), ε_g → 10⁻³ – ├─┤ é"
    assert written(text, "utf-8") == text
    expected = "eta = 1.5 +/- 0.1, R_1_2 <= sqrt(Q T), epsilon_g -> 10^-^3 - +-+ e"
    assert written(text, "ascii") == expected
    assert written("± η é", "latin-1") == "± eta é"
    assert written("file \udcff", "utf-8") == "file \\udcff"


def test_every_letter_of_the_package_has_words():
    sources = Path(tutelage.__file__).parent.rglob("*.py")
    letters = set().union(*(path.read_text("utf-8") for path in sources))
    assert "η" in letters
    for letter in letters:
        assert letter.isascii() or (readable(letter).isascii() and "\\" not in readable(letter))


def test_help_is_readable_in_ascii_and_loads_nothing_that_computes():
    ended = subprocess.run([sys.executable, "-c", HELP], env=ASCII, capture_output=True)
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stderr == b"" and ended.stdout.isascii() and b"10^6" in ended.stdout
    assert b"?" not in ended.stdout and b"\\u" not in ended.stdout


def in_ascii(monkeypatch, run, *arguments):
    """Exit code, standard output and error of a command in this process, with streams in ASCII."""
    streams = [io.TextIOWrapper(io.BytesIO(), "ascii") for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    code, _, _ = run(*arguments)
    for stream in streams:
        stream.flush()
    return code, *(stream.buffer.getvalue().decode("ascii") for stream in streams)


def test_results_and_refusals_are_readable_in_ascii(monkeypatch, run):
    code, out, err = in_ascii(
        monkeypatch, run, "equilibrium", "--activation", "erf", "--units", "3"
    )
    assert (code, err) == (0, "") and "alpha" in out and "\\" not in out
    code, out, err = in_ascii(monkeypatch, run, "online", "--start-r", "5")
    assert (code, out) == (2, "") and "it is at most sqrt(Q T) = " in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "online --activation erf --until 1 --fixed-points --critical",
        "simulate --activation erf --dimension 50 --runs 2 --until 1 --theory",
        "equilibrium --activation erf --units 3",
        "spectrum --epochs 2 --hidden 3",
        "specialize --epochs 1",
        "sweep example",
        "reproduce nobody2000",
    ],
)
def test_no_command_fails_in_ascii(command):
    words = [sys.executable, "-m", "tutelage.cli", *command.split()]
    ended = subprocess.run(words, env=ASCII, capture_output=True)
    assert b"Traceback" not in ended.stderr, ended.stderr.decode()
    assert ended.returncode == (2 if "nobody" in command else 0), ended.stderr.decode()
    assert (ended.stdout + ended.stderr).isascii()
