"""Oostwal, Straat and Biehl (2019): statements of Sec. III about the states between the loads."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tutelage import equilibrium
from tutelage.activations import Erf, ReLU, Sigmoid, Tanh
from tutelage.equilibrium import State
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.oostwal2019.error import PLATEAUS
from tutelage.papers.oostwal2019.loads import LOAD_OFFSET, at, best, load, transitions
from tutelage.papers.oostwal2019.measures import (
    NOTE_LINEAR,
    emerges,
    excess,
    holds_in_cases,
    kink,
    mirrored,
    power,
    stability,
    vanishing_error,
)
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Published, Row, closed_form, compare, digits, worst

ERF, RELU = Erf(), ReLU()
POSITIVE_FROM = 3.3  # C at R = S, ReLU, K = 10 is positive from α = 3.228 on
NOTE_POSITIVE = (
    "oostwal2019 Sec. III C: C of the state R = S is negative for small loads, and positive from "
    "α = 3.36 (K = 3), 3.29 (K = 5), 3.23 (K = 10) and π (K → ∞) on "
    "(tests/papers/test_oostwal2019.py)."
)
UNITS = (3, 4, 5, 6, 8, 10, 20, 50, 100, 1000, math.inf)


def sigmoidal_regimes() -> Iterator[Row]:
    """Sec. III A: K = 2, and (a) to (d) for K = 5."""
    yield mirrored(ERF)
    yield kink(ERF, 2, "coexists", "R > S", "0", 0.0)
    item = "Sec. III A, discontinuous for K = 3, 4, 5, 6, 8, 10, 20, 50, 100, 1000 and ∞, erf"
    orders = [transitions(ERF, K).order for K in UNITS]
    yield holds_in_cases(item, "for all K ≥ 3", (order == "discontinuous" for order in orders))
    yield from _regimes()
    yield _early_fall()
    yield emerges(ERF, 5, "1", 1.0)
    yield kink(ERF, 5, "unstable", "R < S", "no kink: 1", 1.0)
    yield stability(ERF, 5, 80.0)


def _early_fall() -> Row:
    """(a): compare the fall of ε_g at R = S up to a tenth of α_s with the fall up to α_s."""
    last = load(ERF, 5, "appears")[0]
    start, early, late = (
        at(ERF, 5, a, "unspecialized").generalization_error for a in (0.0, 0.1 * last, last)
    )
    item = "Sec. III A (a), more than half of the fall of ε_g at R = S before α_s/10, erf, K = 5"
    words = "within this subspace, a rapid initial decrease of ε_g"
    part = (start - early) / (start - late)
    return replace(holds_in_cases(item, words, [part > 0.5]), words=f"{part:.0%} of the fall")


def _regimes() -> Iterator[Row]:
    """(a) to (d): which minima there are, the lowest first."""
    appears, wins, ends = (load(ERF, 5, name)[0] for name in ("appears", "coexists", "unstable"))
    for item, words, loads, kinds in (
        (
            "(a), α < α_s",
            "R = S only",
            np.linspace(0, appears - LOAD_OFFSET, 20),
            ["unspecialized"],
        ),
        (
            "(b), α_s < α < α_c",
            "R = S is lowest, R > S a minimum",
            np.linspace(appears + LOAD_OFFSET, wins - LOAD_OFFSET, 20),
            ["unspecialized", "R > S"],
        ),
        (
            "(c), α_c < α < α_d",
            "R > S is lowest, R = S a minimum",
            np.linspace(wins + LOAD_OFFSET, ends - LOAD_OFFSET, 20),
            ["R > S", "unspecialized"],
        ),
        (
            "(d), α > α_d, up to 10⁶",
            "R > S is lowest, R < S a minimum",
            np.geomspace(ends + LOAD_OFFSET, 1e6, 20),
            ["R > S", "R < S"],
        ),
    ):
        holds = ([s.kind for s in equilibrium.states(ERF, 5, a)] == kinds for a in loads)
        yield holds_in_cases(f"Sec. III A {item}, erf, K = 5", words, holds)


def other_sigmoids() -> Row:
    """Sec. II A: the results do not depend on the specific form of the sigmoid."""
    cases = [(g, K) for g in (Tanh(), Sigmoid(), Erf(1.0)) for K in (2, 3, 5, 10, math.inf)]
    item = "Sec. II A, tanh, 1/(1 + e⁻ˣ) and 1 + erf have the transition of erf, K = 2, 3, 5, 10, ∞"
    same = (transitions(g, K).order == transitions(ERF, K).order for g, K in cases)
    return holds_in_cases(item, "not influenced", same)


def sigmoidal_limit() -> Iterator[Row]:
    """Sec. III A, K → ∞: the unspecialized state between α_c and α_d."""
    for name, published in (("R", -1.0), ("C", -2.0)):

        def size(K: float, name: str = name) -> float:
            return getattr(at(ERF, K, 100.0, "unspecialized"), name)

        item = f"Sec. III A, power of K in {name} at R = S, α = 100, erf"
        yield power(item, f"{published:g}", published, size, (10**3, 10**4, 10**5))
    far = 10**6
    loads = (1e3, 1e4)  # far below α_d = 4πK
    for name, published in (("R", 1.0), ("C", 0.0)):
        near, value = (far * getattr(at(ERF, far, a, "unspecialized"), name) for a in loads)
        item = f"Sec. III A, K {name} at R = S for K → ∞, then α → ∞, erf"
        limit = closed_form(f"{published:g}", published)
        yield compare(KEY, item, limit, value, abs(value - near))
    yield vanishing_error(ERF, math.inf)


def rectified_regimes() -> Iterator[Row]:
    """Sec. III B."""
    yield mirrored(RELU)
    yield kink(RELU, 2, "coexists", "R > S", "0", 0.0)
    loads = np.geomspace(load(RELU, 10, "unstable")[0] + LOAD_OFFSET, 1e6, 20)
    holds = ([s.kind for s in equilibrium.states(RELU, 10, a)] == ["R > S", "R < S"] for a in loads)
    item = "Sec. III B, minima beyond the transition, up to α = 10⁶, ReLU, K = 10"
    yield holds_in_cases(item, "R > S is lowest, R < S a minimum", holds)
    yield emerges(RELU, 10, "1/2", 0.5, NOTE_LINEAR)
    yield stability(RELU, 10, 7.0)
    yield stability(RELU, 10, 15.0)
    yield from _two_minima()


def _two_minima() -> Iterator[Row]:
    """How R > S and R < S generalize, and how α_c depends on K."""
    for name, published in (("R", 1.0), ("S", 0.0)):
        near, value = (getattr(best(RELU, 10, a), name) for a in (2.5e7, 1e8))
        item = f"Sec. III B, {name} of the state R > S for α → ∞, ReLU, K = 10"
        limit = closed_form(f"{published:g}", published)
        yield compare(KEY, item, limit, value, abs(value - near))
    opposite = [at(RELU, 10, a, "R < S") for a in (8.0, 10.0, 15.0, 100.0)]
    item = "Sec. III B, R < 0 < S at R < S, α = 8, 10, 15, 100, ReLU, K = 10"
    yield holds_in_cases(item, "R < 0, S > 0", (s.R < 0 < s.S for s in opposite))
    item = "Sec. III B, ε_g of the second minimum closer to that of the first than for erf"
    sizes = (5, 10, 20, 100)
    closer = (excess(RELU, K) < excess(ERF, K) for K in sizes)
    yield holds_in_cases(
        f"{item}, α = 2α_c, K = 5, 10, 20, 100", "very similar, in contrast", closer
    )
    both = [[at(RELU, K, 1e6, kind) for kind in ("R > S", "R < S")] for K in (3, 5, 10, 20)]
    item = "Sec. IV, ε_g at α = 10⁶ is below 1/α at R > S and above 10³/α at R < S"
    errors = [[state.generalization_error * 1e6 for state in pair] for pair in both]
    words = "only one of them facilitates perfect generalization"
    one = (near < 1 and far > 1e3 for near, far in errors)
    yield holds_in_cases(f"{item}, ReLU, K = 3, 5, 10, 20", words, one)
    spread = [np.ptp([load(g, K, "coexists")[0] for K in (2, *UNITS)]) for g in (RELU, ERF)]
    relative = [s / load(g, 2, "coexists")[0] for s, g in zip(spread, (RELU, ERF), strict=True)]
    item = "Sec. IV, α_c from K = 2 to ∞ varies less, relative to α_c(2), for ReLU than for erf"
    yield holds_in_cases(item, "weakly K-dependent", [relative[0] < relative[1]])


def rectified_limits() -> Iterator[Row]:
    """Sec. III B, K → ∞, and eq. (23)."""
    both = equilibrium.states(RELU, math.inf, 10.0)
    for name, size in (
        ("generalization_error", "ε_g"),
        ("free_energy_per_unit", "βf/K"),
    ):
        values = [getattr(s, name) for s in both]
        same = closed_form("0", 0.0, scale=values[0] + 10.0)
        item = f"{size}(R > 0) - {size}(R < 0) at α = 10, ReLU, K → ∞"
        yield compare(KEY, item, same, values[0] - values[1])
    for kind, published in (("R > S", 1.0), ("R < S", -1.0)):
        near, value = (at(RELU, math.inf, a, kind).R for a in (2.5e7, 1e8))
        item = f"Sec. III B, R of the state {kind} for α → ∞, ReLU, K → ∞"
        limit = closed_form(f"{published:g}", published)
        yield compare(KEY, item, limit, value, abs(value - near))
    for name, published in (("S", -1.0), ("C", -2.0)):

        def size_of(K: float, name: str = name) -> float:
            return getattr(at(RELU, K, 10.0, "R < S"), name)

        item = f"eq. (23), power of K in {name} at R < 0, α = 10, ReLU"
        yield power(item, f"{published:g}", published, size_of, (10**3, 10**4, 10**5))
    yield vanishing_error(RELU, math.inf)


def rectified_plateau() -> Iterator[Row]:
    """Sec. III B: the states R = S for K → ∞ and α < 2π, from networks of 10⁵ and 10⁶ units."""
    _, exact, printed = PLATEAUS["ReLU"]
    measures: dict[str, tuple[Published, Callable[[State, int], float]]] = {
        "ε_g": (exact, lambda state, K: state.generalization_error),
        "ε_g in digits": (digits(printed), lambda state, K: state.generalization_error),
        "K R": (closed_form("1", 1.0), lambda state, K: K * state.R),
        "K S": (closed_form("1", 1.0), lambda state, K: K * state.S),
    }
    for name, (published, measure) in measures.items():
        points = []
        for a in (1.0, 3.0, 5.0, 6.0):
            few, many = (measure(at(RELU, K, a, "unspecialized"), K) for K in (10**5, 10**6))
            points.append(compare(KEY, f"α = {a:g}", published, many, abs(many - few)))
        yield worst(f"Sec. III B, {name} at R = S, α = 1, 3, 5 and 6, ReLU, K → ∞", points)


def student_overlaps() -> Iterator[Row]:
    """Fig. 5 and Sec. III C."""
    loads = np.geomspace(load(ERF, 5, "appears")[0] + LOAD_OFFSET, 1e6, 20)
    negative = (at(ERF, 5, a, "R > S").C < 0 for a in loads)
    yield holds_in_cases("Fig. 5, C at R > S, up to α = 10⁶, erf, K = 5", "C < 0", negative)
    loads = np.linspace(0.1, load(ERF, 5, "unstable")[0] - LOAD_OFFSET, 20)
    negative = (at(ERF, 5, a, "unspecialized").C < 0 for a in loads)
    yield holds_in_cases("Fig. 5, C at R = S, α < α_d, erf, K = 5", "C < 0", negative)
    yield from _rectified_overlaps()


def _positive_before(critical: float) -> Iterator[Row]:
    """Find where C is positive at R = S before the transition, ReLU, K = 10."""
    loads = np.linspace(0.2, critical - LOAD_OFFSET, 30)
    positive = np.array([at(RELU, 10, a, "unspecialized").C > 0 for a in loads])
    item = "Fig. 5, C at R = S changes its sign once before α_c, ReLU, K = 10"
    turns = [not positive[0], positive[-1], np.sum(np.diff(positive)) == 1]
    yield holds_in_cases(item, "becomes positive before the transition", turns)
    item = "Sec. III C, C > 0 at R = S before α_c, ReLU, K = 10"
    words = "C(α) = O(1/K²) > 0 before the transition"
    late = f"only from α = {POSITIVE_FROM:g}"
    readings = {
        "from α = 0.2": holds_in_cases(item, words, positive),
        late: holds_in_cases(item, words, positive[loads > POSITIVE_FROM]),
    }
    on = "from which α on C is looked at"
    yield in_each_reading(item, on, readings, NOTE_POSITIVE, ours=[late])


def _rectified_overlaps() -> Iterator[Row]:
    """Fig. 5, right."""
    critical = load(RELU, 10, "coexists")[0]
    yield from _positive_before(critical)
    peak = at(RELU, 10, critical - LOAD_OFFSET, "unspecialized").C
    elsewhere = [*np.linspace(0, critical - 0.01, 50), *np.geomspace(critical + 0.01, 1e6, 50)]
    item = "Fig. 5, C of the lowest state is largest at α_c, ReLU, K = 10"
    yield holds_in_cases(item, "maximum in α_c", (peak > best(RELU, 10, a).C for a in elsewhere))
    after = np.geomspace(critical + LOAD_OFFSET, 1e6, 20)
    item = "Fig. 5, C at R > S beyond α_c, up to α = 10⁶, ReLU, K = 10"
    yield holds_in_cases(item, "zero from above", (at(RELU, 10, a, "R > S").C > 0 for a in after))
    item = "Fig. 5, C at R < S, α = 30 to 10⁶, ReLU, K = 10"
    late = np.geomspace(30.0, 1e6, 20)
    yield holds_in_cases(item, "C < 0 for large α", (at(RELU, 10, a, "R < S").C < 0 for a in late))
    for kind, a, words in (
        ("unspecialized", 5.0, "R = S, α = 5"),
        ("R < S", 1e4, "R < S, α = 10⁴"),
    ):

        def size(K: float, kind: str = kind, a: float = a) -> float:
            return abs(at(RELU, K, a, kind).C)

        item = f"Sec. III C, power of K in |C| at {words}, ReLU"
        yield power(item, "-2", -2.0, size, (10**3, 10**4, 10**5))
