"""What ``tutelage equilibrium`` understands, and the calls it makes."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.cli.online_input import UNITS, activation_of, check_files, sweep

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from tutelage.activations import Activation
    from tutelage.equilibrium.symmetric.states import State
    from tutelage.equilibrium.symmetric.transitions import Transitions

FAMILIES = {"swish": r"$\beta$", "leaky": "slope"}  # units with a parameter, and its symbol
BEYOND = 1.6  # curves go on for this multiple of the last transition
WITHOUT = 50.0  # where there is no transition
POINTS = 801


def check(out: Path | None, plot: Path | None, load: float | None) -> None:
    """Names that cannot be written and loads that cannot be are refused at once."""
    check_files(out, plot)
    if load is not None and not (math.isfinite(load) and load >= 0):
        raise InputError("--load", str(load), "a load is a finite number, 0 or more", "--load 20")


def units(text: str) -> int | float:
    """A whole number of at least one, or infinitely many."""
    if text.lower() in ("inf", "infinity"):
        return math.inf
    if not text.isdigit() or int(text) < 1:
        allowed = "it has to be a whole number of at least 1, or inf"
        raise InputError("--units", repr(text), allowed, "--units 5")
    return int(text)


def activation(text: str) -> "Activation":
    return activation_of("--activation", text)


def family(text: str, numbers: str) -> tuple[str, "np.ndarray"]:
    """Swish or leaky ReLU, and the values of its parameter."""
    name = text.partition(":")[0].lower()
    if name not in FAMILIES:
        raise InputError(
            "--activation",
            repr(text),
            f"a phase diagram needs a unit with a parameter: {' or '.join(FAMILIES)}",
            "--activation swish --phase-diagram 0.5:8:60",
        )
    return name, sweep("--phase-diagram", numbers, "0.5:8:60", from_zero=name == "leaky")


def diagram(name: str, parameters: "np.ndarray", loads: str | None, K: int | float) -> "xr.Dataset":
    import numpy as np

    from tutelage import activations, equilibrium

    kind = getattr(activations, UNITS[name])
    if loads is not None:
        alpha = _loads(loads)
    else:
        ends = [equilibrium.transitions(kind(float(x)), K) for x in parameters[[0, -1]]]
        alpha = np.linspace(0.0, max(map(_last, ends)), len(parameters) + 1)[1:]
    return equilibrium.phase_diagram(kind, parameters, alpha, K)


def compute(
    g: "Activation", K: int | float, loads: str | None
) -> tuple["Transitions", "xr.Dataset"]:
    import numpy as np

    from tutelage import equilibrium

    found = equilibrium.transitions(g, K)
    alpha = np.linspace(0.0, _last(found), POINTS) if loads is None else _loads(loads)
    return found, equilibrium.learning_curve(g, K, alpha)


def minima(g: "Activation", K: int | float, load: float | None) -> tuple["State", ...]:
    from tutelage import equilibrium

    return () if load is None else equilibrium.states(g, K, load)


def _last(found: Any) -> float:
    """A load beyond the transitions."""
    loads = [float(e.value) for e in (found.coexists, found.unstable) if e is not None]
    return BEYOND * max(loads, default=WITHOUT / BEYOND)


def _loads(text: str) -> "np.ndarray":
    return sweep("--loads", text, example="0:60:601", from_zero=True)
