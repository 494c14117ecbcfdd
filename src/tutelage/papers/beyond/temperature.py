"""Beyond oostwal2019: learning at any temperature, K → ∞.

oostwal2019 works in the limit of high temperature, and names the step beyond as its first wish.
The theory is `tutelage.equilibrium.thermal`, its check the networks of `temperature_runs`.
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr
from scipy.optimize import minimize_scalar

from tutelage import equilibrium
from tutelage.activations import GELU, Activation, Erf, LeakyReLU, ReLU, Swish
from tutelage.figures.style import new_grid
from tutelage.figures.text import finish, share_legend
from tutelage.papers import recorded
from tutelage.papers.beyond import temperature_runs as runs
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

NOISE = 0.3
# From 0.02 and from 0.01 to above 1; the Nishimori temperature, where α̃_c of erf units ends, is one
# of them.
TEMPERATURES = NOISE**2 * 4.5 ** (np.arange(-4, 8) / 4)
MANY_TEMPERATURES = NOISE**2 * 9.0 ** (np.arange(-18, 22) / 18)
UNITS: dict[str, Activation] = {
    "erf": Erf(),
    "ReLU": ReLU(),
    "leaky ReLU, slope 0.2": LeakyReLU(0.2),
    "Swish": Swish(),
    "GELU": GELU(),
}
# The last α̃ of each diagram.
LAST_LOADS = {"erf": 30.0, "ReLU": 6.0, "leaky ReLU, slope 0.2": 8.0, "Swish": 8.0, "GELU": 6.0}
NOTE = (
    "K → ∞, replica symmetric, without label noise. Second route: saddle-point equations as "
    "derivatives of the free energy in mpmath (tests/equilibrium/thermal)."
)
SAMPLED = (
    "Weights of finite networks that learn drawn examples, two replicas per set of examples, "
    "started at the teacher. It uses nothing of the theory. Second route: the theory of K → ∞."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute thresholds, temperatures and approximations; sampled networks are recorded."""
    yield _diagrams(MANY_TEMPERATURES if full else TEMPERATURES)
    yield from _thresholds()
    yield from _annealed()
    yield from _best_temperature()
    before = recorded.load_recorded("beyond", "temperature")
    yield from recorded.show_recorded(before, runs.measured, sampled_rows, full)


@cache
def threshold(name: str, T: float, approximation: str = "quenched") -> tuple[float, float]:
    """Return α̃_c and its error."""
    setting = {"temperature": T, "approximation": approximation}
    load = equilibrium.transitions(UNITS[name], math.inf, **setting).coexists
    assert load is not None  # without noise there is a transition at every temperature
    return float(load.value), float(load.error)


def _thresholds() -> Iterator[Row]:
    """Return α̃_c over T, and the activation with the lowest α̃_c at T = 0."""
    for name in UNITS:
        for T in (0.0, 0.1, 1.0):
            yield unpublished(f"{name}: α̃_c at T = {T:g}", *threshold(name, T), NOTE)
    lowest = min(UNITS, key=lambda name: threshold(name, 0.0)[0])
    note = (
        f"Of these units {lowest} has the lowest one. α̃_c = Σ_n≥2 c_n²/(2c_2²) ≥ ½, reached by "
        "quadratic units: "
        "the other Hermite coefficients act as noise until units specialize."
    )
    yield unpublished("lowest α̃_c at T = 0 of these units", *threshold(lowest, 0.0), note)


def _annealed() -> Iterator[Row]:
    for name in ("erf", "ReLU"):
        (quenched, a), (annealed, b) = (
            threshold(name, 0.1, kind) for kind in ("quenched", "annealed")
        )
        ratio = annealed / quenched
        item = f"{name}: annealed α̃_c over quenched α̃_c at T = 0.1"
        yield unpublished(item, ratio, ratio * (a / quenched + b / annealed), NOTE)


def _best_temperature() -> Iterator[Row]:
    """Return the temperature at which a typical student has the lowest ε_g."""
    note = (
        "Label noise ς = 0.3. ε_g is that of one student drawn at T, not of the mean of the "
        "posterior, whose best temperature is ς² = 0.09. R is largest over T exactly where the "
        "replicon Λ vanishes: at a given R the first saddle-point equation fixes (T + A)/(1 − q), "
        "and the derivative of the second in q is Λ. Where replica symmetry is stable, cooling "
        "lowers ε_g; only the unstable ansatz predicts that further cooling raises it."
    )
    for load in (3.0, 6.0):
        best = minimize_scalar(
            lambda T, load=load: specialized("ReLU", load, T).generalization_error,
            bounds=(1e-4, NOISE**2),
            method="bounded",
            options={"xatol": 1e-7},
        )
        state = specialized("ReLU", load, float(best.x))
        cold = specialized("ReLU", load, 0.0).generalization_error
        item = f"ReLU, ς = 0.3, α̃ = {load:g}: temperature of lowest ε_g"
        # Near a minimum ε_g changes by rounding only within the square root of the rounding error.
        yield unpublished(item, float(best.x), 1e-6, note)
        item = f"ReLU, ς = 0.3, α̃ = {load:g}: replicon Λ there"
        yield unpublished(item, float(state.replicon or 0.0), 1e-4, note)
        item = f"ReLU, ς = 0.3, α̃ = {load:g}: ε_g there over ε_g at T = 0"
        yield unpublished(item, state.generalization_error / cold, 1e-9, note)
    zero, cold = (specialized("erf", 14.0, T).generalization_error for T in (0.0, 0.01))
    item = "erf, ς = 0.3, α̃ = 14: ε_g at T = 0 over ε_g at T = 0.01"
    note = (
        "Where replica symmetry is stable down to T = 0, no temperature above 0 is better than T = "
        "0."
    )
    yield unpublished(item, zero / cold, 1e-9, note)


def specialized(name: str, load: float, T: float) -> equilibrium.ThermalState:
    """Return the specialized state with the largest R, with label noise."""
    unit = UNITS[name]
    listed = equilibrium.states(unit, math.inf, load, temperature=T, label_noise=NOISE)
    return max((s for s in listed if s.R > 0), key=lambda s: s.R)


def sampled_rows(data: xr.Dataset) -> Iterator[Row]:
    """Rows of sampled networks: gaps to K → ∞ times K, inputs that ReLU units need, and
    cold units.
    """
    for run in runs.SIZES:
        one = data.sel(run=run.name)
        for quantity in ("R", "q"):
            value, spread = _numbers(one, quantity)
            gap = run.K * (value - float(one["theory"].sel(quantity=quantity)))
            item = f"erf, K = {run.K}, α̃ = 9, T = 0.1: K ({quantity} − {quantity} of K → ∞)"
            yield unpublished(item, gap, run.K * spread, SAMPLED)
    for run in runs.STARTS:
        one = data.sel(run=run.name)
        item = f"erf, K = {run.K}, α̃ = 9, T = 0.1, from random weights: q"
        yield unpublished(
            item, *_numbers(one, "q"), ("As in the rows above, but started from random weights.")
        )
    note = f"{SAMPLED} R falls below the invariant overlap while units rotate among themselves."
    for run in runs.INPUTS:
        one = data.sel(run=run.name)
        for quantity, words in (("R", "R"), ("invariant_overlap", "√(Σ R_in²/K)")):
            item = f"ReLU, K = 4, N = {run.N}, α̃ = 3, T = 0.1: {words}"
            yield unpublished(item, *_numbers(one, quantity), note)
    for run in runs.COLD:
        item = f"{run.activation}, K = 8, α̃ = 1, T = {run.temperature:g}: √(Σ R_in²/K)"
        yield unpublished(item, *_numbers(data.sel(run=run.name), "invariant_overlap"), SAMPLED)


def _numbers(one: xr.Dataset, quantity: str) -> tuple[float, float]:
    values = one.sel(quantity=quantity)
    return float(values["mean"]), float(values["standard_error"])


def _diagrams(temperatures: np.ndarray) -> Figure:
    """Draw the phases of all units with noisy labels, and α̃_c over T without noise."""

    from tutelage import figures, sweeps

    figure, grid = new_grid(2, 3, (13.0, 9.0))
    axes, data = grid.ravel(), {}
    for place, name in zip(axes, UNITS, strict=False):
        data[name] = sweeps.run(
            equilibrium.phases,
            {"temperature": temperatures},
            activation=UNITS[name],
            units=math.inf,
            loads=np.linspace(0.2, LAST_LOADS[name], 41),
            label_noise=NOISE,
            workers=1,
        )
        figures.temperature_diagram(data[name], place)
        place.set_title(f"{name}, $\\varsigma = {NOISE:g}$")
    loads = np.array([[threshold(name, float(T))[0] for T in temperatures] for name in UNITS])
    for name, row in zip(UNITS, loads, strict=True):
        axes[-1].plot(temperatures, row, label=name)
    axes[-1].set(xscale="log", yscale="log", xlabel="$T$", ylabel=r"$\tilde\alpha_c$")
    axes[-1].set_title("no noise")
    finish(axes[-1])
    share_legend(axes[:-1])
    data["thresholds"] = xr.Dataset(
        {"coexists": (("unit", "temperature"), loads)},
        coords={"unit": list(UNITS), "temperature": temperatures},
    )
    return Figure(figure, data)


SECTIONS = (
    Section(
        "temperature",
        "Learning at any temperature",
        "Examples per weight α̃ = P/(KN) at which units specialize, over the temperature: phases "
        "with label noise ς = 0.3. At T = ς² the student is Bayes-optimal. At lower temperatures "
        "students may agree with each other before they agree with the teacher. A colder student "
        "has a lower ε_g down to the hatched area, where Λ = 0. Last: α̃_c without noise; at T = 0 "
        "it is 1 for erf units and π/2 − 1 for the ReLU.",
        compute,
        "40 temperatures instead of 12, and the sampled networks again, five minutes",
        lambda: recorded.digest("beyond"),
    ),
)
