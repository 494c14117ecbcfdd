"""``tutelage equilibrium --temperature``: transitions and states of K → ∞ or 2 units."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tutelage.cli import printing
from tutelage.cli.output_files import Files
from tutelage.cli.printing import waiting

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from tutelage.activations import Activation
    from tutelage.equilibrium import ThermalState, ThermalTransitions

LOAD_FACTOR, LOAD_WITHOUT_TRANSITION, POINTS = 2.0, 10.0, 401
# Loads of a diagram end at this multiple of the last transition.
DIAGRAM_END, DIAGRAM_POINTS = 1.3, 101
SYMBOLS = {"appears": "α̃_s", "coexists": "α̃_c", "unstable": "α̃_d", "agreement": "α̃_g"}
LOADS = {
    "appears": "a specialized state appears, α̃_s",
    "coexists": "it has the lowest free energy above, α̃_c",
    "unstable": "the unspecialized state is unstable above, α̃_d",
    "agreement": "in the state R = 0 students agree with each other above, α̃_g",
}
NUMBERS = (
    "R",
    "S",
    "C",
    "q",
    "generalization_error",
    "training_error",
    "free_energy_per_unit",
    "replicon",
)


def show_at_temperature(
    activation: "Activation",
    K: int | float,
    setting: dict[str, Any],
    load: float | None,
    loads: "np.ndarray | None",
    as_json: bool,
    files: Files,
) -> None:
    """Compute transitions and curves, write the files, print the tables or everything."""
    import numpy as np

    from tutelage import equilibrium

    with files:
        transitions: ThermalTransitions = waiting(_transitions(activation, K, setting))
        alpha = np.linspace(0.0, _last(transitions), POINTS) if loads is None else loads
        curves = equilibrium.learning_curve(activation, K, alpha, progress=True, **setting)
        files.save(curves, "the curves")
        files.draw(lambda figures: figures.temperature_curves(curves, transitions)[0].figure)
        states: Any = () if load is None else equilibrium.states(activation, K, load, **setting)
        if as_json:
            printing.print_json(_for_json(curves, transitions, states))
            return
        _print_transitions(activation.name, K, transitions)
        if load is not None:
            print()
            _print_states(load, states)


def _transitions(
    activation: "Activation", K: int | float, setting: dict[str, Any]
) -> "Callable[[], Any]":
    from tutelage import equilibrium

    return lambda: equilibrium.transitions(activation, K, **setting)


def _last(transitions: "ThermalTransitions") -> float:
    """Return a load beyond all transitions."""
    loads = (transitions.appears, transitions.coexists, transitions.unstable)
    return LOAD_FACTOR * max(
        (float(e.value) for e in loads if e is not None), default=LOAD_WITHOUT_TRANSITION
    )


def _for_json(
    curves: "xr.Dataset", transitions: "ThermalTransitions", states: "tuple[ThermalState, ...]"
) -> dict[str, Any]:
    """Convert curves, transitions and states to JSON."""
    return {
        **printing.dataset_for_json(curves),
        "order": transitions.order,
        **{
            name: printing.estimate_for_json(getattr(transitions, name))
            for name in (*LOADS, "bend")
        },
        "jump": printing.for_json(transitions.jump),
        "replica_symmetric": transitions.replica_symmetric,
        "reasons": dict(transitions.reasons),
        "states": [_state_for_json(state) for state in states],
    }


def _state_for_json(state: "ThermalState") -> dict[str, Any]:
    values = {name: printing.for_json(getattr(state, name)) for name in ("kind", *NUMBERS)}
    flags = ("stable", "site_stable", "replica_symmetric")
    return {**values, **{name: getattr(state, name) for name in flags}}


def _print_transitions(name: str, K: int | float, transitions: "ThermalTransitions") -> None:
    order = "absent" if transitions.order == "none" else transitions.order
    units = "K → ∞" if math.isinf(K) else f"K = {K}"
    title = (
        f"{printing.plain(name)}, {units}, T = {transitions.temperature:g}, "
        f"{transitions.approximation}: the transition is {order}"
    )
    headings = printing.framed(title, "load", "α̃ = P/(KN)", "error")
    printing.estimates_table(headings, transitions, LOADS, ".10f", ".0e")
    if transitions.jump:
        print(f"At α̃_c the specialization R - S jumps to {transitions.jump:.6g}.")
    if transitions.replica_symmetric is False:
        print("Replica symmetry is unstable at the transition: its numbers are estimates.")


def _print_states(load: float, states: "tuple[ThermalState, ...]") -> None:
    title = f"minima at α̃ = {load:g}"
    # S and C vanish for K → ∞, and replicas of the annealed theory share nothing but the teacher.
    pair = bool(states) and math.isfinite(states[0].units)
    names = ("R", "S", "C") if pair else ("R", "q")
    table = printing.framed(title, "state", *names, "ε_g", "ε_t", "βf/K", "replicon Λ", "stable")
    for state in states:
        overlaps = [getattr(state, name) for name in names]
        numbers = (*overlaps, state.generalization_error, state.training_error)
        replicon = "none" if state.replicon is None else f"{state.replicon:.4f}"
        row = [*(f"{x:.8f}" for x in numbers), f"{state.free_energy_per_unit:.8f}", replicon]
        table.add_row(state.kind, *row, _stability(state))
    printing.show(table)


def _stability(state: "ThermalState") -> str:
    if state.stable:
        return "yes"
    return "no: " + (
        "a saddle in the overlaps" if not state.site_stable else "replica symmetry is unstable"
    )


def show_diagram(
    activation: "Activation",
    K: int | float,
    temperatures: "np.ndarray",
    setting: dict[str, Any],
    loads: "np.ndarray | None",
    as_json: bool,
    files: Files,
) -> None:
    """Compute phases over the load and the temperature, write the files, print the lines."""
    import numpy as np

    from tutelage import equilibrium, sweeps

    with files:
        if loads is None:
            ends = temperatures[[0, -1]].tolist()
            at_ends = waiting(lambda: [
                equilibrium.transitions(activation, K, temperature=T, **setting) for T in ends
            ])  # fmt: skip
            loads = np.linspace(
                0.0, DIAGRAM_END * max(map(_last, at_ends)) / LOAD_FACTOR, DIAGRAM_POINTS
            )
        diagram = sweeps.run(
            equilibrium.phases,
            {"temperature": temperatures},
            activation=activation,
            units=K,
            loads=loads,
            workers=1,
            progress=True,
            **setting,
        )
        files.save(diagram, "the diagram")
        files.draw(lambda figures: figures.temperature_diagram(diagram).figure)
        if as_json:
            printing.print_json(printing.dataset_for_json(diagram))
        else:
            _print_diagram(diagram, activation.name, K, setting["approximation"])


def _print_diagram(diagram: "xr.Dataset", name: str, K: int | float, approximation: str) -> None:
    """Print the lines at some twenty temperatures."""
    units = "K → ∞" if math.isinf(K) else f"K = {K}"
    title = f"{printing.plain(name)}, {units}, {approximation}: loads α̃ = P/(KN) of the transitions"
    table = printing.framed(title, "T", *SYMBOLS.values(), "order", "replica symmetry")
    for number in printing.shown_rows(table, diagram.sizes["temperature"]):
        row = diagram.isel(temperature=number)
        loads = [printing.number_or_dash(row[name].item(), ".6f") for name in SYMBOLS]
        words = (str(row["order"].item()), _unstable_loads(row))
        table.add_row(f"{row['temperature'].item():.4g}", *loads, *words)
    printing.show(table)
    noise = float(diagram.coords.get("label_noise", 0.0))
    if noise:
        print(f"The Nishimori temperature, at which students are Bayes-optimal, is {noise**2:g}.")


def _unstable_loads(row: "xr.Dataset") -> str:
    """Name the loads between which replica symmetry is unstable in the state of a phase."""
    unstable = row["load"].values[~row["replica_symmetric"].values.astype(bool)]
    if not len(unstable):
        return "stable"
    return f"unstable at α̃ = {unstable[0]:.4g} to {unstable[-1]:.4g}"
