"""Several degrees of over-realization in one call."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.deep.training.training import train


def sweep(hidden: Any, multiples: Sequence[int] = (1, 2, 5, 10), **options: Any) -> xr.Dataset:
    """Train students of several widths; each width is one batch of all runs and polarities.

    Args:
        hidden: nodes of the hidden layers of the teacher.
        multiples: of student nodes for each teacher node, all different.
        options: those of `train`; runs with the same number have the same teacher and data.

    Returns:
        The Dataset of `train` with the dimension ``multiple`` and without weights; student nodes
        that narrower students do not have are missing values.

    >>> import tutelage as tl
    >>> ds = tl.deep.sweep(
    ...     2, (1, 2), inputs=4, outputs=3, epochs=1, examples=64, evaluation=50, runs=3
    ... )
    >>> ds.student_correlation_1.sizes["multiple"], ds.sizes["student_1"]
    (2, 4)
    """
    wanted = np.atleast_1d(np.asarray(multiples, dtype=object)).tolist()
    if not wanted or len(set(wanted)) < len(wanted):
        allowed = "there has to be at least one, and no two the same"
        raise InputError("multiples", repr(multiples), allowed, "multiples=(1, 2, 5, 10)")
    if "checkpoint" in options:
        allowed = "a checkpoint belongs to one training"
        raise InputError("checkpoint", repr(options["checkpoint"]), allowed, "train for each")
    found = []
    for multiple in wanted:
        one = train(hidden, multiple, **options)
        weights = [name for name in one if "_weights_" in str(name) or "_biases_" in str(name)]
        nodes = {str(axis): np.arange(n) for axis, n in one.drop_vars(weights).sizes.items()}
        nodes = {axis: n for axis, n in nodes.items() if axis.startswith("student_")}
        found.append(one.drop_vars(weights).assign_coords(nodes))
    attrs = found[0].attrs | {"computed_by": "deep.sweep"}
    attrs["student"] = ", ".join(str(one.attrs["student"]) for one in found)
    joined = xr.concat(found, xr.Variable("multiple", wanted), join="outer", coords="minimal")
    return joined.assign_attrs(attrs)
