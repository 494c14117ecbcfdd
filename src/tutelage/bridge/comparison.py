"""Compare a record with the equations and with simulated networks of its size."""

import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage import simulation
from tutelage._checks import InputError
from tutelage._types import AnyArray
from tutelage.bridge.optimizers import OptimizerSettings, of_record
from tutelage.model import Overlaps, Scenario
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.trajectory import evolve
from tutelage.runs.provenance import is_json
from tutelage.runs.recompute import from_json
from tutelage.runs.stored_jit import stored_jit
from tutelage.simulation.interpolated_theory import theory_at
from tutelage.simulation.statistics import components, observed

# Overlaps change slowly: more times of a smooth curve would test nothing new.
MOST_TIMES = 64
# Relative error of overlaps of float32 weights.
ROUNDING = 1e-6
# An estimate differs from another number if they are this many standard errors apart.
DEVIATIONS = 5.0
# Rates whose ratio exceeds this factor count as different.
TIMES_APART = 5.0


@dataclass(frozen=True)
class Problem:
    """The settings of a recorded training, and of the simulations it is compared with."""

    record: xr.Dataset
    scenario: Scenario
    start: Overlaps
    rate: float
    readout_rate: float
    batch: int
    runs: int
    seed: int
    progress: bool

    @classmethod
    def of(
        cls, record: xr.Dataset, scenario: Scenario | None, runs: int, seed: int, progress: bool
    ) -> "Problem":
        record = record.isel(time=_finite_times(record))
        first = record.isel(run=0, time=0)
        described = _scenario(record) if scenario is None else scenario
        Q, R = (first[name].values for name in "QR")
        start = Overlaps(Q, R, described.T, rounding=ROUNDING)
        rate, readout = (float(record.attrs[name]) for name in ("learning_rate", "readout_rate"))
        batch = int(record.attrs["batch"])
        return cls(record, described, start, rate, readout, batch, runs, seed, progress)

    def other(self, factor: float = 1.0, batch: int | None = None) -> "Problem":
        """Return a copy with learning rates times a factor, or with another batch size."""
        return replace(
            self,
            rate=factor * self.rate,
            readout_rate=factor * self.readout_rate,
            batch=self.batch if batch is None else batch,
        )

    @property
    def dimension(self) -> int:
        """N."""
        return int(self.record.attrs["dimension"])

    @property
    def optimizer(self) -> OptimizerSettings | None:
        """Settings of the optimizer, if the record has them."""
        return of_record(self.record)

    @property
    def momentum_factor(self) -> float:
        """(1 - d)/(1 - μ) if the given learning rate does not include momentum yet, else 1."""
        optimizer = self.optimizer
        return 1.0 if optimizer is None else optimizer.effective_rate_factor(self.optimizer_rate)

    @property
    def optimizer_rate(self) -> float:
        """The learning rate that was given to the recorder."""
        return float(self.record.attrs["optimizer_rate"])

    @property
    def decays(self) -> tuple[float, float]:
        """γ and γ_v of the optimizer's weight decay; those of the scenario if the optimizer is
        unknown.
        """
        optimizer = self.optimizer
        if optimizer is None or not optimizer.is_gradient_descent:
            return float(self.scenario.weight_decay), float(self.scenario.readout_decay)
        readout = float(self.record.attrs["optimizer_readout_rate"])
        γ, γ_v = (optimizer.decay(rate, self.dimension) for rate in (self.optimizer_rate, readout))
        return γ, γ_v

    def with_optimizer(self) -> "Problem":
        """Return a copy with the momentum and the weight decay of the optimizer."""

        def decays(scenario: Scenario) -> tuple[object, object]:
            return scenario.weight_decay, scenario.readout_decay

        other = self.other(factor=self.momentum_factor)
        return replace(other, scenario=eqx.tree_at(decays, self.scenario, self.decays))

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """Intervals without records, because the training was resumed later."""
        if not self.resumed:
            return []
        N, stride = self.dimension, int(self.record.attrs["every"])
        return [(a / N, b / N) for a, b in self.resumed if b - a > stride]

    @property
    def resumed(self) -> list[tuple[int, int]]:
        """The last step before and the first step after each resumption of the training."""
        try:
            pairs = json.loads(str(self.record.attrs.get("resumed", "[]")))
            return [(int(pair[0]), int(pair[1])) for pair in pairs[:]]
        except (ValueError, TypeError, LookupError):
            allowed = "it has to be a record written by tl.bridge.Recorder"
            raise InputError(
                "record.attrs['resumed']", "a value other than pairs of steps", allowed
            ) from None

    @property
    def times(self) -> Float[np.ndarray, " time"]:
        """Recorded times, at most `MOST_TIMES` of them, from the first."""
        t = self.record["time"].values
        chosen = np.unique(np.linspace(0, len(t) - 1, MOST_TIMES).round().astype(int))
        return t[chosen] - t[0]

    def theory(self) -> xr.Dataset:
        """The equations integrated from the recorded start."""
        t = self.record["time"].values
        return evolve(
            self.scenario,
            self.start,
            self.rate,
            until=float(t[-1] - t[0]),
            times=t - t[0],
            readout_rate=self.readout_rate,
            batch=self.batch,
            progress=self.progress,
        )

    def networks(self) -> xr.Dataset:
        """Simulated networks of N inputs from the recorded start."""
        return simulation.chain(
            self.scenario,
            self.start,
            self.rate,
            dimension=self.dimension,
            until=float(self.times[-1]),
            times=self.times,
            readout_rate=self.readout_rate,
            batch=self.batch,
            runs=self.runs,
            seed=self.seed,
            progress=self.progress,
        )

    def values(self, names: list[str]) -> Float[np.ndarray, "time c"]:
        """Return the recorded components of the run at `times`."""
        t = self.record["time"].values - self.record["time"].values[0]
        at = np.abs(t - self.times[:, None]).argmin(axis=1)
        return components(self.record.isel(run=0, time=at), names)[1]


def _finite_times(record: xr.Dataset) -> np.ndarray:
    """Return the indices of the times before a divergence, at least two."""
    indices = np.flatnonzero(record["generalization_error"].isel(run=0).notnull().values)
    if len(indices) < 2:
        allowed = "there has to be a start and a later time"
        raise InputError("record", f"{len(indices)} time(s)", allowed, "more steps, or every=1")
    return indices


def _scenario(record: xr.Dataset) -> Scenario:
    """Read the scenario from the attributes of a record."""
    text = str(record.attrs.get("scenario", ""))
    try:
        scenario = (
            from_json(json.loads(text), "scenario", "bridge.Recorder") if is_json(text) else None
        )
    except InputError as problem:
        hint = "tl.bridge.predict(record, scenario=recorder.scenario)"
        raise InputError("scenario", problem.received, problem.allowed, hint) from None
    if not isinstance(scenario, Scenario):
        raise InputError("record", "no attribute 'scenario'", "a record has this attribute")
    return scenario


def shown_rate(problem: Problem) -> tuple[float, float]:
    """Estimate the η that the recorded motion shows, and its standard error.

    dR/dα = η ⟨δ_i y_n⟩ - (γ + δ) R_in has no term in η²: η is found by least squares over steps of
    the record, each with the means of ⟨δ_i y_n⟩ and R at its two ends.  Decay γ is that of the
    optimizer where it is known.  Gaps in the record are left out.
    """
    record = problem.record.isel(run=0)
    shrinks = problem.decays[0] + float(problem.scenario.drift)
    flow = Flow(_undamped(problem.scenario), limit=True, readout_rate=float("readout" in record))
    usable = _without_gaps(problem)
    chosen = np.linspace(0, len(usable) - 1, MOST_TIMES).round().astype(int)
    first = usable[np.unique(chosen)]
    ends = [record.isel(time=first + k) for k in (0, 1)]
    T = np.asarray(problem.start.T)

    def speed(end: xr.Dataset) -> np.ndarray:
        blocks = {
            b.name: end[b.name].transpose("time", *b.dimensions).values for b in flow.layout.blocks
        }
        y = flow.layout.vector(blocks)
        return np.asarray(_rates(flow, y, T))[:, flow.layout["R"]]

    Δα = ends[1]["time"].values - ends[0]["time"].values
    step = Δα[:, None] * (speed(ends[0]) + speed(ends[1])) / 2
    before, after = (end["R"].values.reshape(step.shape) for end in ends)
    moved = after - before + shrinks * Δα[:, None] * (after + before) / 2
    squares = max(np.sum(step**2), np.finfo(float).tiny)
    η = float(np.sum(moved * step) / squares)
    return η, float(np.sqrt(np.mean((moved - η * step) ** 2) / squares))


@stored_jit
def _rates(flow: Flow, y: Float[AnyArray, "... d"], T: Float[AnyArray, "... M M"]) -> Any:
    """dy/dα in the limit η → 0, compiled in one piece."""
    return flow.rates(y, T, rate_of(0))


def _undamped(scenario: Scenario) -> Scenario:
    """Return the scenario without weight decay, readout decay and drift."""

    def numbers(scenario: Scenario) -> tuple[object, ...]:
        return scenario.weight_decay, scenario.readout_decay, scenario.drift

    return eqx.tree_at(numbers, scenario, (0.0, 0.0, 0.0))


def _without_gaps(problem: Problem) -> np.ndarray:
    """Return the indices of records that are followed by a record of the same part of
    the training.
    """
    t = problem.record["time"].values
    middle = (t[1:] + t[:-1]) / 2
    across = [(a < middle) & (middle < b) for a, b in problem.gaps]
    usable = np.flatnonzero(~np.any(across, axis=0)) if across else np.arange(len(t) - 1)
    return usable if len(usable) else np.arange(len(t) - 1)


def is_far(problem: Problem, η: float, error: float) -> bool:
    """Whether the estimated learning rate differs significantly from the recorded one.

    A record that moves in the wrong direction has no rate.
    """
    beyond = not problem.rate / TIMES_APART < η < problem.rate * TIMES_APART
    return beyond and η > 0 and abs(η - problem.rate) > DEVIATIONS * error


class RunDeviation(NamedTuple):
    """Deviation of a run from the equations relative to that of networks, with its distribution."""

    theory: xr.Dataset
    networks: xr.Dataset
    symbols: list[str]
    ratio: Float[np.ndarray, "time c"]
    law: Float[np.ndarray, " networks"]
    distance: float  # mean square of the deviation, not relative to networks

    @property
    def p_value(self) -> float:
        larger = int(np.sum(self.law >= np.max(self.ratio)))
        return (1 + larger) / (1 + len(self.law))

    @property
    def p_words(self) -> str:
        return p_in_words(self.p_value, len(self.law))


def p_in_words(p: float, networks: int) -> str:
    """Format a p-value; if no network deviated as much, as a bound from the number of networks.

    >>> p_in_words(0.44, 100), p_in_words(1 / 101, 100)
    ('p = 0.44', 'p < 0.01')
    """
    none = p * (1 + networks) < 1.5
    return f"p < {1 / networks:.2g}" if none else f"p = {p:.2g}"


def deviation(problem: Problem) -> RunDeviation:
    theory, networks = problem.theory(), problem.networks()
    names = observed(theory, problem.record, networks)
    symbols, x = components(networks, names)
    expected, inexact = theory_at(theory, problem.times, names)
    run = problem.values(names)
    d = x[np.all(np.isfinite(x), axis=(1, 2))] - expected  # without diverged runs
    if theory.attrs["outcome"] == "diverged" or len(d) < 2:
        law = np.zeros(
            problem.runs
        )  # the run goes further than any network, all of which stay finite
        return RunDeviation(theory, networks, symbols, np.full_like(run, np.inf), law, np.inf)
    allowed = np.maximum(inexact, ROUNDING * np.max(np.abs(expected)))
    squares = np.sum(d**2, axis=0)
    # Compare each network with the others, so that it does not set its own scale.
    others = np.sqrt((squares - d**2) / (len(d) - 1)) + allowed
    law = np.max(np.abs(d) / others, axis=(1, 2))
    ratio = np.abs(run - expected) / (np.sqrt(squares / len(d)) + allowed)
    distance = float(np.mean((run - expected) ** 2))
    return RunDeviation(theory, networks, symbols, ratio, law, distance)
