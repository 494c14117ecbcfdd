"""The command ``tutelage``: its subcommands, its version, and how errors are reported."""

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

import tutelage
from tutelage._checks import ComputationError, InputError
from tutelage.cli.equilibrium import equilibrium
from tutelage.cli.explore import explore
from tutelage.cli.online import online
from tutelage.cli.output_files import NOTHING, is_of_output, say, say_interrupted, unprinted
from tutelage.cli.reproduce import reproduce
from tutelage.cli.simulate import simulate
from tutelage.cli.specialize import specialize
from tutelage.cli.spectrum import spectrum
from tutelage.cli.suggestions import Command, CommandGroup
from tutelage.cli.sweep import sweep

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the same plain help on a terminal and in a log
    context_settings={"help_option_names": ["-h", "--help"]},
)


def examples(*commands: str) -> str:
    """Return the end of a help text: commands to copy, one per line."""
    title = "Examples:" if len(commands) > 1 else "Example:"
    return "\n".join([title, *(f"tutelage {command}" for command in commands)])


COMMANDS: dict[Callable[..., None], tuple[str, ...]] = {
    online: (
        "online --student 2 --teacher 3 --until 1000 --plot run.png",
        "online --readout 1,-1 --teacher-readout 1,2 --readout-rate 0.5",
        "online --optimizer muon --large-batch 1 --learning-rate 0.1",
        "online --best-error 1e-3 --checkpoint search.npz",
        "online --student 7 --teacher 7 --landscape 100 --out minima.nc",
    ),
    simulate: (
        "simulate --dimension 1000 --until 50 --theory --plot runs.png",
        "simulate --readout 1,-1 --teacher-readout 1,2 --readout-rate 0.5",
    ),
    equilibrium: ("equilibrium --activation erf --units 5 --plot erf.png",),
    spectrum: ("spectrum --data digits --activation swish --plot spectrum.png",),
    specialize: ("specialize --teacher 50-75-100-125 --multiple 10 --polarity 1",),
    sweep: ("sweep example > study.toml", "sweep study.toml --store study --plot heat.png"),
    explore: ("explore", "explore --export talk.html"),
    reproduce: ("reproduce oostwal2019 straat2019 --json",),
}
for _command, _examples in COMMANDS.items():
    app.command(cls=Command, epilog=examples(*_examples))(_command)


def main() -> None:
    """Run the command; print errors as messages.

    The exit code is 2 after an `InputError`, and 1 if a computation failed or output could not be
    written, for example to a full disk or a closed pipe.
    """
    try:
        if sys.stdout is None:
            allowed = "the result cannot be printed: standard output has to be open"
            raise InputError("standard output", "a closed one", allowed, "> /dev/null")
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            app(prog_name="tutelage")
    except SystemExit as end:
        # A command that is interrupted while its options are parsed ends here.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            say_interrupted(NOTHING)
        raise
    except InputError as problem:
        say(str(problem))
        sys.exit(2)
    except ComputationError as problem:
        say(str(problem))
        sys.exit(1)
    except OSError as problem:
        say(unprinted(problem) if is_of_output(problem) else str(problem))
        sys.exit(1)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    say(str(message))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tutelage {tutelage.__version__}")
        raise typer.Exit


@app.callback(epilog="Example: tutelage reproduce oostwal2019")
def tutelage_command(
    version: Annotated[
        bool | None,  # typer passes None from the callback
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Statistical physics of learning from a teacher."""
