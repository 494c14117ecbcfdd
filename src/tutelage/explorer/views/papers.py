"""View of the papers: figures of the report, each with the view and the parameters to open it."""

from typing import Any

from tutelage._checks import InputError, short_repr
from tutelage.explorer import files
from tutelage.explorer.parameters import Parameter, State
from tutelage.explorer.pictures import Picture

NAME, TITLE = "papers", "Papers"
FORMULA, FORMULA_TEXT, DOCUMENTATION = "", "", None
STREAMS, DETAILS = False, False
PARAMETERS: list[Parameter] = []

MISSING = (
    "No report was found: the figures below are drawn from data recorded in the package, or "
    "computed in seconds. To see all figures, make a report with `make reproduce` (or "
    "`tutelage reproduce`) in the folder in which `tutelage explore` is started, or name the "
    "folder of a report: `--report FOLDER`."
)
# Sections whose first figure takes at most 2 s of one core, most of it for drawing.
SMALL = (
    "oostwal2019_fig1",
    *(f"tian2020_fig{n}" for n in (3, 4, 5, 6, 7, 8, 11, 12)),
)
# Recorded trainings that replace those of a report.
RECORDED = {
    "fig4": "layers_code",
    "fig6": "followed_code",
    "fig7": "recovery_code",
    "fig8": "images_same",
    "fig12": "uniform_code",
}

_LIMIT: State = {"activation": "relu", "learning_rate": 0.0}
_GRADED: State = {
    **{"K": 2, "M": 2, "activation": "relu", "learning_rate": 1.0, "until": 100.0},
    **{"teacher_norm": 1.0, "teacher_norm_last": 2.0, "start_q": 0.1, "start_q_last": 0.2},
    **{"start_r": 0.001, "dimension": 1000, "runs": 10, "seed": 1},
}
ONE_UNIT: State = {
    **{"K": 1, "M": 1, "activation": "relu", "learning_rate": 0.1, "until": 200.0},
    **{"start_q": 0.25, "start_q_last": 0.25, "start_r": 0.0, "dimension": 1000, "runs": 10},
}
# Figures and sections, with the view and the state that show them.
OPENS: dict[tuple[str, str], tuple[str, State]] = {
    ("straat2019", "perceptron"): ("online", {**ONE_UNIT, "learning_rate": 1.9}),
    ("straat2019", "fig1"): ("online", ONE_UNIT),
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
    """Return all sections of the papers that have a picture or open in a view."""
    from tutelage.papers import sections

    report, available = files.parts(), set(files.results())
    cards = []
    for entry in sections():
        opens = _opens((entry.paper.key, entry.section.name), available)
        pictures = [f"/api/report/{name}" for name in report.get(entry.stem, [])]
        if not report and entry.stem in SMALL:
            pictures = [f"/api/drawn/{entry.stem}.svg"]
        for number, address in enumerate(pictures or [None]):
            if address is not None or opens is not None:
                cards.append({
                    "paper": f"{entry.paper.title} ({entry.paper.key})",
                    "title": entry.section.title,
                    "caption": entry.section.caption if number == 0 else "",
                    "picture": address,
                    "opens": opens if number == 0 else None,
                })  # fmt: skip
    return {"figures": cards, "message": "" if report else MISSING}


def _opens(key: tuple[str, str], available: set[str]) -> dict[str, Any] | None:
    """Return the view of a section; for a training only if its file exists or is recorded."""
    paper, section = key
    if key in OPENS:
        view, state = OPENS[key]
        if "file" not in state or state["file"] in available:
            return {"view": view, "state": state}
    if paper == "tian2020" and section in RECORDED:
        return {"view": "playback", "state": {"file": f"{paper}_{RECORDED[section]}.nc"}}
    return None


def drawn(section: str) -> bytes:
    """Return the first figure of one of the sections `SMALL` as SVG."""
    import io

    import matplotlib as mpl

    if section not in SMALL:
        allowed = f"it has to be one of {', '.join(SMALL)}"
        raise InputError("section", short_repr(section), allowed, SMALL[0])
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from tutelage.figures import style
    from tutelage.papers import Row, sections

    paper, _, name = section.partition("_")
    (entry,) = sections([paper], name)
    file = io.BytesIO()
    with style():
        # The rest of the section is not computed.
        figure = next(part for part in entry.section.compute(False) if not isinstance(part, Row))
        figure.picture.savefig(file, format="svg")
    plt.close(figure.picture)
    return file.getvalue()


def program(state: State) -> str:
    """Return an empty text: no compiled functions are shared."""
    return ""


def draw(state: State) -> Picture:
    """Return an empty picture: the page requests the figures separately."""
    return Picture(messages=["The figures are at /api/papers."])


def dataset(state: State) -> Any:
    """Refuse the download: every figure has its own data."""
    raise InputError("view", "'papers'", "only a figure has data: choose a figure", "view=online")


def python(state: State) -> str:
    """Return Python code that makes the report."""
    return 'import tutelage as tl\n\nrows = tl.papers.reproduce(["oostwal2019"], "4")\n'


def command(state: State) -> str:
    """Return the command that makes the report."""
    return "tutelage reproduce"
