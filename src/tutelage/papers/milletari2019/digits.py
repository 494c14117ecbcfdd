"""Milletari, Chotibut and Trevisanutto (2019), App. B: the networks of Fig. 2.

Training them and computing their spectra takes a minute of one core.  What figures and rows need of
six networks of each kind is stored in ``recorded/digits.nc``; `measured` computes it again, and a
full report trains twelve.
"""

from functools import cache

import numpy as np
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.milletari2019 import KEY, trainings
from tutelage.papers.milletari2019.trainings import SETTINGS, UNITS, Setting

CURVES = ["loss", "zero_residuals", "negative_fraction", "zero_fraction"]
END = "end"  # the eigenvalues at the end, in float32


def _name(setting: Setting, unit: str) -> str:
    """Return the name of a part, such as "authors_Swish"."""
    owner, _, _ = setting.name.partition("'")
    return f"{owner}_{unit}"


CASES = {_name(setting, unit): (setting, unit) for setting in SETTINGS for unit in UNITS}


def digits(unit: str, full: bool, setting: Setting) -> xr.Dataset:
    """Return the networks of Fig. 2: recorded ones, or with ``full`` trained again."""
    return trainings.digits(unit, True, setting) if full else _loaded(_name(setting, unit))


def measured() -> xr.Dataset:
    """Train six networks of each kind, and return the content of ``recorded/digits.nc``."""
    parts = recorded.in_parts("digits", CASES, _part)
    named = [
        part.rename({old: f"{name}_{old}" for old in {*part.variables, *part.dims} - {"run"}})
        for name, part in zip(CASES, parts, strict=True)
    ]
    return xr.merge(named, combine_attrs="override")


def _part(name: str) -> xr.Dataset:
    setting, unit = CASES[name]
    run = trainings.digits(unit, False, setting)
    λ = run["eigenvalues"].transpose("run", "epoch", "eigenvalue")
    attrs = {**λ.attrs, "tolerance": float(run.attrs["tolerance"])}
    end = (("run", "eigenvalue"), λ.values[:, -1].astype(np.float32), attrs)
    return run[CURVES].assign({END: end}).drop_attrs(deep=False)


@cache
def _loaded(name: str) -> xr.Dataset:
    """Load the networks of one setting and activation, in the form of a training."""
    data, start = recorded.load_recorded(KEY, "digits"), f"{name}_"
    part = data[[variable for variable in data.variables if str(variable).startswith(start)]]
    names = {*part.variables, *part.dims} - {"run"}
    part = part.rename({old: str(old).removeprefix(start) for old in names})
    end = part[END].transpose("run", "eigenvalue")
    λ = np.full((end.shape[0], part.sizes["epoch"], end.shape[1]), np.nan, np.float32)
    λ[:, -1] = end.values
    eigenvalues = (("run", "epoch", "eigenvalue"), λ, {"long_name": end.attrs["long_name"]})
    curves = part[CURVES].assign(eigenvalues=eigenvalues)
    return curves.drop_attrs(deep=False).assign_attrs(tolerance=end.attrs["tolerance"])
