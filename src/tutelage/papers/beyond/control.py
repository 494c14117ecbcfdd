"""Beyond straat2019 and citton2025: the best of all schedules of the learning rate.

The optimal schedule of `tutelage.online.best_control` to a given error, with its certificate, next
to finite networks that learn with it; and how the optimal rate decays late if labels are noisy.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from tutelage import online, simulation
from tutelage.activations import Linear, ReLU
from tutelage.figures.text import SYMBOLS, finish, with_formulas
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers import recorded
from tutelage.papers.citton2025.runs import scenario, start
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

GOAL = 1e-4
# Best constant rate and best rate that changes once (section "schedules"), confirmed by a second
# code.
CONSTANT, TWO_RATES = 92.605, 83.53
# Finite networks with the optimal schedule.
DIMENSION, RUNS, RECORDS, SEED = 200_000, 16, 61, 0
# Late decay: label noise, end, knots, and the times between which the exponent is fitted.
NOISE, UNTIL, KNOTS, LATE = 0.5, 400.0, 30, (100.0, 380.0)
NOTE = (
    "ReLU, K = M = 2, T = diag(1, 2), start of citton2025 Fig. 1, rates from 0 to 3, 80 intervals. "
    "Second route: another integrator with the schedule as a function, and finite networks "
    "(tests/online/best/test_control.py)."
)
NOTE_RUNS = (
    f"Overlap chain, N = {DIMENSION}, {RUNS} runs with the optimal schedule to its end, against "
    "the curve of tl.online.evolve with the same schedule (tl.simulation.compare)."
)
NOTE_LATE = (
    f"Label noise {NOISE}, end α = {UNTIL:g}, {KNOTS} intervals; fit of ln η over ln α from "
    f"{LATE[0]:g} to {LATE[1]:g}. The linear unit has η = E/(E + ς²) with "
    "α = ς²(1/E - 1/E₀) + ln(E₀/E), hence η → 1/α."
)


class Late(NamedTuple):
    """A scenario whose students have specialized already, and its start."""

    name: str
    scenario: Scenario
    start: Overlaps


def _late(name: str, activation: Linear | ReLU, units: int) -> Late:
    committee = Committee(units, activation)
    overlaps = Overlaps(Q=0.7 * np.eye(units) + 0.05, R=0.6 * np.eye(units) + 0.02, T=np.eye(units))
    return Late(name, Scenario(committee, committee, label_noise=NOISE), overlaps)


LATE_CASES = (
    _late("linear unit", Linear(), 1),
    _late("ReLU, K = M = 1", ReLU(), 1),
)


def optimal() -> xr.Dataset:
    """Return the optimal schedule, certificate and networks: ``recorded/control.nc``."""
    best = recorded.part("schedule", best_schedule)
    schedule = online.LinearSchedule(best["knot_time"].values, best["rate"].values)
    networks = recorded.part("networks", lambda: _networks(schedule, float(best["end"])))
    return xr.merge([best, networks], combine_attrs="drop").assign_attrs(networks.attrs)


def best_schedule() -> xr.Dataset:
    """Return the best schedule to the goal, and its certificate."""
    best = online.best_control(scenario(), start(), error=GOAL)
    certificate = best.certificate
    assert certificate is not None
    names = ("generalization_error", "learning_rate", "hamiltonian", "Q", "R")
    return xr.Dataset(
        {
            **{name: best.curve[name] for name in names},
            "knot_time": ("knot", np.asarray(best.schedule.times)),
            "rate": ("knot", np.asarray(best.schedule.values)),
            "end": float(best.time.value),
            "end_error": float(best.time.error),
            "spread": ("resolution", list(certificate.hamiltonian_spread)),
            "gradient_norm": certificate.gradient_norm,
            "smallest_increase": certificate.smallest_increase,
            "start_value": ("start", list(certificate.start_values)),
            "start_distance": float(certificate.start_distance or np.nan),
        },
        coords={"start": list(certificate.starts)},
    )


def _networks(schedule: online.LinearSchedule, end: float) -> xr.Dataset:
    """Return errors of networks with a schedule, of the theory, and how they compare."""
    times = np.linspace(0.0, end, RECORDS)
    options: dict[str, Any] = {"until": end, "times": times}
    theory = online.evolve(scenario(), start(), schedule, tolerance=1e-10, **options)
    runs = simulation.chain(
        scenario(), start(), schedule, dimension=DIMENSION, runs=RUNS, seed=SEED, **options
    )
    outcome = simulation.compare(theory, runs)
    errors = runs["generalization_error"].values
    return xr.Dataset(
        {
            "mean_error": ("record", np.mean(errors, axis=0)),
            "standard_error": ("record", np.std(errors, axis=0, ddof=1) / np.sqrt(RUNS)),
            "theory_error": ("record", theory["generalization_error"].values),
            "record_time": ("record", times),
            "raw_p": outcome.raw.p_value,
            "biased_p": outcome.beyond_bias.p_value if outcome.beyond_bias else np.nan,
            "agrees": outcome.agrees,
        },
        attrs={"comparison": str(outcome)},
    )


def late_decay() -> xr.Dataset:
    """Return optimal rates at late times with noisy labels: ``recorded/late_rates.nc``."""
    cases = {case.name: case for case in LATE_CASES}
    rows = recorded.in_parts("late", cases, lambda name: _decay(cases[name]))
    return xr.concat(rows, "case", combine_attrs="drop").assign_coords(case=list(cases))


def _decay(case: Late) -> xr.Dataset:
    best = online.best_control(case.scenario, case.start, until=UNTIL, knots=KNOTS)
    times = np.geomspace(1.0, UNTIL, 61)
    rates = np.asarray(best.schedule(times))
    late = (times > LATE[0]) & (times < LATE[1])
    slope, covariance = np.polyfit(np.log(times[late]), np.log(rates[late]), 1, cov=True)
    growth = np.polyfit(times[late], 1 / rates[late], 1)[0]
    assert best.certificate is not None
    return xr.Dataset(
        {
            "learning_rate": ("time", rates),
            "exponent": slope[0],
            "exponent_error": np.sqrt(covariance[0, 0]),
            "growth": growth,
            "final_error": float(best.generalization_error.value),
            "spread": best.certificate.hamiltonian_spread[1],
        },
        coords={"time": ("time", times, {"symbol": "α"})},
    )


def show_best(full: bool) -> Iterator[Row | Figure]:
    """Show the recorded schedule and networks; a full run computes them again."""
    before = recorded.load_recorded("beyond", "control")
    return recorded.show_recorded(
        before, optimal, lambda best: chain([_draw_best(best)], _best_rows(best)), full
    )


def show_late(full: bool) -> Iterator[Row | Figure]:
    """Show the recorded late rates; a full run computes them again."""
    before = recorded.load_recorded("beyond", "late_rates")
    return recorded.show_recorded(
        before, late_decay, lambda rates: chain([_draw_late(rates)], _late_rows(rates)), full
    )


def _draw_best(best: xr.Dataset) -> Figure:
    from tutelage.figures.style import new_panels

    left, right = new_panels(2)
    left.plot(best["knot_time"], best["rate"], color="C0")
    left.set(xlabel=r"$\alpha$", ylabel=r"$\eta$", ylim=(0.0, None))
    right.plot(best["record_time"], best["theory_error"], color="C0", label="theory")
    right.errorbar(
        best["record_time"], best["mean_error"], yerr=best["standard_error"], fmt=".",
        color="C1", label=f"$N = {DIMENSION}$",
    )  # fmt: skip
    right.set(xlabel=r"$\alpha$", ylabel=SYMBOLS["generalization_error"], yscale="log")
    finish(left), finish(right)
    return Figure(left.figure, {"": best})


def _draw_late(late: xr.Dataset) -> Figure:
    from tutelage.figures.style import new_panels

    axes = np.atleast_1d(new_panels(1))[0]
    for case in late["case"].values:
        one = late.sel(case=case)
        axes.loglog(one["time"], one["learning_rate"], label=with_formulas(str(case)))
    axes.plot([20, UNTIL], [1 / 20, 1 / UNTIL], color="0.5", linestyle=":", label=r"$1/\alpha$")
    axes.set(xlabel=r"$\alpha$", ylabel=r"$\eta$")
    finish(axes)
    return Figure(axes.figure, {"": late})


def _best_rows(best: xr.Dataset) -> Iterator[Row]:
    end, error = float(best["end"]), float(best["end_error"])
    note = f"{NOTE} {_certificate(best)}"
    yield unpublished("Control: time α to ε_g = 10⁻⁴ with the best schedule", end, error, note)
    for words, other in (("constant rate", CONSTANT), ("rate that changes once", TWO_RATES)):
        item = f"Control: part of the examples saved over the best {words}"
        yield unpublished(item, 1 - end / other, (error + 0.005) / other, NOTE)
    H = best["hamiltonian"].values
    mean, spread = float(np.mean(H)), float(np.ptp(H))
    yield unpublished("Control: Hamiltonian, d ln ε_g/dα at the end", mean, spread, note)
    note = f"{NOTE_RUNS} {best.attrs['comparison']}"
    for share in (0.5, 1.0):
        n = round(share * (RECORDS - 1))
        expected = float(best["theory_error"][n])
        ratio, width = (float(best[x][n]) / expected for x in ("mean_error", "standard_error"))
        item = f"Control: ε_g of networks over that of the theory at {share:.0%} of the time"
        yield unpublished(item, ratio, width, note)


def _late_rows(late: xr.Dataset) -> Iterator[Row]:
    times = late["time"].values
    chosen = times[(times > LATE[0]) & (times < LATE[1])]
    exponent, growth = _fits(chosen, _closed_form(LATE_CASES[0], chosen))
    linear = late.sel(case=LATE_CASES[0].name)
    knot_error = abs(float(linear["exponent"]) - exponent)
    growth_error = abs(float(linear["growth"]) - growth)
    note = (
        f"{NOTE_LATE} In closed form the linear unit has {exponent:.4f} and {growth:.4f}; errors "
        "are those of the fit plus the difference of the linear unit from it."
    )
    for case in late["case"].values:
        one = late.sel(case=case)
        width = float(one["exponent_error"])
        item = f"Control, {case}: late exponent of η"
        yield unpublished(item, float(one["exponent"]), width + knot_error, note)
        item = f"Control, {case}: d(1/η)/dα at late times"
        slope = float(one["growth"])
        yield unpublished(item, slope, width * slope + growth_error, note)


def _fits(times: np.ndarray, rates: np.ndarray) -> tuple[float, float]:
    """Return d ln η/d ln α and d(1/η)/dα by linear fits."""
    exponent = np.polyfit(np.log(times), np.log(rates), 1)[0]
    return float(exponent), float(np.polyfit(times, 1 / rates, 1)[0])


def _closed_form(case: Late, times: np.ndarray) -> np.ndarray:
    """Return the optimal learning rates of a linear unit, from its time as a function of E."""
    Q, R, T = (float(getattr(case.start, name)[0, 0]) for name in "QRT")
    first, noise = Q - 2 * R + T, NOISE**2

    def excess(E: float, time: float) -> float:
        return noise * (1 / E - 1 / first) + np.log(first / E) - time

    errors = [brentq(excess, 1e-9, first, args=(time,)) for time in times]
    return np.array([E / (E + noise) for E in errors])


def _certificate(best: xr.Dataset) -> str:
    """Describe the evidence that the schedule is optimal."""
    coarse, fine = best["spread"].values
    return (
        f"Spread of the Hamiltonian {coarse:.2g} and {fine:.2g} of its mean with 40 and 80 "
        f"intervals; norm of the gradient {float(best['gradient_norm']):.1g}; 20 random "
        f"perturbations raise ln ε_g by at least {float(best['smallest_increase']):.1g}; searches "
        f"from {best.sizes['start']} schedules end within {float(best['start_value'].max()):.1g} "
        f"in ln ε_g, and {float(best['start_distance']):.1g} of the bounds in the schedule."
    )


SECTIONS = (
    Section(
        "control",
        "The best of all schedules",
        "Two ReLU students of graded teachers from the start of citton2025. Left: the schedule "
        "that reaches ε_g = 10⁻⁴ soonest. Right: the error with it, from the equations and in "
        f"the mean of {RUNS} networks of {DIMENSION:,} inputs.",
        show_best,
        "all data computed again, minutes",
        lambda: recorded.digest("beyond"),
    ),
    Section(
        "late_rates",
        "The best schedule at late times with noisy labels",
        f"Optimal learning rates with label noise {NOISE} and an end at α = {UNTIL:g}, linear "
        f"between {KNOTS + 1} knots; dotted: 1/α.",
        show_late,
        "all data computed again, minutes",
        lambda: recorded.digest("beyond"),
    ),
)
