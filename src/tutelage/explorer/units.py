"""Activations as choices of a page: their names, their parameter, and how to write them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tutelage.explorer import formulas
from tutelage.explorer.parameters import Parameter, State, number

if TYPE_CHECKING:
    from tutelage.activations import Activation

# name in an address, name in the library, label
UNITS = {
    "relu": ("ReLU", "ReLU"),
    "erf": ("Erf", "erf(x/√2)"),
    "leaky": ("LeakyReLU", "leaky ReLU"),
    "swish": ("Swish", "Swish"),
    "gelu": ("GELU", "GELU"),
    "softplus": ("Softplus", "softplus"),
    "tanh": ("Tanh", "tanh"),
    "sigmoid": ("Sigmoid", "sigmoid"),
    "linear": ("Linear", "linear"),
}
# Those with a parameter: its name in a state, symbol, what it is, default, range.
PARAMETERS = {
    "leaky": ("slope", "a", "slope of the leaky ReLU for x < 0", 0.1, 0.0, 1.0),
    "swish": ("beta", "β", "steepness of Swish, x/(1 + exp(−βx))", 1.0, 0.1, 20.0),
    "sigmoid": ("beta", "β", "steepness of the sigmoid, 1/(1 + exp(−βx))", 1.0, 0.1, 20.0),
}
FORMULA = "formula"  # what somebody has typed


def choice(
    name: str, label: str, group: str, default: str, first: tuple[tuple[str, str], ...] = ()
) -> Parameter:
    """Which unit; ``first``: other choices, before them."""
    choices = (*first, *((key, words) for key, (_, words) in UNITS.items()))
    help = "what a hidden unit does with its field x"
    return Parameter(name, label, "g", help, group, "choice", default, choices=choices)


def parameters(of: str, group: str, prefix: str = "") -> list[Parameter]:
    """Sliders for the parameters of units; ``of``: the choice that they belong to."""
    found = []
    for name in dict.fromkeys(row[0] for row in PARAMETERS.values()):
        rows = {unit: row for unit, row in PARAMETERS.items() if row[0] == name}
        _, symbol, help, default, low, high = next(iter(rows.values()))
        label = "slope" if name == "slope" else "steepness"
        when: Mapping[str, Sequence[Any]] = {of: list(rows)}
        scale = {} if name == "slope" else {"scale": "log"}
        found.append(
            number(
                prefix + name,
                label,
                symbol,
                help,
                group,
                default,
                low,
                high,
                step=0.01,
                shown_when=when,
                **scale,
            )
        )
    return found


def argument(unit: str, state: State, prefix: str = "") -> float | None:
    """The parameter of a unit, if it has one."""
    return state[prefix + PARAMETERS[unit][0]] if unit in PARAMETERS else None


def unit(name: str, state: State, prefix: str = "") -> "Activation":
    """The activation of a choice."""
    import tutelage as tl

    if name == FORMULA:
        return formulas.activation(state["formula"])
    kind, value = getattr(tl, UNITS[name][0]), argument(name, state, prefix)
    return kind() if value is None else kind(value)


def code(name: str, state: State, prefix: str = "") -> str:
    """The same in Python: ``tl.Swish(2.0)``."""
    if name == FORMULA:
        return formulas.code(state["formula"])
    value = argument(name, state, prefix)
    return f"tl.{UNITS[name][0]}({'' if value is None else repr(value)})"


def option(name: str, state: State, prefix: str = "") -> str:
    """The same for the command: ``swish:2.0``."""
    value = argument(name, state, prefix)
    return name if value is None else f"{name}:{value!r}"
