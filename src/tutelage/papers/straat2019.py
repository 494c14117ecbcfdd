"""Straat and Biehl, On-line learning dynamics of ReLU neural networks (ESANN 2019).

The three-point average, eq. (6); the single unit with its eigenvalues and critical learning
rate; the plateau of K = M = 2; the final overlaps of K = 3, M = 2 and of K = 2, M = 3.  For
more than one unit the paper leaves the η² term out: the limit η → 0, time in units of 1/η.
Symbols in Figs. 1 and 2 are simulations, of how many runs the paper does not say.
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import averages, online, simulation
from tutelage.activations import Activation, Erf, ReLU
from tutelage.networks import Committee, Scenario
from tutelage.overlaps import Overlaps
from tutelage.papers.record import (
    Figure,
    Record,
    closed_form,
    compare,
    correct,
    digits,
    method,
)
from tutelage.papers.simulated import correspondence
from tutelage.simulation.alignment import aligned
from tutelage.simulation.statistics import summary

PAPER = "straat2019"
NOTE_4 = (
    "straat2019, Fig. 4: R_22 = R_23 passes the printed 0.94 at ηα between 60 and 100 and comes "
    "to rest at 0.9463, which rounds to 0.95. It is a fixed point to 1e-12, and the minimum of "
    "ε_g over the weights, found without the equations of motion, is there, too."
)

# Fields u, v, w, built from weights so that the singular ones are singular on purpose.
COVARIANCES = {
    "a generic covariance": [[1.0, 0.3, -0.4], [0.3, 0.7, 0.2], [-0.4, 0.2, 1.5]],
    "Fig. 1 start, x x y": [[0.25, 0.25, 0.0], [0.25, 0.25, 0.0], [0.0, 0.0, 1.0]],
    "Fig. 2 plateau, x1 y2 y1": [[0.718, 0.52, 0.52], [0.52, 1.0, 0.0], [0.52, 0.0, 1.0]],
    "J = B, all fields equal": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
    "w = -u": [[1.0, 0.5, -1.0], [0.5, 1.0, -0.5], [-1.0, -0.5, 1.0]],
    "J2 = B2/2 (Fig. 3), x2 y2 x3": [[0.25, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.25]],
}
TABLE = {  # of Q(∞) below Fig. 2
    "Q_11": ("1.00", "1.00"),
    "Q_12": ("0.00", "0.00"),
    "Q_13": ("0.00", "0.00"),
    "Q_22": ("0.24", "0.00"),
    "Q_23": ("0.25", "0.00"),
    "Q_33": ("0.27", "1.00"),
}
RATES = (0.1, 0.5, 1.0, 1.5, 1.9, 2.1)  # of Fig. 1, right
RUNS = 10
AT_REST = 2000.0  # the slowest of the runs of Figs. 3 and 4 no longer moves by a printed digit


def records() -> list[Record]:
    """Eq. (6), the numbers of Figs. 1 to 4, and the simulations of Figs. 1 and 2."""
    equation = [_three_point(name, np.array(C)) for name, C in COVARIANCES.items()]
    numbers = [*_single_unit(), _critical(), *_plateau(), *_table(), *_unrealizable()]
    return [*equation, *numbers, *_simulations()]


def figures() -> Iterator[Figure]:
    """Figs. 1 to 4."""
    import matplotlib.pyplot as plt

    from tutelage.figures import overlaps

    def panels() -> np.ndarray:
        return plt.subplots(1, 2, figsize=(10.0, 3.6), layout="constrained")[1]

    yield _figure_1(panels())
    yield _figure_2(panels())
    axes, runs = panels(), {"ReLU": fig_3(ReLU(), 100.0), "Erf": fig_3(Erf(), 400.0)}
    for ax, (name, run) in zip(axes, runs.items(), strict=True):
        overlaps(run, ax, which="R").set_title(name)
    yield Figure("fig3", axes[0].figure, runs)
    axes = panels()
    overlaps(fig_4(100.0), axes[0], which="R")
    overlaps(fig_4(100.0), axes[1], which="Q")
    yield Figure("fig4", axes[0].figure, {"": fig_4(100.0)})


def _figure_1(axes: np.ndarray) -> Figure:
    """Symbols and bands: mean and standard deviation of ten runs."""
    from tutelage.figures import error, overlaps, simulated_error, simulated_overlaps

    overlaps(fig_1_left(), axes[0])
    simulated_overlaps(summary(simulated_1(0.1, 200.0)), axes[0])
    error(fig_1_right(), axes[1])
    for eta, line in zip(RATES, list(axes[1].lines), strict=True):
        means = summary(simulated_1(eta, 50.0))
        simulated_error(means, axes[1], colour=line.get_color())
    data = {f"simulated_{eta:g}": simulated_1(eta, 50.0) for eta in RATES}
    data |= {"left": fig_1_left(), "right": fig_1_right(), "simulated": simulated_1(0.1, 200.0)}
    return Figure("fig1", axes[0].figure, data)


def _figure_2(axes: np.ndarray) -> Figure:
    """The same, teachers named as in the theory: who takes which, and when, is chance."""
    from tutelage.figures import error, overlaps, simulated_error, simulated_overlaps

    runs = simulated_2(until=500.0)
    scaled = runs.assign_coords(time=0.1 * runs["time"]).assign_attrs(learning_rate="0")
    means = summary(aligned(scaled, fig_2()))
    overlaps(fig_2(), axes[0])
    simulated_overlaps(means, axes[0])
    error(fig_2(), axes[1], scale="linear")
    simulated_error(means, axes[1])
    return Figure("fig2", axes[0].figure, {"": fig_2(), "simulated": runs})


@cache
def fig_1_left() -> xr.Dataset:
    return online.evolve(_scenario(1, 1), _single_start(), learning_rate=0.1, until=200.0)


@cache
def fig_1_right() -> xr.Dataset:
    rates = np.array(RATES)
    return online.evolve(_scenario(1, 1), _single_start(), learning_rate=rates, until=50.0)


@cache
def simulated_1(eta: float, until: float) -> xr.Dataset:
    """N = 1000; the chain has the law of a network with Gaussian inputs."""
    times = np.linspace(0.0, until, 101)
    problem = (_scenario(1, 1), _single_start(), eta)
    return simulation.chain(*problem, 1000, until, RUNS, seed=1, times=times)


@cache
def fig_2(eta: float = 0, until: float = 50.0) -> xr.Dataset:
    return online.evolve(_scenario(2, 2), _start_2(), learning_rate=eta, until=until)


@cache
def simulated_2(until: float) -> xr.Dataset:
    """N = 10⁴, η = 0.1."""
    times = np.linspace(0.0, until, 101)
    problem = (_scenario(2, 2), _start_2(), 0.1)
    return simulation.chain(*problem, 10_000, until, RUNS, seed=2, times=times)


@cache
def fig_3(activation: Activation, until: float = AT_REST) -> xr.Dataset:
    start = Overlaps(Q=np.diag([0.2, 0.3, 0.25]), R=_only_r_11(3, 2), T=np.eye(2))
    return online.evolve(_scenario(3, 2, activation), start, learning_rate=0, until=until)


@cache
def fig_4(until: float = AT_REST) -> xr.Dataset:
    start = Overlaps(Q=0.2 * np.eye(2), R=_only_r_11(2, 3), T=np.eye(3))
    return online.evolve(_scenario(2, 3), start, learning_rate=0, until=until)


def _scenario(K: int, M: int, activation: Activation | None = None) -> Scenario:
    g = activation or ReLU()
    return Scenario(Committee(K, g), Committee(M, g))


def _single_start() -> Overlaps:
    return Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])


def _start_2() -> Overlaps:
    return Overlaps(Q=np.diag([0.2, 0.3]), R=1e-3 * np.eye(2), T=np.eye(2))


def _only_r_11(K: int, M: int) -> np.ndarray:
    R = np.zeros((K, M))
    R[0, 0] = 1e-3
    return R


def _state(run: xr.Dataset, time: float) -> Overlaps:
    at = run.sel(time=time, method="nearest")
    return Overlaps(Q=at["Q"].values, R=at["R"].values, T=np.eye(run.sizes["teacher"]))


def _three_point(name: str, C: np.ndarray) -> Record:
    text = f"{_equation_6(C):.6f}"
    published = closed_form(text, _equation_6(C), scale=float(np.max(C)))
    return compare(PAPER, f"eq. (6), {name}", published, float(averages.i3(ReLU(), C)))


def _equation_6(S: np.ndarray) -> float:
    """σ12 √(σ11σ33 − σ13²)/(2πσ11) + σ23 asin(σ13/√(σ11σ33))/(2π) + σ23/4, as printed."""
    (s11, s12, s13), (_, _, s23), (_, _, s33) = S
    return float(
        s12 * math.sqrt(s11 * s33 - s13**2) / (2 * math.pi * s11)
        + s23 * math.asin(s13 / math.sqrt(s11 * s33)) / (2 * math.pi)
        + s23 / 4
    )


def _solution(eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors at (R, Q) = (1, 1): first along (1/2, 1), then (0, 1)."""
    learned = Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    point = online.fixed_point(_scenario(1, 1), learned, learning_rate=eta)
    along_r = np.argsort(-np.abs(point.eigenvectors[0]))
    return point.eigenvalues[along_r].real, point.eigenvectors[:, along_r].real


def _single_unit() -> Iterator[Record]:
    """Sec. 3: λ = {−η/2, η²/2 − η} with u_1 = (1/2, 1) and u_2 = (0, 1)."""
    for eta in (0.1, 0.5, 1.5, 2.5):
        values, vectors = _solution(eta)
        printed = (
            ("λ_1", closed_form("−η/2", -eta / 2)),
            ("λ_2", closed_form("η²/2 − η", eta**2 / 2 - eta, scale=eta**2)),
        )
        for (name, published), value in zip(printed, values, strict=True):
            yield compare(PAPER, f"Sec. 3, K = M = 1, {name} at η = {eta:g}", published, value)
    ratios = vectors[0] / vectors[1]
    for name, text, u, ratio in (
        ("u_1", "1/2 : 1", 0.5, ratios[0]),
        ("u_2", "0 : 1", 0, ratios[1]),
    ):
        yield compare(PAPER, f"Sec. 3, K = M = 1, {name}, R : Q", closed_form(text, u), ratio)


def _critical() -> Record:
    """Sec. 3: λ_2 = 0 at η_c = 2, found by the rule of false position."""
    low, high = 1.5, 2.5
    below, above = (_solution(eta)[0][1] for eta in (low, high))
    for _ in range(60):
        eta = (low * above - high * below) / (above - below)
        value = _solution(eta)[0][1]
        if value == 0 or eta in (low, high):
            break
        low, below, high, above = (
            (eta, value, high, above) if value < 0 else (low, below, eta, value)
        )
    return compare(PAPER, "Sec. 3, K = M = 1, η_c where λ_2 = 0", closed_form("2", 2.0), eta)


def _plateau() -> Iterator[Record]:
    """Fig. 2 and Sec. 3: the symmetric fixed point beside which the run stays, and its exit."""
    point = online.fixed_point(_scenario(2, 2), _state(fig_2(), 12.0), learning_rate=0)
    for i in range(2):
        for n in range(2):
            item = f"Fig. 2, plateau, R_{i + 1}{n + 1}"
            yield compare(PAPER, item, digits("0.52"), float(point.overlaps.R[i, n]))
    count = int(np.sum(point.eigenvalues.real > 0))
    yield compare(PAPER, "Fig. 2, plateau, number of positive eigenvalues", digits("1"), count)
    largest = float(point.eigenvalues[0].real)
    yield compare(PAPER, "Fig. 2, plateau, λ_5", digits("0.24"), largest)
    u = point.eigenvectors[:, 0].real
    printed = ("0.5", "-0.5", "-0.5", "0.5", "0.0", "0.0", "0.0")
    for name, text, value in zip(point.labels, printed, np.sign(u[0]) * u, strict=True):
        yield compare(PAPER, f"Fig. 2, plateau, u_5 along {name}", digits(text), value)


def _table() -> Iterator[Record]:
    """The table of Q(∞), and R(∞), for K = 3 and M = 2."""
    for column, g in enumerate((ReLU(), Erf())):
        last = fig_3(g).isel(time=-1)
        for name, texts in TABLE.items():
            value = last["Q"].sel(student=int(name[2]), student_2=int(name[3])).item()
            yield compare(PAPER, f"Fig. 3, {g.name}, {name}(∞)", digits(texts[column]), value)
    relu = fig_3(ReLU()).isel(time=-1)
    for i in (2, 3):
        value = relu["R"].sel(student=i, teacher=2).item()
        yield compare(PAPER, f"Fig. 3, ReLU, R_{i}2(∞)", digits("0.5"), value)


def _unrealizable() -> Iterator[Record]:
    """Fig. 4: the end of the run, and the fixed point next to it as the second route."""
    R = fig_4()["R"].isel(time=-1).values
    # At rest the students lie in the span of the teachers, which are orthonormal: J_i = R_i.
    end = Overlaps.from_weights(student=R, teacher=np.eye(3))
    point = online.fixed_point(_scenario(2, 3), end, learning_rate=0)
    for n in (2, 3):
        # The run was integrated to 1e-9 for each step, and ended when nothing moved any more.
        exact = method("fixed point", float(point.overlaps.R[1, n - 1]), 1e-6)
        item = f"Fig. 4, ReLU, K = 2, M = 3, R_2{n}(∞)"
        yield correct(PAPER, item, digits("0.94"), exact, R[1, n - 1], NOTE_4)


def _simulations() -> Iterator[Record]:
    """Sec. 4: "Simulation results [of Figs. 1 and 2] show good correspondence"."""
    words = "good correspondence"
    for number, eta in enumerate(RATES):
        theory = fig_1_right().isel(run=number).assign_attrs(learning_rate=str(eta))
        item = f"Fig. 1, N = 1000, η = {eta:g}, {RUNS} runs, deviation in standard errors"
        yield correspondence(PAPER, item, words, theory, simulated_1(eta, 50.0))
    theory, runs = fig_2(0.1, 100.0), simulated_2(until=100.0)
    item = f"Fig. 2, N = 10⁴, η = 0.1, {RUNS} runs to ηα = 10, deviation in standard errors"
    yield correspondence(PAPER, item, words, theory, runs)
    on_plateau = runs["R"].isel(time=-1).mean(["student", "teacher"])
    error = float(on_plateau.std(ddof=1)) / math.sqrt(RUNS)
    item = f"Fig. 2, N = 10⁴, η = 0.1, {RUNS} runs, plateau, mean of R_in"
    yield compare(PAPER, item, digits("0.52"), float(on_plateau.mean()), uncertainty=error)
