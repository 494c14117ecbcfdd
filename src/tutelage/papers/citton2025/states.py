"""citton2025, Secs. 3 and 4: critical learning rates, fixed points, and sigmoidal units."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np

from tutelage import averages
from tutelage.online import critical_learning_rates
from tutelage.papers.citton2025 import KEY
from tutelage.papers.citton2025.runs import (
    ORDER,
    SIGMOIDAL_RATES,
    fig_1,
    fixed_points,
    scenario,
    sigmoidal,
    start,
    up_to_fold,
)
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, compare, correct, digits, method, with_note
from tutelage.papers.section import Section
from tutelage.papers.simulated import statement

NOTE_3 = (
    "citton2025, Sec. 3: the critical learning rates of the exact equations are 1.2173, 1.2543 and "
    "1.2580, within 0.0005 of the printed 1.2175, 1.2545 and 1.2575. Each printed one is the "
    "middle of two learning rates 0.001 apart, one on either side; the paper does not say that "
    "they were found like that. Runs on either side of each exact value behave differently, and "
    "the fold is also found by continuation "
    "(tests/papers/test_papers.py). The series of order 10 (coinciding fields exactly, as the "
    "paper says) moves them by less than 1e-4 (docs/online.md): its truncation does not explain "
    "the difference."
)
NOTE_ERF = (
    "With Erf(x) = erf(x/√2) and the same start the error rises, too, above η = 0.90 (the paper "
    "does not say which sigmoidal function it means), but by little: by 2 percent of the plateau "
    "at η = 2.4, just below η_c = 2.45, where that of the ReLU rises by 15 percent at η = 1.24 and "
    "by 58 at 1.256. Simulations rise as well "
    "(tests/papers/test_citton2025.py)."
)
NOTE_TIME = (
    "Times depend on the machine, so terms are counted: index sets {{n_ij}} of eq. (1) to order "
    "10. {:,} have non-zero coefficients with the ReLU, and {:,} with a function none of whose "
    "coefficients vanish. An odd function such as Erf has {:,}; without g(λx) = λg(x) its "
    "coefficients have to be computed again for each variance."
)
# The printed rates of Sec. 3, and two learning rates on either side of the exact value: below it
# the error falls at all times, the plateau exists, the run converges; above it, they do not.
CRITICAL = {
    "non_monotonic": ("error not monotonic above η", "1.2175", (1.2172, 1.2174)),
    "plateau_vanishes": ("no symmetric plateau above η", "1.2545", (1.2543, 1.2544)),
    "diverges": ("norms grow without bound above η", "1.2575", (1.2579, 1.2580)),
}
LARGE_RISE = 0.1  # smaller than the rise of the ReLU above η = 1.2175
RATE_STEP = 1e-3  # steps of learning rates, of which the printed numbers are middles
ZERO_ERROR = 1e-9  # ε_g below this is zero up to the error of the averages


def critical(full: bool) -> Iterator[Row]:
    """Compare the three critical learning rates of Sec. 3 with computed ones and with runs."""
    ways = [(critical_learning_rates(scenario(), start()), "")]
    if full:
        series = critical_learning_rates(scenario(), start(), method=averages.Hermite(ORDER))
        ways.append((series, f", from the series of order {ORDER}"))
    for name, (words, printed, (low, high)) in CRITICAL.items():
        between = method("runs on either side", 0.5 * (low + high), 0.5 * (high - low))
        for computed, how in ways:
            value, error = (float(x) for x in getattr(computed, name))
            item = f"Sec. 3, {words}{how}"
            middle = method(f"{printed} ± 0.0005", float(printed), RATE_STEP / 2)
            rows = {
                "to the last digit": correct(
                    KEY, item, digits(printed), between, value, NOTE_3, error
                ),
                f"in steps of {RATE_STEP:g}": compare(KEY, item, middle, value, error),
            }
            yield in_each_reading(
                item,
                "how finely learning rates were tried",
                rows,
                ours=[f"in steps of {RATE_STEP:g}"],
            )


def equilibria(full: bool) -> Iterator[Row]:
    """Sec. 3: solutions, the plateau, identical students, and changes at larger η."""
    points = fixed_points(1.0)
    solved = [p for p in points if p.stable and abs(p.generalization_error) < ZERO_ERROR]
    count = sum(_relabellings(np.asarray(p.overlaps.R)) for p in solved)
    item = "Sec. 3, stable fixed points at η = 1, with perfect alignment"
    yield compare(KEY, item, digits("2"), count)
    positive = np.sum(up_to_fold()["eigenvalue"].values > 0, axis=1)
    words = "several (but not all) negative eigenvalues, the positive eigenvalue"
    item = "Sec. 3, symmetric plateau up to its fold, one positive eigenvalue of seven"
    yield statement(KEY, item, words, positive[:-1] == 1)
    identical = [p for p in points if _distance(np.asarray(p.overlaps.Q)) < 1e-9]
    unstable = [p for p in identical if not p.stable]
    item = "Sec. 3, unstable fixed points with identical students at η = 1"
    yield compare(KEY, item, digits("1"), len(unstable))
    distance = min(_distance(Q) for Q in fig_1()["Q"].values)
    item = "Sec. 3, |J_1 - J_2|² stays above 0.1 along Fig. 1"
    words, note = "not visited with the initial conditions used here", f"Smallest: {distance:.3f}."
    yield statement(KEY, item, words, [distance > 0.1], note)
    more = [p for p in fixed_points(1.2) if _distance(np.asarray(p.overlaps.Q)) > 1e-9]
    new = len(more) - (len(points) - len(identical))
    item = "Sec. 3, fixed points with different students, more at η = 1.2 than at η = 1"
    words, note = "for large values of η other fixed points appear", f"{new} more are found."
    yield statement(KEY, item, words, [new > 0], note)


def _relabellings(R: np.ndarray) -> int:
    """Count the different states that arise from one by exchanging students."""
    return len({R[list(order)].round(9).tobytes() for order in permutations(range(len(R)))})


def _distance(Q: np.ndarray) -> float:
    """|J_1 - J_2|²."""
    return float(Q[0, 0] + Q[1, 1] - 2 * Q[0, 1])


def beside_sigmoidal(full: bool) -> Iterator[Row]:
    """Secs. 3 and 4: statements about the same system with sigmoidal activation."""
    runs = sigmoidal()
    rates, time = np.array(SIGMOIDAL_RATES), runs["time"].values
    errors = runs["generalization_error"].values
    below = rates < 2.45
    on_plateau = errors[:, np.searchsorted(time, 20.0)]
    left = np.array([time[np.argmax(e < h / 2)] for e, h in zip(errors, on_plateau, strict=True)])
    few = slice(0, 3)
    item = f"Sec. 3, Erf, plateau higher and shorter from η to η in {SIGMOIDAL_RATES[few]}"
    holds = [*(np.diff(on_plateau[few]) > 0), *(np.diff(left[few]) < 0)]
    yield statement(KEY, item, "similar to networks with sigmoidal activation", holds)
    yield _no_rise(rates[below], errors[below], on_plateau[below])
    Q = runs["Q"].values[:, :, 0, 0]
    half = np.searchsorted(time, 200.0)
    item = f"Sec. 4, Erf, Q_11 grows by a third from α = 200 to 400 at η = {SIGMOIDAL_RATES[-2:]}"
    words = "[growth of norms] is also observed for the system with sigmoidal activation"
    yield statement(KEY, item, words, Q[-2:, -1] > 4 / 3 * Q[-2:, half])
    item = f"Sec. 4, Erf, ε_g stays below 1 at η = {SIGMOIDAL_RATES[-2:]}"
    words = "diverging generalization error [only] since the ReLU is an unbounded function"
    yield statement(KEY, item, words, np.max(errors[-2:], axis=1) < 1)
    yield _terms()


def _no_rise(rates: np.ndarray, errors: np.ndarray, height: np.ndarray) -> Row:
    """Decide whether ε_g rises above its earlier values: at all, or by a tenth of the plateau."""
    rise = np.max(errors - np.minimum.accumulate(errors, axis=1), axis=1)
    item = f"Sec. 3, Erf, ε_g does not rise below η_c, η = {tuple(rates.tolist())}"
    words = "[non-monotonic error] is not present in the same system with sigmoidal activation"
    rows = {
        "by a tenth, as that of the ReLU": statement(KEY, item, words, rise < LARGE_RISE * height),
        "by more than 10⁻⁶": statement(KEY, item, words, rise < 1e-6),
    }
    ours_only = ["by a tenth, as that of the ReLU"]
    return with_note(
        in_each_reading(item, "how much of a rise is meant", rows, ours=ours_only), NOTE_ERF
    )


def _terms() -> Row:
    """Compare the number of nonvanishing terms with that of the ReLU."""
    relu, general, odd = (number_of_terms(zero) for zero in (RELU_ZEROS, (), ODD_ZEROS))
    item = "Sec. 4, terms of eq. (1) to order 10 if no coefficient vanishes, over those of the ReLU"
    words = "the time to integrate the ODE increases substantially: at least twice as many"
    row = statement(KEY, item, words, [general > 2 * relu], NOTE_TIME.format(relu, general, odd))
    return replace(row, words=f"{general / relu:.1f} times as many")


# Orders n up to 10 at which ⟨H_n, g⟩ = 0.
RELU_ZEROS, ODD_ZEROS = (3, 5, 7, 9), (0, 2, 4, 6, 8, 10)


def number_of_terms(zeros: Collection[int], order: int = ORDER) -> int:
    """Count the terms of eq. (1) with n_1, n_2 <= N - 1 and n_3, n_4 <= N that do not vanish.

    Args:
        zeros: orders n at which ⟨H_n, g⟩ = 0; ⟨H_n, g'⟩ = ⟨H_{n+1}, g⟩.
    """
    n = np.indices((order + 1,) * 6, dtype=np.int8).reshape(6, -1)
    is_present = np.array([m not in zeros for m in range(order + 1)] + [False] * (2 * order + 1))
    n12, n13, n14, n23, n24, n34 = n
    slopes = is_present[n12 + n13 + n14 + 1] & is_present[n12 + n23 + n24 + 1]
    return int(np.sum(slopes & is_present[n13 + n23 + n34] & is_present[n14 + n24 + n34]))


SECTIONS = (
    Section(
        "critical",
        "Section 3: critical learning rates",
        "The learning rates above which the error is not monotonic, the symmetric plateau does not "
        "exist, and norms grow without bound, from the exact equations.",
        critical,
        full="the same with the series of order 10, which moves them by less than 1e-4",
    ),
    Section(
        "equilibria",
        "Section 3: fixed points",
        "Fixed points found at η = 1 and η = 1.2: two solutions, the symmetric plateau with one "
        "way out, a state of identical students, and others at the larger learning rate.",
        equilibria,
    ),
    Section(
        "sigmoidal",
        "Sections 3 and 4: sigmoidal units",
        "The setting of Fig. 2a with Erf instead of ReLU: the plateau, whether the error is "
        "monotonic, and what happens beyond the critical learning rate.",
        beside_sigmoidal,
    ),
)
