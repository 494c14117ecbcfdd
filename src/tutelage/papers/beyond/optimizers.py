"""Beyond the papers: does an orthogonalized gradient leave the plateau sooner?

Steps with the mean gradient of bN new examples, at the constant learning rate that leaves the
plateau in the fewest steps, and at the best of a few schedules.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage import online, optimizers, simulation
from tutelage._jax import jnp
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers import recorded
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

OPTIMIZERS = {
    "plain": optimizers.Plain(),
    "momentum": optimizers.Momentum(0.9),
    "normalized": optimizers.Normalized(),
    "muon": optimizers.Muon(),
}
BATCHES = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
# Most steps of a run; batches below SMALL_BATCH, with noisy steps and small rates, may have more.
STEPS, STEPS_OF_SMALL, SMALL_BATCH = 600, 600, 1.0
PREFERENCE = 0.02
RATES = np.geomspace(0.003, 12.0, 25)
# Schedules as factors of a rate over the fraction of the steps that its constant rate needs.
SHAPES: dict[str, Callable[[Any], Any]] = {
    "falling": lambda x: 2.0 / (1.0 + 2.0 * x),
    "rising": lambda x: 0.5 + jnp.minimum(x, 1.0),
    "late": lambda x: jnp.where(x < 0.5, 1.0, 2.0),
}
FACTORS = (0.7, 1.0, 1.4)
# Networks on the map: inputs, runs, batch, and the numbers of units K = M that are simulated.
DIMENSION, RUNS, NETWORK_BATCH, NETWORK_UNITS = 400, 8, 1.0, (2,)
NOTE = (
    "Steps until ε_g is half of its value on the plateau for η → 0, from Q = diag(0.2, 0.3, …), "
    "R = 0.02 times the identity, T = 1, at the best of 25 constant rates from 0.003 to 12. A step "
    "is a whole number; the neighbouring rates differ by a factor of 1.41."
)


class EqualPair(NamedTuple):
    """A student and a teacher with equal numbers of units."""

    activation: Activation
    units: int

    @property
    def label(self) -> str:
        return f"{self.activation.name}, K = M = {self.units}"

    @property
    def scenario(self) -> Scenario:
        committee = Committee(self.units, self.activation)
        return Scenario(committee, committee)

    @property
    def start(self) -> Overlaps:
        Q = np.diag(0.1 * (2 + np.arange(self.units)))
        return Overlaps(Q=Q, R=PREFERENCE * np.eye(self.units), T=np.eye(self.units))


NOTE_STEPS = "Steps to half of the error of the plateau, with the best constant rate and schedule:"
CASES = (EqualPair(Erf(), 2), EqualPair(ReLU(), 2), EqualPair(Erf(), 3), EqualPair(ReLU(), 3))


def level(case: EqualPair) -> float:
    """Return half of ε_g on the plateau in the limit η → 0."""
    height = online.plateau(case.scenario, case.start, 0).height
    assert height is not None
    return 0.5 * float(height.value)


def steps_to(error: np.ndarray, goal: float) -> float:
    """Return the first step after which ε_g is below a level; infinite if there is none."""
    below = np.flatnonzero(error < goal)
    return float(below[0]) if len(below) else np.inf


def most_steps(batch: float) -> int:
    """Return the number of steps after which a run ends."""
    return STEPS if batch >= SMALL_BATCH else STEPS_OF_SMALL


def needed(case: EqualPair, optimizer: Any, batch: float, rate: Any, goal: float) -> float:
    """Return the steps needed to leave the plateau with a learning rate or a schedule."""
    run = online.iterate(
        case.scenario, case.start, rate, steps=most_steps(batch), batch=batch, optimizer=optimizer
    )
    return steps_to(run["generalization_error"].values, goal)


def best_constant(
    case: EqualPair, optimizer: Any, batch: float, goal: float
) -> tuple[float, float, np.ndarray]:
    """Return the fewest steps at a constant rate, that rate, and the steps of all rates."""
    steps = np.array([needed(case, optimizer, batch, float(rate), goal) for rate in RATES])
    best = int(np.argmin(steps))
    return float(steps[best]), float(RATES[best]), steps


def best_scheduled(
    case: EqualPair, optimizer: Any, batch: float, constant: tuple[float, float], goal: float
) -> tuple[float, str]:
    """Return the fewest steps with a schedule, and the shape of that schedule."""
    count, rate = constant
    scale = max(count, 1.0) * batch
    steps = {"constant": count}
    for name, shape in SHAPES.items():
        steps[name] = min(
            needed(case, optimizer, batch, lambda t, f=f, g=shape: f * rate * g(t / scale), goal)
            for f in FACTORS
        )
    name = min(steps, key=lambda one: steps[one])
    return steps[name], name


def table(cases: tuple[EqualPair, ...], progress: Callable[[str], object] = str) -> xr.Dataset:
    """Tabulate steps over case, optimizer and batch, for the best constant rate and the best
    schedule.
    """
    sizes = (len(cases), len(OPTIMIZERS), len(BATCHES))
    constant, rates, scheduled = (np.full(sizes, np.nan) for _ in range(3))
    shapes = np.full(sizes, "", dtype="<U10")
    maps = np.full((*sizes, len(RATES)), np.nan)
    for c, case in enumerate(cases):
        goal = level(case)
        for o, optimizer in enumerate(OPTIMIZERS.values()):
            for b, batch in enumerate(BATCHES):
                at = (c, o, b)
                constant[at], rates[at], maps[at] = best_constant(case, optimizer, batch, goal)
                if np.isfinite(constant[at]):
                    best = (constant[at], rates[at])
                    scheduled[at], shapes[at] = best_scheduled(case, optimizer, batch, best, goal)
            progress(f"{case.label}, {optimizer}")
    over = ("case", "optimizer", "batch")
    return xr.Dataset(
        {
            "steps": (over, constant),
            "learning_rate": (over, rates),
            "scheduled_steps": (over, scheduled),
            "schedule": (over, shapes),
            "map": ((*over, "rate"), maps),
        },
        coords={
            "case": [case.label for case in cases],
            "optimizer": list(OPTIMIZERS),
            "batch": list(BATCHES),
            "rate": RATES,
        },
    )


def networks(case: EqualPair, optimizer: Any, rate: float) -> np.ndarray:
    """Count the steps in which finite networks leave the plateau, one number for each run."""
    N, goal, b = DIMENSION, level(case), NETWORK_BATCH
    theory = needed(case, optimizer, b, rate, goal)
    count = int(min(2 * theory + 20, STEPS))
    runs = simulation.network(
        case.scenario,
        case.start,
        rate * N,
        dimension=N,
        until=count / N,
        times=np.arange(count + 1) / N,
        batch=round(b * N),
        optimizer=optimizer,
        runs=RUNS,
    )
    errors = runs["generalization_error"].values
    return np.array([steps_to(error, goal) for error in errors])


def measured() -> xr.Dataset:
    """Return the map and the simulated networks: the content of ``recorded/optimizers.nc``."""
    data = table(CASES)
    steps, errors = (np.full((len(CASES), len(OPTIMIZERS)), np.nan) for _ in range(2))
    rates = data["learning_rate"].sel(batch=NETWORK_BATCH).values
    for c, case in enumerate(CASES):
        if case.units not in NETWORK_UNITS:
            continue
        for o, optimizer in enumerate(OPTIMIZERS.values()):
            runs = networks(case, optimizer, float(rates[c, o]))
            steps[c, o] = np.mean(runs)
            errors[c, o] = np.std(runs, ddof=1) / np.sqrt(len(runs))
    over = ("case", "optimizer")
    means = {"network_steps": (over, steps), "network_error": (over, errors)}
    return data.assign({**means, "network_batch": NETWORK_BATCH})


def compute(full: bool) -> Iterator[Row | Figure]:
    """Return the recorded map; a full run computes it again."""
    before = recorded.load_recorded("beyond", "optimizers")
    if full:
        now = measured().assign_attrs(before.attrs)
        yield from recorded.compare_with_recorded(_shown(now), _shown(before))
    else:
        yield from recorded.mark_recorded(_shown(before), recorded.describe_origin(before))


def _shown(data: xr.Dataset) -> Iterator[Row | Figure]:
    yield _drawn(data)
    for case in data["case"].values:
        for batch in (BATCHES[0], 1.0, BATCHES[-1]):
            one = data.sel(case=case, batch=batch)
            steps = {str(o): float(one["steps"].sel(optimizer=o)) for o in OPTIMIZERS}
            best = {str(o): float(one["scheduled_steps"].sel(optimizer=o)) for o in OPTIMIZERS}
            if not np.all(np.isfinite([*steps.values()])):
                continue
            item = f"Optimizers: {case}, b = {batch:g}, steps of Muon over steps of plain descent"
            ratio = steps["muon"] / steps["plain"]
            each = "; ".join(f"{o}: {steps[o]:.0f} and {best[o]:.0f}" for o in OPTIMIZERS)
            error = ratio * (1 / steps["muon"] + 1 / steps["plain"])
            yield unpublished(item, ratio, error, f"{NOTE_STEPS} {each}.")


def _drawn(data: xr.Dataset) -> Figure:
    import matplotlib.pyplot as plt

    from tutelage.figures import optimizer_map

    count = data.sizes["case"]
    figure, axes = plt.subplots(1, count, figsize=(3.6 * count, 3.6), layout="constrained")
    for axis, case in zip(np.atleast_1d(axes), data["case"].values, strict=True):
        optimizer_map(data.sel(case=case), axis).set_title(str(case))
    return Figure(figure, {"": data})


SECTIONS = (
    Section(
        "optimizers",
        "Optimizers on the plateau",
        "Steps with the mean gradient of bN new examples until ε_g is half of its value on the "
        "plateau, over b, each at its best constant learning rate (lines) and with the best of "
        f"three shapes of schedules (dashed); squares with bars: networks of N = {DIMENSION} "
        f"inputs with K = M = {', '.join(map(str, NETWORK_UNITS))} at b = {NETWORK_BATCH:g}, mean "
        f"of {RUNS} runs and standard error. No run has more than {STEPS_OF_SMALL} steps. " + NOTE,
        compute,
        "Computes the map and the simulated networks again, in about five minutes.",
    ),
)
