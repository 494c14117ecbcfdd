"""Trainings played back: correlations of nodes, or eigenvalues of the Hessian, over epochs."""

from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.explorer import files
from tutelage.explorer.parameters import Parameter, State, integer
from tutelage.explorer.pictures import Axis, Number, Panel, Picture, Trace, trace_of

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

NAME, TITLE = "playback", "Deep students and spectra"
FORMULA = (
    "<math><msub><mi>ρ</mi><mrow><mi>j</mi><mi>k</mi></mrow></msub><mo>=</mo><mi>corr</mi>"
    "<mo>(</mo><msub><mi>f</mi><mi>j</mi></msub><mo>,</mo><msubsup><mi>f</mi><mi>k</mi><mo>*</mo>"
    "</msubsup><mo>)</mo><mo>,</mo><mspace width='1em'/><mi>H</mi><msub><mi>u</mi><mi>i</mi></msub>"
    "<mo>=</mo><msub><mi>λ</mi><mi>i</mi></msub><msub><mi>u</mi><mi>i</mi></msub></math>"
)
FORMULA_TEXT = "ρ_jk = corr(f_j, f*_k) of student and teacher nodes; H u_i = λ_i u_i of the Hessian"
DOCUMENTATION = "deep"
STREAMS, DETAILS = False, False

FILE, WHICH = "Training", "Which of them"
MOST_FRAMES, MOST_POINTS, MOST_LINES = 60, 4000, 40

PARAMETERS: list[Parameter] = [
    Parameter("file", "saved training", "", "of the report, or of the folder of --files", FILE,
              "file", "", longest=100),
    integer("layer", "hidden layer", "l", "1 is the lowest", WHICH, 1, 1, 20),
    integer("run", "run", "", "0: all runs together", WHICH, 0, 0, 10_000, scale="linear"),
    integer("setting", "setting", "", "of a file with several: multiples and polarities in turn",
            WHICH, 1, 1, 1000),
]  # fmt: skip


def program(state: State) -> tuple[Any, ...]:
    return ()


def dataset(state: State) -> "xr.Dataset":
    """The whole file."""
    import tutelage as tl

    return tl.results.load(files.path_of(_name(state)))


def _name(state: State) -> str:
    if state["file"]:
        return state["file"]
    found = files.playable()
    if not found:
        allowed = "there is no saved training yet"
        raise InputError(
            "file", "nothing", allowed, "make reproduce, or tutelage explore --files FOLDER"
        )
    return found[0]["name"]


def draw(state: State) -> Picture:
    """Panels that stand still over all epochs, and those that move."""
    whole = dataset(state)
    if "epoch" not in whole.dims:
        raise InputError("file", repr(_name(state)), "it has no epochs to play", "another file")
    one, words = _chosen(whole, state)
    picture = Picture(messages=words)
    epochs = _epochs(one)
    if "eigenvalues" in one:
        _eigenvalues(picture, one, epochs)
    if f"strength_{state['layer']}" in one:
        _nodes(picture, one, epochs, state["layer"])
    if f"correlation_{state['layer']}" in one:
        _followed(picture, one, epochs, state["layer"])
    if f"teacher_correlation_{state['layer']}" in one:
        picture.panels.append(_teachers(one, state["layer"]))
    picture.panels += _curves(one)
    if not picture.panels:
        layers = sorted({int(str(n).rpartition("_")[2]) for n in one if "_correlation_" in str(n)})
        raise InputError("layer", str(state["layer"]), f"this file has {layers}", "1")
    picture.numbers = _numbers(one, state)
    picture.next = {"file": _name(state)} if not state["file"] else {}
    return picture


def _chosen(whole: "xr.Dataset", state: State) -> "tuple[xr.Dataset, list[str]]":
    """One of several settings, and one run or all; with what was chosen, in words."""
    import numpy as np

    others = [str(d) for d in whole.dims if d in ("multiple", "polarity")]
    sizes = [whole.sizes[d] for d in others]
    count, words = int(np.prod(sizes)), []
    if state["setting"] > count:
        raise InputError("setting", str(state["setting"]), f"this file has {count}", "1")
    if others:
        places = np.unravel_index(state["setting"] - 1, sizes)
        whole = whole.isel({d: int(i) for d, i in zip(others, places, strict=True)})
        values = ", ".join(f"{d} {float(whole[d]):g}" for d in others if d in whole.coords)
        words.append(f"Setting {state['setting']} of {count}: {values}.")
    runs = whole.sizes.get("run", 0)
    if state["run"] > runs:
        raise InputError("run", str(state["run"]), f"this file has {runs} runs", "0, for all")
    if state["run"]:
        whole = whole.isel(run=[state["run"] - 1])
    return whole, words


def _epochs(one: "xr.Dataset") -> list[int]:
    """Places of the epochs that are shown: all with spectra, at most so many."""
    import numpy as np

    places = np.arange(one.sizes["epoch"])
    if "eigenvalues" in one:
        known = (
            one["eigenvalues"].notnull().any([d for d in one["eigenvalues"].dims if d != "epoch"])
        )
        places = places[known.values]
    count = min(len(places), MOST_FRAMES)
    return [int(i) for i in places[np.unique(np.linspace(0, len(places) - 1, count).astype(int))]]


def _frames(
    picture: Picture, one: "xr.Dataset", epochs: list[int], panel: str, traces: Any
) -> None:
    """Traces of a panel in every frame."""
    if not picture.frames:
        labels = [f"epoch {int(one['epoch'][i])}" for i in epochs]
        picture.frames = [{"label": label, "traces": {}} for label in labels]
    for frame, i in zip(picture.frames, epochs, strict=True):
        frame["traces"][panel] = [trace_of(trace) for trace in traces(one.isel(epoch=i))]


def _thinned(*values: "np.ndarray") -> "list[np.ndarray]":
    """Every second, third, … where there are more points than a page shows."""
    step = -(-values[0].size // MOST_POINTS)
    return [x.ravel()[::step] for x in values]


def _eigenvalues(picture: Picture, one: "xr.Dataset", epochs: list[int]) -> None:
    import numpy as np

    def traces(now: "xr.Dataset") -> list[Trace]:
        values = np.sort(now["eigenvalues"].values.ravel())
        values = values[np.isfinite(values)]
        part = (np.arange(len(values)) + 1) / max(len(values), 1)
        x, y = _thinned(values, part)
        return [Trace("λ", "λ", x, y)]

    every = one["eigenvalues"].isel(epoch=epochs)
    low, high = float(every.min()), float(every.max())
    room = 0.05 * (high - low)
    x = Axis("λ, eigenvalue of the Hessian", "λ", range=(low - room, high + room))
    y = Axis("part of the eigenvalues that are smaller", "", range=(0.0, 1.02))
    words = f"Distribution of eigenvalues, from {low:.3g} to {high:.3g} over all epochs."
    picture.panels.append(
        Panel(
            "eigenvalues",
            "Eigenvalues of the Hessian",
            words,
            x,
            y,
            traces(one.isel(epoch=epochs[0])),
        )
    )
    _frames(picture, one, epochs, "eigenvalues", traces)


def _nodes(picture: Picture, one: "xr.Dataset", epochs: list[int], layer: int) -> None:
    names = f"student_correlation_{layer}", f"strength_{layer}"

    def traces(now: "xr.Dataset") -> list[Trace]:
        x, y = _thinned(*(now[name].values for name in names))
        return [Trace("student nodes", "student", x, y, kind="points")]

    high = float(one[names[1]].isel(epoch=epochs).max())
    x = Axis("best correlation with a teacher node", "ρ", range=(-0.05, 1.05))
    y = Axis("strength of the node", "", range=(0.0, 1.05 * high if high > 0 else 1.0))
    words = f"Strength of every student node of layer {layer} against its best correlation."
    first = traces(one.isel(epoch=epochs[0]))
    picture.panels.append(Panel("nodes", "Student nodes", words, x, y, first))
    _frames(picture, one, epochs, "nodes", traces)


def _followed(picture: Picture, one: "xr.Dataset", epochs: list[int], layer: int) -> None:
    """A map of correlations; of the first run where there are several."""
    name = f"correlation_{layer}"
    axes = (f"student_{layer}", f"teacher_{layer}")

    def traces(now: "xr.Dataset") -> list[Trace]:
        z = now[name].isel(run=0).transpose(*axes).values
        x, y = list(range(1, z.shape[1] + 1)), list(range(1, z.shape[0] + 1))
        return [Trace("correlation", "ρ", x, y, kind="heat", z=z)]

    words = f"Correlation of student with teacher nodes of layer {layer}."
    x, y = Axis("teacher node", "k"), Axis("student node", "j")
    first = traces(one.isel(epoch=epochs[0]))
    picture.panels.append(Panel("correlations", "Who follows whom", words, x, y, first))
    _frames(picture, one, epochs, "correlations", traces)


def _teachers(one: "xr.Dataset", layer: int) -> Panel:
    best = one[f"teacher_correlation_{layer}"].mean("run")
    nodes = best.sizes[f"teacher_{layer}"]
    epoch = one["epoch"].values
    lines = [
        Trace(
            f"teacher node {j + 1}", "teacher", epoch, best.isel({f"teacher_{layer}": j}).values, j
        )
        for j in range(min(nodes, MOST_LINES))
    ]
    words = f"Best correlation of {nodes} teacher nodes of layer {layer} over epochs, mean of runs."
    x = Axis("epoch", "", "linear", ("linear", "log"))
    y = Axis("best correlation", "ρ", range=(0.0, 1.05))
    return Panel("teachers", "Teacher nodes", words, x, y, lines)


CURVES = {
    "loss": ("Loss", ("loss", "evaluation_loss"), ("linear", "log")),
    "indices": ("Indices of the Hessian", ("negative_fraction", "zero_fraction"), ("linear",)),
}
WORDS = {
    "loss": "loss",
    "evaluation_loss": "evaluation loss",
    "negative_fraction": "negative eigenvalues",
    "zero_fraction": "zero eigenvalues",
}


def _curves(one: "xr.Dataset") -> list[Panel]:
    """Medians over runs."""
    found = []
    for name, (title, variables, scales) in CURVES.items():
        here = [v for v in variables if v in one and set(one[v].dims) <= {"run", "epoch"}]
        middle = [one[v].median("run").dropna("epoch") for v in here]
        traces = [
            Trace(WORDS[v], v, m["epoch"].values, m.values, i)
            for i, (v, m) in enumerate(zip(here, middle, strict=True))
        ]
        if traces:
            x = Axis("epoch", "", "linear", ("linear", "log"))
            y = Axis(
                ", ".join(WORDS[v] for v in here),
                "",
                "log" if "log" in scales else "linear",
                scales,
            )
            words = f"{title} over epochs, median of {one.sizes['run']} runs."
            found.append(Panel(name, title, words, x, y, traces))
    return found


def _numbers(one: "xr.Dataset", state: State) -> list[Number]:
    found = [
        Number("file", "", _name(state)),
        Number("runs", "", float(one.sizes.get("run", 1))),
        Number("epochs", "", float(one["epoch"][-1])),
    ]
    for v in WORDS:
        if v in one and set(one[v].dims) <= {"run", "epoch"}:
            last = one[v].dropna("epoch", how="all").isel(epoch=-1).median("run")
            found.append(Number(f"{WORDS[v]} at the end, median", "", float(last)))
    return found


def python(state: State) -> str:
    """Open the same file."""
    name = _name(state)
    return f'import tutelage as tl\n\nresult = tl.results.load("{name}")\nprint(result)\n'


def command(state: State) -> None:
    """There is no command that opens a file."""
