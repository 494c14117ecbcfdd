"""Oostwal, Straat and Biehl (2019): weights drawn from the Gibbs density, against the theory.

The paper has no simulations.  Here chains begin at the teacher and the load falls, at random and
it grows, or next to the state of Appendix D; they go on from load to load and know nothing of the
free energy.  Overlaps are means over units and sweeps; for N inputs they differ from the theory,
N → ∞, by terms in 1/N.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import xarray as xr

from tutelage.activations import Activation, Erf
from tutelage.equilibrium.general.blocks import matched_overlaps
from tutelage.equilibrium.sampling.sample import Sampler
from tutelage.equilibrium.sampling.spheres import Samples
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.oostwal2019.loads import load
from tutelage.papers.row import Row, not_comparable


class Size(NamedTuple):
    """Size of a sample: N, recorded sweeps (as many are discarded before), independent chains."""

    dimension: int
    sweeps: int
    runs: int


QUICK, FULL = Size(1600, 50, 4), Size(2000, 200, 8)
# One of the two minima of Fig. 2 has R - S = 0, the other more than this from α_s on.
WELL_SPECIALIZATION = 0.25

TRAPPED_NOTE = (
    "It depends on N and on how the load is raised. In steps from α = 3 chains of N = 1600 stay; "
    "started at α = 50 or 56, half of the chains with N = 1600 and most with N = 400 escaped."
)


class Chains(NamedTuple):
    """The initial state of the chains, and the sequence of loads."""

    start: str
    loads: tuple[float, ...]


RECTIFIED = (14.0, 12.0, 10.0, 8.5, 7.5, 6.8, 5.5, 4.5, 3.0, 1.5, 0.5)
CHAINS: dict[tuple[str, int], tuple[Chains, ...]] = {
    ("Erf", 2): (Chains("teacher", (58.0, 50.0, 40.0, 32.0, 27.0, 20.0, 14.0, 8.0, 3.0)),),
    ("Erf", 5): (
        Chains("random", (3.0, 10.0, 20.0, 30.0, 40.0, 48.0, 54.0)),
        Chains("teacher", (96.0, 86.0, 76.0, 66.0, 58.0, 52.0, 48.0)),
    ),
    ("ReLU", 2): (Chains("teacher", RECTIFIED),),
    ("ReLU", 10): (Chains("teacher", RECTIFIED), Chains("opposite", (14.0, 13.0, 12.0, 11.0))),
}


def size(full: bool) -> Size:
    return FULL if full else QUICK


def sampled(g: Activation, K: int, full: bool) -> dict[str, xr.Dataset]:
    """Return the chains of an activation and a K, by their initial state."""
    return {c.start: _sampled(g, K, c.start, c.loads, size(full)) for c in CHAINS[g.name, K]}


@cache
def _sampled(g: Activation, K: int, start: str, loads: tuple[float, ...], size: Size) -> xr.Dataset:
    """Return means over runs of R, S, C and ε_g at each load, and their standard errors."""
    units = Committee(K, g)
    scenario = Scenario(units, units, output_scale=K**-0.5)
    begin = _opposite(K) if start == "opposite" else start
    sampler = Sampler(scenario, size.dimension, size.sweeps, size.sweeps, size.runs, 0, begin, None)
    sampler.drawn(
        loads[0]
    )  # the start is further from the first load than the loads are from each other
    runs = xr.concat([_means(sampler.drawn(a)) for a in loads], _axis(loads)).sortby("load")
    means, errors = runs.mean("run"), runs.std("run", ddof=1) / np.sqrt(size.runs)
    named = {f"{name}_error": errors[name] for name in errors.data_vars}
    of_runs = runs[["specialization"]].rename(specialization="specialization_of_runs")
    attrs = {"computed_by": "equilibrium.sample", "activation": g.name, "units": K, "start": start}
    return means.assign(named).merge(of_runs).assign_attrs({**attrs, **size._asdict()})


def _axis(loads: tuple[float, ...]) -> xr.DataArray:
    return xr.DataArray(list(loads), dims="load", name="load")


def _means(samples: Samples) -> xr.Dataset:
    """Average over units and sweeps for every run; R is the mean over the pairs matched at the
    start.
    """
    R, Q = samples.R.mean(axis=0), samples.Q.mean(axis=0)
    own = np.eye(R.shape[-1], dtype=bool)
    values = {
        "R": R[:, own].mean(axis=1),
        "S": R[:, ~own].mean(axis=1),
        "C": Q[:, ~own].mean(axis=1),
        "generalization_error": samples.generalization_error.mean(axis=0),
        "specialization": np.array([np.subtract(*matched_overlaps(one)) for one in R]),
    }
    return xr.Dataset({name: ("run", value) for name, value in values.items()})


def _opposite(K: int) -> Overlaps:
    """Return students that point away from one teacher and towards the others, as in Appendix D."""
    one = np.eye(K)
    return Overlaps(Q=one, R=-0.6 * one + 1.35 / (K - 1) * (1 - one), T=one)


def trapped(full: bool) -> Iterator[Row]:
    """Sec. III A: beyond α_c, networks without prior knowledge stay unspecialized."""
    specializations = sampled(Erf(), 5, full)["random"]["specialization_of_runs"]
    beyond = specializations.sel(load=specializations["load"] > load(Erf(), 5, "coexists")[0])
    inside = (beyond < WELL_SPECIALIZATION).mean("load").values
    sizes = size(full)
    item = (
        f"Sec. III A, part of {sizes.runs} chains from random weights that are unspecialized at "
        f"α = 48 and 54, N = {sizes.dimension}, {2 * sizes.sweeps} sweeps, erf, K = 5"
    )
    fraction = float(np.mean(inside))
    yield not_comparable(KEY, item, "trapped", fraction, TRAPPED_NOTE)
