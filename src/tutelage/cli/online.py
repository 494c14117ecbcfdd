"""``tutelage online``: overlaps and error of any scenario over the time of learning."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tutelage._checks import InputError
from tutelage.cli import optimizers, options, printing
from tutelage.cli.output_files import Files

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from tutelage.model import Overlaps, Scenario
    from tutelage.online import CriticalLearningRates, FixedPoint

CRITICAL = {
    "non_monotonic": "error not monotonic above",
    "plateau_vanishes": "no plateau above",
    "loses_stability": "final state unstable above",
    "diverges": "norms diverge above",
}
# The settings that kinds of computation do not use.
UNUSED = {
    "--landscape": (
        "learning_rate", "until", "start_q", "start_r", "batch", "readout_rate", "tolerance",
    ),
    "--best-error": ("learning_rate", "until", "tolerance"),
    "--large-batch": ("tolerance",),
}  # fmt: skip
# Hints of `tl.online.landscape`, and the option and the hint of this command for each.
LANDSCAPE_HINTS = {
    "tl.ReLU(), tl.Erf() or tl.GELU()": ("--activation", "--activation relu"),
    "tl.online.fixed_points at a rate η > 0": (
        "--landscape",
        "--fixed-points instead of --landscape",
    ),
    "fewer units": ("--readout", "--readout 1,1, or a smaller --student"),
}
UNSTABLE = (
    "Runs leave an unstable point at the rate of the largest λ. To see where "
    "they go: tutelage online with --start-q and --start-r next to it."
)


@options.with_numbers
def online(
    context: typer.Context,
    student: options.Student = 2,
    teacher: options.Teacher = 2,
    activation: options.Unit = "relu",
    teacher_activation: options.TeacherUnit = None,
    learning_rate: Annotated[
        float,
        typer.Option(
            metavar="ETA",
            help=("Learning rate; 0: the limit of small rates, time in units of 1/ETA."),
        ),
    ] = 1.0,
    until: options.Until = 100.0,
    teacher_norms: options.TeacherNorms = None,
    start_q: options.StartQ = None,
    start_r: options.StartR = "1e-3",
    numbers: options.Numbers = None,
    readout: options.Readout = None,
    teacher_readout: options.TeacherReadout = None,
    readout_rate: options.ReadoutRate = 0.0,
    batch: options.Batch = 1,
    sweep_learning_rate: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:COUNT",
            help="Several learning rates, one run each, instead of --learning-rate.",
        ),
    ] = None,
    fixed_points: Annotated[
        bool, typer.Option(help="Also find the fixed points at --learning-rate.")
    ] = False,
    critical: Annotated[
        bool, typer.Option(help="Also find the learning rates where the behaviour changes.")
    ] = False,
    landscape: Annotated[
        int | None,
        typer.Option(metavar="STARTS", help="Find the minima in which STARTS runs end, ETA → 0."),
    ] = None,
    optimizer: optimizers.Optimizer = None,
    momentum: optimizers.Momentum = None,
    large_batch: optimizers.LargeBatch = None,
    best_error: optimizers.BestError = None,
    tolerance: Annotated[
        float, typer.Option(help="Error tolerance of the integration per step.")
    ] = 1e-9,
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_style: options.PlotStyle = "screen",
    checkpoint: options.Checkpoint = None,
) -> None:
    """Follow the overlaps of a student that learns from a teacher.

    The student learns example by example, at any learning rate. The equations of its overlaps
    R and Q are integrated. Shows how the run ended: converged (at rest in a stable state, which may
    have an error), plateau (near an unstable state), diverged (norms beyond 10⁶), or reached the
    last time.
    """
    _check_combination(
        {"--landscape": landscape},
        {"--best-error": best_error},
        {"--optimizer": optimizer, "--large-batch": large_batch, "--momentum": momentum},
        {
            "--sweep-learning-rate": sweep_learning_rate,
            "--fixed-points": fixed_points or None,
            "--critical": critical or None,
        },
    )
    _check_unused(
        context,
        {
            "--landscape": landscape is not None,
            "--best-error": best_error is not None,
            "--large-batch": not (large_batch is optimizer is momentum is None),
        },
    )
    continues = landscape is not None or best_error is not None
    if checkpoint is not None and not continues:
        allowed = "only the long searches of --landscape and --best-error continue from a file"
        raise InputError("--checkpoint", str(checkpoint), allowed, "--landscape 200")
    files = Files(out=out, plot=plot, style=plot_style, checkpoint=checkpoint, continues=continues)
    scenario = options.scenario(
        (student, teacher),
        (activation, teacher_activation),
        teacher_norms,
        (readout, teacher_readout),
        numbers,
    )
    if landscape is not None:
        _show_landscape(files, scenario, landscape, checkpoint, as_json)
        return
    start = options.start(scenario, start_q, start_r)
    task = Task(scenario, start, learning_rate, until, batch, readout_rate)
    if best_error is not None:
        _show_best(files, task, best_error, checkpoint, as_json)
    elif any(given is not None for given in (optimizer, large_batch, momentum)):
        _show_steps(files, task, (large_batch, optimizer, momentum), as_json)
    else:
        rates: Any = learning_rate
        if sweep_learning_rate is not None:
            rates = options.grid("--sweep-learning-rate", sweep_learning_rate, "0.1:1.2:12")
        _show_curves(files, task, rates, tolerance, (fixed_points, critical), as_json)


def _check_unused(context: typer.Context, kinds: dict[str, bool]) -> None:
    """Refuse settings that the chosen kind of computation does not use.

    kinds: whether each kind is computed.
    """
    for kind in (kind for kind, is_computed in kinds.items() if is_computed):
        for name in UNUSED[kind]:
            source, value = context.get_parameter_source(name), context.params[name]
            is_limit = kind == "--landscape" and name == "learning_rate" and value == 0
            if source is not None and source.name == "COMMANDLINE" and not is_limit:
                option = f"--{name.replace('_', '-')}"
                allowed = f"{kind} does not use it"
                raise InputError(option, f"{value}", allowed, f"the command without {option}")


class Task(NamedTuple):
    """What is learned, from where, by which steps, and until when."""

    scenario: "Scenario"
    start: "Overlaps"
    learning_rate: float
    until: float
    batch: int
    readout_rate: float


def _check_combination(*groups: dict[str, Any]) -> None:
    """Refuse options of more than one group: a call makes one kind of computation.

    groups: for each kind of computation its options and their values; None where not given.
    """
    given = [[name for name, value in group.items() if value is not None] for group in groups]
    first, *others = [names for names in given if names] or [[]]
    if others:
        allowed = f"it is not computed together with {first[0]}"
        raise InputError(others[0][0], f"it and {first[0]}", allowed, "two commands")


def _show_curves(
    files: Files, task: Task, rates: Any, tolerance: float, also: tuple[bool, bool], as_json: bool
) -> None:
    """Integrate one or several curves, then save, draw and print them.

    also: whether fixed points, and critical learning rates, are computed as well.
    """
    scenario, start, learning_rate, until, batch, readout_rate = task
    fixed_points, critical = also
    steps = {"batch": batch, "readout_rate": readout_rate}
    with files:
        run = _evolve(scenario, start, rates, until=until, tolerance=tolerance, **steps)
        files.save(run, "the curves")
        files.draw(lambda figures: figures.learning_curves(run)[0].figure)
        points = _fixed_points(scenario, learning_rate, **steps) if fixed_points else None
        # In this limit both rates scale together: the readout rate is in units of η.
        steps["readout_rate"] /= learning_rate or 1.0
        critical_rates = _critical(scenario, start, **steps) if critical else None
        if as_json:
            printing.print_json(_for_json(run, points, critical_rates))
        else:
            _print(run, points, critical_rates)


def _show_steps(
    files: Files, task: Task, settings: tuple[float | None, str | None, float | None], as_json: bool
) -> None:
    """Compute steps with large batches, then save, draw and print them.

    settings: the large batch, the optimizer and its momentum; None where not given.
    """
    scenario, start, learning_rate, until, batch, readout_rate = task
    with files:
        if batch != 1:
            allowed = "steps with large batches have B · N examples, with B from --large-batch"
            raise InputError("--batch", str(batch), allowed, "--large-batch 1")
        run = optimizers.iterated(scenario, start, learning_rate, until, *settings, readout_rate)
        files.save(run, "the steps")
        files.draw(lambda figures: figures.learning_curves(run)[0].figure)
        if as_json:
            printing.print_json(_for_json(run, None, None))
        else:
            _print(run, None, None)


def _show_best(
    files: Files, task: Task, error: float, checkpoint: Path | None, as_json: bool
) -> None:
    """Find the schedule that reaches an error first, then save, draw and print it."""
    scenario, start, _, _, batch, readout_rate = task
    with files:
        best = optimizers.best(scenario, start, error, batch, readout_rate, checkpoint)
        files.save(best.curve, "the curves and the schedule")
        files.draw(lambda figures: figures.control(best.curve)[0].figure)
        if as_json:
            content = printing.dataset_for_json(best.curve)
            printing.print_json(content | {"time": printing.estimate_for_json(best.time)})
            return
        table = printing.table("error", f"{error:g} is reached first at α = {best.time.value:.6g}")
        table.add_row("with an error of", f"{best.time.error:.1g}")
        for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
            time = share * best.time.value
            table.add_row(f"learning rate at α = {time:.4g}", f"{float(best.schedule(time)):.4f}")
        assert best.certificate is not None
        table.add_row("certificate", best.certificate.brief)
        printing.show(table)


def _show_landscape(
    files: Files, scenario: "Scenario", starts: int, checkpoint: Path | None, as_json: bool
) -> None:
    """Find the minima of the error, then save, draw and print them."""
    from tutelage.online import landscape

    with files:
        file = None if checkpoint is None else str(checkpoint)
        try:
            minima = landscape(scenario, starts=starts, checkpoint=file, progress=True)
        except InputError as problem:
            if problem.hint not in LANDSCAPE_HINTS:
                raise
            option, hint = LANDSCAPE_HINTS[problem.hint]
            raise InputError(option, problem.received, problem.allowed, hint) from None
        files.save(minima, "the minima")
        files.draw(lambda figures: figures.landscape(minima).figure)
        if as_json:
            printing.print_json(printing.dataset_for_json(minima))
        else:
            printing.show(_landscape_table(minima))


def _landscape_table(minima: "xr.Dataset") -> "Table":
    """One row for each minimum: error, family, states of this kind, curvature, share."""
    headings = ("minimum", "error", "states", "least curvature", "share of starts")
    table = printing.table(*headings)
    for level in (minima["index"].values == 0).nonzero()[0]:
        one = minima.isel(level=int(level))
        h = [float(one[f"{name}_eigenvalue"].min()) for name in ("hessian", "transverse")]
        table.add_row(
            str(one["family"].item()),
            f"{float(one['generalization_error']):.8f}",
            f"{float(one['multiplicity']):.6g}",
            f"{min(h):z.6f}",
            f"{float(one['share']):.4f} ± {float(one['share_error']):.4f}",
        )
    starts, d = minima.attrs["starts"], minima.attrs["start_dimension"]
    words = f"{starts} starts with weights of variance 1/d, d = {d}"
    if minima.attrs["unsettled"]:
        words += f"; {minima.attrs['unsettled']} have not come to rest"
    if minima.attrs["escaped"]:
        words += f"; the norms of {minima.attrs['escaped']} grow without bound"
    table.caption, table.caption_justify = f"{words}.", "left"
    return table


def _evolve(
    scenario: "Scenario", start: "Overlaps", learning_rate: Any, **keywords: Any
) -> "xr.Dataset":
    from tutelage.online import evolve

    return evolve(scenario, start, learning_rate, progress=True, **keywords)


def _fixed_points(
    scenario: "Scenario", learning_rate: float, **steps: Any
) -> Sequence["FixedPoint"]:
    from tutelage.online import fixed_points

    return fixed_points(scenario, learning_rate, progress=True, **steps)


def _critical(scenario: "Scenario", start: "Overlaps", **steps: Any) -> "CriticalLearningRates":
    from tutelage.online import critical_learning_rates

    return critical_learning_rates(scenario, start, progress=True, **steps)


def _for_json(
    run: "xr.Dataset",
    points: Sequence["FixedPoint"] | None,
    rates: "CriticalLearningRates | None",
) -> dict[str, Any]:
    content = printing.dataset_for_json(run)
    if points is not None:
        content["fixed_points"] = [_point_for_json(point) for point in points]
    if rates is not None:
        estimates = {name: printing.estimate_for_json(getattr(rates, name)) for name in CRITICAL}
        content["critical_learning_rates"] = {**estimates, "reasons": dict(rates.reasons)}
    return content


def _point_for_json(point: "FixedPoint") -> dict[str, Any]:
    """State, error, stability and eigenvalues (real and imaginary parts) of a fixed point."""
    values = point.eigenvalues
    return {
        "Q": point.overlaps.Q.tolist(),
        "R": point.overlaps.R.tolist(),
        "readout": point.readout.tolist(),
        "generalization_error": point.generalization_error,
        "stable": point.stable,
        "unstable_directions": point.unstable_directions.shape[1],
        "residual": point.residual,
        "eigenvalues": printing.for_json([[float(x.real), float(x.imag)] for x in values]),
    }


def _print(
    run: "xr.Dataset",
    points: Sequence["FixedPoint"] | None,
    rates: "CriticalLearningRates | None",
) -> None:
    """Print how the run ended, or a row for each of several runs; then the other
    requested results.
    """
    printing.show(_sweep_table(run) if "run" in run.dims else _end_table(run))
    if points is not None:
        print()
        printing.show(_points_table(points))
    if rates is not None:
        print()
        headings = printing.table("learning rate", "value", "error")
        printing.estimates_table(headings, rates, CRITICAL, ".8f", ".1e")


def _end_table(run: "xr.Dataset") -> "Table":
    from tutelage.model.layout import BLOCKS

    # By NumPy: xarray would import Dask first, if it is installed, which takes as long as the run.
    table = printing.table(
        "outcome",
        f"{run.attrs['outcome']} at α = {run.attrs.get('ended_at', run['time'].values[-1]):.6g}",
    )
    for block in sorted(BLOCKS):
        if block.name in run:
            table.add_row(f"final {block.symbol}", printing.matrix(run[block.name].values[-1]))
    error = float(run["generalization_error"].values[-1])
    table.add_row("final error", _error(error, run))
    return table


def _error(value: float, run: "xr.Dataset") -> str:
    """Format ε_g, or the bound below which it cannot be known."""
    noise = float(run.attrs.get("integration_error", 0.0))
    return f"{value:.6g}" if value > noise else f"less than {noise:g}, the error of the integration"


def _sweep_table(run: "xr.Dataset") -> "Table":
    import json

    table = printing.table("learning rate", "outcome", "ended at α", "last error")
    for rate, one in zip(json.loads(run.attrs["learning_rate"]), run["run"], strict=True):
        single = run.isel(run=int(one))
        errors = single["generalization_error"].dropna("time")
        table.add_row(
            f"{rate:.6g}",
            str(single["outcome"].item()),
            f"{float(single['ended_at']):.6g}",
            _error(float(errors[-1]), run) if len(errors) else "–",
        )
    return table


def _points_table(points: Sequence["FixedPoint"]) -> "Table":
    """One row for each fixed point: error, stability, state."""
    learns = any(label.startswith("v_") for point in points for label in point.labels)
    headings = ("fixed point", "error", "stable", "unstable directions", "largest λ", "R", "Q")
    table = printing.table(*headings, *["v"] * learns)
    if not all(point.stable for point in points):
        table.caption = UNSTABLE
        table.caption_justify = "left"
    for number, point in enumerate(points, start=1):
        table.add_row(
            str(number),
            f"{abs(point.generalization_error):.6f}",
            "yes" if point.stable else "no",
            str(point.unstable_directions.shape[1]),
            f"{point.eigenvalues[0].real:.6f}" if len(point.eigenvalues) else "–",
            printing.matrix(point.overlaps.R),
            printing.matrix(point.overlaps.Q),
            *[printing.matrix(point.readout)] * learns,
        )
    return table
