"""Beyond straat2019 and citton2025: learning rates that change in time.

straat2019 ends with learning rate adaptation as what the η² term would make possible; citton2025
has constant rates.  Here rates are constant in pieces, and the time to reach ε_g is minimised
over rates and switches.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import online
from tutelage.figures.style import new_grid
from tutelage.online import BestSchedule, Flow, Schedule
from tutelage.online.steps import steps
from tutelage.papers.citton2025.runs import scenario, start
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

GOAL = 1e-4
BOUNDS = (0.05, 1.6)
UNTIL = 100.0
NOTE = (
    "ReLU, K = M = 2, T = diag(1, 2), start of citton2025 Fig. 1, which has constant rates only. "
    "The error is the change when the tolerance is a hundred times wider. The optimum is a local "
    "one: no schedule of as many pieces next to it is faster. Second route: the equations "
    "integrated with the schedule, and with rates and switches next to it "
    "(tests/papers/test_beyond.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute the best constant rate, the best two pieces and, in a full run, the best three."""
    pieces = (2, 3) if full else (2,)
    best = {count: schedule(count) for count in pieces}
    rate, time = best[2].constant.learning_rate, best[2].constant.time
    constant = Schedule([rate.value], [])
    yield _drawn({1: constant, **{n: b.schedule for n, b in best.items()}})
    yield unpublished("Schedules: best constant rate η to ε_g = 10⁻⁴", rate.value, rate.error, NOTE)
    yield unpublished("Schedules: time α to ε_g = 10⁻⁴ with it", time.value, time.error, NOTE)
    for count, result in best.items():
        reached = result.time
        item = f"Schedules: time α to ε_g = 10⁻⁴ with {count} rates"
        yield unpublished(item, reached.value, reached.error, _described(result.schedule) + NOTE)
        saved = 1 - reached.value / time.value
        error = (reached.error + time.error) / time.value
        item = f"Schedules: part of the examples saved by {count} rates"
        yield unpublished(item, saved, error, NOTE)


@cache
def schedule(pieces: int) -> BestSchedule:
    return online.best_schedule(scenario(), start(), GOAL, pieces=pieces, bounds=BOUNDS)


def _described(schedule: Schedule) -> str:
    rates = ", ".join(f"{float(rate):.3f}" for rate in schedule.rates)
    switches = ", ".join(f"{float(switch):.2f}" for switch in schedule.switches)
    return f"η = {rates}; switched at α = {switches}. "


def curves(by_pieces: dict[int, Schedule]) -> xr.Dataset:
    """Return ε_g and η over time for each schedule."""
    times = np.linspace(0.0, UNTIL, 501)
    errors = [_errors(one, times) for one in by_pieces.values()]
    rates = [np.asarray(one(times)) for one in by_pieces.values()]
    both = ("pieces", "time")
    return xr.Dataset(
        {
            "generalization_error": (both, np.array(errors)),
            "learning_rate": (both, np.array(rates)),
        },
        coords={"pieces": list(by_pieces), "time": ("time", times, {"symbol": "α"})},
        attrs={"goal": GOAL},
    )


def _errors(one: Schedule, times: np.ndarray) -> np.ndarray:
    """Compute ε_g at the times, piece by piece, with the compiled code that found the schedule."""
    flow = Flow(scenario())
    y = flow.vector(start())
    begin, known, errors = 0.0, [np.zeros(0)], [np.zeros(0)]
    for rate, end in zip(one.rates, [*one.switches, UNTIL], strict=True):
        run = steps(flow, y, float(rate), float(end) - begin)
        known.append(begin + run.times)
        errors.append(run.error)
        begin, y = float(end), run.states[-1]
    return np.exp(np.interp(times, np.concatenate(known), np.log(np.concatenate(errors))))


def _drawn(by_pieces: dict[int, Schedule]) -> Figure:

    from tutelage.papers.beyond.drawing_online import schedules

    figure, axes = new_grid(1, 2, (10.5, 3.8))
    data = curves(by_pieces)
    schedules(data, axes)
    return Figure(figure, {"": data})


SECTIONS = (
    Section(
        "schedules",
        "Learning rates that change in time",
        "Two ReLU students of graded teachers, T = diag(1, 2), from the start of citton2025. Left: "
        "ε_g for the best constant learning rate and for the best rates that change once (in a "
        "full run also twice), where the best one reaches ε_g = 10⁻⁴ (dotted) soonest. Right: the "
        "rates. citton2025 compares constant rates, straat2019 leaves adaptation open: to begin "
        "with a quarter of the rate, for the first examples only, saves a tenth of all, as the "
        "plateau is left sooner.",
        compute,
        "three rates as well, which takes half a minute",
    ),
)
