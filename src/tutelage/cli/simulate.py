"""``tutelage simulate``: runs of finite networks, and whether the theory describes them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tutelage._checks import ComputationError, InputError, finite_number, positive_integer
from tutelage.cli import options, printing
from tutelage.cli.output_files import Files

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.model import Overlaps, Scenario
    from tutelage.simulation.comparison import Comparison

INPUTS = ("gaussian", "sign", "uniform")
VERDICT = ("agrees", "verdict", "rests_on", "level", "threshold", "left_out", "runs", "diverged")


class Simulator(StrEnum):
    """Simulation method: overlaps alone, or all weights."""

    chain = "chain"
    network = "network"


@options.with_numbers
def simulate(
    student: options.Student = 2,
    teacher: options.Teacher = 2,
    activation: options.Unit = "relu",
    teacher_activation: options.TeacherUnit = None,
    learning_rate: options.LearningRate = 1.0,
    until: options.Until = 100.0,
    dimension: Annotated[
        int, typer.Option(metavar="N", help="Number of inputs, at least K + M.")
    ] = 1000,
    runs: options.Runs = 10,
    seed: options.Seed = 0,
    simulator: Annotated[
        Simulator,
        typer.Option(
            help="chain: the overlaps alone, the same law at any N; network: all weights."
        ),
    ] = Simulator.chain,
    inputs: Annotated[
        str,
        typer.Option(
            metavar="NAME | FILE.npy",
            help=f"{', '.join(INPUTS)}, or rows of an array; for network.",
        ),
    ] = "gaussian",
    teacher_norms: options.TeacherNorms = None,
    start_q: options.StartQ = None,
    start_r: options.StartR = "1e-3",
    numbers: options.Numbers = None,
    readout: options.Readout = None,
    teacher_readout: options.TeacherReadout = None,
    readout_rate: options.ReadoutRate = 0.0,
    batch: options.Batch = 1,
    theory: Annotated[
        bool, typer.Option("--theory", help="Overlay the theory, and say whether it agrees.")
    ] = False,
    checkpoint: options.Checkpoint = None,
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_style: options.PlotStyle = "screen",
) -> None:
    """Simulate finite networks that learn from a teacher.

    Shows mean and standard deviation over runs of the final overlaps and error, units
    relabelled so that every run has specialized in the same way, and with --theory
    whether the runs agree with the equations of the overlaps.
    """
    files = Files(out=out, plot=plot, style=plot_style, checkpoint=checkpoint, continues=True)
    _check_numbers(learning_rate, readout_rate, until, dimension, runs, seed)
    rows = _inputs(inputs, simulator, dimension)
    scenario = options.scenario(
        (student, teacher),
        (activation, teacher_activation),
        teacher_norms,
        (readout, teacher_readout),
        numbers,
    )
    _check_dimension(scenario, dimension)
    start = options.start(scenario, start_q, start_r)

    keywords: dict[str, Any] = {"checkpoint": checkpoint, "progress": True}
    if simulator is Simulator.network:
        keywords["inputs"] = rows
    keywords |= {"dimension": dimension, "until": until, "runs": runs, "seed": seed}
    keywords |= {"batch": batch, "readout_rate": readout_rate}
    with files:
        ensemble = _simulate(simulator.value, scenario, start, learning_rate, **keywords)
        files.save(ensemble, "the runs")  # before the theory, which may take longer
        curve = None
        if theory:
            steps = {"batch": batch, "readout_rate": readout_rate}
            curve = _evolve(scenario, start, learning_rate, until, ensemble, **steps)
        study = _study(ensemble, curve)
        files.draw(lambda figures: _picture(figures, study))
        if as_json:
            printing.print_json(_for_json(ensemble, study))
        else:
            _print(ensemble, study)


def _check_numbers(
    rate: float, readout_rate: float, until: float, dimension: int, runs: int, seed: int
) -> None:
    """Check that rate, time, dimension and runs are positive, the readout rate and the seed at
    least 0.
    """
    hint = "--learning-rate 0.1; the limit of small rates is for tutelage online"
    finite_number("--learning-rate", rate, above=0.0, hint=hint)
    finite_number("--readout-rate", readout_rate, at_least=0.0, hint="--readout-rate 0.5")
    finite_number("--until", until, above=0.0, hint="--until 100")
    positive_integer("--dimension", dimension, "--dimension 1000")
    positive_integer("--runs", runs, "--runs 10")
    options.check_seed(seed)


def _check_dimension(scenario: "Scenario", dimension: int) -> None:
    """Check that N inputs suffice for K + M weight vectors, and for drifting teachers."""
    n = scenario.K + scenario.M + (scenario.M + 1 if scenario.drift > 0 else 0)
    if dimension < n:
        allowed = f"{n} units need at least {n} inputs"
        raise InputError("--dimension", str(dimension), allowed, "--dimension 1000")


def _inputs(text: str, simulator: Simulator, dimension: int) -> Any:
    """The name of a distribution, or the rows of a file."""
    from tutelage._checks import finite_array
    from tutelage.runs.arrays import ArrayFileError, load_npy

    if text != "gaussian" and simulator is not Simulator.network:
        allowed = "the chain is for Gaussian inputs"
        raise InputError("--inputs", repr(text), allowed, "--simulator network")
    if text in INPUTS:
        return text
    path = Path(text)
    if path.suffix != ".npy" or not path.is_file():
        allowed = f"it has to be one of {', '.join(INPUTS)}, or a .npy file that exists"
        raise InputError("--inputs", repr(text), allowed, "--inputs sign")
    try:
        rows = finite_array("--inputs", load_npy(path))
    except ArrayFileError as problem:
        received = f"{text!r} ({problem})"
        raise InputError("--inputs", received, "it has to be a .npy file of numbers") from None
    if rows.ndim != 2 or rows.shape[1] != dimension:
        allowed = f"there have to be rows of --dimension {dimension} numbers"
        hint = f"--dimension {rows.shape[-1]}" if rows.ndim == 2 else ""
        raise InputError("--inputs", f"an array of shape {rows.shape}", allowed, hint)
    return rows


def _simulate(
    simulator: str, scenario: "Scenario", start: "Overlaps", rate: float, **keywords: Any
) -> "xr.Dataset":
    from tutelage import simulation

    return getattr(simulation, simulator)(scenario, start, rate, **keywords)


def _evolve(
    scenario: "Scenario",
    start: "Overlaps",
    rate: float,
    until: float,
    runs: "xr.Dataset",
    **steps: Any,
) -> "xr.Dataset":
    from tutelage.online import evolve

    times = runs["time"].values
    last = max(until, float(times[-1]))
    return evolve(scenario, start, rate, until=last, times=times, progress=True, **steps)


class Study(NamedTuple):
    """Means of the runs, relabelled where possible, and the comparison with the theory.

    units: how units are labelled, in words, if that matters.
    theory, comparison: None if they are not requested; reason: why there is no comparison. The
    comparison uses the runs before relabelling, because relabelled runs have other starts than the
    theory.
    """

    summary: "xr.Dataset"
    units: str
    theory: "xr.Dataset | None" = None
    comparison: "Comparison | None" = None
    reason: str = ""


def _study(runs: "xr.Dataset", theory: "xr.Dataset | None") -> Study:
    """Relabel, summarize and compare; steps that are impossible for these runs are reported, not
    raised.
    """
    from tutelage.simulation import aligned, compare, summary
    from tutelage.simulation.comparison import fewest_runs

    try:
        relabelled = aligned(runs, theory)
        units = "" if relabelled["R"].equals(runs["R"]) else ", units relabelled in the same order"
        means = summary(relabelled)
    except ComputationError:  # more units than can be relabelled in all ways
        means, units = summary(runs), ", units in the order of each run"
    if theory is None:
        return Study(means, units)
    if runs.sizes["run"] < fewest_runs():
        return Study(means, units, theory, reason=f"this needs at least {fewest_runs()} runs")
    try:
        return Study(means, units, theory, compare(theory, runs))
    except ComputationError as problem:
        return Study(means, units, theory, reason=str(problem))


def _picture(figures: Any, study: Study) -> Any:
    """Draw the comparison with the theory if there is one, else the relabelled runs."""
    if study.comparison is not None:
        return figures.comparison(study.comparison)[0].figure
    return figures.learning_curves(study.summary, study.theory)[0].figure


def _for_json(runs: "xr.Dataset", study: Study) -> dict[str, Any]:
    """Convert all runs, and theory and verdict if requested, to JSON."""
    content = printing.dataset_for_json(runs)
    if study.theory is None:
        return content
    content["theory"] = printing.dataset_for_json(study.theory)
    content["comparison"] = None
    if study.comparison is not None:
        content["comparison"] = _comparison_for_json(study.comparison)
    return content


def _comparison_for_json(comparison: "Comparison") -> dict[str, Any]:
    """Convert the verdict, the deviation and its part beyond a bias to JSON."""
    content: dict[str, Any] = {name: getattr(comparison, name) for name in VERDICT}
    for name in ("raw", "beyond_bias"):
        deviation = getattr(comparison, name)
        content[name] = deviation and {k: printing.for_json(x) for k, x in vars(deviation).items()}
    return content


def _print(runs: "xr.Dataset", study: Study) -> None:
    """Print how the runs ended, their last overlaps and errors, and the verdict on the theory."""
    from tutelage.model.layout import BLOCKS

    last = study.summary.isel(time=-1)
    has_several = int(last["present"]) > 1
    heading = f"{runs.sizes['run']} to α = {float(last['time']):.6g}, {_divergence(runs)}"
    table = printing.table("runs", heading)
    if has_several:
        table.add_row("", f"mean over runs ± standard deviation{study.units}")
    symbols = {b.name: b.symbol for b in sorted(BLOCKS)} | {"generalization_error": "error"}
    for name, symbol in symbols.items() if int(last["present"]) else ():
        if name not in last:
            continue
        mean, spread = last[name].values, last[f"{name}_spread"].values if has_several else None
        words = printing.matrix(mean, spread) if mean.ndim else _error(mean, spread)
        table.add_row(f"final {symbol}", words)
    if study.theory is not None:
        table.add_row("theory", str(study.comparison or f"not compared: {study.reason}"))
    printing.console().print(table)


def _divergence(runs: "xr.Dataset") -> str:
    gone = runs["ended_at"].values[runs["outcome"].values == "diverged"]
    first = f", the first at α = {min(gone):.6g}" if len(gone) else ""
    return f"{len(gone)} diverged{first}"


def _error(mean: Any, spread: Any) -> str:
    return f"{float(mean):.6g}" + ("" if spread is None else f" ± {float(spread):.2g}")
