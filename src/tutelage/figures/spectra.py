"""Networks that learn, and the spectra of their Hessians: curves with bands, ridges."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_array, positive_integer
from tutelage.figures.axes import drawing
from tutelage.figures.looks import DASHES
from tutelage.figures.style import colour, new_axes, shades
from tutelage.figures.text import finished, note
from tutelage.spectra.indices import negative_fraction, zero_fraction

BAND = (0.1, 0.9)  # quantiles over runs
SYMBOLS = {
    "loss": r"loss $\varepsilon$",
    "accuracy": "accuracy",
    "gradient_norm": r"$|\nabla\varepsilon|$",
    "zero_residuals": r"fraction of $|e| \leq$ tolerance",
    "negative_fraction": r"negative fraction $\alpha$",
    "zero_fraction": r"zero fraction $\gamma$",
}
INDICES = {"negative_fraction": negative_fraction, "zero_fraction": zero_fraction}
RIDGES = 12
MOST_SYMBOLS = 12  # epochs up to which each has a symbol
# Eigenvalues are drawn linearly up to this part of the largest, logarithmically beyond.
LINEAR_PART = 1e-6
STEPS = 500
TICKS = 9
MARKERS = "osD^v"


@drawing
def training(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    axes: Any = None,
    *,
    which: str = "loss",
    scale: str = "linear",
) -> Any:
    """Draw a quantity over the epochs: the median over runs, and from 10 % to 90 % as a band.

    Args:
        datasets: from `tutelage.spectra.train`, or several by name.
        axes: Axes to draw on; a new figure when left out.
        which: "loss", "accuracy", "gradient_norm", "zero_residuals", "negative_fraction" (α) or
            "zero_fraction" (γ).
        scale: of the quantity, "linear" or "log".

    Returns:
        The Axes drawn on.
    """
    if which not in SYMBOLS:
        allowed = f"it has to be one of {', '.join(SYMBOLS)}"
        raise InputError("which", repr(which), allowed, "which='loss'")
    axes = new_axes(axes)
    for number, (name, one) in enumerate(_named(datasets).items()):
        look = {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}
        low, middle, high = _quantiles(one[which].dropna("epoch", how="all"))
        marker = "o" if middle.size <= MOST_SYMBOLS else None
        axes.plot(middle["epoch"], middle, label=name or None, marker=marker, markersize=3, **look)
        if one.sizes["run"] > 1:
            axes.fill_between(
                middle["epoch"], low, high, color=colour(number), alpha=0.2, linewidth=0
            )
            note(axes, "Medians over the runs, with bands from 10 % to 90 % of them.")
    axes.set(xlabel="epoch", ylabel=SYMBOLS[which], yscale=scale)
    return finished(axes)


@drawing
def index_against_loss(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    axes: Any = None,
    *,
    which: str = "negative_fraction",
) -> Any:
    """Draw α against the loss, as milletari2019, Fig. 1 (b): the runs as dots, and medians.

    Args:
        datasets: from `tutelage.spectra.train`, or several by name.
        axes: Axes to draw on; a new figure when left out.
        which: "negative_fraction" (α) or "zero_fraction" (γ).

    Returns:
        The Axes drawn on.
    """
    axes = new_axes(axes)
    for number, (name, one) in enumerate(_named(datasets).items()):
        look = {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}
        index, loss = one[which].dropna("epoch", how="all"), one["loss"]
        loss = loss.sel(epoch=index["epoch"])
        dots = {"marker": ".", "linestyle": "none", "markersize": 3, "alpha": 0.5}
        axes.plot(loss.values.ravel(), index.values.ravel(), color=colour(number), **dots)
        middle = loss.median("run"), index.median("run")
        few = middle[0].size <= MOST_SYMBOLS
        marker = MARKERS[number % len(MARKERS)] if few else None
        axes.plot(*middle, marker=marker, markersize=3, label=name or None, **look)
        _arrow(axes, middle[0].values, middle[1].values, look["color"])
    note(axes, "Dots are runs, lines medians over them; arrows point the way training goes.")
    axes.set(xlabel=SYMBOLS["loss"], ylabel=SYMBOLS[which])
    return finished(axes)


@drawing
def index_against_tolerance(
    datasets: xr.Dataset | Mapping[str, xr.Dataset],
    axes: Any = None,
    *,
    which: str = "zero_fraction",
    epoch: int | None = None,
) -> Any:
    """Draw α or γ against what counts as zero, as a part of the largest |λ|, for one epoch.

    Args:
        datasets: from `tutelage.spectra.train`, or several by name.
        axes: Axes to draw on; a new figure when left out.
        which: "negative_fraction" (α) or "zero_fraction" (γ).
        epoch: one that has spectra; the last of them when left out.

    Returns:
        The Axes drawn on.  A dashed line marks the tolerance of the index in the Dataset.
    """
    if which not in INDICES:
        allowed = f"it has to be {' or '.join(map(repr, INDICES))}"
        raise InputError("which", repr(which), allowed, "which='zero_fraction'")
    axes = new_axes(axes)
    tolerances = np.logspace(-16, 0, 65)
    marked = set()
    for number, (name, one) in enumerate(_named(datasets).items()):
        look = {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}
        spectra = _spectra(one)
        spectra = spectra.isel(epoch=-1) if epoch is None else spectra.sel(epoch=epoch)
        index = INDICES[which](spectra.values, tolerances)
        low, middle, high = np.quantile(index, [BAND[0], 0.5, BAND[1]], axis=0)
        axes.plot(tolerances, middle, label=name or None, **look)
        axes.fill_between(tolerances, low, high, color=colour(number), alpha=0.2, linewidth=0)
        marked.add(float(one.attrs["tolerance"]))
    for tolerance in marked:
        label = "tolerance used"
        axes.axvline(tolerance, color="0.4", linestyle=":", linewidth=1.2, label=label)
    note(axes, "Medians over the runs, with bands from 10 % to 90 % of them.")
    axes.set(xscale="log", xlabel=r"tolerance $/\ \max|\lambda|$", ylabel=SYMBOLS[which])
    return finished(axes)


@drawing
def eigenvalue_ridges(dataset: xr.Dataset, axes: Any = None, *, ridges: int = RIDGES) -> Any:
    """Draw the density of eigenvalues through training, one ridge above the other.

    Args:
        dataset: from `tutelage.spectra.train`; the eigenvalues of all runs are taken together.
        axes: Axes to draw on; a new figure when left out.
        ridges: at most so many of the epochs that have spectra.

    Returns:
        The Axes drawn on.  Eigenvalues are drawn linearly near zero and logarithmically beyond;
        every ridge is the density in that coordinate, as high as its own maximum.
    """
    axes = new_axes(axes)
    positive_integer("ridges", ridges, "ridges=12")
    spectra = _spectra(dataset)
    ridges = min(ridges, spectra.sizes["epoch"])
    chosen = np.unique(np.linspace(0, spectra.sizes["epoch"] - 1, ridges).astype(int))
    bend = Bend(float(np.abs(spectra).max()))
    grid = bend.grid(float(spectra.min()), float(spectra.max()))
    for place, (number, tint) in enumerate(zip(chosen, shades(len(chosen)), strict=True)):
        height = 1.6 * bend.density(spectra.values[:, number], grid)
        axes.fill_between(grid, place, place + height, color=tint, alpha=0.8, zorder=-place)
        axes.plot(grid, place + height, color="white", linewidth=0.8, zorder=-place)
    axes.set_yticks(np.arange(len(chosen)), [str(e) for e in spectra["epoch"].values[chosen]])
    axes.axvline(0.0, color="black", linewidth=0.6, linestyle=":")
    bend.ticks(axes, grid)
    axes.set(xlabel=r"$\lambda$", ylabel="epoch (not to scale)", xlim=(grid[0], grid[-1]))
    note(
        axes,
        "Densities in the coordinate of the axis, linear near zero and logarithmic beyond, each up "
        f"to its own maximum; {len(chosen)} epochs, not equally far apart.",
    )
    finished(axes)
    axes.grid(False)
    return axes


@drawing
def spectral_density(found: xr.Dataset, axes: Any = None, *, eigenvalues: Any = None) -> Any:
    """Draw the density of `tutelage.spectra.density` with twice its standard error as a band.

    Args:
        found: from `tutelage.spectra.density`.
        axes: Axes to draw on; a new figure when left out.
        eigenvalues: all of them, if they are known, to be drawn with the same width.

    Returns:
        The Axes drawn on.
    """
    axes = new_axes(axes)
    ρ, error, λ = (found[name].values for name in ("density", "density_error", "eigenvalue"))
    axes.plot(λ, ρ, color=colour(0), label="Lanczos quadrature")
    band = {"color": colour(0), "alpha": 0.3, "linewidth": 0}
    axes.fill_between(λ, np.maximum(ρ - 2 * error, 0.0), ρ + 2 * error, **band)
    note(axes, "The band is two standard errors wide to either side.")
    if eigenvalues is not None:
        σ = float(found["width"])
        z = (λ[:, None] - finite_array("eigenvalues", eigenvalues).ravel()) / σ
        exact = np.mean(np.exp(-(z**2) / 2), axis=1) / (np.sqrt(2 * np.pi) * σ)
        axes.plot(λ, exact, "k--", linewidth=1.0, label="all eigenvalues")
    axes.set(xlabel=r"$\lambda$", ylabel=r"$\rho(\lambda)$", yscale="log")
    axes.set_ylim(1e-6 * ρ.max(), 3 * ρ.max())
    return finished(axes)


class Bend:
    """A coordinate that is λ/s near zero and a logarithm far from it: asinh(λ/s)."""

    def __init__(self, largest: float):
        self.scale = LINEAR_PART * largest if largest > 0 else 1.0

    def __call__(self, λ: Any) -> np.ndarray:
        return np.arcsinh(np.asarray(λ) / self.scale)

    def grid(self, lowest: float, highest: float) -> np.ndarray:
        """Points from one end to the other, and a little beyond."""
        return np.linspace(self(lowest) - 0.8, self(highest) + 0.8, STEPS)

    def density(self, λ: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """Gaussians in the bent coordinate, as wide as three steps, with the maximum one."""
        edges = np.append(grid - (grid[1] - grid[0]) / 2, grid[-1] + (grid[1] - grid[0]) / 2)
        counts = np.histogram(self(λ).ravel(), edges)[0].astype(float)
        kernel = np.exp(-(np.arange(-12, 13) ** 2) / 18)
        smooth = np.convolve(counts, kernel, mode="same")
        return smooth / smooth.max()

    def ticks(self, axes: Any, grid: np.ndarray) -> None:
        """Zero and powers of ten on both sides, as many as there is room for."""
        apart = (grid[-1] - grid[0]) / TICKS
        shown = [0.0]
        for power in (10.0**k for k in range(-30, 31)):
            if self(power) - self(shown[-1]) >= apart:
                shown.append(power)
        both = [*(-v for v in shown[:0:-1]), *shown]
        inside = [v for v in both if grid[0] <= self(v) <= grid[-1]]
        axes.set_xticks([float(self(v)) for v in inside], [_power(v) for v in inside])


def _power(value: float) -> str:
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    return f"${sign}10^{{{round(np.log10(abs(value)))}}}$"


def _spectra(dataset: xr.Dataset) -> xr.DataArray:
    spectra = dataset["eigenvalues"].dropna("epoch", how="all").dropna("run")
    if 0 in spectra.shape:
        raise InputError("dataset", "no spectrum", "spectra have to be recorded", "spectra=None")
    return spectra


def _arrow(axes: Any, x: np.ndarray, y: np.ndarray, tint: Any) -> None:
    """The direction of time, at the longest piece of a curve."""
    if len(x) < 2:
        return
    scale = [max(float(np.ptp(v)), 1e-300) for v in (x, y)]
    k = int(np.argmax(np.hypot(np.diff(x) / scale[0], np.diff(y) / scale[1])))
    ends = {"xy": ((x[k] + x[k + 1]) / 2, (y[k] + y[k + 1]) / 2), "xytext": (x[k], y[k])}
    axes.annotate("", **ends, zorder=5, arrowprops={"arrowstyle": "-|>", "color": tint})


def _named(datasets: xr.Dataset | Mapping[str, xr.Dataset]) -> Mapping[str, xr.Dataset]:
    if isinstance(datasets, xr.Dataset):
        return {"": datasets}
    if not datasets:
        raise InputError("datasets", "none", "there has to be one", "tl.spectra.train(...)")
    return datasets


def _quantiles(values: xr.DataArray) -> Any:
    found = values.quantile([BAND[0], 0.5, BAND[1]], "run")
    return (found.isel(quantile=i) for i in range(3))
