"""Long work prints its progress and remaining time; short work prints nothing in a log."""

import io
import re
import time

import pytest
from good_calls import CALLS, public

from tutelage.runs import progress
from tutelage.runs.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def log_of(monkeypatch):
    """The text written to stderr from now on, which is no terminal; the first line comes soon."""
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(progress, "FIRST_LINE_SECONDS", 0.05)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.05)
    return written


def test_a_log_has_a_line_now_and_then_with_the_time_that_is_left(monkeypatch):
    log = log_of(monkeypatch)
    with Progress(True, 100, "epochs") as bar:
        bar.show(25)
        time.sleep(0.4)
    lines = log.getvalue().splitlines()
    assert 2 <= len(lines) <= 8
    said = r"tutelage: 25 of 100 epochs after \d s, at most about \d s left"  # of a busy machine
    assert re.fullmatch(said, lines[0])


def test_work_of_unknown_length_prints_the_elapsed_time(monkeypatch):
    log = log_of(monkeypatch)
    with Progress(True, None, "computing"):
        time.sleep(0.2)
    assert log.getvalue().splitlines()[0] == "tutelage: computing: 0 s so far"


def test_short_work_and_work_without_progress_print_nothing(monkeypatch):
    log = log_of(monkeypatch)
    with Progress(False, 100):
        time.sleep(0.2)
    monkeypatch.setattr(progress, "FIRST_LINE_SECONDS", 10.0)
    with Progress(True, 100):
        time.sleep(0.2)
    assert log.getvalue() == ""


def test_long_work_without_progress_warns_once_of_its_duration(monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LONG_REST_SECONDS", 1.0)
    with Progress(False, 1000, "epochs") as bar:
        bar.show(1)  # compiled
        time.sleep(0.1)
        with pytest.warns(RuntimeWarning, match="2 of 1000 epochs .* left; progress=True"):
            bar.show(2)
        bar.show(3)
    with Progress(False, 3, "epochs") as bar:  # nearly done
        bar.show(1)
        time.sleep(0.1)
        bar.show(2)


def test_what_was_done_before_took_no_time():
    bar = Progress(True, 100, "steps")
    bar.start_from(80)
    bar.show(90)
    assert bar.words(60.0) == "90 of 100 steps after 60 s, about 60 s left"


def test_what_the_first_units_take_to_compile_is_not_taken_for_the_pace(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    bar = Progress(True, 139, "starts")
    assert bar.words(5.0) == "0 of 139 starts after 5 s"
    clock[0] = 10.0
    bar.show(1)
    assert bar.words(10.0) == "1 of 139 starts after 10 s, at most about 23 min left"
    bar.show(11)
    assert bar.words(12.0) == "11 of 139 starts after 12 s, about 26 s left"


def test_a_terminal_has_a_bar_that_goes_away(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress(True, 10, "loads") as bar:
        bar.show(5)
    assert "loads" in screen.getvalue() and "tutelage:" not in screen.getvalue()


def test_a_sweep_prints_its_points_per_second(monkeypatch):
    screen, clock = Terminal(), [0.0]
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Progress(True, 900, "points", per_second=True) as bar:
        for clock[0] in (10.0, 12.0, 14.0):
            bar.add(100)
        bar.rename("points, 3 failed")
        bar._bar.refresh()
        said = bar.words(14.0)
    assert said == "300 of 900 points, 3 failed after 14 s, 50 per second, about 12 s left"
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert re.search(r"points, 3 failed .* 300/900 \S+/s \d:\d\d:\d\d", shown)


class StoredProgress(list, Progress):
    """A replacement of Progress that stores its arguments."""

    def __call__(self, wanted, total=None, what="examples"):
        self.total, self.what = total, what
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def show(self, done):
        self.append(done)

    def add(self, units):
        self.append((self[-1] if self else 0) + units)


PROGRESS = {
    "spectra.train": ("spectra.training", "gradients"),
    "equilibrium.learning_curve": ("equilibrium.symmetric.curve", "states"),
    "online.fixed_points": ("online.stationary.search", "starts"),
    "online.critical_learning_rates": (
        "online.stationary.critical_rates",
        "critical learning rates",
    ),
    "online.evolve_symmetric": ("online.symmetric.trajectory", "time α"),
}


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(
            function,
            marks=[pytest.mark.slow] * (function in ("spectra.train", "online.evolve_symmetric")),
        )
        for function in PROGRESS
    ],
)
def test_long_work_prints_progress_from_start_to_end(function, monkeypatch):
    module, units = PROGRESS[function]
    message = StoredProgress()
    monkeypatch.setattr(f"tutelage.{module}.Progress", message)
    public()[function](**CALLS[function](), progress=True)
    assert message.what == units and message == sorted(message)
    assert 0 < message[0] <= message[-1] == message.total or function == "online.evolve_symmetric"
    assert len(message) > 1 or message.total == 1
