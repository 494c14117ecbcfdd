"""A bar on a terminal, silence in a log."""

from types import TracebackType
from typing import Any


class Progress:
    """Shows how much of all work is done, if asked to and if someone can see it.

    total: units of work, such as examples or epochs, whose name is ``what``.
    """

    def __init__(self, wanted: bool, total: int, what: str = "examples"):
        self._wanted, self._total, self._what = wanted, total, what
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        if self._wanted:
            from rich.console import Console
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            if console.is_terminal:
                self._bar = Bar(console=console, transient=True)
                self._task = self._bar.add_task(self._what, total=self._total)
                self._bar.start()
        return self

    def show(self, done: int) -> None:
        """Set how many units of work are done, in all runs together."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
