"""Escape of runs from their plateau.

Beside the unspecialized saddle a preference for one teacher grows as e^{λα}, from whatever the
start and the first examples have given it.  Without a preference in the start it is a fluctuation
of size 1/√N: a run leaves after about ln N/(2λ), and at a random time.
"""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_number
from tutelage.runs.provenance import recorded
from tutelage.simulation.statistics import check_runs, counts, problem

PLATEAU_FRACTION = (
    0.1  # "on the plateau": an error within a tenth of its height, as in `online.plateau`
)


@recorded
def escape_times(
    runs: xr.Dataset, *, height: float | None = None, fraction: float = 0.5
) -> xr.Dataset:
    """Find when each run leaves the plateau, and the fraction of runs that have left over time.

    A run has left when its error is below ``fraction`` · ``height`` for good: its escape time is
    the last at which ε_g passes that level, with ln ε_g linear between recorded times.

    Args:
        runs: from `tutelage.simulation.chain` or `network`.
        height: ε_g of the plateau, such as ``tl.online.plateau(...).height.value``.  By default the
            error near which (within a tenth) all runs together spend most of their time, among
            errors above twice the smallest; pass it if there are several plateaus.
        fraction: of the height, between 0 and 1.

    Returns:
        A Dataset with

        - ``escape_time`` over ``run``: NaN for a run that had not left by the last
          recorded time, or has diverged; the first recorded time for one that was never above;
        - ``left`` over ``time``: the fraction of all runs, diverged ones included, that
          have left by then, the empirical distribution of the escape time;

        and attributes ``plateau_height``, ``level``, ``run_count``, ``escaped``, ``diverged`` and
        ``median`` (NaN where fewer than half have left), in addition to those of the runs.

    >>> import numpy as np, xarray as xr
    >>> time = np.linspace(0, 10, 11)
    >>> error = [0.1 / (1 + np.exp(2 * (time - t))) for t in (4.0, 6.0, 20.0)]
    >>> runs = xr.Dataset({"generalization_error": (("run", "time"), error)}, {"time": time})
    >>> escape_times(runs, height=0.1)["escape_time"].values
    array([ 4.,  6., nan])
    """
    check_runs("runs", runs, names=["generalization_error"])
    finite_number("fraction", fraction, above=0.0, hint="0.5")
    if fraction >= 1:
        raise InputError("fraction", repr(fraction), "it has to be smaller than 1", "0.5")
    error = runs["generalization_error"].transpose("run", "time").values
    time = runs["time"].values
    if height is None:
        height = _height(time, error)
    finite_number("height", height, above=0.0, hint="the error on the plateau")
    level = fraction * float(height)
    times = np.array([_last_passage(time, one, level) for one in error])
    left = np.mean(times[:, None] <= time, axis=0)
    return xr.Dataset(
        {
            "escape_time": ("run", times, {"long_name": "time of leaving the plateau"}),
            "left": ("time", left, {"long_name": "fraction of runs that have left"}),
        },
        coords={"time": runs["time"]},
        attrs=problem(runs)
        | counts(runs)
        | {
            "plateau_height": float(height),
            "level": level,
            "escaped": int(np.sum(np.isfinite(times))),
            "median": _median(times),
        },
    )


def _last_passage(
    time: Float[np.ndarray, " t"], error: Float[np.ndarray, " t"], level: float
) -> Any:
    """Return the last time at which the error passes the level; NaN if it ends above or is NaN."""
    if not error[-1] <= level:  # also for NaN
        return np.nan
    above = np.flatnonzero(error > level)
    if not len(above):
        return time[0]
    j = above[-1]
    # An error of zero, or a rounding error below it, has no logarithm; the level is always above
    # it.
    low = max(error[j + 1], np.finfo(float).tiny)
    share = np.log(error[j] / level) / np.log(error[j] / low)
    return time[j] + share * (time[j + 1] - time[j])


def _height(time: Float[np.ndarray, " t"], error: Float[np.ndarray, "runs t"]) -> float:
    """Return the error within a tenth of which the runs spend most of their time."""
    positive = error[np.isfinite(error) & (error > 0)]
    high = positive[positive > 2 * _floor(time, error)]
    if not len(high):  # the first run left the plateau only at the last times
        high = positive[positive > 2 * np.min(positive, initial=np.inf)]
    if not len(high):
        raise InputError(
            "height", "None", "the errors of these runs have no plateau", "height=0.08"
        )
    candidates = np.quantile(high, np.linspace(0.0, 1.0, 401))
    duration = np.gradient(time)
    spent = [np.sum(duration * (np.abs(error - h) <= PLATEAU_FRACTION * h)) for h in candidates]
    best = candidates[int(np.argmax(spent))]
    return float(np.median(high[np.abs(high - best) <= PLATEAU_FRACTION * best]))


def _floor(time: Float[np.ndarray, " t"], error: Float[np.ndarray, "runs t"]) -> float:
    """Return the largest error in the last tenth of the run that ends with the lowest error.

    Label noise, and students that cannot do what the teacher does, leave an error at which runs
    spend more time than on any plateau.
    """
    last = error[:, time >= time[-1] - 0.1 * (time[-1] - time[0])]
    ends = np.where(np.isfinite(error[:, -1]), error[:, -1], np.inf)
    lowest = last[int(np.argmin(ends))]
    return float(np.max(lowest, initial=0.0, where=np.isfinite(lowest)))


def _median(times: Float[np.ndarray, " runs"]) -> float:
    """Return the time by which half of all runs have left the plateau."""
    later = np.where(np.isnan(times), np.inf, times)
    middle = float(np.median(later)) if np.mean(np.isinf(later)) < 0.5 else np.inf
    return middle if np.isfinite(middle) else float("nan")
