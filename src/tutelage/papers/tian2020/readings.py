"""The settings in which the figures of tian2020 are computed, and the data of each.

The paper prints some of its sizes, and the public code of its authors has others
(`tutelage.papers.tian2020.trainings`).  Every statement on trained networks is decided in both.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row
from tutelage.papers.section import Figure
from tutelage.papers.sequential import look_at
from tutelage.papers.tian2020 import KEY, trainings
from tutelage.papers.tian2020.reduced import REDUCED

NAMES = {
    "code": "authors' code",
    "text": "Sec. 8.16",
    "both": "authors' code, data of the text",
}
SETTING = "the setting (Section 8.16 and the public code of the authors differ)"
# A claim on full trainings is looked at no more than twice: runs are doubled once.
LOOKS = 2

Data = Mapping[str, xr.Dataset]
Claims = Callable[[xr.Dataset, float], list[Row]]
Parts = Iterator[Row | Figure]


@cache
def kept(name: str) -> Data:
    """The recorded data of a training in every setting, the authors' first."""
    return {
        setting: recorded.kept(KEY, f"{name}_{setting}") for setting in trainings.SETTINGS[name]
    }


@cache
def trained(name: str) -> Data:
    """The same, computed now, with as many runs as were recorded."""
    return {setting: again(name, setting, one) for setting, one in kept(name).items()}


def again(name: str, setting: str, before: xr.Dataset) -> xr.Dataset:
    """One training of all looks that were taken before, reduced."""
    looks = int(before.attrs["looks"])
    return joined(name, [trainings.TRAININGS[name](setting, look) for look in range(looks)])


def joined(name: str, looks: list[xr.Dataset]) -> xr.Dataset:
    """What is kept of a training that was looked at several times."""
    runs = xr.concat(looks, "run", data_vars="minimal", combine_attrs="drop_conflicts")
    runs = runs.assign_coords(run=np.arange(runs.sizes["run"]))
    told = {name: value for name, value in runs.attrs.items() if name != "computed_by"}
    more = {"looks": len(looks), "runs": runs.sizes["run"], "seed": trainings.SEED}
    return REDUCED[name](runs.drop_attrs()).assign_attrs(told | more)


def figure(name: str, shown: Callable[[Data], Parts]) -> Callable[[bool], Parts]:
    """What a section computes: from the recorded data, or from that of a full run beside it."""

    def compute(full: bool) -> Parts:
        before = kept(name)
        if full:
            return recorded.held_against(shown(trained(name)), shown(before))
        return recorded.marked(shown(before), recorded.origin(*before.values()))

    return compute


def decided(data: Data, claims: Claims, *, on: str = SETTING, note: str = "") -> Iterator[Row]:
    """Each claim in all settings, with as many of the runs as it takes."""
    found = each(data, claims)
    for rows in zip(*found.values(), strict=True):
        readings = dict(zip(found, rows, strict=True))
        yield in_each_reading(rows[0].item, on, readings, note)


def each(data: Data, claims: Claims) -> dict[str, list[Row]]:
    """The rows of every setting, by its name in words."""
    return {NAMES[setting]: in_looks(one, claims) for setting, one in data.items()}


def in_looks(runs: xr.Dataset, claims: Claims) -> list[Row]:
    """Those of one setting."""
    first = runs.sizes["run"] // 2 ** (int(runs.attrs["looks"]) - 1)
    sizes = [first * 2**look for look in range(int(runs.attrs["looks"]))]
    return look_at((runs.isel(run=slice(n)) for n in sizes), claims, LOOKS)[1]


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """A figure with panels of this size, in inches."""
    import matplotlib.pyplot as plt

    whole = (size[0] * columns, size[1] * rows)
    return plt.subplots(rows, columns, figsize=whole, layout="constrained", **options)
