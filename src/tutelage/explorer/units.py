"""Activations as choices on the page: names, parameters, Python code and command options."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tutelage.activations.units import UNITS, UnitParameter
from tutelage.explorer import formulas
from tutelage.explorer.parameters import Parameter, State, number

if TYPE_CHECKING:
    from tutelage.activations import Activation

# Parameters of the activations that have one.
PARAMETERS: dict[str, UnitParameter] = {
    name: one.parameter for name, one in UNITS.items() if one.parameter is not None
}
FORMULA = "formula"  # the choice of a formula typed by the user


def choice(
    name: str, label: str, group: str, default: str, first: tuple[tuple[str, str], ...] = ()
) -> Parameter:
    """Return the choice of an activation; ``first``: choices in front of the list."""
    choices = (*first, *((key, one.label) for key, one in UNITS.items()))
    help = "output of a hidden unit as a function of its field x"
    return Parameter(name, label, "g", help, group, "choice", default, choices=choices)


def parameters(of: str, group: str, prefix: str = "") -> list[Parameter]:
    """Return sliders for the parameters of activations; ``of``: name of the choice."""
    sliders = []
    for name in dict.fromkeys(row.name for row in PARAMETERS.values()):
        rows = {unit: row for unit, row in PARAMETERS.items() if row.name == name}
        row = next(iter(rows.values()))
        when: Mapping[str, Sequence[Any]] = {of: list(rows)}
        scale = {"scale": "log"} if row.logarithmic else {}
        sliders.append(
            number(
                prefix + name,
                row.label,
                row.symbol,
                row.help,
                group,
                row.default,
                row.low,
                row.high,
                step=0.01,
                shown_when=when,
                **scale,
            )
        )
    return sliders


def argument(unit: str, state: State, prefix: str = "") -> float | None:
    """Return the parameter of an activation, or None."""
    return state[prefix + PARAMETERS[unit].name] if unit in PARAMETERS else None


def unit(name: str, state: State, prefix: str = "") -> "Activation":
    """Return the chosen activation."""
    import tutelage as tl

    if name == FORMULA:
        return formulas.activation(state["formula"])
    kind, value = getattr(tl, UNITS[name].kind), argument(name, state, prefix)
    return kind() if value is None else kind(value)


def code(name: str, state: State, prefix: str = "") -> str:
    """Return the activation in Python, such as ``tl.Swish(2.0)``."""
    if name == FORMULA:
        return formulas.code(state["formula"])
    value = argument(name, state, prefix)
    return f"tl.{UNITS[name].kind}({'' if value is None else repr(value)})"


def option(name: str, state: State, prefix: str = "") -> str:
    """Return the activation as a command option, such as ``swish:2.0``."""
    value = argument(name, state, prefix)
    return name if value is None else f"{name}:{value!r}"
