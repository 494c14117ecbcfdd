"""Do theory and simulation agree within errors?

Two null hypotheses, one after the other.  First: at every compared time the mean of Q, R and ε_g
over all runs that could be drawn at this N is that of the theory.  Then, weaker: it is, up to a
bias of the order of the variance over runs, as finite N has it.  Times and overlaps are many and
correlated; one test takes them together, through the largest deviation in units of its standard
error.  Its law under the null hypothesis comes from the runs themselves: whole runs, with all their
correlations, are reflected about the theory at random.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._arguments import validated
from tutelage._checks import ComputationError, InputError, finite_number
from tutelage._findings import Finding
from tutelage.runs.seed import check_seed
from tutelage.simulation.interpolated_theory import check_theory, theory_at
from tutelage.simulation.statistics import check_runs, components, diverged, observed, summary

LEVEL = 0.01  # how often correct theory is rejected
MAX_TIMES = 64  # overlaps change slowly: more times of a smooth curve would test nothing new
# the level of the 99th percentile of this many has a standard error of 0.2 percentage points
REFLECTIONS = 2000
LARGEST_SCATTER = 0.1  # relative to the largest overlap: where the 1/N expansion still holds
ENTRIES_PER_BLOCK = 2**22  # entries of the arrays of the reflections


@dataclass(frozen=True, repr=False)
class Deviation(Finding):
    """The largest deviation of a mean over runs from the theory, and its place.

    standard_errors: how large it is, beyond ``bias``.
    p_value: how often the mean of correct theory deviates as much, or more.
    quantity, time: such as "R_12", and α.
    mean, expected: of the runs, and of the theory, there.
    bias: the part of their difference that was allowed before it was counted; 0 for none.
    """

    standard_errors: float
    p_value: float
    quantity: str
    time: float
    mean: float
    expected: float
    bias: float

    @property
    def place(self) -> str:
        return f"{self.quantity} at α = {self.time:.6g}"


@dataclass(frozen=True, repr=False)
class Comparison(Finding):
    """The result of `compare`; as a string, in words.

    raw: the largest deviation, without a bias.
    beyond_bias: the largest one beyond a bias of order 1/N; None where none is allowed.
    rests_on: what the verdict rests on, "raw" or, if that is too large, "beyond_bias".
    agrees: whether the deviation it rests on is within errors at the level of the test.
    level: how often correct theory is rejected.
    threshold: the largest deviation, in standard errors, that still agrees.
    factor: of the allowed bias, in variances over the largest overlap.
    times: the times that were compared, at all of which the theory and every run are there.
    left_out: which times of the runs were not compared, and why; empty if none.
    runs, diverged: how many runs there are, and how many of them have diverged.
    theory, ensemble: the compared Datasets.
    """

    raw: Deviation
    beyond_bias: Deviation | None
    level: float
    threshold: float
    factor: float
    times: np.ndarray
    left_out: str
    runs: int
    diverged: int
    theory: xr.Dataset
    ensemble: xr.Dataset

    @property
    def rests_on(self) -> str:
        as_it_stands = self.beyond_bias is None or self.raw.p_value > self.level
        return "raw" if as_it_stands else "beyond_bias"

    @property
    def agrees(self) -> bool:
        return bool(getattr(self, self.rests_on).p_value > self.level)

    @cached_property
    def summary(self) -> xr.Dataset:
        """Mean, spread and quantiles over the runs, at all recorded times."""
        return summary(self.ensemble)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self._raw(), self._bias(), self.left_out, self.verdict)))

    __repr__ = __str__

    def _raw(self) -> str:
        return (
            f"largest deviation {self.raw.standard_errors:.2f} standard errors ({self.raw.place}: "
            f"mean {self.raw.mean:.6g}, theory {self.raw.expected:.6g}), p = {self.raw.p_value:.2g}"
            f"; {self.threshold:.2f} allowed at the level {self.level:g}"
        )

    def _bias(self) -> str:
        if self.beyond_bias is None:
            return ""
        return (
            f"beyond a bias of order 1/N (at most {self.factor:g} × variance over runs / largest "
            f"overlap) the largest deviation is {self.beyond_bias.standard_errors:.2f} "
            f"({self.beyond_bias.place}), p = {self.beyond_bias.p_value:.2g}"
        )

    @property
    def verdict(self) -> str:
        """State in words whether theory and runs agree, with or without a bias."""
        who = f"theory and {self.runs} runs"
        if self.rests_on == "raw":
            return f"{who} {'agree' if self.agrees else 'differ'}, without any bias"
        return f"{who} {'agree only with' if self.agrees else 'differ, even with'} such a bias"


@validated
def compare(
    theory: xr.Dataset,
    runs: xr.Dataset,
    *,
    level: float = LEVEL,
    bias: float = 2.0,
    seed: int = 0,
) -> Comparison:
    """Test whether the mean over runs is the theory, within errors.

    With d_rc the deviation of run r from the theory in the component c (R_in, Q_ik or ε_g at one
    time), b_c the allowed bias and n runs,

        max_c (|Σ_r d_rc/n| - b_c)₊ √n/s_c,   s_c² = Σ_r (d_rc - mean)²/(n - 1).

    first with b_c = 0, and if that deviation is too large with the bias that a
    finite N may have.  Each is compared with the same maximum, without b_c, for ±d_rc with one
    random sign for each run: an exact test where the law of deviations is symmetric, for any n and
    any correlations, and good where it is not too skewed (with skewness 2 and 30 runs it rejected 6
    instead of 1 percent).

    At finite N the mean itself deviates by O(1/N), as the variance does: both are the first terms
    of one expansion.  The deviation ``bias`` · (largest variance of any component up to this
    time)/(largest overlap) is what may be allowed; for ReLU networks with one and two units and η
    from 0.1 to 1.5 the bias was between 0.5 and 2.1 times the variance.  Where runs scatter by more
    than a tenth of the largest overlap the expansion is not valid, and the allowed bias is that at
    a tenth. Without an allowed bias every theory is rejected once n exceeds N or so.  That a
    deviation is within this bound does not show that it is of order 1/N: runs at other N do
    (`finite_size`).

    Args:
        theory: from `tutelage.online.evolve`, one run; splines give the times in between.
        runs: from `tutelage.simulation.chain` or `network`; enough for the level: 8 for 0.01.
            Not relabelled: the output of `aligned` has other starts than the theory.
            Where chance decides when and how they specialize, they do not follow the theory
            beyond the plateau; ``runs.sel(time=slice(0, 15))`` compares what comes before.
        level: the probability to reject correct theory.
        bias: allowed where the deviation without it is too large, in units of variance over
            overlap; 0 for none.
        seed: of the random signs.

    Returns:
        A `Comparison`: ``agrees`` is the verdict and ``rests_on`` its evidence; the string has both
        in words, and the times that were not compared.

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
    seed = check_seed(seed)
    chosen, left_out = _times(theory, runs)
    times = runs["time"].values[chosen]
    names = observed(theory, runs)
    symbols, x = components(runs.isel(time=chosen), names)
    expected, inexact = theory_at(theory, times, names)
    test = _Test(symbols, times, x, expected, inexact, seed)
    allowed = bias * _variance(x, expected)
    return Comparison(
        raw=test.largest(np.zeros_like(allowed)),
        beyond_bias=test.largest(allowed) if bias > 0 else None,
        level=float(level),
        threshold=float(np.sort(test.law)[::-1][int(level * len(test.law))]),
        factor=float(bias),
        times=times,
        left_out=left_out,
        runs=runs.sizes["run"],
        diverged=diverged(runs),
        theory=theory,
        ensemble=runs,
    )


@dataclass(frozen=True)
class _Test:
    """The runs and the theory at the compared times, and the law of the largest deviation."""

    symbols: Sequence[str]
    times: Float[np.ndarray, " time"]
    x: Float[np.ndarray, "runs time c"]
    expected: Float[np.ndarray, "time c"]
    inexact: Float[np.ndarray, "time c"]
    seed: int

    @cached_property
    def law(self) -> np.ndarray:
        """Distribution of the largest deviation, in standard errors; the first entry is the
        measured one.
        """
        d = self.x - self.expected
        noticed = np.sqrt(np.mean(d**2, axis=0)) > self.inexact
        return _largest_of_reflections(d[:, noticed], self.seed)

    def largest(self, bias: Float[np.ndarray, "time 1"]) -> Deviation:
        """Return the largest deviation, reduced by the allowed bias and by the error of the
        theory.
        """
        rounding = 2.0**-50 * np.max(np.abs(self.expected))
        beyond = _studentized(self.x - self.expected, self.inexact + bias, rounding)
        time, c = (int(k) for k in np.unravel_index(np.argmax(beyond), beyond.shape))
        return Deviation(
            standard_errors=float(beyond[time, c]),
            p_value=float(np.mean(self.law >= beyond[time, c] * (1 - 1e-9))),
            quantity=self.symbols[c],
            time=float(self.times[time]),
            mean=float(np.mean(self.x[:, time, c])),
            expected=float(self.expected[time, c]),
            bias=float(bias[time, 0]),
        )


def fewest_runs(level: float = LEVEL) -> int:
    """Return how many runs a test at this level needs: n runs have 2ⁿ⁻¹ sign patterns.

    >>> fewest_runs(0.01), fewest_runs(0.5)
    (8, 2)
    """
    return max(2, math.ceil(1 - math.log2(level)))


def _check(theory: xr.Dataset, runs: xr.Dataset, level: float, bias: float) -> None:
    """Check the arguments."""
    check_runs("runs", runs, at_least=2)
    check_theory(theory, runs)
    finite_number("level", level, above=0.0, hint="0.01")
    finite_number("bias", bias, at_least=0.0, hint="bias=2.0")
    if level >= 1:
        raise InputError("level", repr(level), "it has to be below 1", "0.01")
    n, needed = runs.sizes["run"], fewest_runs(level)
    if n < needed:
        allowed = f"the level {level:g} needs at least {needed}"
        raise InputError("runs", f"{n} runs", allowed, f"runs={needed}")


def _times(theory: xr.Dataset, runs: xr.Dataset) -> tuple[np.ndarray, str]:
    """Return indices of at most `MAX_TIMES` times at which the theory and every run are finite.

    With them, in words, what of the runs is left out for that.
    """
    is_finite = runs["generalization_error"].notnull().all("run").values
    ends = "a run diverges after that"
    if theory.attrs.get("outcome") not in (
        "converged",
        "plateau",
    ):  # runs that end there keep their last state
        last = float(theory["time"].values[-1])
        is_known = runs["time"].values <= last * (1 + 1e-9)
        ends = "the theory ends there" if np.any(is_finite & ~is_known) else ends
        is_finite &= is_known
    common = np.flatnonzero(is_finite)
    if not len(common) or runs["time"].values[common[-1]] <= 0:
        raise ComputationError(
            "runs",
            "there is no time after 0 at which the theory and every run are finite",
            "nothing can be compared",
            "runs.sel(time=slice(0, 10)), or only runs that did not diverge",
        )
    compared, whole = (float(runs["time"][k]) for k in (common[-1], -1))
    share = f"{1 - compared / whole:.0%} of the time was not compared"
    left_out = f"{share}: α = {compared:.6g} to {whole:.6g}; {ends}" if compared < whole else ""
    chosen = common[np.linspace(0, len(common) - 1, MAX_TIMES).round().astype(int)]
    return np.unique(chosen), left_out


def _variance(
    x: Float[np.ndarray, "runs time c"], expected: Float[np.ndarray, "time c"]
) -> Float[np.ndarray, "time 1"]:
    """Return the largest variance of any component up to each time, divided by the largest
    overlap.
    """
    scale = np.max(np.abs(expected))
    variance = np.max(np.var(x, axis=0, ddof=1), axis=1)
    variance = np.minimum(variance, (LARGEST_SCATTER * scale) ** 2)
    return (np.maximum.accumulate(variance) / scale)[:, None]


def _studentized(
    d: Float[np.ndarray, "runs time c"], allowed: Float[np.ndarray, "time c"], rounding: float
) -> Float[np.ndarray, "time c"]:
    """Return deviations of means beyond the allowed ones, in standard errors."""
    error = np.std(d, axis=0, ddof=1) / np.sqrt(len(d))
    beyond = np.maximum(np.abs(np.mean(d, axis=0)) - allowed, 0.0)
    certain = np.where(beyond > 0, np.inf, 0.0)
    return np.divide(beyond, error, out=certain, where=error > rounding)


def _largest_of_reflections(d: Float[np.ndarray, "runs c"], seed: int) -> np.ndarray:
    """Return max_c |t_c| of the deviations with random signs; the first entry has all signs
    unchanged.
    """
    n, squares = len(d), np.sum(d**2, axis=0)
    largest = []
    for signs in _signs(n, 1 + ENTRIES_PER_BLOCK // (n + d.shape[1]), seed):
        mean = signs @ d / n
        variance = (squares / n - mean**2) / (n - 1)
        # For identical runs rounding may leave no variance: t is then the largest float.
        t = np.abs(mean) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        largest.append(np.max(t, axis=1, initial=0.0))
    return np.concatenate(largest)


def _signs(n: int, at_once: int, seed: int) -> Iterator[Float[np.ndarray, "some runs"]]:
    """Yield all sign patterns of n runs up to an overall sign, or random ones if there are too
    many.
    """
    count = min(REFLECTIONS, 2 ** (n - 1))
    draw = np.random.default_rng(seed)
    for first in range(0, count, at_once):
        rows = np.arange(first, min(first + at_once, count))[:, None]
        if count == 2 ** (n - 1):
            yield 1.0 - 2.0 * (rows >> np.arange(n) & 1)
        else:
            signs = draw.choice([-1.0, 1.0], size=(len(rows), n))
            yield np.where(rows == 0, 1.0, signs)
