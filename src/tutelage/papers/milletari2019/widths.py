"""Milletari, Chotibut and Trevisanutto (2019), App. B: the width of spectra of the digits.

A spectrum of the digits takes a second: those during the training are stored in
``recorded/widths.nc`` as their standard deviations, and `measured` computes them again.
"""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.claim import claim
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.spectra import UNPRINTED
from tutelage.papers.milletari2019.trainings import DIGITS, SETTINGS, Setting, growing, trained
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row
from tutelage.papers.section import Figure

COMPARED = ("Swish", "ReLU")
RUNS = 24
SPECTRA = 5  # including the spectrum at the start, where the β of Swish have the chosen values
ITEM = "App. B, digits, 64-25-10: mean ln of the width of the spectrum, Swish over ReLU"
NOTE = (
    "milletari2019, Sec. 3 says that the spectrum of Swish is wider during training, and App. B "
    "that digits are qualitatively similar: mean over the epochs from a sixteenth of the training "
    "to its end, 24 networks with the same first weights, spectra at four epochs up to 2000 "
    "(authors' setting) and 1000 (text's setting). At the end alone it is {} ({}) and {} ({})."
)


def wider(full: bool) -> Iterator[Row | Figure]:
    """Return the row of the recorded networks, or of networks trained again."""
    before = recorded.load_recorded(KEY, "widths")
    return recorded.show_recorded(before, measured, lambda widths: [_row(widths)], full)


def measured(runs: int = RUNS, spectra: int = SPECTRA) -> xr.Dataset:
    """Standard deviation of the eigenvalues over setting, unit, run and part of the training."""
    parts = np.linspace(0, 1, spectra)[1:] ** 2
    widths = [[_widths(setting, unit, runs, spectra) for unit in COMPARED] for setting in SETTINGS]
    return xr.Dataset(
        {"width": (("setting", "unit", "run", "part"), np.array(widths))},
        coords={"setting": [s.name for s in SETTINGS], "unit": list(COMPARED), "part": parts},
    )


def _widths(setting: Setting, unit: str, runs: int, spectra: int) -> np.ndarray:
    epochs = setting.full["digits", DIGITS]
    at = growing(epochs, spectra)[1:]
    run = trained(setting, "digits", DIGITS, unit, epochs, runs, at, at)
    return run["eigenvalues"].transpose("run", "epoch", "eigenvalue").values.std(axis=-1)


def _row(data: xr.Dataset) -> Row:
    """Decide the statement in both settings; means over epochs interpolate linearly between
    spectra.
    """
    width = xr.apply_ufunc(np.log, data["width"])
    ratio = width.sel(unit="Swish") - width.sel(unit="ReLU")
    part = data["part"].values
    mean = np.trapezoid(ratio.transpose("setting", "run", "part").values, part, axis=-1)
    mean /= part[-1] - part[0]
    rows = {
        str(name): claim(KEY, ITEM, samples)
        for name, samples in zip(data["setting"].values, mean, strict=True)
    }
    end = ratio.isel(part=-1)
    words = []
    for name in data["setting"].values:
        last = end.sel(setting=name).values
        error = last.std(ddof=1) / np.sqrt(len(last))
        words += [f"{last.mean():.3f} ± {error:.3f}", str(name)]
    return in_each_reading(ITEM, UNPRINTED, rows, NOTE.format(*words))
