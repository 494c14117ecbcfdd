"""Beyond the papers: noisy labels, with a fixed second layer and with one that learns.

Noise ς of the labels leaves an error.  For committees of erf units it grows with superfluous units,
ε_g(∞) = (ης²/2π)(M/√3 + K - M) + O(η²) (Goldt et al. 2019), if these stay small; with both layers
trained it falls, as students share a teacher.
ReLU units with both layers trained have no state of rest: as g(x) = x g'(x),

    d(Q_ii - (η/η_v) v_i²)/dα = η² ς² v_i²/2 + …,

so that norms grow.  With a_i = v_i √Q_ii, of which a teacher's students share 1, Q_ii → a_i ης√α,
v_i² → a_i/(ης√α), and by the law of small rates ε_g → (ης²/8) Σ_i v_i² = M ς/(8√α) for all η, η_v
and K >= M.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import online
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers.beyond.drawing_online import error_over_units, errors_of_layers, side_by_side
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

NOISE, ETA, M = 0.3, 0.2, 2
UNITS, FULL_UNITS = (2, 3, 4), (2, 3, 4, 5, 6)
TIMES = np.geomspace(1.0, 20000.0, 61)
LONG = np.geomspace(1.0, 16000.0, 61)
NOTE = (
    "oostwal2019 names adaptive second layers as the next step; Goldt et al. (2019) found for them "
    "that more units may help. Second route: simulated runs and the law of small rates "
    "(tests/papers/test_beyond_readouts.py)."
)
LAW = (
    "1 as α → ∞, whatever η, η_v and K are: norms grow as ης√α, which makes the rate smaller and "
    "smaller (derived in papers/beyond/readouts.py, compared with runs to α = 64000 in its test)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute ε_g over K of committees and of students with two trained layers."""
    data = errors(FULL_UNITS if full else UNITS)
    yield side_by_side(data, error_over_units, errors_of_layers)
    for K in data["units"].values:
        for layers in ("first", "both"):
            one = data.sel(units=K, layers=layers)
            item = f"Erf, K = {K}, M = 2, ς = 0.3, η = 0.2, {layers} layer{_plural(layers)} trained"
            value, error = float(one.final), float(one.final_error)
            yield unpublished(f"{item}: ε_g at α = 20000", value, error, NOTE)
    yield unpublished(
        "ReLU, K = M = 2, ς = 0.3, both layers trained: 8√α ε_g/(Mς) at α = 16000",
        float(data["relu"][-1] * np.sqrt(LONG[-1]) * 8 / (M * NOISE)),
        data.attrs["relu_error"],
        LAW,
    )


def _plural(layers: str) -> str:
    return "s" if layers == "both" else ""


@cache
def errors(units: tuple[int, ...]) -> xr.Dataset:
    """Compute ε_g over time of erf units for every K, and of the ReLU."""
    rows, finals = [], []
    for K in units:
        runs = [run(Erf(), K, readout_rate, TIMES) for readout_rate in (0.0, ETA)]
        rows.append([values for values, _ in runs])
        finals.append([error for _, error in runs])
    relu, relu_error = run(ReLU(), M, ETA, LONG)
    values = np.array(rows)
    return xr.Dataset(
        {
            "generalization_error": (("units", "layers", "time"), values),
            "final": (("units", "layers"), values[..., -1]),
            "final_error": (("units", "layers"), np.array(finals)),
            "relu": ("long_time", relu),
        },
        coords={
            "units": np.array(units),
            "layers": ["first", "both"],
            "time": TIMES,
            "long_time": LONG,
        },
        attrs={
            "noise": NOISE,
            "learning_rate": ETA,
            "teachers": M,
            "relu_error": relu_error * np.sqrt(LONG[-1]) * 8 / (M * NOISE),
        },
    )


def run(g: Activation, K: int, readout_rate: float, times: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ε_g at all times, and the change of its last value with a tolerance a hundred times
    wider.
    """
    scenario, start = problem(g, K)
    options = {"until": times[-1], "times": times, "readout_rate": readout_rate}
    fine, coarse = (  # as a batch of one, which repeats its last state until the end
        online.evolve(scenario, start, np.array([ETA]), tolerance=tolerance, **options)
        .generalization_error.isel(run=0)
        .values
        for tolerance in (1e-8, 1e-6)
    )
    return fine, abs(fine[-1] - coarse[-1]) + 1e-12


def problem(g: Activation, K: int) -> tuple[Scenario, Overlaps]:
    """Return M teachers of norm one, noisy labels, and K students that have begun to specialize."""
    scenario = Scenario(Committee(K, g, np.ones(K)), Committee(M, g), label_noise=NOISE)
    rng = np.random.default_rng(1)
    J = np.hstack([0.3 * rng.standard_normal((K, M)), 0.3 * np.eye(K)])
    return scenario, Overlaps.from_weights(J, np.eye(M, M + K))


SECTIONS = (
    Section(
        "readouts",
        "Noisy labels: superfluous units hurt a committee and help two layers",
        "Labels with noise ς = 0.3, M = 2 teachers, η = η_v = 0.2. Left: ε_g at α = 20000 against "
        "the number K of erf students, for committees (only the first layer is trained; dotted: "
        "the law of small η for superfluous units that stay small) and with both layers trained, "
        "where students share a teacher. In the committee of four two units have become long and "
        "opposite: they cancel each other, and noise moves saturated units less. Right: ε_g over "
        "time; ReLU units with both layers trained have no stationary state, and follow Mς/(8√α) "
        "(dashed), whatever the rates and K are: the norms of their first layer grow for ever.",
        compute,
        "K up to 6 instead of 4",
    ),
)
