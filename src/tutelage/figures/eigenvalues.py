"""Densities of eigenvalues: ridges through training, and the estimate for a large matrix."""

from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_array, positive_integer
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Axes
from tutelage.figures.style import colour, new_axes, ordered_colours
from tutelage.figures.text import add_to_caption, finish
from tutelage.figures.ticks import power

MAX_RIDGES = 12
RIDGE_HEIGHT = 1.6  # ridges
LINEAR_FRACTION = 1e-6  # of the largest eigenvalue: below it the axis is linear
GRID_POINTS = 500
MAX_TICKS = 9


@figure_function
def eigenvalue_ridges(
    dataset: xr.Dataset, axes: Axes | None = None, *, ridges: int = MAX_RIDGES
) -> Any:
    """Draw the density of eigenvalues during training as ridges, one above the other.

    Args:
        dataset: from `tutelage.spectra.train`; the eigenvalues of all runs are pooled.
        axes: Axes to draw on; a new figure when left out.
        ridges: the largest number of epochs to draw.

    Returns:
        The Axes.  The axis of the eigenvalues is linear near zero and logarithmic beyond; every
        ridge is the density in this coordinate, scaled to its own maximum.
    """
    axes = new_axes(axes)
    positive_integer("ridges", ridges, "ridges=12")
    spectra = recorded_spectra(dataset)
    ridges = min(ridges, spectra.sizes["epoch"])
    chosen = np.unique(np.linspace(0, spectra.sizes["epoch"] - 1, ridges).astype(int))
    scale = EigenvalueScale(float(np.abs(spectra).max()))
    grid = scale.grid(float(spectra.min()), float(spectra.max()))
    for place, (number, tint) in enumerate(zip(chosen, ordered_colours(len(chosen)), strict=True)):
        height = RIDGE_HEIGHT * scale.density(spectra.values[:, number], grid)
        axes.fill_between(grid, place, place + height, color=tint, alpha=0.8, zorder=-place)
        axes.plot(grid, place + height, color="white", linewidth=0.8, zorder=-place)
    axes.set_yticks(np.arange(len(chosen)), [str(e) for e in spectra["epoch"].values[chosen]])
    axes.axvline(0.0, color="black", linewidth=0.6, linestyle=":")
    scale.ticks(axes, grid)
    axes.set(xlabel=r"$\lambda$", ylabel="epoch (not to scale)", xlim=(grid[0], grid[-1]))
    add_to_caption(
        axes,
        "Densities in the coordinate of the axis, linear near zero and logarithmic beyond, each "
        f"divided by its maximum; {len(chosen)} epochs, not equally spaced.",
    )
    finish(axes)
    axes.grid(False)
    return axes


@figure_function
def spectral_density(
    dataset: xr.Dataset, axes: Any = None, *, eigenvalues: ArrayLike | None = None
) -> Any:
    """Draw the density of eigenvalues with a band of two standard errors to either side.

    Args:
        dataset: from `tutelage.spectra.density`.
        axes: Axes to draw on; a new figure when left out.
        eigenvalues: all exact ones, if they are known; they are smoothed with the same width.

    Returns:
        The Axes.
    """
    axes = new_axes(axes)
    ρ, error, λ = (dataset[name].values for name in ("density", "density_error", "eigenvalue"))
    axes.plot(λ, ρ, color=colour(0), label="Lanczos quadrature")
    band = {"color": colour(0), "alpha": 0.3, "linewidth": 0}
    axes.fill_between(λ, np.maximum(ρ - 2 * error, 0.0), ρ + 2 * error, **band)
    add_to_caption(axes, "The band extends two standard errors to either side.")
    if eigenvalues is not None:
        σ = float(dataset["width"])
        z = (λ[:, None] - finite_array("eigenvalues", eigenvalues).ravel()) / σ
        exact = np.mean(np.exp(-(z**2) / 2), axis=1) / (np.sqrt(2 * np.pi) * σ)
        axes.plot(λ, exact, "k--", linewidth=1.0, label="all eigenvalues")
    axes.set(xlabel=r"$\lambda$", ylabel=r"$\rho(\lambda)$", yscale="log")
    axes.set_ylim(1e-6 * ρ.max(), 3 * ρ.max())
    return finish(axes)


class EigenvalueScale:
    """The coordinate asinh(λ/s): linear near zero and logarithmic far from it."""

    def __init__(self, largest: float):
        self.linear_range = LINEAR_FRACTION * largest if largest > 0 else 1.0

    def __call__(self, λ: ArrayLike) -> np.ndarray:
        return np.arcsinh(np.asarray(λ) / self.linear_range)

    def grid(self, lowest: float, highest: float) -> np.ndarray:
        """Return a grid of the coordinate from below the lowest to above the highest eigenvalue."""
        return np.linspace(self(lowest) - 0.8, self(highest) + 0.8, GRID_POINTS)

    def density(self, λ: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """Return the density in the coordinate, smoothed over three grid points, with maximum 1."""
        edges = np.append(grid - (grid[1] - grid[0]) / 2, grid[-1] + (grid[1] - grid[0]) / 2)
        counts = np.histogram(self(λ).ravel(), edges)[0].astype(float)
        kernel = np.exp(-(np.arange(-12, 13) ** 2) / 18)
        smooth = np.convolve(counts, kernel, mode="same")
        return smooth / smooth.max()

    def ticks(self, axes: Axes, grid: np.ndarray) -> None:
        """Label zero and powers of ten on both sides, at most MAX_TICKS."""
        gap = (grid[-1] - grid[0]) / MAX_TICKS
        ticks = [0.0]
        for value in (10.0**k for k in range(-30, 31)):
            if self(value) - self(ticks[-1]) >= gap:
                ticks.append(value)
        labels = [*(-v for v in ticks[:0:-1]), *ticks]
        inside = [v for v in labels if grid[0] <= self(v) <= grid[-1]]
        axes.set_xticks([float(self(v)) for v in inside], [power(v) for v in inside])


def recorded_spectra(dataset: xr.Dataset) -> xr.DataArray:
    """Return the eigenvalues of the epochs at which spectra were recorded."""
    spectra = dataset["eigenvalues"].dropna("epoch", how="all").dropna("run")
    if 0 in spectra.shape:
        raise InputError(
            "dataset",
            "no spectrum",
            "spectra have to be recorded",
            "tl.spectra.train(..., spectra=[0, 10, 100])",
        )
    return spectra
