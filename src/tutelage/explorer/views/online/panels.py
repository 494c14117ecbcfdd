"""The picture of on-line learning: error and overlaps over α, and how the run ended."""

from typing import TYPE_CHECKING, Any

from tutelage.explorer.parameters import State
from tutelage.explorer.pictures import SUBSCRIPTS, Axis, Number, Panel, Picture, Trace
from tutelage.explorer.views.online.setting import dataset

if TYPE_CHECKING:
    import xarray as xr


def draw(state: State) -> Picture:
    """Error and overlaps over α, and how the run ended."""
    run = dataset(state)
    return Picture(
        panels=_panels(run, state), numbers=_numbers(run), messages=_messages(run, state)
    )


def _indexed(letter: str, *indices: int) -> str:
    return letter + "".join(str(i) for i in indices).translate(SUBSCRIPTS)


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
              Axis("ε_g, generalization error", "ε_g", "log", ("linear", "log")), [error]),
        Panel("overlaps", "Overlaps", _describe_overlaps(run), x,
              Axis("overlaps R and Q", "R, Q"), overlap_traces(run)),
    ]  # fmt: skip
    if "readout" in run:
        y = Axis("weights of the second layer", "v")
        description = "weights of the student's second layer over α"
        panels.append(Panel("readout", "Second layer", description, x, y, readout_traces(run)))
    return panels


def overlap_traces(run: "xr.Dataset", of: str = "", **how: Any) -> list[Trace]:
    """R_in and Q_ik, one of each pair; with their standard errors, where there are any."""
    K, M = run.sizes["student"], run.sizes["teacher"]
    pairs = {"R": [(i, n) for i in range(K) for n in range(M)],
             "Q": [(i, k) for i in range(K) for k in range(i, K)]}  # fmt: skip
    return [
        _trace(run, letter, letter, place, member, of, **how)
        for letter, places in pairs.items()
        for member, place in enumerate(places)
    ]


def readout_traces(run: "xr.Dataset", of: str = "", **how: Any) -> list[Trace]:
    """v_i of the one output."""
    return [_trace(run, "readout", "v", (0, i), i, of, **how) for i in range(run.sizes["student"])]


def _trace(run: "xr.Dataset", variable: str, letter: str, place: tuple[int, int], member: int,
           of: str, **how: Any) -> Trace:  # fmt: skip
    at = (slice(None), *place)
    name = _indexed(letter, *(i + 1 for i in (place if letter != "v" else place[1:]))) + of
    if f"{variable}_standard_error" in run:
        how["error"] = run[f"{variable}_standard_error"].values[at]
    return Trace(name, letter, run["time"].values, run[variable].values[at], member, **how)


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
