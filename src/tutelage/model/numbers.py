"""The table of the numbers of a scenario, such as label noise, weight decay and drift.

A row is an argument of `tutelage.Scenario`, which may have one value per run; a coordinate of
results, a symbol in figures, an option of ``tutelage online`` and ``tutelage simulate``, a slider
of the explorer, a part of a scenario that a study may sweep, and a hint in errors.  The terms in
the equations are in `tutelage.online` and, written independently, in `tutelage.simulation`.
"""

# Nothing here imports JAX: the server of the explorer reads this table.
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from tutelage._checks import InputError, finite_numbers
from tutelage._names import USAGE_IN_SCENARIO, USAGE_OF_ARGUMENT

Weights = Literal["first layer", "second layer", "teacher", "velocity"]


class Number(NamedTuple):
    """A number of a scenario, as a row of the table.

    name: the argument.
    symbol: its letter, as in the papers.
    tex: the symbol in TeX, for figures.
    title: a few words for a page.
    help: one line for people who read ``--help``.
    metavar: placeholder of the value in ``--help``.
    acts_on: what the number changes; a rate is that at which these weights decay.
    default: the value without effect.
    at_least, above: bounds.
    is_pair: whether student and teacher may have different values.
    is_rate: whether it is a rate per time α, which scales with the unit of time.
    drives: whether a value other than the default keeps a run away from the exact solution.
    slider: first and last value other than the default, on a logarithmic scale.
    """

    name: str
    symbol: str
    tex: str
    title: str
    help: str
    metavar: str
    acts_on: Weights | Literal["outputs", "labels"]
    default: float
    slider: tuple[float, float]
    at_least: float = -math.inf
    above: float = -math.inf
    is_pair: bool = False
    is_rate: bool = False
    drives: bool = False

    def checked(self, value: object) -> Any:
        """Check the bounds of a value, or of one value per run, and return it.

        Numbers of both networks are returned as a pair, (student, teacher).
        """
        bounds = {"at_least": self.at_least, "above": self.above}
        if not self.is_pair:
            return finite_numbers(self.name, value, **bounds)
        pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
        if len(pair) != 2:
            allowed = f"it has to be one number or two, ({self.symbol}_K, {self.symbol}_M)"
            raise InputError(self.name, repr(value), allowed, f"{self.default}")
        return tuple(finite_numbers(self.name, x, **bounds) for x in pair)


NUMBERS = (
    Number(
        "output_scale",
        symbol="s",
        tex="s",
        title="scale of the outputs",
        help="Factor of the outputs, or one each for student and teacher.",
        metavar="S | SK,SM",
        acts_on="outputs",
        default=1.0,
        slider=(0.01, 10.0),
        above=0.0,
        is_pair=True,
    ),
    Number(
        "label_noise",
        symbol="ς",
        tex=r"\varsigma",
        title="noise on the labels",
        help="Standard deviation of noise on the labels.",
        metavar="STD",
        acts_on="labels",
        default=0.0,
        slider=(1e-3, 3.0),
        at_least=0.0,
        drives=True,
    ),
    Number(
        "weight_decay",
        symbol="γ",
        tex=r"\gamma",
        title="weight decay",
        help="Rate at which weights decay to zero.",
        metavar="GAMMA",
        acts_on="first layer",
        default=0.0,
        slider=(1e-5, 1.0),
        at_least=0.0,
        is_rate=True,
        drives=True,
    ),
    Number(
        "drift",
        symbol="δ",
        tex=r"\delta",
        title="drift of the teacher",
        help="Rate of a random walk of the teachers at fixed norms.",
        metavar="DELTA",
        acts_on="teacher",
        default=0.0,
        slider=(1e-5, 1.0),
        at_least=0.0,
        is_rate=True,
        drives=True,
    ),
    Number(
        "readout_decay",
        symbol="γ_v",
        tex=r"\gamma_v",
        title="decay of the second layer",
        help="Rate at which a trained second layer decays to zero.",
        metavar="GAMMA_V",
        acts_on="second layer",
        default=0.0,
        slider=(1e-5, 1.0),
        at_least=0.0,
        is_rate=True,
        drives=True,
    ),
)
NAMES = tuple(number.name for number in NUMBERS)


def with_numbers(constructor: Callable[..., None]) -> Callable[..., None]:
    """Replace ``**numbers`` in a signature by the numbers of a scenario."""
    written = inspect.signature(constructor)
    own = [p for p in written.parameters.values() if p.kind is not p.VAR_KEYWORD]
    numbers = [
        inspect.Parameter(n.name, inspect.Parameter.KEYWORD_ONLY, default=n.default, annotation=Any)
        for n in NUMBERS
    ]
    signature = written.replace(parameters=[*own, *numbers])
    constructor.__signature__ = signature  # type: ignore[attr-defined]
    return constructor


def numbers_of(scenario: object) -> dict[str, Any]:
    """Return the numbers of a scenario by name, as its constructor takes them."""
    return {name: getattr(scenario, name) for name in NAMES}


def flat(numbers: Mapping[str, object]) -> list[Any]:
    """Return all values in one list; a pair gives two."""
    values: list[Any] = []
    for x in numbers.values():
        values += x if isinstance(x, tuple) else (x,)
    return values


def mapped(function: Callable[[Any], Any], numbers: Mapping[str, object]) -> dict[str, Any]:
    """Apply a function to every value, and to both values of a pair."""
    return {
        name: tuple(map(function, x)) if isinstance(x, tuple) else function(x)
        for name, x in numbers.items()
    }


def in_units_of_time(numbers: Mapping[str, Any], unit: Any) -> dict[str, Any]:
    """Multiply every rate by the length of a unit of time."""
    rates = {number.name for number in NUMBERS if number.is_rate}
    return {name: x * unit if name in rates else x for name, x in numbers.items()}


def labelled(numbers: Mapping[str, object]) -> dict[str, Any]:
    """Return numbers under the names of coordinates; an unequal pair gives one for each network.

    >>> labelled({"output_scale": (1.0, 0.5), "drift": 0.0})
    {'output_scale': 1.0, 'teacher_scale': 0.5, 'drift': 0.0}
    """
    import numpy as np

    by_name: dict[str, Any] = {}
    for name, x in numbers.items():
        by_name[name] = x[0] if isinstance(x, tuple) else x
        if isinstance(x, tuple) and not np.array_equal(*x):
            by_name[of_teacher(name)] = x[1]
    return by_name


def of_teacher(name: str) -> str:
    """Return the name of the teacher's value of a pair.

    >>> of_teacher("output_scale")
    'teacher_scale'
    """
    return f"teacher_{name.removeprefix('output_')}"


# Coordinates of results and their symbols; a number of both networks has one for each.
COORDINATE_TEX = {
    **{n.name: f"{n.tex}_K" if n.is_pair else n.tex for n in NUMBERS},
    **{of_teacher(n.name): f"{n.tex}_M" for n in NUMBERS if n.is_pair},
}
COORDINATES = tuple(COORDINATE_TEX)
SYMBOLS = {number.name: f"${number.tex}$" for number in NUMBERS}
# `tl.online.evolve(..., drift=0.1)` raises an error that names the call that takes the number.
USAGE_OF_ARGUMENT.update(dict.fromkeys(NAMES, USAGE_IN_SCENARIO))
