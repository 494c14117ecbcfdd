"""Do theory and simulation agree within errors?

The null hypothesis: at every compared time the mean of Q, R and ε_g over all runs that could be
drawn at this N is that of the theory, up to a bias of the order of the variance over runs.  Times
and overlaps are many and correlated; one test takes them together, through the largest deviation
in units of its standard error.  Its law under the null hypothesis comes from the runs themselves:
whole runs, with all their correlations, are reflected about the theory at random.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_number
from tutelage.simulation.statistics import check_runs, components, diverged, observed, summary
from tutelage.simulation.theory import check_theory, theory_at

MOST_TIMES = 64  # overlaps change slowly: more times of a smooth curve would test nothing new
REFLECTIONS = 2000  # the 99th percentile of as many is known to about 0.2 percent points of level
LARGEST_SCATTER = 0.1  # relative to the largest overlap: where the 1/N expansion still holds
AT_ONCE = 2**22  # entries of the arrays of the reflections


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    agrees: whether the deviations are within errors at the level of the test.
    p_value: how often correct theory deviates as much, or more.
    level: how often correct theory is rejected.
    worst: the largest deviation of a mean, in standard errors, after the allowed bias.
    threshold: the largest ``worst`` that still agrees.
    quantity, time: where the largest deviation is, such as "R_12".
    deviation: the mean over runs minus the theory there.
    bias: the deviation that was allowed there.
    times: the times that were compared, at all of which every run is there.
    runs, diverged: how many runs there are, and how many of them have diverged.
    theory, ensemble: what was compared.
    """

    agrees: bool
    p_value: float
    level: float
    worst: float
    threshold: float
    quantity: str
    time: float
    deviation: float
    bias: float
    times: np.ndarray
    runs: int
    diverged: int
    theory: xr.Dataset = field(repr=False)
    ensemble: xr.Dataset = field(repr=False)

    @cached_property
    def summary(self) -> xr.Dataset:
        """Mean, spread and quantiles over the runs, at all recorded times."""
        return summary(self.ensemble)

    def __str__(self) -> str:
        verdict = "agree" if self.agrees else "differ"
        return (
            f"theory and {self.runs} runs {verdict}: largest deviation {self.worst:.2f} standard "
            f"errors ({self.quantity} at α = {self.time:.6g}), {self.threshold:.2f} allowed at the "
            f"level {self.level:g}; p = {self.p_value:.2g}"
        )


def compare(
    theory: xr.Dataset,
    runs: xr.Dataset,
    *,
    level: float = 0.01,
    bias: float = 2.0,
    seed: int = 0,
) -> Comparison:
    """Test whether the mean over runs is the theory, within errors.

    With d_rc the deviation of run r from the theory in the component c (R_in, Q_ik or ε_g at one
    time), b_c the allowed bias and n runs,

        worst = max_c (|Σ_r d_rc/n| - b_c)₊ √n/s_c,   s_c² = Σ_r (d_rc - mean)²/(n - 1).

    It is compared with the same maximum, without b_c, for ±d_rc with one random sign for each run:
    an exact test where the law of deviations is symmetric, for any n and any correlations, and good
    where it is not too skewed (with skewness 2 and 30 runs it rejected 6 instead of 1 percent).

    At finite N the mean itself deviates by O(1/N), as the variance does: both are the first terms
    of one expansion.  The deviation ``bias`` · (largest variance of any component up to this
    time)/(largest overlap) is therefore allowed; for ReLU networks with one and two units and η
    from 0.1 to 1.5 the bias was between 0.5 and 2.1 times the variance.  Where runs scatter by
    more than a tenth of the largest overlap the expansion means nothing, and no more is allowed
    than at a tenth.  ``bias=0`` tests the mean at this N as it stands, and rejects every theory
    once n exceeds N or so.

    Args:
        theory: from `tutelage.online.evolve`, one run; splines give the times in between.
        runs: from `tutelage.simulation.chain` or `network`; enough for the level: 8 for 0.01.
            As they are: once relabelled by `aligned`, they no longer start as the theory does.
            Where chance decides when and how they specialize, they do not follow the theory
            beyond the plateau; ``runs.sel(time=slice(0, 15))`` compares what comes before.
        level: the probability to reject correct theory.
        bias: allowed, in units of variance over overlap.
        seed: of the random signs.

    Returns:
        A `Comparison`: ``agrees`` is the verdict, and as a string it tells it in words.

    >>> import numpy as np, xarray as xr
    >>> def curves(R):  # K = M = 1 at two times, R constant
    ...     x = np.ones((2, 1, 1)) * R
    ...     dims = (*("run",) * (x.ndim - 3), "time", "student")
    ...     made = {"Q": ((*dims, "student_2"), x), "R": ((*dims, "teacher"), x)}
    ...     made["generalization_error"] = dims[:-1], x[..., 0, 0]
    ...     return xr.Dataset(made, coords={"time": [0.0, 1.0]})
    >>> runs = curves(np.linspace(0.49, 0.51, 20).reshape(20, 1, 1, 1))
    >>> [compare(curves(R), runs).agrees for R in (0.5, 0.52)]
    [True, False]
    """
    _check(theory, runs, level, bias)
    chosen = _times(theory, runs)
    times = runs["time"].values[chosen]
    names = observed(theory, runs)
    symbols, x = components(runs.isel(time=chosen), names)
    expected, inexact = theory_at(theory, times, names)
    d, allowed = x - expected, inexact + bias * _variance(x, expected)
    beyond = _studentized(d, allowed, rounding=2.0**-50 * np.max(np.abs(expected)))
    noticed = np.sqrt(np.mean(d**2, axis=0)) > inexact
    law = _largest_of_reflections(d[:, noticed], seed)
    where = np.unravel_index(np.argmax(beyond), beyond.shape)
    worst = float(beyond[where])
    p_value = float(np.mean(law >= worst * (1 - 1e-9)))  # the runs as they are have come first
    return Comparison(
        agrees=p_value > level,
        p_value=p_value,
        level=float(level),
        worst=worst,
        threshold=float(np.sort(law)[::-1][int(level * len(law))]),
        quantity=symbols[where[1]],
        time=float(times[where[0]]),
        deviation=float(np.mean(d, axis=0)[where]),
        bias=float(allowed[where]),
        times=times,
        runs=runs.sizes["run"],
        diverged=diverged(runs),
        theory=theory,
        ensemble=runs,
    )


def _check(theory: xr.Dataset, runs: xr.Dataset, level: float, bias: float) -> None:
    """n runs have 2ⁿ⁻¹ different sets of signs: a smaller level cannot be decided."""
    check_runs("runs", runs, at_least=2)
    check_theory("theory", theory, runs)
    finite_number("level", level, above=0.0, hint="0.01")
    finite_number("bias", bias, at_least=0.0, hint="bias=2.0")
    if level >= 1:
        raise InputError("level", repr(level), "it has to be smaller than 1", "0.01")
    n, needed = runs.sizes["run"], math.ceil(1 - math.log2(level))
    if n < needed:
        allowed = f"the level {level:g} needs at least {needed}"
        raise InputError("runs", f"{n} runs", allowed, f"runs={needed}")


def _times(theory: xr.Dataset, runs: xr.Dataset) -> np.ndarray:
    """Indices of at most `MOST_TIMES` times at which the theory and every run are there."""
    there = runs["generalization_error"].notnull().all("run").values
    if theory.attrs.get("outcome") not in ("converged", "plateau"):  # those stay where they are
        last = float(theory["time"].values[-1])
        there &= runs["time"].values <= last * (1 + 1e-9)
    common = np.flatnonzero(there)
    if not len(common) or runs["time"].values[common[-1]] <= 0:
        raise InputError(
            "runs",
            f"times from {float(runs['time'][0]):g} to {float(runs['time'][-1]):g}",
            "there has to be a time after 0 at which the theory and every run are there",
            "runs.sel(time=slice(0, 10)), or without those that diverged",
        )
    return np.unique(common[np.linspace(0, len(common) - 1, MOST_TIMES).round().astype(int)])


def _variance(
    x: Float[np.ndarray, "runs time c"], expected: Float[np.ndarray, "time c"]
) -> Float[np.ndarray, "time 1"]:
    """The largest variance of any component so far, over the largest overlap."""
    scale = np.max(np.abs(expected))
    variance = np.max(np.var(x, axis=0, ddof=1), axis=1)
    variance = np.minimum(variance, (LARGEST_SCATTER * scale) ** 2)
    return (np.maximum.accumulate(variance) / scale)[:, None]


def _studentized(
    d: Float[np.ndarray, "runs time c"], allowed: Float[np.ndarray, "time c"], rounding: float
) -> Float[np.ndarray, "time c"]:
    """Deviations of means beyond what is allowed, in standard errors; a start has none."""
    error = np.std(d, axis=0, ddof=1) / np.sqrt(len(d))
    beyond = np.maximum(np.abs(np.mean(d, axis=0)) - allowed, 0.0)
    certain = np.where(beyond > 0, np.inf, 0.0)
    return np.divide(beyond, error, out=certain, where=error > rounding)


def _largest_of_reflections(d: Float[np.ndarray, "runs c"], seed: int) -> np.ndarray:
    """max_c |t_c| of the deviations with signs: first as they are, then others."""
    n, squares = len(d), np.sum(d**2, axis=0)
    largest = []
    for signs in _signs(n, 1 + AT_ONCE // (n + d.shape[1]), seed):
        mean = signs @ d / n
        variance = (squares / n - mean**2) / (n - 1)
        # Where the runs are all alike, rounding may leave nothing: the largest t there is.
        t = np.abs(mean) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        largest.append(np.max(t, axis=1, initial=0.0))
    return np.concatenate(largest)


def _signs(n: int, at_once: int, seed: int) -> Iterator[Float[np.ndarray, "some runs"]]:
    """All signs of n runs but an overall one, if these are few; else some at random."""
    count = min(REFLECTIONS, 2 ** (n - 1))
    draw = np.random.default_rng(seed)
    for first in range(0, count, at_once):
        rows = np.arange(first, min(first + at_once, count))[:, None]
        if count == 2 ** (n - 1):
            yield 1.0 - 2.0 * (rows >> np.arange(n) & 1)
        else:
            signs = draw.choice([-1.0, 1.0], size=(len(rows), n))
            yield np.where(rows == 0, 1.0, signs)
