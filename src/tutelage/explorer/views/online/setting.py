"""Scenario, start and arguments of `tutelage.online.evolve` for a state of the view."""

from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.explorer import units
from tutelage.explorer.parameters import State
from tutelage.explorer.views.online.controls import PARAMETERS, SAME_AS_STUDENT
from tutelage.model.numbers import NUMBERS
from tutelage.runs import programs

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from tutelage.model import Overlaps, Scenario

TIMES = 401


def program(state: State) -> str:
    """Return a text that is equal for states with the same compiled functions."""
    names = ("K", "M", "activation", "teacher_activation", *programs.RATES)
    layers = {name: bool(state[name]) for name in ("readout", "teacher_readout")}
    return programs.program_of({**{name: state[name] for name in names}, **layers})


def dataset(state: State) -> "xr.Dataset":
    """Return the run of the equations of motion."""
    import tutelage as tl

    scenario = scenario_of(state)
    return tl.online.evolve(scenario, start_of(state, scenario), **arguments(state))


def arguments(state: State) -> dict[str, Any]:
    return {
        "learning_rate": state["learning_rate"],
        "until": state["until"],
        "times": times(state),
        **{name: state[name] for name in ("readout_rate", "batch") if state[name] != default(name)},
    }


def default(name: str) -> Any:
    return next(p.default for p in PARAMETERS if p.name == name)


def times(state: State) -> "np.ndarray":
    """Return recorded times, denser at the start for logarithmic axes."""
    import numpy as np

    return state["until"] * np.linspace(0, 1, TIMES) ** 2


def scenario_of(state: State) -> "Scenario":
    """Return the scenario."""
    import tutelage as tl

    student = tl.Committee(state["K"], units.unit(state["activation"], state), readout(state, "K"))
    teacher = tl.Committee(state["M"], units.unit(*teacher_unit(state)), readout(state, "M"))
    return tl.Scenario(student, teacher, teacher_overlaps(state), **numbers(state))


def numbers(state: State) -> dict[str, float]:
    """Return the numbers of the scenario that differ from their defaults."""
    return {n.name: state[n.name] for n in NUMBERS if state[n.name] != n.default}


def teacher_unit(state: State) -> tuple[str, State, str]:
    """Return the activation of the teacher: its name, and state and prefix of its parameter."""
    if state["teacher_activation"] == SAME_AS_STUDENT:
        return state["activation"], state, ""
    return state["teacher_activation"], state, "teacher_"


def readout(state: State, units_: str) -> list[float] | None:
    name = "readout" if units_ == "K" else "teacher_readout"
    if not state[name]:
        return None
    weights = _numbers(name, state[name], state[units_], -10.0)
    if not any(weights):
        raise InputError(name, repr(state[name]), "at least one has to differ from 0", "1")
    return weights


def _numbers(name: str, text: str, count: int, lowest: float) -> list[float]:
    """Parse a given count of comma-separated numbers between the lowest allowed one and 10."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(lowest <= x <= 10 for x in values):
        allowed = f"it has to be {count} comma-separated numbers from {lowest:g} to 10"
        hint = ", ".join(["1", "0.5", "2", "1", "1"][:count])
        raise InputError(name, repr(text), allowed, hint)
    return values


def teacher_overlaps(state: State) -> list[list[float]]:
    """Return T_nm = cos θ √(T_nn T_mm)."""
    import numpy as np

    M, c = state["M"], state["teacher_cosine"]
    if M > 1 and c < -1 / (M - 1):
        allowed = (
            f"{M} vectors with equal angles have cos θ of at least -1/(M - 1) = {-1 / (M - 1):.4g}"
        )
        raise InputError("teacher_cosine", str(c), allowed, "0")
    norm = np.linspace(state["teacher_norm"], state["teacher_norm_last"], M)
    T = np.where(np.eye(M, dtype=bool), np.diag(norm), c * np.sqrt(np.outer(norm, norm)))
    return T.tolist()


def start_of(state: State, scenario: "Scenario") -> "Overlaps":
    """Return the overlaps at α = 0."""
    import tutelage as tl

    if state["start"] == "random":
        return tl.simulation.random_start(scenario, **random(state))
    return tl.Overlaps(*given(state), scenario.T)


def random(state: State) -> dict[str, Any]:
    names = {"dimension": "start_dimension", "student_norm": "start_norm", "seed": "start_seed"}
    return {argument: state[name] for argument, name in names.items()}


def given(state: State) -> tuple[list[list[float]], list[list[float]]]:
    """Return diagonal Q and R."""
    import numpy as np

    K, M, r = state["K"], state["M"], state["start_r"]
    q, t = diagonal(state), np.diag(teacher_overlaps(state))
    both = min(K, M)
    largest = float(np.min(np.sqrt(q[:both] * t[:both])))
    if r > largest:
        allowed = f"with these norms it is at most √(Q T) = {largest:.4g}"
        raise InputError("start_r", f"{r:g}", allowed, f"{0.5 * largest:.2g}")
    R = r * np.eye(K, M)
    if state["start_first"]:
        R[1:] = 0.0
    return np.diag(q).tolist(), R.tolist()


def diagonal(state: State) -> "np.ndarray":
    import numpy as np

    if state["start_norms"]:
        return np.array(_numbers("start_norms", state["start_norms"], state["K"], 0.0))
    return np.linspace(state["start_q"], state["start_q_last"], state["K"])
