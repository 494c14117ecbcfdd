"""Statistics of an ensemble: mean, spread, standard error and quantiles over its runs."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_array
from tutelage._given import ArrayLike
from tutelage.runs.provenance import recorded
from tutelage.simulation.observables import OBSERVABLES

# Variables that every theory and every simulation has.
NEEDED = ("Q", "R", "generalization_error")


@recorded
def summary(
    runs: xr.Dataset, *, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
) -> xr.Dataset:
    """Mean, spread, standard error and quantiles over the runs of an ensemble.

    mean = Σ x_r/n,   spread² = Σ (x_r - mean)²/(n - 1),   standard error = spread/√n

    Diverged runs are missing after their divergence: n is the number of runs present at each time.
    Which unit takes which teacher may differ from run to run; use `aligned` first where it does.

    Args:
        runs: from `tutelage.simulation.chain` or `network`.
        quantiles: between 0 and 1.

    Returns:
        A Dataset over ``time`` with the means under the names Q, R, generalization_error and
        further observables, so that figures of runs also draw these means; for each of them
        ``NAME_spread``, ``NAME_standard_error`` and ``NAME_quantile`` (with the dimension
        ``quantile``); ``present``, the number n of runs at each time; attributes ``run_count``
        and ``diverged``.  With a single run spread and standard error are missing.

    >>> import numpy as np, xarray as xr
    >>> x = np.array([1.0, 2.0, 6.0]).reshape(3, 1, 1, 1)  # three runs, one time, K = M = 1
    >>> dims = ("run", "time", "student")
    >>> runs = xr.Dataset({"Q": ((*dims, "student_2"), x), "R": ((*dims, "teacher"), x)})
    >>> runs["generalization_error"] = ("run", "time"), x[..., 0, 0]
    >>> statistics = summary(runs, quantiles=[0.5])
    >>> [statistics[name].item() for name in ("present", "R", "R_quantile")]
    [3, 3.0, 2.0]
    """
    check_runs("runs", runs)
    levels = _quantiles(quantiles)
    others = [d for d in runs["Q"].dims if d not in ("run", "time")]
    variables: dict[str, Any] = {"present": runs["Q"].notnull().all(others).sum("run")}
    for name in observed(runs):
        x = runs[name]
        n = x.notnull().sum("run")
        mean = (x.sum("run") / n.where(n > 0)).assign_attrs(x.attrs)
        spread = np.sqrt(((x - mean) ** 2).sum("run") / (n - 1).where(n > 1))
        variables[name] = mean
        variables[f"{name}_spread"] = spread
        variables[f"{name}_standard_error"] = spread / np.sqrt(n.where(n > 0))
        variables[f"{name}_quantile"] = _quantile(x, levels)
    return xr.Dataset(variables, attrs=problem(runs) | counts(runs))


def observed(*datasets: xr.Dataset) -> list[str]:
    """Return the names of the `OBSERVABLES` that all of these Datasets have."""
    return [name for name in OBSERVABLES if all(name in dataset for dataset in datasets)]


def problem(runs: xr.Dataset) -> dict[str, Any]:
    """Return the attributes that describe the problem: scenario, learning rate, N."""
    names = ("scenario", "learning_rate", "readout_rate", "dimension")
    return {name: runs.attrs[name] for name in names if name in runs.attrs}


def counts(runs: xr.Dataset) -> dict[str, int]:
    """Return the number of runs, and the number of those that are NaN at the last time."""
    return {"run_count": runs.sizes["run"], "diverged": diverged(runs)}


def diverged(runs: xr.Dataset) -> int:
    """Return the number of runs that are NaN at the last time."""
    return int(runs["generalization_error"].isel(time=-1).isnull().sum())


def components(
    dataset: xr.Dataset, names: Sequence[str] | None = None
) -> tuple[list[str], Float[np.ndarray, "... time c"]]:
    """Symbols and values of every observed number, such as R_12; runs come first if there are
    several.

    names: of the observables, by default all; of a symmetric one only i <= k are taken.
    """
    symbols, values = [], []
    for name in observed(dataset) if names is None else names:
        block = OBSERVABLES[name]
        x = dataset[name].transpose(..., "time", *block.dimensions).values
        for entry in block.entries(dataset.sizes):
            symbols.append(block.label(entry, dataset.sizes))
            at: Any = (..., *entry)
            values.append(x[at])
    return symbols, np.stack(values, axis=-1)


def check_runs(
    argument: str, runs: xr.Dataset, at_least: int = 1, names: Sequence[str] = NEEDED
) -> None:
    """Check that a Dataset has these quantities over run and time, and enough runs."""
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


def _quantiles(quantiles: ArrayLike) -> np.ndarray:
    levels = np.atleast_1d(finite_array("quantiles", quantiles))
    if levels.ndim != 1 or np.any((levels < 0) | (levels > 1)):
        raise InputError(
            "quantiles", repr(quantiles), "quantiles lie between 0 and 1", "[0.25, 0.75]"
        )
    return levels


def _quantile(x: xr.DataArray, levels: np.ndarray) -> xr.DataArray:
    with warnings.catch_warnings():  # a time at which every run is missing has no quantiles: NaN
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return x.quantile(levels, dim="run", skipna=True)
