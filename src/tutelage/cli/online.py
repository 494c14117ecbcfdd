"""``tutelage online``: overlaps and error of any scenario over the time of learning."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli import online_input, online_show
from tutelage.cli.online_input import UNITS
from tutelage.cli.show import waiting

if TYPE_CHECKING:
    from tutelage.networks import Scenario
    from tutelage.overlaps import Overlaps


def online(
    student: Annotated[int, typer.Option(metavar="K", help="Hidden units of the student.")] = 2,
    teacher: Annotated[int, typer.Option(metavar="M", help="Hidden units of the teacher.")] = 2,
    activation: Annotated[
        str,
        typer.Option(
            metavar="NAME[:PARAMETER]",
            help=f"What a unit does: {', '.join(UNITS)}; such as leaky:0.1 with its slope.",
        ),
    ] = "relu",
    teacher_activation: Annotated[
        str | None,
        typer.Option(metavar="NAME[:PARAMETER]", help="The same as the student's when left out."),
    ] = None,
    learning_rate: Annotated[
        float,
        typer.Option(metavar="ETA", help="0 is the limit of small rates, time in units of 1/ETA."),
    ] = 1.0,
    until: Annotated[
        float, typer.Option(metavar="ALPHA", help="The last time, in examples per input.")
    ] = 100.0,
    teacher_norms: Annotated[
        str | None,
        typer.Option(metavar="T11,T22,...", help="Squared norms of the teachers; 1 by default."),
    ] = None,
    start_q: Annotated[
        str | None,
        typer.Option(
            metavar="Q11,Q22,...",
            help="Squared norms of the students at time 0; from 0.2 to 0.3 by default.",
        ),
    ] = None,
    start_r: Annotated[
        str,
        typer.Option(
            metavar="R11,R22,...", help="Overlaps R_ii at time 0; one number is meant for all."
        ),
    ] = "1e-3",
    output_scale: Annotated[
        str,
        typer.Option(metavar="S | SK,SM", help="Factor of the outputs, or one for each network."),
    ] = "1",
    label_noise: Annotated[
        float, typer.Option(metavar="STD", help="Standard deviation of noise on the labels.")
    ] = 0.0,
    weight_decay: Annotated[
        float, typer.Option(metavar="GAMMA", help="Pull of the weights to zero.")
    ] = 0.0,
    sweep_learning_rate: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:COUNT", help="Many runs at once, instead of --learning-rate."
        ),
    ] = None,
    fixed_points: Annotated[
        bool, typer.Option(help="Also find the fixed points at --learning-rate.")
    ] = False,
    critical: Annotated[
        bool, typer.Option(help="Also find the learning rates where the behaviour changes.")
    ] = False,
    tolerance: Annotated[float, typer.Option(help="Of the integration, for each step.")] = 1e-9,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the curves instead of a table.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.nc", help="Save the curves as NetCDF.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw overlaps and error; also .pdf or .svg."),
    ] = None,
) -> None:
    """Follow a student that learns from a teacher, example by example.

    Integrates the equations of the overlaps R and Q, exact in the learning rate, and
    shows how the run ended: converged, plateau, diverged, or reached the last time.
    """
    online_input.check_files(out, plot)
    units = (activation, activation if teacher_activation is None else teacher_activation)
    scenario = online_input.scenario(
        (student, teacher), units, teacher_norms, output_scale, label_noise, weight_decay
    )
    start = online_input.start(scenario, start_q, start_r)
    rate: Any = learning_rate
    if sweep_learning_rate is not None:
        rate = online_input.sweep("--sweep-learning-rate", sweep_learning_rate)

    run = waiting(lambda: _evolve(scenario, start, rate, until, tolerance))
    online_show.deliver(run, out, plot)
    told = _extras(scenario, start, learning_rate if fixed_points else None, critical)
    if as_json:
        found = {name: as_dict() for name, (as_dict, _) in told.items()}
        print(json.dumps({**online_show.run_as_dict(run), **found}, indent=1))
        return
    online_show.print_run(run)
    for _, show in told.values():
        print()
        show()


def _evolve(
    scenario: "Scenario", start: "Overlaps", learning_rate: Any, until: float, tolerance: float
) -> Any:
    from tutelage.online import evolve

    return evolve(scenario, start, learning_rate, until, tolerance=tolerance)


def _extras(
    scenario: "Scenario", start: "Overlaps", learning_rate: float | None, critical: bool
) -> dict[str, tuple[Callable[[], Any], Callable[[], None]]]:
    """What was asked for besides the run: how to tell it to programs, and how to people."""
    told: dict[str, tuple[Callable[[], Any], Callable[[], None]]] = {}
    if learning_rate is not None:
        from tutelage.online.search import fixed_points

        points = waiting(lambda: fixed_points(scenario, learning_rate))
        told["fixed_points"] = (
            lambda: [online_show.point_as_dict(point) for point in points],
            lambda: online_show.print_points(points),
        )
    if critical:
        from tutelage.online.critical import critical_learning_rates

        rates = waiting(lambda: critical_learning_rates(scenario, start))
        told["critical_learning_rates"] = (
            lambda: online_show.critical_as_dict(rates),
            lambda: online_show.print_critical(rates),
        )
    return told
