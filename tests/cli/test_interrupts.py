"""Ctrl-C in every command at any time: a message, the exit code 130, and no lost results.

The signal to terminate, of a batch system, is the same with the code 143.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tutelage import results

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tutelage.cli"]
LONG = {
    "online": ["--activation", "gelu", "--student", "3", "--teacher", "3"],
    "simulate": ["--until", "1000000", "--runs", "100"],
    "equilibrium": ["--activation", "softplus", "--units", "7", "--loads", "0:100:100000"],
    "spectrum": ["--epochs", "100000000"],
    "specialize": ["--epochs", "100000"],
    "reproduce": [],
}


def started(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(folder)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [*COMMAND, *arguments], **streams, cwd=folder, env=environment, text=True
    )


INTERRUPTED, TERMINATED = 130, 143
BEFORE_WORK = "tutelage: interrupted before any work began"


def interrupted(process, by=signal.SIGINT):
    """Exit code and output after Ctrl-C."""
    process.send_signal(by)
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err and "ignored" not in err and out == ""
    return process.returncode, err


def wait_for(file, process):
    """Wait until a command has written a file or has ended, three minutes at most."""
    for _ in range(3600):
        if file.exists() or process.poll() is not None:
            break
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("online", 0.3),  # while libraries are loaded
        *(pytest.param(name, 4.0, marks=pytest.mark.slow) for name in LONG),
        *(
            pytest.param("online", t, marks=pytest.mark.slow)
            for t in (0.2, 0.6, 1.0, 1.5, 2.0, 8.0)
        ),
    ],
)
def test_ctrl_c_ends_in_words(tmp_path, command, seconds):
    process = started(tmp_path, command, *LONG[command])
    time.sleep(seconds)
    code, err = interrupted(process)
    assert code == INTERRUPTED
    *before, last = err.splitlines()
    assert last == BEFORE_WORK or last.startswith("tutelage: interrupted; ")
    assert "begin" in last or "began" in last or "continues" in last
    # Lines that a log gets during long work.
    assert all(line.startswith("tutelage: ") for line in before)
    assert sorted(path.name for path in tmp_path.iterdir()) in ([], ["report"])


LOST = """
class Lost:
    def __del__(self):  # Python ignores what is raised here
        signal.raise_signal(signal.SIGINT)

Lost()
time.sleep(60)
"""
LOADING = """
pathlib.Path("loaded.py").write_text("import signal; signal.raise_signal(signal.SIGINT); x = 1")
import loaded
said = f"loaded {loaded.x}, "
time.sleep(60)
"""
CHANGED = """
try:
    signal.raise_signal(signal.SIGINT)
finally:
    time.sleep(0.3)  # nor is what is done now interrupted again
    said = "finally "
    [].pop()
"""


TERMINATE = "signal.raise_signal(signal.SIGTERM)\ntime.sleep(60)"


@pytest.mark.parametrize(
    ("moment", "words", "exit_code"),
    [
        (LOST, "", INTERRUPTED),
        (LOADING, "loaded 1, ", INTERRUPTED),
        (CHANGED, "finally ", INTERRUPTED),
        (TERMINATE, "", TERMINATED),
        (LOADING.replace("SIGINT", "SIGTERM"), "loaded 1, ", TERMINATED),
    ],
    ids=["lost", "loading", "changed", "terminate", "terminate while loading"],
)
def test_an_interrupt_waits_for_imports_and_is_resent_if_it_was_lost(
    tmp_path, moment, words, exit_code
):
    code = "import pathlib, signal, sys, time\n"
    code += "from tutelage.cli.interrupts import DeferredSignals, is_interrupt\n"
    code += "sys.path.insert(0, '.')\nsaid = ''\nwith DeferredSignals():\n  try:\n"
    code += "".join(f"    {line}\n" for line in moment.splitlines())
    code += "  except BaseException as problem:\n"
    code += "    print(said + 'heard' if is_interrupt(problem) else problem)\n    sys.exit()\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        **{"cwd": tmp_path, "env": environment, "timeout": 30, "text": True},
        capture_output=True,
    )
    said = (ended.returncode, ended.stdout, ended.stderr)
    assert said == (exit_code, f"{words}heard\n", "")


RUNS = ["simulate", "--student", "1", "--teacher", "1", "--activation", "erf", "--dimension", "50"]
RUNS += ["--runs", "8"]


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_what_a_checkpoint_has_is_gone_on_from(tmp_path, by):
    file = tmp_path / "runs.npz"
    options = [*RUNS, "--until", "300000", "--checkpoint", "runs.npz"]
    process = started(tmp_path, *options)
    wait_for(file, process)
    code, err = interrupted(process, by)
    *_, last = err.splitlines()  # after lines of progress
    assert last == "tutelage: interrupted; the same command continues from runs.npz"
    assert code == 128 + by
    assert file.is_file()


@pytest.mark.slow
def test_the_runs_are_saved_before_the_theory_begins(tmp_path):
    """The theory of a unit without a closed form, which takes too long to wait for."""
    options = ["simulate", "--activation", "gelu", "--student", "3", "--teacher", "3"]
    options += ["--dimension", "60", "--runs", "8", "--until", "2", "--theory", "--out", "runs.csv"]
    process = started(tmp_path, *options)
    wait_for(tmp_path / "runs.csv", process)
    time.sleep(1.0)
    code, err = interrupted(process)
    assert code == INTERRUPTED
    assert err.splitlines()[-1] == "tutelage: interrupted; the runs: in runs.csv"
    assert results.load(tmp_path / "runs.csv").sizes["run"] == 8


@pytest.mark.parametrize("kept", [True, False], ids=["--out", "nowhere"])
def test_an_interrupt_after_the_runs_prints_where_they_are_saved(run, monkeypatch, tmp_path, kept):
    from tutelage.cli import simulate
    from tutelage.runs import files

    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(simulate, "_evolve", interrupt)
    out = tmp_path / "runs.nc"
    options = [*RUNS, "--until", "1", "--theory", *(["--out", str(out)] if kept else [])]
    code, printed, err = run(*options)
    assert (code, printed) == (INTERRUPTED, "")
    (file,) = [out] if kept else tmp_path.glob("tutelage-*/result.nc")
    words = f"in {out}" if kept else f"saved in {file}"
    assert err == f"tutelage: interrupted; the runs: {words}\n"
    loaded = results.load(file)
    np.testing.assert_array_equal(results.recompute(loaded)["R"], loaded["R"])
