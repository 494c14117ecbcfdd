"""Scaling of the deviation from the theory with the number of inputs.

Overlaps of a run scatter about the theory by O(1/√N), their mean over runs deviates by O(1/N):
the fluctuations drive the mean through the second derivatives of the equations of motion.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from tutelage._checks import InputError, positive_integer
from tutelage.runs.provenance import recorded
from tutelage.runs.seed import check_seed
from tutelage.simulation.interpolated_theory import check_theory, theory_at
from tutelage.simulation.statistics import check_runs, components, observed

RESAMPLES = 200  # a standard error from this many is known to 1/√400 = 5 percent
STEEPEST = 3.0  # range of the exponents that are tried


class _Deviations(NamedTuple):
    """Deviations of every run from the theory, shape (runs, components), for one N."""

    N: int
    d: Float[np.ndarray, "runs c"]


@recorded
def finite_size(
    theory: xr.Dataset, ensembles: xr.Dataset | Sequence[xr.Dataset], *, seed: int = 0
) -> xr.Dataset:
    """Compute the deviation from the theory against N, with the exponents of its mean and of its
    spread.

    Of the deviations d_rc of run r in component c (R_in, Q_ik or ε_g at one time), the means
    over runs are fitted by A_c N^-p with one p for all c, least squares in units of their standard
    errors, and the root mean square over c of their standard deviations by B N^-q.  Theory: p = 1,
    q = 1/2, as long as fluctuations are small; choose times before the plateau is left.  The
    standard errors of p and q come from drawing runs of each ensemble again, with replacement.

    Args:
        theory: from `tutelage.online.evolve`, one run.
        ensembles: a sweep of `chain` or `network` over ``dimension``, or a list of ensembles, whose
            attribute ``dimension`` is N.  At least two, of at least 10 runs each, that have the
            same times; a time at which a run is missing is left out.
        seed: of drawing again.

    Returns:
        A Dataset over ``dimension`` with root mean squares over components: ``deviation`` of
        the mean from the theory, ``standard_error`` of that mean, which the deviation has to exceed
        to be significant, and ``spread`` over runs.  Attributes: ``mean_exponent`` p and
        ``spread_exponent`` q, each with ``..._standard_error``.

    >>> import numpy as np, xarray as xr
    >>> one = xr.DataArray(np.ones((9, 1, 1)), dims=("time", "student", "teacher"))
    >>> theory = xr.Dataset({"R": one, "Q": one.rename(teacher="student_2")})
    >>> theory = theory.assign(generalization_error=one[:, 0, 0], time=np.arange(9.0))
    >>> def ensemble(N):  # runs that scatter by 1/√N
    ...     noise = xr.DataArray(np.random.default_rng(N).normal(size=50), dims="run")
    ...     return (theory + noise / np.sqrt(N)).assign_attrs(dimension=N)
    >>> scaling = finite_size(theory, [ensemble(N) for N in (100, 1000, 10000)])
    >>> error = scaling.attrs["spread_exponent_standard_error"]
    >>> bool(abs(scaling.attrs["spread_exponent"] - 0.5) < 3 * error < 0.2)
    True
    """
    data = _deviations(theory, ensembles)
    mean, spread = _estimate(data, _mean_exponent, seed), _estimate(data, _spread_exponent, seed)
    errors = [_rms(np.std(e.d, axis=0, ddof=1) / np.sqrt(len(e.d))) for e in data]
    return xr.Dataset(
        {
            "deviation": ("dimension", [_rms(np.mean(e.d, axis=0)) for e in data]),
            "standard_error": ("dimension", errors),
            "spread": ("dimension", [_rms(np.std(e.d, axis=0, ddof=1)) for e in data]),
            "runs": ("dimension", [len(e.d) for e in data]),
        },
        coords={"dimension": ("dimension", [e.N for e in data], {"symbol": "N"})},
        attrs={
            "mean_exponent": mean[0],
            "mean_exponent_standard_error": mean[1],
            "spread_exponent": spread[0],
            "spread_exponent_standard_error": spread[1],
        },
    )


def _mean_exponent(data: list[_Deviations]) -> float:
    """Fit p of A_c N^-p: for each p the amplitudes A_c follow from linear least squares."""
    N = np.array([e.N for e in data], dtype=float)[:, None] / data[0].N
    mean = np.stack([np.mean(e.d, axis=0) for e in data])
    weight = np.stack([len(e.d) / np.var(e.d, axis=0, ddof=1) for e in data])

    def unexplained(p: float) -> float:
        shape = N**-p
        return -float(np.sum(np.sum(weight * shape * mean, 0) ** 2 / np.sum(weight * shape**2, 0)))

    return float(minimize_scalar(unexplained, bounds=(-STEEPEST, STEEPEST), method="bounded").x)


def _spread_exponent(data: list[_Deviations]) -> float:
    """Fit q of B N^-q: minus the slope in logarithms, with the number of runs as weight."""
    N = np.log([e.N for e in data])
    spread = np.log([_rms(np.std(e.d, axis=0, ddof=1)) for e in data])
    return -float(np.polyfit(N, spread, 1, w=np.sqrt([len(e.d) for e in data]))[0])


def _estimate(
    data: list[_Deviations], exponent: Callable[[list[_Deviations]], float], seed: int
) -> tuple[float, float]:
    """Return the exponent, and its standard error by bootstrap over runs."""
    draw = np.random.default_rng(check_seed(seed))
    resampled = [
        exponent([_Deviations(e.N, e.d[draw.integers(len(e.d), size=len(e.d))]) for e in data])
        for _ in range(RESAMPLES)
    ]
    return exponent(data), float(np.std(resampled, ddof=1))


def _deviations(
    theory: xr.Dataset, ensembles: xr.Dataset | Collection[xr.Dataset]
) -> list[_Deviations]:
    """Return deviations in the order of N, for the components that scatter in all ensembles."""
    ensembles = _split_sweep(ensembles) if isinstance(ensembles, xr.Dataset) else ensembles
    if len(ensembles) < 2:
        raise InputError(
            "ensembles", "one", "at least two ensembles are needed", "[runs_100, runs_1000]"
        )
    for number, runs in enumerate(ensembles):
        check_runs(f"ensembles[{number}]", runs, at_least=10)
        check_theory(theory, runs)
    names = observed(theory, *ensembles)
    of_ensembles = []
    for number, runs in enumerate(ensembles):
        hint = "tl.simulation.chain, or assign_attrs(dimension=1000)"
        N = runs.attrs.get("dimension")
        N = positive_integer(f"the dimension of ensembles[{number}]", N, hint)
        x = components(runs, names)[1]
        expected, inexact = theory_at(theory, runs["time"].values, names)
        beyond = runs["time"].values > float(theory["time"][-1]) * (1 + 1e-9)
        if np.any(beyond) and theory.attrs.get("outcome") != "converged":
            expected[beyond] = np.nan
        d = (x - expected).reshape(len(x), -1)
        scatters = np.std(d, axis=0) > inexact.ravel()
        of_ensembles.append((_Deviations(N, d), scatters))
    shapes = {e.d.shape[1] for e, _ in of_ensembles}
    if len(shapes) > 1 or len({e.N for e, _ in of_ensembles}) < 2:
        raise InputError(
            "ensembles",
            f"N = {[e.N for e, _ in of_ensembles]} with {sorted(shapes)} recorded numbers",
            "they need different N and equal times",
            "times=np.linspace(0, 10, 41)",
        )
    scatter_in_all = np.all([s for _, s in of_ensembles], axis=0)
    if not np.any(scatter_in_all):
        raise InputError(
            "ensembles", "runs that are all equal", "the runs of each ensemble have to differ"
        )
    return sorted(
        (_Deviations(e.N, e.d[:, scatter_in_all]) for e, _ in of_ensembles),
        key=lambda e: e.N,
    )


def _split_sweep(study: xr.Dataset) -> list[xr.Dataset]:
    """Split the dataset of a sweep into its ensembles.

    Times are whole numbers of examples: those of another N may be others, and are missing.
    """
    if "dimension" not in study.dims:
        received = f"dimensions {tuple(study.dims)}"
        hint = 'tl.sweeps.run(tl.simulation.chain, {"dimension": [100, 1000]}, ...)'
        raise InputError("ensembles", received, "it has to be a sweep over dimension", hint)
    fixed = json.loads(study.attrs.get("fixed", "{}"))
    recorded = {name: json.dumps(x) for name, x in fixed.items()}
    return [
        study.sel(dimension=N, drop=True)
        .dropna("time", how="all", subset=["generalization_error"])
        .assign_attrs({**recorded, "dimension": int(N)})
        for N in study["dimension"].values
    ]


def _rms(values: Float[np.ndarray, "..."]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
