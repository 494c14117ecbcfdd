"""On-line learning: overlaps and error of a student over the time α, and finite networks on top."""

from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.explorer import units
from tutelage.explorer.parameters import Parameter, State, integer, number
from tutelage.explorer.pictures import Axis, Mark, Number, Panel, Picture, Trace, estimate

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from tutelage.model import Overlaps, Scenario

NAME, TITLE = "online", "On-line learning"
FORMULA = (
    "<math><mfrac><mrow><mi>d</mi><msub><mi>R</mi><mrow><mi>i</mi><mi>n</mi></mrow></msub></mrow>"
    "<mrow><mi>d</mi><mi>α</mi></mrow></mfrac><mo>=</mo><mi>η</mi><mo>⟨</mo><msub><mi>δ</mi>"
    "<mi>i</mi></msub><msub><mi>y</mi><mi>n</mi></msub><mo>⟩</mo><mo>,</mo><mspace width='1em'/>"
    "<mfrac><mrow><mi>d</mi><msub><mi>Q</mi><mrow><mi>i</mi><mi>k</mi></mrow></msub></mrow><mrow>"
    "<mi>d</mi><mi>α</mi></mrow></mfrac><mo>=</mo><mi>η</mi><mo>⟨</mo><msub><mi>δ</mi><mi>i</mi>"
    "</msub><msub><mi>x</mi><mi>k</mi></msub><mo>+</mo><msub><mi>δ</mi><mi>k</mi></msub><msub>"
    "<mi>x</mi><mi>i</mi></msub><mo>⟩</mo><mo>+</mo><msup><mi>η</mi><mn>2</mn></msup><mo>⟨</mo>"
    "<msub><mi>δ</mi><mi>i</mi></msub><msub><mi>δ</mi><mi>k</mi></msub><mo>⟩</mo></math>"
)
FORMULA_TEXT = "dR_in/dα = η⟨δ_i y_n⟩, dQ_ik/dα = η⟨δ_i x_k + δ_k x_i⟩ + η²⟨δ_i δ_k⟩"
DOCUMENTATION = "online.html"
STREAMS, DETAILS = True, True

SAME = "same"
TIMES = 401
TOLERANCE = 1e-8
STUDENT, TEACHER, START, NOISE, TIME, FINITE = (
    *("Student", "Teacher", "Start", "Noise", "Time"),
    "Finite networks",
)
READOUT = "one number for each unit, with commas between them; empty: all are 1"
RANDOM, GIVEN = {"start": ["random"]}, {"start": ["given"]}

PARAMETERS: list[Parameter] = [
    integer("K", "hidden units of the student", "K", "how many units learn", STUDENT, 2, 1, 5),
    units.choice("activation", "activation of the student", STUDENT, "relu"),
    *units.parameters("activation", STUDENT),
    number("learning_rate", "learning rate", "η", "the step of learning; 0 is the limit η → 0",
           STUDENT, 1.0, 1e-3, 20.0, scale="log", zero=True),
    integer("batch", "examples for each step", "b", "each step takes the mean of their gradients",
            STUDENT, 1, 1, 1000, scale="log"),
    Parameter("readout", "second layer of the student", "v", READOUT, STUDENT, "text", ""),
    number("readout_rate", "learning rate of the second layer", "η_v", "0 keeps it as it is",
           STUDENT, 0.0, 1e-3, 20.0, scale="log", zero=True),
    integer("M", "hidden units of the teacher", "M", "how many units teach", TEACHER, 2, 1, 5),
    units.choice("teacher_activation", "activation of the teacher", TEACHER, SAME,
                 ((SAME, "that of the student"),)),
    *units.parameters("teacher_activation", TEACHER, "teacher_"),
    number("teacher_norm", "squared norm of the first teacher", "T₁₁", "length of its weights",
           TEACHER, 1.0, 0.01, 10.0, scale="log"),
    number("teacher_norm_last", "squared norm of the last teacher", "T_MM",
           "those between are equally spaced", TEACHER, 1.0, 0.01, 10.0, scale="log"),
    number("teacher_cosine", "cosine of the angle between teachers", "cos θ",
           "the same for each pair; 0: they are orthogonal", TEACHER, 0.0, -0.9, 0.99, step=0.01),
    Parameter("teacher_readout", "second layer of the teacher", "v*", READOUT, TEACHER, "text", ""),
    Parameter("start", "start", "", "given overlaps, or those of random weights", START, "choice",
              "given", choices=(("given", "given overlaps"), ("random", "random weights"))),
    number("start_q", "squared norm of the first student", "Q₁₁", "at α = 0", START,
           0.2, 1e-4, 10.0, scale="log", shown_when=GIVEN),
    number("start_q_last", "squared norm of the last student", "Q_KK",
           "at α = 0; those between are equally spaced", START, 0.3, 1e-4, 10.0, scale="log",
           shown_when=GIVEN),
    number("start_r", "asymmetry", "R_ii", "overlap of student i with teacher i at α = 0", START,
           1e-3, 1e-12, 1.0, scale="log", zero=True, shown_when=GIVEN),
    integer("start_dimension", "inputs of the random weights", "N", "overlaps are of order 1/√N",
            START, 1000, 20, 10**9, scale="log", shown_when=RANDOM),
    number("start_norm", "norm of the random weights", "|J|", "typical length at α = 0", START,
           0.5, 0.01, 3.0, shown_when=RANDOM, step=0.01),
    integer("start_seed", "seed of the start", "", "another seed, other weights", START,
            0, 0, 9999, shown_when=RANDOM),
    number("label_noise", "noise on the labels", "ς", "its standard deviation", NOISE,
           0.0, 1e-3, 3.0, scale="log", zero=True),
    number("weight_decay", "weight decay", "γ", "pull of the weights to zero", NOISE,
           0.0, 1e-5, 1.0, scale="log", zero=True),
    number("drift", "drift of the teacher", "δ", "rate of its random walk; norms are kept", NOISE,
           0.0, 1e-5, 1.0, scale="log", zero=True),
    number("until", "last time", "α", "examples for each input", TIME, 100.0, 1.0, 1e5,
           scale="log"),
    integer("dimension", "inputs of the networks", "N", "finite networks have so many inputs",
            FINITE, 1000, 20, 10**6, scale="log"),
    integer("runs", "number of networks", "", "each starts alike and sees other examples", FINITE,
            5, 1, 50),
    integer("seed", "seed of the examples", "", "another seed, other examples", FINITE, 0, 0, 9999),
]  # fmt: skip


def program(state: State) -> tuple[Any, ...]:
    """What is compiled: another value of anything else needs no other program."""
    names = ("K", "M", "activation", "teacher_activation", "batch")
    numbers = ("learning_rate", "readout_rate", "label_noise", "drift")
    layers = (bool(state["readout"]), bool(state["teacher_readout"]))
    limits = tuple(state[name] > 0 for name in numbers)
    return (*(state[name] for name in names), *limits, *layers)


def draw(state: State) -> Picture:
    """Error and overlaps over α, and how the run ended."""
    run = dataset(state)
    return Picture(
        panels=_panels(run, state), numbers=_numbers(run), messages=_messages(run, state)
    )


def dataset(state: State) -> "xr.Dataset":
    """The curves of the equations of motion."""
    import tutelage as tl

    scenario = scenario_of(state)
    return tl.online.evolve(scenario, start_of(state, scenario), **_arguments(state))


def _arguments(state: State) -> dict[str, Any]:
    return {
        "learning_rate": state["learning_rate"],
        "until": state["until"],
        "times": _times(state),
        **{
            name: state[name] for name in ("readout_rate", "batch") if state[name] != _default(name)
        },
        "tolerance": TOLERANCE,
    }


def _default(name: str) -> Any:
    return next(p.default for p in PARAMETERS if p.name == name)


def _times(state: State) -> "np.ndarray":
    """Closer at the beginning, for an axis with logarithms."""
    import numpy as np

    return state["until"] * np.linspace(0, 1, TIMES) ** 2


def scenario_of(state: State) -> "Scenario":
    """Who learns from whom."""
    import tutelage as tl

    student = tl.Committee(state["K"], units.unit(state["activation"], state), _readout(state, "K"))
    teacher = tl.Committee(state["M"], units.unit(*_teacher_unit(state)), _readout(state, "M"))
    return tl.Scenario(student, teacher, _teacher_overlaps(state), **_noise(state))


def _noise(state: State) -> dict[str, float]:
    return {n: state[n] for n in ("label_noise", "weight_decay", "drift") if state[n]}


def _teacher_unit(state: State) -> tuple[str, State, str]:
    """Name of the unit, where its parameter stands, and under which prefix."""
    if state["teacher_activation"] == SAME:
        return state["activation"], state, ""
    return state["teacher_activation"], state, "teacher_"


def _readout(state: State, units_: str) -> list[float] | None:
    name = "readout" if units_ == "K" else "teacher_readout"
    if not state[name]:
        return None
    allowed = f"{units_} = {state[units_]} numbers between -10 and 10 with commas between them"
    hint = ", ".join(["1", "-1", "0.5", "2", "1"][: state[units_]])
    try:
        found = [float(part) for part in state[name].split(",")]
    except ValueError:
        found = []
    if len(found) != state[units_] or not all(abs(x) <= 10 for x in found) or not any(found):
        raise InputError(name, repr(state[name]), f"it has to be {allowed}, not all 0", hint)
    return found


def _teacher_overlaps(state: State) -> list[list[float]]:
    """T_nm = cos θ √(T_nn T_mm)."""
    import numpy as np

    M, c = state["M"], state["teacher_cosine"]
    if M > 1 and c < -1 / (M - 1):
        allowed = f"{M} vectors have at least cos θ = -1/(M - 1) = {-1 / (M - 1):.4g} to each other"
        raise InputError("teacher_cosine", str(c), allowed, "0")
    norm = np.linspace(state["teacher_norm"], state["teacher_norm_last"], M)
    T = np.where(np.eye(M, dtype=bool), np.diag(norm), c * np.sqrt(np.outer(norm, norm)))
    return T.tolist()


def start_of(state: State, scenario: "Scenario") -> "Overlaps":
    """Overlaps at α = 0."""
    import tutelage as tl

    if state["start"] == "random":
        return tl.simulation.random_start(scenario, **_random(state))
    return tl.Overlaps(*_given(state), scenario.T)


def _random(state: State) -> dict[str, Any]:
    names = {"dimension": "start_dimension", "student_norm": "start_norm", "seed": "start_seed"}
    return {argument: state[name] for argument, name in names.items()}


def _given(state: State) -> tuple[list[list[float]], list[list[float]]]:
    """Q and R: Q_ik = 0 for i ≠ k, R_in = 0 for i ≠ n."""
    import numpy as np

    K, M, r = state["K"], state["M"], state["start_r"]
    q, t = _diagonal(state), np.diag(_teacher_overlaps(state))
    both = min(K, M)
    largest = float(np.min(np.sqrt(q[:both] * t[:both])))
    if r > largest:
        allowed = f"with these norms it is at most √(Q T) = {largest:.4g}"
        raise InputError("start_r", f"{r:g}", allowed, f"{0.5 * largest:.2g}")
    return np.diag(q).tolist(), (r * np.eye(K, M)).tolist()


def _diagonal(state: State) -> "np.ndarray":
    import numpy as np

    return np.linspace(state["start_q"], state["start_q_last"], state["K"])


# What is drawn.

SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _indexed(letter: str, *indices: int) -> str:
    return letter + "".join(str(i) for i in indices).translate(SMALL)


def _time_axis(state: State) -> Axis:
    label = "α = examples / N" if state["batch"] == 1 else "α = steps / N"
    label = "η α = η · examples / N" if state["learning_rate"] == 0 else label
    return Axis(label, "α", "linear", ("linear", "log"))


def _panels(run: "xr.Dataset", state: State) -> list[Panel]:
    time = run["time"].values
    x, errors = _time_axis(state), run["generalization_error"].values
    below = float(run.attrs["integration_error"])
    error = Trace("ε_g", "error", time, [float(e) if e > below else None for e in errors])
    panels = [
        Panel("error", "Generalization error", _describe_error(run), x,
              Axis("ε_g, generalization error", "ε_g", "linear", ("linear", "log")), [error]),
        Panel("overlaps", "Overlaps", _describe_overlaps(run), x,
              Axis("overlaps R and Q", "R, Q"), overlap_traces(run)),
    ]  # fmt: skip
    if "readout" in run:
        y = Axis("weights of the second layer", "v")
        description = "weights of the student's second layer over α"
        panels.append(Panel("readout", "Second layer", description, x, y, _readouts(run)))
    return panels


def overlap_traces(run: "xr.Dataset", **how: Any) -> list[Trace]:
    """R_in and Q_ik, one of each pair."""
    time, K, M = run["time"].values, run.sizes["student"], run.sizes["teacher"]
    R, Q = run["R"].values, run["Q"].values
    found = [
        Trace(_indexed("R", i + 1, n + 1), "R", time, R[:, i, n], i * M + n, **how)
        for i in range(K)
        for n in range(M)
    ]
    pairs = [(i, k) for i in range(K) for k in range(i, K)]
    return found + [
        Trace(_indexed("Q", i + 1, k + 1), "Q", time, Q[:, i, k], member, **how)
        for member, (i, k) in enumerate(pairs)
    ]


def _readouts(run: "xr.Dataset") -> list[Trace]:
    time, v = run["time"].values, run["readout"].values
    return [
        Trace(_indexed("v", i + 1), "v", time, v[:, 0, i], i) for i in range(run.sizes["student"])
    ]


def _describe_error(run: "xr.Dataset") -> str:
    first, last = (float(run["generalization_error"][i]) for i in (0, -1))
    words = f"The generalization error over α goes from {first:.4g} to {last:.4g}"
    return f"{words}; the run has {run.attrs['outcome']} at α = {run.attrs['ended_at']:.4g}."


def _describe_overlaps(run: "xr.Dataset") -> str:
    K, M = run.sizes["student"], run.sizes["teacher"]
    return f"Overlaps R of {K} students with {M} teachers and Q among the students, over α."


def _numbers(run: "xr.Dataset") -> list[Number]:
    last = run.isel(time=-1)
    R, Q = last["R"].values, last["Q"].values
    error, noise = float(last["generalization_error"]), float(run.attrs["integration_error"])
    reason = f"less than {noise:g}, the error of the integration"
    small = error <= noise
    found = [
        Number("outcome", "", run.attrs["outcome"]),
        Number("ended at", "α", float(run.attrs["ended_at"])),
        Number("last error", "ε_g", None if small else error, None, reason if small else None),
    ]
    found += [Number("overlap with a teacher", _indexed("R", i + 1, n + 1), float(R[i, n]))
              for i in range(R.shape[0]) for n in range(R.shape[1])]  # fmt: skip
    found += [Number("overlap of students", _indexed("Q", i + 1, k + 1), float(Q[i, k]))
              for i in range(len(Q)) for k in range(i, len(Q))]  # fmt: skip
    return found


OUTCOMES = {
    "converged": "The run has converged: nothing moves any more, and every disturbance decays.",
    "plateau": "The run rests beside a saddle: nothing moves, but a disturbance would grow.",
    "diverged": "The run has diverged: norms beyond 10⁶. A smaller learning rate converges.",
    "reached": "",
}


def _messages(run: "xr.Dataset", state: State) -> list[str]:
    found = [OUTCOMES[run.attrs["outcome"]]]
    if state["learning_rate"] == 0:
        found.append("In the limit η → 0 time is measured in units of 1/η.")
    return [message for message in found if message]


def details(state: State) -> Picture:
    """The plateau with its eigenvalues, and the critical learning rates."""
    import tutelage as tl

    scenario = scenario_of(state)
    start = start_of(state, scenario)
    steps = {name: state[name] for name in ("readout_rate", "batch")}
    plateau = tl.online.plateau(scenario, start, state["learning_rate"], **steps)
    steps["readout_rate"] /= state["learning_rate"] or 1.0  # there in units of η
    rates = tl.online.critical_learning_rates(scenario, start, **steps)
    picture = Picture(numbers=[*_plateau_numbers(plateau), *_rate_numbers(rates)])
    if plateau.point is not None:
        picture.panels = [_eigenvalues(plateau.point)]
        picture.panel_marks = _plateau_marks(plateau)
    picture.slider_marks = {"learning_rate": _rate_marks(rates)}
    return picture


def _plateau_marks(plateau: Any) -> dict[str, list[Mark]]:
    ends = [Mark("x", plateau.begins, "plateau begins"), Mark("x", plateau.ends, "plateau ends")]
    height = Mark("y", float(plateau.height.value), "height of the plateau")
    return {"error": [*ends, height], "overlaps": ends}


CRITICAL = {
    "non_monotonic": "above it the error is not monotonic",
    "plateau_vanishes": "above it there is no plateau",
    "loses_stability": "above it the final state is unstable",
    "diverges": "above it the norms diverge",
}


def _plateau_numbers(plateau: Any) -> list[Number]:
    why = plateau.reasons
    return [
        estimate("height of the plateau", "ε_g", plateau.height, why.get("height")),
        estimate("length of the plateau", "Δα", plateau.length, why.get("length")),
    ]


def _rate_numbers(rates: Any) -> list[Number]:
    return [
        estimate(words, "η", getattr(rates, name), rates.reasons.get(name))
        for name, words in CRITICAL.items()
    ]


def _rate_marks(rates: Any) -> list[dict[str, Any]]:
    found = {name: getattr(rates, name) for name in CRITICAL}
    return [
        {"at": float(rate.value), "label": CRITICAL[name]}
        for name, rate in found.items()
        if rate is not None
    ]


def _eigenvalues(point: Any) -> Panel:
    values = point.eigenvalues
    leads = int((values.real > 0).sum())
    description = f"{len(values)} eigenvalues of the saddle; {leads} with a positive real part."
    trace = Trace("λ of the saddle", "error", values.real, values.imag, kind="points")
    x, y = Axis("Re λ", "Re λ"), Axis("Im λ", "Im λ")
    zero = [Mark("x", 0.0, "grows to the right")]
    return Panel("eigenvalues", "Eigenvalues of the plateau", description, x, y, [trace], zero)


# What is copied.


def python(state: State) -> str:
    """The curves in Python, to the last digit."""
    student = units.code(state["activation"], state)
    teacher = units.code(*_teacher_unit(state))
    committees = [
        f"    student=tl.Committee({state['K']}, {student}{_written_readout(state, 'K')}),",
        f"    teacher=tl.Committee({state['M']}, {teacher}{_written_readout(state, 'M')}),",
        f"    teacher_overlaps={_teacher_overlaps(state)},",
        *(f"    {name}={value!r}," for name, value in _noise(state).items()),
    ]
    arguments = {
        **_arguments(state),
        "times": f"{state['until']!r} * np.linspace(0, 1, {TIMES}) ** 2",
    }
    written = [
        f"    {name}={value if name == 'times' else repr(value)},"
        for name, value in arguments.items()
    ]
    return "\n".join([
        "import numpy as np",
        "",
        "import tutelage as tl",
        "",
        "scenario = tl.Scenario(",
        *committees,
        ")",
        f"start = {_written_start(state)}",
        "run = tl.online.evolve(",
        "    scenario,",
        "    start,",
        *written,
        ")",
        'print(run.attrs["outcome"], float(run["generalization_error"][-1]))',
        "",
    ])  # fmt: skip


def _written_readout(state: State, units_: str) -> str:
    v = _readout(state, units_)
    return "" if v is None else f", readout={v}"


def _written_start(state: State) -> str:
    if state["start"] == "random":
        arguments = ", ".join(f"{name}={value!r}" for name, value in _random(state).items())
        return f"tl.simulation.random_start(scenario, {arguments})"
    Q, R = _given(state)
    return f"tl.Overlaps(\n    Q={Q},\n    R={R},\n    T=scenario.T,\n)"


def command(state: State) -> str | None:
    """The same on a command line, where it has words for it."""
    if state["start"] == "random" or state["teacher_cosine"] or state["M"] == 0:
        return None
    import numpy as np

    options = {
        "student": state["K"],
        "teacher": state["M"],
        "activation": units.option(state["activation"], state),
        "teacher-activation": units.option(*_teacher_unit(state)),
        "learning-rate": state["learning_rate"],
        "until": state["until"],
        "teacher-norms": _commas(np.diag(_teacher_overlaps(state))),
        "start-q": _commas(_diagonal(state)),
        "start-r": state["start_r"],
        **{name.replace("_", "-"): value for name, value in _noise(state).items()},
        **{name: _commas(v) for name, v in _readouts_given(state).items()},
        **{n.replace("_", "-"): state[n] for n in ("readout_rate", "batch")
           if state[n] != _default(n)},
        "tolerance": TOLERANCE,
    }  # fmt: skip
    return " ".join(["tutelage online", *(f"--{name} {value}" for name, value in options.items())])


def _readouts_given(state: State) -> dict[str, list[float]]:
    both = {"readout": _readout(state, "K"), "teacher-readout": _readout(state, "M")}
    return {name: v for name, v in both.items() if v is not None}


def _commas(numbers: Any) -> str:
    return ",".join(repr(float(x)) for x in numbers)
