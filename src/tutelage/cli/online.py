"""``tutelage online``: overlaps and error of any scenario over the time of learning."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli import online_input, online_show, options
from tutelage.cli.show import waiting

if TYPE_CHECKING:
    from tutelage.model import Overlaps, Scenario


def online(
    student: options.Student = 2,
    teacher: options.Teacher = 2,
    activation: options.Unit = "relu",
    teacher_activation: options.TeacherUnit = None,
    learning_rate: Annotated[
        float,
        typer.Option(metavar="ETA", help="0 is the limit of small rates, time in units of 1/ETA."),
    ] = 1.0,
    until: options.Until = 100.0,
    teacher_norms: options.TeacherNorms = None,
    start_q: options.StartQ = None,
    start_r: options.StartR = "1e-3",
    output_scale: options.OutputScale = "1",
    label_noise: options.LabelNoise = 0.0,
    weight_decay: options.WeightDecay = 0.0,
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
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
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
        from tutelage.online.critical_rates import critical_learning_rates

        rates = waiting(lambda: critical_learning_rates(scenario, start))
        told["critical_learning_rates"] = (
            lambda: online_show.critical_as_dict(rates),
            lambda: online_show.print_critical(rates),
        )
    return told
