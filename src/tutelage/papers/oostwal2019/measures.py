"""Oostwal, Straat and Biehl (2019): measures that decide the statements of Sec. III about states.

A statement without a number is checked at several loads or several K, and its row has the part of
these cases in which it is so; published is 1.  Powers, of α or of K, are slopes between two points
in logarithms; their error is twice the change from the slope between the two points before.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tutelage import equilibrium
from tutelage.activations import Activation
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.oostwal2019.loads import at, best, load
from tutelage.papers.row import Row, closed_form, compare, correct
from tutelage.papers.simulated import statement

NOTE_STABLE = (
    "oostwal2019, below eq. (21) and Sec. III A (d): this state R < S is a minimum among "
    "site-symmetric states, but not in all overlaps: the full matrix of second derivatives has "
    "negative eigenvalues there, so that a disturbance that treats units differently grows "
    "(tests/equilibrium/symmetric/test_states.py, "
    "and sampled weights in tests/equilibrium/sampling/test_sample.py)."
)
NOTE_LINEAR = (
    "oostwal2019 Sec. III B: with the cubic term of K >= 3, S - R of the state R < S grows from "
    "zero in proportion to α - α_d, as below Fig. 2 for erf, and not as its root "
    "(tests/papers/test_oostwal2019.py)."
)


def holds_in_cases(item: str, words: str, cases: Iterable[bool | np.bool_]) -> Row:
    """Return the row of a statement about several loads or sizes, in the paper's words."""
    return statement(KEY, item, words, [bool(case) for case in cases])


def mirrored(g: Activation) -> Row:
    """K = 2: exchanging the students turns R > S into R < S."""
    a = 1.5 * load(g, 2, "coexists")[0]
    low, high = (at(g, 2, a, kind).free_energy for kind in ("R > S", "R < S"))
    item = f"Sec. III, βf(R > S) - βf(R < S) at α = 1.5 α_c, K = 2, {g.name}"
    return compare(KEY, item, closed_form("equivalent: 0", 0.0, scale=a), high - low)


def kink(g: Activation, K: float, name: str, above: str, text: str, published: float) -> Row:
    """Compare the power p in |Δ dε_g/dα| ~ |α − α_0|^p across a load α_0; p = 0 is a kink."""
    centre = load(g, K, name)[0]

    def slope(a: float, kind: str, step: float) -> float:
        ends = [at(g, K, a + side * step, kind).generalization_error for side in (-1, 1)]
        return (ends[1] - ends[0]) / (2 * step)

    def change(h: float) -> float:
        after, before = slope(centre + h, above, h / 4), slope(centre - h, "unspecialized", h / 4)
        return abs(after - before)

    where = {"coexists": "α_c", "unstable": "α_d"}[name]
    item = f"power of |α - {where}| in the change of dε_g/dα, K = {K}, {g.name}"
    return power(item, text, published, change, (0.04, 0.01, 0.0025))


def emerges(g: Activation, K: int, text: str, published: float, note: str = "") -> Row:
    """Return the exponent with which S - R grows beyond α_d in the state R < S."""
    ends = load(g, K, "unstable")[0]

    def specialization(h: float) -> float:
        state = at(g, K, ends + h, "R < S")
        return state.S - state.R

    item = f"exponent of S - R in the state R < S near α_d({K}), {g.name}"
    exponent = power(item, text, published, specialization, (1e-3, 1e-4, 1e-5))
    if not note:
        return exponent
    exact, value = closed_form("1", 1.0), exponent.computed
    return correct(
        KEY, item, closed_form(text, published), exact, value, note, exponent.uncertainty
    )


def vanishing_error(g: Activation, K: float) -> Row:
    """ε_g ∝ 1/α in the lowest state."""

    def error(a: float) -> float:
        return best(g, K, a).generalization_error

    units = "K → ∞" if math.isinf(K) else f"K = {K}"
    item = f"exponent of ε_g(α) for α → ∞, {units}, {g.name}"
    return power(item, "-1", -1.0, error, (6.25e6, 2.5e7, 1e8))


def power(
    item: str, text: str, published: float, size: Callable[[float], float], points: Sequence[float]
) -> Row:
    """Return d ln size/d ln x between the last two points; the error is twice its change from the
    pair before.
    """
    x = np.log([float(p) for p in points])
    y = np.log(np.abs([size(p) for p in points]))
    before, last = np.diff(y) / np.diff(x)
    limit = closed_form(text, published)
    return compare(KEY, item, limit, float(last), float(2 * abs(last - before)))


def is_error_function(g: Activation) -> bool:
    """True for the sigmoidal units of the paper, with any offset."""
    return g.closed_form is not None and g.closed_form.is_error_function


def stability(g: Activation, K: int, a: float) -> Row:
    """Whether the state R < S is a minimum in all overlaps: the sign of the lowest eigenvalue."""
    state = at(g, K, a, "R < S")
    name = "erf" if is_error_function(g) else g.name
    item = f"sign of the lowest eigenvalue at R < S, {name}, K = {K}, α = {a:g} (stable)"
    sign, published = math.copysign(1.0, state.lowest_eigenvalue), closed_form("1", 1.0)
    if sign > 0:
        return compare(KEY, item, published, sign)
    return correct(KEY, item, published, closed_form("-1", -1.0), sign, NOTE_STABLE)


def excess(g: Activation, K: int) -> float:
    """How much larger ε_g is in the second minimum than in the first, at twice α_c."""
    first, second = equilibrium.states(g, K, 2 * load(g, K, "coexists")[0])
    return second.generalization_error / first.generalization_error - 1
