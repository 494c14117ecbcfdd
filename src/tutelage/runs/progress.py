"""Progress of long work: a bar on a terminal, occasional lines in a log."""

import sys
import threading
import time
import warnings
from types import TracebackType
from typing import Any

# Seconds until the first line in a log, and between further lines; shorter work prints none.
FIRST_LINE_SECONDS, SECONDS_BETWEEN_LINES = 10.0, 30.0
# If no progress is requested, a warning comes after SILENT_SECONDS if LONG_REST_SECONDS are left.
SILENT_SECONDS, LONG_REST_SECONDS = 60.0, 600.0


class Progress:
    """Print how much of some work is done and how long the rest will take.

    wanted: if False, print nothing, except a warning after a minute if the rest takes ten.
    total: units of work, such as examples or epochs; None if unknown.
    what: the name of the units, or of the work itself.
    per_second: whether to print units per second, too.

    A separate thread prints, also during a compiled call.  The time of the rest is estimated from
    the speed after the first units, which compile programs.

    >>> with Progress(True, 3, "steps") as bar:  # short work: nothing in a log
    ...     bar.show(1)
    ...     bar.show(2)
    >>> bar.words(20.0)
    '2 of 3 steps after 20 s, about 20 s left'
    """

    def __init__(
        self,
        wanted: bool,
        total: float | None = None,
        what: str = "examples",
        *,
        per_second: bool = False,
    ):
        self._wanted, self._total, self._what = wanted, total, what
        self._per_second = per_second
        self._done = 0.0
        self._first: tuple[float, float] | None = None  # time and units of the first call of `show`
        self._bar: Any = None
        self._warned = False
        self._over = threading.Event()
        self._begun = time.monotonic()

    def __enter__(self) -> "Progress":
        self._begun = time.monotonic()
        if not self._wanted:
            return self
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_terminal:
            self._bar = _bar(self._total, console, self._per_second)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        else:
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def start_from(self, done: float) -> None:
        """Set the units that an earlier run finished before this one resumed from a checkpoint."""
        self._first = (0.0, done)
        self.show(done)

    def show(self, done: float) -> None:
        """Set the number of finished units, summed over all runs."""
        self._done = done
        if self._first is None and done > 0:
            self._first = (time.monotonic() - self._begun, done)
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif not self._wanted:
            self._warn(time.monotonic() - self._begun)

    def add(self, units: float) -> None:
        """Add finished units."""
        self.show(self._done + units)

    def rename(self, what: str) -> None:
        """Change the name of the units, for example to "points, 3 failed"."""
        self._what = what
        if self._bar is not None:
            self._bar.update(self._task, description=what)

    def words(self, seconds: float) -> str:
        """Describe the finished work and the remaining time, after this many seconds."""
        if self._total is None:
            return f"{self._what}: {in_words(seconds)} so far"
        rest, (then, first) = "", self._first or (seconds, self._done)
        left = self._left(seconds)
        if left is not None:
            rest = f", about {in_words(left)} left"
            if self._per_second:
                rest = f", {(self._done - first) / (seconds - then):.3g} per second{rest}"
        elif first > 0 and then > 0:
            rest = f", at most about {in_words(seconds * (self._total - first) / first)} left"
        done = f"{self._done:.6g} of {self._total:.6g} {self._what}"
        return f"{done} after {in_words(seconds)}{rest}"

    def _left(self, seconds: float) -> float | None:
        """Estimate the remaining seconds; None until units after the first call are finished."""
        then, first = self._first or (seconds, self._done)
        if self._total is None or self._done <= first:
            return None
        return (seconds - then) * (self._total - self._done) / (self._done - first)

    def _warn(self, seconds: float) -> None:
        """Warn once if much time remains."""
        left = self._left(seconds)
        if self._first is None or left is None or self._warned:
            return
        if seconds - self._first[0] > SILENT_SECONDS and left > LONG_REST_SECONDS:
            self._warned = True
            words = f"{self.words(seconds)}; progress=True prints the progress"
            warnings.warn(words, RuntimeWarning, stacklevel=3)

    def _print_lines(self) -> None:
        wait = FIRST_LINE_SECONDS
        while not self._over.wait(wait):
            words = self.words(time.monotonic() - self._begun)
            print(f"tutelage: {words}", file=sys.stderr, flush=True)
            wait = SECONDS_BETWEEN_LINES

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._bar is not None:
            self._bar.stop()


def in_words(seconds: float) -> str:
    """Format a duration.

    >>> in_words(3.2), in_words(125), in_words(3 * 86400), in_words(1e12)
    ('3 s', '2 min', '72 h', '31688 years')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    if seconds < 360_000:
        return f"{seconds / 3600:.0f} h"
    days = seconds / 86400
    return f"{days:.0f} days" if days < 1000 else f"{days / 365.25:.0f} years"


def _bar(total: float | None, console: Any, per_second: bool) -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress as Bar,
        ProgressColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Pace(ProgressColumn):
        """Rate of work in units per second."""

        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.3g}/s", style="progress.data.speed")

    done = (MofNCompleteColumn(), Pace()) if per_second else (TaskProgressColumn(),)
    remaining_time = () if total is None else (*done, TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *remaining_time, TimeElapsedColumn())
    return Bar(*columns, console=console, transient=True)
