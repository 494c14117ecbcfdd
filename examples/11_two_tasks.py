"""How much of one task is forgotten while another is learned?

Two teachers with one unit each have the overlap V.  A student with two hidden units learns from the
first teacher with one head (a row of its second layer), then from the second with another head.
Similar teachers disturb each other little, and so do teachers with nothing in common: most is
forgotten in between (Lee, Goldt and Saxe 2021).  Knowledge of the first task helps at the beginning
of the second if the teachers are very similar, and is a hindrance otherwise.  All similarities are
one batch of runs.  Writes two_tasks.csv to docs/pictures and draws it:

    python examples/11_two_tasks.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import tutelage as tl
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

SIMILARITIES = np.linspace(0.0, 1.0, 21)
RATE, UNTIL = 1.0, 100.0
HEAD = np.array([0.3, 0.2])  # where every head begins
HEADS = ([1.0, 0.0], [0.0, 1.0])  # the first teacher is unit 1, the second unit 2
TIMES = np.linspace(0.0, UNTIL, 201)


def scenario(task: int, heads: np.ndarray = HEAD) -> tl.Scenario:
    """A student that learns one of the tasks, for all similarities."""
    T = np.array([[[1.0, V], [V, 1.0]] for V in SIMILARITIES])
    g = tl.Erf()
    return tl.Scenario(tl.Committee(2, g, heads), tl.Committee(2, g, HEADS[task]), T)


def learned(task: int, start: tl.Overlaps) -> xr.Dataset:
    """Both layers learn one task."""
    numbers = {"until": UNTIL, "times": TIMES, "readout_rate": RATE}
    return tl.online.evolve(scenario(task), start, RATE, **numbers)


def beginning() -> tl.Overlaps:
    """Small weights, the same for all similarities."""
    J = np.array([[0.01, 0.005, 0.2, 0.0], [-0.005, 0.01, 0.0, 0.22]])
    B = np.array([[[1, 0, 0, 0], [V, np.sqrt(1 - V**2), 0, 0]] for V in SIMILARITIES])
    return tl.Overlaps.from_weights(np.broadcast_to(J, (len(B), *J.shape)), B)


def last(run: xr.Dataset) -> tl.Overlaps:
    """The state of every run at its end, known to the tolerance of the integration."""
    return tl.Overlaps(run.Q.values[:, -1], run.R.values[:, -1], scenario(0).T, rounding=1e-6)


def errors(task: int, run: xr.Dataset, heads: np.ndarray) -> np.ndarray:
    """ε_g of a task at the end of every run, with these heads."""
    states = last(run)
    each = scenario(task, heads).split_runs()
    return np.array(
        [
            float(tl.generalization_error(one, tl.Overlaps(Q, R, T, rounding=1e-6)))
            for one, Q, R, T in zip(each, states.Q, states.R, states.T, strict=True)
        ]
    )


def draw(columns: dict[str, np.ndarray], forgotten: np.ndarray) -> Figure:
    """Draw what is forgotten of the first task, and what it brings for the second one."""
    with tl.figures.style():
        left, right = new_panels(2)
        left.plot(SIMILARITIES, forgotten, "o-", color=colour(0))
        left.set(title="forgetting", ylabel=r"growth of $\varepsilon_g$ of the first task")
        options = {"fillstyle": "none"}
        first, alone = columns["second_task_early"], columns["second_task_alone_early"]
        right.plot(SIMILARITIES, first, "o-", color=colour(0), label="after the first", **options)
        right.plot(SIMILARITIES, alone, "s--", color=colour(1), label="alone", **options)
        early = f"$\\varepsilon_g$ of the second task at $\\alpha = {TIMES[20]:g}$"
        right.set(title="transfer", ylabel=early, yscale="log")
        for panel in (left, right):
            panel.set_xlabel("$V$, similarity of the teachers")
            finish(panel)
    return left.figure


def main(folder: Path) -> None:
    first = learned(0, beginning())
    second = learned(1, last(first))
    alone = learned(1, beginning())
    heads = first.readout.values[:, -1]
    before, after = (errors(0, run, heads) for run in (first, second))
    columns = {
        "similarity": SIMILARITIES,
        "first_task_learned": before,
        "first_task_after_the_second": after,
        "second_task": second.generalization_error.values[:, -1],
        "second_task_alone": alone.generalization_error.values[:, -1],
        "second_task_early": second.generalization_error.values[:, 20],
        "second_task_alone_early": alone.generalization_error.values[:, 20],
    }
    with (folder / "two_tasks.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))
    draw(columns, after - before).savefig(folder / "two_tasks.png", dpi=150)
    lost = after - before
    worst = SIMILARITIES[np.argmax(lost)]
    print(f"Most of the first task is forgotten at V = {worst:.2f}: ε_g grows by {max(lost):.4f},")
    print(f"by {lost[0]:.4f} at V = 0 and by {lost[-1]:.1e} at V = 1.")


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures"
    )
