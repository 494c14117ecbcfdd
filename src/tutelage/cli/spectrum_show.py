"""What ``tutelage spectrum`` shows: a row for each epoch watched, numbers for programs, files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage.cli.online_show import run_as_dict
from tutelage.cli.show import console, use_files_only

if TYPE_CHECKING:
    import xarray as xr

COLUMNS = {
    "loss": "loss",
    "accuracy": "accuracy",
    "zero_residuals": "zero residuals",
    "negative_fraction": "α (negative)",
    "zero_fraction": "γ (zero)",
}
NOT_FOR_JSON = ("inputs", "labels", "final_parameters")


def deliver(run: "xr.Dataset", out: Path | None, plot: Path | None, animation: Path | None) -> None:
    """Write the files that were asked for."""
    if out is not None:
        from tutelage import results

        results.save(run, out)
    if plot is not None or animation is not None:
        use_files_only()
        from tutelage import figures

        if plot is not None:
            picture(run).savefig(plot, dpi=150)
        if animation is not None:
            figures.eigenvalue_animation(run, animation, frames_per_second=2)


def picture(run: "xr.Dataset") -> Any:
    """Loss, α, γ against the tolerance, and the eigenvalues through training."""
    import matplotlib.pyplot as plt

    from tutelage import figures

    figure, axes = plt.subplots(2, 2, figsize=(10.0, 7.0), layout="constrained")
    figures.training(run, "loss", axes[0, 0], scale="log")
    figures.index_against_loss(run, axes[0, 1])
    figures.zeros_against_tolerance(run, axes[1, 0])
    figures.eigenvalue_ridges(run, axes[1, 1])
    figure.suptitle(_title(run))
    return figure


def as_dict(run: "xr.Dataset") -> dict[str, Any]:
    """Attributes and curves; the examples and the weights are in the file of --out."""
    told = run_as_dict(run.drop_vars(NOT_FOR_JSON).rename(epoch="time"))
    told["epoch"] = told.pop("time")
    return told


def print_run(run: "xr.Dataset") -> None:
    """Medians over the runs at the epochs that have spectra."""
    from rich.table import Table

    watched = run.dropna("epoch", subset=["zero_fraction"], how="all")
    table = Table("epoch", box=None, pad_edge=False)
    for heading in (*COLUMNS.values(), "lowest λ", "highest λ"):
        table.add_column(heading, justify="right")
    for epoch in watched["epoch"].values:
        one = watched.sel(epoch=epoch)
        numbers = [float(one[name].median()) for name in COLUMNS]
        ends = [float(one["eigenvalues"][:, i].median()) for i in (0, -1)]
        table.add_row(str(epoch), *(f"{x:.6g}" for x in (*numbers, *ends)))
    screen = console()
    screen.print(f"{_title(run)}; what counts as zero: {float(run.attrs['tolerance']):g} max|λ|")
    screen.print(table)
    gone = int((run["outcome"] == "diverged").sum())
    if gone:
        screen.print(f"{gone} of {run.sizes['run']} networks diverged")


def _title(run: "xr.Dataset") -> str:
    a, runs = run.attrs, run.sizes["run"]
    sizes = a["sizes"].strip("[]").replace(", ", "-")
    parts = (a["examples"], sizes, a["activation"], f"{run.sizes['eigenvalue']} parameters")
    return ", ".join(parts) + (f", medians of {runs} runs" if runs > 1 else "")
