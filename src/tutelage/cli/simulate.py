"""``tutelage simulate``: runs of finite networks, and whether the theory describes them."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli import online_input, options, simulate_input, simulate_show
from tutelage.cli.show import waiting

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.model import Overlaps, Scenario


class Simulator(StrEnum):
    """Overlaps alone, or all weights."""

    chain = "chain"
    network = "network"


def simulate(
    student: options.Student = 2,
    teacher: options.Teacher = 2,
    activation: options.Unit = "relu",
    teacher_activation: options.TeacherUnit = None,
    learning_rate: Annotated[
        float, typer.Option(metavar="ETA", help="Step of learning, greater than 0.")
    ] = 1.0,
    until: options.Until = 100.0,
    dimension: Annotated[
        int, typer.Option(metavar="N", help="Number of inputs, at least K + M.")
    ] = 1000,
    runs: Annotated[int, typer.Option(metavar="COUNT", help="How many networks learn.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
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
            help=f"{', '.join(simulate_input.INPUTS)}, or rows of an array; for network.",
        ),
    ] = "gaussian",
    teacher_norms: options.TeacherNorms = None,
    start_q: options.StartQ = None,
    start_r: options.StartR = "1e-3",
    output_scale: options.OutputScale = "1",
    label_noise: options.LabelNoise = 0.0,
    weight_decay: options.WeightDecay = 0.0,
    theory: Annotated[
        bool, typer.Option("--theory", help="Overlay the theory, and say whether it agrees.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="Kept while it runs; the same command goes on from there."
        ),
    ] = None,
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
) -> None:
    """Simulate students that learn from a teacher, example by example.

    Shows mean and standard deviation over runs of the final overlaps and error, units
    relabelled so that every run has specialized in the same way, and with --theory
    whether the runs agree with the equations of the overlaps.
    """
    simulate_input.check_files(out, plot, checkpoint)
    simulate_input.check_numbers(learning_rate, until, dimension, runs, seed)
    distribution = simulate_input.inputs(inputs, simulator.value, dimension)
    units = (activation, activation if teacher_activation is None else teacher_activation)
    scenario = online_input.scenario(
        (student, teacher), units, teacher_norms, output_scale, label_noise, weight_decay
    )
    simulate_input.check_dimension(scenario, dimension)
    start = online_input.start(scenario, start_q, start_r)

    keywords: dict[str, Any] = {"checkpoint": checkpoint, "progress": True}
    if simulator is Simulator.network:
        keywords["inputs"] = distribution
    numbers = (learning_rate, dimension, until, runs, seed)
    ensemble = _simulate(simulator.value, scenario, start, *numbers, **keywords)
    curve = None
    if theory:
        curve = waiting(lambda: _evolve(scenario, start, learning_rate, until, ensemble))
    found = simulate_show.study(ensemble, curve)
    simulate_show.deliver(ensemble, found, out, plot)
    if as_json:
        print(json.dumps(simulate_show.as_dict(ensemble, found), indent=1))
    else:
        simulate_show.print_ensemble(ensemble, found)


def _simulate(
    simulator: str, scenario: "Scenario", start: "Overlaps", *numbers: Any, **keywords: Any
) -> "xr.Dataset":
    from tutelage import simulation

    try:
        return getattr(simulation, simulator)(scenario, start, *numbers, **keywords)
    except KeyboardInterrupt:
        file = keywords["checkpoint"]
        kept = f"the same command goes on from {file}" if file else "nothing is kept"
        print(f"tutelage: interrupted; {kept}", file=sys.stderr)
        raise typer.Exit(130) from None


def _evolve(
    scenario: "Scenario", start: "Overlaps", rate: float, until: float, runs: "xr.Dataset"
) -> "xr.Dataset":
    from tutelage.online import evolve

    times = runs["time"].values
    return evolve(scenario, start, rate, max(until, float(times[-1])), times=times)
