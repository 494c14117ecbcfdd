"""What people look for and is not here, by the words they use for it.

``docs/not_here.md`` has the whole list, and where to find each thing.
"""

import difflib
from typing import Any

from typer.core import TyperCommand
from typer.exceptions import TyperException

from tutelage._checks import InputError

PAGE = "docs/not_here.md, What is not here"
# Options that one might try, and why there are none.
OPTIONS = {
    "--batch": "on-line learning uses one example after the other, and batches are not here yet",
    "--momentum": "the equations of on-line learning are those of plain gradient descent",
    "--optimizer": "the equations of on-line learning are those of plain gradient descent",
    "--temperature": "equilibrium is computed in the limit of a high temperature",
    "--readout": "the second layer is fixed: all its weights are the output scale",
    "--hidden": "the theory has one hidden layer, of --student and --teacher units",
    "--bias": "units of the theory have no bias",
    "--drift": "teachers do not change",
    "--device": "JAX chooses where to compute",
    "--gpu": "JAX chooses where to compute",
    "--epochs": "every example is seen once, until --until",
    "--examples": "every example is seen once, until --until",
}
UNITS = {
    "step": "its derivative is a delta function, and gradient descent has nowhere to go",
    "sign": "its derivative is a delta function, and gradient descent has nowhere to go",
    "softmax": "the theory has units that see one field each",
}
# Suggested are options that differ by a slip, not by a meaning.
ALIKE = 0.7


class Command(TyperCommand):
    """A command that says where to find what it does not have."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        try:
            return super().parse_args(context, arguments)
        except TyperException as problem:
            name = getattr(problem, "option_name", None)  # of an option that there is not
            if name is None or not str(problem).startswith("No such option"):
                raise
            raise unknown_option(name, self) from None


def unknown_option(name: str, command: Any) -> InputError:
    """Why there is none, if that is known; else what it may have been meant to be."""
    came = f"an option that tutelage {command.name} does not have"
    if name in OPTIONS:
        return InputError(name, came, OPTIONS[name], PAGE)
    there = [option for parameter in command.params for option in parameter.opts]
    alike = difflib.get_close_matches(name, there, n=1, cutoff=ALIKE)
    allowed = f"tutelage {command.name} --help lists those that it has"
    return InputError(name, came, allowed, alike[0] if alike else PAGE)


def unknown_unit(option: str, text: str, names: Any) -> InputError:
    """Why there is no such unit, if that is known; else which there are."""
    allowed = f"it has to be one of {', '.join(names)}"
    why = UNITS.get(text.partition(":")[0].lower())
    if why:
        return InputError(option, repr(text), f"{why}; {allowed}", PAGE)
    return InputError(option, repr(text), allowed, f"{option} leaky:0.1")
