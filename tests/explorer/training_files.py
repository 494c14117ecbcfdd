"""Made-up training files."""

import numpy as np
import xarray as xr


def training() -> xr.Dataset:
    """Two runs, three epochs."""
    values = np.arange(12.0).reshape(2, 3, 2)
    return xr.Dataset(
        {"eigenvalues": (("run", "epoch", "eigenvalue"), values),
         "loss": (("run", "epoch"), values[..., 0]),
         "strength_1": (("run", "epoch", "student_1"), values),
         "student_correlation_1": (("run", "epoch", "student_1"), values / 12),
         "teacher_correlation_1": (("run", "epoch", "teacher_1"), values / 12),
         "correlation_1": (("run", "epoch", "student_1", "teacher_1"),
                           np.stack([values, values], -1) / 12)},
        {"epoch": [0, 5, 10], "run": [0, 1]},
    )  # fmt: skip
