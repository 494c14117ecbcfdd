"""Oostwal, Straat and Biehl (2019): how long networks stay unspecialized, against N.

Chains of `tutelage.equilibrium.sample` begin in the state R = S at one load and move until their
generalization error is below the middle between this state and R > S.  A sweep of Hamiltonian
Monte Carlo is the unit of time.  Beyond α_c the sigmoidal state R = S is metastable: to leave it a
chain crosses a barrier N Δ, where Δ is the difference of βf between the saddle and R = S.  The
state R = S of the ReLU is unstable beyond its α_c, and there is no barrier.
The runs are stored in ``recorded/escape.nc``; `measured` computes them again.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU
from tutelage.equilibrium.sampling.sample import Sampler
from tutelage.figures.style import new_axes
from tutelage.figures.text import finish
from tutelage.model import Committee, Scenario
from tutelage.papers import recorded
from tutelage.papers.claim import claim
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.oostwal2019.error import site_symmetric
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure

K = 5
DIMENSIONS = (100, 200, 300, 400, 500, 600)
RUNS, BLOCK, LAST_SWEEP, TUNING_SWEEPS = 48, 200, 12_000, 60
# From here on N Δ of the sigmoidal network is above 2.9, and its chains stay in the well.
ASYMPTOTIC = 300
GROUPS = 6  # groups of runs; each gives a separate slope


class EscapeSetting(NamedTuple):
    """An activation and a load."""

    activation: Activation
    load: float

    @property
    def label(self) -> str:
        return f"{self.activation.name}, α = {self.load:g}"


# Beyond α_c(5), which is printed as 46.6 and is 45.91.  Both specialized states have R − S = 0.593.
SIGMOIDAL, RECTIFIED = EscapeSetting(Erf(), 47.0), EscapeSetting(ReLU(), 8.918)
SETTINGS = (SIGMOIDAL, RECTIFIED)

NOTE = (
    "oostwal2019, Sec. III A does not say how the effort is measured; the row decides whether the "
    "time to leave R = S grows faster than N. It is the mean number of sweeps of Hamiltonian Monte "
    f"Carlo until ε_g is halfway to that of R > S, {RUNS} chains for each N; the slope is a "
    f"least-squares fit to N = {ASYMPTOTIC} to {DIMENSIONS[-1]}, its error that of {GROUPS} groups "
    "of chains."
)
NOTE_BARRIER = (
    "Chains that cross a barrier need a time proportional to exp(N Δ) for large N. Δ = {:.6f} is "
    "the difference between the maximum of βf on the site-symmetric way from R = S to R > S and βf "
    "at R = S; a path on which units specialize one after another may be lower. N Δ is only {:.1f} "
    "at N = {:.0f}."
)
NOTE_RELU = (
    "oostwal2019, Sec. IV: retarded learning should be much less pronounced in ReLU networks. The "
    "loads are those at which R - S = 0.593 in the state R > S, 47 and 8.918; the mean times at "
    "N = {:.0f} are {:.0f} and {:.1f} sweeps."
)


def escapes(full: bool) -> Iterator[Row | Figure]:
    """Yield picture and rows of the recorded chains, or of chains computed again."""
    before = recorded.load_recorded(KEY, "escape")
    return recorded.show_recorded(
        before, lambda: measured().assign_attrs(before.attrs), _shown, full
    )


def measured(
    dimensions: tuple[int, ...] = DIMENSIONS, runs: int = RUNS, last: int = LAST_SWEEP
) -> xr.Dataset:
    """Escape times over setting, N and run; infinite for chains that stay until the last sweep."""
    times = [
        [escape_times(one, N, runs=runs, last=last, seed=N) for N in dimensions] for one in SETTINGS
    ]
    return xr.Dataset(
        {"escape_time": (("setting", "dimension", "run"), np.array(times), {"unit": "sweeps"})},
        coords={
            "setting": [one.label for one in SETTINGS],
            "dimension": list(dimensions),
            "last_sweep": last,
        },
    )


def escape_times(setting: EscapeSetting, N: int, *, runs: int, last: int, seed: int) -> np.ndarray:
    """The first sweep of each chain after which ε_g is below the middle of the two states."""
    g, load = setting
    unspecialized, specialized = _states(setting)
    middle = 0.5 * float(unspecialized["generalization_error"] + specialized.generalization_error)
    start = site_symmetric(K, *(float(unspecialized[name]) for name in "RSC"))
    scenario = Scenario(Committee(K, g), Committee(K, g), output_scale=K**-0.5)
    tuning = Sampler(scenario, N, 1, TUNING_SWEEPS, runs, seed + 1, start, None)
    tuning.drawn(load)
    sampler = Sampler(scenario, N, BLOCK, 1, runs, seed, start, None)
    sampler.step, sampler.warm_up = tuning.step, 0
    times = np.full(runs, np.inf)
    for sweep in range(0, last, BLOCK):
        below = sampler.drawn(load).generalization_error < middle
        leave = np.isinf(times) & below.any(axis=0)
        times[leave] = sweep + 1 + np.argmax(below, axis=0)[leave]
        if np.isfinite(times).all():
            break
    return times


@cache
def _states(setting: EscapeSetting) -> tuple[xr.Dataset, equilibrium.State]:
    """Return the state R = S, stable or not, and the state R > S."""
    g, load = setting
    unspecialized = equilibrium.free_energy(g, K, load, [0.0]).isel(specialization=0)
    (specialized,) = (s for s in equilibrium.states(g, K, load) if s.kind == "R > S")
    return unspecialized, specialized


@cache
def barrier(setting: EscapeSetting) -> float:
    """Δ: βf at its maximum between R = S and R > S, less βf at R = S."""
    g, load = setting
    V = np.linspace(0.0, _states(setting)[1].R - _states(setting)[1].S, 201)
    profile = K * equilibrium.free_energy(g, K, load, V)["free_energy_per_unit"].values
    top = int(np.argmax(profile))
    if top == 0:
        return 0.0
    a, b, c = profile[top - 1 : top + 2]  # the parabola through the three highest values
    return float(b - (a - c) ** 2 / (8 * (a - 2 * b + c)) - profile[0])


def mean_time(times: np.ndarray, last: float) -> np.ndarray:
    """Return the sweeps of all chains divided by the number of escapes, along the last axis."""
    return np.minimum(times, last).sum(axis=-1) / np.isfinite(times).sum(axis=-1)


def slopes(data: xr.Dataset, setting: EscapeSetting) -> np.ndarray:
    """d ln(mean time)/dN of each group of runs."""
    selected = data.sel(setting=setting.label, dimension=data["dimension"] >= ASYMPTOTIC)
    times = selected["escape_time"].transpose("dimension", "run").values
    grouped = times.reshape(len(times), GROUPS, -1)
    logarithms = np.log(mean_time(grouped, float(data["last_sweep"])))
    N = selected["dimension"].values.astype(float)
    return np.polynomial.polynomial.polyfit(N, logarithms, 1)[1]


def _shown(data: xr.Dataset) -> Iterator[Row | Figure]:
    yield Figure(_drawn(data), {"": data})
    sigmoidal, rectified = (slopes(data, one) for one in SETTINGS)
    N = data["dimension"].values.astype(float)
    proportional = _slope_of_logarithm(N[N >= ASYMPTOTIC])
    item = "Sec. III A, slope of ln(mean time in R = S) over N at α = 47, erf, K = 5"
    row = claim(KEY, item, sigmoidal, ">", proportional, NOTE)
    words = f"{row.computed:.4f}; in proportion to N it would be {proportional:.4f}"
    yield replace(row, words=words, printed="considerable effort in high dimensions")
    Δ = barrier(SIGMOIDAL)
    mean, error = _mean(sigmoidal / Δ)
    item = "Sec. III A, slope of ln(mean time in R = S) over N, divided by the barrier Δ of βf"
    yield unpublished(item, mean, error, NOTE_BARRIER.format(Δ, N[-1] * Δ, N[-1]), KEY)
    last = mean_time(data["escape_time"].values, float(data["last_sweep"]))[:, -1]
    item = "Sec. IV, slope of ln(mean time in R = S) over N, erf less ReLU, K = 5"
    yield claim(KEY, item, sigmoidal - rectified, note=NOTE_RELU.format(N[-1], *last))


def _slope_of_logarithm(N: np.ndarray) -> float:
    """Return the slope of a least-squares fit to ln N, expected of times in proportion to N."""
    return float(np.polynomial.polynomial.polyfit(N, np.log(N), 1)[1])


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def _drawn(data: xr.Dataset) -> Any:
    """Mean times with their standard errors over N, and the slope of the barrier."""
    axes = new_axes(None)
    N = data["dimension"].values.astype(float)
    names = ("sigmoidal, $\\alpha = 47$", "ReLU, $\\alpha = 8.918$")
    for number, (one, label) in enumerate(zip(SETTINGS, names, strict=True)):
        times = data["escape_time"].sel(setting=one.label).values
        mean = mean_time(times, float(data["last_sweep"]))
        error = mean / np.sqrt(np.isfinite(times).sum(axis=-1))
        look: dict[str, Any] = {"fmt": "os"[number], "fillstyle": "none", "color": f"C{number}"}
        axes.errorbar(N, mean, error, label=label, **look)
    large = N[N >= ASYMPTOTIC]
    times = data["escape_time"].sel(setting=SIGMOIDAL.label, dimension=large).values
    logarithms = np.log(mean_time(times, float(data["last_sweep"])))
    Δ = barrier(SIGMOIDAL)
    line = np.exp(np.mean(logarithms) + Δ * (large - large.mean()))
    axes.plot(large, line, "--", color="C0", label=rf"slope $\Delta = {Δ:.4f}$")
    axes.set(yscale="log", xlabel="$N$", ylabel="mean time in $R = S$ [sweeps]")
    finish(axes)
    return axes.figure
