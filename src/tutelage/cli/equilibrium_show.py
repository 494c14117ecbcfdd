"""What ``tutelage equilibrium`` shows: tables for people, numbers for programs, files."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage.cli.equilibrium_input import FAMILIES
from tutelage.cli.show import console, for_json, plain, use_files_only

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.equilibrium.symmetric.states import State
    from tutelage.equilibrium.symmetric.transitions import Transitions

LOADS = {
    "appears": "a specialized state appears, α_s",
    "coexists": "it has the lowest free energy above, α_c",
    "unstable": "the unspecialized state is unstable above, α_d",
}


def deliver(curves: "xr.Dataset", found: "Transitions", out: Path | None, plot: Path | None):
    """Write the files that were asked for."""
    _save(curves, out)
    if plot is not None:
        use_files_only()
        from tutelage import figures

        figures.equilibrium_curves(curves, found)[0].figure.savefig(plot, dpi=150)


def deliver_diagram(
    diagram: "xr.Dataset", family: str, out: Path | None, plot: Path | None
) -> None:
    """The same for a phase diagram."""
    _save(diagram, out)
    if plot is not None:
        use_files_only()
        from tutelage import figures

        axes = figures.phase_diagram(diagram, parameter=FAMILIES[family])
        axes.figure.savefig(plot, dpi=150)


def as_dict(
    curves: "xr.Dataset", found: "Transitions", minima: tuple["State", ...]
) -> dict[str, Any]:
    """Transitions, curves and states, as far as they were asked for."""
    told: dict[str, Any] = {key: for_json(value) for key, value in curves.attrs.items()}
    told["order"] = found.order
    told |= {name: _number(getattr(found, name)) for name in LOADS}
    told |= {name: for_json(getattr(found, name)) for name in ("jump", "width")}
    told["reasons"] = dict(found.reasons)
    names = ("load", *(str(name) for name in curves.data_vars))
    told |= {name: for_json(curves[name].values.tolist()) for name in names}
    told["states"] = [_state(state) for state in minima]
    return told


def print_transitions(name: str, units: str, found: "Transitions") -> None:
    from rich.table import Table

    table = Table(title=f"{plain(name)}, K = {units}: the transition is {_order(found)}")
    for column in ("load", "α", "error"):
        table.add_column(column)
    for field, text in LOADS.items():
        estimate = getattr(found, field)
        if estimate is None:
            table.add_row(text, "none", found.reasons.get(field, ""))
        else:
            table.add_row(text, f"{float(estimate.value):.10f}", f"{float(estimate.error):.0e}")
    screen = console()
    screen.print(table)
    if found.jump:
        screen.print(f"At α_c the specialization |R - S| jumps to {found.jump:.6g}.")


def print_states(load: float, minima: tuple["State", ...]) -> None:
    from rich.table import Table

    table = Table(title=f"minima at α = {load:g}, the lowest free energy first")
    for column in ("state", "R", "S", "C", "ε_g", "βf/K", "stable"):
        table.add_column(column)
    for state in minima:
        numbers = (state.R, state.S, state.C, state.generalization_error)
        stable = "in all overlaps" if state.stable else "if units stay alike"
        row = [*(f"{x:.8f}" for x in numbers), f"{state.free_energy_per_unit:.8f}", stable]
        table.add_row(state.kind, *row)
    console().print(table)


def tell_diagram(diagram: "xr.Dataset", family: str, as_json: bool) -> None:
    """The lines of the diagram; with ``as_json`` everything."""
    if as_json:
        names = ("parameter", "load", *(str(name) for name in diagram.data_vars))
        curves = {name: for_json(diagram[name].values.tolist()) for name in names}
        print(json.dumps({**{k: for_json(v) for k, v in diagram.attrs.items()}, **curves}))
        return
    from rich.table import Table

    table = Table(title=f"{family}, K = {diagram.attrs['units']}")
    for column in ("parameter", *LOADS, "order"):
        table.add_column(column)
    step = max(1, diagram.sizes["parameter"] // 20)
    for number in range(0, diagram.sizes["parameter"], step):
        row = diagram.isel(parameter=number)
        loads = [f"{row[name].item():.6f}" for name in LOADS]
        table.add_row(f"{row['parameter'].item():.4g}", *loads, str(row["order"].item()))
    console().print(table)


def _order(found: "Transitions") -> str:
    return "absent" if found.order == "none" else found.order


def _number(estimate: Any) -> Any:
    if estimate is None:
        return None
    return {"value": float(estimate.value), "error": float(estimate.error)}


def _state(state: "State") -> dict[str, Any]:
    names = ("kind", "R", "S", "C", "generalization_error", "free_energy_per_unit")
    values = {name: getattr(state, name) for name in names}
    known = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}
    return {**known, "stable": state.stable, "site_stable": state.site_stable}


def _save(dataset: "xr.Dataset", out: Path | None) -> None:
    if out is not None:
        from tutelage import results

        results.save(dataset, out)
