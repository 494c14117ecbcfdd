"""Parameters of a view: their controls, their limits, and the validation of a state.

A state is a dictionary with a value for every parameter of a view.  It is read as text from the
address of the page; invalid values are refused with `InputError`.  The limits bound the time and
the memory that any state takes.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tutelage._checks import InputError, short_repr
from tutelage._names import unknown_name_error

Kind = Literal["number", "integer", "choice", "toggle", "text", "file"]
State = dict[str, Any]
# Characters: a float64 has 17 digits, a sign, a point and an exponent.
MAX_NUMBER_LENGTH = 32
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Parameter:
    """One control of a view.

    name: key in the state and in the address.
    label, symbol, help: shown on the page; the help is one sentence.
    group: heading of the controls to which it belongs.
    default: value if the address has none.
    minimum, maximum, step: of a number; with ``zero`` the limit 0 is allowed below the minimum.
    choices: pairs (value, label).
    longest: the largest number of characters of a text.
    shown_when: values of other parameters for which the control is shown.
    of_runs: the parameter changes the finite networks only.
    """

    name: str
    label: str
    symbol: str
    help: str
    group: str
    kind: Kind
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    scale: Literal["linear", "log"] = "linear"
    zero: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    longest: int = 200
    shown_when: Mapping[str, Sequence[Any]] | None = None
    of_runs: bool = False

    def described(self) -> dict[str, Any]:
        """Return the description that the page reads."""
        description: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("name", "label", "symbol", "help", "group", "kind", "default", "scale")
        }
        for name in ("minimum", "maximum", "step"):
            description[name] = getattr(self, name)
        description["zero"] = self.zero
        description["choices"] = [{"value": value, "label": label} for value, label in self.choices]
        if self.kind == "text":
            description["longest"] = self.longest
        if self.of_runs:
            description["for"] = "runs"
        if self.shown_when is not None:
            description["shown_when"] = {
                name: list(values) for name, values in self.shown_when.items()
            }
        return description

    def read(self, text: str) -> Any:
        """Return the value of a text from the address.

        >>> Parameter("load", "load", "α", "", "", "number", 1.0, 0.1, 9.0).read("2.5")
        2.5
        >>> Parameter("load", "load", "α", "", "", "number", 1.0, 0.1, 9.0).read("12")
        Traceback (most recent call last):
            ...
        tutelage._checks.InputError: load: got 12.0, but the explorer allows 0.1 to 9. Try: load=1.
        """
        if self.kind in ("number", "integer"):
            return self._number(text)
        if self.kind == "toggle":
            return self._one_of(text, {"true": True, "false": False, "1": True, "0": False})
        if self.kind == "choice":
            return self._one_of(text, {value: value for value, _ in self.choices})
        if len(text) > self.longest or not text.isprintable():
            allowed = f"it has to be one line of at most {self.longest} characters"
            raise InputError(self.name, short_repr(text), allowed, f"{self.default or 'nothing'}")
        return text.strip()

    def _number(self, text: str) -> float | int:
        hint = f"{self.name}={self.default:g}"
        value: float
        try:
            if len(text) > MAX_NUMBER_LENGTH or "_" in text:
                raise ValueError
            value = (
                int(text)
                if self.kind == "integer" and WHOLE_NUMBER.fullmatch(text)
                else float(text)
            )
        except ValueError:
            raise InputError(self.name, short_repr(text), "it has to be a number", hint) from None
        if not math.isfinite(value):
            raise InputError(self.name, short_repr(text), "it has to be a finite number", hint)
        if self.kind == "integer" and not isinstance(value, int):
            if not value.is_integer() or abs(value) > 2**53:
                raise InputError(self.name, short_repr(text), "it has to be a whole number", hint)
            value = int(value)
        low, high = self.minimum, self.maximum
        inside = (low is None or value >= low) and (high is None or value <= high)
        if not inside and not (self.zero and value == 0):
            also = "0 or " if self.zero else ""
            raise InputError(
                self.name, short_repr(value), f"the explorer allows {also}{low:g} to {high:g}", hint
            )
        return value

    def _one_of(self, text: str, choices: Mapping[str, object]) -> Any:
        if text not in choices:
            listed = ", ".join(choices)
            raise InputError(
                self.name, short_repr(text), f"it has to be one of {listed}", f"{self.default}"
            )
        return choices[text]


def state_of(parameters: Sequence[Parameter], query: Mapping[str, str]) -> State:
    """Return the full state of an address, with defaults for missing parameters."""
    by_name = {parameter.name: parameter for parameter in parameters}
    for name in query:
        if name not in by_name:
            listed = f"this view has {', '.join(by_name)}"
            raise unknown_name_error(name, "an unknown parameter", by_name, listed)
    return {
        name: parameter.read(query[name]) if name in query else parameter.default
        for name, parameter in by_name.items()
    }


def number(name: str, label: str, symbol: str, help: str, group: str, default: float,
           minimum: float, maximum: float, **more: Any) -> Parameter:  # fmt: skip
    """Return a slider for real numbers."""
    return Parameter(name, label, symbol, help, group, "number", default, minimum, maximum, **more)


def integer(name: str, label: str, symbol: str, help: str, group: str, default: int,
            minimum: int, maximum: int, **more: Any) -> Parameter:  # fmt: skip
    """Return a slider for whole numbers."""
    more.setdefault("step", 1)
    return Parameter(name, label, symbol, help, group, "integer", default, minimum, maximum, **more)
