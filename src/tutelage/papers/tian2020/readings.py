"""The settings in which the figures of tian2020 are computed, and the data of each.

The paper prints some of its sizes, and the public code of its authors has others
(`tutelage.papers.tian2020.trainings`).  Every statement on trained networks is decided in both.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from tutelage.figures.style import new_grid
from tutelage.papers import recorded
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row
from tutelage.papers.section import Figure
from tutelage.papers.sequential import decide_in_stages
from tutelage.papers.tian2020 import KEY, trainings
from tutelage.papers.tian2020.reduced import REDUCED

NAMES = {
    "code": "authors' code",
    "text": "Sec. 8.16",
    "both": "authors' code, data of the text",
}
SETTING = "the setting (Section 8.16 and the public code of the authors differ)"
# A claim on full trainings has two stages: runs are doubled once.
MAX_STAGES = 2

Data = Mapping[str, xr.Dataset]
Claims = Callable[[xr.Dataset, float], list[Row]]
Parts = Iterator[Row | Figure]


@cache
def load_recorded(name: str) -> Data:
    """Load the recorded data of a training in every setting, the authors' first."""
    return {
        setting: recorded.load_recorded(KEY, f"{name}_{setting}")
        for setting in trainings.SETTINGS[name]
    }


@cache
def trained(name: str) -> Data:
    """Repeat a training in every setting, with as many runs as were recorded."""
    return {setting: repeated(name, setting, one) for setting, one in load_recorded(name).items()}


def repeated(name: str, setting: str, before: xr.Dataset) -> xr.Dataset:
    """Repeat the training of all recorded stages, and reduce it."""
    stages = int(before.attrs["looks"])
    return joined(name, [trainings.TRAININGS[name](setting, stage) for stage in range(stages)])


def joined(name: str, stages: list[xr.Dataset]) -> xr.Dataset:
    """Join the stages of a training and reduce them to the recorded variables."""
    runs = xr.concat(stages, "run", data_vars="minimal", combine_attrs="drop_conflicts")
    runs = runs.assign_coords(run=np.arange(runs.sizes["run"]))
    attributes = {name: value for name, value in runs.attrs.items() if name != "computed_by"}
    more = {"looks": len(stages), "runs": runs.sizes["run"], "seed": trainings.SEED}
    return REDUCED[name](runs.drop_attrs()).assign_attrs(attributes | more)


def figure(name: str, parts: Callable[[Data], Parts]) -> Callable[[bool], Parts]:
    """Make the compute function of a section: from recorded data, or compared with a full run."""

    def compute(full: bool) -> Parts:
        return recorded.show_recorded(load_recorded(name), lambda: trained(name), parts, full)

    return compute


def decided(data: Data, claims: Claims, *, on: str = SETTING, note: str = "") -> Iterator[Row]:
    """Decide each claim in all settings, stage by stage."""
    decisions = each(data, claims)
    for rows in zip(*decisions.values(), strict=True):
        readings = dict(zip(decisions, rows, strict=True))
        yield in_each_reading(rows[0].item, on, readings, note)


def each(data: Data, claims: Claims) -> dict[str, list[Row]]:
    """Return the rows of every setting, by the printed name of the setting."""
    return {NAMES[setting]: in_stages(one, claims) for setting, one in data.items()}


def in_stages(runs: xr.Dataset, claims: Claims) -> list[Row]:
    """Decide the claims in one setting."""
    first = runs.sizes["run"] // 2 ** (int(runs.attrs["looks"]) - 1)
    sizes = [first * 2**stage for stage in range(int(runs.attrs["looks"]))]
    return decide_in_stages((runs.isel(run=slice(n)) for n in sizes), claims, MAX_STAGES)[1]


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """Make a figure with panels of this size, in inches."""

    whole = (size[0] * columns, size[1] * rows)
    return new_grid(rows, columns, whole, **options)
