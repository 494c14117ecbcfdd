"""``tutelage specialize``: over-realized students of finite width, and whom they follow."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli import specialize_show
from tutelage.cli.online_input import check_files
from tutelage.cli.options import Json


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
    epochs: Annotated[int, typer.Option(metavar="COUNT", help="How many; 100 in the paper.")] = 10,
    examples: Annotated[
        int, typer.Option(metavar="COUNT", help="In an epoch; 10,000 in the paper.")
    ] = 1000,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="The same examples in every epoch, not fresh ones.")
    ] = False,
    evaluation: Annotated[
        int, typer.Option(metavar="COUNT", help="Examples of the evaluation set.")
    ] = 1000,
    batch: Annotated[int, typer.Option(metavar="COUNT", help="Examples in a step.")] = 16,
    learning_rate: Annotated[
        float, typer.Option(metavar="ETA", help="Step of learning, greater than 0.")
    ] = 0.01,
    runs: Annotated[int, typer.Option(metavar="COUNT", help="How many students.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
    threshold: Annotated[
        float, typer.Option(metavar="RHO", help="Correlation that counts as recovered.")
    ] = 0.95,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="Kept while it runs; the same command goes on from there."
        ),
    ] = None,
    as_json: Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.nc", help="Save everything as NetCDF.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png", help="Draw correlations and strengths; also .pdf or .svg."
        ),
    ] = None,
) -> None:
    """Train over-realized ReLU students on the outputs of a teacher of the same depth.

    Shows for each hidden layer which fraction of teacher nodes has a student node that
    follows it, and the mean of the best correlations. The sizes by default take seconds;
    those of the paper are --epochs 100 --examples 10000 --evaluation 10000 --runs 32.
    """
    check_files(out, plot)
    specialize_show.check_threshold(threshold)
    from tutelage import deep

    dataset = deep.train(
        teacher,
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
        runs=runs,
        seed=seed,
        checkpoint=checkpoint,
        progress=True,
    )
    specialize_show.deliver(dataset, out, plot)
    if as_json:
        print(json.dumps(specialize_show.as_dict(dataset, threshold), indent=1))
    else:
        specialize_show.print_training(dataset, threshold)
