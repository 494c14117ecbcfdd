"""Picture of on-line learning: error and overlaps over α, and the outcome of the run."""

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.explorer.parameters import State
from tutelage.explorer.pictures import Axis, LabelledNumber, Panel, Picture, Trace, lowered
from tutelage.explorer.views.online.setting import dataset

if TYPE_CHECKING:
    import xarray as xr

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
    is_accurate = errors > run.attrs["integration_error"]
    error = Trace("ε_g", "error", time, np.where(is_accurate, errors, np.nan))
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


def block_traces(run: "xr.Dataset", names: Container[str], of: str = "", **how: Any) -> list[Trace]:
    """Return a curve for every entry of the given blocks, with standard errors if they exist."""
    from tutelage.model.layout import BLOCKS

    time, traces = run["time"].values, []
    for block in (block for block in BLOCKS if block.name in names):
        values, error = run[block.name].values, f"{block.name}_standard_error"
        errors = run[error].values if error in run else None
        for member, entry in enumerate(block.entries(run.sizes)):
            at: Any = (slice(None), *entry)
            name, bars = block.label(entry, run.sizes), None if errors is None else errors[at]
            curve = Trace(lowered(name) + of, block.symbol, time, values[at], member, error=bars)
            traces.append(replace(curve, **how))
    return traces


def _describe_error(run: "xr.Dataset") -> str:
    errors, attrs = run["generalization_error"].values, run.attrs
    words = f"The generalization error over α goes from {errors[0]:.4g} to {errors[-1]:.4g}"
    return f"{words}; the run has {attrs['outcome']} at α = {attrs['ended_at']:.4g}."


def _describe_overlaps(run: "xr.Dataset") -> str:
    K, M = run.sizes["student"], run.sizes["teacher"]
    return f"Overlaps R of {K} students with {M} teachers and Q among the students, over α."


def _numbers(run: "xr.Dataset") -> list[LabelledNumber]:
    from tutelage.model.layout import BLOCKS

    error = float(run["generalization_error"].values[-1])
    noise = float(run.attrs["integration_error"])
    reason = f"less than {noise:g}, the error of the integration"
    small = error <= noise
    numbers = [
        LabelledNumber("outcome", "", run.attrs["outcome"]),
        LabelledNumber("ended at", "α", float(run.attrs["ended_at"])),
        LabelledNumber(
            "last error", "ε_g", None if small else error, None, reason if small else None
        ),
    ]
    for block in (block for block in BLOCKS if block.name in OVERLAPS):
        last = run[block.name].values[-1]
        numbers += [
            LabelledNumber(
                OVERLAPS[block.name], lowered(block.label(entry, run.sizes)), float(last[entry])
            )
            for entry in block.entries(run.sizes)
        ]
    return numbers


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
