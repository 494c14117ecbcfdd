"""Milletari, Chotibut and Trevisanutto (2019), App. B: negative eigenvalues of the digits.

The six networks of a quick report do not decide which activation has fewer at the end.  Counts of
many more networks are stored in ``recorded/descent.nc``, and `measured` computes them again.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.claim import claim
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.milletari2019.spectra import COUNTED, NEGATIVE, NEGATIVE_NOTE, OUR_COUNTS
from tutelage.papers.milletari2019.trainings import DIGITS, SETTINGS, trained
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, with_note
from tutelage.papers.section import Figure
from tutelage.papers.sequential import decide_in_stages

COMPARED = ("Swish", "ReLU")
CHUNK, STAGES = 12, 3  # networks with one seed; each stage doubles the networks
RUNS = CHUNK * 2 ** (STAGES - 1)
ITEM = "App. B, digits, 64-25-10: α at the end, Swish less ReLU"
PARTS = {
    f"{setting}_{unit}_{seed}": (setting, unit, seed)
    for setting, unit, seed in product(range(len(SETTINGS)), COMPARED, range(0, RUNS, CHUNK))
}


def fewer(full: bool) -> Iterator[Row | Figure]:
    """Return the row of the recorded networks, or of networks trained again."""
    before = recorded.load_recorded(KEY, "descent")
    if full:
        yield from recorded.compare_with_recorded([_row(measured())], [_row(before)])
    else:
        yield from recorded.mark_recorded([_row(before)], recorded.describe_origin(before))


def measured() -> xr.Dataset:
    """Return α at the end of the training over setting, unit, run and threshold for negative."""
    parts = recorded.in_parts("descent", PARTS, _part)
    alpha = np.array([part["part"].values for part in parts])
    shape = (len(SETTINGS), len(COMPARED), RUNS, len(NEGATIVE))
    return xr.Dataset(
        {"alpha": (("setting", "unit", "run", "count"), alpha.reshape(shape))},
        coords={
            "setting": [s.name for s in SETTINGS],
            "unit": list(COMPARED),
            "count": list(NEGATIVE),
        },
    )


def _part(name: str) -> xr.Dataset:
    """Train the networks of one seed; networks of both units begin with the same weights."""
    setting, unit, seed = PARTS[name]
    chosen = SETTINGS[setting]
    end = (chosen.full["digits", DIGITS],)
    run = trained(chosen, "digits", DIGITS, unit, *end, CHUNK, end, end, seed)
    λ = run["eigenvalues"].transpose("run", "epoch", "eigenvalue").values[:, -1]
    counts = np.stack([α(λ) for α in NEGATIVE.values()], axis=-1)
    return xr.Dataset({"part": (("run", "count"), counts)})


def _row(data: xr.Dataset) -> Row:
    """Decide the statement in both settings, by each count, with networks taken in stages."""
    difference = data["alpha"].sel(unit="Swish") - data["alpha"].sel(unit="ReLU")
    rows = {
        f"{setting}, {count}": _decided(difference.sel(setting=setting, count=count).values)
        for setting in data["setting"].values
        for count in data["count"].values
    }
    ours = [f"{setting}, {count}" for setting in data["setting"].values for count in OUR_COUNTS]
    return with_note(in_each_reading(ITEM, COUNTED, rows, ours=ours), NEGATIVE_NOTE)


def _decided(samples: np.ndarray) -> Row:
    growing = (samples[: CHUNK * 2**stage] for stage in range(STAGES))

    def claims(part: np.ndarray, level: float) -> list[Row]:
        return [claim(KEY, ITEM, part, "<", level=level)]

    return decide_in_stages(growing, claims, STAGES)[1][0]
