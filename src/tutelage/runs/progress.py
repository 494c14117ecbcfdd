"""A bar on a terminal, silence in a log."""

from types import TracebackType
from typing import Any


class Progress:
    """Shows how many examples of all have been learned, if asked to and if someone can see it."""

    def __init__(self, wanted: bool, total: int):
        self._wanted, self._total = wanted, total
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        if self._wanted:
            from rich.console import Console
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            if console.is_terminal:
                self._bar = Bar(console=console, transient=True)
                self._task = self._bar.add_task("examples", total=self._total)
                self._bar.start()
        return self

    def show(self, learned: int) -> None:
        """Set the number of examples learned so far, in all runs together."""
        if self._bar is not None:
            self._bar.update(self._task, completed=learned)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
