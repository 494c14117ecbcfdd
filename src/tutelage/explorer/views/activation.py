"""View of an activation or formula: its Hermite coefficients and its phase transition."""

from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError, short_repr
from tutelage.explorer import formulas, units
from tutelage.explorer.parameters import Parameter, State, integer
from tutelage.explorer.pictures import Axis, LabelledNumber, Panel, Picture, Trace, lowered
from tutelage.explorer.views import transitions
from tutelage.explorer.views.transitions import how_many, transitions_and_curves
from tutelage.runs.programs import program_of

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.activations import Activation
    from tutelage.equilibrium import TransitionKind, Transitions

NAME, TITLE = "activation", "Which activation"
FORMULA = (
    "<math><mi>g</mi><mo>(</mo><mi>x</mi><mo>)</mo><mo>=</mo><munder><mo>∑</mo><mi>n</mi></munder>"
    "<msub><mi>c</mi><mi>n</mi></msub><msub><mi>h</mi><mi>n</mi></msub><mo>(</mo><mi>x</mi>"
    "<mo>)</mo><mo>,</mo></math> <math><mfrac><mn>1</mn><mrow><mi>α</mi><mo>(</mo><mi>R</mi>"
    "<mo>)</mo></mrow></mfrac><mo>=</mo><mo>(</mo><mn>1</mn><mo>−</mo><msup><mi>R</mi><mn>2</mn>"
    "</msup><mo>)</mo><munder><mo>∑</mo><mrow><mi>n</mi><mo>≥</mo><mn>2</mn></mrow></munder>"
    "<mi>n</mi><msubsup><mi>c</mi><mi>n</mi><mn>2</mn></msubsup><msup><mi>R</mi><mrow><mi>n</mi>"
    "<mo>−</mo><mn>2</mn></mrow></msup></math>"
)
FORMULA_TEXT = "g(x) = Σ c_n h_n(x); for K → ∞ 1/α(R) = (1 − R²) Σ_{n≥2} n c_n² R^(n−2)"
DOCUMENTATION = "equilibrium"
STREAMS, DETAILS = False, False

UNIT, STUDENT = "Unit", "Student and teacher"
ORDER = 20
MAX_LISTED_COEFFICIENT = 5
FURTHEST, POINTS = 4.0, 161
KINK_GAP = 1e-9  # distance from a kink: less than a pixel, and many times the rounding of a field

PARAMETERS: list[Parameter] = [
    units.choice("activation", "activation", UNIT, "relu", ((units.FORMULA, "a formula"),)),
    *units.parameters("activation", UNIT),
    Parameter("formula", "formula of x", "g(x)", "numbers, x, + - * / ^, brackets, and "
              + ", ".join(formulas.FUNCTIONS), UNIT, "text", "x*sigmoid(2*x)",
              longest=formulas.LONGEST, shown_when={"activation": [units.FORMULA]}),
    Parameter("infinite", "infinitely many units", "K → ∞",
              "the transition depends on the Hermite coefficients only", STUDENT, "toggle", True),
    integer("K", "hidden units of student and teacher", "K", "number of units of each network",
            STUDENT, 3, 1, 1000, scale="log", shown_when={"infinite": [False]}),
]  # fmt: skip


def program(state: State) -> str:
    """Return a text that is equal for states with the same compiled functions."""
    names = ["activation", "infinite", "K"]
    names += ["formula"] if state["activation"] == units.FORMULA else []
    return program_of({name: state[name] for name in names})


def draw(state: State) -> Picture:
    """Draw the activation, its coefficients and its learning curve."""
    g = units.unit(state["activation"], state)
    loads, curves, kind = _transitions(g, state)
    values = g.hermite(ORDER)
    x = Axis("α = βP/(KN), load", "α", "linear", ("linear", "log"))
    y = Axis("ε_g, generalization error", "ε_g", "log", ("linear", "log"))
    traces = transitions.error_branches(curves)
    words = f"Generalization error over the load; the transition is {_order(kind)}."
    marks = transitions.marks(loads, state)
    return Picture(
        panels=[
            _unit_panel(g),
            _hermite_panel(values.values),
            Panel("error", "Learning curve", words, x, y, traces, marks),
        ],
        numbers=[*_numbers(g, kind, values), *transitions.loads_numbers(loads)[1:]],
        messages=[f"The transition is {_order(kind)}: {lowered(kind.because)}."],
    )


def _transitions(g: "Activation", state: State) -> "tuple[Transitions, xr.Dataset, TransitionKind]":
    """Compute the transitions; solvers may fail for a formula typed by the user."""
    import tutelage as tl

    try:
        return *transitions_and_curves(state), tl.equilibrium.transition_kind(g, how_many(state))
    except InputError:
        raise
    except (ValueError, ArithmeticError):
        if state["activation"] != units.FORMULA:
            raise
        allowed = "no transition was found; the activation may change too fast"
        received = short_repr(state["formula"])
        raise InputError("formula", received, allowed, formulas.EXAMPLE) from None


def _unit_panel(g: "Activation") -> Panel:
    import numpy as np

    kinks = np.array([float(kink.position) for kink in g.kinks])
    sides = [kinks - KINK_GAP, kinks, kinks + KINK_GAP]
    x = np.unique(np.concatenate([np.linspace(-FURTHEST, FURTHEST, POINTS), *sides]))
    # The derivative jumps at a kink: leave a gap there.
    slope = np.where(np.isin(x, kinks), np.nan, np.asarray(g.derivative(x)))
    traces = [
        Trace("g(x)", "g", x, np.asarray(g(x))),
        Trace("g′(x)", "g", x, slope, 1, "dashed"),
    ]
    description = "Output of a unit as a function of its field x, and the derivative."
    return Panel(
        "activation", "The unit", description, Axis("x, field", "x"), Axis("g", "g"), traces
    )


def _hermite_panel(values: object) -> Panel:
    import numpy as np

    c = np.asarray(values)
    trace = Trace("c_n", "c", np.arange(len(c)), c, kind="points")
    description = f"Hermite coefficients of g up to n = {ORDER}."
    x, y = Axis("n, order", "n"), Axis("c_n, Hermite coefficient", "c_n")
    return Panel("hermite", "Hermite coefficients", description, x, y, [trace])


def _order(kind: "TransitionKind") -> str:
    return "absent" if kind.order == "none" else kind.order


def _numbers(g: "Activation", kind: "TransitionKind", values: Any) -> list[LabelledNumber]:
    c, error = values.values, values.error
    numbers = [
        LabelledNumber("Hermite coefficient", f"c_{n}", float(c[n]), float(error[n]))
        for n in range(MAX_LISTED_COEFFICIENT + 1)
    ]
    kinks = ", ".join(f"{float(kink.position):g}" for kink in g.kinks) or "none"
    return [
        LabelledNumber("transition", "", _order(kind)),
        LabelledNumber("because", "", lowered(kind.because)),
        *numbers,
        LabelledNumber("parity", "", g.parity),
        LabelledNumber("kinks at", "x", kinks),
    ]


def dataset(state: State) -> "xr.Dataset":
    """Return the learning curve with the coefficients as a variable."""
    import numpy as np

    values = np.asarray(units.unit(state["activation"], state).hermite(ORDER).values)
    return (
        transitions_and_curves(state)[1]
        .assign(hermite=("order", values))
        .assign_coords(order=np.arange(ORDER + 1))
    )


def python(state: State) -> str:
    """Return Python code for coefficients, kind of transition and curve."""
    words = "math.inf" if state["infinite"] else state["K"]
    last = transitions.last_load(state, transitions_and_curves(state)[0])
    typed = state["activation"] == units.FORMULA
    more = formulas.imports(state["formula"]) if typed else []
    loads = f"np.linspace(0.0, {last!r}, {transitions.LOADS})"
    return "\n".join([
        *(["import math", ""] if state["infinite"] else []),
        *more,
        "import numpy as np",
        "",
        "import tutelage as tl",
        "",
        f"g = {units.code(state['activation'], state)}",
        f"coefficients = g.hermite({ORDER}).values",
        f"kind = tl.equilibrium.transition_kind(g, {words})",
        f"transitions = tl.equilibrium.transitions(g, {words})",
        f"curves = tl.equilibrium.learning_curve(g, {words}, {loads})",
        "print(kind)",
        "",
    ])  # fmt: skip


def command(state: State) -> str | None:
    """Return the command for the transitions; None for a formula."""
    if state["activation"] == units.FORMULA:
        return None
    words = "inf" if state["infinite"] else state["K"]
    g = units.option(state["activation"], state)
    return f"tutelage equilibrium --activation {g} --units {words}"
