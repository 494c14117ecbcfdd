"""Why a training may part from the equations, each reason tested on what was recorded."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from tutelage._findings import Finding
from tutelage.bridge.comparison import (
    DEVIATIONS,
    ROUNDING,
    Deviation,
    Problem,
    deviation,
    is_far,
    shown_rate,
)
from tutelage.bridge.inputs import Structure

# Examples for each step of those who have said one, and taken more.
SEVERAL = 10
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


def causes_of(problem: Problem, parted: Deviation | None, level: float) -> Iterator[Cause]:
    """All of them; ``parted`` is how far the run is away, None if no further than chance goes."""
    parts = parted is not None
    yield _finite_size(problem, parts)
    if parted is not None:
        yield from _other_numbers(problem, parted.distance, level)
    yield _batches(problem, parts)
    yield from _what_moves(problem)
    yield from _data(problem)


def _finite_size(problem: Problem, parts: bool) -> Cause:
    N = int(problem.record.attrs["dimension"])
    words = "networks of this size go further by chance" if not parts else "chance does not do it"
    return Cause(f"finite size, N = {N}", not parts, words)


def _other_numbers(problem: Problem, distance: float, level: float) -> Iterator[Cause]:
    """Is the run one with another rate, or another batch?

    It has to be nearer to these equations, too: at a rate at which networks scatter widely every
    run would be one of them.
    """
    η, error = shown_rate(problem)
    # Of a loss without its half, or with it twice; or what is seen, if that is none of them.
    factors = (0.5, 2.0) if not is_far(problem, η, error) else (η / problem.rate,)
    every = {f"η = {f * problem.rate:.4g}": problem.other(factor=f) for f in factors}
    found = {name: deviation(other) for name, other in every.items()}
    best = min(found, key=lambda name: found[name].distance)
    p, likely = found[best].p_value, _explains(found[best], distance, level)
    hint = ": a loss without its half, with another mean, or a rate times N?" if likely else ""
    words = f"it moves as with η = {η:.3g} ± {error:.1g}; with {best} p = {p:.2g}{hint}"
    yield Cause("another learning rate", likely, words)
    batch = 1 if problem.batch > 1 else SEVERAL
    other = deviation(problem.other(batch=batch))
    words = f"with batch = {batch} p = {other.p_value:.2g}"
    yield Cause("another batch", _explains(other, distance, level), words)


def _explains(other: Deviation, distance: float, level: float) -> bool:
    return other.p_value > level and other.distance < distance


def _batches(problem: Problem, parts: bool) -> Cause:
    N = int(problem.record.attrs["dimension"])
    share = problem.batch / N
    words = f"b/N = {share:.3g}, and the equations take batches that are small beside N"
    return Cause("batches", parts and share > LARGE_BATCH, words)


def _what_moves(problem: Problem) -> Iterator[Cause]:
    record = problem.record
    bias = float(record["largest_bias"].max())
    scale = float(np.sqrt(np.max(np.diagonal(problem.start.Q))))
    yield Cause("biases", bias > ROUNDING * scale, f"up to {bias:.3g}, and the theory has none")
    if "readout" in record and problem.readout_rate == 0:
        v = record["readout"].values
        words = f"it has moved by {np.max(np.abs(v - v[:, :1])):.3g}, and readout_rate is 0"
        yield Cause("second layer", True, words)


def _data(problem: Problem) -> Iterator[Cause]:
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
