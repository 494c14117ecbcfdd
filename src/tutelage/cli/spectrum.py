"""``tutelage spectrum``: networks learn to classify, and their Hessians are watched."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli import options, spectrum_input, spectrum_show
from tutelage.cli.show import waiting

if TYPE_CHECKING:
    import xarray as xr


class Beta(StrEnum):
    """What happens to the noise β of Swish and Sigmoid."""

    fixed = "fixed"
    shared = "shared"
    per_unit = "per-unit"


class Optimizer(StrEnum):
    """Which steps are taken."""

    adam = "adam"
    sgd = "sgd"


def spectrum(
    data: Annotated[
        str,
        typer.Option(
            metavar="NAME | FILE",
            help=f"{', '.join(spectrum_input.SETS)}, or a .mat, .npz or .csv file.",
        ),
    ] = "linear",
    hidden: Annotated[
        str, typer.Option(metavar="N1[,N2,...]", help="Units of each hidden layer.")
    ] = "10",
    activation: options.Unit = "swish",
    beta: Annotated[
        Beta, typer.Option(help="Whether the β of swish or sigmoid is learned.")
    ] = Beta.fixed,
    epochs: Annotated[int, typer.Option(help="Steps with the gradient of all examples.")] = 1000,
    runs: Annotated[int, typer.Option(metavar="COUNT", help="How many networks learn.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the weights at the start.")] = 0,
    optimizer: Annotated[Optimizer, typer.Option(help="Full-batch Adam or SGD.")] = Optimizer.adam,
    learning_rate: Annotated[float, typer.Option(metavar="ETA", help="Greater than 0.")] = 0.01,
    spectra: Annotated[
        int, typer.Option(metavar="COUNT", help="Spectra of each network, at epochs from 0 on.")
    ] = 3,
    tolerance: Annotated[
        float, typer.Option(help="What counts as zero, as a part of the largest |eigenvalue|.")
    ] = 1e-12,
    inputs: Annotated[
        str, typer.Option(metavar="NAME", help="Of the features in a .mat or .npz file.")
    ] = "X",
    labels: Annotated[
        str, typer.Option(metavar="NAME", help="Of the classes in a .mat or .npz file.")
    ] = "y",
    as_json: options.Json = False,
    out: options.Out = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw loss, α, γ and eigenvalues; .pdf, .svg."),
    ] = None,
    animation: Annotated[
        Path | None,
        typer.Option(metavar="FILE.gif", help="The eigenvalues through training, as a film."),
    ] = None,
) -> None:
    """Train classifiers, and compute all eigenvalues of their exact Hessians on the way.

    Shows loss, accuracy, zero residuals and the fractions of negative (α) and zero (γ)
    eigenvalues at every epoch that was watched.
    """
    spectrum_input.check_files(out, plot, animation)
    spectrum_input.check_numbers(epochs, runs, seed, spectra, tolerance)
    found = spectrum_input.examples(data, inputs, labels)
    network = _network(found, hidden, activation, beta)
    steps = _optimizer(optimizer, learning_rate)
    run = waiting(lambda: _train(network, found, epochs, runs, seed, steps, spectra, tolerance))
    spectrum_show.deliver(run, out, plot, animation)
    if as_json:
        print(json.dumps(spectrum_show.as_dict(run), indent=1))
    else:
        spectrum_show.print_run(run)


def _network(found: Any, hidden: str, activation: str, beta: Beta) -> Any:
    from tutelage.spectra import Classifier

    layers = spectrum_input.hidden(hidden)
    unit = spectrum_input.activation(activation)
    words: Any = beta.value.replace("-", " ")
    return Classifier(found.sizes(*layers), unit, words)


def _optimizer(name: Optimizer, learning_rate: float) -> Any:
    from tutelage._checks import finite_number
    from tutelage.spectra import SGD, Adam

    finite_number("--learning-rate", learning_rate, above=0.0, hint="--learning-rate 0.01")
    return {Optimizer.adam: Adam, Optimizer.sgd: SGD}[name](learning_rate)


def _train(
    network: Any,
    found: Any,
    epochs: int,
    runs: int,
    seed: int,
    optimizer: Any,
    spectra: int,
    tolerance: float,
) -> "xr.Dataset":
    import numpy as np

    from tutelage.spectra.training import default_epochs, train

    at = default_epochs(epochs)
    chosen = np.unique(np.linspace(0, len(at) - 1, spectra).astype(int))
    return train(
        network,
        found,
        epochs,
        runs,
        seed,
        optimizer=optimizer,
        at=at,
        spectra_at=at[chosen],
        tolerance=tolerance,
    )
