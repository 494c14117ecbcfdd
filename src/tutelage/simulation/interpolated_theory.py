"""The theory at the times of a simulation.

A simulation records after whole numbers of examples, a theory at any time: cubic splines give the
times in between, with an estimate of their error.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from tutelage._checks import InputError
from tutelage.simulation.statistics import NEEDED, components

# The tolerance applies to one step; at most the errors of about this many steps add up.
TYPICAL_STEPS = 1e3


def theory_at(
    theory: xr.Dataset, times: Float[np.ndarray, " time"], names: Sequence[str] | None = None
) -> tuple[Float[np.ndarray, "time c"], Float[np.ndarray, "time c"]]:
    """Return the components of the theory at these times, and their errors.

    The error of a cubic spline falls as the fourth power of the distance of its knots: that of
    every second knot is 16 times as large, and their difference gives the error.  After its end a
    theory that has converged stays where it is.
    """
    theory_times = theory["time"].values
    values = components(theory, names)[1]
    at = np.minimum(times, theory_times[-1])
    integration = TYPICAL_STEPS * float(theory.attrs.get("tolerance", np.finfo(float).eps))
    nearest = np.abs(theory_times - at[:, None]).argmin(axis=1)
    if np.all(np.abs(theory_times[nearest] - at) <= 1e-12 * (1 + at)):
        return values[nearest], np.full((len(at), values.shape[1]), integration)
    if len(theory_times) < 8:
        raise InputError(
            "theory",
            f"{len(theory_times)} times, not those of the runs",
            "it has to have the times of the runs, or enough for a spline",
            "tl.online.evolve(..., times=runs.time)",
        )
    fine = CubicSpline(theory_times, values)(at)
    coarse_knots = np.union1d(np.arange(0, len(theory_times), 2), [len(theory_times) - 1])
    coarse = CubicSpline(theory_times[coarse_knots], values[coarse_knots])(at)
    return fine, np.abs(fine - coarse) / 15 + integration


def check_theory(theory: xr.Dataset, runs: xr.Dataset) -> None:
    """Check that the theory is one curve of the same problem as the runs."""
    whole = isinstance(theory, xr.Dataset) and all(name in theory for name in NEEDED)
    if not whole or "time" not in theory.dims or "run" in theory.dims:
        received = f"{dict(theory.sizes)}" if isinstance(theory, xr.Dataset) else repr(theory)
        allowed = f"it has to be one run with {', '.join(NEEDED)} over time"
        raise InputError("theory", received, allowed, "tl.online.evolve(...)")
    for name in ("student", "teacher"):
        if theory.sizes[name] != runs.sizes[name]:
            received = f"{theory.sizes[name]} {name}s"
            raise InputError("theory", received, f"the runs have {runs.sizes[name]}")
    for name in ("scenario", "learning_rate", "readout_rate", "weight_decay", "batch"):
        ours, theirs = (_known(x.attrs.get(name)) for x in (theory, runs))
        if ours is not None and theirs is not None and ours != theirs:
            raise InputError(
                "theory",
                f"the {name} {ours}",
                f"the runs have {theirs}",
                "theory.drop_attrs() to compare them anyway; times need the same unit",
            )


def _known(text: object) -> Any:
    try:
        return json.loads(str(text)) if text is not None else None
    except ValueError:
        return text
