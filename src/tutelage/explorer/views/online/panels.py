"""Picture of on-line learning: error and overlaps over α, and the outcome of the run."""

from collections.abc import Container
from typing import TYPE_CHECKING, Any

from tutelage.explorer.parameters import State
from tutelage.explorer.pictures import Axis, LabelledNumber, Panel, Picture, Trace, lowered
from tutelage.explorer.views.online.setting import dataset

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.model.layout import Block

OVERLAPS = {"R": "overlap with a teacher", "Q": "overlap of students"}


def draw(state: State) -> Picture:
    """Draw error and overlaps over α, with the outcome of the run."""
    run = dataset(state)
    return Picture(
        panels=_panels(run, state), numbers=_numbers(run), messages=_messages(run, state)
    )


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
              Axis("overlaps R and Q", "R, Q"), block_traces(run, OVERLAPS)),
    ]  # fmt: skip
    if "readout" in run:
        y = Axis("weights of the second layer", "v")
        description = "weights of the student's second layer over α"
        panels.append(
            Panel("readout", "Second layer", description, x, y, block_traces(run, ("readout",)))
        )
    return panels


def block_traces(
    run: "xr.Dataset", names: Container[str], of: str = "", **how: object
) -> list[Trace]:
    """Return a curve for every entry of the given blocks, with standard errors if they exist."""
    from tutelage.model.layout import BLOCKS

    return [
        _trace(run, block, entry, member, of, **how)
        for block in BLOCKS if block.name in names
        for member, entry in enumerate(block.entries(run.sizes))
    ]  # fmt: skip


def _trace(run: "xr.Dataset", block: "Block", entry: tuple[int, ...], member: int, of: str,
           **how: Any) -> Trace:  # fmt: skip
    at: Any = (slice(None), *entry)
    if f"{block.name}_standard_error" in run:
        how["error"] = run[f"{block.name}_standard_error"].values[at]
    name = lowered(block.label(entry, run.sizes)) + of
    x, y = run["time"].values, run[block.name].values[at]
    return Trace(name, block.symbol, x, y, member, **how)


def _describe_error(run: "xr.Dataset") -> str:
    first, last = (float(run["generalization_error"][i]) for i in (0, -1))
    words = f"The generalization error over α goes from {first:.4g} to {last:.4g}"
    return f"{words}; the run has {run.attrs['outcome']} at α = {run.attrs['ended_at']:.4g}."


def _describe_overlaps(run: "xr.Dataset") -> str:
    K, M = run.sizes["student"], run.sizes["teacher"]
    return f"Overlaps R of {K} students with {M} teachers and Q among the students, over α."


def _numbers(run: "xr.Dataset") -> list[LabelledNumber]:
    from tutelage.model.layout import BLOCKS

    last = run.isel(time=-1)
    error, noise = float(last["generalization_error"]), float(run.attrs["integration_error"])
    reason = f"less than {noise:g}, the error of the integration"
    small = error <= noise
    numbers = [
        LabelledNumber("outcome", "", run.attrs["outcome"]),
        LabelledNumber("ended at", "α", float(run.attrs["ended_at"])),
        LabelledNumber(
            "last error", "ε_g", None if small else error, None, reason if small else None
        ),
    ]
    return numbers + [
        LabelledNumber(OVERLAPS[b.name], lowered(b.label(entry, run.sizes)),
                       float(last[b.name][entry]))
        for b in BLOCKS if b.name in OVERLAPS for entry in b.entries(run.sizes)
    ]  # fmt: skip


OUTCOMES = {
    "converged": "The run has converged: nothing changes any more, and every disturbance decays.",
    "plateau": "The run rests near a saddle: nothing changes, but a disturbance would grow.",
    "diverged": "The run has diverged: norms beyond 10⁶. A smaller learning rate converges.",
    "reached": "",
}


def _messages(run: "xr.Dataset", state: State) -> list[str]:
    messages = [OUTCOMES[run.attrs["outcome"]]]
    if state["learning_rate"] == 0:
        messages.append("In the limit η → 0 time is measured in units of 1/η.")
    return [message for message in messages if message]
