"""Does a student with spare nodes find the weak nodes of its teacher?

The teacher has ten ReLU nodes, and the fan-out of node j has the norm 1/j (tian2020, Section 6).
Students with 1, 2, 5 and 10 nodes for each teacher node learn from the same data at the same
learning rate.  Their start is a tenth as large as the default of ``tl.deep.train``.  A teacher node
is found if its correlation with a student node is above 0.95.  After 60 epochs students with as
many nodes as the teacher have found half of the weaker half, and hardly improve further.  Students
with five and ten times as many nodes have found all.  From the default start they would not: the
size of the start decides when spare nodes help.  Writes weak_teacher_nodes.csv to docs/pictures and
draws it as weak_teacher_nodes.png:

    python examples/08_weak_teacher_nodes.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import tutelage as tl
from tutelage.figures.style import new_panels, ordered_colours
from tutelage.figures.text import finish

NODES, WEAK = 10, 5
MULTIPLES = (1, 2, 5, 10)
RUNS, EPOCHS = 16, 60
SCALE = 0.1


def compute() -> xr.Dataset:
    """16 teachers, each with a student of every width."""
    study = tl.sweeps.run(
        tl.deep.train,
        {"multiple": MULTIPLES, "seed": [0]},  # the same teachers and data for all widths
        keep="teacher_correlation_1",
        workers=1,
        hidden=NODES,
        polarity=1.0,
        inputs=20,
        outputs=10,
        epochs=EPOCHS,
        examples=1600,
        evaluation=1000,
        runs=RUNS,
        start_scale=SCALE,
    )
    return study.isel(seed=0, drop=True)


def found_weak_ones(runs: xr.Dataset) -> xr.Dataset:
    """The part of the weaker half that is found, over runs: mean and standard error."""
    result = (runs["teacher_correlation_1"] > 0.95).isel(teacher_1=slice(WEAK, None))
    of_each = result.mean("teacher_1")
    error = of_each.std("run", ddof=1) / np.sqrt(RUNS)
    return xr.Dataset({"mean": of_each.mean("run"), "error": error}).squeeze(drop=True)


def save(weak: xr.Dataset, file: Path) -> None:
    """One row for each epoch, mean and standard error for each width."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["epoch", *(f"{m}x {what}" for m in MULTIPLES for what in weak)])
        for epoch in weak["epoch"].values:
            now = weak.sel(epoch=epoch)
            values = (float(now[what].sel(multiple=m)) for m in MULTIPLES for what in weak)
            writer.writerow([epoch, *(f"{value:.6f}" for value in values)])


def draw(runs: xr.Dataset, weak: xr.Dataset) -> plt.Figure:
    """Draw every teacher node at the end, and the weaker half over the epochs."""
    with tl.figures.style():
        left, right = new_panels(2)
        tl.figures.recovery(runs, left)
        for multiple, tint in zip(MULTIPLES, ordered_colours(len(MULTIPLES)), strict=True):
            now = weak.sel(multiple=multiple)
            right.plot(weak["epoch"], now["mean"], color=tint, label=f"{multiple} per teacher node")
            band = (now["mean"] - now["error"], now["mean"] + now["error"])
            right.fill_between(weak["epoch"], *band, color=tint, alpha=0.2, linewidth=0)
        label = f"fraction of nodes {WEAK + 1} to {NODES} recovered"
        right.set(xlabel="epoch", ylabel=label, ylim=(0, 1))
        finish(right)
    return left.figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    runs = compute()
    weak = found_weak_ones(runs)
    save(weak, folder / "weak_teacher_nodes.csv")
    draw(runs, weak).savefig(folder / "weak_teacher_nodes.png", dpi=150)
    for multiple in MULTIPLES:
        last = weak.sel(multiple=multiple).isel(epoch=-1)
        print(f"{multiple}x: {float(last['mean']):.1%} ± {float(last['error']):.1%} of the weak")


if __name__ == "__main__":
    main()
