"""Papers: the report's figures, each with the view that opens it and its parameters."""

from typing import Any

from tutelage.explorer import files
from tutelage.explorer.parameters import Parameter, State
from tutelage.explorer.pictures import Picture

NAME, TITLE = "papers", "Papers"
FORMULA, FORMULA_TEXT, DOCUMENTATION = "", "", None
STREAMS, DETAILS = False, False
PARAMETERS: list[Parameter] = []

MISSING = (
    "There is no report here yet. Make one with `make reproduce` (or `tutelage reproduce`), in the "
    "folder in which `tutelage explore` is started, or name its folder: `--report FOLDER`."
)

_LIMIT: State = {"activation": "relu", "learning_rate": 0.0}
_GRADED: State = {
    **{"K": 2, "M": 2, "activation": "relu", "learning_rate": 1.0, "until": 100.0},
    **{"teacher_norm": 1.0, "teacher_norm_last": 2.0, "start_q": 0.1, "start_q_last": 0.2},
    **{"start_r": 0.001, "dimension": 1000, "runs": 10, "seed": 1},
}
_ONE: State = {
    **{"K": 1, "M": 1, "activation": "relu", "learning_rate": 0.1, "until": 200.0},
    **{"start_q": 0.25, "start_q_last": 0.25, "start_r": 0.0, "dimension": 1000, "runs": 10},
}
# Figures and passages, and what they are in a view.
OPENS: dict[tuple[str, str], tuple[str, State]] = {
    ("straat2019", "perceptron"): ("online", {**_ONE, "learning_rate": 1.9}),
    ("straat2019", "fig1"): ("online", _ONE),
    ("straat2019", "fig2"): ("online", {**_LIMIT, "K": 2, "M": 2, "until": 50.0}),
    ("straat2019", "fig3"): (
        "online",
        {**_LIMIT, "K": 3, "M": 2, "start_norms": "0.2, 0.3, 0.25", "start_first": True,
         "until": 200.0},
    ),
    ("straat2019", "fig4"): (
        "online",
        {**_LIMIT, "K": 2, "M": 3, "start_norms": "0.2, 0.2", "start_first": True, "until": 200.0},
    ),
    ("straat2019", "abstract"): (
        "online", {**_LIMIT, "activation": "erf", "K": 2, "M": 2, "until": 400.0},
    ),
    ("citton2025", "fig1"): ("online", _GRADED),
    ("citton2025", "fig2"): ("online", {**_GRADED, "learning_rate": 1.2}),
    ("citton2025", "critical"): ("online", {**_GRADED, "learning_rate": 1.2}),
    ("citton2025", "sigmoidal"): ("online", {**_GRADED, "activation": "erf"}),
    ("oostwal2019", "fig1"): ("activation", {"activation": "relu"}),
    ("oostwal2019", "fig2"): ("transitions", {"activation": "erf", "K": 5, "load": 46.0}),
    ("oostwal2019", "text3a"): (
        "transitions", {"activation": "erf", "infinite": True, "load": 69.0},
    ),
    ("oostwal2019", "fig3"): ("transitions", {"activation": "relu", "K": 10, "load": 10.0}),
    ("oostwal2019", "fig4"): ("transitions", {"activation": "relu", "infinite": True, "load": 7.0}),
    ("oostwal2019", "fig5"): ("transitions", {"activation": "erf", "K": 5, "load": 50.0}),
    ("oostwal2019", "eq32"): ("transitions", {"activation": "erf", "K": 1, "load": 5.0}),
    ("milletari2019", "eq5"): ("activation", {"activation": "swish"}),
    ("milletari2019", "fig1"): ("playback", {"file": "milletari2019_fig1_linear_10_swish.nc"}),
    ("milletari2019", "fig2"): ("playback", {"file": "milletari2019_fig2_swish_spectra.nc"}),
    **{
        ("tian2020", name): ("playback", {"file": f"tian2020_{name}.nc"})
        for name in ("fig3", "fig4", "fig5", "fig6", "fig7", "fig11", "fig12")
    },
    ("beyond", "rates"): ("online", {**_GRADED, "learning_rate": 1.25}),
    ("beyond", "schedules"): ("online", _GRADED),
    ("beyond", "relu"): ("transitions", {"activation": "relu", "K": 3, "load": 6.0}),
    ("beyond", "noise"): ("transitions", {"activation": "swish", "K": 5, "load": 10.0}),
    ("beyond", "activations"): ("activation", {"activation": "gelu"}),
    ("beyond", "plateaus"): (
        "online", {**_LIMIT, "activation": "erf", "K": 3, "M": 3, "until": 1000.0},
    ),
    ("beyond", "escape"): (
        "online", {"K": 2, "M": 2, "activation": "relu", "learning_rate": 1.0, "start_r": 0.0,
                   "runs": 10},
    ),
    ("beyond", "drift"): (
        "online", {"K": 2, "M": 2, "activation": "erf", "learning_rate": 0.5, "drift": 0.001,
                   "until": 1000.0},
    ),
}  # fmt: skip


def figures() -> dict[str, Any]:
    """Every section of the papers that has a picture or opens in a view."""
    from tutelage.papers import sections

    drawn, known = files.parts(), set(files.results())
    found = []
    for entry in sections():
        opens = _opens((entry.paper.key, entry.section.name), known)
        pictures = drawn.get(entry.stem, [])
        for number, name in enumerate(pictures or [None]):
            if name is not None or opens is not None:
                found.append({
                    "paper": f"{entry.paper.title} ({entry.paper.key})",
                    "title": entry.section.title,
                    "caption": entry.section.caption if number == 0 else "",
                    "picture": None if name is None else f"/api/report/{name}",
                    "opens": opens if number == 0 else None,
                })  # fmt: skip
    return {"figures": found, "message": "" if drawn else MISSING}


def _opens(key: tuple[str, str], known: set[str]) -> dict[str, Any] | None:
    """A saved training can be opened where the report has it."""
    if key not in OPENS:
        return None
    view, state = OPENS[key]
    if "file" in state and state["file"] not in known:
        return None
    return {"view": view, "state": state}


def program(state: State) -> tuple[Any, ...]:
    return ()


def draw(state: State) -> Picture:
    """Nothing by itself: the page asks for the figures."""
    return Picture(messages=["The figures are at /api/papers."])


def dataset(state: State) -> Any:
    """Every figure has its own."""
    from tutelage._checks import InputError

    raise InputError("view", "'papers'", "a figure has data, papers have none", "view=online")


def python(state: State) -> str:
    """Make the report."""
    return 'import tutelage as tl\n\nrows = tl.papers.reproduce(["oostwal2019"], "4")\n'


def command(state: State) -> str:
    """The same for all papers."""
    return "tutelage reproduce"
