"""What ``tutelage specialize`` shows: recovery layer by layer, and files."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.cli.show import console, for_json, use_files_only

if TYPE_CHECKING:
    import xarray as xr


def check_threshold(threshold: float) -> None:
    """A correlation."""
    if not -1 <= threshold <= 1:
        allowed = "a correlation is from -1 to 1"
        raise InputError("--threshold", str(threshold), allowed, "--threshold 0.95")


def deliver(dataset: "xr.Dataset", out: Path | None, plot: Path | None) -> None:
    """Write the files that were asked for."""
    if out is not None:
        from tutelage import results

        results.save(dataset, out)
    if plot is not None:
        use_files_only()
        figure = _picture(dataset)
        figure.savefig(plot, dpi=150)


def _picture(dataset: "xr.Dataset") -> Any:
    """For each layer, the best correlations over epochs and the nodes at the end."""
    import matplotlib.pyplot as plt

    from tutelage.figures import deep as figures

    L = layers(dataset)
    size = (9.0, 2.6 * L + 0.6)
    picture, grid = plt.subplots(L, 2, figsize=size, layout="constrained", squeeze=False)
    for row, layer in zip(grid, range(L, 0, -1), strict=True):
        figures.best_correlations(dataset, layer, row[0])
        figures.specialization(dataset, layer, axes=row[1])
    return picture


def layers(dataset: "xr.Dataset") -> int:
    """Number of hidden layers."""
    return sum(str(name).startswith("strength_") for name in dataset)


def as_dict(dataset: "xr.Dataset", threshold: float) -> dict[str, Any]:
    """Attributes, loss, and for each layer what has been recovered, over epochs."""
    from tutelage import deep

    told: dict[str, Any] = {str(name): value for name, value in dataset.attrs.items()}
    told["epoch"] = dataset["epoch"].values.tolist()
    told["evaluation_loss"] = for_json(dataset["evaluation_loss"].values.tolist())
    told["outcome"] = dataset["outcome"].values.tolist()
    for layer in range(1, layers(dataset) + 1):
        rate = deep.recovery_rate(dataset, threshold, layer)
        told[f"recovery_rate_{layer}"] = for_json(rate.values.tolist())
        mean = deep.mean_correlation(dataset, layer)
        told[f"mean_correlation_{layer}"] = for_json(mean.values.tolist())
    return told


def print_training(dataset: "xr.Dataset", threshold: float) -> None:
    """How the runs ended, and the layers from the top to the lowest."""
    from rich.table import Table

    reached = dataset["outcome"] == "reached"
    left, diverged = dataset.isel(run=reached.values), int((~reached).sum())
    heading = f"{dataset.sizes['run']} to epoch {int(dataset['epoch'][-1])}, {diverged} diverged"
    if diverged:
        heading += " and left out below" if left.sizes["run"] else ": try a lower --learning-rate"
    table = Table("runs", heading, box=None, pad_edge=False)
    table.add_row("teacher", str(dataset.attrs["teacher"]))
    table.add_row("student", str(dataset.attrs["student"]))
    for head, words in _learned(left, threshold) if left.sizes["run"] else ():
        table.add_row(head, words)
    console().print(table)


def _learned(dataset: "xr.Dataset", threshold: float) -> Iterator[tuple[str, str]]:
    """Loss and recovery of runs none of which has diverged."""
    from tutelage import deep

    losses = [float(dataset["evaluation_loss"].isel(epoch=e).mean()) for e in (0, -1)]
    yield "evaluation loss", f"{losses[0]:.6g} -> {losses[1]:.6g}"
    for layer in range(layers(dataset), 0, -1):
        rate = float(deep.recovery_rate(dataset, threshold, layer).isel(epoch=-1).mean())
        ρ = float(deep.mean_correlation(dataset, layer).isel(epoch=-1).mean())
        words = f"{rate:.1%} of teacher nodes above {threshold:g}, mean best correlation {ρ:.4f}"
        yield f"layer {layer}", words
