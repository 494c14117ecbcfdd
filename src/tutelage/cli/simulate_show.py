"""What ``tutelage simulate`` shows: means with their spread, the verdict on the theory, files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tutelage.cli.online_show import run_as_dict
from tutelage.cli.show import console, for_json, use_files_only

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.simulation.comparison import Comparison

VERDICT = ("agrees", "p_value", "level", "worst", "threshold", "quantity", "time", "deviation")


class Study(NamedTuple):
    """Means of the runs, relabelled if that is possible, and what the theory has to say.

    theory, comparison: None where they were not asked for; reason: why there is no comparison.
    Compared are the runs as they are: once relabelled they no longer start as the theory does.
    """

    summary: "xr.Dataset"
    relabelled: bool
    theory: "xr.Dataset | None" = None
    comparison: "Comparison | None" = None
    reason: str = ""


def study(runs: "xr.Dataset", theory: "xr.Dataset | None") -> Study:
    """Relabel, summarize, compare; what cannot be done with these runs is said, not raised."""
    from tutelage._checks import InputError
    from tutelage.simulation.alignment import aligned
    from tutelage.simulation.comparison import compare
    from tutelage.simulation.statistics import summary

    relabelled = True
    try:
        means = summary(aligned(runs, theory))
    except InputError:  # more units than can be relabelled in all ways
        means, relabelled = summary(runs), False
    if theory is None:
        return Study(means, relabelled)
    try:
        return Study(means, relabelled, theory, compare(theory, runs))
    except InputError as problem:
        return Study(means, relabelled, theory, reason=str(problem))


def deliver(runs: "xr.Dataset", found: Study, out: Path | None, plot: Path | None) -> None:
    """Write the files that were asked for."""
    if out is not None:
        from tutelage import results

        results.save(runs, out)
    if plot is not None:
        use_files_only()
        from tutelage import figures

        figure = figures.simulated_curves(found.summary, found.theory)[0].figure
        if found.comparison is not None:
            figure.suptitle(str(found.comparison), fontsize="small")
        figure.savefig(plot, dpi=150)


def as_dict(runs: "xr.Dataset", found: Study) -> dict[str, Any]:
    """All runs as they were, and theory and verdict if they were asked for."""
    told: dict[str, Any] = run_as_dict(runs)
    if found.theory is None:
        return told
    told["theory"] = run_as_dict(found.theory)
    told["comparison"] = None
    if found.comparison is not None:
        verdict = {name: getattr(found.comparison, name) for name in VERDICT}
        told["comparison"] = {name: for_json(value) for name, value in verdict.items()}
    return told


def print_ensemble(runs: "xr.Dataset", found: Study) -> None:
    """How the runs ended, the last overlaps and error, and the verdict."""
    from rich.table import Table

    last = found.summary.isel(time=-1)
    several = int(last["present"]) > 1
    heading = f"{runs.sizes['run']} to α = {float(last['time']):.6g}, {_divergence(runs)}"
    table = Table("runs", heading, box=None, pad_edge=False)
    if several:
        labels = "" if found.relabelled else ", units as they are"
        table.add_row("", f"mean over runs ± standard deviation{labels}")
    for name in ("Q", "R", "generalization_error") if int(last["present"]) else ():
        mean, spread = last[name].values, last[f"{name}_spread"].values if several else None
        shown = "error" if name == "generalization_error" else name
        table.add_row(
            f"final {shown}", _matrix(mean, spread) if mean.ndim else _error(mean, spread)
        )
    if found.theory is not None:
        words = found.comparison or f"not compared: {found.reason}"
        table.add_row("theory", str(words))
    console().print(table)


def _divergence(runs: "xr.Dataset") -> str:
    gone = runs["ended_at"].values[runs["outcome"].values == "diverged"]
    first = f", the first at α = {min(gone):.6g}" if len(gone) else ""
    return f"{len(gone)} diverged{first}"


def _matrix(mean: Any, spread: Any) -> str:
    shown = [[f"{float(x):z9.6f}" for x in line] for line in mean]
    if spread is not None:
        widths = [[f" ± {float(x):.6f}" for x in line] for line in spread]
        both = zip(shown, widths, strict=True)
        shown = [[a + b for a, b in zip(*line, strict=True)] for line in both]
    return "\n".join("  ".join(line) for line in shown)


def _error(mean: Any, spread: Any) -> str:
    return f"{float(mean):.6g}" + ("" if spread is None else f" ± {float(spread):.2g}")
