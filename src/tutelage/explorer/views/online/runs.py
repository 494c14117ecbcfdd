"""Finite networks on top of the theory, drawn while they learn.

A run is the same, bit for bit, whatever its length: it is computed to an early time, then to
twice that time and so on, each time from the start.  That costs twice the work of the last
computation alone, which is the one that is copied, and shows something after a small part of it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.explorer.parameters import State
from tutelage.explorer.pictures import Trace
from tutelage.explorer.views.online.panels import OVERLAPS, block_traces
from tutelage.explorer.views.online.setting import arguments, scenario_of, start_of

if TYPE_CHECKING:
    import xarray as xr

TIMES = 101
MEAN_INTERVAL = 5  # a mean with its standard error is drawn at every fifth time
# Examples of each network: a minute's work on one core.
MOST_EXAMPLES = 2 * 10**7
FIRST_EXAMPLES = 20_000  # the first traces are sent after this many examples
MAX_DRAWN_RUNS = 10


def stream(state: State) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield events with the progress and the traces of all runs so far."""
    _check(state)
    total = state["dimension"] * state["until"]
    yield "progress", {"done": 0, "of": total, "message": "compiling; only the first time"}
    for until in _stages(state):
        runs, theory = simulated(state, until), followed(state, until)
        for panel, traces in _traces(runs, theory).items():
            yield "traces", {"panel": panel, "traces": traces}
        finished, words = state["dimension"] * until, f"α = {until:.4g} of {state['until']:g}"
        yield "progress", {"done": finished, "of": total, "message": words}
    yield "message", {"message": _progress_words(runs)}


def _check(state: State) -> None:
    if state["learning_rate"] == 0:
        allowed = (
            "finite networks need a learning rate above 0; only the theory has the limit η → 0"
        )
        raise InputError("learning_rate", "0", allowed, "0.1")
    examples = state["dimension"] * state["until"]
    if examples > MOST_EXAMPLES:
        allowed = f"the explorer allows N α, the examples of a network, up to {MOST_EXAMPLES:.0e}"
        raise InputError(
            "dimension", f"N α = {examples:.3g}", allowed, ("a smaller N, or a smaller last time")
        )


def _stages(state: State) -> list[float]:
    """Return end times that double from one stage to the next."""
    until, stages = state["until"], [state["until"]]
    while state["dimension"] * stages[0] > 2 * FIRST_EXAMPLES:
        stages.insert(0, stages[0] / 2)
    assert stages[-1] == until
    return stages


def simulated(state: State, until: float) -> "xr.Dataset":
    """Simulate the finite networks by the chain of their overlaps."""
    import tutelage as tl

    scenario = scenario_of(state)
    return tl.simulation.chain(scenario, start_of(state, scenario), **options(state, until))


def options(state: State, until: float) -> dict[str, Any]:
    """Return the arguments of the chain."""
    import numpy as np

    same = {
        name: value
        for name, value in arguments(state).items()
        if name in ("learning_rate", "readout_rate", "batch")
    }
    return {
        **same,
        **{name: state[name] for name in ("dimension", "runs", "seed")},
        "until": until,
        "times": until * np.linspace(0, 1, TIMES) ** 2,
    }


def followed(state: State, until: float) -> "xr.Dataset":
    """Compute the theory up to the same time, to match its units with those of the runs."""
    import tutelage as tl

    scenario = scenario_of(state)
    short = {name: x for name, x in arguments(state).items() if name not in ("until", "times")}
    return tl.online.evolve(scenario, start_of(state, scenario), until=until, **short)


def _traces(runs: "xr.Dataset", theory: "xr.Dataset") -> dict[str, list[Trace]]:
    """Return each run as a faint line, and means with their standard errors."""
    import tutelage as tl

    runs = tl.simulation.aligned(runs, theory)
    mean = tl.simulation.summary(runs).isel(time=slice(None, None, MEAN_INTERVAL))
    traces: dict[str, list[Trace]] = {"error": [], "overlaps": []}
    time = runs["time"].values
    for number in range(min(runs.sizes["run"], MAX_DRAWN_RUNS)):
        run = runs.isel(run=number)
        name = f"run {number + 1}"
        error = run["generalization_error"].values
        traces["error"].append(Trace(f"ε_g, {name}", "error", time, error, kind="faint"))
        traces["overlaps"] += block_traces(run, OVERLAPS, f", {name}", kind="faint")
    traces["error"].append(_mean(mean))
    traces["overlaps"] += block_traces(mean, OVERLAPS, ", mean", kind="points")
    if "readout" in runs:
        traces["readout"] = block_traces(mean, ("readout",), ", mean", kind="points")
    return traces


def _mean(mean: "xr.Dataset") -> Trace:
    error, bars = mean["generalization_error"], mean["generalization_error_standard_error"]
    return Trace("ε_g, mean", "error", mean["time"].values, error.values, kind="points",
                 error=bars.values)  # fmt: skip


def _progress_words(runs: "xr.Dataset") -> str:
    diverged = int((runs["outcome"] == "diverged").sum())
    words = f"{runs.sizes['run']} networks with N = {int(runs.attrs['dimension'])}"
    return f"{words}, {diverged} of them diverged" if diverged else words
