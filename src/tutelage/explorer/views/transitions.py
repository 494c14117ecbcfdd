"""View of phase transitions: equilibrium states and free energy over the load."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tutelage.explorer import units
from tutelage.explorer.parameters import Parameter, State, integer, number
from tutelage.explorer.pictures import Axis, LabelledNumber, Mark, Panel, Picture, Trace, estimate
from tutelage.runs.programs import program_of

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from tutelage.equilibrium import State as Stationary, Transitions

NAME, TITLE = "transitions", "Phase transitions"
FORMULA = (
    "<math><mfrac><mrow><mi>β</mi><mi>f</mi></mrow><mi>K</mi></mfrac><mo>=</mo><mi>α</mi><msub>"
    "<mi>ε</mi><mi>g</mi></msub><mo>(</mo><mi>R</mi><mo>,</mo><mi>S</mi><mo>,</mo><mi>C</mi>"
    "<mo>)</mo><mo>−</mo><mfrac><mrow><mi>s</mi><mo>(</mo><mi>R</mi><mo>,</mo><mi>S</mi><mo>,</mo>"
    "<mi>C</mi><mo>)</mo></mrow><mi>K</mi></mfrac><mo>,</mo></math> <math><mi>α</mi>"
    "<mo>=</mo><mfrac><mrow><mi>β</mi><mi>P</mi></mrow><mrow><mi>K</mi><mi>N</mi></mrow></mfrac>"
    "</math>"
)
FORMULA_TEXT = "βf/K = α ε_g(R, S, C) − s(R, S, C)/K, with the load α = βP/(KN)"
DOCUMENTATION = "equilibrium"
STREAMS, DETAILS = False, False

UNITS, LOAD = "Units", "Examples"
LOADS = 301
# Curves end at this multiple of the last transition, or at this load without a transition.
LAST_LOAD_FACTOR, DEFAULT_LAST_LOAD = 1.6, 50.0
MAX_SPECIALIZATION, SPECIALIZATION_POINTS = 0.99, 99  # a value of R − S
LOWEST = "lowest"
MAX_CACHED = 30
CACHE: dict[tuple[str, float], Any] = {}
FOLLOWED = (
    (LOWEST, "the lowest free energy"),
    ("unspecialized", "unspecialized, as long as it is a minimum"),
    ("R > S", "R > S, as long as it is a minimum"),
    ("R < S", "R < S, as long as it is a minimum"),
)

PARAMETERS: list[Parameter] = [
    units.choice("activation", "activation", UNITS, "erf"),
    *units.parameters("activation", UNITS),
    Parameter("infinite", "infinitely many units", "K → ∞", "the limit of large networks", UNITS,
              "toggle", False),
    integer("K", "hidden units of student and teacher", "K", "number of units of each network",
            UNITS, 5, 1, 1000, scale="log", shown_when={"infinite": [False]}),
    number("load", "load", "α", "examples for each weight, times the inverse temperature", LOAD,
           46.0, 0.01, 1000.0, scale="log", zero=True),
    Parameter("followed", "state to follow", "",
              "move the load up and down: the student stays in a minimum until it vanishes",
              LOAD, "choice", "unspecialized", choices=FOLLOWED),
]  # fmt: skip


def program(state: State) -> str:
    """Return a text that is equal for states with the same compiled functions."""
    return program_of({name: state[name] for name in ("activation", "infinite", "K")})


def how_many(state: State) -> float | int:
    return math.inf if state["infinite"] else state["K"]


def last_load(state: State, transitions: "Transitions") -> float:
    """Return the last load: beyond the last transition, doubled until it exceeds the load."""
    loads = [float(e.value) for e in (transitions.coexists, transitions.unstable) if e is not None]
    last = LAST_LOAD_FACTOR * max(loads, default=DEFAULT_LAST_LOAD / LAST_LOAD_FACTOR)
    while last < state.get("load", 0.0):
        last *= 2
    return last


def dataset(state: State) -> "xr.Dataset":
    """Return all branches of states over the load."""
    return transitions_and_curves(state)[1]


def transitions_and_curves(state: State) -> "tuple[Transitions, xr.Dataset]":
    """Return the quantities that do not depend on the load: transitions, and states over all
    loads.
    """
    g, K = units.code(state["activation"], state), how_many(state)
    if (g, K) not in CACHE:
        import tutelage as tl

        if len(CACHE) >= MAX_CACHED:
            CACHE.clear()
        CACHE[g, K] = tl.equilibrium.transitions(units.unit(state["activation"], state), K), {}
    transitions, curves = CACHE[g, K]
    last = last_load(state, transitions)
    if last not in curves:
        curves.clear()
        curves[last] = _curve(state, last)
    return transitions, curves[last]


def _curve(state: State, last: float) -> "xr.Dataset":
    import numpy as np

    import tutelage as tl

    g, loads = units.unit(state["activation"], state), np.linspace(0.0, last, LOADS)
    return tl.equilibrium.learning_curve(g, how_many(state), loads)


def draw(state: State) -> Picture:
    """Draw the free energy at the load, and states and error over the load."""
    import tutelage as tl

    transitions, curves = transitions_and_curves(state)
    g, K = units.unit(state["activation"], state), how_many(state)
    every = tl.equilibrium.states(g, K, state["load"], saddles=True)
    minima = [s for s in every if s.site_stable]
    student = _followed(state["followed"], minima)
    energy = tl.equilibrium.free_energy(g, K, state["load"], _specializations())
    picture = Picture(
        panels=[
            _energy_panel(energy, minima, student),
            _states_panel(curves, transitions, student, state),
            _error_panel(curves, transitions, student, state),
        ],
        numbers=[*loads_numbers(transitions), *_state_numbers(student)],
        messages=_messages(state, student, minima),
    )
    if state["followed"] != LOWEST:
        picture.next = {"followed": _kind(student)}
    return picture


def _specializations() -> "np.ndarray":
    import numpy as np

    return np.linspace(-MAX_SPECIALIZATION, MAX_SPECIALIZATION, 2 * SPECIALIZATION_POINTS + 1)


def _energy_panel(energy: "xr.Dataset", minima: "list[Stationary]", student: "Stationary") -> Panel:
    """Draw βf/K over R − S with its minima and the state of the student."""
    V, y = energy["specialization"].values, energy["free_energy_per_unit"].values
    single = student.units == 1
    places = [(s.R if single or math.isinf(s.units) else s.R - s.S) for s in (*minima, student)]
    heights = [s.free_energy_per_unit for s in (*minima, student)]
    traces = [
        Trace("βf/K", "energy", V, y),
        Trace("minima", "energy", places[:-1], heights[:-1], kind="points"),
        Trace("now", "R", places[-1:], heights[-1:], kind="points"),
    ]
    words = f"The free energy over R − S at the load has {len(minima)} minima"
    x = Axis("R − S, specialization" if not single else "R", "R" if single else "R − S")
    y_axis = Axis("βf/K, free energy", "βf/K", range=_range(y, heights))
    description = f"{words}; the student is in the state {student.kind}."
    return Panel("free_energy", "Free energy", description, x, y_axis, traces)


def _range(y: "np.ndarray", heights: list[float]) -> tuple[float, float]:
    """Return the range of the axis: the minima and the barrier between them."""
    import numpy as np

    low, middle = float(np.nanmin(y)), float(np.interp(0.5, [0, 1], [min(heights), max(heights)]))
    inner = y[len(y) // 4 : -(len(y) // 4)]
    high = max(float(np.nanmax(inner)), *heights)
    room = max(0.1 * (high - low), 1e-3 * (1 + abs(middle)))
    return low - room, high + room


def _kind(state: "Stationary") -> str:
    """Return the kind of a state; R > 0 of a single unit counts as R > S."""
    return state.kind.replace("0", "S")


def _followed(followed: str, minima: "list[Stationary]") -> "Stationary":
    """Return the followed minimum while it exists, else the one of lowest free energy."""
    return next((s for s in minima if _kind(s) == followed), minima[0])


def marks(transitions: "Transitions", state: State) -> list[Mark]:
    loads = {"α_s": transitions.appears, "α_c": transitions.coexists, "α_d": transitions.unstable}
    lines = [Mark("x", float(e.value), name) for name, e in loads.items() if e is not None]
    return lines if "load" not in state else [*lines, Mark("x", state["load"], "α")]


def _states_panel(
    curves: "xr.Dataset", transitions: "Transitions", student: "Stationary", state: State
) -> Panel:
    names = "R" if state["infinite"] or state["K"] == 1 else "RS"
    traces = [trace for name in names for trace in branches(curves, name, name)]
    traces += [Trace("now", n, [student.load], [getattr(student, n)], kind="points") for n in names]
    words = f"Order parameters of {curves.sizes['branch']} branches over the load"
    x = Axis("α = βP/(KN), load", "α", "linear", ("linear", "log"))
    y = Axis("order parameters", ", ".join(names))
    description = f"{words}; the transition is {transitions.order}."
    return Panel("states", "States", description, x, y, traces, marks(transitions, state))


def _error_panel(
    curves: "xr.Dataset", transitions: "Transitions", student: "Stationary", state: State
) -> Panel:
    traces = error_branches(curves)
    traces.append(
        Trace("now", "error", [student.load], [student.generalization_error], kind="points")
    )
    x = Axis("α = βP/(KN), load", "α", "linear", ("linear", "log"))
    y = Axis("ε_g, generalization error", "ε_g", "log", ("linear", "log"))
    description = (
        "Generalization error of every branch; at the load it is "
        f"{student.generalization_error:.4g}."
    )
    return Panel(
        "error", "Generalization error", description, x, y, traces, marks(transitions, state)
    )


def error_branches(curves: "xr.Dataset") -> list[Trace]:
    """Draw ε_g of each branch; coinciding branches share a curve with both names."""
    import numpy as np

    values, kinds = curves["generalization_error"].values, curves["kind"].values.tolist()
    same = [[np.allclose(a, b, equal_nan=True) for b in values] for a in values]
    traces: list[Trace] = []
    for member, kind in enumerate(kinds):
        if not any(same[member][:member]):
            names = [k for k, equal in zip(kinds, same[member], strict=True) if equal]
            label = f"ε_g ({' and '.join(names)})"
            traces += _branch(
                curves, "generalization_error", member, Trace(label, kind, None, None)
            )
    return traces


def branches(curves: "xr.Dataset", name: str, family: str) -> list[Trace]:
    """Draw each branch: a line where it is a minimum in all overlaps, dotted elsewhere."""
    traces: list[Trace] = []
    for member, kind in enumerate(curves["kind"].values.tolist()):
        style = Trace(f"{name} ({kind})", family, None, None, member)
        traces += _branch(curves, name, member, style)
    return traces


def _branch(curves: "xr.Dataset", name: str, branch: int, style: Trace) -> list[Trace]:
    """Draw one branch; ``style``: name, family and member of its traces."""
    import numpy as np

    load, y, stable = (curves[n].values for n in ("load", name, "stable"))
    y, stable, traces = y[branch], stable[branch], []
    # Extended by one point, so that it meets the stable part.
    inside = stable & np.roll(stable, 1) & np.roll(stable, -1)
    if np.any(np.isfinite(y)) and np.any(stable):
        traces.append(replace(style, x=load, y=np.where(stable, y, np.nan)))
    if np.any(np.isfinite(y) & ~stable):
        label, values = f"{style.name}, not stable", np.where(inside, np.nan, y)
        traces.append(replace(style, name=label, x=load, y=values, kind="dotted"))
    return traces


WORDS = {
    "appears": ("a specialized state appears", "α_s"),
    "coexists": ("it has the lowest free energy above", "α_c"),
    "unstable": ("the unspecialized state is unstable above", "α_d"),
}


def loads_numbers(transitions: "Transitions") -> list[LabelledNumber]:
    order = LabelledNumber(
        "transition", "", "absent" if transitions.order == "none" else transitions.order
    )
    loads = [
        estimate(words, symbol, getattr(transitions, name), transitions.reasons.get(name))
        for name, (words, symbol) in WORDS.items()
    ]
    jump = LabelledNumber(
        "jump at α_c", "|R − S|", transitions.jump, None, transitions.reasons.get("jump")
    )
    return [order, *loads, jump]


def _state_numbers(student: "Stationary") -> list[LabelledNumber]:
    alone = "a single unit has only the overlap R"
    numbers = [LabelledNumber("state", "", student.kind)]
    for name in "RSC":
        value = getattr(student, name)
        missing = math.isnan(value)
        numbers.append(LabelledNumber("order parameter", name, None if missing else value, None,
                            alone if missing else None))  # fmt: skip
    return [
        *numbers,
        LabelledNumber("generalization error", "ε_g", student.generalization_error),
        LabelledNumber("free energy", "βf/K", student.free_energy_per_unit),
        LabelledNumber("lowest eigenvalue of the Hessian", "λ", student.lowest_eigenvalue),
    ]


def _messages(state: State, student: "Stationary", minima: "list[Stationary]") -> list[str]:
    messages = [f"At α = {state['load']:g} there are {len(minima)} minima." if len(minima) > 1
             else f"At α = {state['load']:g} there is one minimum."]  # fmt: skip
    if state["followed"] not in (LOWEST, _kind(student)):
        messages.append(
            f"The state {state['followed']} is not a minimum here: "
            f"the student is in {student.kind}."
        )
    if not student.stable:
        messages.append("This state is a minimum only while the units are equal.")
    return messages


def python(state: State) -> str:
    """Return Python code for states and curves."""
    K = "math.inf" if state["infinite"] else state["K"]
    last = last_load(state, transitions_and_curves(state)[0])
    values = (
        f"np.linspace(-{MAX_SPECIALIZATION}, {MAX_SPECIALIZATION}, {2 * SPECIALIZATION_POINTS + 1})"
    )
    return "\n".join([
        *(["import math", ""] if state["infinite"] else []),
        "import numpy as np",
        "",
        "import tutelage as tl",
        "",
        f"g = {units.code(state['activation'], state)}",
        f"transitions = tl.equilibrium.transitions(g, {K})",
        f"states = tl.equilibrium.states(g, {K}, {state['load']!r})",
        f"curves = tl.equilibrium.learning_curve(g, {K}, np.linspace(0.0, {last!r}, {LOADS}))",
        f"energy = tl.equilibrium.free_energy(g, {K}, {state['load']!r}, {values})",
        "print(transitions)",
        "print(states[0])",
        "",
    ])  # fmt: skip


def command(state: State) -> str:
    """Return the command for transitions and minima."""
    K = "inf" if state["infinite"] else state["K"]
    g = units.option(state["activation"], state)
    return f"tutelage equilibrium --activation {g} --units {K} --load {state['load']!r}"
