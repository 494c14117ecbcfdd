"""Beyond straat2019 and citton2025: plateaus of other activations.

straat2019 and citton2025 have the plateau of two ReLU units.
`tutelage.online.stationary.escape` has the rate at which a plateau is left.  Two learning rates
bound plateau and solution from above: the saddle is followed in η to its fold, and the solution
Q = R = T is stable while all eigenvalues of the linearized equations are negative
(`tutelage.online.stationary.stability`).
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import online
from tutelage._jax import jnp
from tutelage.activations import (
    GELU,
    Activation,
    Erf,
    LeakyReLU,
    ReLU,
    Sigmoid,
    Softplus,
    Swish,
    Tanh,
)
from tutelage.averages import Estimate
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import Flow
from tutelage.online.stationary.stability import saddle_vanishes, solution_loses_stability
from tutelage.papers import recorded
from tutelage.papers.beyond.drawing_online import (
    eigenvalues_over_coefficients,
    lengths_over_eigenvalues,
    side_by_side,
)
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

NAMES = (
    "ReLU",
    "leaky ReLU, slope 0.2",
    "erf",
    "GELU",
    "Swish",
    "tanh",
    "sin",
    "softplus",
    "sigmoid",
)
# Closed forms: seconds.  The others take half a minute each, most of it to compile.
QUICK = NAMES[:3]
# Branches of saddles of odd units extend to norms at which averages without closed forms take
# hours: the branch of erf has its fold at Q = 77.
NOT_FOLLOWED = ("tanh", "sin", "sigmoid")
SIZE = 3
NOTE = (
    "K = M = 3, T = 1, η → 0, from Q = diag(0.1, 0.15, 0.2), R_in = 10⁻³ δ_in. straat2019 has "
    "the plateau of two ReLU units for η → 0, and citton2025 that of two at any rate. Time is αη; "
    "a plateau lasts while the error is within a tenth of that of its saddle. "
)
SECOND = (
    "Second route: averages over two fields on a grid, at the saddle "
    "(tests/papers/test_plateaus_of_units.py)."
)
PLATEAU = {"height": "ε_g of the plateau", "length": "its length αη", "growth": "eigenvalue λ/η"}
RATES = {
    "vanishes": "η up to which the saddle of the plateau exists",
    "unstable": "η above which the solution is unstable",
}


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute heights, lengths and eigenvalues; those that take minutes are recorded."""
    before = recorded.load_recorded("beyond", "plateaus")
    if full:
        data = all_units()
        parts = (*_shown(data, NAMES), *_rates(data))
        yield from recorded.compare_with_recorded(parts, (*_rows(before), *_rates(before)))
        return
    now, names = measured(QUICK), tuple(name for name in NAMES if name not in QUICK)
    rest = before[list(now)].sel(unit=list(names))
    joined = xr.concat([now, rest], "unit", combine_attrs="drop")
    yield from _shown(joined, QUICK)
    parts = (*_rows(before, names), *_rates(before))
    yield from recorded.mark_recorded(parts, recorded.describe_origin(before))


def _shown(data: xr.Dataset, names: tuple[str, ...]) -> Iterator[Row | Figure]:
    yield side_by_side(data, eigenvalues_over_coefficients, lengths_over_eigenvalues)
    yield from _rows(data, names)


def _rows(data: xr.Dataset, names: tuple[str, ...] = NAMES) -> Iterator[Row]:
    for name in names:
        one = data.sel(unit=name)
        for key, what in PLATEAU.items():
            numbers = float(one[key]), float(one[f"{key}_error"])
            note = NOTE + ("" if key == "length" else SECOND)
            yield unpublished(f"{name}, K = M = 3: {what}", *numbers, note.strip())


def _rates(data: xr.Dataset) -> Iterator[Row]:
    note = "K = M = 3, T = 1, exact in η. The saddle is that of η → 0, followed to its fold."
    for name in NAMES:
        one = data.sel(unit=name)
        for key, what in RATES.items():
            if key == "unstable" or name not in NOT_FOLLOWED:
                numbers = float(one[key]), float(one[f"{key}_error"])
                yield unpublished(f"{name}, K = M = 3: {what}", *numbers, note)


@cache
def units() -> dict[str, Activation]:
    sine = Activation.from_function(jnp.sin, name="sin", parity="odd")
    named = (ReLU(), LeakyReLU(0.2), Erf(), GELU(), Swish(), Tanh(), sine, Softplus(), Sigmoid())
    return dict(zip(NAMES, named, strict=True))


def scenario(g: Activation) -> Scenario:
    three = Committee(SIZE, g)
    return Scenario(three, three)


def start() -> Overlaps:
    return Overlaps(Q=np.diag([0.1, 0.15, 0.2]), R=1e-3 * np.eye(SIZE), T=np.eye(SIZE))


def all_units() -> xr.Dataset:
    """Return plateaus and rates of all units: the content of ``recorded/plateaus.nc``."""
    return xr.merge([measured(NAMES), rates(NAMES)])


@cache
def measured(names: tuple[str, ...]) -> xr.Dataset:
    """Return the plateaus of these units, the saddles, and the Hermite coefficients c_1, c_2 and
    c_3.
    """
    return _table({name: _of_one(units()[name]) for name in names})


@cache
def rates(names: tuple[str, ...]) -> xr.Dataset:
    """Return the learning rates up to which the saddle exists, and the solution is stable."""
    rows, saddles = {}, measured(names)
    for name in names:
        saddle = [float(saddles[key].sel(unit=name)) for key in ("Q", "C", "R")]
        s, unknown = scenario(units()[name]), Estimate(np.nan, np.nan)
        turns = unknown if name in NOT_FOLLOWED else saddle_vanishes(s, *saddle)
        assert turns  # all branches have a fold
        joined = {"vanishes": turns, "unstable": solution_loses_stability(s)}
        rows[name] = {key: float(x.value) for key, x in joined.items()}
        rows[name] |= {f"{key}_error": float(x.error) for key, x in joined.items()}
    return _table(rows)


def _table(rows: dict[str, dict[str, float]]) -> xr.Dataset:
    first, *_ = rows.values()
    columns = {key: ("unit", np.array([row[key] for row in rows.values()])) for key in first}
    return xr.Dataset(columns, coords={"unit": list(rows)})


def _of_one(g: Activation) -> dict[str, float]:
    plateau = online.plateau(scenario(g), start(), 0)
    assert plateau.point and plateau.height and plateau.length  # all of these units have a plateau
    saddle, c = plateau.point.overlaps, np.asarray(g.hermite(3).values)
    # Odd units have Q = C, where rates are quadratic: the saddle is known to half the digits.
    unsettled = float(np.sqrt(plateau.point.residual))
    return {
        "height": float(plateau.height.value),
        "height_error": float(plateau.height.error) + unsettled,
        "length": float(plateau.length.value),
        "length_error": float(plateau.length.error),
        "growth": float(plateau.point.eigenvalues[0].real),
        "growth_error": Flow(scenario(g), limit=True).moments.error(saddle) + unsettled,
        "Q": float(saddle.Q[0, 0]),
        "C": float(saddle.Q[0, 1]),
        "R": float(saddle.R[0, 0]),
        **{f"c{n}": float(c[n]) for n in (1, 2, 3)},
    }


SECTIONS = (
    Section(
        "plateaus",
        "Plateaus of other activations",
        "Three students of three teachers, one start, η → 0. Left: the eigenvalue λ with which the "
        "unspecialized plateau is left, against the square of the first Hermite coefficient beyond "
        "the linear one, c_2 of units with an even part (circles), c_3 of the others (squares). "
        "Right: the length of the plateau against λ, with lines on which their product is the mean "
        "of each kind. A committee of linear units would never leave: the plateau is left by a "
        "difference between units, on which the linear part has no effect.",
        compute,
        "all units instead of those with closed forms, some minutes",
        lambda: recorded.digest("beyond"),
    ),
)
