"""Oostwal, Straat and Biehl (2019): the loads at which hidden units specialize.

The published loads are compared with those at which free energies cross or stability changes;
where a printed load is not one of them, the states on both sides of the computed one are the
evidence.  Outputs carry 1/√K throughout.
"""

import math
from collections.abc import Iterator
from functools import cache

from scipy.optimize import brentq

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU
from tutelage.equilibrium import State, Transitions
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.row import (
    Published,
    Row,
    closed_form,
    compare,
    correct,
    digits,
    method,
)

NOTE_C5 = (
    "oostwal2019, Fig. 2: at the printed α_c(5) = 46.6 the specialized state is already lower in "
    "βf by 0.0119; both free energies are equal at α = 45.9137, in 30 digits as well "
    ""
    "(tests/equilibrium/symmetric/test_transitions.py)."
)
NOTE_D5 = (
    "oostwal2019, Fig. 2: the unspecialized state of K = 5 loses stability at α = 62.2146, where "
    "its exact Hessian is singular (tests/equilibrium/symmetric/test_transitions.py). The printed "
    "α_d(5) = 62.8 is where C becomes positive, 62.826 (and 4πK is 62.832)."
)
NOTE_C10 = (
    "oostwal2019, Fig. 3: at the printed α_c(10) = 6.2 R = S is still the only minimum; the "
    "transition is at α = 6.2855, which rounds to 6.3 "
    "(tests/equilibrium/symmetric/test_transitions.py)."
)
NOTE_JUMP = (
    "oostwal2019 Sec. III B calls the transition of ReLU networks continuous for all K. For K >= 3 "
    "permutation symmetry allows a cubic term, and it is there: two minima with different R - S "
    "have the same free energy at α_c. The jump is below 0.05 and vanishes for K = 2 and K → ∞ "
    "(tests/equilibrium/symmetric/test_transitions.py, docs/equilibrium.md)."
)
NOTE_SIGN = (
    "oostwal2019 Sec. III C: for erf, K = 5 R = S loses stability at α = 62.2146, where C is still "
    "negative; C becomes positive at 62.826, on the branch R < S "
    ""
    "(tests/equilibrium/symmetric/test_transitions.py)."
)
LOAD_OFFSET = 1e-6  # states this far below and above a transition decide its kind


@cache
def transitions(g: Activation, K: float) -> Transitions:
    return equilibrium.transitions(g, K)


def load(g: Activation, K: float, name: str) -> tuple[float, float]:
    """Return the load of a transition and its error."""
    estimate = getattr(transitions(g, K), name)
    return float(estimate.value), float(estimate.error)


def at(g: Activation, K: float, load: float, kind: str) -> State:
    """Return the minimum of the given kind at a load."""
    return next(s for s in equilibrium.states(g, K, load) if s.kind == kind)


def best(g: Activation, K: float, load: float) -> State:
    """Return the state of lowest free energy."""
    return equilibrium.states(g, K, load)[0]


def sigmoidal_loads() -> Iterator[Row]:
    """Fig. 2."""
    erf = Erf()
    yield _row("α_c(2), erf", "23.7", erf, 2, "coexists")
    yield _row("α_s(5), erf", "44.3", erf, 5, "appears")
    exact = _crossing(erf, 5)
    yield correct(KEY, "α_c(5), erf", digits("46.6"), exact, *_noted(erf, 5, "coexists", NOTE_C5))
    exact = _instability(erf, 5)
    yield correct(KEY, "α_d(5), erf", digits("62.8"), exact, *_noted(erf, 5, "unstable", NOTE_D5))


def sigmoidal_limits() -> Iterator[Row]:
    """Sec. III A, K → ∞."""
    erf = Erf()
    yield _row("α_s(K → ∞), erf", "60.99", erf, math.inf, "appears")
    yield _row("α_c(K → ∞), erf", "69.09", erf, math.inf, "coexists")
    ratios = [load(erf, K, "unstable")[0] / (4 * math.pi * K) for K in (1000, 10_000)]
    item = "α_d(K)/(4πK) at K = 10⁴, within its change from K = 10³, erf"
    yield compare(KEY, item, closed_form("1", 1.0), ratios[1], abs(ratios[1] - ratios[0]))


def rectified_loads() -> Iterator[Row]:
    """Fig. 3, and the jump at K ≥ 3."""
    relu = ReLU()
    yield _row("α_c(2), ReLU", "6.1", relu, 2, "coexists")
    exact = _crossing(relu, 10)
    values = _noted(relu, 10, "coexists", NOTE_C10)
    yield correct(KEY, "α_c(10), ReLU", digits("6.2"), exact, *values)
    for K in (3, 10):
        jump = transitions(relu, K).jump
        item = f"jump of |R - S| at α_c, ReLU, K = {K} (continuous)"
        none = closed_form("0", 0.0)
        yield correct(KEY, item, none, _specialization(relu, K), float(jump or 0.0), NOTE_JUMP)


def rectified_limit() -> Iterator[Row]:
    """Sec. III B, K → ∞: 2π, and its printed digits."""
    value, error = load(ReLU(), math.inf, "coexists")
    item = "α_c(K → ∞), ReLU"
    yield compare(KEY, item, closed_form("2π", 2 * math.pi), value, error)
    yield compare(KEY, f"{item}, in digits", digits("6.28"), value, error)


def exponent(g: Activation) -> Row:
    """Eq. (22)."""
    estimate = transitions(g, 2).exponent
    assert estimate is not None  # the transition is continuous
    item, half = f"exponent of |R - S| near α_c(2), {g.name}", closed_form("1/2", 0.5)
    return compare(KEY, item, half, float(estimate.value), float(estimate.error))


def cross_overlap() -> Row:
    """Sec. III C: C changes its sign where the unspecialized state loses its stability."""
    unstable, error = load(Erf(), 5, "unstable")

    def C(load: float) -> float:
        return at(Erf(), 5, load, "R < S").C

    positive = brentq(C, unstable + LOAD_OFFSET, unstable + 5.0, xtol=1e-10)
    sides = C(positive - LOAD_OFFSET) < 0 < C(positive + LOAD_OFFSET)
    exact = method("C < 0 below, C > 0 above", positive - unstable, LOAD_OFFSET if sides else -1.0)
    item = "load at which C becomes positive, minus α_d(5), erf"
    none = closed_form("0", 0.0)
    return correct(KEY, item, none, exact, positive - unstable, NOTE_SIGN, error + 1e-10)


def _row(item: str, text: str, g: Activation, K: float, name: str) -> Row:
    return compare(KEY, item, digits(text), *load(g, K, name))


def _noted(g: Activation, K: float, name: str, note: str) -> tuple[float, str, float]:
    value, error = load(g, K, name)
    return value, note, error


def _crossing(g: Activation, K: float) -> Published:
    """Bracket α_c by states on both sides: below it one has the lowest βf, above it the other."""
    value = load(g, K, "coexists")[0]
    kinds = [best(g, K, value + side).kind for side in (-LOAD_OFFSET, LOAD_OFFSET)]
    error = (
        LOAD_OFFSET if kinds == ["unspecialized", "R > S"] else -1.0
    )  # no number fulfils a negative tolerance
    return method("equal free energies", value, error)


def _instability(g: Activation, K: float) -> Published:
    """Bracket α_d by states on both sides: below it R = S is a minimum, above it is not."""
    value = load(g, K, "unstable")[0]
    below, above = (
        any(s.kind == "unspecialized" for s in equilibrium.states(g, K, value + side))
        for side in (-LOAD_OFFSET, LOAD_OFFSET)
    )
    return method(
        "R = S is a minimum only below", value, LOAD_OFFSET if below and not above else -1.0
    )


def _specialization(g: Activation, K: float) -> Published:
    """Return |R - S| of the specialized state at α_c, where the unspecialized one is also a
    minimum.
    """
    value = load(g, K, "coexists")[0]
    sides = [at(g, K, value + side, "R > S") for side in (-LOAD_OFFSET, LOAD_OFFSET)]
    both = all(s.stable and at(g, K, s.load, "unspecialized").stable for s in sides)
    low, high = (s.R - s.S for s in sides)
    error = (high - low) / 2 if both else -1.0
    return method("two minima with equal free energies", (low + high) / 2, error)
