"""Options of ``tutelage online`` for optimizers with large batches and for optimal control."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tutelage._checks import InputError

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.model import Overlaps, Scenario
    from tutelage.online import BestControl

Optimizer = Annotated[
    Literal["plain", "momentum", "normalized", "muon"] | None,
    typer.Option(help="Optimizer of steps with large batches; see --large-batch."),
]
Momentum = Annotated[
    float | None, typer.Option(metavar="MU", help="Momentum of --optimizer momentum or muon.")
]
LargeBatch = Annotated[
    float | None,
    typer.Option(
        metavar="B", help="Steps with B examples per input each, instead of a curve: α = B · steps."
    ),
]
BestError = Annotated[
    float | None,
    typer.Option(
        metavar="ERROR", help="Find the learning-rate schedule that reaches ERROR soonest."
    ),
]


def iterated(
    scenario: "Scenario",
    start: "Overlaps",
    learning_rate: float,
    until: float,
    batch: float | None,
    optimizer: str | None,
    momentum: float | None,
    readout_rate: float,
) -> "xr.Dataset":
    """Compute steps with large batches until a time."""
    from tutelage import online

    b = 1.0 if batch is None else batch
    if not b > 0:
        raise InputError("--large-batch", f"{b:g}", "it has to be greater than 0", "1.0")
    return online.iterate(
        scenario,
        start,
        learning_rate,
        steps=max(1, round(until / b)),
        batch=b,
        readout_rate=readout_rate,
        optimizer=_optimizer(optimizer, momentum),
    )


def _optimizer(name: str | None, momentum: float | None) -> Any:
    from tutelage import optimizers

    if momentum is not None and name not in ("momentum", "muon"):
        allowed = "it needs --optimizer momentum or muon"
        raise InputError("--momentum", f"{momentum:g}", allowed, "--optimizer momentum")
    if name == "momentum":
        return optimizers.Momentum(0.9 if momentum is None else momentum)
    if name == "muon":
        return optimizers.Muon(momentum=momentum or 0.0)
    return optimizers.Normalized() if name == "normalized" else optimizers.Plain()


def best(
    scenario: "Scenario",
    start: "Overlaps",
    error: float,
    batch: int,
    readout_rate: float,
    checkpoint: Path | None,
) -> "BestControl":
    """Find the schedule that reaches an error first."""
    from tutelage import online

    return online.best_control(
        scenario,
        start,
        error=error,
        readout_rate=readout_rate or None,
        batch=batch,
        checkpoint=checkpoint,
        progress=True,
    )
