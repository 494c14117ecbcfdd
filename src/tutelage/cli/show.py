"""What both subcommands need to print: a console, plain text, numbers for JSON."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

LOG_WIDTH = 160  # a log has no width of its own; this is what the widest table needs
Result = TypeVar("Result")


def console(stderr: bool = False) -> "Console":
    """A console that is as wide as its terminal, and wide enough in a log."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = LOG_WIDTH
    return made


def waiting(compute: Callable[[], Result]) -> Result:
    """The result, with a sign of life on a terminal and silence in a log."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        return compute()
    with screen.status("computing"):
        return compute()


def plain(text: str) -> str:
    """Square brackets are matrices here, not markup."""
    return text.replace("[", r"\[")


def for_json(value: Any) -> Any:
    """Nested lists of numbers; what is not finite, which JSON lacks, becomes None."""
    if isinstance(value, list):
        return [for_json(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def use_files_only() -> None:
    """Pictures go to files: no window, and no display needed."""
    import matplotlib

    matplotlib.use("Agg")
