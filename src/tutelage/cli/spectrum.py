"""``tutelage spectrum``: train classifiers and record the spectra of their Hessians."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage.cli import options, printing
from tutelage.cli.output_files import Files

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.spectra import Examples

SETS = ("linear", "curved", "digits")
FILES = (".mat", ".npz", ".csv")
COLUMNS = {
    "loss": "loss",
    "accuracy": "accuracy",
    "zero_residuals": "zero residuals",
    "negative_fraction": "α (negative)",
    "zero_fraction": "γ (zero)",
}
NOT_FOR_JSON = ("inputs", "labels", "final_parameters")


class Beta(StrEnum):
    """Treatment of the noise β of Swish and Sigmoid."""

    fixed = "fixed"
    shared = "shared"
    per_unit = "per-unit"
    every_unit = "every-unit"


class Output(StrEnum):
    """Meaning of several outputs."""

    softmax = "softmax"
    sigmoid = "sigmoid"


class OptimizerName(StrEnum):
    """Optimizer of the training."""

    adam = "adam"
    sgd = "sgd"


def spectrum(
    data: Annotated[
        str,
        typer.Option(
            metavar="NAME | FILE",
            help=f"{', '.join(SETS)}, or a .mat, .npz or .csv file.",
        ),
    ] = "linear",
    hidden: Annotated[
        str, typer.Option(metavar="N1[,N2,...]", help="Units of each hidden layer.")
    ] = "10",
    activation: options.Unit = "swish",
    beta: Annotated[
        Beta,
        typer.Option(
            help="The β of swish or sigmoid: fixed, trained in common, or trained per unit."
        ),
    ] = Beta.fixed,
    beta_start: Annotated[
        str | None,
        typer.Option(metavar="MEAN[,SPREAD]", help="Initial value of a trainable β."),
    ] = None,
    output: Annotated[
        Output,
        typer.Option(help=("Meaning of outputs: softmax, or one sigmoid per label except 0.")),
    ] = Output.softmax,
    epochs: Annotated[int, typer.Option(help="Steps with the gradient of all examples.")] = 1000,
    runs: options.Runs = 1,
    seed: options.Seed = 0,
    optimizer: Annotated[
        OptimizerName, typer.Option(help="Full-batch Adam or SGD.")
    ] = OptimizerName.adam,
    learning_rate: options.LearningRate = 0.01,
    decay: Annotated[
        float, typer.Option(help="Learning-rate decay: a factor for every step.")
    ] = 1.0,
    spectra: Annotated[
        int,
        typer.Option(
            metavar="COUNT", help=("Number of spectra per network, from epoch 0 to the last.")
        ),
    ] = 3,
    tolerance: Annotated[
        float, typer.Option(help="|λ| below this fraction of the largest counts as zero.")
    ] = 1e-12,
    inputs: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the features in a .mat or .npz file.")
    ] = "X",
    labels: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the classes in a .mat or .npz file.")
    ] = "y",
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_style: options.PlotStyle = "screen",
    animation: Annotated[
        Path | None,
        typer.Option(metavar="FILE.gif", help="Animation of the eigenvalues during training."),
    ] = None,
) -> None:
    """Train classifiers and compute the spectra of their Hessians.

    All eigenvalues of the exact Hessian are computed during training. Shows loss, accuracy, zero
    residuals and the fractions of negative (α) and zero (γ) eigenvalues at every epoch with
    spectra.
    """
    files = Files(out=out, plot=plot, style=plot_style, animation=animation)
    _check_not_replaced(data, out)
    _check_numbers(epochs, runs, seed, spectra, tolerance)
    examples = _examples(data, inputs, labels)
    network = _network(examples, hidden, activation, beta)
    steps = _optimizer(optimizer, learning_rate, decay)
    start = _beta_start(network, beta_start)
    numbers = (epochs, runs, seed, steps, spectra, tolerance, start, output.value)
    with files:
        run = _train(network, examples, *numbers)
        files.save(run, "the spectra")
        files.draw(lambda figures: _picture(figures, run))
        files.animate(lambda figures, path: _film(figures, run, path))
        if as_json:
            content = run.drop_vars(NOT_FOR_JSON)  # these are in the file of --out
            printing.print_json(printing.dataset_for_json(content))
        else:
            _print(run)


def _check_not_replaced(data: str, out: Path | None) -> None:
    """Refuse to overwrite the file of examples."""
    if out is not None and out.exists() and Path(data).exists() and out.samefile(data):
        raise InputError(
            "--out",
            repr(str(out)),
            "this file holds the examples, which would be overwritten",
            "--out run.csv",
        )


def _check_numbers(epochs: int, runs: int, seed: int, spectra: int, tolerance: float) -> None:
    """Check epochs, runs and tolerance (positive), epochs with spectra (at least 2) and seed (at
    least 0).
    """
    positive_integer("--epochs", epochs, "--epochs 1000")
    positive_integer("--runs", runs, "--runs 5")
    finite_number("--tolerance", tolerance, above=0.0, hint="--tolerance 1e-12")
    options.check_seed(seed)
    if spectra < 2:
        allowed = "the first and the last epoch are always recorded"
        raise InputError("--spectra", str(spectra), allowed, "--spectra 5")


def _examples(text: str, inputs: str, labels: str) -> "Examples":
    """Return examples by the name of a generated set, or from a file."""
    from tutelage import spectra

    if text in SETS:
        try:
            return {
                "linear": spectra.linear_examples,
                "curved": spectra.curved_examples,
                "digits": spectra.digits,
            }[text]()
        except ImportError as problem:
            raise InputError("--data", repr(text), str(problem)) from None
    if Path(text).suffix not in FILES:
        allowed = f"it has to be one of {', '.join(SETS)}, or a {', '.join(FILES)} file"
        raise InputError("--data", repr(text), allowed, "--data digits")
    return spectra.load_examples(text, inputs=inputs, labels=labels)


def _network(examples: Any, hidden: str, activation: str, beta: Beta) -> Any:
    from tutelage.spectra import Classifier

    layers = options.layers("--hidden", hidden)
    unit = options.activation("--activation", activation)
    words: Any = beta.value.replace("-", " ")
    return Classifier(examples.sizes(*layers), unit, words)


def _beta_start(network: Any, text: str | None) -> Any:
    """Parse one number, or a mean and a standard deviation."""
    from tutelage.spectra.classifier import check_beta_start

    if text is None:
        return None
    values = options.numbers("--beta-start", text, 1, 2, example="0,0.005")
    return check_beta_start(network, values[0] if len(values) == 1 else tuple(values))


def _optimizer(name: OptimizerName, learning_rate: float, decay: float) -> Any:
    from tutelage.spectra import SGD, Adam

    finite_number("--learning-rate", learning_rate, above=0.0, hint="--learning-rate 0.01")
    return {OptimizerName.adam: Adam, OptimizerName.sgd: SGD}[name](learning_rate, decay)


def _train(
    network: Any,
    examples: Any,
    epochs: int,
    runs: int,
    seed: int,
    optimizer: Any,
    spectra: int,
    tolerance: float,
    beta_start: Any,
    output: Any,
) -> "xr.Dataset":
    import numpy as np

    from tutelage.spectra.training import default_epochs, train

    at = default_epochs(epochs)
    chosen = np.unique(np.linspace(0, len(at) - 1, min(spectra, len(at))).astype(int))
    return train(
        network,
        examples,
        epochs=epochs,
        recorded=at,
        spectra=at[chosen],
        optimizer=optimizer,
        beta_start=beta_start,
        output=output,
        runs=runs,
        seed=seed,
        tolerance=tolerance,
        progress=True,
    )


def _picture(figures: Any, run: "xr.Dataset") -> Any:
    """Draw loss, α, γ against the tolerance, and the eigenvalues during training."""
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    figure, axes = plt.subplots(2, 2, figsize=(2 * width, 2 * height), layout="constrained")
    figures.training(run, axes[0, 0], scale="log")
    figures.index_against_loss(run, axes[0, 1])
    figures.index_against_tolerance(run, axes[1, 0])
    figures.eigenvalue_ridges(run, axes[1, 1])
    figure.suptitle(_title(run))
    return figure


def _film(figures: Any, run: "xr.Dataset", path: Path) -> None:
    figures.eigenvalue_animation(run, path, frames_per_second=2)


def _print(run: "xr.Dataset") -> None:
    """Print medians over the runs at the epochs with spectra."""
    watched = run.dropna("epoch", subset=["zero_fraction"], how="all")
    table = printing.table("epoch")
    for heading in (*COLUMNS.values(), "lowest λ", "highest λ"):
        table.add_column(heading, justify="right")
    for epoch in watched["epoch"].values:
        one = watched.sel(epoch=epoch)
        numbers = [float(one[name].median()) for name in COLUMNS]
        ends = [float(one["eigenvalues"][:, i].median()) for i in (0, -1)]
        table.add_row(str(epoch), *(f"{x:.6g}" for x in (*numbers, *ends)))
    screen = printing.console()
    screen.print(
        f"{_title(run)}; eigenvalues below {float(run.attrs['tolerance']):g} max|λ| count as zero"
    )
    printing.show(table)
    gone = int((run["outcome"] == "diverged").sum())
    if gone:
        screen.print(f"{gone} of {run.sizes['run']} networks diverged")


def _title(run: "xr.Dataset") -> str:
    from tutelage.runs.recompute import argument

    network, runs = argument(run, "classifier"), run.sizes["run"]
    sizes, unit = "-".join(map(str, network.sizes)), network.activation.name
    parts = (run.attrs["examples"], sizes, unit, f"{run.sizes['eigenvalue']} parameters")
    return ", ".join(parts) + (f", medians of {runs} runs" if runs > 1 else "")
