"""Every branch of extrema over the load at a temperature, and the phases."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.equilibrium.thermal.solution import Solution
from tutelage.equilibrium.thermal.states import ROUNDING_TOLERANCE
from tutelage.equilibrium.thermal.transitions import ThermalTransitions, transitions_of
from tutelage.equilibrium.thermal.values import Values
from tutelage.runs.progress import Progress

LOADS_PER_BLOCK = 2000
REPORTED_NAMES = tuple(name for name in Values._fields if name != "curvature")


def learning_curve_of(solution: Solution, loads: np.ndarray, progress: bool) -> xr.Dataset:
    """Return a Dataset over ``branch`` and ``load``, NaN where a branch has no state."""
    columns = []
    with Progress(progress, len(loads) * len(solution.branches), "states") as bar:
        for branch in solution.branches:
            parts = []
            for first in range(0, len(loads), LOADS_PER_BLOCK):
                parts.append(branch.values(loads[first : first + LOADS_PER_BLOCK]))
                bar.add(len(parts[-1].R))
            columns.append(Values(*(np.concatenate(x) for x in zip(*parts, strict=True))))
    everywhere = Values(*(np.stack(x) for x in zip(*columns, strict=True)))
    annealed = solution.setting.approximation == "annealed"
    symmetric = np.isfinite(everywhere.R) & (annealed | (everywhere.replicon > 0))
    minimum = everywhere.curvature > 0
    data: dict[str, Any] = {
        name: (("branch", "load"), getattr(everywhere, name)) for name in REPORTED_NAMES
    }
    data |= {
        "stable": (("branch", "load"), minimum & symmetric),
        "site_stable": (("branch", "load"), minimum),
        "replica_symmetric": (("branch", "load"), symmetric),
        "kind": ("branch", np.array([b.kind for b in solution.branches], dtype="<U13")),
    }
    return xr.Dataset(data, coords=_coordinates(solution, loads))


def phases_of(solution: Solution, loads: np.ndarray) -> xr.Dataset:
    """The state of lowest free energy at each load among minima, and the loads between phases."""
    transitions = transitions_of(solution)
    names = ("appears", "coexists", "unstable", "agreement")
    lines = {
        name: np.nan if (e := getattr(transitions, name)) is None else e.value for name in names
    }
    curve = learning_curve_of(solution, loads, progress=False)
    winner = _winner(transitions, curve, loads)
    at = {name: curve[name].values[winner, np.arange(len(loads))] for name in (
        "R", "S", "generalization_error", "training_error", "replica_symmetric",
    )}  # fmt: skip
    coords = _coordinates(solution, loads)
    return xr.Dataset(
        {
            "phase": ("load", _phases(transitions, curve, winner, loads)),
            "generalization_error": ("load", at["generalization_error"]),
            "training_error": ("load", at["training_error"]),
            "specialization": ("load", at["R"] - at["S"]),
            "replica_symmetric": ("load", at["replica_symmetric"]),
            **lines,
            "order": transitions.order,
        },
        # In a sweep over temperatures the temperature is a dimension.
        coords={name: x for name, x in coords.items() if name not in ("branch", "temperature")},
    )


def _winner(transitions: ThermalTransitions, curve: xr.Dataset, loads: np.ndarray) -> np.ndarray:
    """Return the number of the branch that is occupied at each load.

    Beyond coexistence it is the specialized minimum of lowest free energy, before it the state
    R = 0: that in which students agree, where there is one and q = 0 is unstable.
    """
    kinds = curve["kind"].values
    energy = np.where(curve["site_stable"].values, curve["free_energy_per_unit"].values, np.nan)
    tie = (
        loads * curve["training_error"].values
    )  # Where both free energies are infinite, at T = 0, this term decides.
    rank = np.where(np.isnan(energy), np.inf, np.clip(energy, -1e300, 1e300) + np.nan_to_num(tie))
    special = np.array([k.startswith("R ") for k in kinds])
    ranked = np.where(special[:, None], rank, np.inf)
    best = np.min(ranked, axis=0)
    # Of states with equal free energies by symmetry the first is chosen, R > S.
    specialized = np.argmax(ranked <= best + ROUNDING_TOLERANCE * (1 + np.abs(best)), axis=0)
    flat = np.full(len(loads), int(np.flatnonzero(kinds == "unspecialized")[0]))
    replicon = curve["replicon"].values
    for i in np.flatnonzero(kinds == "agreeing"):
        exists = np.isfinite(curve["R"].values[i]) & (replicon[flat[0]] < 0)
        flat = np.where(exists, i, flat)
    line = transitions.coexists or transitions.unstable or transitions.appears
    if line is None:
        return flat
    exists = np.any(special[:, None] & ~np.isnan(energy), axis=0)
    return np.where((loads > line.value) & exists, specialized, flat)


def _phases(
    transitions: ThermalTransitions, curve: xr.Dataset, winner: np.ndarray, loads: np.ndarray
) -> np.ndarray:
    """Name the phase at each load."""
    kinds = curve["kind"].values[winner]
    words = np.where(np.char.startswith(kinds, "R "), "specialized", kinds).astype("<U40")
    if transitions.order == "discontinuous" and transitions.appears is not None:
        metastable = (words != "specialized") & (loads > transitions.appears.value)
        words = np.where(metastable, np.char.add(words, ", specialized metastable"), words)
        if transitions.coexists is not None:
            last = np.inf if transitions.unstable is None else transitions.unstable.value
            other = (words == "specialized") & (loads < last)
            words = np.where(other, "specialized, unspecialized metastable", words)
    return words


def _coordinates(solution: Solution, loads: np.ndarray) -> dict:
    """Return the coordinates: α̃, α = α̃/T where it is finite, branches, and the setting."""
    setting = solution.setting
    coords: dict = {
        "branch": np.arange(len(solution.branches)),
        "load": ("load", loads, {"long_name": "P/(KN)", "symbol": "α̃"}),
        "temperature": ((), setting.temperature, {"symbol": "T"}),
        "label_noise": ((), float(np.sqrt(setting.noise)), {"symbol": "ς"}),
    }
    if setting.temperature > 0:
        scaled = loads / setting.temperature
        coords["scaled_load"] = ("load", scaled, {"long_name": "βP/(KN)", "symbol": "α"})
    return coords
