"""Statistics of an ensemble: mean, spread, standard error and quantiles over its runs."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_array

QUANTITIES = ("Q", "R", "generalization_error")


def summary(
    runs: xr.Dataset, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
) -> xr.Dataset:
    """Mean, spread, standard error and quantiles over the runs of an ensemble.

    mean = Σ x_r/n,   spread² = Σ (x_r - mean)²/(n - 1),   standard error = spread/√n

    Runs that have diverged are missing from then on: at each time n counts those that are there.
    Which unit takes which teacher may differ from run to run; use `aligned` first where it does.

    Args:
        runs: from `tutelage.simulation.chain` or `network`.
        quantiles: between 0 and 1.

    Returns:
        A Dataset over ``time`` with the means under the names Q, R and generalization_error, so
        that what draws a run draws them, too; for each of the three ``NAME_spread``,
        ``NAME_standard_error`` and ``NAME_quantile`` (with the dimension ``quantile``);
        ``present``, the number n of runs at each time; attributes ``runs`` and ``diverged``.
        With a single run spread and standard error are missing.

    >>> import numpy as np, xarray as xr
    >>> x = np.array([1.0, 2.0, 6.0]).reshape(3, 1, 1, 1)  # three runs, one time, K = M = 1
    >>> dims = ("run", "time", "student")
    >>> runs = xr.Dataset({"Q": ((*dims, "student_2"), x), "R": ((*dims, "teacher"), x)})
    >>> runs["generalization_error"] = ("run", "time"), x[..., 0, 0]
    >>> found = summary(runs, quantiles=[0.5])
    >>> [found[name].item() for name in ("present", "R", "R_quantile")]
    [3, 3.0, 2.0]
    """
    check_runs("runs", runs)
    levels = _quantiles(quantiles)
    variables: dict[str, Any] = {
        "present": runs["Q"].notnull().all(_but_run_and_time(runs)).sum("run")
    }
    for name in QUANTITIES:
        x = runs[name]
        n = x.notnull().sum("run")
        mean = x.sum("run") / n.where(n > 0)
        spread = np.sqrt(((x - mean) ** 2).sum("run") / (n - 1).where(n > 1))
        variables[name] = mean
        variables[f"{name}_spread"] = spread
        variables[f"{name}_standard_error"] = spread / np.sqrt(n.where(n > 0))
        variables[f"{name}_quantile"] = _quantile(x, levels)
    attrs = {**runs.attrs, "computed_by": "simulation.summary"}
    attrs |= {"runs": runs.sizes["run"], "diverged": diverged(runs)}
    return xr.Dataset(variables, attrs=attrs)


def diverged(runs: xr.Dataset) -> int:
    """The number of runs that are missing at the last time."""
    return int(runs["generalization_error"].isel(time=-1).isnull().sum())


def components(dataset: xr.Dataset) -> tuple[list[str], Float[np.ndarray, "... time c"]]:
    """Symbols and values of R_in, of Q_ik for i <= k, and of ε_g; runs first if there are some."""
    K, M = dataset.sizes["student"], dataset.sizes["teacher"]
    upper, all_R = np.triu_indices(K), np.indices((K, M)).reshape(2, -1)
    names = [f"R_{i + 1}{n + 1}" for i, n in all_R.T]
    names += [f"Q_{i + 1}{k + 1}" for i, k in np.transpose(upper)]
    Q = dataset["Q"].transpose(..., "time", "student", "student_2").values
    R = dataset["R"].transpose(..., "time", "student", "teacher").values
    error = dataset["generalization_error"].transpose(..., "time").values[..., None]
    parts = [R.reshape(*R.shape[:-2], -1), Q[..., upper[0], upper[1]], error]
    return [*names, "ε_g"], np.concatenate(parts, axis=-1)


def check_runs(
    argument: str, runs: Any, at_least: int = 1, names: Sequence[str] = QUANTITIES
) -> None:
    """A Dataset with these quantities over run and time, of so many runs."""
    if not isinstance(runs, xr.Dataset):
        raise InputError(
            argument, repr(runs), "it has to be a Dataset", "tl.simulation.chain(..., runs=10)"
        )
    lacking = [n for n in names if n not in runs or not {"run", "time"} <= set(runs[n].dims)]
    if lacking:
        raise InputError(
            argument,
            f"no {lacking[0]} over run and time",
            f"it has to have {', '.join(names)} of several runs",
            "tl.simulation.chain(..., runs=10)",
        )
    if runs.sizes["run"] < at_least:
        allowed = f"there have to be at least {at_least}"
        raise InputError(argument, f"{runs.sizes['run']} run(s)", allowed, f"runs={at_least}")


def _but_run_and_time(runs: xr.Dataset) -> list[str]:
    return [str(d) for d in runs["Q"].dims if d not in ("run", "time")]


def _quantiles(quantiles: Any) -> np.ndarray:
    levels = np.atleast_1d(finite_array("quantiles", quantiles))
    if levels.ndim != 1 or np.any((levels < 0) | (levels > 1)):
        raise InputError("quantiles", repr(quantiles), "they lie between 0 and 1", "[0.25, 0.75]")
    return levels


def _quantile(x: xr.DataArray, levels: np.ndarray) -> xr.DataArray:
    with warnings.catch_warnings():  # a time at which every run is missing has no quantiles: NaN
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return x.quantile(levels, dim="run", skipna=True)
