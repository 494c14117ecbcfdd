"""``tutelage equilibrium``: loads at which hidden units specialize in equilibrium."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage._checks import InputError
from tutelage.activations.units import UNITS
from tutelage.cli import options, printing
from tutelage.cli.output_files import Files
from tutelage.cli.printing import waiting
from tutelage.cli.temperature import show_at_temperature, show_diagram

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from tutelage.activations import Activation
    from tutelage.equilibrium import State, Transitions

FAMILIES = {name: unit.parameter for name, unit in UNITS.items() if unit.parameter is not None}
LOAD_FACTOR = 1.6  # curves go on for this multiple of the last transition
LOAD_WITHOUT_TRANSITION = 50.0  # where there is no transition
POINTS = 801
SYMBOLS = {"appears": "α_s", "coexists": "α_c", "unstable": "α_d"}
LOADS = {
    "appears": "a specialized state appears, α_s",
    "coexists": "it has the lowest free energy above, α_c",
    "unstable": "the unspecialized state is unstable above, α_d",
}


def equilibrium(
    activation: options.Unit = "erf",
    units: Annotated[
        str | None,
        typer.Option(
            metavar="K | inf",
            help="Hidden units of student and teacher; by default 3, with a temperature inf.",
        ),
    ] = None,
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
            help=(
                f"Draw a diagram over the parameter of {' or '.join(FAMILIES)} instead of curves."
            ),
        ),
    ] = None,
    temperature: Annotated[
        str | None,
        typer.Option(
            metavar="T | bayes",
            help="Temperature, with --units inf (annealed: also 2); by default the limit "
            "of high temperature.",
        ),
    ] = None,
    temperatures: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:COUNT",
            help="Draw a diagram over load and temperature instead of curves.",
        ),
    ] = None,
    approximation: Annotated[
        str, typer.Option(metavar="quenched | annealed", help="Average over the examples.")
    ] = "quenched",
    label_noise: Annotated[
        float, typer.Option(metavar="STD", help="Standard deviation of noise on the labels.")
    ] = 0.0,
    as_json: options.Json = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_style: options.PlotStyle = "screen",
) -> None:
    """Find the loads at which hidden units specialize.

    Shows the loads ALPHA at which a specialized state appears, has the lowest free energy, and is
    the only minimum, and whether the transition is continuous. ALPHA is beta P/(K N) in the limit
    of high temperature, and P/(K N) at a temperature. Example: tutelage equilibrium --units inf
    --temperature 0.1 --label-noise 0.3 --load 12
    """
    files = Files(out=out, plot=plot, style=plot_style)
    if load is not None and not (math.isfinite(load) and load >= 0):
        raise InputError("--load", str(load), "a load is a finite number, 0 or more", "--load 20")
    is_hot = temperature is None and temperatures is None and not label_noise
    is_hot = is_hot and approximation == "quenched"
    units = ("3" if is_hot else "inf") if units is None else units
    K = options.count_or_infinity("--units", units)
    alpha = None
    if loads is not None:
        alpha = options.grid("--loads", loads, "0:60:601", from_zero=True)
    if phase_diagram is not None:
        _report_diagram(activation, phase_diagram, alpha, K, as_json, files)
        return
    g = options.activation("--activation", activation)
    several = _temperatures(temperatures, temperature, load)
    if not is_hot:
        setting = {"approximation": approximation, "label_noise": label_noise}
        if not math.isinf(K) and (K != 2 or approximation != "annealed"):
            allowed = (
                "with a temperature the theory is for infinitely many units (annealed: also for 2)"
            )
            raise InputError(
                "--units",
                units,
                allowed,
                "--units inf, --approximation annealed --units 2, or tl.equilibrium.states in "
                "Python for two units and quenched",
            )
        if several is not None:
            show_diagram(g, K, several, setting, alpha, as_json, files)
            return
        T = options.temperature("--temperature", temperature)
        show_at_temperature(g, K, {"temperature": T, **setting}, load, alpha, as_json, files)
        return
    with files:
        transitions, curves = _compute(g, K, alpha)
        files.save(curves, "the curves")
        files.draw(lambda figures: figures.equilibrium_curves(curves, transitions)[0].figure)
        minima = waiting(lambda: _minima(g, K, load))
        if as_json:
            printing.print_json(_for_json(curves, transitions, minima))
            return
        _print_transitions(g.name, units, transitions)
        if load is not None:
            print()
            _print_states(load, minima)


def _temperatures(
    temperatures: str | None, temperature: str | None, load: float | None
) -> "np.ndarray | None":
    """Parse the temperatures of a diagram, which has no single temperature and no states."""
    if temperatures is None:
        return None
    for option, other in (("--temperature", temperature), ("--load", load)):
        if other is not None:
            allowed = "a diagram over temperatures has no single temperature or load"
            raise InputError(option, str(other), allowed, "--temperatures 0.02:1:40 alone")
    return options.grid("--temperatures", temperatures, "0.02:1:40", from_zero=True)


def _compute(
    g: "Activation", K: int | float, loads: "np.ndarray | None"
) -> tuple["Transitions", "xr.Dataset"]:
    import numpy as np

    from tutelage import equilibrium

    transitions = waiting(lambda: equilibrium.transitions(g, K))
    alpha = np.linspace(0.0, _last(transitions), POINTS) if loads is None else loads
    return transitions, equilibrium.learning_curve(g, K, alpha, progress=True)


def _minima(g: "Activation", K: int | float, load: float | None) -> tuple["State", ...]:
    from tutelage import equilibrium

    return () if load is None else equilibrium.states(g, K, load)


def _last(transitions: "Transitions") -> float:
    """Return a load beyond all transitions."""
    loads = [float(e.value) for e in (transitions.coexists, transitions.unstable) if e is not None]
    return LOAD_FACTOR * max(loads, default=LOAD_WITHOUT_TRANSITION / LOAD_FACTOR)


def _for_json(
    curves: "xr.Dataset", transitions: "Transitions", minima: tuple["State", ...]
) -> dict[str, Any]:
    """Convert the requested transitions, curves and states to JSON."""
    return {
        **printing.dataset_for_json(curves),
        "order": transitions.order,
        **{name: printing.estimate_for_json(getattr(transitions, name)) for name in LOADS},
        **{name: printing.for_json(getattr(transitions, name)) for name in ("jump", "width")},
        "reasons": dict(transitions.reasons),
        "states": [_state_for_json(state) for state in minima],
    }


def _state_for_json(state: "State") -> dict[str, Any]:
    names = ("kind", "R", "S", "C", "generalization_error", "free_energy_per_unit")
    values = {name: printing.for_json(getattr(state, name)) for name in names}
    return {**values, "stable": state.stable, "site_stable": state.site_stable}


def _print_transitions(name: str, units: str, transitions: "Transitions") -> None:
    order = "absent" if transitions.order == "none" else transitions.order
    title = f"{printing.plain(name)}, K = {units}: the transition is {order}"
    headings = printing.framed(title, "load", "α", "error")
    printing.estimates_table(headings, transitions, LOADS, ".10f", ".0e")
    if transitions.jump:
        print(f"At α_c the specialization |R - S| jumps to {transitions.jump:.6g}.")


def _print_states(load: float, minima: tuple["State", ...]) -> None:
    title = f"minima at α = {load:g}, the lowest free energy first"
    table = printing.framed(title, "state", "R", "S", "C", "ε_g", "βf/K", "stable")
    for state in minima:
        numbers = (state.R, state.S, state.C, state.generalization_error)
        stable = "in all overlaps" if state.stable else "if units stay equal"
        row = [*(f"{x:.8f}" for x in numbers), f"{state.free_energy_per_unit:.8f}", stable]
        table.add_row(state.kind, *row)
    printing.show(table)


def _report_diagram(
    activation: str,
    parameters: str,
    loads: "np.ndarray | None",
    K: int | float,
    as_json: bool,
    files: Files,
) -> None:
    """Compute a phase diagram, write its files, and print a summary or all of it."""
    family = activation.partition(":")[0].lower()
    if family not in FAMILIES:
        allowed = f"a phase diagram needs a unit with a parameter: {' or '.join(FAMILIES)}"
        hint = "--activation swish --phase-diagram 0.5:8:60"
        raise InputError("--activation", repr(activation), allowed, hint)
    x = options.grid("--phase-diagram", parameters, "0.5:8:60", from_zero=FAMILIES[family].low == 0)
    with files:
        diagram = _diagram(family, x, loads, K)
        files.save(diagram, "the diagram")
        files.draw(lambda figures: figures.phase_diagram(diagram).figure)
        if as_json:
            printing.print_json(printing.dataset_for_json(diagram))
        else:
            _print_diagram(diagram, family, K)


def _diagram(
    name: str, parameters: "np.ndarray", loads: "np.ndarray | None", K: int | float
) -> "xr.Dataset":
    import numpy as np

    from tutelage import activations, equilibrium, sweeps

    units = [getattr(activations, UNITS[name].kind)(float(x)) for x in parameters]
    if loads is None:
        ends = [equilibrium.transitions(g, K) for g in (units[0], units[-1])]
        first = min(
            (float(transitions.appears.value) for transitions in ends if transitions.appears),
            default=LOAD_WITHOUT_TRANSITION,
        )
        # From below the lowest line to above the highest, spaced logarithmically.
        loads = np.geomspace(first / LOAD_FACTOR, max(map(_last, ends)), len(parameters))
    options = {"units": K, "loads": loads, "workers": 1, "progress": True}
    return sweeps.run(equilibrium.phases, {"activation": units}, **options)


def _print_diagram(diagram: "xr.Dataset", family: str, K: int | float) -> None:
    """Print about twenty parameters of the diagram, and their number."""
    title = f"{family}, K = {K}"
    table = printing.framed(title, "parameter", *(SYMBOLS[name] for name in LOADS), "order")
    for number in printing.shown_rows(table, diagram.sizes["activation"]):
        row = diagram.isel(activation=number)
        loads = [printing.number_or_dash(row[name].item(), ".6f") for name in LOADS]
        parameter = row[f"activation_{FAMILIES[family].name}"].item()
        table.add_row(f"{parameter:.4g}", *loads, str(row["order"].item()))
    printing.show(table)
