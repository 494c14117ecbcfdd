"""Oostwal, Straat and Biehl (2019): phase transitions, learning curves, Figs. 2 to 5.

Outputs carry 1/√K throughout.  The published loads are compared with those at which free
energies cross or stability changes; where a printed load is not one of them, the states on both
sides of the computed one are the evidence.
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU
from tutelage.equilibrium.states import State
from tutelage.equilibrium.transitions import Transitions
from tutelage.papers.record import (
    Figure,
    Published,
    Record,
    closed_form,
    compare,
    correct,
    digits,
    method,
)

PAPER = "oostwal2019"
NOTE_C5 = (
    "oostwal2019, Fig. 2: at the printed α_c(5) = 46.6 the specialized state is already lower in "
    "βf by 0.0119; both free energies are equal at α = 45.9137."
)
NOTE_D5 = (
    "oostwal2019, Fig. 2: the unspecialized state of K = 5 loses stability at α = 62.2146. The "
    "printed α_d(5) = 62.8 is where C becomes positive, 62.826 (and 4πK is 62.832)."
)
NOTE_C10 = (
    "oostwal2019, Fig. 3: at the printed α_c(10) = 6.2 R = S is still the only minimum; "
    "the transition is at α = 6.2855, which rounds to 6.3."
)
NOTE_JUMP = (
    "oostwal2019 Sec. III B calls the transition of ReLU networks continuous for all K. For K >= 3 "
    "permutation symmetry allows a cubic term, and it is there: two minima with different R - S "
    "have the same free energy at α_c. The jump is below 0.05 and vanishes for K = 2 and K → ∞."
)
NOTE_SIGN = (
    "oostwal2019 Sec. III C: for erf, K = 5 R = S loses stability at α = 62.2146, "
    "where C is still negative; C becomes positive at 62.826, on the branch R < S."
)
NOTE_STABLE = (
    "oostwal2019 Sec. III A (d) and below eq. (21): the state R < S of erf, K = 5 is a minimum "
    "among site-symmetric states, but not in all overlaps: the full matrix of second derivatives "
    "has negative eigenvalues there, so that a disturbance that treats units differently grows."
)
ASIDE = 1e-6  # loads this far on either side of a transition show what it is


def records() -> list[Record]:
    """Every load in the text, critical exponents, asymptotics, signs of C."""
    return [
        *_sigmoidal(),
        *_rectified(),
        *_exponents(),
        *_single_unit(),
        *_asymptotics(),
        *_cross_overlap(),
        _stability(),
    ]


@cache
def _transitions(g: Activation, K: float) -> Transitions:
    return equilibrium.transitions(g, K)


def _load(g: Activation, K: float, name: str) -> tuple[float, float]:
    """The load of a transition and its error."""
    estimate = getattr(_transitions(g, K), name)
    return float(estimate.value), float(estimate.error)


def _row(item: str, text: str, g: Activation, K: float, name: str) -> Record:
    value, error = _load(g, K, name)
    return compare(PAPER, item, digits(text), value, error)


def _sigmoidal() -> Iterator[Record]:
    erf = Erf()
    yield _row("α_c(2), erf", "23.7", erf, 2, "coexists")
    yield _row("α_s(5), erf", "44.3", erf, 5, "appears")
    value, _ = _load(erf, 5, "coexists")
    yield correct(PAPER, "α_c(5), erf", digits("46.6"), _crossing(erf, 5), value, NOTE_C5)
    value, _ = _load(erf, 5, "unstable")
    yield correct(PAPER, "α_d(5), erf", digits("62.8"), _instability(erf, 5), value, NOTE_D5)
    yield _row("α_s(K → ∞), erf", "60.99", erf, math.inf, "appears")
    yield _row("α_c(K → ∞), erf", "69.09", erf, math.inf, "coexists")
    ratios = [_load(erf, K, "unstable")[0] / (4 * math.pi * K) for K in (1000, 10_000)]
    item = "α_d(K)/(4πK) at K = 10⁴, within its change from K = 10³, erf"
    yield compare(PAPER, item, closed_form("1", 1.0), ratios[1], abs(ratios[1] - ratios[0]))


def _rectified() -> Iterator[Record]:
    relu = ReLU()
    yield _row("α_c(2), ReLU", "6.1", relu, 2, "coexists")
    value, _ = _load(relu, 10, "coexists")
    yield correct(PAPER, "α_c(10), ReLU", digits("6.2"), _crossing(relu, 10), value, NOTE_C10)
    value, error = _load(relu, math.inf, "coexists")
    item = "α_c(K → ∞), ReLU"
    yield compare(PAPER, item, closed_form("2π", 2 * math.pi), value, error)
    none = closed_form("0", 0.0)
    for K in (3, 10):
        jump = _transitions(relu, K).jump
        exact = _specialization(relu, K)
        item = f"jump of |R - S| at α_c, ReLU, K = {K} (continuous)"
        yield correct(PAPER, item, none, exact, float(jump or 0.0), NOTE_JUMP)
    errors = [s.generalization_error for s in equilibrium.states(relu, math.inf, 10.0)]
    same, difference = closed_form("0", 0.0, scale=errors[0]), max(errors) - min(errors)
    yield compare(PAPER, "ε_g(R > 0) - ε_g(R < 0) at α = 10, ReLU, K → ∞", same, difference)


def _exponents() -> Iterator[Record]:
    """Eq. (22)."""
    for g in (Erf(), ReLU()):
        exponent = _transitions(g, 2).exponent
        half = closed_form("1/2", 0.5)
        item = f"exponent of |R - S| near α_c(2), {g.name}"
        assert exponent is not None  # continuous
        yield compare(PAPER, item, half, float(exponent.value), float(exponent.error))


def _single_unit() -> Iterator[Record]:
    """Eqs. (32) and (33): the load at which R = 0.7."""
    R = 0.7
    erf = math.pi * R * math.sqrt(4 - R**2) / (2 * (1 - R**2))
    relu = 4 * math.pi * R / ((1 - R**2) * (math.pi + 2 * math.asin(R)))
    for g, load, equation in ((Erf(), erf, 32), (ReLU(), relu, 33)):
        found = equilibrium.states(g, 1, load)[0]
        item = f"R of a single unit at the α of eq. ({equation}) for R = 0.7, {g.name}"
        yield compare(PAPER, item, closed_form("0.7", R), found.R)


def _asymptotics() -> Iterator[Record]:
    """ε_g ~ 1/(2α) for one unit (Appendix C), ε_g ∝ 1/α for more."""
    for g in (Erf(), ReLU()):
        # 2αε_g = 1 + c/√α + … or 1 + c/α + …: within the change from a quarter of the load.
        near, far = (2 * a * _best(g, 1, a).generalization_error for a in (2.5e7, 1e8))
        item = f"2αε_g for α → ∞, K = 1, {g.name}"
        yield compare(PAPER, item, closed_form("1", 1.0), far, 2 * abs(far - near))
        near, far = (math.log(_best(g, 5, a).generalization_error) for a in (2.5e7, 1e8))
        nearer = math.log(_best(g, 5, 6.25e6).generalization_error)
        slope, before = ((b - a) / math.log(4) for a, b in ((near, far), (nearer, near)))
        item = f"exponent of ε_g(α) for α → ∞, K = 5, {g.name}"
        yield compare(PAPER, item, closed_form("-1", -1.0), slope, 2 * abs(slope - before))


def _cross_overlap() -> Iterator[Record]:
    """Sec. III C: C changes its sign where the unspecialized state loses its stability."""
    unstable = _load(Erf(), 5, "unstable")[0]

    def C(load: float) -> float:
        return _at(Erf(), 5, load, "R < S").C

    positive = brentq(C, unstable + ASIDE, unstable + 5.0, xtol=1e-10)
    sides = C(positive - ASIDE) < 0 < C(positive + ASIDE)
    exact = method("C < 0 below, C > 0 above", positive - unstable, ASIDE if sides else -1.0)
    item = "load at which C becomes positive, minus α_d(5), erf"
    yield correct(PAPER, item, closed_form("0", 0.0), exact, positive - unstable, NOTE_SIGN)


def _stability() -> Record:
    """The sign of the lowest eigenvalue of the full Hessian, beside that of the claim."""
    state = _at(Erf(), 5, 80.0, "R < S")
    item = "sign of the lowest eigenvalue at R < S, erf, K = 5, α = 80 (stable)"
    sign = math.copysign(1.0, state.lowest_eigenvalue)
    exact = closed_form("-1", -1.0)
    return correct(PAPER, item, closed_form("1", 1.0), exact, sign, NOTE_STABLE)


def _at(g: Activation, K: float, load: float, kind: str) -> State:
    return next(s for s in equilibrium.states(g, K, load) if s.kind == kind)


def _best(g: Activation, K: float, load: float) -> State:
    """The state of lowest free energy."""
    return equilibrium.states(g, K, load)[0]


def _crossing(g: Activation, K: float) -> Published:
    """α_c from the states on both sides: below it one is lowest in βf, above it the other."""
    load = _load(g, K, "coexists")[0]
    kinds = [_best(g, K, load + side).kind for side in (-ASIDE, ASIDE)]
    error = ASIDE if kinds == ["unspecialized", "R > S"] else -1.0  # -1: met by nothing
    return method("equal free energies", load, error)


def _instability(g: Activation, K: float) -> Published:
    """α_d from the states on both sides: below it R = S is a minimum, above it is not."""
    load = _load(g, K, "unstable")[0]
    below, above = (
        any(s.kind == "unspecialized" for s in equilibrium.states(g, K, load + side))
        for side in (-ASIDE, ASIDE)
    )
    return method("R = S is a minimum only below", load, ASIDE if below and not above else -1.0)


def _specialization(g: Activation, K: float) -> Published:
    """|R - S| of the specialized state at α_c, where the unspecialized one is a minimum, too."""
    load = _load(g, K, "coexists")[0]
    sides = [_at(g, K, load + side, "R > S") for side in (-ASIDE, ASIDE)]
    both = all(s.stable and _at(g, K, s.load, "unspecialized").stable for s in sides)
    low, high = (s.R - s.S for s in sides)
    error = (high - low) / 2 if both else -1.0
    return method("two minima with equal free energies", (low + high) / 2, error)


# Figures ----------------------------------------------------------------------------------


def figures() -> Iterator[Figure]:
    """Figs. 2 to 5."""
    yield _learning_curves("fig2", Erf(), {2: 60.0, 5: 100.0})
    yield _learning_curves("fig3", ReLU(), {2: 15.0, 10: 15.0})
    yield _large_networks()
    yield _student_overlaps()


def _curve(g: Activation, K: float, last: float, first: float = 0.0) -> xr.Dataset:
    return equilibrium.learning_curve(g, K, np.linspace(first, last, 1001))


def _learning_curves(name: str, g: Activation, ranges: dict[int, float]) -> Figure:
    import matplotlib.pyplot as plt

    from tutelage.figures import equilibrium_error, order_parameters

    figure, axes = plt.subplots(2, 2, figsize=(10.0, 7.2), layout="constrained")
    data = {f"K{K}": _curve(g, K, last) for K, last in ranges.items()}
    for row, (K, curves) in zip(axes, zip(ranges, data.values(), strict=True), strict=True):
        order_parameters(curves, row[0], transitions=_transitions(g, K))
        equilibrium_error(curves, row[1], _transitions(g, K))
        for panel in row:
            panel.set_title(f"{g.name}, K = {K}", fontsize="medium")
    return Figure(name, figure, data)


def _large_networks() -> Figure:
    """R = ±, and the one error of both."""
    import matplotlib.pyplot as plt

    from tutelage.figures import equilibrium_error, order_parameters

    figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    curves = _curve(ReLU(), math.inf, 20.0)
    order_parameters(curves, axes[0], ("R",), _transitions(ReLU(), math.inf))
    equilibrium_error(curves, axes[1], _transitions(ReLU(), math.inf))
    return Figure("fig4", figure, {"": curves})


def _student_overlaps() -> Figure:
    import matplotlib.pyplot as plt

    from tutelage.figures import order_parameters

    figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    data = {"erf": _curve(Erf(), 5, 80.0, 30.0), "relu": _curve(ReLU(), 10, 20.0)}
    for panel, (g, K), curves in zip(axes, ((Erf(), 5), (ReLU(), 10)), data.values(), strict=True):
        order_parameters(curves, panel, ("C",), _transitions(g, K))
        panel.set_title(f"{g.name}, K = {K}", fontsize="medium")
    return Figure("fig5", figure, data)
