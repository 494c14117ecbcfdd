"""``tutelage sweep``: run a study from a file, and show its store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage._checks import InputError
from tutelage.cli import options, printing
from tutelage.cli.output_files import Files, say

if TYPE_CHECKING:
    import xarray as xr

# Largest number of rows of a table on a screen.
MOST_ROWS = 40


def sweep(
    what: Annotated[
        str,
        typer.Argument(metavar="FILE.toml | example | status | show", help="Action."),
    ],
    folder: Annotated[
        Path | None, typer.Argument(metavar="[STORE]", help="Store of status and show.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Store finished points here; the same command resumes."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Number of worker processes; all cores by default."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help="A Dask scheduler, instead of --workers."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate the cost from a first group and stop.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over; the existing store is renamed.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Retry failed points.")] = False,
    variable: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable to show and draw.")
    ] = None,
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_style: options.PlotStyle = "screen",
) -> None:
    """Compute a function at many points, described by a file.

    ``example`` prints such a file with comments. ``status STORE`` says how much of a study is
    done, ``show STORE`` its numbers, and draws them with --plot.
    """
    if what == "example":
        from tutelage.cli.study_file import EXAMPLE

        print(EXAMPLE, end="")
        return
    if what in ("status", "show"):
        files = Files(out=out, plot=plot, style=plot_style)
        _stored(what, folder, variable, as_json, files)
        return
    if not what.endswith(".toml"):
        allowed = "it has to be a file that ends in .toml, or example, status or show"
        raise InputError("FILE", repr(what), allowed, "tutelage sweep example > study.toml")
    if workers is not None and scheduler is not None:
        raise InputError("--scheduler", scheduler, "it replaces --workers", "give one of the two")
    files = Files(out=out, plot=plot, style=plot_style, folder=store)
    _run(Path(what), store, workers, scheduler, dry_run, fresh, retry, variable, as_json, files)


def _run(
    path: Path,
    store: Path | None,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
    fresh: bool,
    retry: bool,
    variable: str | None,
    as_json: bool,
    files: Files,
) -> None:
    from tutelage import sweeps
    from tutelage.cli import study_file

    arguments = study_file.read(path)
    if dry_run:
        _tell_plan(arguments, store, workers)
        return
    if scheduler is not None:
        _say_dashboard(scheduler)
    with files:
        options = {"store": store, "start_over": fresh, "retry": retry, "progress": True}
        study = sweeps.run(**arguments, **options, workers=scheduler or workers)
        files.save(study, "the study")
        _show(study, variable, as_json, files)
        if store is not None and not as_json:
            print(f"stored in {store}")


def _say_dashboard(scheduler: str) -> None:
    """Print the address of the dashboard of a cluster."""
    from tutelage.sweeps.cluster import connected

    with connected(scheduler) as workers:
        say(f"the dashboard of {scheduler}: {workers.client.dashboard_link}")


def _tell_plan(arguments: dict[str, Any], store: Path | None, workers: int | None) -> None:
    from tutelage._memory import in_gib
    from tutelage.runs.progress import in_words
    from tutelage.sweeps.cluster import cores
    from tutelage.sweeps.study import plan

    estimate = printing.waiting(lambda: plan(store=store, **arguments))
    count = workers or cores()
    table = printing.table("points to compute", str(estimate.points))
    table.add_row("programs to compile", f"{estimate.compilations}, at most, for each worker")
    table.add_row("groups", f"about {estimate.groups}")
    table.add_row("time on one worker", f"about {in_words(estimate.seconds)}")
    table.add_row("of which compilation", f"about {in_words(estimate.compile_seconds)}")
    shared = (estimate.seconds - estimate.compile_seconds) / count + estimate.compile_seconds
    table.add_row(f"time on {count} worker{'s' * (count > 1)}", f"at most {in_words(shared)}")
    table.add_row("results", f"{estimate.result_bytes / 2**20:.3g} MiB")
    table.add_row("memory of a worker", in_gib(estimate.worker_bytes))
    printing.show(table)


def _stored(
    what: str, folder: Path | None, variable: str | None, as_json: bool, files: Files
) -> None:
    from tutelage import sweeps

    if folder is None:
        raise InputError("STORE", "nothing", f"{what} needs the folder of a study", "study")
    study = sweeps.load(folder)
    if what == "status":
        _tell_status(study, folder, as_json)
        return
    with files:
        files.save(study, "the study")
        _show(study, variable, as_json, files)


def _tell_status(study: "xr.Dataset", folder: Path, as_json: bool) -> None:
    import numpy as np

    from tutelage.sweeps.study import NOT_COMPUTED

    failures = study["failure"].values.ravel()
    missing = int(np.sum(failures == NOT_COMPUTED))
    failed = int(np.sum(failures != "")) - missing
    groups = list(folder.glob("[0-9]*.nc"))
    numbers = {
        "function": str(study.attrs["function"]),
        "points": len(failures),
        "done": len(failures) - missing - failed,
        "failed": failed,
        "missing": missing,
        "groups": len(groups),
        "bytes": sum(path.stat().st_size for path in groups),
    }
    if as_json:
        printing.print_json(numbers)
        return
    table = printing.table("store", str(folder))
    for name, value in numbers.items():
        table.add_row(name, str(value))
    printing.show(table)
    for text in sorted({str(x) for x in failures if x not in ("", NOT_COMPUTED)})[:5]:
        print(f"failed: {text}")


def _show(study: "xr.Dataset", variable: str | None, as_json: bool, files: Files) -> None:
    """Print the results of a study as a table or as JSON, and save its figure if asked to."""
    import numpy as np

    def drawn(figures: Any) -> Any:
        return np.ravel(figures.sweep(study, variable=variable))[0].figure

    files.draw(drawn)
    if as_json:
        printing.print_json(printing.dataset_for_json(study))
    else:
        _print(study, variable)


def _print(study: "xr.Dataset", variable: str | None) -> None:
    """Print a row for each point, up to the height of a screen."""
    swept = [str(dim) for dim in study["failure"].dims]
    flat = study.stack(row=swept) if len(swept) > 1 else study.rename({swept[0]: "row"})
    names = [
        str(name)
        for name, x in flat.data_vars.items()
        if x.dims == ("row",) and name != "failure" and (variable is None or name == variable)
    ][:4]
    arguments = [name for name in _arguments(study) if name in flat.coords] or ["row"]
    table = printing.table(*arguments, *names, "failure")
    for number in range(min(flat.sizes["row"], MOST_ROWS)):
        row = flat.isel(row=number)
        cells = [_cell(row[name].item()) for name in (*arguments, *names, "failure")]
        table.add_row(*cells)
    printing.show(table)
    rest = flat.sizes["row"] - MOST_ROWS
    if rest > 0:
        print(f"and {rest} more points")


def _arguments(study: "xr.Dataset") -> list[str]:
    import json

    return list(json.loads(study.attrs["over"])["values"])


def _cell(value: Any) -> str:
    return printing.number_or_dash(value, ".6g") if isinstance(value, float) else str(value)
