"""The equations from the weights with which a training began, beside the training itself.

A run of N inputs deviates from the equations by chance.  How far it may is seen in simulated
networks of the same N, from the same start: they give the spread of every overlap at every time,
and the law of the largest deviation.  What else may be the reason is tested on what was recorded.
"""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._door import door
from tutelage._findings import Finding
from tutelage.bridge.inputs import Structure
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import to_vector, unchecked
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.trajectory import evolve
from tutelage.runs.provenance import is_json
from tutelage.runs.recompute import made
from tutelage.runs.seed import check_seed
from tutelage.simulation.chain import chain
from tutelage.simulation.statistics import check_runs, components, observed
from tutelage.simulation.theory import theory_at

# Overlaps change slowly: more times of a smooth curve would test nothing new.
MOST_TIMES = 64
# What is measured on data is another number if it is so many standard errors away.
DEVIATIONS = 5.0
# Overlaps of weights in float32.
ROUNDING = 1e-6
# Examples for each step of those who have said one, and taken more.
SEVERAL = 10
# A rate that is wrong by this factor is another one than what is said.
FAR = 5.0
# A batch of more than this part of N is not small.
LARGE_BATCH = 0.1


@dataclass(frozen=True, repr=False)
class Cause(Finding):
    """A reason why a training may part from the equations.

    likely: whether the record speaks for it; None if it does not tell.
    words: what was seen.
    """

    name: str
    likely: bool | None
    words: str

    @property
    def brief(self) -> str:
        sign = {True: "likely", False: "no", None: "not known"}[self.likely]
        return f"{self.name}: {sign}; {self.words}"


@dataclass(frozen=True, repr=False)
class Prediction(Finding):
    """What `predict` found; as a string, in words.

    theory: the equations from the recorded start, a Dataset of `tutelage.online.evolve`.
    record: the run that was recorded.
    networks: simulated networks of the same N from the same start.
    p_value: how often such a network deviates from the equations as much as the run, or more.
    level: below which p_value they part.
    deviation: the largest deviation of the run, in units of the networks' root mean square.
    threshold: what as many networks as a fraction 1 - level of them stay below.
    quantity, time: where that is, such as "R_12".
    parts_at: the first time at which the run is beyond the threshold; None if it is not.
    causes: what may be the reason, each a `Cause`.
    """

    theory: xr.Dataset
    record: xr.Dataset
    networks: xr.Dataset
    p_value: float
    level: float
    deviation: float
    threshold: float
    quantity: str
    time: float
    parts_at: float | None
    causes: tuple[Cause, ...]

    @property
    def agrees(self) -> bool:
        """Whether the equations, with the fluctuations of N inputs, describe the run."""
        return self.p_value > self.level

    @property
    def verdict(self) -> str:
        N = int(self.record.attrs["dimension"])
        if self.agrees:
            return f"the equations describe the run, up to what N = {N} inputs do by chance"
        assert self.parts_at is not None
        return f"the run parts from the equations at α = {self.parts_at:.4g}"

    def __str__(self) -> str:
        largest = (
            f"largest deviation {self.deviation:.2f} times that of networks of the same size "
            f"({self.quantity} at α = {self.time:.4g}), p = {self.p_value:.2g}; "
            f"{self.threshold:.2f} at the level {self.level:g}"
        )
        told = [cause.brief for cause in self.causes if cause.likely or not self.agrees]
        return "\n".join([self.verdict, largest, *told])

    __repr__ = __str__


@door
def predict(
    record: xr.Dataset,
    *,
    scenario: Scenario | None = None,
    level: float = 0.01,
    runs: int = 100,
    seed: int = 0,
    progress: bool = False,
) -> Prediction:
    """The equations from the start of a recorded training, and where the training parts from them.

    With d_ct the deviation of an overlap, a readout or ε_g at a time from the equations, and s_ct
    its root mean square over simulated networks of the same N, batch and start, the run is as far
    away as max |d_ct|/s_ct; how far chance goes is the same number of each of the networks.

    If they part, these are tested: a learning rate or a batch that is another by a factor (dR/dα is
    proportional to η, so that the record shows its rate: one that is far off is told at once);
    batches that are not small beside N; a second layer, or biases, that move although the theory
    has them fixed; and with ``Recorder(inputs=...)`` structure of the inputs, fields that are not
    Gaussian, and an error on the data that is not that of the overlaps.

    Args:
        record: one run, from `Recorder.dataset`, perhaps saved and loaded.
        scenario: ``recorder.scenario``, for units that a file does not hold: functions of the
            user's.
        level: how often a network that does follow the equations is said to part from them.
        runs: simulated networks; 1/level of them at least.
        seed: of the networks.
        progress: show how far integrations and simulations are.

    Returns:
        A `Prediction`: ``theory`` and ``record`` for `tutelage.figures.prediction`, ``agrees``,
        ``parts_at`` and ``causes``; as a string, in words.

    Raises:
        InputError: if it is no record of one run.
    """
    check_runs("record", record)
    if record.attrs.get("computed_by") != "bridge.Recorder" or record.sizes["run"] != 1:
        came = f"{record.sizes['run']} runs of {record.attrs.get('computed_by')}"
        hint = "record.isel(run=[0]), and tl.simulation.compare for many runs"
        raise InputError("record", came, "it has to be one run of tl.bridge.Recorder", hint)
    finite_number("level", level, above=0.0, hint="0.01")
    if level >= 1 or positive_integer("runs", runs, "runs=100") * level < 1 - 1e-9:
        allowed = f"the level {level:g} needs at least {1 / level:.0f} runs, and is below 1"
        raise InputError("runs", f"{runs}", allowed, f"runs={1 / level:.0f}")
    problem = _Problem.of(record, scenario, runs, check_seed(seed), progress)
    _warn_of_another_rate(problem)
    return _predicted(problem, float(level))


@dataclass(frozen=True)
class _Problem:
    """What a record says of its training, and with how many networks it is compared."""

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
    ) -> "_Problem":
        record = record.isel(time=_there(record))
        first = record.isel(run=0, time=0)
        found = _scenario(record) if scenario is None else scenario
        Q, R = (first[name].values for name in "QR")
        start = Overlaps(Q, R, found.T, rounding=ROUNDING)
        rate, readout = (float(record.attrs[name]) for name in ("learning_rate", "readout_rate"))
        batch = int(record.attrs["batch"])
        return cls(record, found, start, rate, readout, batch, runs, seed, progress)

    def other(self, factor: float = 1.0, batch: int | None = None) -> "_Problem":
        """The same with rates times a factor, or with another batch."""
        return replace(
            self,
            rate=factor * self.rate,
            readout_rate=factor * self.readout_rate,
            batch=self.batch if batch is None else batch,
        )

    @property
    def times(self) -> Float[np.ndarray, " time"]:
        """At most `MOST_TIMES`, counted from the first."""
        t = self.record["time"].values
        chosen = np.unique(np.linspace(0, len(t) - 1, MOST_TIMES).round().astype(int))
        return t[chosen] - t[0]

    def theory(self) -> xr.Dataset:
        """The equations from the start."""
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
        """Networks of N inputs from the start."""
        return chain(
            self.scenario,
            self.start,
            self.rate,
            dimension=int(self.record.attrs["dimension"]),
            until=float(self.times[-1]),
            times=self.times,
            readout_rate=self.readout_rate,
            batch=self.batch,
            runs=self.runs,
            seed=self.seed,
            progress=self.progress,
        )

    def values(self, names: list[str]) -> Float[np.ndarray, "time c"]:
        """Of the run, at `times`."""
        t = self.record["time"].values - self.record["time"].values[0]
        at = np.abs(t - self.times[:, None]).argmin(axis=1)
        return components(self.record.isel(run=0, time=at), names)[1]


def _shown_rate(problem: _Problem) -> tuple[float, float]:
    """η with which the record moves, and its standard error.

    dR/dα = η ⟨δ_i y_n⟩ has no term in η²: η is found by least squares over steps of the record,
    each with the mean of ⟨δ_i y_n⟩ at its two ends.
    """
    record = problem.record.isel(run=0)
    flow = Flow(problem.scenario, limit=True, readout_rate=float("readout" in record))
    first = np.unique(np.linspace(0, record.sizes["time"] - 2, MOST_TIMES).round().astype(int))
    ends = [record.isel(time=first + k) for k in (0, 1)]
    T = np.asarray(problem.start.T)

    def speed(end: xr.Dataset) -> np.ndarray:
        y = to_vector(unchecked(end["Q"].values, end["R"].values, T))
        if flow.trained:
            v = end["readout"].transpose("time", "output", "student").values
            y = np.concatenate([y, v.reshape(len(y), -1)], axis=-1)
        return np.asarray(flow.rates(y, T, rate_of(0)))[:, flow.layout.R]

    Δα = ends[1]["time"].values - ends[0]["time"].values
    step = Δα[:, None] * (speed(ends[0]) + speed(ends[1])) / 2
    moved = (ends[1]["R"].values - ends[0]["R"].values).reshape(step.shape)
    squares = max(np.sum(step**2), np.finfo(float).tiny)
    η = float(np.sum(moved * step) / squares)
    return η, float(np.sqrt(np.mean((moved - η * step) ** 2) / squares))


def _is_far(problem: _Problem, η: float, error: float) -> bool:
    """Whether the rate that is seen is surely another one than what the record says.

    A record that moves the wrong way has no rate, and tells nothing.
    """
    beyond = not problem.rate / FAR < η < problem.rate * FAR
    return beyond and η > 0 and abs(η - problem.rate) > DEVIATIONS * error


def _warn_of_another_rate(problem: _Problem) -> None:
    """At once: the equations of a rate that is far too large may take hours."""
    η, error = _shown_rate(problem)
    if _is_far(problem, η, error):
        warnings.warn(
            f"the record moves as with η = {η:.2g}, and by its learning_rate η is "
            f"{problem.rate:.3g}: tl.bridge.Recorder(teacher, learning_rate) takes the number "
            "that the optimizer has, and makes η of it",
            RuntimeWarning,
            stacklevel=4,
        )


def _there(record: xr.Dataset) -> np.ndarray:
    """Indices of the times before a divergence; more than one."""
    there = np.flatnonzero(record["generalization_error"].isel(run=0).notnull().values)
    if len(there) < 2:
        allowed = "there has to be a start and a later time"
        raise InputError("record", f"{len(there)} time(s)", allowed, "more steps, or every=1")
    return there


def _scenario(record: xr.Dataset) -> Scenario:
    """That of the attributes."""
    text = str(record.attrs.get("scenario", ""))
    try:
        found = made(json.loads(text), "scenario", "bridge.Recorder") if is_json(text) else None
    except InputError as problem:
        hint = "tl.bridge.predict(record, scenario=recorder.scenario)"
        raise InputError("scenario", problem.came, problem.allowed, hint) from None
    if not isinstance(found, Scenario):
        raise InputError("record", "no attribute 'scenario'", "a record has one")
    return found


class _Deviation(NamedTuple):
    """Of the run from the equations, in units of that of networks, and the law of the largest."""

    theory: xr.Dataset
    networks: xr.Dataset
    symbols: list[str]
    ratio: Float[np.ndarray, "time c"]
    law: Float[np.ndarray, " networks"]
    distance: float  # mean square of the deviation itself

    @property
    def p_value(self) -> float:
        larger = int(np.sum(self.law >= np.max(self.ratio)))
        return (1 + larger) / (1 + len(self.law))


def _deviation(problem: _Problem) -> _Deviation:
    theory, networks = problem.theory(), problem.networks()
    names = observed(theory, problem.record, networks)
    symbols, x = components(networks, names)
    expected, inexact = theory_at(theory, problem.times, names)
    run = problem.values(names)
    d = x[np.all(np.isfinite(x), axis=(1, 2))] - expected  # without those that have diverged
    if theory.attrs["outcome"] == "diverged" or len(d) < 2:
        return _Deviation(theory, networks, symbols, np.full_like(run, np.inf), np.zeros(1), np.inf)
    allowed = np.maximum(inexact, ROUNDING * np.max(np.abs(expected)))
    squares = np.sum(d**2, axis=0)
    # Each network beside the others: it does not set its own scale.
    others = np.sqrt((squares - d**2) / (len(d) - 1)) + allowed
    law = np.max(np.abs(d) / others, axis=(1, 2))
    ratio = np.abs(run - expected) / (np.sqrt(squares / len(d)) + allowed)
    distance = float(np.mean((run - expected) ** 2))
    return _Deviation(theory, networks, symbols, ratio, law, distance)


def _predicted(problem: _Problem, level: float) -> Prediction:
    found = _deviation(problem)
    t, c = (int(k) for k in np.unravel_index(np.argmax(found.ratio), found.ratio.shape))
    ordered = np.sort(found.law)[::-1]
    threshold = float(ordered[min(int(level * len(ordered)), len(ordered) - 1)])
    beyond = np.flatnonzero(np.max(found.ratio, axis=1) > threshold)
    first, parts = float(problem.record["time"].values[0]), found.p_value <= level
    return Prediction(
        theory=found.theory,
        record=problem.record,
        networks=found.networks,
        p_value=found.p_value,
        level=level,
        deviation=float(found.ratio[t, c]),
        threshold=threshold,
        quantity=found.symbols[c],
        time=first + float(problem.times[t]),
        parts_at=first + float(problem.times[beyond[0]]) if parts else None,
        causes=tuple(_causes(problem, found if parts else None, level)),
    )


def _causes(problem: _Problem, parted: _Deviation | None, level: float) -> Iterator[Cause]:
    parts = parted is not None
    yield _finite_size(problem, parts)
    if parted is not None:
        yield from _other_numbers(problem, parted.distance, level)
    yield _batches(problem, parts)
    yield from _what_moves(problem)
    yield from _data(problem)


def _finite_size(problem: _Problem, parts: bool) -> Cause:
    N = int(problem.record.attrs["dimension"])
    words = "networks of this size go further by chance" if not parts else "chance does not do it"
    return Cause(f"finite size, N = {N}", not parts, words)


def _other_numbers(problem: _Problem, distance: float, level: float) -> Iterator[Cause]:
    """Is the run one with another rate, or another batch?

    It has to be nearer to these equations, too: at a rate at which networks scatter widely every
    run would be one of them.
    """
    η, error = _shown_rate(problem)
    # Of a loss without its half, or with it twice; or what is seen, if that is none of them.
    factors = (0.5, 2.0) if not _is_far(problem, η, error) else (η / problem.rate,)
    every = {f"η = {f * problem.rate:.4g}": problem.other(factor=f) for f in factors}
    found = {name: _deviation(other) for name, other in every.items()}
    best = min(found, key=lambda name: found[name].distance)
    p, likely = found[best].p_value, _explains(found[best], distance, level)
    hint = ": a loss without its half, with another mean, or a rate times N?" if likely else ""
    words = f"it moves as with η = {η:.3g} ± {error:.1g}; with {best} p = {p:.2g}{hint}"
    yield Cause("another learning rate", likely, words)
    batch = 1 if problem.batch > 1 else SEVERAL
    other = _deviation(problem.other(batch=batch))
    words = f"with batch = {batch} p = {other.p_value:.2g}"
    yield Cause("another batch", _explains(other, distance, level), words)


def _explains(other: _Deviation, distance: float, level: float) -> bool:
    return other.p_value > level and other.distance < distance


def _batches(problem: _Problem, parts: bool) -> Cause:
    N = int(problem.record.attrs["dimension"])
    share = problem.batch / N
    words = f"b/N = {share:.3g}, and the equations take batches that are small beside N"
    return Cause("batches", parts and share > LARGE_BATCH, words)


def _what_moves(problem: _Problem) -> Iterator[Cause]:
    record = problem.record
    bias = float(record["largest_bias"].max())
    scale = float(np.sqrt(np.max(np.diagonal(problem.start.Q))))
    yield Cause("biases", bias > ROUNDING * scale, f"up to {bias:.3g}, and the theory has none")
    if "readout" in record and problem.readout_rate == 0:
        v = record["readout"].values
        words = f"it has moved by {np.max(np.abs(v - v[:, :1])):.3g}, and readout_rate is 0"
        yield Cause("second layer", True, words)


def _data(problem: _Problem) -> Iterator[Cause]:
    """Tests on the rows that the recorder was given."""
    record = problem.record
    if "field_kurtosis" not in record:
        words = "Recorder(inputs=rows) would tell"
        yield Cause("structure of the inputs", None, words)
        yield Cause("fields that are not Gaussian", None, words)
        return
    names = ("mean", "mean_error", "covariance", "covariance_error")
    found = Structure(*(float(record.attrs[f"inputs_{name}"]) for name in names))
    yield Cause("structure of the inputs", bool(found.words), found.words or "none is seen")
    κ, error = record["field_kurtosis"].values, float(record["field_kurtosis_standard_error"])
    worst = float(κ.flat[np.argmax(np.abs(κ))])
    words = f"excess kurtosis of up to {worst:.3g} ± {error:.2g}"
    yield Cause("fields that are not Gaussian", abs(worst) > DEVIATIONS * error, words)
    yield _measured(record)


def _measured(record: xr.Dataset) -> Cause:
    """The error on the rows beside that of Gaussian fields with the same overlaps."""
    computed = record["generalization_error"].isel(run=0, time=[0, -1]).values
    mean, error = (
        record[f"measured_error{name}"].isel(run=0).values for name in ("", "_standard_error")
    )
    gap = np.abs(mean - computed) / np.maximum(error, np.finfo(float).tiny)
    k = int(np.argmax(gap))
    words = f"{mean[k]:.4g} ± {error[k]:.2g} at the {('start', 'end')[k]}, overlaps say "
    words += f"{computed[k]:.4g}"
    far = np.abs(mean[k] - computed[k]) > DEVIATIONS * error[k] + ROUNDING
    return Cause("another error on the data", bool(far), words)
