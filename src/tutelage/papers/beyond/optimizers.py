"""Beyond the papers: does an orthogonalized gradient leave the plateau sooner?

Steps with the mean gradient of bN new examples, at the constant learning rate that leaves the
plateau in the fewest steps, and at the best of a few schedules; and finite networks that learn so.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage import online, optimizers
from tutelage._jax import jnp
from tutelage.activations import Activation, Erf, ReLU
from tutelage.figures.style import colour, new_grid, new_panels
from tutelage.figures.text import finish, share_legend, with_formulas
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers import recorded
from tutelage.papers.beyond import finite_networks
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

OPTIMIZERS = {
    "plain": optimizers.Plain(),
    "momentum": optimizers.Momentum(0.9),
    "normalized": optimizers.Normalized(),
    "muon": optimizers.Muon(),
}
BATCHES = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
# A run has at least this many steps and, in small batches, at least this many examples per input.
STEPS, EXAMPLES_PER_INPUT = 600, 300.0
PREFERENCE = 0.02
# The ratio of neighbouring rates is 1.19.
RATES = 0.003 * 4000.0 ** (np.arange(-12, 49) / 48)
# Schedules as factors of a rate over the fraction of the steps that its constant rate needs.
SHAPES: dict[str, Callable[[Any], Any]] = {
    "falling": lambda x: 2.0 / (1.0 + 2.0 * x),
    "rising": lambda x: 0.5 + jnp.minimum(x, 1.0),
    "late": lambda x: jnp.where(x < 0.5, 1.0, 2.0),
}
FACTORS = (0.7, 1.0, 1.4)
# Networks on the map: with all weights, and drawn through their overlaps.
DIMENSION, NETWORK_RUNS, NETWORK_BATCH = 400, 8, 10.0
CHAIN_DIMENSIONS, CHAIN_RUNS = (DIMENSION, 1600, 6400), 16
# Largest number of examples per input for which networks are simulated: longer runs take hours.
MOST_OF_NETWORKS, MOST_OF_CHAINS = 300.0, 4000.0
# Most steps of networks, in units of the steps of the theory.
LONGEST = (1.4, 5.0, 20.0)
ROWS_AT = (0.1, 1.0, 100.0)
# The theory barely reaches the goal where a goal lower by this factor takes so much longer.
LOWER_GOAL, LATER, LATER_STEPS = 0.97, 1.1, 1.0
NOTE = (
    "Steps until ε_g is half of its value on the plateau for η → 0, from Q = diag(0.2, 0.3, …), "
    "R = 0.02 times the identity, T = 1, at the best of 61 constant rates from 0.0004 to 12. A "
    "step is a whole number; neighbouring rates differ by a factor of 1.19."
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


NOTE_NETWORKS = (
    "Mean steps at the rate that is best in the theory; a passage is linear in ln ε_g between "
    f"steps. {CHAIN_RUNS} networks drawn through their overlaps for each N = "
    f"{', '.join(map(str, CHAIN_DIMENSIONS))}, at all points at which the theory needs at most "
    f"{MOST_OF_CHAINS:g} examples per input; {NETWORK_RUNS} networks of N = {DIMENSION} with all "
    f"their weights at b = {NETWORK_BATCH:g}, up to {MOST_OF_NETWORKS:g} examples per input."
)
NOTE_SHARE = "{} points; normal errors would have {:.1%}."
NOTE_BARELY = (
    f"To {LOWER_GOAL:g} of this goal the theory needs more than {LATER:g} times as many steps and "
    f"{LATER_STEPS:g}: ε_g only just falls below the goal and rises again, and networks that stay "
    "above it leave later. These points are not in the shares."
)
WITHIN = ((2, 0.9545), (3, 0.9973))
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
    return max(STEPS, round(EXAMPLES_PER_INPUT / batch))


def needed(case: EqualPair, optimizer: Any, batch: float, rate: Any, goal: float) -> float:
    """Return the steps needed to leave the plateau with a learning rate or a schedule."""
    return steps_to(_errors(case, optimizer, batch, rate), goal)


def _errors(case: EqualPair, optimizer: Any, batch: float, rate: Any) -> np.ndarray:
    run = online.iterate(
        case.scenario, case.start, rate, steps=most_steps(batch), batch=batch, optimizer=optimizer
    )
    return np.asarray(run["generalization_error"])


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


def measured() -> xr.Dataset:
    """Return the map and the simulated networks: the content of ``recorded/optimizers.nc``."""
    keys = [
        (case, optimizer, batch)
        for batch in BATCHES
        for case in range(len(CASES))
        for optimizer in reversed(OPTIMIZERS)
    ]
    parts = recorded.in_parts("optimizers", keys, point)
    joined = xr.combine_by_coords(parts, combine_attrs="drop")
    assert isinstance(joined, xr.Dataset)
    data = joined.sel(case=[case.label for case in CASES], optimizer=list(OPTIMIZERS))
    return data.assign(lower_passage=(data["passage"].dims, _lower_passages(data)))


def _lower_passages(data: xr.Dataset) -> np.ndarray:
    """Return the steps of the theory to a slightly lower goal, at the best constant rates."""
    passages, goals = np.full(data["passage"].shape, np.nan), [level(case) for case in CASES]
    for at in np.ndindex(passages.shape):
        case, optimizer, batch = CASES[at[0]], [*OPTIMIZERS.values()][at[1]], BATCHES[at[2]]
        errors = _errors(case, optimizer, batch, float(data["learning_rate"].values[at]))
        passages[at] = finite_networks.passage(errors, LOWER_GOAL * goals[at[0]])
    return passages


def point(key: tuple[int, str, float]) -> xr.Dataset:
    """Return the steps of theory and networks for a case, an optimizer and a batch."""
    number, name, batch = key
    case, optimizer, goal = CASES[number], OPTIMIZERS[name], level(CASES[number])
    count, rate, of_rates = best_constant(case, optimizer, batch, goal)
    scheduled, shape = best_scheduled(case, optimizer, batch, (count, rate), goal)
    task = finite_networks.Task(case.scenario, case.start, optimizer, batch, rate)
    errors = _errors(case, optimizer, batch, rate)
    theory = finite_networks.passage(errors, goal)
    seed = [number, list(OPTIMIZERS).index(name), 1 + BATCHES.index(batch)]
    chains = [np.full(CHAIN_RUNS, np.nan) for _ in CHAIN_DIMENSIONS]
    if theory * batch <= MOST_OF_CHAINS:
        chains = [
            _passages(finite_networks.chain, task, N, theory, goal, CHAIN_RUNS, [*seed, N])
            for N in CHAIN_DIMENSIONS
        ]
    weights = np.full(NETWORK_RUNS, np.nan)
    if batch == NETWORK_BATCH and theory * batch <= MOST_OF_NETWORKS:
        run_seed = 1000 * seed[0] + 100 * seed[1] + seed[2]
        weights = _passages(
            finite_networks.networks, task, DIMENSION, theory, goal, NETWORK_RUNS, run_seed
        )
    over = ("case", "optimizer", "batch")
    numbers: dict[str, Any] = {
        "steps": count,
        "learning_rate": rate,
        "scheduled_steps": scheduled,
        "schedule": shape,
        "passage": theory,
    }
    return xr.Dataset(
        {
            **{name: (over, np.reshape(value, (1, 1, 1))) for name, value in numbers.items()},
            "map": ((*over, "rate"), of_rates[None, None, None]),
            "network_passage": ((*over, "network_run"), weights[None, None, None]),
            "chain_passage": ((*over, "dimension", "run"), np.array(chains)[None, None, None]),
        },
        coords={
            "case": [case.label],
            "optimizer": [name],
            "batch": [batch],
            "rate": RATES,
            "dimension": list(CHAIN_DIMENSIONS),
        },
    )


def _passages(
    simulate: Callable[..., np.ndarray],
    task: finite_networks.Task,
    N: int,
    theory: float,
    goal: float,
    runs: int,
    seed: Any,
) -> np.ndarray:
    """Return the steps in which finite networks leave the plateau, one number for each run."""
    passages = np.full(runs, np.inf)
    for factor in LONGEST:
        passages = simulate(task, N, int(factor * theory) + 20, goal, runs, seed)
        if np.all(np.isfinite(passages)):
            break
    return passages


def deviations(data: xr.Dataset) -> xr.Dataset:
    """Return means of the networks less the steps of the theory, and standard errors.

    ``chains`` has a further entry N = ∞, the extrapolation linear in 1/N from the two largest N.
    """
    chains, errors = _moments(data["chain_passage"])
    small, large = data["dimension"].values[-2:]
    # a + c/N through both: the weight of the larger N is N/(N - n).
    weight = large / (large - small)
    at, at_smaller, error, error_of_smaller = (
        x.isel(dimension=i, drop=True) for x in (chains, errors) for i in (-1, -2)
    )
    limit = weight * at + (1 - weight) * at_smaller
    limit_error = np.hypot(weight * error, (1 - weight) * error_of_smaller)
    with_limit, with_limit_error = (
        # New values, because those of a file are saved as whole numbers.
        xr.concat([x, y.assign_coords(dimension=np.inf)], "dimension").assign_coords(
            dimension=[*data["dimension"].values.astype(float), np.inf]
        )
        for x, y in ((chains, limit), (errors, limit_error))
    )
    weights, weights_error = _moments(data["network_passage"])
    return xr.Dataset(
        {
            "chains": with_limit - data["passage"],
            "chains_error": with_limit_error,
            "networks": weights - data["passage"],
            "networks_error": weights_error,
            "between": weights - chains.isel(dimension=0, drop=True),
            "between_error": np.hypot(weights_error, errors.isel(dimension=0, drop=True)),
        }
    )


def _moments(passages: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return means over runs, the last dimension, and their standard errors."""
    run = str(passages.dims[-1])
    error = passages.std(run, ddof=1) / np.sqrt(passages.sizes[run])
    return passages.mean(run), error


def compute(full: bool) -> Iterator[Row | Figure]:
    """Return the recorded map; a full run computes it again."""
    before = recorded.load_recorded("beyond", "optimizers")
    return recorded.show_recorded(
        before, lambda: measured().assign_attrs(before.attrs), _shown, full
    )


def _shown(data: xr.Dataset) -> Iterator[Row | Figure]:
    yield _drawn(data)
    for case in data["case"].values:
        for batch in ROWS_AT:
            one = data.sel(case=case, batch=batch)
            steps = {str(o): float(one["steps"].sel(optimizer=o)) for o in OPTIMIZERS}
            best = {str(o): float(one["scheduled_steps"].sel(optimizer=o)) for o in OPTIMIZERS}
            item = f"Optimizers: {case}, b = {batch:g}, steps of Muon over steps of plain descent"
            ratio = steps["muon"] / steps["plain"]
            each = "; ".join(f"{o}: {steps[o]:.0f} and {best[o]:.0f}" for o in OPTIMIZERS)
            error = ratio * (1 / steps["muon"] + 1 / steps["plain"])
            yield unpublished(item, ratio, error, f"{NOTE_STEPS} {each}.")
    yield _drawn_deviations(data)
    yield from _network_rows(data)


def _network_rows(data: xr.Dataset) -> Iterator[Row]:
    """Compare the networks with the theory, and networks with all weights with those drawn."""
    at = {"batch": 1.0, "dimension": DIMENSION}
    means, errors = (x.sel(at) for x in _moments(data["chain_passage"]))
    for case in data["case"].values:
        muon, plain = (
            (float(means.sel(case=case, optimizer=o)), float(errors.sel(case=case, optimizer=o)))
            for o in ("muon", "plain")
        )
        ratio = muon[0] / plain[0]
        error = ratio * float(np.hypot(muon[1] / muon[0], plain[1] / plain[0]))
        item = f"Optimizers: {case}, b = 1, networks of N = {DIMENSION}, steps of Muon over plain"
        yield unpublished(item, ratio, error, NOTE_NETWORKS)
    of = deviations(data)
    barely = data["lower_passage"] > LATER * data["passage"] + LATER_STEPS
    count = int(barely.sum())
    yield unpublished("Optimizers: points at which the theory barely leaves", count, 0, NOTE_BARELY)
    ratios = (of["chains"] / of["chains_error"]).where(~barely)
    compared = {
        f"networks of N = {DIMENSION} with all weights and those drawn through overlaps": (
            of["between"] / of["between_error"]
        ),
        **{
            f"networks of N = {N} and the theory": ratios.sel(dimension=N)
            for N in CHAIN_DIMENSIONS[1:]
        },
        "networks extrapolated to 1/N = 0 and the theory": ratios.sel(dimension=np.inf),
    }
    for words, ratios in compared.items():
        values = np.abs(ratios.values[np.isfinite(ratios.values)])
        for limit, expected in WITHIN:
            share = float(np.mean(values < limit))
            item = f"Optimizers: share of points within {limit} standard errors, {words}"
            note = f"{NOTE_SHARE.format(len(values), expected)} {NOTE_NETWORKS}"
            yield unpublished(item, share, _binomial_error(share, len(values)), note)


def _binomial_error(share: float, count: int) -> float:
    return float(max(np.sqrt(share * (1 - share) / count), 1 / count))


def _drawn(data: xr.Dataset) -> Figure:
    from tutelage.figures import optimizer_map

    means, errors = _moments(data["chain_passage"].sel(dimension=DIMENSION))
    renamed = {"batch": "network_batch"}
    shown = data.assign(network_steps=means.rename(renamed), network_error=errors.rename(renamed))
    count = data.sizes["case"]
    figure, axes = new_grid(1, count, (3.6 * count, 3.6))
    for axis, case in zip(np.atleast_1d(axes), data["case"].values, strict=True):
        optimizer_map(shown.sel(case=case), axis).set_title(with_formulas(str(case)))
    share_legend(np.atleast_1d(axes))
    return Figure(figure, {"": shown})


def _drawn_deviations(data: xr.Dataset) -> Figure:
    of, axes = deviations(data), new_panels(data.sizes["case"])
    relative = of["chains"] / data["passage"]
    error = of["chains_error"] / data["passage"]
    for axis, case in zip(np.atleast_1d(axes), data["case"].values, strict=True):
        for number, name in enumerate(OPTIMIZERS):
            at = {"case": case, "optimizer": name, "dimension": CHAIN_DIMENSIONS[-1]}
            axis.errorbar(
                data["batch"] * 1.06 ** (number - 1.5),  # side by side
                relative.sel(at), error.sel(at),
                fmt=".", capsize=2, color=colour(number), label=name,
            )  # fmt: skip
        axis.axhline(0.0, color="0.5", linestyle=":")
        axis.set(xscale="log", xlabel="examples per input $b$", title=with_formulas(str(case)))
        axis.set(ylabel="networks / theory - 1")
        finish(axis)
    share_legend(np.atleast_1d(axes))
    return Figure(np.atleast_1d(axes)[0].figure, {"": of}, "deviations")


SECTIONS = (
    Section(
        "optimizers",
        "Optimizers on the plateau",
        "Steps with the mean gradient of bN new examples until ε_g is half of its value on the "
        "plateau, over b, each at its best constant learning rate (lines) and with the best of "
        f"three shapes of schedules (dashed); squares with bars: networks of N = {DIMENSION} "
        f"inputs, mean of {CHAIN_RUNS} runs and standard error. The second figure: deviation of "
        f"networks of N = {CHAIN_DIMENSIONS[-1]:,} from the theory. " + NOTE,
        compute,
        "Computes the map and the simulated networks again, in more than an hour on one core.",
    ),
)
