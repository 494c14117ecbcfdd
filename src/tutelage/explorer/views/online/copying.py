"""Python code and command of the view of on-line learning."""

from typing import Any

from tutelage.explorer import units
from tutelage.explorer.parameters import State
from tutelage.explorer.views.online import runs, setting
from tutelage.explorer.views.online.setting import TIMES

PRINTED = 'print(run.attrs["outcome"], float(run["generalization_error"][-1]))'


def python(state: State) -> str:
    """Return Python code that gives the curves with all digits."""
    return "\n".join([*_setting(state), *_evolve(state), PRINTED, ""])


def python_of_runs(state: State) -> str:
    """Return Python code for the theory and the finite networks."""
    arguments = {**runs.options(state, state["until"]), "times": _times(state, runs.TIMES)}
    called = _call("runs = tl.simulation.chain(", arguments)
    return "\n".join([*_setting(state), *_evolve(state), PRINTED, *called, ""])


def _setting(state: State) -> list[str]:
    student = units.code(state["activation"], state)
    teacher = units.code(*setting.teacher_unit(state))
    return [
        "import numpy as np",
        "",
        "import tutelage as tl",
        "",
        "scenario = tl.Scenario(",
        f"    student=tl.Committee({state['K']}, {student}{_second_layer(state, 'K')}),",
        f"    teacher=tl.Committee({state['M']}, {teacher}{_second_layer(state, 'M')}),",
        f"    teacher_overlaps={setting.teacher_overlaps(state)},",
        *(f"    {name}={value!r}," for name, value in setting.numbers(state).items()),
        ")",
        f"start = {_start(state)}",
    ]


def _second_layer(state: State, units_: str) -> str:
    v = setting.readout(state, units_)
    return "" if v is None else f", readout={v}"


def _start(state: State) -> str:
    if state["start"] == "random":
        arguments = ", ".join(f"{name}={value!r}" for name, value in setting.random(state).items())
        return f"tl.simulation.random_start(scenario, {arguments})"
    Q, R = setting.given(state)
    return f"tl.Overlaps(\n    Q={Q},\n    R={R},\n    T=scenario.T,\n)"


def _evolve(state: State) -> list[str]:
    arguments = {**setting.arguments(state), "times": _times(state, TIMES)}
    return _call("run = tl.online.evolve(", arguments)


def _call(function: str, arguments: dict[str, Any]) -> list[str]:
    written = {name: x if name == "times" else repr(x) for name, x in arguments.items()}
    lines = [f"    {name}={x}," for name, x in written.items()]
    return [function, "    scenario,", "    start,", *lines, ")"]


def _times(state: State, count: int) -> str:
    return f"{state['until']!r} * np.linspace(0, 1, {count}) ** 2"


def command(state: State) -> str | None:
    """Return the command for the curves; None if the command has no options for the state."""
    if state["start"] == "random" or state["teacher_cosine"]:
        return None
    import numpy as np

    readouts = {
        "readout": setting.readout(state, "K"),
        "teacher-readout": setting.readout(state, "M"),
    }
    steps = {
        name: x for name, x in setting.arguments(state).items() if name not in ("times", "until")
    }
    options = {
        "student": state["K"],
        "teacher": state["M"],
        "activation": units.option(state["activation"], state),
        "teacher-activation": units.option(*setting.teacher_unit(state)),
        **steps,
        "until": state["until"],
        "teacher-norms": _commas(np.diag(setting.teacher_overlaps(state))),
        "start-q": _commas(setting.diagonal(state)),
        "start-r": _commas(np.diag(setting.given(state)[1])),
        **setting.numbers(state),
        **{name: _commas(v) for name, v in readouts.items() if v is not None},
    }
    words = [f"--{name.replace('_', '-')} {value}" for name, value in options.items()]
    return " ".join(["tutelage online", *words])


def _commas(numbers: Any) -> str:
    return ",".join(repr(float(x)) for x in numbers)
