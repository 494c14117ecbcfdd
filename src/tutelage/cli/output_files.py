"""Files of the commands, and saving of results when a command is interrupted.

Whether files can be written is known before the work begins.  If a file or the standard output
cannot be written, or after Ctrl-C, a message names the place of the result and the command that
continues.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from tutelage.cli.interrupts import interrupted, is_interrupt
from tutelage.runs import files

if TYPE_CHECKING:
    import xarray as xr

NOTHING = "nothing was saved, and the same command starts from the beginning"
ENDINGS = {
    "--out": (".nc", ".csv"),
    "--plot": (".png", ".pdf", ".svg"),
    "--checkpoint": (".npz",),
    "--animation": (".gif",),
}


class Files:
    """The output files of a command: its options ``out``, ``plot``, ``animation`` and
    ``checkpoint``.

    with Files(out=out, plot=plot) as files:
        run = …
        files.save(run, "the curves")
        files.draw(lambda figures: …)
        print(…)

    style: of the picture, "screen" or "paper".
    continues: whether the command has the option ``--checkpoint``.
    folder: of a report, which contains the finished parts.

    A file that cannot be written is an `InputError` before the block.  After the block the exit
    code is 1 if a file could not be written, 130 after Ctrl-C and 143 after the signal to
    terminate.
    """

    def __init__(
        self,
        *,
        out: Path | None = None,
        plot: Path | None = None,
        animation: Path | None = None,
        checkpoint: Path | None = None,
        continues: bool = False,
        folder: Path | None = None,
        style: str = "screen",
    ):
        options = {"--out": out, "--plot": plot, "--animation": animation}
        for option, path in {**options, "--checkpoint": checkpoint}.items():
            if path is not None:
                hint = f"{option} run{ENDINGS[option][0]}"
                files.check_writable(option, path, ENDINGS[option], hint)
        self._out, self._plot, self._animation = out, plot, animation
        self._checkpoint, self._continues, self._folder = checkpoint, continues, folder
        self._style = style
        self._result: tuple[xr.Dataset, str] | None = None
        self._where = ""  # where the result was saved, in words
        self._failed = False

    def save(self, result: "xr.Dataset", what: str) -> None:
        """Write the result to ``--out``, or remember it if there is no such option; ``what`` names
        it.
        """
        self._result = result, what
        if self._out is not None:
            from tutelage import results

            place = self._write(self._out, lambda path: results.save(result, path))
            self._where = place or f"in {self._out}"

    def draw(self, picture: Callable[[Any], Any]) -> None:
        """Write ``--plot``; ``picture`` gets `tutelage.figures` and returns a figure.

        The caption is in the file, as its description.
        """
        if self._plot is None:
            return
        figures = _figures()
        with figures.style(self._style):
            figure = picture(figures)
            name = "Subject" if self._plot.suffix == ".pdf" else "Description"
            metadata = {name: figures.caption(figure.axes)}

            def draw(path: Path) -> None:
                with files.replacing(path) as file:
                    figure.savefig(file, metadata=metadata)

            self._write(self._plot, draw)

    def animate(self, film: Callable[[Any, Path], Any]) -> None:
        """Write ``--animation``; ``film`` gets `tutelage.figures` and writes to a path."""
        if self._animation is not None:
            figures = _figures()
            self._write(self._animation, lambda path: film(figures, path))

    def _write(self, path: Path, writing: Callable[[Path], Any]) -> str:
        """Write to the path, or on failure to another place; return "" or a message with that
        place.
        """
        try:
            writing(path)
            return ""
        except OSError as problem:
            self._failed = True
            words = files.save_elsewhere(writing, path.name)
            say(f"{str(path)!r} could not be written ({files.reason(problem)}); {words}")
            return words

    def __enter__(self) -> "Files":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        problem = problem or flushed()
        if is_interrupt(problem):
            say_interrupted(self._saved_words())
            raise typer.Exit(interrupted()) from None
        if is_of_output(problem):
            say(f"{unprinted(problem)}; {self._saved_words()}")
            raise typer.Exit(1) from None
        if isinstance(problem, Exception) and self._result is not None:
            say(self._saved_words())
        if problem is None and self._failed:
            raise typer.Exit(1)

    def _saved_words(self) -> str:
        """Describe the saved files, and how to continue."""
        if self._folder is not None:
            return in_folder(self._folder)
        if self._result is not None:
            return f"{self._result[1]}: {self._where or self._elsewhere()}"
        if self._checkpoint is not None and self._checkpoint.exists():
            return f"the same command continues from {self._checkpoint}"
        if self._continues and self._checkpoint is None:
            return f"{NOTHING}; with --checkpoint run.npz it would continue"
        return NOTHING

    def _elsewhere(self) -> str:
        from tutelage import results

        result, _ = self._result  # type: ignore[misc]
        return files.save_elsewhere(lambda path: results.save(result, path), "result.nc")


def in_folder(folder: Path) -> str:
    return f"finished parts are saved in {folder}, and the same command continues from there"


def say(words: str) -> None:
    """Print to stderr."""
    print(f"tutelage: {words}", file=sys.stderr)


def say_interrupted(words: str) -> None:
    newline = "\n" if sys.stderr.isatty() else ""  # a terminal shows ^C on this line
    print(f"{newline}tutelage: interrupted; {words}", file=sys.stderr)


def flushed() -> OSError | None:
    """Flush stdout; return the error if that fails."""
    try:
        sys.stdout.flush()
        return None
    except OSError as problem:
        return problem


def is_of_output(problem: BaseException | None) -> bool:
    """Return whether an error came from printing: it has no file name."""
    return isinstance(problem, OSError) and problem.filename is None and bool(problem.errno)


def unprinted(problem: Any) -> str:
    """Describe a failed write to stdout, and discard what Python would write at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return f"the standard output could not be written ({files.reason(problem)})"


def _figures() -> Any:
    use_files_only()
    from tutelage import figures

    return figures


def use_files_only() -> None:
    """Draw pictures to files, without a window or a display."""
    import matplotlib

    matplotlib.use("Agg")
