"""Theories and ensembles with known statistics, without any learning."""

import numpy as np
import xarray as xr

TIME = np.linspace(0.0, 10.0, 41)


def theory(time=TIME, K=1, M=1):
    """Smooth and different curves that begin at the start of the runs and become stationary."""
    rate = 0.3 + 0.1 * np.arange(K * K).reshape(K, K)
    Q = 0.5 * np.exp(-rate * time[:, None, None]) + np.eye(K)
    last = 1 - 0.2 * np.arange(K * M).reshape(K, M)
    R = last * (1 - np.exp(-0.4 * time[:, None, None]))
    return xr.Dataset(
        {
            "Q": (("time", "student", "student_2"), 0.5 * (Q + np.swapaxes(Q, 1, 2))),
            "R": (("time", "student", "teacher"), R),
            "generalization_error": ("time", 0.4 * np.exp(-0.5 * time)),
        },
        coords={"time": time},
    )


def ensemble(draw, runs=100, N=1000, curve=None, skew=0.0, bias=0.0):
    """Runs about a curve that scatter by 1/√N, correlated in time and between overlaps.

    draw: a NumPy generator.
    skew: 0 for normal fluctuations; otherwise those of χ² with 8/skew² degrees of freedom.
    bias: of the mean, in units of 1/N.
    """
    curve = theory() if curve is None else curve
    time = curve["time"].values
    growth = 1 - np.exp(-time)
    result = {}
    for name in ("Q", "R", "generalization_error"):
        shape = curve[name].shape[1:]
        steps = _noise(draw, (runs, 3, *shape), skew)
        common = _noise(draw, (runs, 1, *((1,) * len(shape))), skew)
        modes = np.stack([np.cos(k * time) for k in range(3)])
        walk = np.einsum("rk...,kt->rt...", (steps + common) / 2, modes)
        # Variance and bias of learning both begin to grow as α/N.
        grown = growth.reshape(-1, *((1,) * len(shape)))
        x = curve[name].values + np.sqrt(grown) * walk / np.sqrt(N) + grown * bias / N
        if name == "Q":
            x = 0.5 * (x + np.swapaxes(x, -1, -2))
        result[name] = (("run", *curve[name].dims), x)
    return xr.Dataset(result, coords={"time": time}, attrs={"dimension": N})


def _noise(draw, shape, skew):
    """Mean 0, variance 1."""
    if not skew:
        return draw.normal(size=shape)
    freedom = 8 / skew**2
    return (draw.chisquare(freedom, size=shape) - freedom) / np.sqrt(2 * freedom)


def two_layers(**more):
    """Students trained for three epochs, two runs; two layers of two and three teachers each."""
    random = np.random.default_rng(0)
    variables = {"evaluation_loss": (("run", "epoch"), random.uniform(0.1, 1, (2, 3)))}
    for layer, m in ((1, 2), (2, 3)):
        ρ = random.uniform(-0.4, 1, (2, 3, 2 * m, m))
        axes = ("run", "epoch")
        variables |= {
            f"correlation_{layer}": ((*axes, f"student_{layer}", f"teacher_{layer}"), ρ),
            f"teacher_correlation_{layer}": ((*axes, f"teacher_{layer}"), ρ.max(axis=2)),
            f"student_correlation_{layer}": ((*axes, f"student_{layer}"), ρ.max(axis=3)),
            f"strength_{layer}": ((*axes, f"student_{layer}"), random.uniform(0, 2, ρ.shape[:3])),
        }
    return xr.Dataset(variables, coords={"epoch": [0, 5, 10]}).assign(**more)
