"""Beyond the papers: the best learning rate and weight decay for teachers that drift.

Teachers walk at random at the rate δ (docs/physics/online.md: dR_in/dα gains -δ R_in); students
follow them at a distance that depends on η, and on a weight decay γ that removes outdated parts of
the weights.  Erf and ReLU units differ in how much that helps (Straat et al. 2020 saw them differ).
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import online
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers.beyond.drawing_online import best_rates, errors_of_drift, side_by_side
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

UNITS: tuple[Activation, ...] = (Erf(), ReLU())
DRIFTS, FULL_DRIFTS = np.array([0.003, 0.01, 0.03, 0.1]), np.geomspace(0.001, 0.2, 13)
PRINTED_DRIFT = 0.03
# Bounds of η, and the highest γ in units of δ.
RATES, DECAYS = (0.2, 1.5), 1.5
SOLUTION = Overlaps(np.eye(2), np.eye(2), np.eye(2))
NOTE = (
    "None of the papers has teachers that drift. ε_g of the stable state that continues the "
    "solution. Second route: values next to the minimum, and a simulated run "
    "(tests/papers/test_beyond_readouts.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute the best learning rates and weight decays over the drift."""
    data = followed(tuple(FULL_DRIFTS if full else DRIFTS))
    yield side_by_side(data, errors_of_drift, best_rates)
    for g in UNITS:
        drift = float(data.sel(drift=PRINTED_DRIFT, method="nearest").drift)
        without, decayed = best(g, drift)
        item, error = f"{_name(g)}, K = M = 2, δ = {drift:.3g}", without.generalization_error
        yield unpublished(f"{item}: best η without weight decay", *without.learning_rate, NOTE)
        yield unpublished(f"{item}: its ε_g", *error, NOTE)
        gain = 1 - decayed.generalization_error.value / error.value
        item = f"{item}: share of it that the best weight decay takes away"
        yield unpublished(item, gain, 2 * error.error / error.value, NOTE)


def problem(g: Activation, drift: float) -> Scenario:
    """Return the scenario: two students of two drifting teachers."""
    two = Committee(2, g)
    return Scenario(two, two, drift=drift)


@cache
def best(g: Activation, drift: float) -> tuple[online.BestTracking, online.BestTracking]:
    """Optimize η without weight decay, then η and γ with it."""
    decays = (0.0, DECAYS * drift)
    without, decayed = (
        online.best_tracking(problem(g, drift), SOLUTION, bounds=RATES, decay_bounds=bounds)
        for bounds in (None, decays)
    )
    return without, decayed


@cache
def followed(drifts: tuple[float, ...]) -> xr.Dataset:
    """Return the best rates over the drift, for each activation."""
    values = [[[_values(x) for x in best(g, d)] for d in drifts] for g in UNITS]
    without, decayed = np.moveaxis(np.array(values), 2, 0)
    over = ("unit", "drift")
    return xr.Dataset(
        {
            "learning_rate": (over, without[..., 0]),
            "error": (over, without[..., 2]),
            "specialization": (over, without[..., 3]),
            "weight_decay": (over, decayed[..., 1]),
            "learning_rate_with_decay": (over, decayed[..., 0]),
            "error_with_decay": (over, decayed[..., 2]),
            "specialization_with_decay": (over, decayed[..., 3]),
        },
        coords={
            "unit": [_name(g) for g in UNITS],
            "drift": ("drift", list(drifts), {"symbol": "δ"}),
        },
    )


def _values(tracking: online.BestTracking) -> list[float]:
    """Return η, γ, ε_g, and how much a student prefers its teacher."""
    every = (tracking.learning_rate, tracking.weight_decay, tracking.generalization_error)
    R = tracking.point.overlaps.R
    return [*(float(one.value) for one in every), float(abs(R[0, 0] - R[0, 1]))]


def _name(g: Activation) -> str:
    return type(g).__name__


SECTIONS = (
    Section(
        "drift",
        "Teachers that drift: the best learning rate, and what weight decay adds",
        "Two students, two teachers that walk at random at the rate δ with fixed norms. Left: ε_g "
        "of the state that follows them at the best η (lines), and at the best η and weight decay "
        "(dashed). Right: the best η and γ. Open symbols: students that do not specialize, as the "
        "best students above some drift; there the best η and γ jump. Erf units gain more from "
        "weight decay than ReLU units.",
        compute,
        "13 values of δ instead of 6",
    ),
)
