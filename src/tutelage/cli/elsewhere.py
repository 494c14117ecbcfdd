"""What people look for and is not here, by the words they use for it.

``docs/not_here.md`` has the whole list, and where to find each thing.
"""

import shutil
import textwrap
from collections.abc import Iterable
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

from tutelage._checks import InputError
from tutelage._names import PAGE, unknown_name_error
from tutelage.cli.encoding import encodable

# Arguments of Python that have another name among the options of a command.
OPTIONS = {
    "teacher_overlaps": ["--teacher-norms"],
    "hidden": ["--teacher"],
    "path": ["--data", "--export"],
    "starts": ["--landscape"],
}
UNITS = {
    "step": "its derivative is a delta function, and gradient descent has nowhere to go",
    "sign": "its derivative is a delta function, and gradient descent has nowhere to go",
    "softmax": "the theory has units that see one field each",
}
# Below this width descriptions have too little space next to the options.
NARROW_COLUMNS = 60
# More letters than a summary has.
UNLIMITED = 1000


class Narrow:
    """Help that fits a narrow terminal; click writes 50 columns at least."""

    def get_help(self, context: Any) -> str:
        columns = shutil.get_terminal_size().columns
        formatter = context.make_formatter()
        if columns < NARROW_COLUMNS:
            formatter.width = columns
            formatter.write_dl = partial(_write_below, formatter)
        self.format_help(context, formatter)  # type: ignore[attr-defined]
        return encodable(formatter.getvalue().rstrip("\n"))

    def get_short_help_str(self, limit: int = 45) -> str:
        """The whole summary, on several lines where one is too short."""
        return super().get_short_help_str(UNLIMITED)  # type: ignore[misc]


def _write_below(formatter: Any, rows: Iterable[tuple[str, str]]) -> None:
    """Write descriptions below what they describe, not next to it."""
    for name, description in rows:
        for text, indent in ((name, "  "), (description, "      ")):
            lines = textwrap.wrap(
                text, formatter.width, initial_indent=indent, subsequent_indent=indent
            )
            formatter.write("".join(f"{line}\n" for line in lines))


class Group(Narrow, TyperGroup):
    """The command ``tutelage`` before its subcommands."""


class Command(Narrow, TyperCommand):
    """A command that says where to find what it does not have."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        try:
            return super().parse_args(context, arguments)
        except Exception as problem:  # typer's own since 0.26, before that click's
            name = getattr(problem, "option_name", None)  # of an option that there is not
            if name is None or not str(problem).startswith("No such option"):
                raise
            raise unknown_option(name, self) from None

    def invoke(self, context: Any) -> Any:
        try:
            return super().invoke(context)
        except InputError as problem:
            raise as_option(problem, self) from None


def as_option(problem: InputError, command: Any) -> InputError:
    """The same of an option, where the argument that is refused is one of the command's."""
    there = [option for parameter in command.params for option in parameter.opts]
    name = problem.argument
    for option in (f"--{name.replace('_', '-')}", *OPTIONS.get(name, [])):
        if option in there:
            hint = problem.hint.replace(f"{name}=", f"{option} ")
            return InputError(option, problem.received, problem.allowed, hint)
    return problem


def unknown_option(name: str, command: Any) -> InputError:
    """Why there is none, if that is known; else what it may have been meant to be."""
    there = [option for parameter in command.params for option in parameter.opts]
    received = f"an option that tutelage {command.name} does not have"
    return unknown_name_error(
        name, received, there, f"tutelage {command.name} --help lists those that it has"
    )


def unknown_unit(option: str, text: str, names: Any) -> InputError:
    """Why there is no such unit, if that is known; else which there are."""
    allowed = f"it has to be one of {', '.join(names)}"
    why = UNITS.get(text.partition(":")[0].lower())
    if why:
        return InputError(option, repr(text), f"{why}; {allowed}", PAGE)
    return InputError(option, repr(text), allowed, f"{option} leaky:0.1")
