"""Numbers that differ between runs, as coordinates by which runs are found."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage.model.numbers import COORDINATES

# Parameters of units, of the student and, where it has others, of the teacher.
PARAMETERS = ("slope", "beta", "offset")
# Numbers of which there may be one for each run.
NUMBERS = (
    *("learning_rate", "readout_rate"),
    *COORDINATES,
    *PARAMETERS,
    *(f"teacher_{name}" for name in PARAMETERS),
)


def with_numbers(dataset: xr.Dataset, numbers: dict[str, Any]) -> xr.Dataset:
    """With a coordinate of ``run`` for every number that has one value for each run.

    >>> runs = xr.Dataset({"error": ("run", [0.3, 0.1])})
    >>> rates = with_numbers(runs, {"learning_rate": np.array([0.5, 1.0]), "weight_decay": 0.0})
    >>> float(rates.sel(learning_rate=1.0).error)
    0.1
    """
    several = {name: ("run", np.asarray(x)) for name, x in numbers.items() if np.ndim(x) == 1}
    return indexed(dataset.assign_coords(several))


def indexed(dataset: xr.Dataset) -> xr.Dataset:
    """The same, with an index by every such number; runs that share a value are found together.

    >>> runs = xr.Dataset({"error": ("run", [0.3, 0.2, 0.1])})
    >>> numbers = {"learning_rate": np.array([0.5, 1.0, 1.0]), "weight_decay": np.array([0, 0, 1])}
    >>> float(with_numbers(runs, numbers).sel(learning_rate=1.0).sel(weight_decay=1).error)
    0.1
    """
    for name in NUMBERS:
        there = name in dataset.coords and dataset[name].dims == ("run",)
        if there and name not in dataset.xindexes:
            dataset = dataset.set_xindex(name)
    return dataset
