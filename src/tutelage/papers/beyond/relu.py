"""Beyond oostwal2019: the ReLU transition at K ≥ 3 is weakly discontinuous.

For K → ∞ the curve of specialized states is α(V) = 2π(1 + 5V²/6 + …) with V = R − S, since
2c_2² = 1/(2π) and 4c_4² − 2c_2² = −5/(12π).  At finite K it has a slope s at V = 0 as well,
found to be s ≈ −π/K.  On α(V) = α_d + sV + qV² two minima have the same free energy where
∫₀^V dV' V' (α(V') − α(V)) = 0, at V = −2s/(3q), and the curve is lowest at −s/(2q): with q = 5π/3

    jump ≈ 2/(5K),    α_d − α_s ≈ s²/(4q) = 3π/(20K²).
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import ReLU
from tutelage.equilibrium import Transitions
from tutelage.figures.style import new_grid
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

UNITS = (*range(3, 13), 15, 20, 30, 50, 100, 200, 500, 1000)
PRINTED_UNITS = (3, 4, 5, 10)
LIMITS = {
    "jump": 2 / 5,
    "width": 3 * math.pi / 20,
}  # units at which K · jump and K² · width are extrapolated
LARGE_K = (500, 1000, 2000)  # larger K lose digits: the width is a difference of loads
ASIDE = 1e-5  # distance of states from α_c, as a fraction of the width of coexistence
NOTE = (
    "oostwal2019 Sec. III B calls the transition continuous for all K. The unspecialized state and "
    "a specialized one are both minima in all overlaps, with equal free energies. Second route: a "
    "solution of the free energy of the paper with 30 digits (tests/papers/test_beyond.py)."
)
NOTE_LIMIT = (
    "Extrapolated from K = 500, 1000 and 2000. {} follows from the slope −π/K of the load in R − S "
    "at R = S, to leading order."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute branches next to the transition, jump and width against K, and their limits."""
    trend = _trend()
    curves = {f"K{K}": _curves(K) for K in (3, 10)}
    yield _drawn(curves, trend)
    for K in PRINTED_UNITS:
        yield unpublished(f"ReLU, K = {K}: jump of R − S at α_c", *_jump(K), NOTE)
    for K in PRINTED_UNITS:
        yield unpublished(f"ReLU, K = {K}: width α_d − α_s of coexistence", *_width(K), NOTE)
    for name, power, text in (("jump", 1, "2/5"), ("width", 2, "3π/20")):
        words = "K · jump of R − S" if name == "jump" else "K² · width α_d − α_s"
        item = f"ReLU, {words} for K → ∞"
        yield unpublished(item, *_limit(name, power), NOTE_LIMIT.format(text))


@cache
def _transitions(K: int) -> Transitions:
    return equilibrium.transitions(ReLU(), K)


def _jump(K: int) -> tuple[float, float]:
    """Return |R − S| at α_c, and its uncertainty from the states on both sides of α_c."""
    transitions = _transitions(K)
    assert (
        transitions.coexists is not None and transitions.jump is not None and transitions.width
    )  # K ≥ 3
    aside = ASIDE * transitions.width
    low, high = (_specialization(K, transitions.coexists.value + side) for side in (-aside, aside))
    slope = (high - low) / (2 * aside)
    return transitions.jump, abs(0.5 * (low + high) - transitions.jump) + abs(
        slope
    ) * transitions.coexists.error


def _specialization(K: int, load: float) -> float:
    state = next(s for s in equilibrium.states(ReLU(), K, load) if s.kind == "R > S")
    return state.R - state.S


def _width(K: int) -> tuple[float, float]:
    transitions = _transitions(K)
    assert (
        transitions.width is not None
        and transitions.unstable is not None
        and transitions.appears is not None
    )
    return transitions.width, transitions.unstable.error + transitions.appears.error


def _limit(name: str, power: int) -> tuple[float, float]:
    """Extrapolate K^power · value to 1/K → 0 (Richardson, three K); return it with an error."""
    a, b, c = (K**power * float(getattr(_transitions(K), name)) for K in LARGE_K)
    first, second = 2 * b - a, 2 * c - b
    return (4 * second - first) / 3, abs(second - first)


def _trend() -> xr.Dataset:
    rows = [(*_jump(K), *_width(K)) for K in UNITS]
    names = ("jump", "jump_error", "width", "width_error")
    columns = zip(names, np.array(rows).T, strict=True)
    data = {name: ("units", column) for name, column in columns}
    loads = {
        name: ("units", [float(getattr(_transitions(K), name).value) for K in UNITS])
        for name in ("appears", "coexists", "unstable")
    }
    limits = {f"{name}_limit": value for name, value in LIMITS.items()}
    return xr.Dataset(data | loads, {"units": list(UNITS)}, limits)


def _curves(K: int) -> xr.Dataset:
    """Return all minima from below α_s to beyond α_d."""
    transitions = _transitions(K)
    assert transitions.appears is not None and transitions.unstable is not None
    first, last = transitions.appears.value, transitions.unstable.value
    loads = np.linspace(first - 0.3 * (last - first), last + 0.3 * (last - first), 401)
    curves = equilibrium.learning_curve(ReLU(), K, loads)
    marks = {
        name: float(getattr(transitions, name).value)
        for name in ("appears", "coexists", "unstable")
    }
    return curves.assign_attrs(**marks)


def _drawn(curves: dict[str, xr.Dataset], trend: xr.Dataset) -> Figure:

    from tutelage.papers.beyond.drawing import near_transition, weak_jumps

    figure, axes = new_grid(1, 3, (13.0, 3.8))
    for panel, (name, dataset) in zip(axes, curves.items(), strict=False):
        near_transition(dataset, panel)
        panel.set_title(f"ReLU, $K = {name[1:]}$")
    weak_jumps(trend, axes[2])
    return Figure(figure, {**curves, "trend": trend})


SECTIONS = (
    Section(
        "relu",
        "The ReLU transition is weakly discontinuous at K ≥ 3",
        "Left and middle: R − S of every minimum next to the transition for K = 3 and 10 (solid: "
        "specialized, dashed: R = S). oostwal2019 calls this transition continuous for all K; with "
        "every digit there is a jump at α_c, and both states coexist from α_s to α_d. Right: the "
        "jump is largest at K = 4, never above 0.05, and falls as 2/(5K), the width as 3π/(20K²), "
        "lines: too small to be seen in a learning curve, and exactly zero for K = 2 and K → ∞ "
        "only.",
        compute,
    ),
)
