"""Compare a training with the equations started from its initial weights.

A run of N inputs deviates from the equations by chance.  How far it may is seen in simulated
networks of the same N, from the same start: they give the spread of every overlap at every time,
and the law of the largest deviation.  Other possible reasons are tested on the record.
"""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._findings import Finding
from tutelage.bridge.causes import Cause, causes_of, momentum_words
from tutelage.bridge.comparison import Problem, deviation, is_far, p_in_words, shown_rate
from tutelage.bridge.cost import announce
from tutelage.model import Scenario
from tutelage.runs.seed import check_seed
from tutelage.simulation.statistics import check_runs


@dataclass(frozen=True, repr=False)
class Prediction(Finding):
    """The result of `predict`; ``str`` describes it in words.

    theory: the equations from the recorded start, a Dataset of `tutelage.online.evolve`.
    record: the run that was recorded.
    networks: simulated networks of the same N from the same start.
    compared: the number of these networks that did not diverge.
    p_value: how often such a network deviates from the equations as much as the run, or more.
    level: below which p_value they part.
    deviation: the largest deviation of the run, in units of the networks' root mean square.
    threshold: what as many networks as a fraction 1 - level of them stay below.
    quantity, time: where that is, such as "R_12".
    departs_at: the first time at which the run is beyond the threshold; None if it is not.
    causes: what may be the reason, each a `Cause`.
    """

    theory: xr.Dataset
    record: xr.Dataset
    networks: xr.Dataset
    compared: int
    p_value: float
    level: float
    deviation: float
    threshold: float
    quantity: str
    time: float
    departs_at: float | None
    causes: tuple[Cause, ...]

    @property
    def agrees(self) -> bool:
        """Return whether the equations, with the fluctuations of N inputs, describe the run."""
        return self.p_value > self.level

    @property
    def verdict(self) -> str:
        N = int(self.record.attrs["dimension"])
        if self.agrees:
            return f"the equations describe the run, up to the fluctuations of N = {N} inputs"
        if self.theory.attrs["outcome"] == "diverged":
            ended = float(self.record["time"].values[0]) + float(self.theory.attrs["ended_at"])
            return f"the equations diverge at α = {ended:.4g}, and the run does not"
        if not math.isfinite(self.deviation):
            return f"simulated networks of N = {N} inputs diverge, and the run does not"
        assert self.departs_at is not None
        return f"the run departs from the equations at α = {self.departs_at:.4g}"

    def __str__(self) -> str:
        lines = [self.verdict]
        if math.isfinite(self.deviation):
            lines.append(
                f"largest deviation {self.deviation:.2f} times that of networks of the same "
                f"size ({self.quantity} at α = {self.time:.4g}), "
                f"{p_in_words(self.p_value, self.compared)}; {self.threshold:.2f} is allowed at "
                f"the level {self.level:g}"
            )
        lines += [cause.brief for cause in self.causes if cause.likely or not self.agrees]
        return "\n".join(lines)

    __repr__ = __str__


@validated
def predict(
    record: xr.Dataset,
    *,
    scenario: Scenario | None = None,
    level: float = 0.01,
    runs: int = 100,
    seed: int = 0,
    progress: bool | None = None,
) -> Prediction:
    """Integrate the equations from the start of a recorded training, and find where the training
    departs.

    With d_ct the deviation of an overlap, a readout or ε_g at a time from the equations, and s_ct
    its root mean square over simulated networks of the same N, batch and start, the deviation of
    the run is max |d_ct|/s_ct; its distribution by chance is that of the same number for each of
    the networks.

    If they differ, these causes are tested: momentum and weight decay of
    ``Recorder(optimizer=...)``; optimizers other than gradient descent, and dropout; a learning
    rate or a batch that is wrong by a factor (dR/dα is proportional to η, so that the record
    shows its rate: one that is far off is reported before anything is computed); batches that are
    not small compared with N; a second layer, or biases, that move although the theory has them
    fixed; and with ``Recorder(inputs=...)`` structure of the inputs, fields that are not Gaussian,
    and an error on the data that is not that of the overlaps.

    Args:
        record: one run, from `Recorder.dataset`, perhaps saved and loaded.
        scenario: ``recorder.scenario``, for units that a file does not hold: functions of the
            user's.
        level: probability that a network which follows the equations is reported as departing from
            them.
        runs: simulated networks; 1/level of them at least.
        seed: of the networks.
        progress: show how far integrations and simulations are; by default where they take
            longer than some 30 seconds.  What is computed, and about how long that takes, is
            printed before the start.

    Returns:
        A `Prediction`: ``theory`` and ``record`` for `tutelage.figures.prediction`, ``agrees``,
        ``departs_at`` and ``causes``; as a string, in words.

    Raises:
        InputError: if it is no record of one run.
    """
    check_runs("record", record)
    if record.attrs.get("computed_by") != "bridge.Recorder" or record.sizes["run"] != 1:
        received = f"{record.sizes['run']} runs of {record.attrs.get('computed_by')}"
        hint = "record.isel(run=[0]), and tl.simulation.compare for many runs"
        raise InputError("record", received, "it has to be one run of tl.bridge.Recorder", hint)
    finite_number("level", level, above=0.0, hint="0.01")
    if level >= 1 or positive_integer("runs", runs, "runs=100") * level < 1 - 1e-9:
        allowed = f"the level {level:g} needs at least {1 / level:.0f} runs, and is below 1"
        raise InputError("runs", f"{runs}", allowed, f"runs={1 / level:.0f}")
    problem = Problem.of(record, scenario, runs, check_seed(seed), bool(progress))
    _warn_of_another_rate(problem)
    problem = replace(problem, progress=announce(problem, progress))
    return _predicted(problem, float(level))


def _warn_of_another_rate(problem: Problem) -> None:
    """Warn before the computation if the rate is far too large: the equations may then take
    hours.
    """
    η, error = shown_rate(problem)
    if is_far(problem, η, error):
        usual = (
            "tl.bridge.Recorder(teacher, learning_rate) takes the learning rate of the optimizer "
            "and converts it to η"
        )
        warnings.warn(
            f"the record fits η = {η:.2g}, but its learning_rate gives η = "
            f"{problem.rate:.3g}: {momentum_words(problem) or usual}",
            RuntimeWarning,
            stacklevel=4,
        )


def _predicted(problem: Problem, level: float) -> Prediction:
    largest = deviation(problem)
    t, c = (int(k) for k in np.unravel_index(np.argmax(largest.ratio), largest.ratio.shape))
    threshold = _threshold(largest.law, level)
    beyond = np.flatnonzero(np.max(largest.ratio, axis=1) > threshold)
    first, parts = float(problem.record["time"].values[0]), largest.p_value <= level
    return Prediction(
        theory=largest.theory,
        record=problem.record,
        networks=largest.networks,
        compared=len(largest.law),
        p_value=largest.p_value,
        level=level,
        deviation=float(largest.ratio[t, c]),
        threshold=threshold,
        quantity=largest.symbols[c],
        time=first + float(problem.times[t]),
        departs_at=first + float(problem.times[beyond[0]]) if parts else None,
        causes=tuple(causes_of(problem, largest if parts else None, level)),
    )


def _threshold(law: Float[np.ndarray, " networks"], level: float) -> float:
    """Return the largest deviation whose p-value, (1 + networks beyond it)/(1 + networks), is
    above the level; of too few networks, the largest of theirs.

    >>> _threshold(np.arange(100.0), 0.01), _threshold(np.arange(400.0), 0.01)
    (99.0, 396.0)
    """
    rank = math.floor(level * (1 + len(law)) * (1 + np.finfo(float).eps))
    return float(np.sort(law)[-max(rank, 1)])
