"""Decide which calls share compiled programs.

Real numbers and random seeds are data of a compiled program.  Whole numbers, words, types and
shapes of arrays are constants of it, and so is whether a rate is 0, which drops its terms.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

# Arguments whose value 0 needs another program.
RATES = ("learning_rate", "readout_rate", "drift")
# Whole numbers that are inputs of a program, not constants.
DATA = ("seed", "batch", "until")


def program_of(arguments: Mapping[str, object]) -> str:
    """Return a text that is equal for calls of a function that share their compiled programs.

    >>> program_of({"learning_rate": 0.5}) == program_of({"learning_rate": 1.0})
    True
    >>> program_of({"learning_rate": 0.5}) == program_of({"learning_rate": 0.0})
    False
    """
    return json.dumps(_part("", arguments), sort_keys=True)


def _part(name: str, value: object) -> Any:
    """Describe the parts of a value that a compiled program depends on: everything but its real
    numbers.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Real) and (name in (*RATES, *DATA) or not isinstance(value, Integral)):
        return "zero" if name in RATES and value == 0 else "number"
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _part(key, x) for key, x in value.items()}
    if isinstance(value, list | tuple | range):
        return [_part(name, x) for x in value]
    kind = type(value)
    if hasattr(value, "__array__"):
        import numpy as np  # the explorer's server starts without NumPy

        return f"{np.asarray(value).dtype.kind}{np.shape(value)}"
    if is_dataclass(kind):
        parts = {field.name: getattr(value, field.name) for field in fields(kind)}
        return {"type": f"{kind.__module__}.{kind.__qualname__}", **_part("", parts)}
    return f"{kind.__name__} {id(value)}"
