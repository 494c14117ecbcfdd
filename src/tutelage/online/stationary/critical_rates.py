"""Critical learning rates: where the behaviour of a run from a given start changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from tutelage._arguments import validated
from tutelage._checks import finite_number
from tutelage._findings import Finding
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.online.flow import Flow
from tutelage.online.stationary.plateaus import saddle
from tutelage.online.stationary.stability import fold, loss_of_stability
from tutelage.online.steps import Steps, steps
from tutelage.runs.progress import Progress

FINE, COARSE = 1e-10, 1e-8  # tolerances of the integration; their difference is the error
UNTIL = 4000.0  # in units of 1/η, where η < 1
HIGHEST = 64.0
# Rates of increase dε_g/dα below this are integration error, not learning that gets worse.
RISING = 1e-8


@dataclass(frozen=True, repr=False)
class CriticalLearningRates(Finding):
    """Learning rates at which the behaviour of a run changes, as `Estimate` or None.

    non_monotonic: above it the error grows for a while before it falls again.
    plateau_vanishes: above it the saddle that makes the plateau at small rates does not exist.
    loses_stability: above it the state in which the run ends at small rates is unstable.  The run
        may still converge, to another state.
    diverges: above it the norms of the run grow without bound; `evolve` says "diverged".
    reasons: by the name of a field, why it is None.
    """

    non_monotonic: Estimate | None
    plateau_vanishes: Estimate | None
    loses_stability: Estimate | None
    diverges: Estimate | None
    reasons: Mapping[str, str]


class _Missing(Exception):
    """Raised with the reason why a critical learning rate does not exist."""


@validated
def critical_learning_rates(
    scenario: Scenario,
    start: Overlaps,
    *,
    upper: float | None = None,
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
    progress: bool = False,
) -> CriticalLearningRates:
    """Find the learning rates where the behaviour of a run changes.

    Each is defined by an equation, not fitted:

    - ``loses_stability``: max Re λ(η) = 0 for the state in which the run ends at small rates.  For
      the single ReLU λ = η²/2 - η and η = 2 exactly (straat2019 section 3).
    - ``diverges``: the norms grow without bound, found by bisection on the fate of the run.  Not
      the same: a single ReLU converges to another state, with a finite error, from η = 2 up to
      the fold of that state, at η = 2.2465.
    - ``non_monotonic``: max over time of (dε_g/dα)/ε_g is zero.  The slope is exact along the
      flow; rates below 1e-8 count as integration error.
    - ``plateau_vanishes``: the saddle at which the run lingers at a quarter of the least of the
      other two (or, if at none, a half, 0.8) is followed in η to its fold, where dη/ds = 0 along
      the branch.  Other saddles may branch off it on the way, at which runs at higher rates
      linger, and which have separate folds.

    citton2025 (section 3, series of order 10) has 1.2175, 1.2545 and 1.2575.

    Args:
        scenario: student and teacher.
        start: Q, R and T at time 0.
        upper: the highest η that is tried.
        readout_rate: η_v of the second layer in units of η: the two rates grow together.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.
        progress: whether to show the progress and the time left.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> rates = tl.online.critical_learning_rates(tl.Scenario(one, one), start)
    >>> print(f"{rates.loses_stability.value:.9f} {rates.diverges.value:.4f}")
    2.000000000 2.2465
    """
    check_fits("start", scenario, start, batches=((),))
    if upper is not None:
        finite_number("upper", upper, above=0.0, hint="4.0")
    flow = Flow(scenario, method, batch=batch, readout_rate=readout_rate)
    y0 = flow.vector(start)
    top = HIGHEST if upper is None else float(upper)
    reasons: dict[str, str] = {}

    def attempt(name: str, find: Callable[..., Estimate], *numbers: float) -> Estimate | None:
        try:
            return find(flow, y0, *numbers)
        except _Missing as why:
            reasons[name] = str(why)
            return None
        finally:
            bar.add(1)

    with Progress(progress, 4, "critical learning rates") as bar:
        diverges = attempt("diverges", _diverges, top)
        highest = top if diverges is None else float(diverges.value)
        loses_stability = attempt("loses_stability", _loses_stability, highest)
        limit = highest if loses_stability is None else min(highest, float(loses_stability.value))
        return CriticalLearningRates(
            non_monotonic=attempt("non_monotonic", _non_monotonic, limit),
            plateau_vanishes=attempt("plateau_vanishes", _plateau_vanishes, limit),
            loses_stability=loses_stability,
            diverges=diverges,
            reasons=reasons,
        )


def _run(flow: Flow, y0: np.ndarray, eta: float, tolerance: float = FINE) -> Steps:
    return steps(flow, y0, eta, UNTIL / min(eta, 1.0), tolerance=tolerance)


# Divergence ------------------------------------------------------------------------------


def _loses_stability(flow: Flow, y0: np.ndarray, highest: float) -> Estimate:
    """Find the rate above which the final state of runs at small rates is unstable."""
    eta = min(0.5, 0.5 * highest)
    estimate = loss_of_stability(flow, _run(flow, y0, eta), eta, 1.1 * highest)
    if estimate is None:
        raise _Missing(
            f"the run ends in a state that is stable up to {1.1 * highest:g}, or in no stable state"
        )
    return estimate


def _diverges(flow: Flow, y0: np.ndarray, top: float) -> Estimate:
    """Find the rate above which norms grow without bound, by bisection on the outcome of runs.

    Where the last attractor is lost growth begins slowly, and bisection over a finite time comes
    out too high; there it is the attractor that is followed.
    """

    def escapes(eta: float, tolerance: float = FINE) -> bool:
        return _run(flow, y0, eta, tolerance).outcome == "diverged"

    low, high = _bisect(escapes, *_bracket(escapes, top), 1e-3)
    eta = 0.99 * low
    lost = loss_of_stability(flow, _run(flow, y0, eta), eta, 1.1 * high)
    if lost is not None and lost.value <= high:
        return lost
    low, high = _bisect(escapes, low, high, 1e-9)
    return _with_coarse_bracket(escapes, 0.5 * (low + high), high - low)


def _with_coarse_bracket(escapes: Callable[..., bool], value: float, width: float) -> Estimate:
    """Estimate the error of a bisection by a second one with a wider integration tolerance."""
    reach = 10 * width
    while not (escapes(value + reach, COARSE) and not escapes(value - reach, COARSE)):
        reach *= 10
    coarse = _bisect(lambda eta: escapes(eta, COARSE), value - reach, value + reach, 0.05 * reach)
    return number(value, max(abs(end - value) for end in coarse) + width)


def _bracket(escapes: Callable[[float], bool], top: float) -> tuple[float, float]:
    high = min(1.0, top)
    while not escapes(high):
        if high >= top:
            raise _Missing(f"norms stay bounded at every learning rate up to {top:g}")
        high = min(2 * high, top)
    low = 0.5 * high
    while escapes(low):
        if low < 1e-6:
            raise _Missing("runs diverge at every learning rate down to 1e-6")
        low, high = 0.5 * low, low
    return low, high


def _bisect(
    holds: Callable[[float], bool], low: float, high: float, width: float
) -> tuple[float, float]:
    """Bisect an interval; ``holds`` is False at its lower end and True at its upper end."""
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


# Onset of a non-monotonic error ----------------------------------------------------------


def _non_monotonic(flow: Flow, y0: np.ndarray, top: float) -> Estimate:
    def rise(eta: float, tolerance: float = FINE) -> float:
        return _fastest_rise(flow, y0, eta, tolerance)

    etas = top * np.array([0.02, 0.05, *np.linspace(0.1, 0.95, 18), 1 - 1e-3])
    previous = None
    for eta in etas:
        if rise(eta) > 0:
            break
        previous = eta
    else:
        raise _Missing("the error falls at all times at every learning rate that converges")
    if previous is None:
        raise _Missing(f"the error rises temporarily even at learning rate {etas[0]:g}")
    value = brentq(rise, previous, eta, xtol=1e-10)
    slope = (rise(value + 1e-5) - rise(value - 1e-5)) / 2e-5
    # Error of η: the change of the rise with tolerance and threshold, divided by its slope. The
    # error ε_g is of order one where it first grows.
    change = abs(rise(value, COARSE) - rise(value)) + 10 * RISING
    return number(value, change / abs(slope) + 1e-9)


def _fastest_rise(flow: Flow, y0: np.ndarray, eta: float, tolerance: float) -> float:
    """max over time of (dε_g/dα)/ε_g, refined with short steps around the largest one."""
    run = _run(flow, y0, eta, tolerance)
    pace = (run.slope - RISING) / run.error
    j = int(np.argmax(pace))
    if j in (0, len(run.times) - 1):
        return float(pace[j])
    window = run.times[j + 1] - run.times[j - 1]
    detail = steps(flow, run.states[j - 1], eta, window, tolerance=tolerance, longest=window / 64)
    t, pace = detail.times, (detail.slope - RISING) / detail.error
    k = int(np.clip(np.argmax(pace), 1, len(t) - 2))
    # The parabola through the three highest points; times relative to the middle one keep the fit
    # well-conditioned.
    a, b, c = np.polyfit(t[k - 1 : k + 2] - t[k], pace[k - 1 : k + 2], 2)
    return float(c - b * b / (4 * a)) if a < 0 else float(pace[k])


# The fold of the plateau -----------------------------------------------------------------


def _plateau_vanishes(flow: Flow, y0: np.ndarray, top: float) -> Estimate:
    for share in (0.25, 0.5, 0.8):  # at higher rates a run may linger at another saddle
        eta = share * top
        point = saddle(flow, _run(flow, y0, eta), eta)
        if point is not None:
            break
    else:
        raise _Missing("the run does not linger at a saddle")
    estimate = fold(flow, point.vector, eta, 4 * top)
    if estimate is None:
        raise _Missing(
            f"the saddle can be followed beyond learning rate {4 * top:g} or to infinity"
        )
    return estimate
