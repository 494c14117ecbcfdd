"""Beyond oostwal2019 and milletari2019: where networks of noisy gates specialize.

Swish of inverse temperature β is the mean signal of a gate in noise 1/β (milletari2019); it goes
from linear units (β → 0) to the ReLU (β → ∞).  For K → ∞ the transition is at α_c = 1/(2c_2²)
with c_2 = ⟨g(z)(z² − 1)⟩/√2.  As β → 0, g → x/2 + βx²/4, and α_c → 4/β².
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import ReLU, Swish
from tutelage.figures.style import new_grid
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

FINITE = 5
UNITS = (FINITE, math.inf)
# A kernel takes up to seconds for each β, the more the larger β is, and serves every K.
BETAS = np.concatenate(
    [[0.1, 0.2, 0.4, 0.7, 1.0, 1.15, 1.3, 1.5, 1.7, 1.9], np.geomspace(2.2, 12.0, 12)]
)
FULL_BETAS = np.geomspace(0.1, 60.0, 80)
WINDOW = (2.45, 2.85)  # around the lowest loads, as the figure shows
NODES = 8
NOTE = (
    "oostwal2019 has the ReLU only, milletari2019 no transition. Some noise lets units specialize "
    "with fewer examples than none. Second route: for K → ∞ the root of dc_2/dβ with 30 digits, "
    "for K = 5 the loads at both sides (tests/papers/test_beyond.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute α_c against β, and its minimum."""
    data = {f"K{K:g}": _loads(K, FULL_BETAS if full else BETAS) for K in UNITS}
    yield _drawn(data)
    for K in UNITS:
        (beta, beta_error), (load, load_error) = earliest(K)
        name = _name(K)
        yield unpublished(f"Swish, {name}: β at which α_c is lowest", beta, beta_error, NOTE)
        yield unpublished(f"Swish, {name}: lowest α_c over all β", load, load_error, NOTE)
        relu = _coexists(K, math.inf)
        gain, error = 1 - load / relu[0], (load_error + relu[1]) / relu[0]
        item = f"Swish, {name}: part of the examples of the ReLU that is saved there"
        yield unpublished(item, gain, error, NOTE)


@cache
def _coexists(K: float, beta: float) -> tuple[float, float]:
    """Return α_c and its error; the ReLU is the limit β = ∞."""
    g = ReLU() if math.isinf(beta) else Swish(beta)
    load = equilibrium.transitions(g, K).coexists
    assert load is not None  # Swish and ReLU are not linear
    return float(load.value), float(load.error)


@cache
def earliest(K: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return β and α_c at the minimum of α_c(β), each with its error.

    A polynomial through Chebyshev nodes around it; the error is what two nodes fewer change.
    """
    (beta, load), (other, coarse) = (_vertex(K, count) for count in (NODES, NODES - 2))
    error = _coexists(K, beta)[1]
    return (beta, abs(beta - other) + math.sqrt(error)), (load, abs(load - coarse) + error)


def _vertex(K: float, nodes: int) -> tuple[float, float]:
    """Return the minimum of the polynomial through α_c at a number of nodes."""

    betas = _nodes(nodes)
    loads = [_coexists(K, float(beta))[0] for beta in betas]
    curve = np.polynomial.Chebyshev.fit(betas, loads, nodes - 1, domain=WINDOW)
    flat = curve.deriv().roots()
    inside = flat[(np.abs(flat.imag) < 1e-9) & (flat.real > WINDOW[0]) & (flat.real < WINDOW[1])]
    beta = min((float(root.real) for root in inside), key=curve)
    return beta, float(curve(beta))


def _nodes(count: int) -> np.ndarray:
    """Return Chebyshev nodes of the window."""
    middle, half = 0.5 * (WINDOW[0] + WINDOW[1]), 0.5 * (WINDOW[1] - WINDOW[0])
    return middle + half * np.polynomial.chebyshev.chebpts1(count)


def _loads(K: float, betas: np.ndarray) -> xr.Dataset:
    """Return α_c over β, with β = ∞ as the last entry."""
    betas = np.append(np.union1d(betas, _nodes(NODES)), math.inf)
    values, errors = np.array([_coexists(K, float(beta)) for beta in betas]).T
    (beta, _), (load, _) = earliest(K)
    return xr.Dataset(
        {"coexists": ("beta", values), "coexists_error": ("beta", errors)},
        coords={"beta": ("beta", betas, {"long_name": "inverse temperature", "symbol": "β"})},
        attrs={"gate": "Swish", "units": f"{K:g}", "lowest_beta": beta, "lowest_load": load},
    )


def _name(K: float) -> str:
    return "K → ∞" if math.isinf(K) else f"K = {K:g}"


def _drawn(data: dict[str, xr.Dataset]) -> Figure:

    from tutelage.papers.beyond.drawing import earliest_load, noisy_loads

    figure, axes = new_grid(1, 2, (10.5, 4.2))
    noisy_loads(list(data.values()), axes[0])
    earliest_load(list(data.values()), axes[1])
    return Figure(figure, data)


SECTIONS = (
    Section(
        "noise",
        "Some noise is better than none: α_c of Swish",
        "The load α_c at which units specialize, for networks of Swish units x σ(βx) with K = 5 "
        "and K → ∞; the noise is 1/β. Left: from linear units (dashed: 4/β², never at β = 0) to "
        "the ReLU (triangle at the right edge: its α_c, 2π for K → ∞). Right: the same next to "
        "the lowest load. oostwal2019 has only the ReLU: units specialize earliest not without "
        "noise but "
        "near β = 2.7 for K = 5 and 2.6 for K → ∞, with 13 percent fewer examples.",
        compute,
        "80 values of β up to 60 instead of 22 up to 12",
    ),
)
