"""Help texts that fit the terminal, and suggestions for unknown options and units.

``docs/not_here.md`` lists what this package does not have, and where to find it.
"""

import shutil
import textwrap
from collections.abc import Iterable
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tutelage._checks import InputError
from tutelage._names import PAGE, unknown_name_error
from tutelage.cli.encoding import encodable
from tutelage.cli.option_groups import write_options

# Arguments of Python functions whose option has another name.
OPTIONS = {
    "teacher_overlaps": ["--teacher-norms"],
    "hidden": ["--teacher"],
    "path": ["--data", "--export"],
    "starts": ["--landscape"],
    "error": ["--best-error"],
}
UNITS = {
    "step": "its derivative is a delta function, so gradient descent has no direction",
    "sign": "its derivative is a delta function, so gradient descent has no direction",
    "softmax": "units of the theory depend on one field each",
}
# On narrower terminals descriptions are written below the options.
NARROW_COLUMNS = 60
# A limit on the length of a summary that no summary exceeds.
UNLIMITED = 1000


class Narrow:
    """Help for narrow terminals; click needs at least 50 columns."""

    def get_help(self, context: Any) -> str:
        columns = shutil.get_terminal_size().columns
        formatter = context.make_formatter()
        if columns < NARROW_COLUMNS:
            formatter.width = columns
            formatter.write_dl = partial(_write_below, formatter)
        self.format_help(context, formatter)  # type: ignore[attr-defined]
        return encodable(formatter.getvalue().rstrip("\n"))

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the whole summary, wrapped where it is too long for one line."""
        return super().get_short_help_str(UNLIMITED)  # type: ignore[misc]


def _write_below(formatter: Any, rows: Iterable[tuple[str, str]]) -> None:
    """Write each description below its option, for narrow terminals."""
    for name, description in rows:
        for text, indent in ((name, "  "), (description, "      ")):
            lines = textwrap.wrap(
                text, formatter.width, initial_indent=indent, subsequent_indent=indent
            )
            formatter.write("".join(f"{line}\n" for line in lines))


class CommandGroup(Narrow, TyperGroup):
    """The command group ``tutelage``."""


class Command(Narrow, TyperCommand):
    """A command that suggests alternatives for unknown options."""

    context_class = typer.Context

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write every example on a separate line."""
        title, *commands = (self.epilog or "").splitlines()
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(title)
            with formatter.indentation():
                for command in commands:
                    formatter.write_text(command)

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        try:
            return super().parse_args(context, arguments)
        except Exception as problem:  # typer's own since 0.26, before that click's
            name = getattr(problem, "option_name", None)  # of an unknown option
            if name is None or not str(problem).startswith("No such option"):
                raise
            raise unknown_option(name, self) from None

    def invoke(self, context: Any) -> Any:
        try:
            return super().invoke(context)
        except InputError as problem:
            raise as_option(problem, self) from None


def as_option(problem: InputError, command: Any) -> InputError:
    """Rewrite an error about an argument as one about the option of that argument."""
    options = [option for parameter in command.params for option in parameter.opts]
    name = problem.argument
    for option in (f"--{name.replace('_', '-')}", *OPTIONS.get(name, [])):
        if option in options:
            hint = problem.hint.replace(f"{name}=", f"{option} ")
            return InputError(option, problem.received, problem.allowed, hint)
    return problem


def unknown_option(name: str, command: Any) -> InputError:
    """Return the error for an unknown option: why it does not exist, or a similar one."""
    options = [option for parameter in command.params for option in parameter.opts]
    received = f"an option that tutelage {command.name} does not have"
    return unknown_name_error(
        name, received, options, f"tutelage {command.name} --help lists the options"
    )


def unknown_unit(option: str, text: str, names: Any) -> InputError:
    """Return the error for an unknown activation: why it does not exist, or the known ones."""
    allowed = f"it has to be one of {', '.join(names)}"
    why = UNITS.get(text.partition(":")[0].lower())
    if why:
        return InputError(option, repr(text), f"{why}; {allowed}", PAGE)
    return InputError(option, repr(text), allowed, f"{option} leaky:0.1")
