"""``tutelage equilibrium``: where hidden units specialize when all examples are there."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli import equilibrium_input, equilibrium_show
from tutelage.cli.options import Unit
from tutelage.cli.show import waiting


def equilibrium(
    activation: Unit = "erf",
    units: Annotated[
        str, typer.Option(metavar="K | inf", help="Hidden units of student and teacher.")
    ] = "3",
    load: Annotated[
        float | None,
        typer.Option(metavar="ALPHA", help="Also list every minimum at this load."),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:COUNT",
            help="Loads of the curves; by default from 0 to beyond the last transition.",
        ),
    ] = None,
    phase_diagram: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:COUNT",
            help="Instead of curves, a diagram over the parameter of swish or leaky.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print curves and transitions instead of a table.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.nc", help="Save curves or diagram as NetCDF.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw order parameters and error, or the diagram."),
    ] = None,
) -> None:
    """Find where hidden units specialize in equilibrium, at high temperature.

    Shows the loads ALPHA = beta P/(K N) at which a specialized state appears, wins and is
    the only one left, whether the transition is continuous, and all states along the way.
    """
    equilibrium_input.check(out, plot, load)
    K = equilibrium_input.units(units)
    if phase_diagram is not None:
        family, parameters = equilibrium_input.family(activation, phase_diagram)
        diagram = waiting(lambda: equilibrium_input.diagram(family, parameters, loads, K))
        equilibrium_show.deliver_diagram(diagram, family, out, plot)
        equilibrium_show.tell_diagram(diagram, family, as_json)
        return
    g = equilibrium_input.activation(activation)
    found, curves = waiting(lambda: equilibrium_input.compute(g, K, loads))
    minima = waiting(lambda: equilibrium_input.minima(g, K, load))
    equilibrium_show.deliver(curves, found, out, plot)
    if as_json:
        print(json.dumps(equilibrium_show.as_dict(curves, found, minima), indent=1))
        return
    equilibrium_show.print_transitions(g.name, units, found)
    if load is not None:
        print()
        equilibrium_show.print_states(load, minima)
