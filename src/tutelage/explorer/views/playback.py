"""View that plays back trainings: correlations of nodes or eigenvalues over epochs."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from tutelage._checks import InputError
from tutelage.explorer import files
from tutelage.explorer.parameters import Parameter, State, integer
from tutelage.explorer.pictures import Axis, LabelledNumber, Panel, Picture, Trace

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

NAME, TITLE = "playback", "Deep students and spectra"
FORMULA = (
    "<math><msub><mi>ρ</mi><mrow><mi>j</mi><mi>k</mi></mrow></msub><mo>=</mo><mi>corr</mi>"
    "<mo>(</mo><msub><mi>f</mi><mi>j</mi></msub><mo>,</mo><msubsup><mi>f</mi><mi>k</mi><mo>*</mo>"
    "</msubsup><mo>)</mo><mo>,</mo></math> <math><mi>H</mi><msub><mi>u</mi><mi>i</mi></msub>"
    "<mo>=</mo><msub><mi>λ</mi><mi>i</mi></msub><msub><mi>u</mi><mi>i</mi></msub></math>"
)
FORMULA_TEXT = "ρ_jk = corr(f_j, f*_k) of student and teacher nodes; H u_i = λ_i u_i of the Hessian"
DOCUMENTATION = "deep"
STREAMS, DETAILS = False, False

FILE, SELECTION = "Training", "Selection"
MOST_FRAMES, MOST_POINTS, MOST_LINES = 60, 4000, 40
LAYER = re.compile(r"(strength|correlation|teacher_correlation|best_correlation)_[0-9]{1,3}")

PARAMETERS: list[Parameter] = [
    Parameter("file", "saved training", "", "from --files, the report, or the package", FILE,
              "file", "", longest=100),
    integer("layer", "hidden layer", "l", "1 is the lowest", SELECTION, 1, 1, 20),
    integer("run", "run", "", "0: all runs together", SELECTION, 0, 0, 10_000, scale="linear"),
    integer("setting", "setting", "", "for files with several multiples and polarities",
            SELECTION, 1, 1, 1000),
]  # fmt: skip


def program(state: State) -> str:
    """Return an empty text: files need no compiled functions."""
    return ""


def dataset(state: State) -> "xr.Dataset":
    """Return the whole file."""
    return files.load(_name(state))


def _name(state: State) -> str:
    if state["file"]:
        return state["file"]
    playable = files.playable()
    if not playable:
        allowed = "there is no saved training yet"
        raise InputError(
            "file", "nothing", allowed, "make reproduce, or tutelage explore --files FOLDER"
        )
    return playable[0]["name"]


def draw(state: State) -> Picture:
    """Draw panels over all epochs, and panels with one frame per epoch."""
    whole = dataset(state)
    try:
        return _picture(whole, state)
    except (InputError, MemoryError):
        raise
    except Exception as problem:  # variables with unexpected names, axes or types
        raise files.malformed(_name(state), problem) from None


def _picture(whole: "xr.Dataset", state: State) -> Picture:
    if not whole.sizes.get("epoch"):
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
    for name in ("teacher_correlation", "best_correlation"):
        if f"{name}_{state['layer']}" in one:
            picture.panels.append(_teachers(one[f"{name}_{state['layer']}"], state["layer"]))
    picture.panels += _curves(one)
    if not picture.panels:
        layers = sorted({int(n.rpartition("_")[2]) for n in map(str, one) if LAYER.fullmatch(n)})
        if not layers:
            allowed = "it contains nothing to draw over epochs"
            raise InputError("file", repr(_name(state)), allowed, "another file")
        raise InputError("layer", str(state["layer"]), f"this file has {layers}", str(layers[0]))
    picture.numbers = _numbers(one, state)
    picture.next = {"file": _name(state)} if not state["file"] else {}
    return picture


def _chosen(whole: "xr.Dataset", state: State) -> "tuple[xr.Dataset, list[str]]":
    """Select a setting, and one run or all; return the selection and its description."""
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
        raise InputError("run", str(state["run"]), f"this file has {runs} runs", "0, for all runs")
    if state["run"]:
        whole = whole.isel(run=[state["run"] - 1])
    return whole, words


def _epochs(one: "xr.Dataset") -> list[int]:
    """Return the indices of the epochs with frames, up to a largest number."""
    import numpy as np

    places = np.arange(one.sizes["epoch"])
    if "eigenvalues" in one:
        recorded = (
            one["eigenvalues"].notnull().any([d for d in one["eigenvalues"].dims if d != "epoch"])
        )
        places = places[recorded.values]
    count = min(len(places), MOST_FRAMES)
    return [int(i) for i in places[np.unique(np.linspace(0, len(places) - 1, count).astype(int))]]


def _frames(
    picture: Picture, one: "xr.Dataset", epochs: list[int], panel: str, traces: Any
) -> None:
    """Return the traces of a panel in every frame."""
    if not picture.frames:
        labels = [f"epoch {int(one['epoch'][i])}" for i in epochs]
        picture.frames = [{"label": label, "traces": {}} for label in labels]
    for frame, i in zip(picture.frames, epochs, strict=True):
        frame["traces"][panel] = traces(one.isel(epoch=i))


def _thinned(*values: "np.ndarray") -> "list[np.ndarray]":
    """Return a stride that limits the number of points on the page."""
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
    y = Axis("fraction of eigenvalues that are smaller", "", range=(0.0, 1.02))
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
    """Return a map of correlations; of the first run if the file has several."""
    name = f"correlation_{layer}"
    axes = (f"student_{layer}", f"teacher_{layer}")

    def traces(now: "xr.Dataset") -> list[Trace]:
        others = {d: 0 for d in now[name].dims if d not in axes}
        z = now[name].isel(others).transpose(*axes).values
        x, y = list(range(1, z.shape[1] + 1)), list(range(1, z.shape[0] + 1))
        return [Trace("correlation", "ρ", x, y, kind="heat", z=z)]

    words = f"Correlation of student with teacher nodes of layer {layer}."
    x, y = Axis("teacher node", "k"), Axis("student node", "j")
    first = traces(one.isel(epoch=epochs[0]))
    picture.panels.append(Panel("correlations", "Correlations of nodes", words, x, y, first))
    _frames(picture, one, epochs, "correlations", traces)


def _teachers(correlation: "xr.DataArray", layer: int) -> Panel:
    axis = f"teacher_{layer}"
    best = _over_runs(correlation, "mean")
    nodes, epoch = best.sizes[axis], best["epoch"].values
    lines = [
        Trace(f"teacher node {j + 1}", "teacher", epoch, best.isel({axis: j}).values, j)
        for j in range(min(nodes, MOST_LINES))
    ]
    words = f"Best correlation of {nodes} teacher nodes of layer {layer} over epochs, mean of runs."
    x = Axis("epoch", "", "linear", ("linear", "log"))
    y = Axis("best correlation", "ρ", range=(0.0, 1.05))
    return Panel("teachers", "Teacher nodes", words, x, y, lines)


CURVES: dict[str, tuple[str, tuple[str, ...], Literal["linear", "log"]]] = {
    "loss": ("Loss", ("loss", "training_loss", "evaluation_loss"), "log"),
    "accuracy": ("Accuracy", ("accuracy",), "linear"),
    "indices": ("Indices of the Hessian", ("negative_fraction", "zero_fraction"), "linear"),
}
WORDS = {
    "loss": "loss",
    "training_loss": "training loss",
    "evaluation_loss": "evaluation loss",
    "accuracy": "accuracy",
    "negative_fraction": "negative eigenvalues",
    "zero_fraction": "zero eigenvalues",
}


def _over_runs(values: "xr.DataArray", how: str) -> "xr.DataArray":
    """Return the mean or median over runs; the values themselves without an axis of runs."""
    return getattr(values, how)("run") if "run" in values.dims else values


def _over_epochs(one: "xr.Dataset", names: Iterable[str]) -> "dict[str, xr.DataArray]":
    """Return medians over runs of all variables over epochs."""
    present = [v for v in names if v in one and {"epoch"} <= set(one[v].dims) <= {"run", "epoch"}]
    return {v: _over_runs(one[v], "median").dropna("epoch") for v in present}


def _curves(one: "xr.Dataset") -> list[Panel]:
    """Return medians over runs."""
    panels = []
    for name, (title, variables, scale) in CURVES.items():
        medians = _over_epochs(one, variables)
        traces = [
            Trace(WORDS[v], v, m["epoch"].values, m.values, i)
            for i, (v, m) in enumerate(medians.items())
        ]
        if traces:
            x = Axis("epoch", "", "linear", ("linear", "log"))
            scales = ("linear", "log") if scale == "log" else ("linear",)
            y = Axis(", ".join(WORDS[v] for v in medians), "", scale, scales)
            words = f"{title} over epochs, median of {one.sizes.get('run', 1)} runs."
            panels.append(Panel(name, title, words, x, y, traces))
    return panels


def _numbers(one: "xr.Dataset", state: State) -> list[LabelledNumber]:
    numbers = [
        LabelledNumber("file", "", _name(state)),
        LabelledNumber("runs", "", float(one.sizes.get("run", 1))),
        LabelledNumber("epochs", "", float(one["epoch"][-1])),
    ]
    ends = {v: m for v, m in _over_epochs(one, WORDS).items() if m.size}
    return numbers + [
        LabelledNumber(f"{WORDS[v]} at the end, median", "", float(m[-1])) for v, m in ends.items()
    ]


def python(state: State) -> str:
    """Return Python code that opens the file."""
    name = _name(state)
    path = files.path_of(name)
    if path == files.recorded().get(name):
        call = f'recorded.load_recorded("{path.parents[1].name}", "{path.stem}")'
        return f"from tutelage.papers import recorded\n\nresult = {call}\nprint(result)\n"
    return f'import tutelage as tl\n\nresult = tl.results.load("{name}")\nprint(result)\n'


def command(state: State) -> None:
    """Return None: no command opens a file."""
