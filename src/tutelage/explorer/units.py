"""Activations as choices of a page: their names, their parameter, and how to write them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tutelage.activations.units import UNITS, UnitParameter
from tutelage.explorer import formulas
from tutelage.explorer.parameters import Parameter, State, number

if TYPE_CHECKING:
    from tutelage.activations import Activation

# Those with a slider.
PARAMETERS: dict[str, UnitParameter] = {
    name: one.parameter for name, one in UNITS.items() if one.parameter is not None
}
FORMULA = "formula"  # what somebody has typed


def choice(
    name: str, label: str, group: str, default: str, first: tuple[tuple[str, str], ...] = ()
) -> Parameter:
    """Which unit; ``first``: other choices, before them."""
    choices = (*first, *((key, one.label) for key, one in UNITS.items()))
    help = "what a hidden unit does with its field x"
    return Parameter(name, label, "g", help, group, "choice", default, choices=choices)


def parameters(of: str, group: str, prefix: str = "") -> list[Parameter]:
    """Sliders for the parameters of units; ``of``: the choice that they belong to."""
    found = []
    for name in dict.fromkeys(row.name for row in PARAMETERS.values()):
        rows = {unit: row for unit, row in PARAMETERS.items() if row.name == name}
        row = next(iter(rows.values()))
        when: Mapping[str, Sequence[Any]] = {of: list(rows)}
        scale = {"scale": "log"} if row.logarithmic else {}
        found.append(
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
    return found


def argument(unit: str, state: State, prefix: str = "") -> float | None:
    """The parameter of a unit, if it has one."""
    return state[prefix + PARAMETERS[unit].name] if unit in PARAMETERS else None


def unit(name: str, state: State, prefix: str = "") -> "Activation":
    """The activation of a choice."""
    import tutelage as tl

    if name == FORMULA:
        return formulas.activation(state["formula"])
    kind, value = getattr(tl, UNITS[name].kind), argument(name, state, prefix)
    return kind() if value is None else kind(value)


def code(name: str, state: State, prefix: str = "") -> str:
    """The same in Python: ``tl.Swish(2.0)``."""
    if name == FORMULA:
        return formulas.code(state["formula"])
    value = argument(name, state, prefix)
    return f"tl.{UNITS[name].kind}({'' if value is None else repr(value)})"


def option(name: str, state: State, prefix: str = "") -> str:
    """The same for the command: ``swish:2.0``."""
    value = argument(name, state, prefix)
    return name if value is None else f"{name}:{value!r}"
