"""Options that several commands share, and the parsing of their values."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tutelage import activations
from tutelage._checks import ROUNDING, InputError, finite_number
from tutelage._memory import check_memory
from tutelage.activations.units import UNITS
from tutelage.cli.suggestions import unknown_unit
from tutelage.model.numbers import NUMBERS, Number

if TYPE_CHECKING:
    import numpy as np

    from tutelage.activations import Activation
    from tutelage.model import Overlaps, Scenario

# Squared norms of the first and the last student; they differ, so that students can specialize.
FIRST_NORMS = (0.2, 0.3)


def _units(incomplete: str) -> list[str]:
    """Complete the name of an activation in a shell."""
    return [name for name in UNITS if name.startswith(incomplete)]


Student = Annotated[int, typer.Option(metavar="K", help="Hidden units of the student.")]
Teacher = Annotated[int, typer.Option(metavar="M", help="Hidden units of the teacher.")]
Unit = Annotated[
    str,
    typer.Option(
        metavar="NAME[:PARAMETER]",
        help=f"Activation: {', '.join(UNITS)}; leaky:0.1 sets the slope.",
        autocompletion=_units,
    ),
]
TeacherUnit = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:PARAMETER]",
        help="Activation of the teacher; by default the student's.",
        autocompletion=_units,
    ),
]
Until = Annotated[float, typer.Option(metavar="ALPHA", help="Last time, in examples per input.")]
LearningRate = Annotated[float, typer.Option(metavar="ETA", help="Learning rate, greater than 0.")]
TeacherNorms = Annotated[
    str | None,
    typer.Option(metavar="T11,T22,...", help="Squared norms of the teachers; 1 by default."),
]
StartQ = Annotated[
    str | None,
    typer.Option(
        metavar="Q11,Q22,...",
        help="Squared norms of the students at time 0; from 0.2 to 0.3 by default.",
    ),
]
StartR = Annotated[
    str,
    typer.Option(
        metavar="R11,R22,...", help="Overlaps R_ii at time 0; one number sets all of them."
    ),
]
Readout = Annotated[
    str | None,
    typer.Option(
        metavar="V1,V2,...",
        help="Second layer of the student, 1 by default; ';' separates outputs.",
    ),
]
TeacherReadout = Annotated[
    str | None, typer.Option(metavar="V1,V2,...", help="Second layer of the teacher; 1 by default.")
]
ReadoutRate = Annotated[
    float,
    typer.Option(metavar="ETA_V", help="Learning rate of the second layer; 0 keeps it fixed."),
]
Batch = Annotated[int, typer.Option(metavar="COUNT", help="Examples per step; α = steps/N.")]
Runs = Annotated[int, typer.Option(metavar="COUNT", help="Number of networks.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="FILE.npz", help="Save progress here; the same command resumes from it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the curves as JSON instead of a table.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE.nc | FILE.csv", help="Save the curves, as NetCDF or as a table."),
]
Plot = Annotated[
    Path | None, typer.Option(metavar="FILE.png", help="Draw the curves; also .pdf or .svg.")
]
PlotStyle = Annotated[
    Literal["screen", "paper"],
    typer.Option(metavar="screen|paper", help="Style of the picture; paper: one column, 8 pt."),
]


# The numbers of a scenario by name: `with_numbers` makes an option of each.
Numbers = Mapping[str, Any] | None


def with_numbers(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the argument ``numbers`` of a command by an option for each scenario parameter."""

    @wraps(command)
    def with_options(**options: Any) -> None:
        given = {number.name: _number(number, options.pop(number.name)) for number in NUMBERS}
        command(numbers=given, **options)

    own = inspect.signature(command, eval_str=True).parameters
    parameters = [
        parameter
        for name, one in own.items()
        for parameter in ([_option(n) for n in NUMBERS] if name == "numbers" else [one])
    ]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


def _option(number: Number) -> inspect.Parameter:
    kind = str if number.is_pair else float
    default: Any = f"{number.default:g}" if number.is_pair else number.default
    option = typer.Option(metavar=number.metavar, help=number.help)
    return inspect.Parameter(
        number.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[kind, option],
    )


def _number(number: Number, value: Any) -> Any:
    """Parse the value of an option; two numbers separated by a comma are a pair."""
    if not number.is_pair:
        return value
    pair = numbers(f"--{number.name.replace('_', '-')}", value, 1, 2)
    return tuple(pair) if len(pair) == 2 else pair[0]


def check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError("--seed", str(seed), "it has to be at least 0", "--seed 0")


def activation(option: str, text: str) -> "Activation":
    """Parse ``leaky:0.1`` to LeakyReLU(0.1)."""
    name, colon, parameter = text.partition(":")
    if name.lower() not in UNITS:
        raise unknown_unit(option, text, UNITS)
    kind = getattr(activations, UNITS[name.lower()].kind)
    if not colon:
        return kind()
    if not dataclasses.fields(kind):
        raise InputError(option, repr(text), f"{name} has no parameter", f"{option} {name}")
    try:
        return kind(_parameter(option, text, name, parameter))
    except InputError as problem:
        named = problem.argument == option  # the option's value could not be parsed
        received, allowed = (
            repr(text),
            f"its {problem.argument} {problem.allowed.removeprefix('it ')}",
        )
        raise problem if named else InputError(option, received, allowed, problem.hint) from None


def _parameter(option: str, text: str, name: str, parameter: str) -> float:
    """Parse the number after the colon."""
    try:
        return float(parameter)
    except ValueError:
        allowed = "the colon has to be followed by one number, the parameter of the unit"
        raise InputError(option, repr(text), allowed, f"{option} {name}:0.1") from None


def numbers(option: str, text: str, *lengths: int, example: str = "") -> list[float]:
    """Parse comma-separated numbers; their count has to be one of ``lengths``."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in lengths:
        counts = " or ".join(str(n) for n in sorted(set(lengths)))
        example = example or ",".join(["1"] * max(lengths))
        separators = ", with commas between them" if max(lengths) > 1 else ""
        allowed = f"it has to be {counts} number{'s' * (max(lengths) > 1)}{separators}"
        raise InputError(option, repr(text), allowed, f"{option} {example}")
    for number in values:
        finite_number(option, number, hint=f"{option} {example}" if example else "")
    return values


def readout(option: str, text: str | None, units: int) -> list[list[float]] | None:
    """Parse ``1,-1;0.5,2``, the second layer of two units with two outputs."""
    if text is None:
        return None
    rows = [numbers(option, row, 1, units) for row in text.split(";")]
    if not any(any(row) for row in rows):
        allowed = "at least one weight has to differ from 0"
        raise InputError(option, repr(text), allowed, f"{option} 1")
    return [row * units if len(row) == 1 else row for row in rows]


def layers(option: str, text: str) -> tuple[int, ...]:
    """Parse ``8,2``, the sizes of two layers."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        allowed = "it has to be the units of each hidden layer, with commas between them"
        raise InputError(option, repr(text), allowed, f"{option} 8,2")
    return sizes


def count_or_infinity(option: str, text: str) -> int | float:
    """Parse a whole number of at least 1, or ``inf``."""
    if text.lower() in ("inf", "infinity"):
        return math.inf
    if not text.isdigit() or int(text) < 1:
        allowed = "it has to be a whole number of at least 1, or inf"
        raise InputError(option, repr(text), allowed, f"{option} 5")
    return int(text)


def temperature(option: str, text: str | None) -> float | str | None:
    """Parse a temperature, or ``bayes``, the temperature of the label noise."""
    if text is None or text == "bayes":
        return text
    try:
        return float(text)
    except ValueError:
        allowed = 'it has to be a number T ≥ 0, or "bayes"'
        raise InputError(option, repr(text), allowed, f"{option} 0.1") from None


def grid(option: str, text: str, example: str, *, from_zero: bool = False) -> "np.ndarray":
    """Parse ``FIRST:LAST:COUNT``: COUNT equidistant numbers."""
    import numpy as np

    try:
        first, last, count = text.split(":")
        check_memory(f"the COUNT of {option}", int(count), lambda n: 100 * n, "the curves")
        values = np.linspace(float(first), float(last), int(count))
    except InputError:
        raise
    except (ValueError, OverflowError):
        values = np.array([])
    below = "<=" if from_zero else "<"
    in_order = len(values) > 1 and bool(np.all(np.isfinite(values))) and values[0] < values[-1]
    if not in_order or values[0] < 0 or (values[0] == 0 and not from_zero):
        allowed = f"FIRST:LAST:COUNT needs 0 {below} FIRST < LAST and a COUNT of at least 2"
        raise InputError(option, repr(text), allowed, f"{option} {example}")
    return values


def scenario(
    sizes: tuple[int, int],
    units: tuple[str, str | None],
    teacher_norms: str | None,
    readouts: tuple[str | None, str | None],
    given: Numbers,
) -> "Scenario":
    """Build the scenario; by default the teacher has the activation of the student.

    given: the numbers of the scenario by name, from `with_numbers`.
    """
    import numpy as np

    from tutelage.model import Committee, Scenario

    for option, size in zip(("--student", "--teacher"), sizes, strict=True):
        if size < 1:
            raise InputError(option, str(size), "a network has at least one unit", f"{option} 2")
    K, M = sizes
    check_memory("--teacher", M, lambda M: 48 * M**2, "the overlaps of all units")
    check_memory("--student", K, lambda K: 48 * (K + M) ** 2, "the overlaps of all units")
    v, teacher_v = (
        readout("--readout", readouts[0], K),
        readout("--teacher-readout", readouts[1], M),
    )
    outputs, teacher_outputs = (len(x) if x else 1 for x in (teacher_v, v))
    if outputs != teacher_outputs:
        received, allowed = (
            f"{outputs} output(s)",
            f"--readout has {teacher_outputs} output(s); both need one row per output",
        )
        raise InputError(
            "--teacher-readout",
            received,
            allowed,
            "as many rows as --readout, with ';' between them",
        )
    student = Committee(K, activation("--activation", units[0]), v)
    teacher = Committee(M, activation("--teacher-activation", units[1] or units[0]), teacher_v)
    norms = numbers("--teacher-norms", teacher_norms or "1", 1, teacher.units)
    T = np.diag(np.broadcast_to(norms, teacher.units))
    return Scenario(student, teacher, T, **(given or {}))


def start(scenario: "Scenario", start_q: str | None, start_r: str) -> "Overlaps":
    """Build a start with Q_ik = 0 for i ≠ k and R_in = 0 for i ≠ n: untrained students."""
    import numpy as np

    from tutelage.model import Overlaps

    K, M = scenario.K, scenario.M
    q = np.linspace(*FIRST_NORMS, K)
    if start_q is not None:
        q = np.broadcast_to(numbers("--start-q", start_q, 1, K), K)
    shared = min(K, M)
    R = np.zeros((K, M))
    r = np.broadcast_to(numbers("--start-r", start_r, 1, shared), shared)
    R[range(shared), range(shared)] = r
    _check_angles(q[:shared], r, np.diag(scenario.T)[:shared])
    return Overlaps(Q=np.diag(q), R=R, T=scenario.T)


def _check_angles(q: "np.ndarray", r: "np.ndarray", t: "np.ndarray") -> None:
    """Refuse R_ii² > Q_ii T_ii, for which no vectors exist; the default of --start-r
    may cause it.
    """
    import numpy as np

    beyond = np.flatnonzero(r**2 > q * t * (1 + ROUNDING))
    if len(beyond) and np.all(q >= 0):
        i = int(beyond[0])
        largest = float(np.sqrt(q[i] * t[i]))
        allowed = (
            f"with Q_{i + 1}{i + 1} = {q[i]:g} and T_{i + 1}{i + 1} = {t[i]:g} it is at most "
            f"√(Q T) = {largest:g}"
        )
        received = f"R_{i + 1}{i + 1} = {r[i]:g} (the default is 0.001)"
        raise InputError("--start-r", received, allowed, f"--start-r {0.5 * largest:.2g}")
