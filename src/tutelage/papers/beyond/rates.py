"""Beyond citton2025: critical learning rates without a series.

The paper cuts its series for I4 at order N = 10.  For K = M = 2 it serves one average only, that of
x_1, x_2, y_1 and y_2; all others have coinciding fields, and are known exactly.  The rate of Q_12
in units of η (`tutelage.online.linearization`) then has an error η 2ΔI4, and a fold at η moves, to
first order, by

    Δη = −η 2ΔI4 w_12/(w · ∂f/∂η),

with w the left null vector of the Jacobian of these rates f at the fold.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import averages, online
from tutelage.activations import ReLU
from tutelage.model import Overlaps
from tutelage.online import CriticalLearningRates, Flow
from tutelage.online.linearization import linearized
from tutelage.papers.beyond.drawing_online import critical_rates, side_by_side, truncation
from tutelage.papers.citton2025.runs import scenario, start
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

NAMES = {
    "non_monotonic": "the error is not monotonic",
    "plateau_vanishes": "there is no symmetric plateau",
    "diverges": "norms grow without bound",
}
PRINTED = {"non_monotonic": 1.2175, "plateau_vanishes": 1.2545, "diverges": 1.2575}  # Sec. 3
PRINTED_ORDER = 10
ORDERS = (4, 6, 8, 10, 12)
NOTE = (
    "citton2025 prints {} from the series cut at order 10. Second routes: runs on either side, and "
    "for the fold a continuation in η (tests/papers/test_beyond.py)."
)
NOTE_ORDER = (
    "To first order in the error of the average that is computed by the series; the stated error "
    "is the size of the second order. The printed rate is 1.7e-4 away, so truncation is not the "
    "reason. Second route: a continuation with the series (tests/papers/test_beyond.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute the exact rates, and those of the series against its order."""
    exact = rates()
    yield side_by_side(_dataset(full), critical_rates, truncation)
    for name, words in NAMES.items():
        rate = getattr(exact, name)
        note = NOTE.format(f"{PRINTED[name]:.4f}")
        yield unpublished(f"Exact η above which {words}", rate.value, rate.error, note)
    for order in (6, PRINTED_ORDER):
        item = f"Shift of the η without a plateau by the series of order {order}"
        yield unpublished(item, shift(order), _second_order(order), NOTE_ORDER)


@cache
def rates(order: int | None = None) -> CriticalLearningRates:
    """Return the three critical rates, exact or with the series."""
    method = None if order is None else averages.Hermite(order)
    return online.critical_learning_rates(scenario(), start(), method=method)


@cache
def fold() -> tuple[Overlaps, float]:
    """Return the plateau and the η where it ends, by continuation from η = 1."""
    near = Overlaps(
        Q=[[1.35, 0.54], [0.54, 1.35]], R=[[0.46, 1.05], [0.46, 1.05]], T=scenario().T
    )  # as in citton2025, Fig. 2b
    along = online.branch(scenario(), near, learning_rate=1.0, until=1.3, max_steps=30)
    last = along.isel(special=int(np.flatnonzero(along["special_kind"] == "fold")[0]))
    state = Overlaps(Q=last["special_Q"].values, R=last["special_R"].values, T=scenario().T)
    return state, float(last["special_learning_rate"])


@cache
def _sensitivity() -> float:
    """Return dη/dI4 of the fold."""
    state, eta = fold()
    flow = Flow(scenario())
    linearization = linearized(flow, flow.vector(state), eta)
    w = np.linalg.svd(linearization.jacobian.T)[2][-1]
    w_12 = w[flow.layout.labels.index("Q_12")]
    return float(-2 * eta * w_12 / (w @ linearization.by_rate))


def shift(order: int) -> float:
    """Return the shift Δη of the fold by the truncation, to first order."""
    C = fold()[0].covariance
    series = averages.i4(ReLU(), C, method=averages.Hermite(order))
    return _sensitivity() * float(series - averages.i4(ReLU(), C))


def _second_order(order: int) -> float:
    """Estimate the neglected second order, 28 Δη² at order 6; the factor 100 includes a margin."""
    return 100 * shift(order) ** 2 + 1e-12


def _dataset(full: bool) -> xr.Dataset:
    """Return the rates over the order of the series, NaN where they are not computed."""
    orders = list(ORDERS)
    exact = {name: float(getattr(rates(), name).value) for name in NAMES}
    data = {name: np.full(len(orders), np.nan) for name in NAMES}
    data["plateau_vanishes"] = np.array([fold()[1] + shift(order) for order in orders])
    for order in ORDERS if full else ():  # all three rates take a minute each
        for name in NAMES:
            rate = getattr(rates(order), name)
            data[name][orders.index(order)] = np.nan if rate is None else rate.value
    attrs = {f"exact_{name}": value for name, value in exact.items()}
    attrs |= {f"printed_{name}": value for name, value in PRINTED.items()}
    columns = {name: ("order", values, {"symbol": "η"}) for name, values in data.items()}
    return xr.Dataset(columns, {"order": orders}, attrs | {"printed_order": PRINTED_ORDER})


SECTIONS = (
    Section(
        "rates",
        "Critical learning rates without a series",
        "Two ReLU students of graded teachers, T = diag(1, 2). Left: the three learning rates at "
        "which behaviour changes, exact (lines), from the series of citton2025 against its order "
        "(circles; the plateau in a quick run, all three in a full one) and as printed, at order "
        "10 (crosses). Right: how far series and print are from the exact rates. The series of "
        "order 10 is right to 10⁻⁶ for the end of the plateau, and every two orders gain a factor "
        "of about ten: the printed rates differ a hundred times more, so truncation is not the "
        "reason.",
        compute,
        "all three rates of the series at orders 4, 6, 8, 10 and 12, about six minutes",
    ),
)
