"""Milletari, Chotibut and Trevisanutto (2019), App. B: the networks of Fig. 2.

Training them and computing their spectra takes a quarter of an hour of one core.  What figures and
rows need of it is stored in ``recorded/digits.nc``, and `measured` computes it again.
"""

from functools import cache

import numpy as np
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.trainings import (
    DIGITS,
    RECORDS_OF_DIGITS,
    RUNS_OF_DIGITS,
    SETTINGS,
    SPECTRA_OF_DIGITS,
    UNITS,
    Setting,
    growing,
    trained,
)

CURVES = ["loss", "zero_residuals", "negative_fraction", "zero_fraction"]
END = "end"  # the eigenvalues at the end, in float32


def _name(setting: Setting, unit: str) -> str:
    """Return the name of a part, such as "authors_Swish"."""
    owner, _, _ = setting.name.partition("'")
    return f"{owner}_{unit}"


CASES = {_name(setting, unit): (setting, unit) for setting in SETTINGS for unit in UNITS}


def digits(unit: str, full: bool, setting: Setting) -> xr.Dataset:
    """Return the networks of Fig. 2: recorded ones, or with ``full`` trained again.

    Of the spectra that are recorded only those at the end have their eigenvalues.
    """
    return _trained(setting, unit) if full else _loaded(_name(setting, unit))


def measured() -> xr.Dataset:
    """Train all networks, and return the content of ``recorded/digits.nc``."""
    parts = recorded.in_parts("digits", CASES, _part)
    named = [
        part.rename({old: f"{name}_{old}" for old in {*part.variables, *part.dims} - {"run"}})
        for name, part in zip(CASES, parts, strict=True)
    ]
    return xr.merge(named, combine_attrs="override")


def _part(name: str) -> xr.Dataset:
    run = _trained(*CASES[name])
    λ = run["eigenvalues"].transpose("run", "epoch", "eigenvalue")
    attrs = {**λ.attrs, "tolerance": float(run.attrs["tolerance"])}
    end = (("run", "eigenvalue"), λ.values[:, -1].astype(np.float32), attrs)
    return run[CURVES].assign({END: end}).drop_attrs(deep=False)


def _trained(setting: Setting, unit: str) -> xr.Dataset:
    epochs = setting.full["digits", DIGITS]
    spectra = tuple(epoch for epoch in growing(epochs, SPECTRA_OF_DIGITS) if epoch)
    at = tuple(sorted({*growing(epochs, RECORDS_OF_DIGITS), *spectra}))
    return trained(setting, "digits", DIGITS, unit, epochs, RUNS_OF_DIGITS, at, spectra)


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
