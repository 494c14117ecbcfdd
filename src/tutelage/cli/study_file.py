"""The file of a study in TOML: a function, fixed arguments and swept arguments."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutelage._checks import InputError, short_repr
from tutelage.cli import options

KEYS = ("function", "keep", "seed", "scenario", "start", "fixed", "over", "points")
# Options of the command that a study file cannot set, and how to type them.
OPTIONS = {
    "store": "tutelage sweep FILE.toml --store FOLDER",
    "workers": "tutelage sweep FILE.toml --workers 2",
    "retry": "tutelage sweep FILE.toml --retry",
    "start_over": "tutelage sweep FILE.toml --fresh",
    "keep": 'keep = ["R"] at the top of the file',
    "function": 'function = "online.evolve" at the top of the file',
    "over": "[over]",
}
MAX_COUNT = 1_000_000  # largest number of values of one argument
UNITS = ("activation", "student_activation", "teacher_activation")
EXAMPLE = """\
# The last error of two students over learning rate and weight decay, for three kinds of units.
# Run it with: tutelage sweep study.toml --store study --plot heat.png

function = "online.evolve"      # any public function that returns a Dataset, findings or numbers

# The stored part of each result: names of variables, or the last values of curves.
# Without this line whole results are stored.
keep = { last = ["generalization_error"] }

# Seed of functions that draw random numbers; each point gets a separate seed derived from it.
seed = 0

# Student and teacher. Further entries: teacher_overlaps, output_scale, label_noise, drift, and
# teacher_activation, if it differs from the activation of the student.
[scenario]
student = 2                 # hidden units
teacher = 2
activation = "relu"         # such as "erf", "gelu", or "leaky:0.1" with its parameter

# Overlaps at the start. Without Q and R: squared norms from 0.2 to 0.3, and R_ii = 0.001.
[start]
Q = [[0.2, 0.0], [0.0, 0.3]]
R = [[1e-3, 0.0], [0.0, 1e-3]]

# Arguments with one value for all points.
[fixed]
until = 200.0

# Swept arguments and parts of the scenario, as lists or ranges. Points are on a grid.
[over]
learning_rate = { from = 0.1, to = 3.0, count = 30 }
weight_decay = { from = 1e-4, to = 0.1, count = 10, spacing = "log" }
activation = ["relu", "erf", "leaky:0.2"]

# Instead of a grid, a list of points:
# [[points]]
# learning_rate = 0.1
# weight_decay = 0.0
"""


def read(path: Path) -> dict[str, Any]:
    """Read the arguments of `tutelage.sweeps.run` from a file."""
    content = _content(path)
    unknown = [key for key in content if key not in KEYS]
    if unknown:
        raise _refused(unknown[0], "an unknown entry", f"the entries are {', '.join(KEYS)}")
    if "function" not in content or not isinstance(content["function"], str):
        raise _refused(
            "function", short_repr(content.get("function")), "it has to be a name", "online.evolve"
        )
    if ("over" in content) == ("points" in content):
        raise _refused("over", "neither or both", "exactly one of [over] and [[points]] is needed")
    from tutelage.runs.public_names import public_function
    from tutelage.sweeps.study import check_from_file

    given: dict[str, Any] = {
        "function": public_function(content["function"], "function"),
        "over": _over(content),
    }
    fixed = {name: _value(name, x) for name, x in _table(content, "fixed").items()}
    for arguments in (fixed, given["over"]):
        _check_options(arguments)
        check_from_file(given["function"], arguments)
    given |= {name: x for name, x in fixed.items() if name not in given}
    if "scenario" in content:
        given["scenario"] = _scenario(_table(content, "scenario"))
        starts = "start" in content or "start" in _arguments(given["function"])
        if starts and "start" not in given["over"] and "start" not in given:
            given["start"] = _start(given["scenario"], _table(content, "start"))
    return given | {"keep": _keep(content.get("keep")), "seed": content.get("seed", 0)}


def _check_options(arguments: Any) -> None:
    """Refuse options of the command where the file should have arguments of the function."""
    for name in (name for name in OPTIONS if name in arguments):
        allowed = (
            "it is an option of the command"
            if "--" in OPTIONS[name]
            else "it has a separate entry in the file"
        )
        raise _refused(name, short_repr(arguments[name]), allowed, OPTIONS[name])


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        allowed = f"it cannot be read ({getattr(problem, 'strerror', None) or problem})"
        raise InputError("FILE", repr(str(path)), allowed, "tutelage sweep example") from None
    except tomllib.TOMLDecodeError as problem:
        allowed = f"it is not a valid TOML file ({problem})"
        raise InputError("FILE", repr(str(path)), allowed, "tutelage sweep example") from None


def _refused(
    name: str, received: str, allowed: str, hint: str = "tutelage sweep example"
) -> InputError:
    return InputError(f"{name} in the file", received, allowed, hint)


def _arguments(function: Any) -> Mapping[str, Any]:
    import inspect

    return inspect.signature(function).parameters


def _table(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    entries = content.get(name, {})
    if not isinstance(entries, dict):
        raise _refused(name, short_repr(entries), f"it has to be a table, [{name}]")
    return entries


def _over(content: Mapping[str, Any]) -> Any:
    if "points" in content:
        import pandas as pd

        rows = content["points"]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise _refused("points", short_repr(rows), "they have to be tables, [[points]]")
        if len({frozenset(row) for row in rows}) != 1:
            raise _refused("points", "rows with other names", "all need the same names")
        columns = {name: [_value(name, row[name]) for row in rows] for name in rows[0]}
        return pd.DataFrame({n: pd.Series(x, dtype=object) for n, x in columns.items()})
    return {name: _values(name, x) for name, x in _table(content, "over").items()}


def _values(name: str, entry: Any) -> list[Any]:
    """Parse a list or a range."""
    if isinstance(entry, list):
        return [_value(name, x) for x in entry]
    ends = {"from", "to", "count"}
    if not isinstance(entry, dict) or not ends <= set(entry) <= {*ends, "spacing"}:
        hint = "{ from = 0.1, to = 1.0, count = 10 }, also with spacing = 'log'"
        raise _refused(name, short_repr(entry), "it has to be a list or a range", hint)
    import numpy as np

    first, last, count = entry["from"], entry["to"], entry["count"]
    spacing = entry.get("spacing", "linear")
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (first, last))
    if not numbers or not isinstance(count, int) or count < 2 or spacing not in ("linear", "log"):
        raise _refused(name, short_repr(entry), "from and to are numbers, count is 2 or more")
    if count > MAX_COUNT:
        raise _refused(name, short_repr(entry), f"count is at most {MAX_COUNT}")
    if spacing == "log" and not (first > 0 and last > 0):
        raise _refused(name, short_repr(entry), "a logarithmic range has positive ends")
    make = np.geomspace if spacing == "log" else np.linspace
    return [float(x) for x in make(first, last, count)]


def _value(name: str, entry: Any) -> Any:
    """Convert names of units to activations, and tables with a type to objects of it."""
    from tutelage.runs.recompute import from_json

    if name in UNITS and isinstance(entry, str):
        return options.activation(f"{name} in the file", entry)
    return from_json(entry, name, "sweeps.run") if isinstance(entry, dict) else entry


def _scenario(table: dict[str, Any]) -> Any:
    from tutelage.model import Committee, Scenario

    parts = dict(table)
    sizes = {name: parts.pop(name, 2) for name in ("student", "teacher")}
    unit = parts.pop("activation", "relu")
    units = {name: parts.pop(f"{name}_activation", unit) for name in sizes}
    readouts = {name: parts.pop(f"{name}_readout", parts.get("readout")) for name in sizes}
    parts.pop("readout", None)
    networks = {
        name: Committee(size, _value("activation", units[name]), readouts[name])
        for name, size in sizes.items()
    }
    return Scenario(networks["student"], networks["teacher"], **parts)


def _start(scenario: Any, table: dict[str, Any]) -> Any:
    from tutelage.model import Overlaps

    if not table:
        return options.start(scenario, None, "1e-3")
    if set(table) != {"Q", "R"}:
        raise _refused("start", short_repr(sorted(table)), "it has Q and R, or is left out")
    return Overlaps(**table, T=scenario.T)


def _keep(entry: Any) -> Any:
    from tutelage.sweeps import last

    if isinstance(entry, dict):
        if set(entry) != {"last"}:
            raise _refused("keep", short_repr(entry), 'it has to be names, or { last = ["R"] }')
        return last(entry["last"])
    return entry
