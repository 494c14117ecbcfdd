"""The density of eigenvalues of a large Hessian, by stochastic Lanczos quadrature."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Key, PyTree

from tutelage._arguments import validated
from tutelage._checks import (
    InputError,
    check_variables,
    finite_array,
    finite_number,
    positive_integer,
    real_array,
    value_of,
)
from tutelage._given import ArrayLike
from tutelage._jax import jax
from tutelage._types import AnyArray
from tutelage.runs.provenance import recorded
from tutelage.runs.seed import check_seed
from tutelage.spectra.hessian import Flattened, check_finite, flattened, products
from tutelage.spectra.lanczos import quadrature, tridiagonal

# Largest number of bytes of the Lanczos vectors of probes in one batch.
MEMORY = 2**30
# Width of the Gaussian that replaces each eigenvalue, in units of the range of the spectrum.
WIDTH = 0.01
POINTS = 400


def _not_in_the_dataset(dataset: xr.Dataset) -> Any:
    allowed = "the Dataset of a density does not contain the loss and its parameters"
    raise InputError("loss", "a function", allowed, "tl.spectra.density with the same loss")


@recorded(from_variables={"loss": _not_in_the_dataset, "parameters": _not_in_the_dataset})
def density(
    loss: Callable[[Any], Any],
    parameters: PyTree,
    *,
    probes: int = 8,
    steps: int = 50,
    grid: ArrayLike | None = None,
    width: float | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Estimate ρ(λ), eigenvalues broadened to Gaussians, from products with the Hessian.

    ρ(λ) = (1/n) tr N(λ; H, σ²) ≈ mean over probes v of Σ_k w_k N(λ; θ_k, σ²), with v of
    independent signs, and θ, w of `lanczos.quadrature` (Ubaru, Chen and Saad 2017).

    Args:
        loss: a function of the tree of parameters alone.
        parameters: any tree of floating-point arrays.
        probes: how many random vectors; at least 2, for an estimate of the error.
        steps: of Lanczos for each; details finer than the range over the steps are not resolved.
        grid: where to evaluate ρ; by default 400 points over the whole spectrum.
        width: σ; by default 1 % of the range of the spectrum.
        seed: of the probes.

    Returns:
        A Dataset over ``eigenvalue``: density and its standard error density_error; nodes and
        weights with the dimensions probe and step, from which `spectral_mean` takes any average
        over the spectrum; and the width.

    Raises:
        InputError: if an argument cannot be used.

    >>> import numpy as np
    >>> spectrum = density(lambda x: x @ x, np.ones(1000), width=0.1)
    >>> float(spectrum.density.max().round(3)), float(spectrum.density_error.max().round(6))
    (3.989, 0.0)
    """
    flat, loss_of = flattened(loss, parameters)
    probes, steps = positive_integer("probes", probes), positive_integer("steps", steps)
    if probes < 2:
        raise InputError(
            "probes", str(probes), "an error estimate needs at least two probes", "probes=8"
        )
    seed = check_seed(seed)
    if width is not None:
        finite_number("width", width, above=0.0, hint="width=0.01")
    points = None if grid is None else _checked(grid)
    steps = min(steps, flat.size)
    together = max(1, min(probes, MEMORY // (8 * (steps + 1) * flat.size)))
    keys = jax.random.split(jax.random.key(seed), probes)
    θ, w = (np.asarray(x) for x in _quadratures(loss_of, flat, keys, steps, together))
    check_finite(θ + w)
    nodes = θ[
        w > np.finfo(float).eps
    ]  # the other nodes do not belong to H: see `lanczos.Tridiagonal`
    σ = _default_width(nodes) if width is None else float(width)
    if points is None:
        points = np.linspace(nodes.min() - 4 * σ, nodes.max() + 4 * σ, POINTS)
    densities = _smooth(points, θ, w, σ)
    return xr.Dataset(
        {
            "density": ("eigenvalue", densities.mean(axis=0)),
            "density_error": ("eigenvalue", _standard_error(densities)),
            "nodes": (("probe", "step"), θ),
            "weights": (("probe", "step"), w),
            "width": σ,
        },
        coords={"eigenvalue": points},
    )


@validated
def spectral_mean(
    dataset: xr.Dataset, function: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float]:
    """Estimate (1/n) Σ f(λ) over all eigenvalues, with the standard error over probes.

    Exact for each probe if f is a polynomial of a degree below twice the steps.

    >>> both = ("probe", "step"), np.array([[1.0, 3.0], [1.0, 3.0]])
    >>> spectrum = xr.Dataset({"nodes": both, "weights": (both[0], [[0.5, 0.5], [0.25, 0.75]])})
    >>> spectral_mean(spectrum, lambda λ: λ)
    (2.25, 0.25)
    """
    check_variables("dataset", dataset, "weights", "nodes", made_by="tl.spectra.density")
    nodes, weights = dataset["nodes"].values, dataset["weights"].values
    allowed = "it has to give a number for every eigenvalue of an array"
    f = value_of("function", function, nodes, allowed=allowed, hint="np.square")
    f = real_array("function", f)
    if f.shape not in ((), nodes.shape):
        raise InputError("function", f"values of shape {f.shape}", allowed, "np.square")
    values = np.sum(weights * f, axis=1)
    return float(values.mean()), float(_standard_error(values))


@eqx.filter_jit
def _quadratures(
    loss: Flattened,
    flat: Float[AnyArray, " n"],
    keys: Key[Array, " probes"],
    steps: int,
    together: int,
) -> Any:
    product = products(loss, flat)

    def one(key: Key[Array, ""]) -> Any:
        v = jax.random.rademacher(key, (flat.size,), dtype=float)
        return quadrature(tridiagonal(product, v, steps))

    return jax.lax.map(one, keys, batch_size=together)


def _default_width(θ: np.ndarray) -> float:
    spread = float(θ.max() - θ.min())
    return WIDTH * (spread if spread > 0 else max(abs(float(θ.max())), 1.0))


def _checked(grid: ArrayLike) -> np.ndarray:
    points = finite_array("grid", grid)
    if points.ndim != 1 or not len(points):
        raise InputError(
            "grid", f"shape {points.shape}", "it has to be a one-dimensional array of numbers"
        )
    return points


def _smooth(points: np.ndarray, θ: np.ndarray, w: np.ndarray, σ: float) -> np.ndarray:
    """Σ_k w_k N(λ; θ_k, σ²) for each probe."""
    z = (points[:, None] - θ[:, None, :]) / σ
    return np.sum(w[:, None, :] * np.exp(-(z**2) / 2), axis=-1) / (np.sqrt(2 * np.pi) * σ)


def _standard_error(values: np.ndarray) -> np.ndarray:
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
