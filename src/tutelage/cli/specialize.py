"""``tutelage specialize``: over-realized students of finite width, and the teacher nodes they
follow.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage._checks import InputError
from tutelage.cli import options, printing
from tutelage.cli.output_files import Files

if TYPE_CHECKING:
    import xarray as xr

MOST_NODES = 8  # largest number of nodes of a layer whose followers are listed


def specialize(
    teacher: Annotated[
        str, typer.Option(metavar="M1-M2-...", help="Nodes of the hidden layers of the teacher.")
    ] = "10",
    multiple: Annotated[
        int, typer.Option(metavar="COUNT", help="Student nodes for each teacher node.")
    ] = 5,
    polarity: Annotated[
        float,
        typer.Option(metavar="P", help="Fan-out of teacher node j decays as 1/j^P; at least 0."),
    ] = 0.0,
    inputs: Annotated[int, typer.Option(metavar="D", help="Number of inputs.")] = 100,
    outputs: Annotated[int, typer.Option(metavar="C", help="Number of outputs.")] = 50,
    data: Annotated[
        str, typer.Option(metavar="NAME[:WIDTH]", help="gaussian:10, uniform:15, ...")
    ] = "gaussian",
    epochs: Annotated[
        int, typer.Option(metavar="COUNT", help="Number of epochs; 100 in the paper.")
    ] = 10,
    examples: Annotated[
        int, typer.Option(metavar="COUNT", help="Examples per epoch; 10,000 in the paper.")
    ] = 1000,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Repeat the same examples in every epoch.")
    ] = False,
    evaluation: Annotated[
        int, typer.Option(metavar="COUNT", help="Examples of the evaluation set.")
    ] = 1000,
    batch: Annotated[int, typer.Option(metavar="COUNT", help="Examples per step.")] = 16,
    learning_rate: options.LearningRate = 0.01,
    construction: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Initial student: 'text' (Sec. 8.16) or 'code' (the authors')."
        ),
    ] = "text",
    start_scale: Annotated[
        float, typer.Option(metavar="SCALE", help="Factor of the initial student weights; above 0.")
    ] = 1.0,
    precision: Annotated[
        str, typer.Option(metavar="NAME", help="Precision of the steps: float64 or float32.")
    ] = "float64",
    runs: options.Runs = 2,
    seed: options.Seed = 0,
    threshold: Annotated[
        float,
        typer.Option(metavar="RHO", help="Correlation above which a teacher node is recovered."),
    ] = 0.95,
    checkpoint: options.Checkpoint = None,
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_style: options.PlotStyle = "screen",
) -> None:
    """Train over-realized ReLU students on a teacher's outputs.

    Students are as deep as the teacher. Shows for each hidden layer the fraction of teacher nodes
    that a student node follows, the pairs of nodes in the first run, and the mean of the best
    correlations. The default sizes take seconds; those of the paper are --epochs 100 --examples
    10000 --evaluation 10000 --runs 32.
    """
    files = Files(out=out, plot=plot, style=plot_style, checkpoint=checkpoint, continues=True)
    if not -1 <= threshold <= 1:
        allowed = "a correlation is from -1 to 1"
        raise InputError("--threshold", str(threshold), allowed, "--threshold 0.95")
    with files:
        from tutelage import deep

        dataset = deep.train(
            int(teacher) if teacher.isdecimal() else teacher,
            multiple,
            polarity,
            inputs=inputs,
            outputs=outputs,
            epochs=epochs,
            examples=examples,
            evaluation=evaluation,
            batch=batch,
            learning_rate=learning_rate,
            data=data,
            fresh=not fixed,
            construction=construction,
            start_scale=start_scale,
            precision=precision,
            runs=runs,
            seed=seed,
            checkpoint=checkpoint,
            progress=True,
        )
        files.save(dataset, "the training")
        files.draw(lambda figures: _picture(figures, dataset))
        if as_json:
            printing.print_json(_for_json(dataset, threshold))
        else:
            print_training(dataset, threshold)


def _picture(figures: Any, dataset: "xr.Dataset") -> Any:
    """Draw for each layer the best correlations over epochs and the nodes at the end."""
    import matplotlib.pyplot as plt

    L = _layers(dataset)
    width, height = plt.rcParams["figure.figsize"]
    size = (2.0 * width, L * height)
    picture, grid = plt.subplots(L, 2, figsize=size, layout="constrained", squeeze=False)
    for row, layer in zip(grid, range(L, 0, -1), strict=True):
        figures.best_correlations(dataset, row[0], layer=layer)
        figures.specialization(dataset, row[1], layer=layer)
    return picture


def _layers(dataset: "xr.Dataset") -> int:
    """Number of hidden layers."""
    return sum(str(name).startswith("strength_") for name in dataset)


def _for_json(dataset: "xr.Dataset", threshold: float) -> dict[str, Any]:
    """Convert attributes, loss and the recovery of each layer over epochs to JSON."""
    from tutelage import deep

    content = printing.dataset_for_json(dataset[["evaluation_loss", "outcome"]])
    for layer in range(1, _layers(dataset) + 1):
        rate = deep.recovery_rate(dataset, threshold=threshold, layer=layer)
        content[f"recovery_rate_{layer}"] = printing.for_json(rate.values.tolist())
        mean = deep.mean_correlation(dataset, layer=layer)
        content[f"mean_correlation_{layer}"] = printing.for_json(mean.values.tolist())
    return content


def print_training(dataset: "xr.Dataset", threshold: float) -> None:
    """Print how the runs ended, and the layers from top to bottom."""
    reached = dataset["outcome"] == "reached"
    left, diverged = dataset.isel(run=reached.values), int((~reached).sum())
    heading = f"{dataset.sizes['run']} to epoch {int(dataset['epoch'][-1])}, {diverged} diverged"
    if diverged:
        heading += " and omitted below" if left.sizes["run"] else ": try a lower --learning-rate"
    table = printing.table("runs", heading)
    table.add_row("teacher", str(dataset.attrs["teacher"]))
    table.add_row("student", str(dataset.attrs["student"]))
    for head, words in _learned(left, threshold) if left.sizes["run"] else ():
        table.add_row(head, words)
    printing.console().print(table)


def _learned(dataset: "xr.Dataset", threshold: float) -> Iterator[tuple[str, str]]:
    """Return loss and recovery of runs if none of them diverged."""
    from tutelage import deep

    losses = [float(dataset["evaluation_loss"].isel(epoch=e).mean()) for e in (0, -1)]
    yield "evaluation loss", f"{losses[0]:.6g} -> {losses[1]:.6g}"
    for layer in range(_layers(dataset), 0, -1):
        rate = float(
            deep.recovery_rate(dataset, threshold=threshold, layer=layer).isel(epoch=-1).mean()
        )
        ρ = float(deep.mean_correlation(dataset, layer=layer).isel(epoch=-1).mean())
        words = f"{rate:.1%} of teacher nodes above {threshold:g}, mean best correlation {ρ:.4f}"
        yield f"layer {layer}", f"{words}\n{_whom(dataset.isel(run=0, epoch=-1), layer, threshold)}"


def _whom(end: "xr.Dataset", layer: int, threshold: float) -> str:
    """List the student nodes that follow recovered teacher nodes at the end of a run, counted from
    1.
    """
    import numpy as np

    recovered = np.flatnonzero(end[f"teacher_correlation_{layer}"].values > threshold)
    where = f"in run {int(end['run']) + 1}"
    if not len(recovered):
        return f"{where}, no teacher node is followed this closely"
    winners = end[f"winner_{layer}"].values
    pairs = ", ".join(f"{j + 1} ← {winners[j] + 1}" for j in recovered[:MOST_NODES])
    more = len(recovered) - MOST_NODES
    return f"{where}, teacher ← student: {pairs}{f' and {more} more' if more > 0 else ''}"
