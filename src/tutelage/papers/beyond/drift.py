"""Beyond the papers: the best learning rate and weight decay for teachers that drift.

Teachers walk at random at the rate δ (MATHEMATICS of on-line learning: dR_in/dα gains -δ R_in);
students follow them at a distance that depends on η, and on a weight decay γ that forgets what is
out of date.  Erf and ReLU units differ in how much that helps (Straat et al. 2020 saw them differ).
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import xarray as xr
from scipy.optimize import minimize_scalar

from tutelage import InputError, online
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers.beyond.drawing_online import best_rates, errors_of_drift, side_by_side
from tutelage.papers.row import Row, found
from tutelage.papers.section import Figure, Section

UNITS: tuple[Activation, ...] = (Erf(), ReLU())
DRIFTS, MORE = np.array([0.003, 0.01, 0.03, 0.1]), np.geomspace(0.001, 0.2, 13)
SHOWN = 0.03
# ln η of the search, and γ in units of δ.
RATES, DECAYS = np.linspace(np.log(0.2), np.log(1.5), 9), np.linspace(0.0, 1.5, 6)
# Minima are found to this in ln η and γ/δ, and are flat: errors of ε_g are its square.
CLOSE = 1e-3
SOLUTION = Overlaps(np.eye(2), np.eye(2), np.eye(2))
NOTE = (
    "None of the papers has teachers that drift. ε_g of the stable state that continues the "
    "solution. Second route: values beside the minimum, and a simulated run "
    "(tests/papers/test_beyond_readouts.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Best rates and decays over the drift."""
    data = followed(tuple(MORE if full else DRIFTS))
    yield side_by_side(data, errors_of_drift, best_rates)
    for g in UNITS:
        one = data.sel(unit=_name(g)).sel(drift=SHOWN, method="nearest")
        drift = float(one.drift)
        item = f"{_name(g)}, K = M = 2, δ = {drift:.3g}"
        eta, error = float(one.learning_rate), float(one.error)
        yield found(f"{item}: best η without weight decay", eta, CLOSE * eta, NOTE)
        yield found(f"{item}: its ε_g", error, CLOSE**2 * error, NOTE)
        gain = 1 - float(one.error_with_decay) / error
        item = f"{item}: share of it that the best weight decay takes away"
        yield found(item, gain, 2 * CLOSE**2, NOTE)


def error(g: Activation, drift: float, eta: float, decay: float = 0.0) -> float:
    """ε_g of the state that follows the teachers; infinite if there is none that is stable."""
    two = Committee(2, g)
    scenario = Scenario(two, two, drift=drift, weight_decay=decay)
    try:
        point = online.fixed_point(scenario, SOLUTION, eta)
    except InputError:
        return np.inf
    return point.generalization_error if point.stable else np.inf


@cache
def best_rate(g: Activation, drift: float, decay: float = 0.0) -> tuple[float, float]:
    """η with the smallest ε_g, and that."""
    x, value = _lowest(lambda x: error(g, drift, float(np.exp(x)), decay), RATES)
    return float(np.exp(x)), value


@cache
def best_decay(g: Activation, drift: float) -> tuple[float, float, float]:
    """γ, its best η, and ε_g with both."""
    share, _ = _lowest(lambda share: best_rate(g, drift, float(share) * drift)[1], DECAYS)
    return share * drift, *best_rate(g, drift, share * drift)


def _lowest(function: Callable[[float], float], grid: np.ndarray) -> tuple[float, float]:
    """The minimum next to the lowest of a grid: students that specialize and such that do not have
    minima of their own."""
    k = int(np.clip(np.argmin([function(float(x)) for x in grid]), 1, len(grid) - 2))
    options = {"method": "bounded", "options": {"xatol": CLOSE}}
    found = minimize_scalar(function, bounds=(grid[k - 1], grid[k + 1]), **options)
    return float(found.x), float(found.fun)


@cache
def followed(drifts: tuple[float, ...]) -> xr.Dataset:
    """Best numbers over the drift, for each kind of units."""
    without = np.array([[best_rate(g, d) for d in drifts] for g in UNITS])
    decayed = np.array([[best_decay(g, d) for d in drifts] for g in UNITS])
    over = ("unit", "drift")
    return xr.Dataset(
        {
            "learning_rate": (over, without[..., 0]),
            "error": (over, without[..., 1]),
            "weight_decay": (over, decayed[..., 0]),
            "learning_rate_with_decay": (over, decayed[..., 1]),
            "error_with_decay": (over, decayed[..., 2]),
        },
        coords={
            "unit": [_name(g) for g in UNITS],
            "drift": ("drift", list(drifts), {"symbol": "δ"}),
        },
    )


def _name(g: Activation) -> str:
    return type(g).__name__


SECTIONS = (
    Section(
        "drift",
        "Teachers that drift: the best learning rate, and what weight decay adds",
        "Two students, two teachers that walk at random at the rate δ with their norms kept. Left: "
        "ε_g of the state that follows them at the best η (lines), and with the best weight decay "
        "besides (dashed). Right: the best η. Erf units gain more from forgetting than ReLU units.",
        compute,
        "13 values of δ instead of 4",
    ),
)
