"""Where the command begins: subcommands, the version, and what becomes of an error."""

import sys
import warnings
from typing import Annotated, Any

import typer

import tutelage
from tutelage._checks import ComputationError, InputError
from tutelage.cli.elsewhere import Command, Group
from tutelage.cli.equilibrium import equilibrium
from tutelage.cli.explore import explore
from tutelage.cli.keeping import NOTHING, is_of_output, say, say_interrupted, unprinted
from tutelage.cli.online import online
from tutelage.cli.reproduce import reproduce
from tutelage.cli.simulate import simulate
from tutelage.cli.specialize import specialize
from tutelage.cli.spectrum import spectrum
from tutelage.cli.sweep import sweep

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the same plain help on a terminal and in a log
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(
    cls=Command,
    epilog="Example: tutelage online --student 2 --teacher 3 --activation relu "
    "--learning-rate 0.1 --until 1000 --plot run.png; with a second layer that learns: "
    "tutelage online --readout 1,-1 --teacher-readout 1,2 --readout-rate 0.5",
)(online)
app.command(
    cls=Command,
    epilog="Example: tutelage simulate --dimension 1000 --runs 10 --until 50 --theory "
    "--plot runs.png; with a second layer that learns: tutelage simulate --readout 1,-1 "
    "--teacher-readout 1,2 --readout-rate 0.5",
)(simulate)
app.command(
    cls=Command, epilog="Example: tutelage equilibrium --activation erf --units 5 --plot erf.png"
)(equilibrium)
app.command(
    cls=Command,
    epilog="Example: tutelage spectrum --data digits --hidden 25 --activation swish "
    "--plot spectrum.png",
)(spectrum)
app.command(
    cls=Command,
    epilog="Example: tutelage specialize --teacher 50-75-100-125 --multiple 10 --polarity 1 "
    "--plot specialize.png",
)(specialize)
app.command(cls=Command, epilog="Example: tutelage sweep study.toml --store study --plot heat.png")(
    sweep
)
app.command(
    cls=Command, epilog="Example: tutelage explore; for a talk: tutelage explore --export talk.html"
)(explore)
app.command(cls=Command, epilog="Example: tutelage reproduce oostwal2019 straat2019 --json")(
    reproduce
)


def main() -> None:
    """Run the command; an `InputError` becomes its message and the exit code 2.

    What cannot be written, as to a full disk or a closed pipe, becomes words and the code 1.
    """
    try:
        if sys.stdout is None:
            allowed = "there is nowhere to print to"
            raise InputError("standard output", "a closed one", allowed, "> /dev/null")
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            app(prog_name="tutelage")
    except SystemExit as end:
        # So ends a command that is interrupted while it reads its options.
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
        bool | None,  # what a callback without a result leaves
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Statistical physics of learning from a teacher."""
