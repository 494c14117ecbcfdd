"""Beyond straat2019 and citton2025: plateaus of other activations.

straat2019 has erf and ReLU, citton2025 ReLU.  In the limit η → 0 the plateau is a saddle with
Q_ii = Q, Q_ik = C and all R_in = R.  With k(R) = ⟨g(x) g(y)⟩ for fields of variances Q and 1, and
k_C for two of variance Q, what leaves it is δR_in = u_i v_n with Σ_i u_i = Σ_n v_n = 0, at the rate

    λ = k''(R) − k'(R)/R + K k_C'(C),

which is 0 for linear units: k = c_1² R, R = 1/K.  The first Hermite coefficient beyond the linear
one decides its size, c_2 of units with an even part and c_3 of odd ones.

Two learning rates bound it from above: the saddle is followed in η to its fold, and the solution
Q = R = T is stable while all eigenvalues of f_1' + η f_2' (`tutelage.online.linearization`), taken
at Q = R = T, are negative.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr
from scipy.optimize import brentq

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
from tutelage.averages.estimate import Estimate, number
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.model.layout import to_vector
from tutelage.online.flow import Flow
from tutelage.online.linearization import first_order, second_order
from tutelage.online.stationary.stability import fold
from tutelage.papers import recorded
from tutelage.papers.beyond.drawing_online import (
    eigenvalues_over_coefficients,
    lengths_over_eigenvalues,
    side_by_side,
)
from tutelage.papers.row import Row, found
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
# Saddles of odd units go on to norms at which averages without closed forms take hours: that of
# erf turns round at Q = 77.
NOT_FOLLOWED = ("tanh", "sin", "sigmoid")
SIZE = 3
# Where the saddle of the limit η → 0 is taken up, and the highest rate that is looked at.
LOW, HIGH = 0.02, 1000.0
NOTE = (
    "K = M = 3, T = 1, η → 0, from Q = diag(0.1, 0.15, 0.2), R_in = 10⁻³ δ_in. straat2019 has erf "
    "and ReLU with two units at finite rates. Time is αη; a plateau lasts while the error is "
    "within a tenth of that of its saddle. "
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
    """Heights, lengths and eigenvalues; what takes minutes is recorded."""
    before = recorded.kept("beyond", "plateaus")
    if full:
        data = xr.merge([measured(NAMES), rates(NAMES)])
        parts = (*_shown(data, NAMES), *_rates(data))
        yield from recorded.held_against(parts, (*_rows(before), *_rates(before)))
        return
    now, names = measured(QUICK), tuple(name for name in NAMES if name not in QUICK)
    rest = before[list(now)].sel(unit=list(names))
    both = xr.concat([now, rest], "unit", combine_attrs="drop")
    yield from _shown(both, QUICK)
    parts = (*_rows(before, names), *_rates(before))
    yield from recorded.marked(parts, recorded.origin(before))


def _shown(data: xr.Dataset, names: tuple[str, ...]) -> Iterator[Row | Figure]:
    yield side_by_side(data, eigenvalues_over_coefficients, lengths_over_eigenvalues)
    yield from _rows(data, names)


def _rows(data: xr.Dataset, names: tuple[str, ...] = NAMES) -> Iterator[Row]:
    for name in names:
        one = data.sel(unit=name)
        for key, what in PLATEAU.items():
            numbers = float(one[key]), float(one[f"{key}_error"])
            note = NOTE + ("" if key == "length" else SECOND)
            yield found(f"{name}, K = M = 3: {what}", *numbers, note.strip())


def _rates(data: xr.Dataset) -> Iterator[Row]:
    note = "K = M = 3, T = 1, exact in η. The saddle is that of η → 0, followed to its fold."
    for name in NAMES:
        one = data.sel(unit=name)
        for key, what in RATES.items():
            if key == "unstable" or name not in NOT_FOLLOWED:
                numbers = float(one[key]), float(one[f"{key}_error"])
                yield found(f"{name}, K = M = 3: {what}", *numbers, note)


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


@cache
def measured(names: tuple[str, ...]) -> xr.Dataset:
    """The plateaus of these units, the saddles, and the Hermite coefficients c_1, c_2 and c_3."""
    return _table({name: _of_one(units()[name]) for name in names})


@cache
def rates(names: tuple[str, ...]) -> xr.Dataset:
    """Learning rates up to which the saddle exists, and the solution is stable."""
    rows, saddles = {}, measured(names)
    for name in names:
        saddle = [float(saddles[key].sel(unit=name)) for key in ("Q", "C", "R")]
        turns = None if name in NOT_FOLLOWED else saddle_vanishes(name, *saddle)
        both = {"vanishes": turns or number(np.nan, np.nan), "unstable": solution_unstable(name)}
        rows[name] = {key: float(x.value) for key, x in both.items()}
        rows[name] |= {f"{key}_error": float(x.error) for key, x in both.items()}
    return _table(rows)


def _table(rows: dict[str, dict[str, float]]) -> xr.Dataset:
    first, *_ = rows.values()
    columns = {key: ("unit", np.array([row[key] for row in rows.values()])) for key in first}
    return xr.Dataset(columns, coords={"unit": list(rows)})


def saddle_vanishes(name: str, Q: float, C: float, R: float) -> Estimate:
    """Where the saddle of η → 0 meets another fixed point, dη/ds = 0 along their curve."""
    s = scenario(units()[name])
    # At every η > 0 students differ in what they have besides the teachers; odd ones as η → 0
    # do not, and identical students have a curve of their own.
    own = max(Q - C, 0.0) + 0.5 * LOW
    near = Overlaps(Q=own * np.eye(SIZE) + C, R=np.full((SIZE, SIZE), R), T=s.T)
    taken_up = online.fixed_point(s, near, LOW).overlaps
    found = fold(Flow(s), np.asarray(to_vector(taken_up)), LOW, HIGH)
    assert found
    return found


def solution_unstable(name: str) -> Estimate:
    """Where the largest eigenvalue at Q = R = T is zero."""
    s = scenario(units()[name])
    solution = Overlaps(Q=s.T, R=s.T, T=s.T)
    flow, y = Flow(s), np.asarray(to_vector(solution))
    F, G = (order(flow, y)[1] for order in (first_order, second_order))

    def growth(eta: float) -> float:
        return float(np.max(np.linalg.eigvals(F + eta * G).real))

    high = LOW
    while growth(high) < 0:
        high *= 2
    eta = brentq(growth, high / 2, high, xtol=1e-13)
    slope = (growth(high) - growth(high / 2)) / (high / 2)
    return number(eta, (flow.moments.error(solution) + 1e-12) / slope)


def _of_one(g: Activation) -> dict[str, float]:
    there = online.plateau(scenario(g), start(), 0)
    assert there.point and there.height and there.length  # all of them have one
    saddle, c = there.point.overlaps, np.asarray(g.hermite(3).values)
    # Odd units have Q = C, where rates are quadratic: the saddle is known to half the digits.
    unsettled = float(np.sqrt(there.point.residual))
    return {
        "height": float(there.height.value),
        "height_error": float(there.height.error) + unsettled,
        "length": float(there.length.value),
        "length_error": float(there.length.error),
        "growth": float(there.point.eigenvalues[0].real),
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
        "of each kind. A committee of linear units would never leave: what leaves is a difference "
        "between units, which the linear part does not see.",
        compute,
        "all units instead of those with closed forms, some minutes",
        lambda: recorded.digest("beyond"),
    ),
)
