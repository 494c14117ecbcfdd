"""What ``tutelage online`` shows: tables for people, numbers for programs, files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage.cli.show import console, for_json, use_files_only

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from tutelage.online.critical_rates import CriticalLearningRates
    from tutelage.online.stationary import FixedPoint

CRITICAL = {
    "non_monotonic": "error not monotonic above",
    "plateau_vanishes": "no plateau above",
    "diverges": "diverges above",
}


def deliver(run: "xr.Dataset", out: Path | None, plot: Path | None) -> None:
    """Write the files that were asked for."""
    if out is not None:
        from tutelage import results

        results.save(run, out)
    if plot is not None:
        use_files_only()
        from tutelage import figures

        axes = figures.learning_curves(run)
        axes[0].figure.savefig(plot, dpi=150)


def run_as_dict(run: "xr.Dataset") -> dict[str, Any]:
    """Attributes and curves; how each run ended, if there are several."""
    names = ("time", *(str(name) for name in run.data_vars))
    curves = {name: for_json(run[name].values.tolist()) for name in names}
    return {**{key: for_json(value) for key, value in run.attrs.items()}, **curves}


def point_as_dict(point: "FixedPoint") -> dict[str, Any]:
    """State, error, stability and eigenvalues (real and imaginary parts) of a fixed point."""
    values = point.eigenvalues
    return {
        "Q": point.overlaps.Q.tolist(),
        "R": point.overlaps.R.tolist(),
        "generalization_error": point.generalization_error,
        "stable": point.stable,
        "residual": point.residual,
        "eigenvalues": for_json([[float(x.real), float(x.imag)] for x in values]),
    }


def critical_as_dict(found: "CriticalLearningRates") -> dict[str, Any]:
    """Value and error of each; None where there is no such learning rate, with the reason."""
    rates = {name: getattr(found, name) for name in CRITICAL}
    known = {
        name: None if rate is None else {"value": float(rate.value), "error": float(rate.error)}
        for name, rate in rates.items()
    }
    return {**known, "reasons": dict(found.reasons)}


def print_run(run: "xr.Dataset") -> None:
    """How the run ended, or a row for each of several."""
    console().print(_sweep_table(run) if "run" in run.dims else _end_table(run))


def print_points(points: Sequence["FixedPoint"]) -> None:
    """One row for each fixed point: error, stability, state."""
    table = _table("fixed point", "error", "stable", "largest λ", "R", "Q")
    for number, point in enumerate(points, start=1):
        table.add_row(
            str(number),
            f"{abs(point.generalization_error):.6f}",
            "yes" if point.stable else "no",
            f"{point.eigenvalues[0].real:.6f}" if len(point.eigenvalues) else "–",
            _matrix(point.overlaps.R),
            _matrix(point.overlaps.Q),
        )
    console().print(table)


def print_critical(found: "CriticalLearningRates") -> None:
    """The three learning rates, each with its error, or why there is none."""
    table = _table("learning rate", "value", "error")
    for name, words in CRITICAL.items():
        rate = getattr(found, name)
        if rate is None:
            table.add_row(words, "none", found.reasons.get(name, ""))
        else:
            table.add_row(words, f"{float(rate.value):.8f}", f"{float(rate.error):.1e}")
    console().print(table)


def _end_table(run: "xr.Dataset") -> "Table":
    last = run.isel(time=-1)
    table = _table("outcome", f"{run.attrs['outcome']} at α = {run.attrs['ended_at']:.6g}")
    for name in ("Q", "R"):
        table.add_row(f"final {name}", _matrix(last[name].values))
    table.add_row("final error", f"{float(last['generalization_error']):.6g}")
    return table


def _sweep_table(run: "xr.Dataset") -> "Table":
    import json

    table = _table("learning rate", "outcome", "ended at α", "last error")
    for rate, one in zip(json.loads(run.attrs["learning_rate"]), run["run"], strict=True):
        single = run.isel(run=int(one))
        errors = single["generalization_error"].dropna("time")
        table.add_row(
            f"{rate:.6g}",
            str(single["outcome"].item()),
            f"{float(single['ended_at']):.6g}",
            f"{float(errors[-1]):.6g}" if len(errors) else "–",
        )
    return table


def _table(*headings: str) -> "Table":
    from rich.table import Table

    return Table(*headings, box=None, pad_edge=False)


def _matrix(matrix: Any) -> str:
    return "\n".join("  ".join(f"{float(x):z9.6f}" for x in line) for line in matrix)
