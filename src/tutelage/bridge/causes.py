"""Possible reasons for a deviation of a training from the equations, each tested on the record."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from tutelage._findings import Finding
from tutelage.bridge.comparison import (
    DEVIATIONS,
    ROUNDING,
    Problem,
    RunDeviation,
    deviation,
    is_far,
    shown_rate,
)
from tutelage.bridge.inputs import Structure

# Factor between the reported and the actual number of examples per step that is tested.
ALTERNATIVE_BATCH_SIZE = 10
# A batch of more than this part of N is not small.
LARGE_BATCH = 0.1
# Decay rates with a smaller relative difference count as equal.
SAME_DECAY = 1e-3


@dataclass(frozen=True, repr=False)
class Cause(Finding):
    """A possible reason for a deviation of a training from the equations.

    likely: whether the record supports it; None if the record does not decide.
    words: the evidence.
    """

    name: str
    likely: bool | None
    words: str

    @property
    def brief(self) -> str:
        sign = {True: "likely", False: "no", None: "not known"}[self.likely]
        return f"{self.name}: {sign}; {self.words}"


def causes_of(problem: Problem, deviation: RunDeviation | None, level: float) -> Iterator[Cause]:
    """List all possible causes of a deviation; it is None if the run agrees within chance."""
    departs = deviation is not None
    yield _finite_size(problem, departs)
    if deviation is not None:
        training = [*_optimizer(problem, deviation.distance), *_dropout(problem)]
        yield from training
        if not any(cause.likely for cause in training):
            yield from _other_numbers(problem, deviation.distance, level)
    yield _batches(problem, departs)
    yield from _what_moves(problem)
    yield from _data(problem)
    yield from _gaps(problem)


def _finite_size(problem: Problem, departs: bool) -> Cause:
    N = problem.dimension
    words = (
        "simulated networks of this size deviate more, by chance"
        if not departs
        else ("simulated networks of this size deviate less")
    )
    return Cause(f"finite size, N = {N}", not departs, words)


def _optimizer(problem: Problem, distance: float) -> Iterator[Cause]:
    """Yield differences between the optimizer and the gradient descent of the equations."""
    optimizer = problem.optimizer
    if optimizer is None:
        words = "Recorder(optimizer=optimizer) would record momentum, weight decay or Adam"
        yield Cause("optimizer", None, words)
        return
    if not optimizer.is_gradient_descent:
        words = f"{optimizer.name}, and the equations describe plain gradient descent"
        yield Cause("optimizer", True, words)
        return
    yield from _changing_rate(problem)
    has_momentum, decays = problem.momentum_factor != 1, _unknown_decays(problem)
    if not has_momentum and not decays:
        words = f"{optimizer.name}, fully described by the equations"
        yield Cause("optimizer", False, words)
        return
    other = deviation(problem.with_optimizer())
    nearer, words = other.distance < distance, f"with it {other.p_words}"
    if has_momentum:
        yield Cause("momentum", nearer, f"{_momentum(problem)}; {words}: {_rate_hint(problem)}")
    for name, λ, γ, present in decays:
        said = (
            f"the optimizer's {λ:g} is {γ:.6g} in the equations, and the scenario has {present:g}"
        )
        yield Cause(name.replace("_", " "), nearer, f"{said}; {words}: {_decay_hint(problem)}")


def _momentum(problem: Problem) -> str:
    """Report momentum, which in on-line learning is a larger learning rate."""
    optimizer = problem.optimizer
    assert optimizer is not None
    formula = "η (1 - d)/(1 - μ)" if optimizer.dampening else "η/(1 - μ)"
    η = problem.momentum_factor * problem.rate
    return f"μ = {optimizer.momentum:g} acts on-line like the learning rate {formula} = {η:.4g}"


def _rate_hint(problem: Problem) -> str:
    rate = problem.momentum_factor * problem.optimizer_rate
    return f"Recorder(teacher, learning_rate={rate:.6g}, ...) takes it into account"


def momentum_words(problem: Problem) -> str:
    """Describe the effect of momentum on the learning rate; empty without momentum."""
    if problem.momentum_factor == 1:
        return ""
    return f"momentum {_momentum(problem)}; {_rate_hint(problem)}"


def _unknown_decays(problem: Problem) -> list[tuple[str, float, float, float]]:
    """Yield name, λ of the optimizer, γ in the equations and the scenario's γ, where
    these differ.
    """
    optimizer, scenario = problem.optimizer, problem.scenario
    assert optimizer is not None
    present = (float(scenario.weight_decay), float(scenario.readout_decay))
    rows = zip(("weight_decay", "readout_decay"), problem.decays, present, strict=True)
    return [
        (name, optimizer.weight_decay, γ, value)
        for name, γ, value in rows
        if not math.isclose(γ, value, rel_tol=SAME_DECAY)
    ]


def _decay_hint(problem: Problem) -> str:
    named = zip(("weight_decay", "readout_decay"), problem.decays, strict=True)
    given = ", ".join(f"{name}={γ:.6g}" for name, γ in named if γ)
    committees = "recorder.scenario.student, recorder.scenario.teacher, recorder.scenario.T"
    return f"predict(record, scenario=tl.Scenario({committees}, {given}))"


def _changing_rate(problem: Problem) -> Iterator[Cause]:
    text = problem.record.attrs.get("optimizer_rate_factors")
    if text is not None:
        least, most = json.loads(str(text))
        words = f"from {least:.3g} to {most:.3g} times the first rate, but predict uses one rate"
        yield Cause("learning rate that changes", True, words)


def _dropout(problem: Problem) -> Iterator[Cause]:
    parts = problem.record.attrs.get("dropout")
    if parts:
        yield Cause("dropout", True, f"{parts}; the equations have no such layers")


def _gaps(problem: Problem) -> Iterator[Cause]:
    if problem.resumed:
        times = ", ".join(f"{b / problem.dimension:.4g}" for _, b in problem.resumed)
        gaps = ", ".join(f"α = {a:.4g} to {b:.4g}" for a, b in problem.gaps)
        missing = f"records are missing from {gaps}" if gaps else "no records are missing"
        words = f"at α = {times}; {missing}: do the recorded weights belong to the given steps?"
        yield Cause("resumed training", None, words)


def _other_numbers(problem: Problem, distance: float, level: float) -> Iterator[Cause]:
    """Test whether another learning rate or batch size explains the run.

    It has to be nearer to these equations, too: at a rate at which networks scatter widely every
    run would be one of them.
    """
    η, error = shown_rate(problem)
    # Common errors: a loss without its factor ½, or with this factor twice; otherwise the rate
    # estimated from the motion.
    factors = (0.5, 2.0) if not is_far(problem, η, error) else (η / problem.rate,)
    every = {f"η = {f * problem.rate:.4g}": problem.other(factor=f) for f in factors}
    deviations = {name: deviation(other) for name, other in every.items()}
    best = min(deviations, key=lambda name: deviations[name].distance)
    p, likely = deviations[best].p_words, _explains(deviations[best], distance, level)
    hint = f": {_rate_questions(problem, larger=η > problem.rate)}?" if likely else ""
    words = f"the overlaps move as with η = {η:.3g} ± {error:.1g}; with {best} {p}{hint}"
    yield Cause("another learning rate", likely, words)
    batch = 1 if problem.batch > 1 else ALTERNATIVE_BATCH_SIZE
    other = deviation(problem.other(batch=batch))
    words = f"with batch = {batch} {other.p_words}"
    yield Cause("another batch size", _explains(other, distance, level), words)


def _rate_questions(problem: Problem, *, larger: bool) -> str:
    """List usual reasons for a learning rate that differs from the recorded one."""
    usual = "a loss without its half, with another mean, or a rate times N"
    return f"momentum, {usual}" if larger and problem.optimizer is None else usual


def _explains(other: RunDeviation, distance: float, level: float) -> bool:
    return other.p_value > level and other.distance < distance


def _batches(problem: Problem, departs: bool) -> Cause:
    share = problem.batch / problem.dimension
    words = f"b/N = {share:.3g}; the equations need batches much smaller than N"
    return Cause("batches", departs and share > LARGE_BATCH, words)


def _what_moves(problem: Problem) -> Iterator[Cause]:
    record = problem.record
    bias = float(record["largest_bias"].max())
    scale = float(np.sqrt(np.max(np.diagonal(problem.start.Q))))
    yield Cause("biases", bias > ROUNDING * scale, f"up to {bias:.3g}; the theory has none")
    if "readout" in record and problem.readout_rate == 0:
        v = record["readout"].values
        words = f"it has changed by {np.max(np.abs(v - v[:, :1])):.3g}, although readout_rate is 0"
        yield Cause("second layer", True, words)


def _data(problem: Problem) -> Iterator[Cause]:
    """Test the rows of data that the recorder received."""
    record = problem.record
    if "field_kurtosis" not in record:
        words = "Recorder(inputs=rows) would measure it"
        yield Cause("structure of the inputs", None, words)
        yield Cause("fields that are not Gaussian", None, words)
        return
    names = ("mean", "mean_error", "covariance", "covariance_error")
    structure = Structure(*(float(record.attrs[f"inputs_{name}"]) for name in names))
    yield Cause(
        "structure of the inputs",
        bool(structure.words),
        structure.words or ("no structure was found"),
    )
    κ, error = record["field_kurtosis"].values, float(record["field_kurtosis_standard_error"])
    worst = float(κ.flat[np.argmax(np.abs(κ))])
    words = f"excess kurtosis of up to {worst:.3g} ± {error:.2g}"
    yield Cause("fields that are not Gaussian", abs(worst) > DEVIATIONS * error, words)
    yield _measured(record)


def _measured(record: xr.Dataset) -> Cause:
    """Compare the error on the data with that of Gaussian fields with the same overlaps."""
    computed = record["generalization_error"].isel(run=0, time=[0, -1]).values
    mean, error = (
        record[f"measured_error{name}"].isel(run=0).values for name in ("", "_standard_error")
    )
    gap = np.abs(mean - computed) / np.maximum(error, np.finfo(float).tiny)
    k = int(np.argmax(gap))
    words = f"{mean[k]:.4g} ± {error[k]:.2g} at the {('start', 'end')[k]}, overlaps give "
    words += f"{computed[k]:.4g}"
    far = np.abs(mean[k] - computed[k]) > DEVIATIONS * error[k] + ROUNDING
    return Cause("different error on the data", bool(far), words)
